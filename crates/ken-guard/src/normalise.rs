//! Makes the copy of a text that a token cannot hide in, and leads back to the raw text.
//!
//! The copy lacks every invisible character, and letters that only look different (full-width, mathematical, circled)
//! are written plainly: compatibility form, character by character. It is for scanning only: what is stored is what
//! the author wrote, or nothing.
//!
//! Invariant: [`Normalised::raw_span`] of any span of the copy covers, in the raw text, exactly the
//! characters of that span and the invisible ones between them.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use crate::hidden::{self, Direction, Hidden, Surroundings};

/// A run of equal-class invisible characters that spell nothing where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    pub(crate) class: Hidden,
    /// Bytes in the raw text.
    pub(crate) span: Range<usize>,
}

/// A text without its invisible characters, plainly written.
#[derive(Debug)]
pub(crate) struct Normalised<'a> {
    text: Cow<'a, str>,
    /// Where pieces of the copy come from, ascending in both.
    pieces: Vec<Piece>,
    strays: Vec<Stray>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    copy_start: usize,
    raw_start: usize,
    /// Bytes of the raw character the whole piece stands for; nothing where both are equal byte for byte.
    stands_for: Option<usize>,
}

impl Normalised<'_> {
    /// Returns the text to scan beside the raw one, or nothing when both are equal.
    pub(crate) fn differing_text(&self) -> Option<&str> {
        match &self.text {
            Cow::Borrowed(_) => None,
            Cow::Owned(copy) => Some(copy),
        }
    }

    /// Returns the invisible runs a reader should be told about.
    pub(crate) fn strays(&self) -> &[Stray] {
        &self.strays
    }

    /// Maps a non-empty span of the copy to the raw text.
    pub(crate) fn raw_span(&self, copy: Range<usize>) -> Range<usize> {
        // The end is taken from the last byte inside: an invisible character after it stays outside.
        self.raw_byte(copy.start).start..self.raw_byte(copy.end.saturating_sub(1)).end
    }

    /// Returns what one byte of the copy stands for.
    fn raw_byte(&self, copy: usize) -> Range<usize> {
        let after = self
            .pieces
            .partition_point(|piece| piece.copy_start <= copy);
        match after.checked_sub(1).and_then(|at| self.pieces.get(at)) {
            Some(Piece {
                raw_start,
                stands_for: Some(bytes),
                ..
            }) => *raw_start..raw_start + bytes,
            Some(piece) => {
                let raw = piece.raw_start + (copy - piece.copy_start);
                raw..raw + 1
            }
            None => copy..copy + 1,
        }
    }
}

/// Strips every invisible character, notes the ones that are not at home, and writes the others plainly.
pub(crate) fn normalise(text: &str) -> Normalised<'_> {
    let plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let stays = |c: char| hidden::class_of(c).is_none() && is_plain(c);
    if text.bytes().all(plain) || text.chars().all(stays) {
        return Normalised {
            text: Cow::Borrowed(text),
            pieces: Vec::new(),
            strays: Vec::new(),
        };
    }
    let direction = if text.chars().any(hidden::is_right_to_left) {
        Direction::Mixed
    } else {
        Direction::LeftToRight
    };
    let mut copying = Copying {
        copy: String::with_capacity(text.len()),
        pieces: Vec::new(),
        broken: true,
    };
    let mut strays = Vec::new();
    let mut previous = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let around = Surroundings {
            previous,
            next: characters.peek().map(|(_, next)| *next),
            direction,
        };
        match hidden::class_of(c) {
            None => copying.take(at, c),
            Some(class) => {
                copying.broken = true;
                if !hidden::is_at_home(c, around) {
                    note(&mut strays, class, at..at + c.len_utf8());
                }
            }
        }
        previous = Some(c);
    }
    Normalised {
        text: Cow::Owned(copying.copy),
        pieces: copying.pieces,
        strays,
    }
}

/// The copy as it grows.
struct Copying {
    copy: String,
    pieces: Vec<Piece>,
    /// Whether the next character does not follow the last one byte for byte.
    broken: bool,
}

impl Copying {
    fn take(&mut self, at: usize, c: char) {
        let plain = is_plain(c);
        if self.broken || !plain {
            self.pieces.push(Piece {
                copy_start: self.copy.len(),
                raw_start: at,
                stands_for: (!plain).then_some(c.len_utf8()),
            });
        }
        self.broken = !plain;
        if plain {
            self.copy.push(c);
        } else {
            self.copy.extend(c.nfkc());
        }
    }
}

/// Returns whether a character is its own compatibility form.
fn is_plain(c: char) -> bool {
    c.is_ascii() || c.nfkc().eq(std::iter::once(c))
}

/// Adds a stray character, or lengthens the run it continues.
fn note(strays: &mut Vec<Stray>, class: Hidden, span: Range<usize>) {
    match strays.last_mut() {
        Some(run) if run.class == class && run.span.end == span.start => run.span.end = span.end,
        Some(_) | None => strays.push(Stray { class, span }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn classes(text: &str) -> Vec<Hidden> {
        normalise(text)
            .strays()
            .iter()
            .map(|stray| stray.class)
            .collect()
    }

    #[test]
    fn stray_characters_are_reported_by_class() {
        let cases: &[(&str, &[Hidden])] = &[
            ("split\u{200b}word", &[Hidden::ZeroWidth]),
            ("a\u{200d}b", &[Hidden::ZeroWidth]),
            ("soft\u{ad}hyphen", &[Hidden::ZeroWidth]),
            ("\u{feff}starts with a mark", &[Hidden::ZeroWidth]),
            ("if \u{202e}nimda\u{202c} {", &[Hidden::Bidi, Hidden::Bidi]),
            ("mark in latin\u{200f} text", &[Hidden::Bidi]),
            ("tags \u{e0041}\u{e0042}\u{e0043}", &[Hidden::Tag]),
            ("red \u{1b}[31m", &[Hidden::Control]),
            // Data smuggled after one emoji: only the first selector is at home.
            ("😀\u{fe0f}\u{fe01}\u{fe02}", &[Hidden::ZeroWidth]),
            ("می\u{200c}\u{200c}خواهم", &[Hidden::ZeroWidth]),
        ];
        for (text, expected) in cases {
            assert_eq!(classes(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn spelling_that_needs_hidden_characters_is_left_alone() {
        let cases = [
            "family 👨\u{200d}👩\u{200d}👧 and flag 🏳\u{fe0f}\u{200d}🌈",
            "keycap 1\u{fe0f}\u{20e3}, heart ❤\u{fe0f}, tools 🧑🏽\u{200d}💻",
            "Persian می\u{200c}خواهم",
            "Hebrew ligature א\u{200d}ל",
            "Hindi क्\u{200d}ष and क्\u{200c}ष",
            "ideograph 葛\u{e0100}",
            "Hebrew שלום C++\u{200e} and on",
        ];
        for text in cases {
            assert_eq!(classes(text), [], "{text:?}");
        }
    }

    #[test]
    fn offsets_lead_back_to_the_raw_text() {
        let raw = "é\u{200b}ab\u{200b}\u{200b}cd\u{200b}";
        let normalised = normalise(raw);
        assert_eq!(normalised.differing_text(), Some("éabcd"));
        assert_eq!(
            normalised.raw_span(2..6),
            5..15,
            "ab, two spaces, cd; neither end space"
        );
        assert_eq!(&raw[5..15], "ab\u{200b}\u{200b}cd");
        assert_eq!(normalised.raw_span(0..2), 0..2);
    }

    #[test]
    fn a_visible_text_is_not_copied() {
        assert_eq!(normalise("plain\ttext\r\n").differing_text(), None);
        assert_eq!(normalise("naïve — 漢字").differing_text(), None);
    }

    proptest! {
        /// Stripping the raw span again gives the text of the span that was asked for.
        #[test]
        fn a_raw_span_holds_what_the_span_held(
            raw in "[ab é漢\u{200b}\u{202e}\u{e0041}😀\u{200d}]{0,40}", from in 0..40usize, to in 0..40usize,
        ) {
            let normalised = normalise(&raw);
            let copy = normalised.differing_text().unwrap_or(&raw);
            let bounds: Vec<usize> = copy.char_indices().map(|(at, _)| at).chain([copy.len()]).collect();
            let (from, to) = (bounds[from % bounds.len()], bounds[to % bounds.len()]);
            let (from, to) = (from.min(to), from.max(to));
            if from == to {
                return Ok(());
            }
            let span = normalised.raw_span(from..to);
            let again = normalise(&raw[span]);
            let found: String = match again.differing_text() {
                Some(text) => text.to_owned(),
                None => raw[normalised.raw_span(from..to)].to_owned(),
            };
            prop_assert_eq!(found, &copy[from..to]);
        }
    }
}
