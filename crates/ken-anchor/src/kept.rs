//! Text format of cached outlines: one line per symbol, fields separated by tabs.
//!
//! The first line names the format version. Text of another version is discarded and the outline
//! rebuilt.

use std::fmt::Write as _;

use crate::language::Language;
use crate::outline::{Outline, Symbol};

/// Format version; raise it whenever the outline of an unchanged file may come out differently.
const FORMAT_VERSION: &str = "outline 1";

/// Suffix of the first line of a file that was not parsed.
const UNPARSED_SUFFIX: &str = " unread";

/// Separator between the aliases of a symbol; no name contains it.
const ALIAS_SEPARATOR: char = '\u{1f}';

impl Outline {
    /// Serializes the outline for the cache.
    pub fn to_cache_text(&self) -> String {
        let read = self.language().map_or(UNPARSED_SUFFIX, |_| "");
        let mut out = format!("{FORMAT_VERSION}{read}\n");
        for symbol in self.symbols() {
            // An anchor cannot express a name with a tab or line break, so dropping the symbol
            // loses nothing.
            if [&symbol.name]
                .into_iter()
                .chain(&symbol.also)
                .any(|name| name.contains(['\t', '\n', ALIAS_SEPARATOR]))
            {
                continue;
            }
            let also: Vec<&str> = symbol.also.iter().map(String::as_str).collect();
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                symbol.name,
                also.join(&ALIAS_SEPARATOR.to_string()),
                symbol.bytes.start,
                symbol.bytes.end,
                symbol.first_line,
                symbol.last_line,
                symbol.fingerprint,
                symbol.weight,
            );
        }
        out
    }

    /// Parses the output of [`Self::to_cache_text`] for the file at `path`. Returns `None` for
    /// another format version and for damaged text.
    pub fn from_cache_text(path: &str, text: &str) -> Option<Self> {
        let mut lines = text.lines();
        match lines.next()?.strip_prefix(FORMAT_VERSION)? {
            UNPARSED_SUFFIX => return Some(Self::default()),
            rest => rest.is_empty().then_some(())?,
        }
        // One malformed line rejects the whole text: a partial outline would report symbols as
        // gone.
        let symbols: Option<Vec<Symbol>> = lines.map(parse_symbol_line).collect();
        Some(Self::new(Language::of(path)?, symbols?))
    }
}

fn parse_symbol_line(line: &str) -> Option<Symbol> {
    let mut parts = line.split('\t');
    let name = parts.next()?.to_owned();
    // Splitting an empty field yields one empty string, which is not an alias.
    let aliases = parts
        .next()?
        .split(ALIAS_SEPARATOR)
        .filter(|it| !it.is_empty());
    let also = aliases.map(ToOwned::to_owned).collect();
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
            Outline::from_cache_text("a.rs", &made.to_cache_text()),
            Some(made.clone())
        );
        let unread = Outline::default();
        assert_eq!(
            Outline::from_cache_text("a.rs", &unread.to_cache_text()),
            Some(unread)
        );
        for other in [
            "",
            "outline 0\n",
            &made.to_cache_text().replace("s1:", "s9:"),
        ] {
            assert_eq!(Outline::from_cache_text("a.rs", other), None, "{other}");
        }
    }
}
