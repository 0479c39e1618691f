//! Patterns over text and code outside of conditions: what a norm forbids in the lines of a change.

use ken_core::condition::Language;
use regex::{Regex, RegexBuilder};

use crate::condition::{REGEX_BYTES_MAX, code};

/// A regular expression whose cost is bounded.
#[derive(Clone, Debug)]
pub struct TextPattern(Regex);

impl TextPattern {
    /// Compiles a pattern; refuses one that is wrong or too large.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let compiled = RegexBuilder::new(pattern)
            .multi_line(true)
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_BYTES_MAX)
            .build();
        let compiled = compiled.map_err(|error| {
            if let regex::Error::CompiledTooBig(_) = error {
                return format!("`{pattern}` is too large a regular expression");
            }
            format!("`{pattern}` is no regular expression: {error}")
        });
        compiled.map(Self)
    }

    /// Returns whether it matches somewhere in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Says what is wrong with a structural pattern.
pub fn check_code(language: Language, pattern: &str) -> Result<(), String> {
    code::lines(language, pattern, "").map(|_| ())
}

/// Returns first and last line, counted from 1, of everything in `text` that matches a structural pattern.
pub fn code_lines(
    language: Language,
    pattern: &str,
    text: &str,
) -> Result<Vec<(u32, u32)>, String> {
    code::lines(language, pattern, text)
}
