//! Lexemes: the words of a text in PostgreSQL's `tsvector` format.
//!
//! The hub tokenizes text itself and sends finished vectors. The server's parser takes ten times as
//! long and handles neither compound identifiers nor scripts without spaces.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use ken_core::retrieval::words::{expand_text, query_words};
use ken_embed::rarity;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo};
use sqlx::{Encode, Postgres, Type};
use unicode_normalization::UnicodeNormalization as _;

use super::stem::stem;
use crate::database::without_nul;

/// Maximum number of positions per word, and the largest position; both are limits of `tsvector`.
const POSITIONS_MAX: usize = 255;
const POSITION_MAX: u16 = (1 << 14) - 1;

/// Bytes of a word that are compared; natural words are shorter.
const WORD_BYTES_MAX: usize = 512;

/// Combining marks of Latin, Greek and Cyrillic letters, which are removed. In other scripts marks
/// carry meaning.
const ACCENTS: RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// Part of an entry that contains a word, as a `tsvector` weight (D is 0, A is 3).
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryTextPart {
    Statement = 3,
    Tags = 2,
    Anchors = 1,
}

/// Words with their positions: a `tsvector`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextSearchVector {
    /// Sorted by bytes, as PostgreSQL requires.
    words: BTreeMap<String, Vec<u16>>,
    /// Number of words, including repetitions.
    count: u16,
}

impl TextSearchVector {
    /// Adds the words of a text.
    pub(super) fn add(&mut self, text: &str, part: EntryTextPart) {
        let text = strip_accents(text);
        let spread = expand_text(&text);
        let lexemes = spread.split(' ').map(lexeme).filter(|it| !it.is_empty());
        for lexeme in lexemes {
            self.count = (self.count + 1).min(POSITION_MAX);
            let positions = self.words.entry(lexeme).or_default();
            // The two highest bits are the weight, the other fourteen the position.
            let position = (part as u16) << 14 | self.count;
            // The server requires ascending positions. Beyond the maximum all words share the last
            // position, which is stored once.
            if positions.len() < POSITIONS_MAX
                && positions
                    .last()
                    .is_none_or(|it| it & POSITION_MAX < self.count)
            {
                positions.push(position);
            }
        }
    }

    /// Returns the words, each once.
    pub(super) fn into_words(self) -> Vec<String> {
        self.words.into_keys().collect()
    }

    /// Returns the number of words, including repetitions.
    pub(super) fn count(&self) -> i32 {
        i32::from(self.count)
    }
}

/// Returns the lexemes of a query, each with the number of its occurrences: of a query with more
/// than `max`, the rarest.
pub(super) fn query_lexemes(text: &str, max: usize) -> Vec<(String, usize)> {
    let mut words: Vec<QueryLexeme> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for (word, times) in query_words(&strip_accents(text)) {
        let stem = lexeme(&word);
        if stem.is_empty() {
            continue;
        }
        let at = *positions.entry(stem.clone()).or_insert(words.len());
        match words.get_mut(at) {
            // Different words may share a stem; their occurrences add up.
            Some(known) => known.times += times,
            None => words.push(QueryLexeme { stem, word, times }),
        }
    }
    if words.len() > max {
        keep_rarest(&mut words, max);
    }
    words.into_iter().map(|it| (it.stem, it.times)).collect()
}

/// A word of a query.
struct QueryLexeme {
    stem: String,
    /// The first word with that stem.
    word: String,
    times: usize,
}

/// Keeps the `max` rarest words, in their order. Frequent words match most entries and decide
/// little, and they are the ones whose rank takes long to compute.
fn keep_rarest(words: &mut Vec<QueryLexeme>, max: usize) {
    let mut ranked: Vec<(u32, usize)> = words
        .iter()
        .enumerate()
        .map(|(at, it)| (rarity(&it.word), at))
        .collect();
    // Rarest first; of equally rare words the earlier ones.
    ranked.sort_by_key(|(rank, at)| (std::cmp::Reverse(*rank), *at));
    let kept: BTreeSet<usize> = ranked.iter().take(max).map(|(_, at)| *at).collect();
    let mut at = 0;
    words.retain(|_| {
        at += 1;
        kept.contains(&(at - 1))
    });
}

fn lexeme(word: &str) -> String {
    let lower = without_nul(&word.to_lowercase());
    let end = lower.floor_char_boundary(WORD_BYTES_MAX);
    stem(&lower[..end])
}

/// Removes accents, which many people do not type and some systems encode as separate characters.
fn strip_accents(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let bare = text.nfd().filter(|it| !ACCENTS.contains(it));
    Cow::Owned(bare.nfc().collect())
}

impl Type<Postgres> for TextSearchVector {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("tsvector")
    }
}

impl PgHasArrayType for TextSearchVector {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("_tsvector")
    }
}

impl Encode<'_, Postgres> for TextSearchVector {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        // Wire format of `tsvector_recv`: word count, then per word the NUL-terminated text, the
        // number of positions and the positions, all big-endian.
        buffer.extend(&i32::try_from(self.words.len())?.to_be_bytes());
        for (word, positions) in &self.words {
            buffer.extend(word.as_bytes());
            buffer.extend(&[0]);
            buffer.extend(&u16::try_from(positions.len())?.to_be_bytes());
            for position in positions {
                buffer.extend(&position.to_be_bytes());
            }
        }
        Ok(IsNull::No)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_questions_are_cut_the_same_way() {
        let mut lexemes = TextSearchVector::default();
        lexemes.add(
            "Retrying payments needs handleRequest",
            EntryTextPart::Statement,
        );
        lexemes.add("auth/jwt", EntryTextPart::Tags);
        for (word, _) in query_lexemes("retries of a payment? HANDLE requests; JWT", 48) {
            assert!(lexemes.words.contains_key(&word), "{word}");
        }
        assert_eq!(lexemes.count(), 8);
        assert_eq!(
            query_lexemes("retry retries RETRYING", 48),
            [("retri".to_owned(), 3)]
        );
    }

    #[test]
    fn of_too_many_words_the_rarest_are_asked_for() {
        let found = query_lexemes("time flux9x first people idempotency time", 2);
        assert_eq!(
            found,
            [("flux9x".to_owned(), 1), (lexeme("idempotency"), 1)]
        );
        let many: String = (0..5_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(query_lexemes(&many, 48).len(), 48);
    }

    #[test]
    fn accents_make_no_difference_and_the_marks_of_other_scripts_do() {
        let words = |text: &str| {
            let mut lexemes = TextSearchVector::default();
            lexemes.add(text, EntryTextPart::Statement);
            let asked: BTreeSet<String> = query_lexemes(text, 48)
                .into_iter()
                .map(|(word, _)| word)
                .collect();
            assert!(asked.iter().eq(lexemes.words.keys()), "{text}");
            asked
        };
        for (accented, bare) in [
            ("R\u{e9}sum\u{e9}s", "resumes"),
            ("Re\u{301}sume\u{301}s", "resumes"),
            ("A\u{308}pfel", "apfel"),
            // U+0345 is a combining mark that `char::is_alphabetic` accepts.
            ("\u{3b1}\u{301}\u{345}", "\u{3b1}"),
        ] {
            assert_eq!(words(accented), words(bare));
        }
        assert_eq!(words("\u{345}"), BTreeSet::new());
        // A letter with and without a vowel sign differ, and a composed Hangul syllable stays one
        // letter.
        assert_ne!(words("\u{915}\u{93f}"), words("\u{915}"));
        assert_eq!(words("\u{d55c}"), BTreeSet::from(["\u{d55c}".to_owned()]));
    }

    #[test]
    fn long_texts_have_places_the_server_takes() {
        let mut lexemes = TextSearchVector::default();
        let mut text = "again ".repeat(20_000);
        text.push_str(&"x".repeat(5_000));
        lexemes.add(&text, EntryTextPart::Anchors);
        lexemes.add("last words", EntryTextPart::Tags);
        for (word, positions) in &lexemes.words {
            assert!(word.len() <= WORD_BYTES_MAX && !positions.is_empty());
            let positions: Vec<u16> = positions.iter().map(|it| it & POSITION_MAX).collect();
            assert!(positions.windows(2).all(|two| two[0] < two[1]), "{word}");
        }
    }
}
