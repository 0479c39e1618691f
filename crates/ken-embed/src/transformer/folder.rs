//! Reads the folder of a sentence-transformers model and checks that we can run what is in it.
//!
//! This is the one place of the crate that opens files: those of the folder it is given.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;

use ndarray::{Axis, concatenate};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::forward::{Encoder, Layer, Linear, Norm, Pooling};
use super::weights::Weights;
use crate::wordpiece::WordPiece;

/// Raised when the same folder would give other vectors than before.
const RECIPE: &str = "ken-transformer-1";

/// Bytes the file of weights may have: a BERT of 335 million parameters in 32 bits, and some room.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;

/// Bytes any other file of a folder may have.
const TEXT_FILE_BYTES_MAX: u64 = 64 << 20;

/// Tokens of a text where the folder does not say.
const TOKENS_MAX_DEFAULT: usize = 256;

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
struct TokenizerFile {
    model: TokenizerModel,
}

#[derive(Debug, Deserialize)]
struct TokenizerModel {
    vocab: HashMap<String, u32>,
}

impl Folder {
    pub(super) fn read(folder: &Path) -> Result<Self, OpenError> {
        let config: Config = json(&folder.join("config.json"))?;
        config.check()?;
        let tokens = vocabulary(folder, config.vocab_size)?;
        let mark = |name: &str| tokens.id(name).ok_or(OpenError::Vocabulary);
        let marks = [mark("[CLS]")?, mark("[SEP]")?];
        let tokens_max = config.tokens_max(folder)?;
        let pooling = pooling(folder)?;
        let file = bytes(&folder.join("model.safetensors"), WEIGHTS_BYTES_MAX)?;
        let settings = (
            pooling,
            tokens_max,
            config.num_attention_heads,
            config.layer_norm_eps,
        );
        let settings = format!("{RECIPE} {settings:?} {}\n", tokens.packed().len());
        // Reading the numbers and hashing them take about as long: both at once.
        let (digest, encoder) = thread::scope(|scope| {
            let digest = scope.spawn(|| digest(&[settings.as_bytes(), tokens.packed(), &file]));
            let encoder = Weights::parse(&file).and_then(|it| config.encoder(&it, pooling));
            (digest.join(), encoder)
        });
        Ok(Self {
            encoder: encoder?,
            digest: digest.expect("hashing does not panic"),
            tokens,
            marks,
            tokens_max,
        })
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

    fn encoder(&self, weights: &Weights<'_>, pooling: Pooling) -> Result<Encoder, OpenError> {
        let width = self.hidden_size;
        let table = |name: &str, rows: usize| {
            weights.matrix(
                &format!("embeddings.{name}_embeddings.weight"),
                (rows, width),
            )
        };
        let segments = table("token_type", self.type_vocab_size)?;
        let mut positions = table("position", self.max_position_embeddings)?;
        let segment = segments.rows().into_iter().next();
        positions += &segment.ok_or_else(|| OpenError::Weights {
            why: "it has no segments".to_owned(),
        })?;
        let layers = 0..self.num_hidden_layers;
        Ok(Encoder {
            words: table("word", self.vocab_size)?,
            positions,
            norm: self.norm(weights, "embeddings.LayerNorm")?,
            layers: layers
                .map(|number| self.layer(weights, &format!("encoder.layer.{number}")))
                .collect::<Result<_, _>>()?,
            heads: self.num_attention_heads,
            pooling,
        })
    }

    fn layer(&self, weights: &Weights<'_>, name: &str) -> Result<Layer, OpenError> {
        let (width, inner) = (self.hidden_size, self.intermediate_size);
        let part = |part: &str, shape| linear(weights, &format!("{name}.{part}"), shape);
        let one = |which: &str| part(&format!("attention.self.{which}"), (width, width));
        Ok(Layer {
            attention: side_by_side(&[one("query")?, one("key")?, one("value")?])?,
            mixed: part("attention.output.dense", (width, width))?,
            mixed_norm: self.norm(weights, &format!("{name}.attention.output.LayerNorm"))?,
            inner: part("intermediate.dense", (inner, width))?,
            outer: part("output.dense", (width, inner))?,
            outer_norm: self.norm(weights, &format!("{name}.output.LayerNorm"))?,
        })
    }

    fn norm(&self, weights: &Weights<'_>, name: &str) -> Result<Norm, OpenError> {
        Ok(Norm {
            weight: weights.row(&format!("{name}.weight"), self.hidden_size)?,
            bias: weights.row(&format!("{name}.bias"), self.hidden_size)?,
            epsilon: self.layer_norm_eps,
        })
    }
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().to_hex().to_string()
}

fn linear(weights: &Weights<'_>, name: &str, shape: (usize, usize)) -> Result<Linear, OpenError> {
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
        WordPiece::build(text.lines().zip(0..))
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
    let failed = |source| OpenError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(most)).unwrap_or(0));
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if most < bytes.len() as u64 {
        return Err(OpenError::TooLarge {
            path: path.to_owned(),
            most,
        });
    }
    Ok(bytes)
}
