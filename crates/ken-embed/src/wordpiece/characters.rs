//! Cuts text into words the way an uncased BERT model expects.
//!
//! Characters are decomposed (NFD), accents and control characters dropped, the rest put in lower
//! case; white space separates words, punctuation and Chinese characters are words of their own.
//!
//! Which character is which is a table asked of the reference tokenizer itself
//! (`tools/distill/reference.py`), not of today's Unicode: its own tables are years old, and a model
//! knows text only as it was cut when the model learned.

use unicode_normalization::UnicodeNormalization;

/// Little-endian numbers in rising order, each the first character of a run and its [`Class`]:
/// `first << 8 | class`. A run ends where the next begins.
const RUNS: &[u8] = include_bytes!("../../data/characters.u32");

/// Bytes of one number in [`RUNS`].
const RUN_BYTES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Part of a word.
    Word,
    /// Left out, as if it were not there: the word goes on after it.
    Dropped,
    /// Separates words.
    Space,
    /// A word of its own.
    Alone,
}

/// Calls `each` with the words of `text` in their order.
pub(super) fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    for character in text.nfd() {
        match class(character) {
            Class::Word => push_lower(character, &mut word),
            Class::Dropped => {}
            Class::Space => finish(&mut word, &mut each),
            Class::Alone => {
                finish(&mut word, &mut each);
                push_lower(character, &mut word);
                finish(&mut word, &mut each);
            }
        }
    }
    finish(&mut word, &mut each);
}

fn finish(word: &mut String, each: &mut impl FnMut(&str)) {
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

fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Word,
        ' ' => Class::Space,
        _ => class_by_table(character),
    }
}

fn class_by_table(character: char) -> Class {
    let wanted = u32::from(character);
    let (mut low, mut high) = (0, RUNS.len() / RUN_BYTES);
    // `low` is a run that begins at or before the character, `high` one that begins after it.
    while 1 < high - low {
        let middle = low.midpoint(high);
        if run(middle) >> 8 <= wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    match run(low) & 0xff {
        0 => Class::Word,
        1 => Class::Dropped,
        2 => Class::Space,
        _ => Class::Alone,
    }
}

fn run(index: usize) -> u32 {
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
        let runs: Vec<u32> = (0..RUNS.len() / RUN_BYTES).map(run).collect();
        assert_eq!(RUNS.len() % RUN_BYTES, 0);
        assert_eq!(runs[0] >> 8, 0);
        assert!(runs.windows(2).all(|pair| pair[0] >> 8 < pair[1] >> 8));
        assert!(runs.iter().all(|run| run & 0xff < 4));
    }

    #[test]
    fn the_short_way_agrees_with_the_table() {
        for character in '\0'..'\u{80}' {
            assert_eq!(class(character), class_by_table(character), "{character:?}");
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
