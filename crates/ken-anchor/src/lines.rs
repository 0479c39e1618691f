//! Text as lines: for files without a grammar, and for anchors that name lines.
//!
//! Blanks at the ends of a line and runs of them inside it say nothing, and neither do empty lines. Where a
//! language gives meaning to indentation, each line keeps how much further in it is than the first.

use crate::fingerprint::{Fingerprint, Method};
use crate::language::Language;
use crate::resolve::Unresolved;

/// Bytes of a file that is looked into.
pub const FILE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes at the start of a file in which a zero byte gives a binary away, as git does it.
const BINARY_BYTES: usize = 8000;

/// Lines times lines of a search for lines that moved, at most.
const SEARCH_MAX: usize = 200_000;

/// A file's lines that are not empty.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    lines: Vec<Line<'a>>,
    is_indented: bool,
    /// All lines, the empty ones too.
    count: u32,
}

#[derive(Debug)]
struct Line<'a> {
    /// Counted from 1.
    number: u32,
    indent: usize,
    text: &'a [u8],
}

/// Refuses what is no text or too much of it.
pub(crate) fn check(source: &[u8]) -> Result<(), Unresolved> {
    if FILE_BYTES_MAX < source.len() {
        return Err(Unresolved::TooLarge {
            bytes: source.len(),
        });
    }
    match source.iter().take(BINARY_BYTES).any(|b| *b == 0) {
        true => Err(Unresolved::Binary),
        false => Ok(()),
    }
}

impl<'a> Lines<'a> {
    pub(crate) fn of(path: &str, source: &'a [u8]) -> Self {
        let ended = source.strip_suffix(b"\n").unwrap_or(source);
        let mut lines = Vec::new();
        let mut count = 0;
        for text in ended.split(|b| *b == b'\n').filter(|_| !source.is_empty()) {
            count += 1;
            let trimmed = text.trim_ascii();
            if !trimmed.is_empty() {
                lines.push(Line {
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

    /// Returns how many lines there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Takes the fingerprint of the lines from `first` to `last`, and counts their words.
    pub(crate) fn fingerprint(&self, method: Method, first: u32, last: u32) -> (Fingerprint, u32) {
        let from = self.lines.partition_point(|line| line.number < first);
        let to = self.lines.partition_point(|line| line.number <= last);
        let mut bytes = Vec::new();
        let mut words = 0;
        for at in from..to {
            words += self.write(at, from, &mut bytes);
        }
        (Fingerprint::of(method, [&bytes[..]]), words)
    }

    /// Returns the only other place of at most `length` lines with this fingerprint, and its words.
    pub(crate) fn find(&self, taken: Fingerprint, length: u32) -> Option<(u32, u32, u32)> {
        let length = usize::try_from(length).ok()?;
        if SEARCH_MAX < length.saturating_mul(self.lines.len()) {
            return None;
        }
        let mut found = None;
        for from in 0..self.lines.len() {
            let mut bytes = Vec::new();
            let mut words = 0;
            for to in from..self.lines.len().min(from + length) {
                words += self.write(to, from, &mut bytes);
                if Fingerprint::of(taken.method(), [&bytes[..]]) == taken {
                    if found.is_some() {
                        return None;
                    }
                    found = Some((self.lines[from].number, self.lines[to].number, words));
                }
            }
        }
        found
    }

    /// Adds a line as one of a stretch that starts at `from`. Returns its words.
    fn write(&self, at: usize, from: usize, bytes: &mut Vec<u8>) -> u32 {
        let line = &self.lines[at];
        if self.is_indented {
            let further = line.indent.cast_signed() - self.lines[from].indent.cast_signed();
            bytes.extend_from_slice(format!("{further} ").as_bytes());
        }
        let words = line
            .text
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let mut count = 0;
        for word in words {
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
        let lines = Lines::of(path, text.as_bytes());
        lines.fingerprint(Method::Lines, 1, lines.count()).0
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
        let lines = Lines::of("a", b"x\n\na b\n\nc d\ny\n");
        let wanted = taken("a", "a b\nc d\n");
        assert_eq!(lines.find(wanted, 2), Some((3, 5, 4)));
        let twice = Lines::of("a", b"a b\nc d\na b\nc d\n");
        assert_eq!(twice.find(wanted, 2), None);
    }
}
