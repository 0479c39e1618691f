//! Normalized copy of a text for scanning, with a mapping back to the raw text.
//!
//! The copy omits every invisible character and replaces look-alike letters (full-width,
//! mathematical, circled) with their compatibility form (NFKC), character by character. It is used
//! only for scanning; the stored text is unchanged.
//!
//! Invariant: [`NormalizedText::raw_span`] of any span of the copy covers exactly the raw
//! characters of that span and the invisible ones between them.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use crate::hidden::{self, CharContext, HiddenClass, TextDirection};

/// A run of stray invisible characters of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StrayRun {
    pub(crate) class: HiddenClass,
    /// Byte range in the raw text.
    pub(crate) span: Range<usize>,
}

/// A text without invisible characters, in compatibility form.
#[derive(Debug)]
pub(crate) struct NormalizedText<'a> {
    text: Cow<'a, str>,
    /// Origins of the pieces of the copy, ascending in both texts.
    pieces: Vec<OffsetMapping>,
    strays: Vec<StrayRun>,
}

/// Origin of one piece of the copy.
#[derive(Clone, Copy, Debug)]
struct OffsetMapping {
    copy_start: usize,
    raw_start: usize,
    /// Length of the raw character that the whole piece represents; `None` if both are equal byte
    /// for byte.
    raw_len: Option<usize>,
}

impl NormalizedText<'_> {
    /// Returns the copy if it differs from the raw text.
    pub(crate) fn differing_text(&self) -> Option<&str> {
        match &self.text {
            Cow::Borrowed(_) => None,
            Cow::Owned(copy) => Some(copy),
        }
    }

    /// Returns the stray invisible runs.
    pub(crate) fn strays(&self) -> &[StrayRun] {
        &self.strays
    }

    /// Maps a non-empty span of the copy to the raw text.
    pub(crate) fn raw_span(&self, copy: Range<usize>) -> Range<usize> {
        // The end is derived from the last byte inside, so an invisible character after it is
        // excluded.
        self.raw_bytes_of(copy.start).start..self.raw_bytes_of(copy.end.saturating_sub(1)).end
    }

    /// Returns the raw bytes that one byte of the copy represents.
    fn raw_bytes_of(&self, copy: usize) -> Range<usize> {
        // Pieces are ascending, so a binary search finds the last one that starts at or before the
        // byte.
        let after = self
            .pieces
            .partition_point(|piece| piece.copy_start <= copy);
        match after.checked_sub(1).and_then(|at| self.pieces.get(at)) {
            Some(OffsetMapping {
                raw_start,
                raw_len: Some(bytes),
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

/// Removes invisible characters, records the stray ones and normalizes the others.
pub(crate) fn normalize(text: &str) -> NormalizedText<'_> {
    let plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let stays = |c: char| hidden::hidden_class(c).is_none() && is_plain(c);
    // Most texts are plain ASCII; the byte test avoids decoding them.
    if text.bytes().all(plain) || text.chars().all(stays) {
        return NormalizedText {
            text: Cow::Borrowed(text),
            pieces: Vec::new(),
            strays: Vec::new(),
        };
    }
    // Decided for the whole field: direction marks often occur next to Latin text.
    let direction = if text.chars().any(hidden::is_right_to_left) {
        TextDirection::Mixed
    } else {
        TextDirection::LeftToRight
    };
    let mut copying = CopyBuilder {
        copy: String::with_capacity(text.len()),
        pieces: Vec::new(),
        broken: true,
    };
    let mut strays = Vec::new();
    let mut previous = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let around = CharContext {
            previous,
            next: characters.peek().map(|(_, next)| *next),
            direction,
        };
        match hidden::hidden_class(c) {
            None => copying.take(at, c),
            Some(class) => {
                // The raw offset jumps here, so the next visible character starts a new piece.
                copying.broken = true;
                if !hidden::is_legitimate(c, around) {
                    add_stray(&mut strays, class, at..at + c.len_utf8());
                }
            }
        }
        previous = Some(c);
    }
    NormalizedText {
        text: Cow::Owned(copying.copy),
        pieces: copying.pieces,
        strays,
    }
}

/// Builder of the copy.
struct CopyBuilder {
    copy: String,
    pieces: Vec<OffsetMapping>,
    /// Set if the next character does not directly follow the last one.
    broken: bool,
}

impl CopyBuilder {
    fn take(&mut self, at: usize, c: char) {
        let plain = is_plain(c);
        if self.broken || !plain {
            self.pieces.push(OffsetMapping {
                copy_start: self.copy.len(),
                raw_start: at,
                raw_len: (!plain).then_some(c.len_utf8()),
            });
        }
        self.broken = !plain;
        if plain {
            self.copy.push(c);
        } else {
            // Per character, so that composition cannot merge characters and the mapping stays
            // exact.
            self.copy.extend(c.nfkc());
        }
    }
}

/// Returns whether a character is its own compatibility form.
fn is_plain(c: char) -> bool {
    c.is_ascii() || c.nfkc().eq(std::iter::once(c))
}

/// Adds a stray character or extends the preceding run.
fn add_stray(strays: &mut Vec<StrayRun>, class: HiddenClass, span: Range<usize>) {
    match strays.last_mut() {
        Some(run) if run.class == class && run.span.end == span.start => run.span.end = span.end,
        Some(_) | None => strays.push(StrayRun { class, span }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn classes(text: &str) -> Vec<HiddenClass> {
        normalize(text)
            .strays()
            .iter()
            .map(|stray| stray.class)
            .collect()
    }

    #[test]
    fn stray_characters_are_reported_by_class() {
        let cases: &[(&str, &[HiddenClass])] = &[
            ("split\u{200b}word", &[HiddenClass::ZeroWidth]),
            ("a\u{200d}b", &[HiddenClass::ZeroWidth]),
            ("soft\u{ad}hyphen", &[HiddenClass::ZeroWidth]),
            ("\u{feff}starts with a mark", &[HiddenClass::ZeroWidth]),
            (
                "if \u{202e}nimda\u{202c} {",
                &[HiddenClass::Bidi, HiddenClass::Bidi],
            ),
            ("mark in latin\u{200f} text", &[HiddenClass::Bidi]),
            ("tags \u{e0041}\u{e0042}\u{e0043}", &[HiddenClass::Tag]),
            ("red \u{1b}[31m", &[HiddenClass::Control]),
            // Data smuggled after one emoji: only the first selector is legitimate.
            ("😀\u{fe0f}\u{fe01}\u{fe02}", &[HiddenClass::ZeroWidth]),
            ("می\u{200c}\u{200c}خواهم", &[HiddenClass::ZeroWidth]),
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
        let normalized = normalize(raw);
        assert_eq!(normalized.differing_text(), Some("éabcd"));
        assert_eq!(
            normalized.raw_span(2..6),
            5..15,
            "ab, two spaces, cd; neither end space"
        );
        assert_eq!(&raw[5..15], "ab\u{200b}\u{200b}cd");
        assert_eq!(normalized.raw_span(0..2), 0..2);
    }

    #[test]
    fn a_visible_text_is_not_copied() {
        assert_eq!(normalize("plain\ttext\r\n").differing_text(), None);
        assert_eq!(normalize("naïve — 漢字").differing_text(), None);
    }

    proptest! {
        /// Normalizing the raw span again yields the text of the requested span.
        #[test]
        fn a_raw_span_holds_what_the_span_held(
            raw in "[ab é漢\u{200b}\u{202e}\u{e0041}😀\u{200d}]{0,40}", from in 0..40usize, to in 0..40usize,
        ) {
            let normalized = normalize(&raw);
            let copy = normalized.differing_text().unwrap_or(&raw);
            let bounds: Vec<usize> = copy.char_indices().map(|(at, _)| at).chain([copy.len()]).collect();
            let (from, to) = (bounds[from % bounds.len()], bounds[to % bounds.len()]);
            let (from, to) = (from.min(to), from.max(to));
            if from == to {
                return Ok(());
            }
            let span = normalized.raw_span(from..to);
            let again = normalize(&raw[span]);
            let found: String = match again.differing_text() {
                Some(text) => text.to_owned(),
                None => raw[normalized.raw_span(from..to)].to_owned(),
            };
            prop_assert_eq!(found, &copy[from..to]);
        }
    }
}
