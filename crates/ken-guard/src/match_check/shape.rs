//! Character statistics that separate machine-generated values from names and words.

use super::MatchClass::{self, Example, Placeholder, Real};
use super::words;

/// Minimum number of distinct characters; fewer is filler such as `xxxx-xxxx`.
const DISTINCT_MIN: usize = 6;

/// Minimum length of a value assigned to a name such as key or token.
pub(super) const ASSIGNED_CHARS_MIN: usize = 8;

/// Minimum length of a value next to such a word.
const ADJACENT_CHARS_MIN: usize = 14;

/// Length below which a value may be a word with a number.
const SHORT_CHARS_MAX: usize = 12;

/// Length from which a sequential value is a placeholder for a key; shorter ones are `abcdef`.
const SEQUENTIAL_CHARS_MIN: usize = 16;

/// Number of digits from which a value without letters is a key instead of a number.
const NUMBER_CHARS_MIN: usize = 24;

/// Entropy in bits per character below which a value repeats itself.
const ENTROPY_BITS_MIN: f64 = 2.4;

/// Entropy in bits per character from which a value is random by itself.
const HIGH_ENTROPY_BITS_MIN: f64 = 4.0;

/// Number of class changes (digit, case, symbol) that paths and names do not reach.
const PATH_CHANGES_MIN: usize = 8;

/// Character statistics of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueShape {
    chars: usize,
    digits: usize,
    letters: usize,
    distinct: usize,
    /// Adjacent characters with consecutive codes, up or down.
    steps: usize,
    /// Adjacent characters of different classes: digit, lower case, upper case, other.
    changes: usize,
}

impl ValueShape {
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
            changes: pairs()
                .filter(|(a, b)| char_class(**a) != char_class(**b))
                .count(),
        }
    }

    pub(super) fn is_mixed(&self) -> bool {
        self.digits > 0 && self.letters > 0
    }

    pub(super) fn is_filler(&self) -> bool {
        self.distinct < DISTINCT_MIN
    }

    pub(super) fn is_sequential(&self) -> bool {
        // At least half of the pairs are consecutive.
        self.chars <= self.steps * 2
    }
}

fn char_class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    }
}

/// Classifies a value that is called a key, a token or a secret.
pub(super) fn classify_generic(value: &str, chars_min: usize) -> MatchClass {
    /// Number of distinct characters below which it is not even an example.
    const EXAMPLE_DISTINCT_MIN: usize = 4;
    // Enclosing punctuation would count as characters and class changes.
    let value = value.trim_matches(|c| matches!(c, '.' | '-' | '_' | '~' | '!' | '*' | '@' | '^'));
    let shape = ValueShape::of(value);
    if shape.chars < chars_min
        || shape.distinct < EXAMPLE_DISTINCT_MIN
        || words::says_example(value)
        || is_reference(value)
    {
        return Placeholder;
    }
    // From here on each test excludes one harmless kind of value, the cheapest first.
    if shape.is_sequential() {
        return if shape.chars >= SEQUENTIAL_CHARS_MIN {
            Example
        } else {
            Placeholder
        };
    }
    if !shape.is_mixed() {
        let long = shape.letters == 0 && shape.digits >= NUMBER_CHARS_MIN;
        return if long { Example } else { Placeholder };
    }
    if is_identifier(value) {
        return Placeholder;
    }
    if shape.chars < SHORT_CHARS_MAX {
        // Too short for entropy: require several digits and letters that alternate.
        let dense = shape.digits >= 2 && shape.letters >= 3 && shape.changes >= 2;
        return if dense { Example } else { Placeholder };
    }
    // Long words with one number have few class changes and few digits.
    if entropy_bits(value) < ENTROPY_BITS_MIN || (shape.changes < 3 && shape.digits < 4) {
        return Placeholder;
    }
    if shape.is_filler() { Example } else { Real }
}

/// Classifies a value next to the word key, token or secret.
pub(super) fn classify_adjacent(value: &str) -> MatchClass {
    // Base64 contains slashes too, but padding marks it and its characters change class often.
    let path = value.contains('/') && !value.ends_with('=');
    if path && ValueShape::of(value).changes < PATH_CHANGES_MIN {
        return Placeholder;
    }
    classify_generic(value, ADJACENT_CHARS_MIN)
}

/// Returns whether a value has too much entropy for words, a name or a digest.
pub(super) fn has_high_entropy(value: &str) -> bool {
    let shape = ValueShape::of(value);
    // Commit ids and checksums are common in code and not secret.
    let digest = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    shape.is_mixed()
        && !digest
        && !shape.is_sequential()
        && !is_identifier(value)
        && !words::says_example(value)
        && entropy_bits(value) >= HIGH_ENTROPY_BITS_MIN
}

/// Returns whether a value is a reference such as a URL, path or version.
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

/// Returns whether a value reads as a name: words in snake, kebab, camel or path case, each with at
/// most a short number after it.
pub(super) fn is_identifier(value: &str) -> bool {
    // Abbreviations with a number in the middle.
    let value = ["I18n", "i18n", "L10n", "l10n", "A11y", "a11y"]
        .iter()
        .fold(value.to_owned(), |value, it| value.replace(it, "Intl"));
    let value = value.as_str();
    let mut word = IdentifierWord::default();
    let mut previous = 0_u8;
    let has_words = reads_as_camel_case(value);
    for byte in value.bytes() {
        // A word ends at a separator or where camel case starts a new one.
        let camel = byte.is_ascii_uppercase()
            && (previous.is_ascii_lowercase() || has_words && previous.is_ascii_digit());
        if camel || !byte.is_ascii_alphanumeric() {
            if !word.is_plain() {
                return false;
            }
            word = IdentifierWord::default();
        }
        word.take(byte);
        previous = byte;
    }
    word.is_plain()
}

/// Returns whether a value with one digit is camel case: `getV2ListQueryKey`. In a random value,
/// capitals meet and lower-case letters do not stay together.
fn reads_as_camel_case(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_capital = |byte: &u8| byte.is_ascii_uppercase();
    let capitals_meet = value
        .as_bytes()
        .windows(2)
        .any(|it| it.iter().all(is_capital));
    let runs = value.split(|c: char| !c.is_ascii_lowercase());
    let mut lengths: Vec<usize> = runs.map(str::len).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let has_long_words = matches!(lengths[..], [first, second, ..] if first >= 6 && second >= 4);
    digits == 1 && !capitals_meet && has_long_words
}

/// Counts of one word of an identifier: letters, then digits.
#[derive(Default)]
struct IdentifierWord {
    letters: usize,
    digits: usize,
    /// A letter came after a digit.
    mixed: bool,
}

impl IdentifierWord {
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
    // Shannon entropy over bytes.
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
    fn filler_is_recognized() {
        for body in ["xxxxxxxxxxxxxxxx", "T0000/B0000/XXXX", "aaaa-aaaa-bbbb"] {
            assert!(ValueShape::of(body).is_filler(), "{body}");
        }
        for body in ["1234567890abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlk"] {
            assert!(ValueShape::of(body).is_sequential(), "{body}");
        }
        let real = ValueShape::of("q8Zr1LmX7vTc2KpW");
        assert!(!real.is_filler() && !real.is_sequential());
    }

    #[test]
    fn names_are_told_from_keys() {
        for name in [
            "X509_VERIFY_PARAM_get_auth_level",
            "ConnectionString2",
            "getGetV2ListMySubmissionsQueryKey",
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
            "Q8Zr1Lm2KpWxyzt7Ab",
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
            assert_eq!(
                classify_generic(value, ASSIGNED_CHARS_MIN),
                expected,
                "{value}"
            );
        }
        assert_eq!(
            classify_adjacent("a1b2c3d4e5f6"),
            Placeholder,
            "too short without an assignment"
        );
    }

    #[test]
    fn entropy_grows_with_disorder() {
        assert!(entropy_bits("aaaaaaaa") < 0.001);
        assert!((entropy_bits("abcdabcd") - 2.0).abs() < 0.001);
        assert!(entropy_bits("q8Zr1LmX7vTc2KpWb4Nd") > 4.0);
    }
}
