//! Reads the folder of a sentence-transformers model and checks that Ken can run it.
//!
//! This is the only module of the transformer backend that opens files, all in the given folder.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use ndarray::{Axis, concatenate};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::forward::{BertEncoder, EncoderLayer, LayerNorm, LinearLayer, PoolingMode};
use super::weights::WeightsFile;
use crate::model::WeightsDigest;
use crate::static_table::VOCABULARY;
use crate::wordpiece::WordPiece;

/// Version of the computation; incremented when the same folder yields different vectors.
const RECIPE_VERSION: &str = "ken-transformer-1";

/// Maximum size of the weights: a BERT with 335 million 32-bit parameters, plus reserve.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;

/// Maximum size of any other file.
const TEXT_FILE_BYTES_MAX: u64 = 64 << 20;

/// Token limit if the folder specifies none.
const TOKENS_MAX_DEFAULT: usize = 256;

/// Digits of the hash of settings and vocabulary in a stamp.
const STAMP_DIGITS: usize = 16;

/// Size of the buffer for hashing.
const HASHED_BYTES: usize = 1 << 18;

/// Minimum age of the weights before their metadata is trusted.
const STABLE_AFTER: Duration = Duration::from_secs(2);

/// Digest of the `vocab.txt` that most uncased models share. It is compiled in as a transducer;
/// building one is the slowest part of opening.
const UNCASED_VOCABULARY_DIGEST: &str =
    "29a772c92cf4b7bc8f4c52d801f03d36ad8528ef964f856dadc4c4e7cb14e451";

/// Supported modules. Vectors are always normalized.
const SUPPORTED_MODULES: &[&str] = &["Transformer", "Pooling", "Normalize"];

/// Number of special tokens per text: start and end.
const SPECIAL_TOKEN_COUNT: usize = 2;

/// Maximum number of layers, and maximum row length.
const LAYERS_MAX: usize = 48;
const WIDTH_MAX: usize = 8192;

/// Failure to open a model's folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderOpenError {
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` has more than {most} bytes", path.display())]
    TooLarge { path: PathBuf, most: u64 },
    #[error("`{}` is not a valid file of a sentence-transformers model", path.display())]
    Parse {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the model is not supported: {why}")]
    Unsupported { why: String },
    #[error("the vocabulary is not a WordPiece vocabulary")]
    Vocabulary,
    #[error("the weights file is invalid: {why}")]
    Weights { why: String },
    #[error("`{}` changed while it was read", path.display())]
    Changed { path: PathBuf },
}

/// A loaded folder, ready to run.
pub(super) struct ModelFolder {
    pub(super) tokens: WordPiece,
    pub(super) marks: [u32; SPECIAL_TOKEN_COUNT],
    pub(super) encoder: BertEncoder,
    /// Maximum number of tokens per text, without special tokens.
    pub(super) tokens_max: usize,
    /// Hash of everything the vectors depend on, in 64 hexadecimal digits.
    pub(super) digest: String,
    /// Digest to store for the next open, if the files are old enough.
    pub(super) known: Option<WeightsDigest>,
    weights: (PathBuf, File, FileStamp),
}

#[derive(Debug, Deserialize)]
struct BertConfig {
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
struct ModuleConfig {
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

impl ModelFolder {
    /// Reads a folder; `known` avoids hashing the weights if their metadata is unchanged.
    pub(super) fn read(
        folder: &Path,
        known: Option<&WeightsDigest>,
    ) -> Result<Self, FolderOpenError> {
        // The cheap checks come before the weights are read.
        let config: BertConfig = read_json(&folder.join("config.json"))?;
        config.check()?;
        check_modules(folder)?;
        let tokens = read_vocabulary(folder, config.vocab_size)?;
        let mark = |name: &str| tokens.id(name).ok_or(FolderOpenError::Vocabulary);
        let marks = [mark("[CLS]")?, mark("[SEP]")?];
        let tokens_max = config.tokens_max(folder)?;
        let pooling = read_pooling(folder)?;
        let settings = (
            pooling,
            tokens_max,
            config.num_attention_heads,
            config.layer_norm_eps,
        );
        // The length of the vocabulary separates the settings from its bytes in the hash.
        let settings = format!("{RECIPE_VERSION} {settings:?} {}\n", tokens.packed().len());
        let mut start = blake3::Hasher::new();
        start.update(settings.as_bytes()).update(tokens.packed());

        let path = folder.join("model.safetensors");
        let file = open_limited(&path, WEIGHTS_BYTES_MAX)?;
        let before = FileStamp::at(&path, &file)?;
        let stamp = before.stamp(&start.finalize());
        // The stored digest becomes part of the model's id, so a malformed one is ignored.
        let known = known.filter(|known| known.stamp == stamp && is_digest(&known.digest));
        // Reading and hashing the weights take about as long, so they run in parallel.
        let (digest, encoder) = thread::scope(|scope| {
            let digest = scope.spawn(|| match known {
                Some(known) => Ok(known.digest.clone()),
                None => hash_file(start, &path, &before),
            });
            let encoder = config.encoder(&file, &path, pooling);
            (digest.join(), encoder)
        });
        let (digest, encoder) = (digest.expect("hashing does not panic")?, encoder?);
        // Both passes must have seen the same bytes.
        if FileStamp::at(&path, &file)? != before {
            return Err(FolderOpenError::Changed { path });
        }
        let known = before.is_settled().then(|| WeightsDigest {
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

impl ModelFolder {
    /// Returns whether the weights are still those that were opened; word rows are read on demand.
    pub(super) fn is_unchanged(&self) -> bool {
        let (path, file, before) = &self.weights;
        // The file may have been renamed or deleted; the open handle still refers to it.
        let same = |now: FileStamp| now.size == before.size && now.modified == before.modified;
        FileStamp::at(path, file).is_ok_and(same)
    }
}

/// File metadata that detects changes.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    size: u64,
    modified: SystemTime,
    /// Change time and inode, which a copy does not share; zero if unknown.
    own: [u64; 3],
}

impl FileStamp {
    fn at(path: &Path, file: &File) -> Result<Self, FolderOpenError> {
        let look = || {
            let metadata = file.metadata()?;
            Ok(Self {
                size: metadata.len(),
                modified: metadata.modified()?,
                own: own(&metadata),
            })
        };
        look().map_err(|source| FolderOpenError::Read {
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

    /// Returns whether another change would show in the times, whose resolution may be two seconds.
    fn is_settled(&self) -> bool {
        let age = SystemTime::now().duration_since(self.modified);
        age.is_ok_and(|age| age >= STABLE_AFTER)
    }
}

#[cfg(unix)]
fn own(metadata: &std::fs::Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt as _;
    [
        metadata.ctime().cast_unsigned(),
        metadata.ctime_nsec().cast_unsigned(),
        metadata.ino(),
    ]
}

#[cfg(not(unix))]
fn own(_: &std::fs::Metadata) -> [u64; 3] {
    [0; 3]
}

fn is_digest(text: &str) -> bool {
    text.len() == blake3::OUT_LEN * 2 && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Continues the hash with the bytes of a file whose metadata is still `before`.
fn hash_file(
    mut hasher: blake3::Hasher,
    path: &Path,
    before: &FileStamp,
) -> Result<String, FolderOpenError> {
    let failed = |source| FolderOpenError::Read {
        path: path.to_owned(),
        source,
    };
    // A separate handle, because the other one is being seeked at the same time.
    let mut file = File::open(path).map_err(failed)?;
    if FileStamp::at(path, &file)? != *before {
        let path = path.to_owned();
        return Err(FolderOpenError::Changed { path });
    }
    let mut buffer = vec![0; HASHED_BYTES];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            count => hasher.update(&buffer[..count]),
        };
    }
}

impl BertConfig {
    fn check(&self) -> Result<(), FolderOpenError> {
        let positions = self.position_embedding_type.as_deref();
        let heads = self.num_attention_heads;
        let sizes = [
            self.hidden_size,
            self.intermediate_size,
            self.max_position_embeddings,
        ];
        // The configuration is untrusted: the bounds below keep allocations small.
        let complaint = if self.model_type != "bert" {
            format!("its type is `{}`, not `bert`", self.model_type)
        } else if self.hidden_act != "gelu" {
            format!("its activation is `{}`, not `gelu`", self.hidden_act)
        } else if positions.is_some_and(|it| it != "absolute") {
            "its positions are not absolute".to_owned()
        } else if self.num_hidden_layers > LAYERS_MAX || sizes.iter().any(|size| *size > WIDTH_MAX)
        {
            format!("it has more than {LAYERS_MAX} layers or a size above {WIDTH_MAX}")
        } else if heads == 0 || self.hidden_size == 0 || !self.hidden_size.is_multiple_of(heads) {
            "its hidden size is not a multiple of its attention heads".to_owned()
        } else {
            return Ok(());
        };
        Err(FolderOpenError::Unsupported { why: complaint })
    }

    fn tokens_max(&self, folder: &Path) -> Result<usize, FolderOpenError> {
        let stated: SentenceConfig =
            read_json_or_default(&folder.join("sentence_bert_config.json"))?;
        let all = stated.max_seq_length.unwrap_or(TOKENS_MAX_DEFAULT);
        let all = all.min(self.max_position_embeddings);
        match all.checked_sub(SPECIAL_TOKEN_COUNT) {
            None | Some(0) => Err(FolderOpenError::Unsupported {
                why: format!("its maximum sequence length is only {all} tokens"),
            }),
            Some(without_marks) => Ok(without_marks),
        }
    }

    fn encoder(
        &self,
        file: &File,
        path: &Path,
        pooling: PoolingMode,
    ) -> Result<BertEncoder, FolderOpenError> {
        let weights = &mut WeightsFile::parse(file)?;
        let words = file.try_clone().map_err(|source| FolderOpenError::Read {
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
        // There is only one segment, so its row is added to every position once.
        positions += &segment.ok_or_else(|| FolderOpenError::Weights {
            why: "it has no segment embeddings".to_owned(),
        })?;
        let layers = 0..self.num_hidden_layers;
        Ok(BertEncoder {
            // The word table is by far the largest tensor and stays in the file.
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

    fn layer(
        &self,
        weights: &mut WeightsFile<&File>,
        name: &str,
    ) -> Result<EncoderLayer, FolderOpenError> {
        let (width, inner) = (self.hidden_size, self.intermediate_size);
        let mut part = |part: &str, shape| read_linear(weights, &format!("{name}.{part}"), shape);
        let mut one = |which: &str| part(&format!("attention.self.{which}"), (width, width));
        let attention = concatenate_linear(&[one("query")?, one("key")?, one("value")?])?;
        let mixed = part("attention.output.dense", (width, width))?;
        let inner_part = part("intermediate.dense", (inner, width))?;
        let outer = part("output.dense", (width, inner))?;
        Ok(EncoderLayer {
            attention,
            mixed,
            attention_norm: self.norm(weights, &format!("{name}.attention.output.LayerNorm"))?,
            inner: inner_part,
            outer,
            output_norm: self.norm(weights, &format!("{name}.output.LayerNorm"))?,
        })
    }

    fn norm(
        &self,
        weights: &mut WeightsFile<&File>,
        name: &str,
    ) -> Result<LayerNorm, FolderOpenError> {
        Ok(LayerNorm {
            weight: weights.row(&format!("{name}.weight"), self.hidden_size)?,
            bias: weights.row(&format!("{name}.bias"), self.hidden_size)?,
            epsilon: self.layer_norm_eps,
        })
    }
}

fn read_linear(
    weights: &mut WeightsFile<&File>,
    name: &str,
    shape: (usize, usize),
) -> Result<LinearLayer, FolderOpenError> {
    Ok(LinearLayer {
        weight: weights.matrix(&format!("{name}.weight"), shape)?,
        bias: weights.row(&format!("{name}.bias"), shape.0)?,
    })
}

/// Concatenates linear layers, so that one matrix product replaces three.
fn concatenate_linear(parts: &[LinearLayer]) -> Result<LinearLayer, FolderOpenError> {
    let weights: Vec<_> = parts.iter().map(|it| it.weight.view()).collect();
    let biases: Vec<_> = parts.iter().map(|it| it.bias.view()).collect();
    let unequal = |_| FolderOpenError::Weights {
        why: "its attention weights differ in shape".to_owned(),
    };
    Ok(LinearLayer {
        weight: concatenate(Axis(0), &weights).map_err(unequal)?,
        bias: concatenate(Axis(0), &biases).map_err(unequal)?,
    })
}

/// Rejects a folder with additional modules after pooling, such as another matrix.
fn check_modules(folder: &Path) -> Result<(), FolderOpenError> {
    let modules: Vec<ModuleConfig> = read_json_or_default(&folder.join("modules.json"))?;
    let mut names = modules
        .iter()
        .map(|it| it.path.rsplit('.').next().unwrap_or_default());
    match names.find(|name| !SUPPORTED_MODULES.contains(name)) {
        Some(name) => Err(FolderOpenError::Unsupported {
            why: format!("it has an unsupported module `{name}`"),
        }),
        None => Ok(()),
    }
}

fn read_pooling(folder: &Path) -> Result<PoolingMode, FolderOpenError> {
    let path = folder.join("1_Pooling").join("config.json");
    // The default of sentence-transformers.
    if !path.exists() {
        return Ok(PoolingMode::Mean);
    }
    let stated: PoolingConfig = read_json(&path)?;
    let others = stated.pooling_mode_max_tokens
        || stated.pooling_mode_mean_sqrt_len_tokens
        || stated.pooling_mode_weightedmean_tokens
        || stated.pooling_mode_lasttoken;
    match (
        stated.pooling_mode_mean_tokens,
        stated.pooling_mode_cls_token,
    ) {
        (true, false) if !others => Ok(PoolingMode::Mean),
        (false, true) if !others => Ok(PoolingMode::First),
        _ => Err(FolderOpenError::Unsupported {
            why: "its pooling is neither mean nor first token".to_owned(),
        }),
    }
}

/// Reads the vocabulary from `vocab.txt`, one token per line, or else from `tokenizer.read_json`.
fn read_vocabulary(folder: &Path, rows: usize) -> Result<WordPiece, FolderOpenError> {
    let stated: TokenizerConfig = read_json_or_default(&folder.join("tokenizer_config.json"))?;
    // Our word splitter always lower-cases, so a cased vocabulary would rarely match.
    if stated.do_lower_case == Some(false) {
        return Err(FolderOpenError::Unsupported {
            why: "its vocabulary is case-sensitive".to_owned(),
        });
    }
    let lines = folder.join("vocab.txt");
    let built = if lines.exists() {
        let text = String::from_utf8(read_file(&lines, TEXT_FILE_BYTES_MAX)?);
        let text = text.map_err(|_| FolderOpenError::Vocabulary)?;
        check_ids(text.lines().zip(0..).map(|(_, id)| id), rows)?;
        if *blake3::hash(text.as_bytes()).to_hex() == *UNCASED_VOCABULARY_DIGEST {
            WordPiece::new(VOCABULARY)
        } else {
            WordPiece::build(text.lines().zip(0..))
        }
    } else {
        let file: TokenizerFile = read_json(&folder.join("tokenizer.json"))?;
        let tokens = file.model.vocab.iter();
        check_ids(tokens.clone().map(|(_, id)| *id), rows)?;
        WordPiece::build(tokens.map(|(token, id)| (&**token, *id)))
    };
    built.ok_or(FolderOpenError::Vocabulary)
}

/// Checks that every token id has a row.
fn check_ids(tokens: impl Iterator<Item = u32>, rows: usize) -> Result<(), FolderOpenError> {
    match tokens.max() {
        Some(last) if (last as usize) < rows => Ok(()),
        _ => Err(FolderOpenError::Vocabulary),
    }
}

fn read_json_or_default<T: DeserializeOwned + Default>(path: &Path) -> Result<T, FolderOpenError> {
    if path.exists() {
        read_json(path)
    } else {
        Ok(T::default())
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, FolderOpenError> {
    serde_json::from_slice(&read_file(path, TEXT_FILE_BYTES_MAX)?).map_err(|source| {
        FolderOpenError::Parse {
            path: path.to_owned(),
            source,
        }
    })
}

fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, FolderOpenError> {
    let file = open_limited(path, most)?;
    let mut bytes = Vec::new();
    // The file may grow after its size was checked.
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|source| FolderOpenError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(bytes)
}

/// Opens a file of at most `most` bytes.
fn open_limited(path: &Path, most: u64) -> Result<File, FolderOpenError> {
    let path = || path.to_owned();
    let failed = |source| FolderOpenError::Read {
        path: path(),
        source,
    };
    let file = File::open(path()).map_err(failed)?;
    match file.metadata().map_err(failed)?.len() {
        length if length <= most => Ok(file),
        _ => Err(FolderOpenError::TooLarge { path: path(), most }),
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
        assert_eq!(
            *blake3::hash(text.as_bytes()).to_hex(),
            *UNCASED_VOCABULARY_DIGEST
        );
        let built = WordPiece::build(text.lines().zip(0..)).unwrap();
        assert_eq!(built.packed(), VOCABULARY);
    }
}
