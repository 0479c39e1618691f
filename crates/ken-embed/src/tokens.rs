//! How many tokens a text costs whoever reads it.

use crate::static_table::VOCABULARY;
use crate::wordpiece::WordPiece;

/// Estimates the tokens of `text` by the vocabulary that is compiled in.
///
/// Models of other makers cut text otherwise: prose costs them a seventh less, code up to a third
/// (`docs/retrieval.md`), so what fits by this count fits.
#[must_use]
pub fn count_tokens(text: &str) -> usize {
    let tokens = WordPiece::new(VOCABULARY).expect("the shipped vocabulary is checked by a test");
    tokens.ids(text).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cost_one_and_rare_ones_more() {
        for (text, tokens) in [("", 0), ("send the request", 3), ("send, the request.", 5)] {
            assert_eq!(count_tokens(text), tokens, "{text}");
        }
        assert!(1 < count_tokens("idempotency"));
    }
}
