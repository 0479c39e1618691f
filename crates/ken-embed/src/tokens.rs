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

/// Ranks words by how rare they are in general language: frequent words of the compiled-in
/// vocabulary first, words it does not contain last.
///
/// Needs no statistics of the text that is searched, so it costs no query.
#[must_use]
pub fn rarity(word: &str) -> u32 {
    let tokens = WordPiece::new(VOCABULARY).expect("the shipped vocabulary is checked by a test");
    // The vocabulary is sorted by frequency, so a token's number is its rank.
    tokens.id(word).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_rarer_than_words_and_words_than_each_other() {
        let ranks = ["the", "time", "gateway", "idempotency", "xq17"].map(rarity);
        assert!(ranks.is_sorted(), "{ranks:?}");
        assert!(ranks[0] < ranks[2] && ranks[2] < u32::MAX);
        assert_eq!(ranks[4], u32::MAX);
    }

    #[test]
    fn words_cost_one_and_rare_ones_more() {
        for (text, tokens) in [("", 0), ("send the request", 3), ("send, the request.", 5)] {
            assert_eq!(count_tokens(text), tokens, "{text}");
        }
        assert!(count_tokens("idempotency") > 1);
    }
}
