//! Token counts for token budgets.

use crate::static_table::VOCABULARY;
use crate::wordpiece::WordPiece;

/// Estimates the number of tokens of `text` with the compiled-in vocabulary.
///
/// Other models tokenize differently: prose costs them a seventh less, code up to a third less
/// (`docs/explanation/retrieval.md`), so a text that fits by this count fits.
#[must_use]
pub fn count_tokens(text: &str) -> usize {
    // Constructed per call, which costs nothing because the vocabulary is used in place.
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
        assert!(count_tokens("idempotency") > 1);
    }
}
