//! Language metrics: how far names and prose are from the bars of `docs/reference/glossary.md`.
//!
//! Counts names, comments and words in the text of our sources and user documents. The counts are
//! text based: good to a few percent, which is enough to notice a dialect coming back.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use xtask::repository::{Finding, Repository};

/// Longest comment line, indentation included.
pub(crate) const COMMENT_COLUMNS_MAX: usize = 100;

/// Documents that are not addressed to users: generated tables, records and specifications.
const NOT_USER_DOCS: &[&str] = &[
    "docs/SUMMARY.md",
    "docs/conformance",
    "docs/decisions/",
    "docs/explanation/lab",
    // Generated from the code; they list names.
    "docs/reference/commands.md",
    "docs/reference/events.md",
    "docs/reference/json.md",
    "docs/reference/metrics.md",
    "docs/reference/rest.md",
];

static TYPE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\s*(pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|union|type)\s+([A-Z]\w*)")
});
static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z][A-Za-z'’-]*"));
static CAPITALIZED: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Z]+[a-z0-9]*"));
static ASSOCIATED_TYPE: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s+type\s"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

/// One measured figure and the bar it must keep.
struct Figure {
    name: &'static str,
    value: f64,
    bar: Bar,
}

enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    fn is_met(&self) -> bool {
        match self.bar {
            Bar::AtMost(limit) => self.value <= limit,
            Bar::AtLeast(limit) => self.value >= limit,
        }
    }
}

/// Counts of all sources below `crates/`, without their tests.
#[derive(Default)]
struct SourceCounts {
    /// Type name → number of definitions, of any visibility and public ones.
    types: BTreeMap<String, (usize, usize)>,
    doc_words: usize,
    doc_what: usize,
    doc_somebody: usize,
    code_lines: usize,
    comment_lines: usize,
    wide_comment_lines: usize,
}

/// Counts of the words in user documents.
#[derive(Default)]
struct DocumentCounts {
    words: usize,
    you: usize,
}

/// Prints every figure beside its bar; with `--check`, reports each missed bar as a finding.
pub(crate) fn run(repository: &Repository, options: &[&str]) -> Result<Vec<Finding>, String> {
    let is_check = match options {
        [] => false,
        ["--check"] => true,
        _ => return Err("usage: cargo xtask language [--check]".to_owned()),
    };
    let figures = measure(repository)?;
    print(&figures);
    let missed = figures.iter().filter(|figure| is_check && !figure.is_met());
    Ok(missed
        .map(|figure| {
            let message = format!(
                "{} is {:.1}, which misses its bar",
                figure.name, figure.value
            );
            Finding::new("crates", 1, message)
        })
        .collect())
}

fn measure(repository: &Repository) -> Result<Vec<Figure>, String> {
    let mut sources = SourceCounts::default();
    let mut documents = DocumentCounts::default();
    for path in repository.files()? {
        if is_product_source(&path) {
            sources.add(&repository.read(&path)?);
        } else if is_user_document(&path) {
            documents.add(&repository.read(&path)?);
        }
    }
    Ok(figures(&sources, &documents))
}

fn is_product_source(path: &str) -> bool {
    path.starts_with("crates/")
        && path.contains("/src/")
        && path.ends_with(".rs")
        && !path.ends_with("/tests.rs")
        && !path.contains("/tests/")
}

fn is_user_document(path: &str) -> bool {
    let is_document = path == "README.md" || path.starts_with("docs/");
    is_document && path.ends_with(".md") && !NOT_USER_DOCS.iter().any(|it| path.starts_with(it))
}

impl SourceCounts {
    /// Adds the lines of one file up to its test module.
    fn add(&mut self, text: &str) {
        for line in text.lines() {
            let trimmed = line.trim_start();
            // Inline test modules stand at the end of a file.
            if trimmed.starts_with("#[cfg(test)]") && !line.starts_with(' ') {
                break;
            }
            if trimmed.starts_with("//") {
                self.add_comment(trimmed);
                self.wide_comment_lines += usize::from(line.chars().count() > COMMENT_COLUMNS_MAX);
            } else if !trimmed.is_empty() {
                self.code_lines += 1;
                self.add_type(line);
            }
        }
    }

    fn add_comment(&mut self, comment: &str) {
        if !comment.starts_with("///") && !comment.starts_with("//!") {
            self.comment_lines += 1;
            return;
        }
        for word in WORD.find_iter(comment) {
            self.doc_words += 1;
            match word.as_str().to_lowercase().as_str() {
                "what" => self.doc_what += 1,
                "somebody" | "nobody" | "whoever" | "anybody" | "everybody" => {
                    self.doc_somebody += 1;
                }
                _ => {}
            }
        }
    }

    fn add_type(&mut self, line: &str) {
        // Associated types repeat the name their trait gives them.
        if ASSOCIATED_TYPE.is_match(line) {
            return;
        }
        if let Some(found) = TYPE.captures(line) {
            let counts = self.types.entry(found[2].to_owned()).or_default();
            counts.0 += 1;
            counts.1 += usize::from(found.get(1).is_some_and(|it| it.as_str().trim() == "pub"));
        }
    }
}

impl DocumentCounts {
    /// Adds the prose of one document; code blocks are not prose.
    fn add(&mut self, text: &str) {
        let mut is_code = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            if is_code {
                continue;
            }
            for word in WORD.find_iter(line) {
                self.words += 1;
                let word = word.as_str().to_lowercase();
                let is_you = ["you", "your", "yours", "yourself"].contains(&word.as_str());
                self.you += usize::from(is_you);
            }
        }
    }
}

fn figures(sources: &SourceCounts, documents: &DocumentCounts) -> Vec<Figure> {
    let all: usize = sources.types.values().map(|(all, _)| all).sum();
    let public: usize = sources.types.values().map(|(_, public)| public).sum();
    let shared = sources.types.values().filter(|(_, public)| *public > 1);
    let shared: usize = shared.map(|(_, public)| public).sum();
    let one_word = sources.types.iter().filter(|(name, _)| is_one_word(name));
    let one_word: usize = one_word.map(|(_, (all, _))| all).sum();
    let at_most = |name, value, limit| Figure {
        name,
        value,
        bar: Bar::AtMost(limit),
    };
    let at_least = |name, value, limit| Figure {
        name,
        value,
        bar: Bar::AtLeast(limit),
    };
    vec![
        at_most(
            "shared public type names, %",
            share(shared, public, 100.0),
            10.0,
        ),
        at_most("one-word type names, %", share(one_word, all, 100.0), 35.0),
        at_most(
            "\"what\" per 10,000 doc words",
            share(sources.doc_what, sources.doc_words, 10_000.0),
            25.0,
        ),
        at_most(
            "somebody, nobody, whoever per 10,000 doc words",
            share(sources.doc_somebody, sources.doc_words, 10_000.0),
            3.0,
        ),
        at_least(
            "`//` lines per 1,000 code lines",
            share(sources.comment_lines, sources.code_lines, 1_000.0),
            25.0,
        ),
        at_least(
            "you, your per 10,000 words of user documents",
            share(documents.you, documents.words, 10_000.0),
            80.0,
        ),
        at_most(
            "comment lines over 100 columns",
            sources.wide_comment_lines as f64,
            0.0,
        ),
    ]
}

fn is_one_word(name: &str) -> bool {
    CAPITALIZED.find_iter(name).count() == 1
}

fn share(part: usize, whole: usize, per: f64) -> f64 {
    per * part as f64 / whole.max(1) as f64
}

#[expect(clippy::print_stdout, reason = "chores report on the terminal")]
fn print(figures: &[Figure]) {
    let mut text = String::new();
    for figure in figures {
        let bar = match figure.bar {
            Bar::AtMost(limit) => format!("≤ {limit}"),
            Bar::AtLeast(limit) => format!("≥ {limit}"),
        };
        let mark = if figure.is_met() { "met" } else { "missed" };
        let _ = writeln!(
            text,
            "{:<48} {:>8.1}  {bar:<8} {mark}",
            figure.name, figure.value
        );
    }
    print!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> SourceCounts {
        let mut counts = SourceCounts::default();
        counts.add(text);
        counts
    }

    #[test]
    fn types_are_counted_by_name_and_visibility() {
        let counts =
            count("pub struct A;\nenum A {}\npub(crate) trait Two {}\n    type Item = u8;\n");
        assert_eq!(counts.types["A"], (2, 1));
        assert_eq!(counts.types["Two"], (1, 0));
        assert_eq!(counts.types.len(), 2);
    }

    #[test]
    fn names_of_several_words_are_told_from_one() {
        assert!(is_one_word("Entry"));
        assert!(is_one_word("URL"));
        assert!(!is_one_word("EntryId"));
    }

    #[test]
    fn doc_comments_give_words_and_plain_comments_lines() {
        let counts = count("//! What it is.\n/// Nobody knows.\n// Because.\nfn f() {}\n");
        assert_eq!(
            (counts.doc_words, counts.doc_what, counts.doc_somebody),
            (5, 1, 1)
        );
        assert_eq!((counts.comment_lines, counts.code_lines), (1, 1));
    }

    #[test]
    fn tests_of_a_file_do_not_count() {
        let counts = count("fn f() {}\n#[cfg(test)]\nmod tests {\n    // A comment.\n}\n");
        assert_eq!((counts.comment_lines, counts.code_lines), (0, 1));
    }

    #[test]
    fn a_comment_may_have_100_columns_and_not_one_more() {
        let full = format!("// {}\n", "x".repeat(COMMENT_COLUMNS_MAX - 3));
        assert_eq!(count(&full).wide_comment_lines, 0);
        assert_eq!(count(&format!(" {full}")).wide_comment_lines, 1);
    }

    #[test]
    fn code_blocks_of_documents_are_not_prose() {
        let mut counts = DocumentCounts::default();
        counts.add("You run it.\n```sh\nyou\n```\nYour turn.\n");
        assert_eq!((counts.words, counts.you), (5, 2));
    }
}
