//! WordPiece tokenizer for an uncased BERT vocabulary, identical to the reference tokenizer.
//!
//! Text is split into words ([`characters`]), and each word into pieces: the longest piece of the
//! vocabulary that starts the word, then the longest continuation piece (`##`) of the rest, and so
//! on. A word with an unmatched rest is unknown as a whole.
//!
//! The vocabulary is a finite-state transducer used in place, so startup costs nothing and the
//! longest piece is found in one pass over the word.
//!
//! Invariant: the tokens equal those of the reference on its 10,000 lines and on every character
//! (`tests/reference.rs`).

mod characters;

use std::borrow::Cow;
use std::fmt;

use fst::raw::{CompiledAddr, Fst, Output};

use characters::for_each_word;

/// Maximum length of a word in characters; longer words are unknown.
const WORD_CHARS_MAX: usize = 100;

/// Prefix of continuation pieces in the vocabulary.
const CONTINUATION: &[u8] = b"##";

/// Special tokens, recognized in the raw text before anything else.
const SPECIAL: &[&str] = &["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// Token of unknown words.
const UNKNOWN: &str = "[UNK]";

/// A vocabulary, used in place or built at run time.
type VocabularyFst = Fst<Cow<'static, [u8]>>;

/// A WordPiece tokenizer.
pub struct WordPiece {
    vocabulary: VocabularyFst,
    /// States of the transducer at which starting and continuation pieces begin.
    begin: FstState,
    go_on: FstState,
    unknown: u32,
}

/// A state of the transducer and the output collected on the way.
#[derive(Clone, Copy)]
struct FstState {
    state: CompiledAddr,
    id: Output,
}

impl WordPiece {
    /// Loads a vocabulary in the form `example_norms/vocabulary.rs` writes; `None` if it is
    /// invalid.
    #[must_use]
    pub fn new(vocabulary: &'static [u8]) -> Option<Self> {
        Self::over(Fst::new(Cow::Borrowed(vocabulary)).ok()?)
    }

    /// Builds a vocabulary from tokens and ids; `None` if a token occurs twice, or if the unknown
    /// token or continuation pieces are missing.
    #[must_use]
    pub fn build<'a>(tokens: impl IntoIterator<Item = (&'a str, u32)>) -> Option<Self> {
        let mut tokens: Vec<(&str, u64)> = tokens
            .into_iter()
            .map(|(token, id)| (token, u64::from(id)))
            .collect();
        // A transducer is built from keys in ascending order.
        tokens.sort_unstable();
        let bytes = fst::Map::from_iter(tokens).ok()?.into_fst().into_inner();
        Self::over(Fst::new(Cow::Owned(bytes)).ok()?)
    }

    fn over(vocabulary: VocabularyFst) -> Option<Self> {
        let begin = FstState {
            state: vocabulary.root().addr(),
            id: Output::zero(),
        };
        let go_on = CONTINUATION
            .iter()
            .try_fold(begin, |place, byte| advance(&vocabulary, place, *byte))?;
        let unknown = output_to_id(vocabulary.get(UNKNOWN)?)?;
        Some(Self {
            vocabulary,
            begin,
            go_on,
            unknown,
        })
    }

    /// Returns the id of one token, spelled as in the vocabulary.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        self.vocabulary.get(token).and_then(output_to_id)
    }

    /// Returns the serialized vocabulary; equal vocabularies have equal bytes.
    #[cfg(feature = "transformer")]
    pub(crate) fn packed(&self) -> &[u8] {
        self.vocabulary.as_bytes()
    }

    /// Returns the token ids of `text`, without start and end tokens.
    #[must_use]
    pub fn ids(&self, text: &str) -> Vec<u32> {
        // English prose has about four bytes per token.
        let mut ids = Vec::with_capacity(text.len() / 4 + 1);
        let mut rest = text;
        while let Some((at, special)) = first_special(rest) {
            for_each_word(&rest[..at], |word| self.push_pieces(word, &mut ids));
            ids.extend(self.id(special));
            rest = &rest[at + special.len()..];
        }
        for_each_word(rest, |word| self.push_pieces(word, &mut ids));
        ids
    }

    fn push_pieces(&self, word: &str, ids: &mut Vec<u32>) {
        let known = ids.len();
        let mut rest = word.as_bytes();
        let mut from = self.begin;
        // The byte length is an upper bound of the character count and cheaper.
        if word.len() > WORD_CHARS_MAX && word.chars().count() > WORD_CHARS_MAX {
            ids.push(self.unknown);
            return;
        }
        while !rest.is_empty() {
            let Some((id, length)) = self.longest_piece(from, rest) else {
                // The reference drops pieces already found: the word is unknown as a whole.
                ids.truncate(known);
                ids.push(self.unknown);
                return;
            };
            ids.push(id);
            rest = &rest[length..];
            from = self.go_on;
        }
    }

    /// Returns the id and length of the longest matching piece. Pieces consist of complete
    /// characters, so a piece also ends at a character boundary of the word.
    fn longest_piece(&self, from: FstState, rest: &[u8]) -> Option<(u32, usize)> {
        let mut place = from;
        let mut longest = None;
        for (index, byte) in rest.iter().enumerate() {
            let Some(next) = advance(&self.vocabulary, place, *byte) else {
                break;
            };
            place = next;
            let node = self.vocabulary.node(place.state);
            if node.is_final() {
                let id = output_to_id(place.id.cat(node.final_output()))?;
                longest = Some((id, index + 1));
            }
        }
        longest
    }
}

impl fmt::Debug for WordPiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordPiece")
            .field("tokens", &self.vocabulary.len())
            .finish_non_exhaustive()
    }
}

fn advance(vocabulary: &VocabularyFst, place: FstState, byte: u8) -> Option<FstState> {
    let node = vocabulary.node(place.state);
    let transition = node.transition(node.find_input(byte)?);
    Some(FstState {
        state: transition.addr,
        id: place.id.cat(transition.out),
    })
}

fn output_to_id(id: Output) -> Option<u32> {
    u32::try_from(id.value()).ok()
}

fn first_special(text: &str) -> Option<(usize, &'static str)> {
    // Every special token starts with a bracket, which is rare in text.
    text.match_indices('[').find_map(|(at, _)| {
        let found = SPECIAL.iter().find(|name| text[at..].starts_with(**name))?;
        Some((at, *found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_table::VOCABULARY;

    fn ids(text: &str) -> Vec<u32> {
        WordPiece::new(VOCABULARY).unwrap().ids(text)
    }

    /// The shipped vocabulary is complete: every id occurs once.
    #[test]
    fn every_id_has_one_token() {
        let map = fst::Map::new(VOCABULARY).unwrap();
        map.as_fst().verify().unwrap();
        let mut ids = map.stream().into_values();
        ids.sort_unstable();
        assert!(ids.iter().copied().eq(0..30_522));
    }

    #[test]
    fn text_without_words_has_no_tokens() {
        for text in ["", " \t\r\n", "\u{0}\u{200b}\u{fffd}\u{301}"] {
            assert_eq!(ids(text), [0u32; 0], "{text:?}");
        }
    }

    #[test]
    fn a_word_is_cut_into_the_longest_pieces() {
        // token, ##ization; case and accents are dropped.
        assert_eq!(ids("tokenization"), [19204, 3989]);
        assert_eq!(ids("T\u{f6}kenizati\u{f3}n"), ids("tokenization"));
    }

    #[test]
    fn special_tokens_are_found_in_text_only_as_they_are_spelled() {
        assert_eq!(ids("a[MASK]b"), [1037, 103, 1038]);
        assert_eq!(ids("[mask]").len(), 3);
    }

    #[test]
    fn a_word_may_have_100_characters_and_not_one_more() {
        assert!(ids(&"a".repeat(100)).len() > 1);
        assert_eq!(ids(&"a".repeat(101)), [100]);
        assert!(ids(&"\u{430}".repeat(100)).len() > 1);
        assert_eq!(ids(&"\u{430}".repeat(101)), [100]);
    }

    #[test]
    fn a_vocabulary_built_from_its_tokens_cuts_as_the_packed_one() {
        let map = fst::Map::new(VOCABULARY).unwrap();
        let tokens = map.stream().into_str_vec().unwrap();
        let numbered = tokens.iter().map(|(token, id)| (&**token, *id as u32));
        let built = WordPiece::build(numbered).unwrap();
        for text in ["tokenization of [MASK]", "Stra\u{df}e \u{4e2d}\u{6587}", ""] {
            assert_eq!(built.ids(text), ids(text));
        }
        assert_eq!(built.id("[CLS]"), Some(101));
        assert_eq!(built.id("no such token"), None);
    }

    #[test]
    fn tokens_that_make_no_vocabulary_are_refused() {
        assert!(WordPiece::build([("[UNK]", 0), ("##a", 1)]).is_some());
        assert!(WordPiece::build([("[UNK]", 0)]).is_none());
        assert!(WordPiece::build([("##a", 0)]).is_none());
        assert!(WordPiece::build([("[UNK]", 0), ("##a", 1), ("##a", 2)]).is_none());
    }

    #[test]
    fn what_is_no_vocabulary_is_refused() {
        assert!(WordPiece::new(b"").is_none());
        assert!(WordPiece::new(&[7; 64]).is_none());
    }
}
