//! Word splitting as an uncased BERT model expects.
//!
//! Characters are decomposed (NFD), accents and control characters are dropped, the rest is
//! lower-cased. Whitespace separates words; punctuation and Chinese characters are words of their
//! own.
//!
//! The table of character classes was generated with the reference tokenizer
//! (`tools/distill/reference.py`), not from current Unicode data: the tokenizer's tables are years
//! old, and a model depends on the tokenization it was trained with.

use unicode_normalization::UnicodeNormalization;

/// Ascending little-endian numbers, each with the first character of a run and its
/// [`CharacterClass`]: `first << 8 | classify`. A run ends where the next begins.
const RUNS: &[u8] = include_bytes!("../../data/characters.u32");

/// Size of one number in [`RUNS`].
const RUN_BYTES: usize = 4;

/// Role of a character in word splitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharacterClass {
    /// Part of a word.
    Word,
    /// Dropped; the word continues after it.
    Dropped,
    /// Separates words.
    Space,
    /// A word of its own.
    Standalone,
}

/// Calls `each` with the words of `text` in order.
pub(super) fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    // Decomposed first, so that an accent is a separate, dropped character.
    for character in text.nfd() {
        match classify(character) {
            CharacterClass::Word => push_lower(character, &mut word),
            CharacterClass::Dropped => {}
            CharacterClass::Space => finish_word(&mut word, &mut each),
            CharacterClass::Standalone => {
                finish_word(&mut word, &mut each);
                push_lower(character, &mut word);
                finish_word(&mut word, &mut each);
            }
        }
    }
    finish_word(&mut word, &mut each);
}

fn finish_word(word: &mut String, each: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        each(word);
        word.clear();
    }
}

fn push_lower(character: char, word: &mut String) {
    if character.is_ascii() {
        word.push(character.to_ascii_lowercase());
    } else {
        word.extend(character.to_lowercase());
    }
}

fn classify(character: char) -> CharacterClass {
    match character {
        // The common characters need no table lookup.
        'a'..='z' | 'A'..='Z' | '0'..='9' => CharacterClass::Word,
        ' ' => CharacterClass::Space,
        _ => classify_by_table(character),
    }
}

fn classify_by_table(character: char) -> CharacterClass {
    let wanted = u32::from(character);
    let (mut low, mut high) = (0, RUNS.len() / RUN_BYTES);
    // Invariant: run `low` begins at or before the character, run `high` after it.
    while high - low > 1 {
        let middle = low.midpoint(high);
        if read_run(middle) >> 8 <= wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    match read_run(low) & 0xff {
        0 => CharacterClass::Word,
        1 => CharacterClass::Dropped,
        2 => CharacterClass::Space,
        _ => CharacterClass::Standalone,
    }
}

fn read_run(index: usize) -> u32 {
    let at = index * RUN_BYTES;
    u32::from_le_bytes([RUNS[at], RUNS[at + 1], RUNS[at + 2], RUNS[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn the_table_begins_at_zero_rises_and_knows_four_classes() {
        let runs: Vec<u32> = (0..RUNS.len() / RUN_BYTES).map(read_run).collect();
        assert_eq!(RUNS.len() % RUN_BYTES, 0);
        assert_eq!(runs[0] >> 8, 0);
        assert!(runs.windows(2).all(|pair| pair[0] >> 8 < pair[1] >> 8));
        assert!(runs.iter().all(|read_run| read_run & 0xff < 4));
    }

    #[test]
    fn the_short_way_agrees_with_the_table() {
        for character in '\0'..'\u{80}' {
            assert_eq!(
                classify(character),
                classify_by_table(character),
                "{character:?}"
            );
        }
    }

    #[test]
    fn punctuation_stands_alone_and_case_and_accents_go() {
        assert_eq!(
            words("Stra\u{df}e, caf\u{e9}: handle_Request()"),
            [
                "stra\u{df}e",
                ",",
                "cafe",
                ":",
                "handle",
                "_",
                "request",
                "(",
                ")"
            ]
        );
    }

    #[test]
    fn chinese_characters_are_words_and_korean_falls_into_its_letters() {
        assert_eq!(
            words("a\u{4e2d}\u{6587}b"),
            ["a", "\u{4e2d}", "\u{6587}", "b"]
        );
        assert_eq!(words("\u{d55c}"), ["\u{1112}\u{1161}\u{11ab}"]);
    }

    #[test]
    fn control_and_invisible_characters_do_not_separate() {
        assert_eq!(words("a\u{0}b\u{200b}c\u{b}d\u{ad}e"), ["abcde"]);
        assert_eq!(words("a\u{a0}b\tc\u{3000}d"), ["a", "b", "c", "d"]);
    }
}
