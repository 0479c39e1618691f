//! A sentence transformer of the BERT family, run on the processor from a folder the user named.
//!
//! [`folder`] reads and checks, [`weights`] finds the numbers, [`forward`] computes. Any folder that
//! sentence-transformers writes for an uncased BERT with WordPiece will do, pooled by the mean or by the
//! first token; text past the folder's limit of tokens is not looked at.
//!
//! Opens the files of that folder and nothing else.
//!
//! Invariant: whatever changes the vectors (weights, vocabulary, pooling, limit) changes the model's id.

mod folder;
mod forward;
mod functions;
mod weights;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use crate::model::{EmbedError, Embedder, Known, Model, Thresholds, check_lengths};
use crate::vector::Vector;
use folder::Folder;

pub use folder::OpenError as FolderError;

/// Tokens computed at once: enough to keep the matrix products busy, few enough for the cache.
const BATCH_TOKENS_MAX: usize = 512;

/// Digits of the digest that name a model.
const DIGEST_DIGITS: usize = 16;

/// Models whose figures were measured on the development split, by their digest.
const MEASURED: &[Measured] = &[Measured {
    // all-MiniLM-L6-v2
    digest: "9f0f33aa5fe4d0f9",
    // Prose is best from 0.55 to 0.75, code from 0.8 to 0.9.
    blend: 0.7,
    thresholds: Thresholds {
        // 81 % of the pairs that say the same reach it, and 19 % of those that do not.
        duplicate: 0.60,
        // 0.1 % of unrelated questions find an entry that near, all prose and 97 % of code queries.
        relevant: 0.36,
        // No unrelated question, 99.7 % of prose and 84 % of code queries.
        strict: 0.46,
    },
}];

/// What a folder gets whose model nobody measured: more silent than the measured one, because models
/// differ in how near they put what is unrelated.
const UNMEASURED: Measured = Measured {
    digest: "",
    blend: 0.5,
    thresholds: Thresholds {
        duplicate: 0.75,
        relevant: 0.45,
        strict: 0.55,
    },
};

struct Measured {
    digest: &'static str,
    blend: f64,
    thresholds: Thresholds,
}

/// A model of a folder, ready to embed.
pub struct Transformer {
    folder: Folder,
    model: Model,
}

impl Transformer {
    /// Reads all of a model's files; a hundred megabytes are usual.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        Self::open_known(folder, None)
    }

    /// Does what [`open`](Self::open) does, and less where `known` still says what the weights are.
    pub fn open_known(folder: &Path, known: Option<&Known>) -> Result<Self, FolderError> {
        let folder = Folder::read(folder, known)?;
        let model = describe(&folder);
        Ok(Self { folder, model })
    }

    /// Returns the vectors as the model computes them, of length 1.
    pub fn floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        check_lengths(texts)?;
        let ids: Vec<Vec<u32>> = texts.iter().map(|text| self.ids(text)).collect();
        let mut vectors = vec![Vec::new(); texts.len()];
        for batch in batches(&ids) {
            let part: Vec<Vec<u32>> = batch.iter().map(|index| ids[*index].clone()).collect();
            let encoded = self.folder.encoder.encode(&part);
            for (index, vector) in batch.iter().zip(encoded.map_err(|_| EmbedError::Changed)?) {
                vectors[*index] = vector;
            }
        }
        // Vectors of two models must not come under one id.
        match self.folder.is_unchanged() {
            true => Ok(vectors),
            false => Err(EmbedError::Changed),
        }
    }

    fn ids(&self, text: &str) -> Vec<u32> {
        let [begin, end] = self.folder.marks;
        let mut ids = vec![begin];
        ids.extend(self.folder.tokens.ids(text));
        ids.truncate(1 + self.folder.tokens_max);
        ids.push(end);
        ids
    }
}

impl Embedder for Transformer {
    fn model(&self) -> &Model {
        &self.model
    }

    /// Nothing where the weights changed a moment ago.
    fn known(&self) -> Option<&Known> {
        self.folder.known.as_ref()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let exact =
            |vector: &Vec<f32>| -> Vec<f64> { vector.iter().map(|c| (*c).into()).collect() };
        let vectors = self.floats(texts)?;
        Ok(vectors
            .iter()
            .map(|vector| Vector::quantise(&exact(vector)))
            .collect())
    }
}

impl fmt::Debug for Transformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transformer")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

fn describe(folder: &Folder) -> Model {
    let dimension = folder.encoder.dimension();
    let digest = &folder.digest[..DIGEST_DIGITS];
    let measured = MEASURED.iter().find(|it| it.digest == digest);
    let measured = measured.unwrap_or(&UNMEASURED);
    Model {
        id: Cow::Owned(format!("transformer-{dimension}/{digest}")),
        dimension,
        blend: measured.blend,
        thresholds: measured.thresholds,
    }
}

/// Puts texts together that fit into a batch, in their order.
fn batches(ids: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut tokens = 0;
    for (index, text) in ids.iter().enumerate() {
        match batches.last_mut() {
            Some(batch) if tokens + text.len() <= BATCH_TOKENS_MAX => {
                batch.push(index);
                tokens += text.len();
            }
            _ => {
                batches.push(vec![index]);
                tokens = text.len();
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_the_order_and_the_limit() {
        let lengths = [256, 256, 1, 600, 2, 3];
        let ids: Vec<Vec<u32>> = lengths.iter().map(|length| vec![0; *length]).collect();
        assert_eq!(batches(&ids), [vec![0, 1], vec![2], vec![3], vec![4, 5]]);
        assert!(batches(&[]).is_empty());
    }

    #[test]
    fn a_folder_without_a_model_is_refused_by_the_file_it_lacks() {
        let nowhere = Path::new("no-such-folder");
        let error = Transformer::open(nowhere).unwrap_err().to_string();
        assert!(error.contains("config.json"), "{error}");
    }
}
