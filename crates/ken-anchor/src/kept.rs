//! Outlines as text, for whoever keeps them: a line a symbol, its parts between tabs.
//!
//! The first line names the rules; what was kept under others is made anew.

use std::fmt::Write as _;

use crate::language::Language;
use crate::outline::{Outline, Symbol};

/// Raised whenever an outline of the same file may come out another way.
const RULES: &str = "outline 1";

/// Stands behind the rules of a file no grammar could read.
const UNREAD: &str = " unread";

/// Stands between other names of one symbol; no name has it.
const ALSO: char = '\u{1f}';

impl Outline {
    /// Returns the outline as text.
    pub fn to_kept(&self) -> String {
        let read = self.language().map_or(UNREAD, |_| "");
        let mut out = format!("{RULES}{read}\n");
        for it in self.symbols() {
            // A name with a break in it cannot be written as an anchor.
            if [&it.name]
                .into_iter()
                .chain(&it.also)
                .any(|name| name.contains(['\t', '\n', ALSO]))
            {
                continue;
            }
            let also: Vec<&str> = it.also.iter().map(String::as_str).collect();
            let _ = writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                it.name,
                also.join(&ALSO.to_string()),
                it.bytes.start,
                it.bytes.end,
                it.first_line,
                it.last_line,
                it.fingerprint,
                it.weight,
            );
        }
        out
    }

    /// Reads what [`Self::to_kept`] wrote about the file at `path`; nothing where other rules did.
    pub fn from_kept(path: &str, text: &str) -> Option<Self> {
        let mut lines = text.lines();
        match lines.next()?.strip_prefix(RULES)? {
            UNREAD => return Some(Self::default()),
            rest => rest.is_empty().then_some(())?,
        }
        let symbols: Option<Vec<Symbol>> = lines.map(symbol).collect();
        Some(Self::new(Language::of(path)?, symbols?))
    }
}

fn symbol(line: &str) -> Option<Symbol> {
    let mut parts = line.split('\t');
    let name = parts.next()?.to_owned();
    let also = parts.next()?.split(ALSO).filter(|it| !it.is_empty());
    let also = also.map(ToOwned::to_owned).collect();
    let bytes = parts.next()?.parse().ok()?..parts.next()?.parse().ok()?;
    Some(Symbol {
        name,
        also,
        bytes,
        first_line: parts.next()?.parse().ok()?,
        last_line: parts.next()?.parse().ok()?,
        fingerprint: parts.next()?.parse().ok()?,
        weight: parts.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::outline;

    #[test]
    fn what_was_kept_reads_back_the_same() {
        let source =
            b"struct A;\nimpl std::fmt::Display for A {\n    fn fmt(&self) -> u8 { 1 }\n}\n";
        let made = outline("a.rs", source);
        assert!(made.symbols().iter().any(|it| !it.also.is_empty()));
        assert_eq!(
            Outline::from_kept("a.rs", &made.to_kept()),
            Some(made.clone())
        );
        let unread = Outline::default();
        assert_eq!(Outline::from_kept("a.rs", &unread.to_kept()), Some(unread));
        for other in ["", "outline 0\n", &made.to_kept().replace("s1:", "s9:")] {
            assert_eq!(Outline::from_kept("a.rs", other), None, "{other}");
        }
    }
}
