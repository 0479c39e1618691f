//! Code of today: whether the lines of a commit are still there, and in which symbol.
//!
//! A statement of a commit is about the code that the commit wrote. If most of its lines are gone,
//! so is the reason to read the statement.

use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::{FileTree as _, Language, Outline, Symbol, outline};
use ken_digest::commit::{code_names, telling_words};

use super::log::FileDiff;
use crate::error::EngineError;
use crate::validity::WorkTree;

/// Minimum length of a line that is searched: shorter ones occur in every file.
const LINE_CHARS_MIN: usize = 10;

/// Minimum percentage of a commit's lines that are still there.
const KEPT_PERCENT_MIN: usize = 66;

/// Minimum percentage of the lines in one symbol or file to anchor a statement to it.
const ANCHOR_PERCENT_MIN: usize = 60;

/// Minimum length of a name that a text can mean.
const NAME_CHARS_MIN: usize = 4;

/// Minimum percentage of the lines of a fix in a symbol that was fixed, not only adapted.
const PART_PERCENT_MIN: usize = 34;

/// Number of neighboring lines that are compared with a statement, the size of a longer comment.
const COMMENT_LINES: usize = 12;

/// Minimum percentage of the words of a statement in these lines that say the same.
const SAID_PERCENT_MIN: usize = 60;

/// Maximum number of files read per import.
const FILES_MAX: usize = 2_000;

/// Parts of paths outside the code that users run.
const OTHER_PARTS: [&str; 28] = [
    "test",
    "tests",
    "testing",
    "spec",
    "specs",
    "testdata",
    "fixture",
    "fixtures",
    "example",
    "examples",
    "doc",
    "docs",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "vendor",
    "vendored",
    "deps",
    "node_modules",
    "third_party",
    "dist",
    "generated",
    "conftest",
    "mock",
    "mocks",
    "sample",
    "minified",
];

/// Returns whether a path is source code other than tests, documents, examples and vendored code.
pub(super) fn is_source(path: &str) -> bool {
    let is_code = match Language::of(path) {
        Some(
            Language::Toml | Language::Yaml | Language::Json | Language::Markdown | Language::Bash,
        )
        | None => false,
        Some(_) => true,
    };
    // Whole parts only, so that `latest` does not count as a test.
    let lowered = path.to_lowercase();
    let mut parts = lowered.split(['/', '.', '_', '-']);
    is_code && !parts.any(|part| OTHER_PARTS.contains(&part))
}

/// Lines and symbols of a file of today.
struct CurrentFile {
    /// Line numbers by line without indentation.
    lines: BTreeMap<String, Vec<u32>>,
    outline: Outline,
}

/// The source files of the work tree, parsed on first use.
pub(super) struct CurrentCode {
    tree: WorkTree,
    paths: BTreeSet<String>,
    /// Paths by file name.
    named: BTreeMap<String, Vec<String>>,
    files: BTreeMap<String, CurrentFile>,
}

/// Where the lines of a commit are today.
pub(super) struct KeptChange {
    /// `path` or `path#symbol`.
    pub anchor: String,
    /// Last part of the symbol and stem of the file.
    pub names: Vec<String>,
}

impl CurrentCode {
    pub(super) fn open(tree: WorkTree) -> Result<Self, EngineError> {
        let all = tree.paths()?;
        let paths: BTreeSet<String> = all.iter().cloned().collect();
        let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in &paths {
            let name = file_name(path).to_owned();
            named.entry(name).or_default().push(path.clone());
        }
        Ok(Self {
            tree,
            paths,
            named,
            files: BTreeMap::new(),
        })
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Returns where a file of the past is today: at its path, or at the only one of its name.
    fn find_file(&self, path: &str) -> Option<String> {
        if self.paths.contains(path) {
            return Some(path.to_owned());
        }
        match self.named.get(file_name(path)).map(Vec::as_slice) {
            Some([only]) => Some(only.clone()),
            Some(_) | None => None,
        }
    }

    fn load(&mut self, path: &str) -> Result<Option<&CurrentFile>, EngineError> {
        if !self.files.contains_key(path) && self.files.len() < FILES_MAX {
            let Some(bytes) = self.tree.read(path)? else {
                return Ok(None);
            };
            let mut lines: BTreeMap<String, Vec<u32>> = BTreeMap::new();
            for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
                lines
                    .entry(line.trim().to_owned())
                    .or_default()
                    .push(number);
            }
            let outline = outline(path, &bytes);
            self.files
                .insert(path.to_owned(), CurrentFile { lines, outline });
        }
        Ok(self.files.get(path))
    }

    /// Returns the symbol or file that most lines of a change are in today, or `None` if too many
    /// of them are gone or they are spread over files. A symbol that `text` names comes first.
    pub(super) fn locate(
        &mut self,
        diff: &[FileDiff],
        text: &str,
    ) -> Result<Option<KeptChange>, EngineError> {
        let (mut total, mut kept) = (0, 0);
        // Surviving lines by file, and by symbol of the file.
        let mut by_file: BTreeMap<String, usize> = BTreeMap::new();
        let mut by_symbol: BTreeMap<(String, String), usize> = BTreeMap::new();
        for file in diff.iter().filter(|it| is_source(&it.path)) {
            let added: Vec<&String> = searched_lines(&file.added).collect();
            let Some(path) = self.find_file(&file.path) else {
                total += added.len();
                continue;
            };
            let Some(current) = self.load(&path)? else {
                continue;
            };
            total += added.len();
            for line in &added {
                let Some(numbers) = current.lines.get(*line) else {
                    continue;
                };
                kept += 1;
                *by_file.entry(path.clone()).or_default() += 1;
                if let Some(name) = current.symbol_at(numbers) {
                    *by_symbol.entry((path.clone(), name)).or_default() += 1;
                }
            }
            // A commit that only removes is kept while the lines stay away.
            if added.is_empty() {
                let removed: Vec<&String> = searched_lines(&file.removed).collect();
                let away = removed
                    .iter()
                    .filter(|it| !current.lines.contains_key(**it));
                let away = away.count();
                (total, kept) = (total + removed.len(), kept + away);
                *by_file.entry(path.clone()).or_default() += away;
            }
        }
        if kept == 0 || kept * 100 < total * KEPT_PERCENT_MIN {
            return Ok(None);
        }
        let is_most = |count: usize| count * 100 >= kept * ANCHOR_PERCENT_MIN;
        let named = by_symbol
            .iter()
            .filter(|((_, name), _)| names_symbol(text, name));
        let named = named.max_by_key(|(_, count)| **count);
        let most = || by_symbol.iter().find(|(_, count)| is_most(**count));
        let symbol = named.or_else(most);
        let file = by_file.into_iter().find(|(_, count)| is_most(*count));
        Ok(match (symbol, file) {
            (Some(((path, name), _)), _) => Some(KeptChange::symbol(path, name)),
            (None, Some((path, _))) => Some(KeptChange::file(&path)),
            (None, None) => None,
        })
    }

    /// Returns whether the lines that a revert took away are still away, and its only file.
    pub(super) fn stays_reverted(
        &mut self,
        diff: &[FileDiff],
    ) -> Result<Option<KeptChange>, EngineError> {
        let (mut total, mut away) = (0, 0);
        let mut files = BTreeMap::new();
        for file in diff.iter().filter(|it| is_source(&it.path)) {
            let Some(path) = self.find_file(&file.path) else {
                continue;
            };
            let Some(current) = self.load(&path)? else {
                continue;
            };
            let removed: Vec<&String> = searched_lines(&file.removed).collect();
            let gone = removed
                .iter()
                .filter(|it| !current.lines.contains_key(**it));
            let gone = gone.count();
            (total, away) = (total + removed.len(), away + gone);
            files.insert(path, gone);
        }
        if total == 0 || away * 100 < total * KEPT_PERCENT_MIN {
            return Ok(None);
        }
        let main = files.into_iter().max_by_key(|(_, gone)| *gone);
        Ok(main.map(|(path, _)| KeptChange::file(&path)))
    }

    /// Returns whether the file of an anchor has the names of `text`, and no comment that says the
    /// same: what a reader of the code reads anyway is not worth an entry.
    pub(super) fn still_says(&mut self, anchor: &str, text: &str) -> Result<bool, EngineError> {
        let path = anchor.split('#').next().unwrap_or(anchor);
        let Some(bytes) = self.tree.read(path)? else {
            return Ok(false);
        };
        let source = String::from_utf8_lossy(&bytes);
        if !code_names(text).iter().all(|name| source.contains(name)) {
            return Ok(false);
        }
        let told = telling_words(text);
        let lines: Vec<&str> = source.lines().collect();
        let is_said = lines
            .windows(COMMENT_LINES.min(lines.len()).max(1))
            .any(|near| {
                let near = telling_words(&near.join("\n"));
                let shared = told.iter().filter(|it| near.contains(*it)).count();
                shared * 100 >= told.len() * SAID_PERCENT_MIN
            });
        Ok(!is_said)
    }

    /// Returns the symbols without inner symbols that contain a good part of the lines of a
    /// change today.
    pub(super) fn kept_symbols(
        &mut self,
        diff: &[FileDiff],
    ) -> Result<BTreeSet<(String, String)>, EngineError> {
        let (mut kept, mut counts) = (0, BTreeMap::new());
        for file in diff.iter().filter(|it| is_source(&it.path)) {
            let Some(path) = self.find_file(&file.path) else {
                continue;
            };
            let Some(current) = self.load(&path)? else {
                continue;
            };
            for line in searched_lines(&file.added) {
                let Some(numbers) = current.lines.get(line) else {
                    continue;
                };
                kept += 1;
                if let Some(name) = current.symbol_at(numbers) {
                    *counts.entry((path.clone(), name)).or_default() += 1;
                }
            }
        }
        let is_part = |count: usize| count * 100 >= kept * PART_PERCENT_MIN;
        let symbols = counts.into_iter().filter(|(_, count)| is_part(*count));
        Ok(symbols.map(|(symbol, _)| symbol).collect())
    }
}

impl CurrentFile {
    /// Returns the innermost symbol at a line that occurs once in the file.
    fn symbol_at(&self, numbers: &[u32]) -> Option<String> {
        let [line] = numbers else { return None };
        let around = |it: &&Symbol| it.first_line <= *line && *line <= it.last_line;
        let symbols = self.outline.symbols().iter().filter(around);
        let symbol = symbols.min_by_key(|it| it.last_line - it.first_line)?;
        // The line of a type between its methods is not in one definition.
        let is_inner = |it: &&Symbol| {
            symbol.first_line <= it.first_line
                && it.last_line <= symbol.last_line
                && it.bytes != symbol.bytes
        };
        let has_inner = self.outline.symbols().iter().any(|it| is_inner(&it));
        (!has_inner).then(|| self.outline.exact_name(symbol))
    }
}

impl KeptChange {
    fn file(path: &str) -> Self {
        Self {
            anchor: path.to_owned(),
            names: vec![file_stem(path).to_owned()],
        }
    }

    pub(super) fn symbol(path: &str, name: &str) -> Self {
        let last = name.rsplit(['.', ':']).next().unwrap_or(name);
        Self {
            anchor: format!("{path}#{name}"),
            names: vec![last.to_owned(), file_stem(path).to_owned()],
        }
    }
}

/// Returns whether a text names a symbol by the last part of its name.
fn names_symbol(text: &str, name: &str) -> bool {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let mut words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
    last.len() >= NAME_CHARS_MIN && words.any(|word| word == last)
}

/// Returns the lines long enough to be recognized.
fn searched_lines(lines: &[String]) -> impl Iterator<Item = &String> {
    let is_long = |it: &&String| it.chars().count() >= LINE_CHARS_MIN;
    lines.iter().filter(is_long)
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the name of a file without its extension.
pub(super) fn file_stem(path: &str) -> &str {
    let name = file_name(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}
