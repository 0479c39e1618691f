//! Names of code in a text, and whether an entry names the same code.
//!
//! Two texts that name the same function are about the same thing, however few words they share.
//! Two kinds of names count. A *distinctive* name (`merge_records`, `handleRequest`) is code
//! wherever it stands. A plain name (`merge`) is code only where the text marks it: in backticks,
//! before a parenthesis, or behind a qualifier as in `Router::merge`.

use std::collections::BTreeSet;

use crate::ledger::entry::Entry;

/// Minimum length of a name: shorter ones are loop variables and abbreviations.
const NAME_CHARS_MIN: usize = 3;
/// Minimum length of a distinctive name.
const DISTINCTIVE_CHARS_MIN: usize = 5;
/// Maximum number of names of one text; a longer list is a listing and not a question.
const NAMES_MAX: usize = 64;

/// The names of code that a text mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeNames {
    /// Names that are code wherever they stand.
    distinctive: BTreeSet<String>,
    /// Plain names that the text marks as code.
    marked: BTreeSet<String>,
}

impl CodeNames {
    /// Collects the names of a text.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut names = Self::default();
        let mut in_backticks = false;
        for part in text.split('`') {
            names.collect(part, in_backticks);
            in_backticks = !in_backticks;
        }
        names
    }

    /// Adds names that are known to be code, such as those a test imports.
    pub fn add(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            self.insert(last_segment(&name), true);
        }
    }

    /// Returns whether the text named no code.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.distinctive.is_empty() && self.marked.is_empty()
    }

    /// Returns whether an entry names the same code: by the symbol of an anchor, or by a
    /// distinctive name in its statement.
    #[must_use]
    pub fn are_named_by(&self, entry: &Entry) -> bool {
        let Some(content) = entry.content.as_ref().filter(|_| !self.is_empty()) else {
            return false;
        };
        let mut anchors = content.anchors.iter();
        let has_symbol = anchors.any(|it| it.at.symbol().is_some_and(|name| self.has(name)));
        has_symbol || {
            let mut words = identifiers(content.statement.as_str());
            words.any(|(word, _)| self.distinctive.contains(word))
        }
    }

    fn has(&self, symbol: &str) -> bool {
        let name = last_segment(symbol);
        self.distinctive.contains(name) || self.marked.contains(name)
    }

    fn collect(&mut self, text: &str, in_backticks: bool) {
        let mut before = "";
        for (word, rest) in identifiers(text) {
            let is_call = rest.starts_with('(');
            let is_qualified = ["::", ".", "#"].iter().any(|it| before.ends_with(it));
            // `app.py` is a file and `e.g` an abbreviation: neither names a function.
            let is_member = is_qualified && !is_extension(word);
            self.insert(word, in_backticks || is_call || is_member);
            let end = text.len() - rest.len();
            let gap = rest.find(is_identifier_char).unwrap_or(rest.len());
            before = &text[end..end + gap];
        }
    }

    fn insert(&mut self, name: &str, is_marked: bool) {
        if self.distinctive.len() + self.marked.len() >= NAMES_MAX {
            return;
        }
        if is_distinctive(name) {
            self.distinctive.insert(name.to_owned());
        } else if is_marked && name.chars().count() >= NAME_CHARS_MIN {
            self.marked.insert(name.to_owned());
        }
    }
}

/// Returns the identifiers of a text, each with the text behind it.
fn identifiers(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_identifier_char)?;
        let tail = &rest[start..];
        let end = tail
            .find(|c: char| !is_identifier_char(c))
            .unwrap_or(tail.len());
        let word = &tail[..end];
        rest = &tail[end..];
        Some((word, rest))
    })
}

fn is_identifier_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns whether a name is code wherever it stands: it joins several words, as `merge_records`,
/// `mergeRecords` and `utf8decode` do.
fn is_distinctive(name: &str) -> bool {
    let inner = name.trim_matches(|c: char| c == '_' || c.is_numeric());
    let mut pairs = inner.chars().zip(inner.chars().skip(1));
    let is_joint = |(one, next): (char, char)| {
        one.is_lowercase() && next.is_uppercase() || one.is_numeric() && next.is_lowercase()
    };
    let is_joined = inner.contains('_') || pairs.any(is_joint);
    name.chars().count() >= DISTINCTIVE_CHARS_MIN && is_joined
}

/// Returns whether a word is the extension of a file.
fn is_extension(word: &str) -> bool {
    const EXTENSIONS: [&str; 20] = [
        "c", "cpp", "cs", "css", "go", "h", "html", "java", "js", "json", "kt", "md", "php", "py",
        "rb", "rs", "sql", "toml", "ts", "yml",
    ];
    EXTENSIONS.contains(&word)
}

/// Returns the last segment of a symbol such as `Ledger::charge` or `res.send`.
fn last_segment(symbol: &str) -> &str {
    symbol.rsplit([':', '.', '#']).next().unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let names = CodeNames::from_text(text);
        names.distinctive.into_iter().chain(names.marked).collect()
    }

    #[test]
    fn a_name_counts_where_it_is_distinctive_or_marked() {
        for (text, expected) in [
            ("merge_records drops a contact", &["merge_records"][..]),
            ("call handleRequest twice", &["handleRequest"]),
            ("utf8decode breaks in 2026", &["utf8decode"]),
            ("the `merge` of two routers", &["merge"]),
            ("Router::merge panics", &["merge"]),
            ("slugify() eats the dash", &["slugify"]),
            ("please merge and redirect", &[]),
            ("see src/app.py and e.g. that", &[]),
            ("`id` of `x`", &[]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_listing_names_a_bounded_number_of_symbols() {
        let text: String = (0..500).map(|n| format!("symbol_number_{n} ")).collect();
        assert_eq!(names(&text).len(), NAMES_MAX);
    }
}
