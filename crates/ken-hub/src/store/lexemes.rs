//! The words of a text as PostgreSQL compares them.
//!
//! They are cut here and travel ready-made: the server's own parser takes ten times as long, and knows neither joined
//! identifiers nor scripts without spaces.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ken_core::words::{query_words, spread};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo};
use sqlx::{Encode, Postgres, Type};
use unicode_normalization::UnicodeNormalization as _;

use super::stem::stem;
use crate::database::without_nul;

/// Places of one word that are kept, and the last place there is.
const PLACES_MAX: usize = 255;
const PLACE_MAX: u16 = (1 << 14) - 1;

/// Bytes of a word that are compared; no word people use is longer.
const WORD_BYTES_MAX: usize = 512;

/// Marks that are left out, those of Latin, Greek and Cyrillic letters; in other scripts marks are half of a word.
const ACCENTS: RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// Where in an entry a word stands, as PostgreSQL counts weights.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Statement = 3,
    Tags = 2,
    Places = 1,
}

/// Words with their places: a `tsvector`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lexemes {
    /// In the order PostgreSQL keeps them, which is that of their bytes.
    words: BTreeMap<String, Vec<u16>>,
    /// Words there are, repeated ones counted.
    count: u16,
}

impl Lexemes {
    /// Adds the words of a text.
    pub(super) fn add(&mut self, text: &str, part: Part) {
        let text = plain(text);
        let lexemes = spread(&text);
        let lexemes = lexemes.split(' ').map(lexeme).filter(|it| !it.is_empty());
        for lexeme in lexemes {
            self.count = (self.count + 1).min(PLACE_MAX);
            let places = self.words.entry(lexeme).or_default();
            let place = (part as u16) << 14 | self.count;
            // The server wants places in order; those behind the last are all the last.
            if places.len() < PLACES_MAX
                && places.last().is_none_or(|it| it & PLACE_MAX < self.count)
            {
                places.push(place);
            }
        }
    }

    /// Returns how many words there are, repeated ones counted.
    pub(super) fn count(&self) -> i32 {
        i32::from(self.count)
    }
}

/// Returns the words of a question by their stems, with how often each is asked for; each is a lexeme of PostgreSQL.
pub(super) fn asked(text: &str) -> Vec<(String, usize)> {
    let mut words: Vec<(String, usize)> = Vec::new();
    for (word, times) in query_words(&plain(text)) {
        let word = lexeme(&word);
        if word.is_empty() {
            continue;
        }
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, n)) => *n += times,
            None => words.push((word, times)),
        }
    }
    words
}

fn lexeme(word: &str) -> String {
    let lower = without_nul(&word.to_lowercase());
    let end = lower.floor_char_boundary(WORD_BYTES_MAX);
    stem(&lower[..end])
}

/// Returns a text without accents, which many people do not type and some machines write as letters of their own.
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let bare = text.nfd().filter(|it| !ACCENTS.contains(it));
    Cow::Owned(bare.nfc().collect())
}

impl Type<Postgres> for Lexemes {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("tsvector")
    }
}

impl PgHasArrayType for Lexemes {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("_tsvector")
    }
}

impl Encode<'_, Postgres> for Lexemes {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend(&i32::try_from(self.words.len())?.to_be_bytes());
        for (word, places) in &self.words {
            buffer.extend(word.as_bytes());
            buffer.extend(&[0]);
            buffer.extend(&u16::try_from(places.len())?.to_be_bytes());
            for place in places {
                buffer.extend(&place.to_be_bytes());
            }
        }
        Ok(IsNull::No)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn entries_and_questions_are_cut_the_same_way() {
        let mut lexemes = Lexemes::default();
        lexemes.add("Retrying payments needs handleRequest", Part::Statement);
        lexemes.add("auth/jwt", Part::Tags);
        for (word, _) in asked("retries of a payment? HANDLE requests; JWT") {
            assert!(lexemes.words.contains_key(&word), "{word}");
        }
        assert_eq!(lexemes.count(), 8);
        assert_eq!(asked("retry retries RETRYING"), [("retri".to_owned(), 3)]);
    }

    #[test]
    fn accents_make_no_difference_and_the_marks_of_other_scripts_do() {
        let words = |text: &str| {
            let mut lexemes = Lexemes::default();
            lexemes.add(text, Part::Statement);
            let asked: BTreeSet<String> = asked(text).into_iter().map(|(word, _)| word).collect();
            assert!(asked.iter().eq(lexemes.words.keys()), "{text}");
            asked
        };
        for (accented, bare) in [
            ("R\u{e9}sum\u{e9}s", "resumes"),
            ("Re\u{301}sume\u{301}s", "resumes"),
            ("A\u{308}pfel", "apfel"),
            // The last mark counts as a letter by itself.
            ("\u{3b1}\u{301}\u{345}", "\u{3b1}"),
        ] {
            assert_eq!(words(accented), words(bare));
        }
        assert_eq!(words("\u{345}"), BTreeSet::new());
        // Letters with a vowel sign and without; and a syllable that stays one letter.
        assert_ne!(words("\u{915}\u{93f}"), words("\u{915}"));
        assert_eq!(words("\u{d55c}"), BTreeSet::from(["\u{d55c}".to_owned()]));
    }

    #[test]
    fn long_texts_have_places_the_server_takes() {
        let mut lexemes = Lexemes::default();
        let mut text = "again ".repeat(20_000);
        text.push_str(&"x".repeat(5_000));
        lexemes.add(&text, Part::Places);
        lexemes.add("last words", Part::Tags);
        for (word, places) in &lexemes.words {
            assert!(word.len() <= WORD_BYTES_MAX && !places.is_empty());
            let places: Vec<u16> = places.iter().map(|it| it & PLACE_MAX).collect();
            assert!(places.windows(2).all(|two| two[0] < two[1]), "{word}");
        }
    }
}
