//! Text and code patterns outside of conditions, such as those a norm forbids in changed lines.

use ken_core::values::condition::PatternLanguage;
use regex::{Regex, RegexBuilder};

use crate::condition::{REGEX_BYTES_MAX, code};

/// A regular expression with bounded memory and search cost.
#[derive(Clone, Debug)]
pub struct TextPattern(Regex);

impl TextPattern {
    /// Compiles a pattern. Returns an error message if it is invalid or too large.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let compiled = RegexBuilder::new(pattern)
            // `^` and `$` match at line ends, as in conditions and as users of grep expect. The
            // size limits bound the cost of a pattern that comes from an untrusted entry.
            .multi_line(true)
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_BYTES_MAX)
            .build();
        let compiled = compiled.map_err(|error| {
            // A pattern over the limit is valid syntax and needs another message.
            if let regex::Error::CompiledTooBig(_) = error {
                return format!("the regular expression `{pattern}` is too large");
            }
            format!("`{pattern}` is not a valid regular expression: {error}")
        });
        compiled.map(Self)
    }

    /// Returns whether the pattern matches anywhere in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Validates a structural pattern. Returns the problem as one sentence.
pub fn validate_code_pattern(language: PatternLanguage, pattern: &str) -> Result<(), String> {
    // Searching an empty text compiles the pattern and parses nothing.
    code::find_all_lines(language, pattern, "").map(|_| ())
}

/// Returns the first and last line, counted from 1, of every match of a structural pattern in
/// `text`.
pub fn find_code_lines(
    language: PatternLanguage,
    pattern: &str,
    text: &str,
) -> Result<Vec<(u32, u32)>, String> {
    code::find_all_lines(language, pattern, text)
}
