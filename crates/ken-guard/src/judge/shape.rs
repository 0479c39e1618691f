//! Whether a value has the shape of something a machine made up.

use super::Likeness::{self, Example, Placeholder, Real};
use super::words;

/// Fewer different characters than this is filler such as `xxxx-xxxx`.
const DISTINCT_MIN: usize = 6;

/// The shortest value assigned to a name that says key or token that is looked at.
pub(super) const ASSIGNED_CHARS_MIN: usize = 8;

/// The shortest value that merely stands beside such a word.
const BESIDE_CHARS_MIN: usize = 14;

/// Below this length a value is short enough to be a word with a number.
const SHORT_CHARS_MAX: usize = 12;

/// From this length on, a value that only counts up is a stand-in for a key; below, it is `abcdef`.
const COUNTED_CHARS_MIN: usize = 16;

/// From this many digits on, a value without letters is a key rather than a number.
const NUMBER_CHARS_MIN: usize = 24;

/// Bits per character below which a value repeats itself.
const ENTROPY_BITS_MIN: f64 = 2.4;

/// Bits per character from which a value rests on disorder alone.
const DISORDER_BITS_MIN: f64 = 4.0;

/// Changes between digits, cases and signs that a path or a name does not have.
const PATH_CHANGES_MIN: usize = 8;

/// What can be counted about a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    chars: usize,
    digits: usize,
    letters: usize,
    distinct: usize,
    /// Neighbours that follow each other in the alphabet, up or down.
    steps: usize,
    /// Neighbours of different classes: digit, lower case, upper case, anything else.
    changes: usize,
}

impl Shape {
    pub(super) fn of(value: &str) -> Self {
        let bytes = value.as_bytes();
        let pairs = || bytes.iter().zip(bytes.iter().skip(1));
        let counts = byte_counts(value);
        Self {
            chars: bytes.len(),
            digits: bytes.iter().filter(|b| b.is_ascii_digit()).count(),
            letters: bytes.iter().filter(|b| b.is_ascii_alphabetic()).count(),
            distinct: counts.iter().filter(|count| **count != 0).count(),
            steps: pairs().filter(|(a, b)| a.abs_diff(**b) == 1).count(),
            changes: pairs().filter(|(a, b)| class(**a) != class(**b)).count(),
        }
    }

    pub(super) fn is_mixed(&self) -> bool {
        0 < self.digits && 0 < self.letters
    }

    pub(super) fn is_one_character(&self) -> bool {
        self.distinct < DISTINCT_MIN
    }

    pub(super) fn is_counted_up(&self) -> bool {
        self.chars <= self.steps * 2
    }
}

fn class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    }
}

/// Judges a value that is called a key, a token or a secret.
pub(super) fn generic(value: &str, chars_min: usize) -> Likeness {
    /// Different characters below which not even an example is seen in it.
    const EXAMPLE_DISTINCT_MIN: usize = 4;
    let value = value.trim_matches(|c| matches!(c, '.' | '-' | '_' | '~' | '!' | '*' | '@' | '^'));
    let shape = Shape::of(value);
    if shape.chars < chars_min
        || shape.distinct < EXAMPLE_DISTINCT_MIN
        || words::says_example(value)
        || is_reference(value)
    {
        return Placeholder;
    }
    if shape.is_counted_up() {
        return if COUNTED_CHARS_MIN <= shape.chars {
            Example
        } else {
            Placeholder
        };
    }
    if !shape.is_mixed() {
        let long = shape.letters == 0 && NUMBER_CHARS_MIN <= shape.digits;
        return if long { Example } else { Placeholder };
    }
    if is_identifier(value) {
        return Placeholder;
    }
    if shape.chars < SHORT_CHARS_MAX {
        let dense = 2 <= shape.digits && 3 <= shape.letters && 2 <= shape.changes;
        return if dense { Example } else { Placeholder };
    }
    if entropy_bits(value) < ENTROPY_BITS_MIN || (shape.changes < 3 && shape.digits < 4) {
        return Placeholder;
    }
    if shape.is_one_character() {
        Example
    } else {
        Real
    }
}

/// Judges a value that stands beside the word key, token or secret.
pub(super) fn beside(value: &str) -> Likeness {
    let path = value.contains('/') && !value.ends_with('=');
    if path && Shape::of(value).changes < PATH_CHANGES_MIN {
        return Placeholder;
    }
    generic(value, BESIDE_CHARS_MIN)
}

/// Returns whether a value is too disorderly to be words, a name or a digest.
pub(super) fn is_disorderly(value: &str) -> bool {
    let shape = Shape::of(value);
    let digest = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    shape.is_mixed()
        && !digest
        && !shape.is_counted_up()
        && !is_identifier(value)
        && !words::says_example(value)
        && DISORDER_BITS_MIN <= entropy_bits(value)
}

/// Returns whether a value points somewhere instead of being the thing.
fn is_reference(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let version = || {
        let digits = lower.strip_prefix('v').unwrap_or(&lower);
        let (major, rest) = digits.split_at(digits.bytes().take_while(u8::is_ascii_digit).count());
        !major.is_empty()
            && rest.starts_with('.')
            && rest[1..].starts_with(|c: char| c.is_ascii_digit())
    };
    ["http:", "https:", "arn:", "www.", "/", ".", "$", "@"]
        .iter()
        .any(|start| lower.starts_with(start))
        || value.contains("//")
        || value.contains('@')
        || version()
}

/// Returns whether a value reads as a name: words in snake, kebab, camel or path case, with a number at most behind each.
pub(super) fn is_identifier(value: &str) -> bool {
    let mut word = Word::default();
    let mut previous = 0_u8;
    for byte in value.bytes() {
        let camel = previous.is_ascii_lowercase() && byte.is_ascii_uppercase();
        if camel || !byte.is_ascii_alphanumeric() {
            if !word.is_plain() {
                return false;
            }
            word = Word::default();
        }
        word.take(byte);
        previous = byte;
    }
    word.is_plain()
}

/// Letters and then digits, counted.
#[derive(Default)]
struct Word {
    letters: usize,
    digits: usize,
    /// A letter came after a digit.
    mixed: bool,
}

impl Word {
    fn take(&mut self, byte: u8) {
        if byte.is_ascii_digit() {
            self.digits += 1;
        } else if byte.is_ascii_alphabetic() {
            self.mixed |= self.digits != 0;
            self.letters += 1;
        }
    }

    fn is_plain(&self) -> bool {
        /// `X509`, `utf16`, `sha512`.
        const DIGITS_BEHIND_WORD_MAX: usize = 3;
        /// A year, a port.
        const NUMBER_DIGITS_MAX: usize = 4;
        let digits_max = if self.letters == 0 {
            NUMBER_DIGITS_MAX
        } else {
            DIGITS_BEHIND_WORD_MAX
        };
        !self.mixed && self.digits <= digits_max
    }
}

fn entropy_bits(value: &str) -> f64 {
    let total = value.len() as f64;
    let share = |count: &u32| f64::from(*count) / total;
    byte_counts(value)
        .iter()
        .filter(|count| **count != 0)
        .map(share)
        .map(|p| -p * p.log2())
        .sum()
}

fn byte_counts(value: &str) -> [u32; 256] {
    let mut counts = [0; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filler_is_recognised() {
        for body in ["xxxxxxxxxxxxxxxx", "T0000/B0000/XXXX", "aaaa-aaaa-bbbb"] {
            assert!(Shape::of(body).is_one_character(), "{body}");
        }
        for body in ["1234567890abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlk"] {
            assert!(Shape::of(body).is_counted_up(), "{body}");
        }
        let real = Shape::of("q8Zr1LmX7vTc2KpW");
        assert!(!real.is_one_character() && !real.is_counted_up());
    }

    #[test]
    fn names_are_told_from_keys() {
        for name in [
            "X509_VERIFY_PARAM_get_auth_level",
            "ConnectionString2",
            "my-service-name",
            "utf16-to-utf8",
            "api/v2/users",
            "2024-11-15",
        ] {
            assert!(is_identifier(name), "{name}");
        }
        for key in [
            "a1b2c3d4",
            "q8Zr1LmX7vTc2KpW",
            "171e84fd57f430fc59af",
            "abcd12345",
        ] {
            assert!(!is_identifier(key), "{key}");
        }
    }

    #[test]
    fn what_a_text_calls_a_key_is_judged_by_its_shape() {
        let cases = [
            ("q8Zr1LmX7vTc2KpWb4Nd", Real),
            ("171e84fd57f430fc59afa8fad3dbda2a", Real),
            ("abcdefghijklmnop1234567890", Example),
            ("12345678901234567890123456", Example),
            ("ab17dk34xf", Example),
            ("abcdefgh", Placeholder),
            ("https://example.org/a1b2c3d4", Placeholder),
            ("1.23.4-beta5", Placeholder),
            ("serde_json", Placeholder),
            ("xxxxxxxxxxxxxxxxxxxx", Placeholder),
        ];
        for (value, expected) in cases {
            assert_eq!(generic(value, ASSIGNED_CHARS_MIN), expected, "{value}");
        }
        assert_eq!(
            beside("a1b2c3d4e5f6"),
            Placeholder,
            "too short without an assignment"
        );
    }

    #[test]
    fn entropy_grows_with_disorder() {
        assert!(entropy_bits("aaaaaaaa") < 0.001);
        assert!((entropy_bits("abcdabcd") - 2.0).abs() < 0.001);
        assert!(4.0 < entropy_bits("q8Zr1LmX7vTc2KpWb4Nd"));
    }
}
