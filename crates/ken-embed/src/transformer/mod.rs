//! Sentence transformer of the BERT family, run on the CPU from a folder.
//!
//! [`folder`] reads and checks the files, [`weights`] reads the tensors, [`forward`] computes.
//! Supports any folder that sentence-transformers writes for an uncased BERT with WordPiece, with
//! mean or first-token pooling. Text beyond the folder's token limit is ignored.
//!
//! Opens only the files of that folder.
//!
//! Invariant: everything that changes the vectors (weights, vocabulary, pooling, limit) changes the
//! model's id.

mod folder;
mod forward;
mod functions;
mod weights;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use crate::model::{
    EmbedError, Embedder, EmbeddingModel, ModelThresholds, WeightsDigest, check_lengths,
};
use crate::vector::Vector;
use folder::ModelFolder;

pub use folder::FolderOpenError as FolderError;

/// Tokens per batch: enough to keep the matrix products busy, few enough for the cache.
const BATCH_TOKENS_MAX: usize = 512;

/// Digits of the digest in a model's id.
const DIGEST_DIGITS: usize = 16;

/// Models measured on the development split, by digest.
const MEASURED: &[MeasuredModel] = &[MeasuredModel {
    // all-MiniLM-L6-v2
    digest: "9f0f33aa5fe4d0f9",
    // Prose is best from 0.55 to 0.75, code from 0.8 to 0.9.
    blend: 0.7,
    thresholds: ModelThresholds {
        // Reached by 81 % of duplicate pairs and 19 % of other pairs.
        duplicate: 0.60,
        // 0.1 % of unrelated queries find an entry this similar, all prose and 97 % of code
        // queries.
        relevant: 0.36,
        // No unrelated query, 99.7 % of prose and 84 % of code queries.
        strict: 0.46,
        // Not measured: no less than an explicit query needs.
        joint: 0.36,
        sums: None,
    },
}];

/// Defaults for models that were not measured: more conservative than the measured one, because
/// models differ in the similarity they assign to unrelated texts.
const UNMEASURED: MeasuredModel = MeasuredModel {
    digest: "",
    blend: 0.5,
    thresholds: ModelThresholds {
        duplicate: 0.75,
        relevant: 0.45,
        strict: 0.55,
        // Not measured: no less than an explicit query needs.
        joint: 0.45,
        sums: None,
    },
};

/// Measured parameters of one model.
struct MeasuredModel {
    digest: &'static str,
    blend: f64,
    thresholds: ModelThresholds,
}

/// A model loaded from a folder.
pub struct TransformerEmbedder {
    folder: ModelFolder,
    model: EmbeddingModel,
}

impl TransformerEmbedder {
    /// Reads all files of a model; usually about a hundred megabytes.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        Self::open_with_digest(folder, None)
    }

    /// Works like [`open`](Self::open), and skips hashing if `known` still matches the weights.
    pub fn open_with_digest(
        folder: &Path,
        known: Option<&WeightsDigest>,
    ) -> Result<Self, FolderError> {
        let folder = ModelFolder::read(folder, known)?;
        let model = describe_model(&folder);
        Ok(Self { folder, model })
    }

    /// Returns the vectors as computed by the model, with norm 1.
    pub fn floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        check_lengths(texts)?;
        let ids: Vec<Vec<u32>> = texts.iter().map(|text| self.ids(text)).collect();
        let mut vectors = vec![Vec::new(); texts.len()];
        // Batches only group rows for the matrix products; each text is still encoded
        // independently.
        for batch in split_batches(&ids) {
            let part: Vec<Vec<u32>> = batch.iter().map(|index| ids[*index].clone()).collect();
            let encoded = self.folder.encoder.encode(&part);
            for (index, vector) in batch.iter().zip(encoded.map_err(|_| EmbedError::Changed)?) {
                vectors[*index] = vector;
            }
        }
        // Word rows are read lazily from the file: vectors of replaced weights must not get the old
        // id.
        if self.folder.is_unchanged() {
            Ok(vectors)
        } else {
            Err(EmbedError::Changed)
        }
    }

    fn ids(&self, text: &str) -> Vec<u32> {
        let [begin, end] = self.folder.marks;
        let mut ids = vec![begin];
        ids.extend(self.folder.tokens.ids(text));
        // The start token is not counted by the limit; the end token follows.
        ids.truncate(1 + self.folder.tokens_max);
        ids.push(end);
        ids
    }
}

impl Embedder for TransformerEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    /// Returns `None` if the weights changed too recently.
    fn known(&self) -> Option<&WeightsDigest> {
        self.folder.known.as_ref()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let exact =
            |vector: &Vec<f32>| -> Vec<f64> { vector.iter().map(|c| (*c).into()).collect() };
        let vectors = self.floats(texts)?;
        Ok(vectors
            .iter()
            .map(|vector| Vector::quantize(&exact(vector)))
            .collect())
    }
}

impl fmt::Debug for TransformerEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transformer")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

fn describe_model(folder: &ModelFolder) -> EmbeddingModel {
    let dimension = folder.encoder.dimension();
    let digest = &folder.digest[..DIGEST_DIGITS];
    let found = MEASURED.iter().find(|measured| measured.digest == digest);
    let measured = found.unwrap_or(&UNMEASURED);
    EmbeddingModel {
        id: Cow::Owned(format!("transformer-{dimension}/{digest}")),
        dimension,
        blend: measured.blend,
        thresholds: measured.thresholds,
    }
}

/// Groups texts into batches, in order.
fn split_batches(ids: &[Vec<u32>]) -> Vec<Vec<usize>> {
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
        assert_eq!(
            split_batches(&ids),
            [vec![0, 1], vec![2], vec![3], vec![4, 5]]
        );
        assert!(split_batches(&[]).is_empty());
    }

    #[test]
    fn a_folder_without_a_model_is_refused_by_the_file_it_lacks() {
        let nowhere = Path::new("no-such-folder");
        let error = TransformerEmbedder::open(nowhere).unwrap_err().to_string();
        assert!(error.contains("config.json"), "{error}");
    }
}
