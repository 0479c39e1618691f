//! Splits text into the tokens of an uncased BERT vocabulary, exactly as the reference tokenizer does.
//!
//! Text → words ([`characters`]) → pieces: the longest piece of the vocabulary a word begins with,
//! then the longest of the rest among those that continue a word (`##`), and so on. A word with a
//! rest nothing matches is unknown as a whole.
//!
//! The vocabulary is an automaton read where it lies, so that starting costs nothing and the longest
//! piece is found in one walk along the word.
//!
//! Invariant: token for token equal to the reference, on its 10,000 lines and on every character
//! there is (`tests/reference.rs`).

mod characters;

use std::borrow::Cow;
use std::fmt;

use fst::raw::{CompiledAddr, Fst, Output};

use characters::for_each_word;

/// Longer words are unknown, whatever they are made of.
const WORD_CHARS_MAX: usize = 100;

/// What a piece that does not begin its word begins with in the vocabulary.
const CONTINUATION: &[u8] = b"##";

/// Tokens that are found as they are, before anything else is looked at.
const SPECIAL: &[&str] = &["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The token of what is not in the vocabulary.
const UNKNOWN: &str = "[UNK]";

/// A vocabulary, read where it lies or built at run time.
type Automaton = Fst<Cow<'static, [u8]>>;

/// A vocabulary and the way text is cut by it.
pub struct WordPiece {
    vocabulary: Automaton,
    /// Where pieces that begin a word start in the automaton, and pieces that go on.
    begin: Place,
    go_on: Place,
    unknown: u32,
}

/// A state of the automaton and what was collected on the way there.
#[derive(Clone, Copy)]
struct Place {
    state: CompiledAddr,
    id: Output,
}

impl WordPiece {
    /// Reads a vocabulary in the form `examples/vocabulary.rs` writes; `None` if it is not one.
    #[must_use]
    pub fn new(vocabulary: &'static [u8]) -> Option<Self> {
        Self::over(Fst::new(Cow::Borrowed(vocabulary)).ok()?)
    }

    /// Builds a vocabulary from its tokens and their ids; `None` if a token comes twice, or if there
    /// is none for unknown words or none that continues a word.
    #[must_use]
    pub fn build<'a>(tokens: impl IntoIterator<Item = (&'a str, u32)>) -> Option<Self> {
        let mut tokens: Vec<(&str, u64)> = tokens
            .into_iter()
            .map(|(token, id)| (token, u64::from(id)))
            .collect();
        tokens.sort_unstable();
        let bytes = fst::Map::from_iter(tokens).ok()?.into_fst().into_inner();
        Self::over(Fst::new(Cow::Owned(bytes)).ok()?)
    }

    fn over(vocabulary: Automaton) -> Option<Self> {
        let begin = Place {
            state: vocabulary.root().addr(),
            id: Output::zero(),
        };
        let go_on = CONTINUATION
            .iter()
            .try_fold(begin, |place, byte| step(&vocabulary, place, *byte))?;
        let unknown = token_id(vocabulary.get(UNKNOWN)?)?;
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
        self.vocabulary.get(token).and_then(token_id)
    }

    /// Returns the vocabulary in its packed form; equal vocabularies have equal bytes.
    #[cfg(feature = "transformer")]
    pub(crate) fn packed(&self) -> &[u8] {
        self.vocabulary.as_bytes()
    }

    /// Returns the ids of the tokens of `text`, without the marks of beginning and end.
    #[must_use]
    pub fn ids(&self, text: &str) -> Vec<u32> {
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
        if WORD_CHARS_MAX < word.len() && WORD_CHARS_MAX < word.chars().count() {
            ids.push(self.unknown);
            return;
        }
        while !rest.is_empty() {
            let Some((id, length)) = self.longest_piece(from, rest) else {
                ids.truncate(known);
                ids.push(self.unknown);
                return;
            };
            ids.push(id);
            rest = &rest[length..];
            from = self.go_on;
        }
    }

    /// Pieces are whole characters, so where one ends a character of the word ends as well.
    fn longest_piece(&self, from: Place, rest: &[u8]) -> Option<(u32, usize)> {
        let mut place = from;
        let mut longest = None;
        for (index, byte) in rest.iter().enumerate() {
            let Some(next) = step(&self.vocabulary, place, *byte) else {
                break;
            };
            place = next;
            let node = self.vocabulary.node(place.state);
            if node.is_final() {
                let id = token_id(place.id.cat(node.final_output()))?;
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

fn step(vocabulary: &Automaton, place: Place, byte: u8) -> Option<Place> {
    let node = vocabulary.node(place.state);
    let transition = node.transition(node.find_input(byte)?);
    Some(Place {
        state: transition.addr,
        id: place.id.cat(transition.out),
    })
}

fn token_id(id: Output) -> Option<u32> {
    u32::try_from(id.value()).ok()
}

fn first_special(text: &str) -> Option<(usize, &'static str)> {
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

    /// The vocabulary is the shipped one, whole: every id once.
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
        // token, ##ization; the marks of case and accent are dropped.
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
        assert!(1 < ids(&"a".repeat(100)).len());
        assert_eq!(ids(&"a".repeat(101)), [100]);
        assert!(1 < ids(&"\u{430}".repeat(100)).len());
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
