//! Reads the folder of a sentence-transformers model and checks that we can run what is in it.
//!
//! This is the one place of the crate that opens files: those of the folder it is given.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use ndarray::{Axis, concatenate};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::forward::{Encoder, Layer, Linear, Norm, Pooling};
use super::weights::Weights;
use crate::model::Known;
use crate::static_table::VOCABULARY;
use crate::wordpiece::WordPiece;

/// Raised when the same folder would give other vectors than before.
const RECIPE: &str = "ken-transformer-1";

/// Bytes the file of weights may have: a BERT of 335 million parameters in 32 bits, and some room.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;

/// Bytes any other file of a folder may have.
const TEXT_FILE_BYTES_MAX: u64 = 64 << 20;

/// Tokens of a text where the folder does not say.
const TOKENS_MAX_DEFAULT: usize = 256;

/// Digits that say which settings and vocabulary a stamp was made with.
const STAMP_DIGITS: usize = 16;

/// Bytes hashed at once.
const HASHED_BYTES: usize = 1 << 18;

/// How long weights must have been as they are before their look is trusted.
const SETTLED: Duration = Duration::from_secs(2);

/// Digest of the `vocab.txt` most uncased models share. It is compiled in, packed; packing it takes longer
/// than anything else about opening.
const UNCASED: &str = "29a772c92cf4b7bc8f4c52d801f03d36ad8528ef964f856dadc4c4e7cb14e451";

/// Steps a folder may have after the transformer itself. Vectors are always made to have length 1.
const MODULES: &[&str] = &["Transformer", "Pooling", "Normalize"];

/// The marks of beginning and end.
const MARKS: usize = 2;

/// Layers a model may have, and numbers in one row of it.
const LAYERS_MAX: usize = 48;
const WIDTH_MAX: usize = 8192;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` has more than {most} bytes", path.display())]
    TooLarge { path: PathBuf, most: u64 },
    #[error("`{}` is not what a sentence-transformers folder has there", path.display())]
    Parse {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the model is not one Ken can run: {why}")]
    Unsupported { why: String },
    #[error("the vocabulary is not one of WordPiece")]
    Vocabulary,
    #[error("the file of weights does not fit: {why}")]
    Weights { why: String },
    #[error("`{}` changed while it was read", path.display())]
    Changed { path: PathBuf },
}

/// What a folder holds, ready to run.
pub(super) struct Folder {
    pub(super) tokens: WordPiece,
    pub(super) marks: [u32; MARKS],
    pub(super) encoder: Encoder,
    /// Tokens of a text that are looked at, without the marks.
    pub(super) tokens_max: usize,
    /// What the vectors depend on, in 64 hexadecimal digits.
    pub(super) digest: String,
    /// What to remember of it, if it has been as it is for long enough.
    pub(super) known: Option<Known>,
    weights: (PathBuf, File, Look),
}

#[derive(Debug, Deserialize)]
struct Config {
    model_type: String,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    vocab_size: usize,
    type_vocab_size: usize,
    hidden_act: String,
    layer_norm_eps: f32,
    position_embedding_type: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
struct TokenizerConfig {
    do_lower_case: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_weightedmean_tokens: bool,
    pooling_mode_lasttoken: bool,
}

#[derive(Debug, Deserialize)]
struct Module {
    #[serde(rename = "type")]
    path: String,
}

#[derive(Debug, Deserialize)]
struct TokenizerFile {
    model: TokenizerModel,
}

#[derive(Debug, Deserialize)]
struct TokenizerModel {
    vocab: HashMap<String, u32>,
}

impl Folder {
    /// Reads a folder; `known` saves hashing the weights if nothing about them seems to have changed.
    pub(super) fn read(folder: &Path, known: Option<&Known>) -> Result<Self, OpenError> {
        let config: Config = json(&folder.join("config.json"))?;
        config.check()?;
        check_modules(folder)?;
        let tokens = vocabulary(folder, config.vocab_size)?;
        let mark = |name: &str| tokens.id(name).ok_or(OpenError::Vocabulary);
        let marks = [mark("[CLS]")?, mark("[SEP]")?];
        let tokens_max = config.tokens_max(folder)?;
        let pooling = pooling(folder)?;
        let settings = (
            pooling,
            tokens_max,
            config.num_attention_heads,
            config.layer_norm_eps,
        );
        let settings = format!("{RECIPE} {settings:?} {}\n", tokens.packed().len());
        let mut start = blake3::Hasher::new();
        start.update(settings.as_bytes()).update(tokens.packed());

        let path = folder.join("model.safetensors");
        let file = open(&path, WEIGHTS_BYTES_MAX)?;
        let before = Look::at(&path, &file)?;
        let stamp = before.stamp(&start.finalize());
        let known = known.filter(|it| it.stamp == stamp && is_digest(&it.digest));
        // Reading the numbers and hashing them take about as long: both at once.
        let (digest, encoder) = thread::scope(|scope| {
            let digest = scope.spawn(|| match known {
                Some(known) => Ok(known.digest.clone()),
                None => hash(start, &path, &before),
            });
            let encoder = config.encoder(&file, &path, pooling);
            (digest.join(), encoder)
        });
        let (digest, encoder) = (digest.expect("hashing does not panic")?, encoder?);
        if Look::at(&path, &file)? != before {
            return Err(OpenError::Changed { path });
        }
        let known = before.is_settled().then(|| Known {
            stamp,
            digest: digest.clone(),
        });
        Ok(Self {
            encoder,
            known,
            digest,
            weights: (path, file, before),
            tokens,
            marks,
            tokens_max,
        })
    }
}

impl Folder {
    /// Returns whether the weights are those that were opened; words are read from them when needed.
    pub(super) fn is_unchanged(&self) -> bool {
        let (path, file, before) = &self.weights;
        // The name may be gone: what was opened is still there.
        let same = |now: Look| now.size == before.size && now.modified == before.modified;
        Look::at(path, file).is_ok_and(same)
    }
}

/// A file from outside.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    size: u64,
    modified: SystemTime,
    /// What a copy does not share with its original, where the system tells.
    own: [u64; 3],
}

impl Look {
    fn at(path: &Path, file: &File) -> Result<Self, OpenError> {
        let look = || {
            let it = file.metadata()?;
            Ok(Self {
                size: it.len(),
                modified: it.modified()?,
                own: own(&it),
            })
        };
        look().map_err(|source| OpenError::Read {
            path: path.to_owned(),
            source,
        })
    }

    fn stamp(&self, small: &blake3::Hash) -> String {
        let modified = self.modified.duration_since(SystemTime::UNIX_EPOCH);
        let modified = modified.map_or(0, |it| it.as_nanos());
        let [changed, nanos, number] = self.own;
        let small = &small.to_hex()[..STAMP_DIGITS];
        format!(
            "{small}-{}-{modified}-{changed}.{nanos}-{number}",
            self.size
        )
    }

    /// Whether another change would show in the times: their steps may be as long as two seconds.
    fn is_settled(&self) -> bool {
        let age = SystemTime::now().duration_since(self.modified);
        age.is_ok_and(|age| SETTLED <= age)
    }
}

#[cfg(unix)]
fn own(it: &std::fs::Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt as _;
    [
        it.ctime().cast_unsigned(),
        it.ctime_nsec().cast_unsigned(),
        it.ino(),
    ]
}

#[cfg(not(unix))]
fn own(_: &std::fs::Metadata) -> [u64; 3] {
    [0; 3]
}

fn is_digest(text: &str) -> bool {
    text.len() == blake3::OUT_LEN * 2 && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Goes on hashing with the bytes of a file that looks as it did before.
fn hash(mut hasher: blake3::Hasher, path: &Path, before: &Look) -> Result<String, OpenError> {
    let failed = |source| OpenError::Read {
        path: path.to_owned(),
        source,
    };
    // A handle of its own: that of the numbers is moved about meanwhile.
    let mut file = File::open(path).map_err(failed)?;
    if Look::at(path, &file)? != *before {
        let path = path.to_owned();
        return Err(OpenError::Changed { path });
    }
    let mut buffer = vec![0; HASHED_BYTES];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            count => hasher.update(&buffer[..count]),
        };
    }
}

impl Config {
    fn check(&self) -> Result<(), OpenError> {
        let positions = self.position_embedding_type.as_deref();
        let heads = self.num_attention_heads;
        let sizes = [
            self.hidden_size,
            self.intermediate_size,
            self.max_position_embeddings,
        ];
        let complaint = if self.model_type != "bert" {
            format!("its type is `{}`, not `bert`", self.model_type)
        } else if self.hidden_act != "gelu" {
            format!("its activation is `{}`, not `gelu`", self.hidden_act)
        } else if positions.is_some_and(|it| it != "absolute") {
            "its positions are not absolute".to_owned()
        } else if LAYERS_MAX < self.num_hidden_layers || sizes.iter().any(|it| WIDTH_MAX < *it) {
            format!("it has more than {LAYERS_MAX} layers or rows longer than {WIDTH_MAX}")
        } else if heads == 0 || self.hidden_size == 0 || !self.hidden_size.is_multiple_of(heads) {
            "its rows cannot be shared among its heads".to_owned()
        } else {
            return Ok(());
        };
        Err(OpenError::Unsupported { why: complaint })
    }

    fn tokens_max(&self, folder: &Path) -> Result<usize, OpenError> {
        let stated: SentenceConfig = json_if_there(&folder.join("sentence_bert_config.json"))?;
        let all = stated.max_seq_length.unwrap_or(TOKENS_MAX_DEFAULT);
        let all = all.min(self.max_position_embeddings);
        match all.checked_sub(MARKS) {
            None | Some(0) => Err(OpenError::Unsupported {
                why: format!("it looks at {all} tokens only"),
            }),
            Some(without_marks) => Ok(without_marks),
        }
    }

    fn encoder(&self, file: &File, path: &Path, pooling: Pooling) -> Result<Encoder, OpenError> {
        let weights = &mut Weights::parse(file)?;
        let words = file.try_clone().map_err(|source| OpenError::Read {
            path: path.to_owned(),
            source,
        })?;
        let width = self.hidden_size;
        let name = |of: &str| format!("embeddings.{of}_embeddings.weight");
        let segments = (self.type_vocab_size, width);
        let segments = weights.matrix(&name("token_type"), segments)?;
        let positions = (self.max_position_embeddings, width);
        let mut positions = weights.matrix(&name("position"), positions)?;
        let segment = segments.rows().into_iter().next();
        positions += &segment.ok_or_else(|| OpenError::Weights {
            why: "it has no segments".to_owned(),
        })?;
        let layers = 0..self.num_hidden_layers;
        Ok(Encoder {
            words: weights.rows(&name("word"), (self.vocab_size, width), words)?,
            positions,
            norm: self.norm(weights, "embeddings.LayerNorm")?,
            layers: layers
                .map(|number| self.layer(weights, &format!("encoder.layer.{number}")))
                .collect::<Result<_, _>>()?,
            heads: self.num_attention_heads,
            pooling,
        })
    }

    fn layer(&self, weights: &mut Weights<&File>, name: &str) -> Result<Layer, OpenError> {
        let (width, inner) = (self.hidden_size, self.intermediate_size);
        let mut part = |part: &str, shape| linear(weights, &format!("{name}.{part}"), shape);
        let mut one = |which: &str| part(&format!("attention.self.{which}"), (width, width));
        let attention = side_by_side(&[one("query")?, one("key")?, one("value")?])?;
        let mixed = part("attention.output.dense", (width, width))?;
        let inner_part = part("intermediate.dense", (inner, width))?;
        let outer = part("output.dense", (width, inner))?;
        Ok(Layer {
            attention,
            mixed,
            mixed_norm: self.norm(weights, &format!("{name}.attention.output.LayerNorm"))?,
            inner: inner_part,
            outer,
            outer_norm: self.norm(weights, &format!("{name}.output.LayerNorm"))?,
        })
    }

    fn norm(&self, weights: &mut Weights<&File>, name: &str) -> Result<Norm, OpenError> {
        Ok(Norm {
            weight: weights.row(&format!("{name}.weight"), self.hidden_size)?,
            bias: weights.row(&format!("{name}.bias"), self.hidden_size)?,
            epsilon: self.layer_norm_eps,
        })
    }
}

fn linear(
    weights: &mut Weights<&File>,
    name: &str,
    shape: (usize, usize),
) -> Result<Linear, OpenError> {
    Ok(Linear {
        weight: weights.matrix(&format!("{name}.weight"), shape)?,
        bias: weights.row(&format!("{name}.bias"), shape.0)?,
    })
}

/// One product instead of three.
fn side_by_side(parts: &[Linear]) -> Result<Linear, OpenError> {
    let weights: Vec<_> = parts.iter().map(|it| it.weight.view()).collect();
    let biases: Vec<_> = parts.iter().map(|it| it.bias.view()).collect();
    let unequal = |_| OpenError::Weights {
        why: "parts of attention differ in shape".to_owned(),
    };
    Ok(Linear {
        weight: concatenate(Axis(0), &weights).map_err(unequal)?,
        bias: concatenate(Axis(0), &biases).map_err(unequal)?,
    })
}

/// Refuses a folder whose vectors are worked on after pooling, by another matrix say.
fn check_modules(folder: &Path) -> Result<(), OpenError> {
    let modules: Vec<Module> = json_if_there(&folder.join("modules.json"))?;
    let mut names = modules
        .iter()
        .map(|it| it.path.rsplit('.').next().unwrap_or_default());
    match names.find(|name| !MODULES.contains(name)) {
        Some(name) => Err(OpenError::Unsupported {
            why: format!("it has a module `{name}`"),
        }),
        None => Ok(()),
    }
}

fn pooling(folder: &Path) -> Result<Pooling, OpenError> {
    let path = folder.join("1_Pooling").join("config.json");
    if !path.exists() {
        return Ok(Pooling::Mean);
    }
    let stated: PoolingConfig = json(&path)?;
    let others = stated.pooling_mode_max_tokens
        || stated.pooling_mode_mean_sqrt_len_tokens
        || stated.pooling_mode_weightedmean_tokens
        || stated.pooling_mode_lasttoken;
    match (
        stated.pooling_mode_mean_tokens,
        stated.pooling_mode_cls_token,
    ) {
        (true, false) if !others => Ok(Pooling::Mean),
        (false, true) if !others => Ok(Pooling::First),
        _ => Err(OpenError::Unsupported {
            why: "it pools neither by the mean nor by the first token".to_owned(),
        }),
    }
}

/// Reads `vocab.txt`, whose lines are the tokens, or else the vocabulary in `tokenizer.json`.
fn vocabulary(folder: &Path, rows: usize) -> Result<WordPiece, OpenError> {
    let stated: TokenizerConfig = json_if_there(&folder.join("tokenizer_config.json"))?;
    if stated.do_lower_case == Some(false) {
        return Err(OpenError::Unsupported {
            why: "its vocabulary tells upper case from lower".to_owned(),
        });
    }
    let lines = folder.join("vocab.txt");
    let built = if lines.exists() {
        let text = String::from_utf8(bytes(&lines, TEXT_FILE_BYTES_MAX)?);
        let text = text.map_err(|_| OpenError::Vocabulary)?;
        check_ids(text.lines().zip(0..).map(|(_, id)| id), rows)?;
        match *blake3::hash(text.as_bytes()).to_hex() == *UNCASED {
            true => WordPiece::new(VOCABULARY),
            false => WordPiece::build(text.lines().zip(0..)),
        }
    } else {
        let file: TokenizerFile = json(&folder.join("tokenizer.json"))?;
        let tokens = file.model.vocab.iter();
        check_ids(tokens.clone().map(|(_, id)| *id), rows)?;
        WordPiece::build(tokens.map(|(token, id)| (&**token, *id)))
    };
    built.ok_or(OpenError::Vocabulary)
}

/// Every id a text can get must have its row.
fn check_ids(tokens: impl Iterator<Item = u32>, rows: usize) -> Result<(), OpenError> {
    match tokens.max() {
        Some(last) if (last as usize) < rows => Ok(()),
        _ => Err(OpenError::Vocabulary),
    }
}

fn json_if_there<T: DeserializeOwned + Default>(path: &Path) -> Result<T, OpenError> {
    match path.exists() {
        true => json(path),
        false => Ok(T::default()),
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, OpenError> {
    serde_json::from_slice(&bytes(path, TEXT_FILE_BYTES_MAX)?).map_err(|source| OpenError::Parse {
        path: path.to_owned(),
        source,
    })
}

fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, OpenError> {
    let file = open(path, most)?;
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|source| OpenError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(bytes)
}

/// Opens a file of at most `most` bytes.
fn open(path: &Path, most: u64) -> Result<File, OpenError> {
    let path = || path.to_owned();
    let failed = |source| OpenError::Read {
        path: path(),
        source,
    };
    let file = File::open(path()).map_err(failed)?;
    match file.metadata().map_err(failed)?.len() {
        length if length <= most => Ok(file),
        _ => Err(OpenError::TooLarge { path: path(), most }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_compiled_in_is_the_one_its_digest_names() {
        let packed = fst::Map::new(VOCABULARY).unwrap();
        let mut tokens = packed.stream().into_str_vec().unwrap();
        tokens.sort_unstable_by_key(|(_, id)| *id);
        let text: String = tokens
            .iter()
            .map(|(token, _)| format!("{token}\n"))
            .collect();
        assert_eq!(*blake3::hash(text.as_bytes()).to_hex(), *UNCASED);
        let built = WordPiece::build(text.lines().zip(0..)).unwrap();
        assert_eq!(built.packed(), VOCABULARY);
    }
}
