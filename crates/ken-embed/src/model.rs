//! The [`Embedder`] port and the description of a model.

use std::borrow::Cow;

use crate::vector::Vector;

/// Maximum size of a single text in bytes. The limit also keeps the static table's sums exact.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Maps texts to vectors of one model.
pub trait Embedder: std::fmt::Debug + Send + Sync {
    /// Returns the description of the model.
    fn model(&self) -> &EmbeddingModel;

    /// Returns a digest that speeds up opening the model again, if there is one.
    fn known(&self) -> Option<&WeightsDigest> {
        None
    }

    /// Embeds each text independently; returns one vector per text, in the same order.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError>;
}

/// Properties of a model that callers need to use its vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingModel {
    /// Identifies the model and its computation; vectors with different ids are never compared.
    pub id: Cow<'static, str>,
    /// Number of components per vector.
    pub dimension: usize,
    /// Weight of the model's score in the sum with the keyword score, both scaled to [0, 1].
    pub blend: f64,
    pub thresholds: ModelThresholds,
}

/// Digest of a model's weights, and a stamp of the files it was computed from.
///
/// Hashing the weights is the slowest part of opening a model; storing this value avoids it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightsDigest {
    /// Size and times of the weights, and the digest of all smaller files.
    pub stamp: String,
    pub digest: String,
}

/// Cosine thresholds, measured for one model on the development split of the evaluation set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelThresholds {
    /// From here on two statements may be duplicates; below it hardly any are.
    pub duplicate: f64,
    /// From here on an entry may answer a query typed by a person.
    pub relevant: f64,
    /// From here on an entry may be shown without a query.
    pub strict: f64,
    /// From here on an entry that also covers enough words of a prompt may be shown at it.
    pub joint: f64,
    /// Thresholds of the sum of cosine and half the word coverage; `None` if they were not
    /// measured.
    pub sums: Option<MeasuredSums>,
}

/// Thresholds of the sum of cosine and half the word coverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredSums {
    /// From here on an entry may answer a query typed by a person.
    pub relevant: GrowingThreshold,
    /// From here on an entry may be shown without a query.
    pub strict: f64,
}

/// Threshold that grows with the number of entries.
///
/// The best of many unrelated entries is nearer to a query than the best of few. A fixed threshold
/// would be silent in a small knowledge base and talkative in a large one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowingThreshold {
    /// Value for one entry.
    pub base: f64,
    /// Growth per natural logarithm of the number of entries.
    pub growth: f64,
    /// Smallest and largest number of entries it was measured with; it is constant beyond them.
    pub measured: (usize, usize),
}

impl GrowingThreshold {
    /// Returns the threshold for a number of entries.
    #[must_use]
    pub fn for_entries(self, entries: usize) -> f64 {
        let (least, most) = self.measured;
        self.base + self.growth * (entries.clamp(least, most) as f64).ln()
    }
}

/// Failure to embed a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error(
        "text {index} of the batch has {bytes} bytes; at most {TEXT_BYTES_MAX} can be embedded"
    )]
    TextTooLong { index: usize, bytes: usize },
    #[error("cannot get embeddings from `{host}`: {why}")]
    Unreachable { host: String, why: String },
    #[error("`{host}` refused the request with status {status}")]
    Refused { host: String, status: u16 },
    #[error("the answer of `{host}` does not have one vector per text")]
    Answer { host: String },
    #[error("the model's weights changed while it was in use")]
    Changed,
    #[error("the model returned {found} dimensions; {wanted} are configured")]
    Dimension { found: usize, wanted: usize },
}

/// Rejects a batch with a text above [`TEXT_BYTES_MAX`].
pub(crate) fn check_lengths(texts: &[&str]) -> Result<(), EmbedError> {
    let too_long = |text: &&str| text.len() > TEXT_BYTES_MAX;
    match texts.iter().position(too_long) {
        Some(index) => Err(EmbedError::TextTooLong {
            index,
            bytes: texts[index].len(),
        }),
        None => Ok(()),
    }
}
