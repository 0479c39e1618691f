//! Line-based fingerprints, for files without a grammar and anchors that name lines.
//!
//! Leading, trailing and repeated blanks do not count, nor do empty lines. In languages with
//! significant indentation, each line keeps its indentation relative to the first line.

use crate::fingerprint::{Fingerprint, FingerprintMethod};
use crate::language::Language;
use crate::resolve::ResolveError;

/// Maximum size of a file that is fingerprinted.
pub const FILE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes at the start of a file searched for a NUL byte to detect binary files, as git does.
const BINARY_BYTES: usize = 8000;

/// Maximum product of anchor length and file length when searching for moved lines.
const SEARCH_COST_MAX: usize = 200_000;

/// The non-empty lines of a file.
#[derive(Debug)]
pub(crate) struct SourceLines<'a> {
    lines: Vec<SourceLine<'a>>,
    is_indented: bool,
    /// Number of all lines, including empty ones.
    count: u32,
}

#[derive(Debug)]
struct SourceLine<'a> {
    /// Counted from 1.
    number: u32,
    indent: usize,
    text: &'a [u8],
}

/// Returns an error for binary and oversized files.
pub fn ensure_text(source: &[u8]) -> Result<(), ResolveError> {
    if source.len() > FILE_BYTES_MAX {
        return Err(ResolveError::TooLarge {
            bytes: source.len(),
        });
    }
    if source.iter().take(BINARY_BYTES).any(|b| *b == 0) {
        Err(ResolveError::Binary)
    } else {
        Ok(())
    }
}

impl<'a> SourceLines<'a> {
    pub(crate) fn of(path: &str, source: &'a [u8]) -> Self {
        let body = source.strip_suffix(b"\n").unwrap_or(source);
        let mut lines = Vec::new();
        let mut count = 0;
        // Splitting an empty slice yields one empty line; an empty file has none.
        for text in body.split(|b| *b == b'\n').filter(|_| !source.is_empty()) {
            count += 1;
            let trimmed = text.trim_ascii();
            if !trimmed.is_empty() {
                lines.push(SourceLine {
                    number: count,
                    indent: text.len() - text.trim_ascii_start().len(),
                    text: trimmed,
                });
            }
        }
        Self {
            lines,
            is_indented: Language::of(path).is_some_and(Language::is_indented),
            count,
        }
    }

    /// Returns the number of lines, including empty ones.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the fingerprint and the word count of lines `first` to `last`.
    pub(crate) fn fingerprint(
        &self,
        method: FingerprintMethod,
        first: u32,
        last: u32,
    ) -> (Fingerprint, u32) {
        // `lines` omits empty lines, so line numbers are not indices; they are sorted, though.
        let from = self.lines.partition_point(|line| line.number < first);
        let to = self.lines.partition_point(|line| line.number <= last);
        let mut bytes = Vec::new();
        let mut words = 0;
        for at in from..to {
            words += self.write(at, from, &mut bytes);
        }
        (Fingerprint::of(method, [&bytes[..]]), words)
    }

    /// Returns the only range of at most `length` lines with this fingerprint, as first line, last
    /// line and word count. Returns `None` if there are several.
    pub(crate) fn find(&self, taken: Fingerprint, length: u32) -> Option<(u32, u32, u32)> {
        let length = usize::try_from(length).ok()?;
        // Every start is hashed up to `length` times, which is quadratic for a long anchor.
        if length.saturating_mul(self.lines.len()) > SEARCH_COST_MAX {
            return None;
        }
        let mut found = None;
        for from in 0..self.lines.len() {
            let mut bytes = Vec::new();
            let mut words = 0;
            for to in from..self.lines.len().min(from + length) {
                words += self.write(to, from, &mut bytes);
                if Fingerprint::of(taken.method(), [&bytes[..]]) == taken {
                    // With two matches, either could be the moved code. Do not guess.
                    if found.is_some() {
                        return None;
                    }
                    found = Some((self.lines[from].number, self.lines[to].number, words));
                }
            }
        }
        found
    }

    /// Appends the normalized line `at` of a range that starts at `from`. Returns its word count.
    fn write(&self, at: usize, from: usize, bytes: &mut Vec<u8>) -> u32 {
        let line = &self.lines[at];
        if self.is_indented {
            // Relative indentation, so that moving a whole block deeper is not a change.
            let further = line.indent.cast_signed() - self.lines[from].indent.cast_signed();
            bytes.extend_from_slice(format!("{further} ").as_bytes());
        }
        let words = line
            .text
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let mut count = 0;
        for word in words {
            // Each word ends with a blank and each line with `\n`, so `a b` and `ab` differ.
            bytes.extend_from_slice(word);
            bytes.push(b' ');
            count += 1;
        }
        bytes.push(b'\n');
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(path: &str, text: &str) -> Fingerprint {
        let lines = SourceLines::of(path, text.as_bytes());
        lines
            .fingerprint(FingerprintMethod::Lines, 1, lines.count())
            .0
    }

    #[test]
    fn lines_lose_their_layout_and_nothing_else() {
        assert_eq!(taken("a", "  a \t b\r\n\n\n c\n"), taken("a", "a b\nc"));
        assert_ne!(taken("a", "a b"), taken("a", "ab"));
        assert_ne!(taken("a", "a\nb"), taken("a", "a b"));
        assert_ne!(taken("a", "a\nb"), taken("a", "b\na"));
    }

    #[test]
    fn indentation_counts_where_it_means_something() {
        let (one, other) = ("if a:\n  b\nc\n", "if a:\n  b\n  c\n");
        assert_ne!(taken("a.py", one), taken("a.py", other));
        assert_eq!(taken("a.txt", one), taken("a.txt", other));
        assert_eq!(taken("a.py", "  a\n    b\n"), taken("a.py", "a\n  b\n"));
    }

    #[test]
    fn lines_that_moved_are_found_once() {
        let lines = SourceLines::of("a", b"x\n\na b\n\nc d\ny\n");
        let wanted = taken("a", "a b\nc d\n");
        assert_eq!(lines.find(wanted, 2), Some((3, 5, 4)));
        let twice = SourceLines::of("a", b"a b\nc d\na b\nc d\n");
        assert_eq!(twice.find(wanted, 2), None);
    }
}
