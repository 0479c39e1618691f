//! The port every embedding model stands behind, and what is known about a model.

use std::borrow::Cow;

use crate::vector::Vector;

/// Bytes a single text may have. The limit also keeps the static table's sums exact.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Turns texts into vectors of one model.
pub trait Embedder: std::fmt::Debug + Send + Sync {
    fn model(&self) -> &Model;

    /// Returns what makes opening it again quick, where there is something.
    fn known(&self) -> Option<&Known> {
        None
    }

    /// Embeds each text by itself; the answer has one vector a text, in the same order.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError>;
}

/// What callers must know about a model to use its vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Names the model and the way it was made; vectors under two ids are never compared.
    pub id: Cow<'static, str>,
    /// Components a vector has.
    pub dimension: usize,
    /// Share of the model's score in the sum with the keyword score, both stretched to [0, 1].
    pub blend: f64,
    pub thresholds: Thresholds,
}

/// A digest, and how a folder looked from outside when it was taken.
///
/// Hashing the weights takes longer than anything else about opening a model; whoever keeps this saves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Size and times of the weights, and the digest of everything smaller.
    pub stamp: String,
    pub digest: String,
}

/// Cosines with a meaning, measured for one model on the development split of the evaluation set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// From here on two statements may say the same thing; below it hardly any do.
    pub duplicate: f64,
    /// From here on an entry may answer a query a person typed.
    pub relevant: f64,
    /// From here on an entry may be shown to somebody who did not ask.
    pub strict: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error(
        "text {index} of the batch has {bytes} bytes; at most {TEXT_BYTES_MAX} can be embedded"
    )]
    TextTooLong { index: usize, bytes: usize },
    #[error("cannot ask `{host}` for vectors: {why}")]
    Unreachable { host: String, why: String },
    #[error("`{host}` refused to embed, with status {status}")]
    Refused { host: String, status: u16 },
    #[error("the answer of `{host}` is not one vector a text")]
    Answer { host: String },
    #[error("the model's weights changed while it was in use")]
    Changed,
    #[error("the model answered with {found} components; it is configured with {wanted}")]
    Dimension { found: usize, wanted: usize },
}

/// Refuses a batch with a text above [`TEXT_BYTES_MAX`].
pub(crate) fn check_lengths(texts: &[&str]) -> Result<(), EmbedError> {
    let too_long = |text: &&str| TEXT_BYTES_MAX < text.len();
    match texts.iter().position(too_long) {
        Some(index) => Err(EmbedError::TextTooLong {
            index,
            bytes: texts[index].len(),
        }),
        None => Ok(()),
    }
}
