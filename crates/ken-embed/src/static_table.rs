//! The built-in model: one vector per token, compiled into the program.
//!
//! The vector of a text is the sum of its tokens' vectors; the weight of a token (higher for rare
//! ones) is part of its scale. `tools/distill` derives the table from all-MiniLM-L6-v2; `NOTICE`
//! names its authors.
//!
//! The files are used in place: startup parses, copies and allocates nothing.
//!
//! Invariant: sums are integers that `f64` represents exactly, so neither the machine nor the order
//! of words changes a byte.

use std::borrow::Cow;

use crate::model::{
    EmbedError, Embedder, EmbeddingModel, GrowingThreshold, MeasuredSums, ModelThresholds,
    TEXT_BYTES_MAX, check_lengths,
};
use crate::vector::Vector;
use crate::wordpiece::WordPiece;

/// Finite-state transducer from tokens to ids.
pub(crate) const VOCABULARY: &[u8] = include_bytes!("../data/vocabulary.fst");

/// One row of signed bytes per token.
const ROWS: &[u8] = include_bytes!("../data/rows.i8");

/// One little-endian factor per token for its row. Only ratios matter.
const SCALES: &[u8] = include_bytes!("../data/scales.u32");

/// Maximum scale; it keeps the sum of as many tokens as [`TEXT_BYTES_MAX`] allows exact in `f64`.
const SCALE_MAX: u32 = 1 << 24;
const _: () = assert!(SCALE_MAX as u64 * 127 * TEXT_BYTES_MAX as u64 <= 1 << f64::MANTISSA_DIGITS);

const DIMENSION: usize = 256;

static MODEL: EmbeddingModel = EmbeddingModel {
    id: Cow::Borrowed("ken-static-256/2"),
    dimension: DIMENSION,
    blend: 0.4,
    thresholds: ModelThresholds {
        // Reached by 79 % of duplicate pairs and 24 % of other pairs.
        duplicate: 0.70,
        // 10 % of unrelated queries find an entry this similar, and 99 % of prose queries.
        relevant: 0.59,
        // 2 % of unrelated queries, 96 % of prose queries.
        strict: 0.65,
        // With the coverage that `ken_core` asks for: 1 % of prompts about another repository.
        joint: 0.50,
        sums: Some(MeasuredSums {
            // 4 to 6 % of unrelated queries find an entry, among 10 as among 3,207.
            relevant: GrowingThreshold {
                base: 0.45,
                growth: 0.03,
                measured: (10, 3_207),
            },
            // At most 0.6 % of unrelated queries.
            strict: 0.76,
        }),
    },
};

/// The built-in model.
#[derive(Debug)]
pub struct StaticTable {
    tokens: WordPiece,
}

impl StaticTable {
    #[must_use]
    pub fn new() -> Self {
        let tokens =
            WordPiece::new(VOCABULARY).expect("the shipped vocabulary is checked by a test");
        Self { tokens }
    }

    fn vector(&self, text: &str) -> Vector {
        let mut sums = [0.0; DIMENSION];
        for id in self.tokens.ids(text) {
            add_token(id as usize, &mut sums);
        }
        Vector::quantize(&sums)
    }
}

impl Default for StaticTable {
    fn default() -> Self {
        Self::new()
    }
}

impl Embedder for StaticTable {
    fn model(&self) -> &EmbeddingModel {
        &MODEL
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        check_lengths(texts)?;
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// Adds the vector of a token. All values are integers in `f64`, because every processor multiplies
/// several `f64` at once, but few do so with `i64`.
fn add_token(id: usize, sums: &mut [f64; DIMENSION]) {
    let scale = f64::from(token_scale(id));
    // In bounds: ids come from the compiled-in vocabulary, and a test checks that each has a row.
    let row = &ROWS[id * DIMENSION..(id + 1) * DIMENSION];
    for (sum, component) in sums.iter_mut().zip(row) {
        *sum += f64::from(component.cast_signed()) * scale;
    }
}

fn token_scale(id: usize) -> u32 {
    let at = id * size_of::<u32>();
    u32::from_le_bytes([SCALES[at], SCALES[at + 1], SCALES[at + 2], SCALES[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embed(text: &str) -> Vector {
        StaticTable::new().embed(&[text]).unwrap().remove(0)
    }

    #[test]
    fn every_token_has_a_row_and_a_scale_within_bounds() {
        let tokens = fst::Map::new(VOCABULARY).unwrap().len();
        assert_eq!(ROWS.len(), tokens * DIMENSION);
        assert_eq!(SCALES.len(), tokens * size_of::<u32>());
        assert!((0..tokens).all(|id| token_scale(id) <= SCALE_MAX));
        assert!(ROWS.iter().all(|byte| byte.cast_signed() != i8::MIN));
    }

    #[test]
    fn a_vector_has_the_dimension_of_its_model() {
        let table = StaticTable::new();
        let vectors = table.embed(&["one", "", "three"]).unwrap();
        assert_eq!(vectors.len(), 3);
        for vector in vectors {
            assert_eq!(vector.components().len(), table.model().dimension);
        }
    }

    #[test]
    fn what_means_the_same_is_nearer_than_what_does_not() {
        let cat = embed("a cat sits on the mat");
        let kitten = embed("a kitten is resting on the rug");
        let stocks = embed("stock prices fell today");
        assert!(cat.cosine(&stocks) + 0.2 < cat.cosine(&kitten));
    }

    #[test]
    fn text_of_unknown_words_says_nothing() {
        for text in ["", " ", "\u{1f600}", "\u{1f680} \u{1f680}", "[CLS] [MASK]"] {
            assert!(embed(text).is_zero(), "{text:?}");
        }
    }

    #[test]
    fn the_order_of_words_and_repeating_a_text_change_nothing() {
        assert_eq!(embed("lock before write"), embed("write before lock"));
        assert_eq!(embed("stale cache"), embed("stale cache stale cache"));
    }

    #[test]
    fn a_text_above_the_limit_is_refused_by_its_number() {
        let (full, long) = (
            "a ".repeat(TEXT_BYTES_MAX / 2),
            "a".repeat(TEXT_BYTES_MAX + 1),
        );
        assert!(!embed(&full).is_zero());
        let refused = EmbedError::TextTooLong {
            index: 1,
            bytes: TEXT_BYTES_MAX + 1,
        };
        assert_eq!(StaticTable::new().embed(&["a", &long]), Err(refused));
    }
}
