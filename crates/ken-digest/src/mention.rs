//! Mentions in a sentence: files, symbols and commands.
//!
//! Deliberately strict: a finding about a file that was never meant is worse than none. Patterns,
//! placeholders, URLs and files to be created are not mentions.

use serde::Serialize;

use crate::words::{FILE_EXTENSIONS, PLACEHOLDERS, PROGRAMS, is_listed, split_phrases};

/// A file, symbol or command named in a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mention {
    pub kind: MentionKind,
    pub text: String,
}

/// Kind of a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MentionKind {
    /// A file or folder of the document's repository, as written.
    Path,
    /// The target of a relative link.
    Link,
    /// A symbol.
    Symbol,
    /// A shell command.
    Command,
}

impl MentionKind {
    /// Returns whether the mention is a file or folder.
    pub fn is_path(self) -> bool {
        match self {
            Self::Path | Self::Link => true,
            Self::Symbol | Self::Command => false,
        }
    }
}

/// Maximum length of a mention in bytes.
const MENTION_BYTES_MAX: usize = 200;

/// Returns the mentions in a text, without duplicates, in order.
pub(crate) fn find_mentions(text: &str, links: &[String]) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut add = |kind, text: &str| {
        let mention = Mention {
            kind,
            text: text.to_owned(),
        };
        if !found.contains(&mention) {
            found.push(mention);
        }
    };
    // Odd parts are between backticks. Prose is not searched: "and/or" is no path.
    for span in text.split('`').skip(1).step_by(2) {
        let span = span.trim();
        if span.is_empty() || span.len() > MENTION_BYTES_MAX {
            continue;
        }
        if is_command(span) {
            add(MentionKind::Command, span);
        } else if let Some(path) = parse_path(span) {
            add(MentionKind::Path, path);
            if split_member(span).is_some() {
                add(MentionKind::Symbol, span);
            }
        } else if let Some(name) = parse_symbol(span) {
            add(MentionKind::Symbol, name);
        }
    }
    for link in links {
        if let Some(target) = link_target(link) {
            add(MentionKind::Link, target);
        }
    }
    found
}

/// Splits `src/pay.py#charge` and `tests/a.py::test_b` into a file and the symbol in it.
pub fn split_member(span: &str) -> Option<(&str, &str)> {
    let (path, name) = span
        .split_once('#')
        .or_else(|| span.split_once("::"))
        .filter(|(path, _)| path.contains(['/', '.']))?;
    let name = name.rsplit([':', '.', '#']).next().unwrap_or(name);
    let name = name.strip_suffix("()").unwrap_or(name);
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // `src/pay.rs#L10` is a line.
    let is_line = name
        .strip_prefix('L')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    (starts && name.chars().all(is_part) && !is_line).then_some((path, name))
}

/// Returns the files that a shell command names as arguments.
///
/// Only paths with a folder and a known extension count: a bare name is often an output.
pub fn paths_in_command(line: &str) -> Vec<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_output = |at: usize| {
        let before = at.checked_sub(1).map(|at| words[at]).unwrap_or_default();
        is_listed(before, "-o, --out, --output, --outfile, >, >>, touch, tee")
    };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = word.trim_matches(['"', '\'', ',', ';']);
        let path = word.split_once("::").map_or(word, |(path, _)| path);
        if !path.contains('/') || path.contains(['=', '*']) || is_output(at) {
            continue;
        }
        let is_file = path
            .rsplit_once('.')
            .is_some_and(|(_, it)| is_listed(it, FILE_EXTENSIONS));
        if let Some(path) = parse_path(path).filter(|_| is_file) {
            found.push(path);
        }
    }
    found
}

/// Returns whether a span is a shell command: a known program with arguments.
pub(crate) fn is_command(span: &str) -> bool {
    let mut words = span.split_whitespace();
    let first = words.next().unwrap_or_default();
    let known = is_listed(first, PROGRAMS) || first.starts_with("./") && !first.ends_with('/');
    known && words.next().is_some()
}

/// Returns the path in a span, without a line number.
fn parse_path(span: &str) -> Option<&str> {
    let unpunctuated = span.trim_end_matches([',', ';']);
    let without_line = match unpunctuated.split_once(':') {
        Some((path, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => path,
        Some(_) => split_member(unpunctuated)?.0,
        None => unpunctuated,
    };
    let without_fragment = without_line
        .split_once('#')
        .map_or(without_line, |(path, _)| path);
    let bare = without_fragment
        .strip_prefix("./")
        .unwrap_or(without_fragment);
    // Brackets and parentheses occur in routes such as `app/[slug]/page.tsx`.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+@[]()".contains(c);
    let lower = bare.to_ascii_lowercase();
    let first = bare.split('/').next().unwrap_or_default();
    if bare.is_empty()
        || !bare.chars().all(plain)
        || bare.starts_with(['/', '@', '-', '+', '('])
        || bare.contains("//")
        || bare.starts_with("..")
        || is_mail_address(bare)
        || split_phrases(PLACEHOLDERS).any(|it| lower.contains(it))
        || is_host(first)
    {
        return None;
    }
    let name = bare
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let ending = name.rsplit_once('.');
    let is_file =
        ending.is_some_and(|(stem, ending)| !stem.is_empty() && is_listed(ending, FILE_EXTENSIONS));
    let is_folder = bare.ends_with('/');
    let has_folder = bare.trim_end_matches('/').contains('/');
    // `and/or`, `GET/POST` and `main/dev` are alternatives, not paths.
    let dotted_or_deep = is_file
        || is_folder && !name.is_empty()
        || has_folder && bare.matches('/').count() >= 2 && ending.is_none();
    (dotted_or_deep && (is_file || is_folder || lower == bare)).then_some(bare)
}

/// Returns whether the first part of a path is a host name.
fn is_host(part: &str) -> bool {
    ["com", "org", "io", "dev", "net"]
        .iter()
        .any(|it| part.ends_with(&format!(".{it}")))
}

/// Returns whether a text is a mail address: `ada@example.edu`, and not `@scope/package`.
fn is_mail_address(text: &str) -> bool {
    let domain = text.split_once('@').map(|(_, domain)| domain);
    domain.is_some_and(|it| it.contains('.') && !text.contains('/'))
}

/// Returns the target of a link within the repository.
fn link_target(link: &str) -> Option<&str> {
    let target = link.split(['#', '?']).next().unwrap_or_default();
    let target = target.strip_prefix("./").unwrap_or(target);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+@".contains(c);
    let leads_away = target.contains(':')
        || is_mail_address(target)
        || target.starts_with(['/', '@'])
        || is_host(target.split('/').next()?);
    let is_path = target.contains('/') || target.contains('.');
    (!target.is_empty()
        && target.chars().all(plain)
        && !leads_away
        && is_path
        && target.len() <= MENTION_BYTES_MAX)
        .then_some(target)
}

/// Returns the symbol in a span: `parse_all`, `Parser::new`, `readFile()`.
fn parse_symbol(span: &str) -> Option<&str> {
    let bare = span.strip_suffix("()").unwrap_or(span);
    let called = bare.len() != span.len();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '#');
    let starts = bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !bare.chars().all(is_part) || bare.ends_with([':', '.']) {
        return None;
    }
    let letters: Vec<char> = bare.chars().collect();
    let camel = letters
        .windows(2)
        .any(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
    // A plain word such as `main` may also be a branch, a value or a command.
    (called || camel || bare.contains("::") || bare.contains('_')).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_paths_names_or_commands() {
        use MentionKind::*;
        for (span, expected) in [
            ("src/lib.rs", Some((Path, "src/lib.rs"))),
            ("src/lib.rs:42", Some((Path, "src/lib.rs"))),
            ("./src/a.ts", Some((Path, "src/a.ts"))),
            ("package.json", Some((Path, "package.json"))),
            ("docs/", Some((Path, "docs/"))),
            ("crates/ken-core/src", Some((Path, "crates/ken-core/src"))),
            ("app/[slug]/page.tsx", Some((Path, "app/[slug]/page.tsx"))),
            ("src/**/*.ts", None),
            ("path/to/file.rs", None),
            ("src/<name>.ts", None),
            ("feature/my-branch", None),
            ("and/or", None),
            ("@scope/pkg", None),
            ("example.com/a.html", None),
            ("/etc/passwd.txt", None),
            ("../other/a.md", None),
            ("v1.2.3", None),
            ("parse_all()", Some((Symbol, "parse_all"))),
            ("Parser::new", Some((Symbol, "Parser::new"))),
            ("readFile", Some((Symbol, "readFile"))),
            ("main", None),
            ("npm run build", Some((Command, "npm run build"))),
            ("./x.sh --all", Some((Command, "./x.sh --all"))),
            ("npm", None),
        ] {
            let found = find_mentions(&format!("Look at `{span}` now"), &[]);
            let expected: Vec<Mention> = expected
                .map(|(kind, text)| Mention {
                    kind,
                    text: text.to_owned(),
                })
                .into_iter()
                .collect();
            assert_eq!(found, expected, "{span}");
        }
    }

    #[test]
    fn only_links_into_the_repository_count() {
        let of = |link: &str| {
            find_mentions("", &[link.to_owned()])
                .pop()
                .map(|it| it.text)
        };
        assert_eq!(of("docs/a.md#part"), Some("docs/a.md".to_owned()));
        assert_eq!(of("../a.md"), Some("../a.md".to_owned()));
        for away in [
            "https://a.io/b",
            "mailto:a@b.c",
            "#part",
            "/abs/a.md",
            "a b.md",
        ] {
            assert_eq!(of(away), None, "{away}");
        }
    }
}
