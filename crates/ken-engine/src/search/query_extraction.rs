//! Query extraction: builds a query from a diff, a file or the output of a failed command.
//!
//! A log contributes its error lines, the files it names and its stack frames. A diff contributes
//! its files and the identifiers it touches.

use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::FileTree as _;
use ken_core::retrieval::ranking::CodeFrame;
use ken_core::values::text::strip_terminal_codes;

use super::stack_frames::{PrintedFrame, RepositoryFiles, map_to_repository, parse_frames};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::git;
use crate::validity::{CodeVersion, VersionReader, WorkTree};

/// Maximum number of bytes read from the start of a file or diff, or from the end of a log.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Maximum number of log lines in a query.
const LINES_MAX: usize = 6;
/// Maximum length of a log line in a query.
const LINE_CHARS_MAX: usize = 300;
/// Maximum number of identifiers in a query.
const NAMES_MAX: usize = 40;
/// Length of an identifier: shorter ones carry no meaning, longer ones are data.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=100;
/// Maximum number of paths in a query.
const PATHS_MAX: usize = 50;
/// Maximum number of tests in a prompt whose imports are read, and of lines read of each.
const TESTS_MAX: usize = 3;
const IMPORT_LINES_MAX: usize = 80;
/// Maximum number of files that are parsed to find the symbols around the lines of frames.
const OUTLINES_MAX: usize = 10;

/// Words of error lines, in lower case.
const ERROR_WORDS: &[&str] = &[
    "error",
    "exception",
    "panic",
    "fatal",
    "failed",
    "failure",
    "fail:",
    "cannot",
    "can't",
    "could not",
    "denied",
    "refused",
    "undefined",
    "not found",
    "no such",
    "unexpected",
    "expected",
    "invalid",
    "missing",
    "timeout",
    "timed out",
    "conflict",
    "assert",
    "abort",
    "segfault",
    "overflow",
    "deadlock",
    "caused by",
];

/// Query text, paths and stack frames, extracted from other material.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractedQuery {
    pub text: String,
    /// Code that the material means besides the names in its text.
    pub names: Vec<String>,
    pub paths: Vec<String>,
    pub frames: Vec<CodeFrame>,
}

/// Extracts a query from the diff against `revision`.
pub(crate) fn query_from_diff(
    engine: &Engine,
    revision: &str,
) -> Result<ExtractedQuery, EngineError> {
    let paths = git::changed_paths(&engine.place, Some(revision))?;
    if paths.is_empty() {
        return Ok(ExtractedQuery::default());
    }
    let diff = git::diff(&engine.place, revision, &first_unique_paths(&paths))?;
    Ok(query_from_diff_text(&lossy_head(&diff), &paths))
}

/// Returns the paths that differ from the last commit; empty without git.
pub(crate) fn changed_paths(engine: &Engine) -> Vec<String> {
    let paths = git::changed_paths(&engine.place, None);
    first_unique_paths(&paths.unwrap_or_default())
}

/// Returns whether a path differs from the last commit; never without git.
pub(crate) fn is_changed(engine: &Engine, path: &str) -> bool {
    git::is_changed(&engine.place, path).unwrap_or(false)
}

/// Extracts a query from the output of a failed command, with its paths mapped to this repository.
pub(crate) fn query_from_log(
    engine: &mut Engine,
    log: &[u8],
) -> Result<ExtractedQuery, EngineError> {
    let plain = log_lines(log);
    let mut query = query_from_lines(&plain);
    let printed = parse_frames(&plain);
    if printed.is_empty() {
        return Ok(query);
    }
    let tree = WorkTree::new(&engine.place)?;
    let root = engine.place.root.clone();
    let files = RepositoryFiles {
        root: root.display().to_string().replace('\\', "/"),
        exists: &|path| root.join(path).is_file(),
        // A tree that cannot be listed has no other files to offer.
        all: &|| tree.paths().unwrap_or_default(),
    };
    let mut frames: Vec<(CodeFrame, PrintedFrame)> = Vec::new();
    for frame in printed {
        if let Some(path) = map_to_repository(&frame, &files) {
            let spot = CodeFrame {
                path,
                line: frame.line,
                symbols: frame.function.iter().cloned().collect(),
            };
            frames.push((spot, frame));
        }
    }
    // Paths that were mapped replace what the log says; other relative paths stay.
    let is_mapped = |path: &String| frames.iter().any(|(_, it)| it.path == *path);
    query.paths.retain(|path| !is_mapped(path));
    let mapped = frames.iter().map(|(spot, _)| spot.path.clone());
    query.paths = first_unique_paths(&mapped.chain(query.paths).collect::<Vec<_>>());
    query.frames = frames.into_iter().map(|(spot, _)| spot).collect();
    add_enclosing_symbols(engine, tree, &mut query.frames)?;
    Ok(query)
}

/// Adds the symbols around the line of each frame, in files that entries are anchored to.
fn add_enclosing_symbols(
    engine: &mut Engine,
    tree: WorkTree,
    frames: &mut [CodeFrame],
) -> Result<(), EngineError> {
    let mut anchored = BTreeSet::new();
    for path in frames.iter().map(|it| &it.path).collect::<BTreeSet<_>>() {
        let entries = engine
            .index
            .entries_anchored_at(std::slice::from_ref(path))?;
        if !entries.is_empty() && anchored.len() < OUTLINES_MAX {
            anchored.insert(path.clone());
        }
    }
    let (version, now) = (CodeVersion::Work(tree), engine.runtime.now());
    let mut reader = VersionReader::new(&version, &mut engine.index, now);
    for frame in frames.iter_mut().filter(|it| anchored.contains(&it.path)) {
        // A file that cannot be parsed has no symbols; the function of the frame remains.
        let (Some(line), Ok(Some(outline))) = (frame.line, reader.outline(&frame.path)) else {
            continue;
        };
        let around = outline
            .symbols()
            .iter()
            .filter(|symbol| (symbol.first_line..=symbol.last_line).contains(&line));
        frame
            .symbols
            .extend(around.map(|symbol| symbol.name.clone()));
    }
    Ok(())
}

fn log_lines(log: &[u8]) -> Vec<String> {
    lossy_tail(log).lines().map(strip_terminal_codes).collect()
}

/// Extracts the error lines of a log and the relative paths it names.
fn query_from_lines(plain: &[String]) -> ExtractedQuery {
    let mut seen = BTreeSet::new();
    // Retries and loops repeat a line with other numbers; one of them is enough.
    let lines: Vec<&str> = plain
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty() && seen.insert(without_numbers(line)))
        .collect();
    let errors: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| is_error_line(line))
        .collect();
    // The first errors matter most, because later ones are often consequences. Without errors, the
    // last lines are closest to the failure.
    let chosen = if errors.is_empty() {
        &lines[lines.len().saturating_sub(LINES_MAX)..]
    } else {
        &errors[..errors.len().min(LINES_MAX)]
    };
    let words: Vec<String> = chosen
        .iter()
        .map(|line| line.chars().take(LINE_CHARS_MAX).collect())
        .collect();
    ExtractedQuery {
        text: words.join("\n"),
        paths: first_unique_paths(
            &lines
                .iter()
                .flat_map(|line| extract_paths(line))
                .collect::<Vec<_>>(),
        ),
        ..ExtractedQuery::default()
    }
}

/// Returns a query with the prompt unchanged, the paths it names, and what the tests among them
/// import: a prompt about a failing test is about the code that the test calls.
pub(crate) fn query_from_prompt(engine: &Engine, prompt: &str) -> ExtractedQuery {
    let paths: Vec<String> = prompt.lines().flat_map(extract_paths).collect();
    let paths = first_unique_paths(&paths);
    let mut names = Vec::new();
    for path in paths.iter().filter(|it| is_test_file(it)).take(TESTS_MAX) {
        // A file that cannot be read imports nothing.
        let bytes = std::fs::read(engine.place.root.join(path)).unwrap_or_default();
        names.extend(imported_names(&lossy_head(&bytes)));
    }
    names.truncate(NAMES_MAX);
    ExtractedQuery {
        text: prompt.to_owned(),
        names,
        paths,
        ..ExtractedQuery::default()
    }
}

/// Returns whether a path is that of a test, by the usual names.
fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    name.contains("test") || name.contains("spec")
}

/// Returns the names that the import lines of a source file bring in.
fn imported_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines().take(IMPORT_LINES_MAX).map(str::trim) {
        // `from pay import charge`, `import { charge } from './pay'`, `use pay::{charge, refund};`,
        // `import com.acme.Charge;`, `const { charge } = require('./pay')`
        let clause = if let Some((_, names)) = line
            .strip_prefix("from ")
            .and_then(|it| it.split_once(" import "))
        {
            names
        } else if let Some(rest) = line.strip_prefix("import ") {
            let named = rest.split_once(" from ").map(|(names, _)| names);
            named.unwrap_or_else(|| rest.rsplit('.').next().unwrap_or_default())
        } else if let Some(rest) = line.strip_prefix("use ") {
            rest.rsplit("::").next().unwrap_or_default()
        } else if let Some((names, _)) = line.split_once("require(") {
            names
        } else {
            continue;
        };
        let words = clause.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_name = |word: &&str| {
            NAME_CHARS.contains(&word.chars().count())
                && !["const", "let", "var", "self", "super", "crate"].contains(word)
        };
        names.extend(words.filter(is_name).map(str::to_owned));
    }
    names
}

/// Extracts a query from a file; `path` is relative to the repository's root.
pub fn query_from_file(path: &str, text: &[u8]) -> ExtractedQuery {
    ExtractedQuery {
        text: frequent_identifiers(&lossy_head(text)),
        paths: vec![path.to_owned()],
        ..ExtractedQuery::default()
    }
}

fn query_from_diff_text(diff: &str, paths: &[String]) -> ExtractedQuery {
    let changed = diff.lines().filter_map(|line| {
        if line.starts_with("+++") || line.starts_with("---") {
            return None;
        }
        // `@@ -1,2 +3,4 @@ fn charge()` names the function that contains the change.
        let header = line
            .strip_prefix("@@")
            .and_then(|rest| rest.split_once("@@"));
        let changed = line.strip_prefix('+').or_else(|| line.strip_prefix('-'));
        header.map(|(_, function)| function).or(changed)
    });
    let lines: Vec<&str> = changed.collect();
    ExtractedQuery {
        text: frequent_identifiers(&lines.join("\n")),
        paths: first_unique_paths(paths),
        ..ExtractedQuery::default()
    }
}

/// Returns the most frequent identifiers of a text, in order of first occurrence.
fn frequent_identifiers(text: &str) -> String {
    // Count and first position by identifier.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let identifiers = words.filter(|word| {
        NAME_CHARS.contains(&word.chars().count()) && !word.starts_with(|c: char| c.is_numeric())
    });
    for (at, name) in identifiers.enumerate() {
        let (count, _) = counts.entry(name).or_insert((0, at));
        *count += 1;
    }
    let mut ranked: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
    // Frequency selects the identifiers; text order is restored for models that read word order.
    ranked.sort_by_key(|(_, (count, at))| (std::cmp::Reverse(*count), *at));
    ranked.truncate(NAMES_MAX);
    ranked.sort_by_key(|(_, (_, at))| *at);
    let names: Vec<&str> = ranked.into_iter().map(|(name, _)| name).collect();
    names.join(" ")
}

fn is_error_line(line: &str) -> bool {
    let line = line.to_lowercase();
    ERROR_WORDS.iter().any(|word| line.contains(word))
}

/// Removes digits, so that lines that differ only in numbers compare equal.
fn without_numbers(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Extracts paths from a log line such as `src/pay.rs:42:7` or `File "app/auth.py", line 3`.
fn extract_paths(line: &str) -> impl Iterator<Item = String> {
    let words = line.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>,;=".contains(c));
    words.filter_map(|word| {
        // A path may end a sentence.
        let location = word.split(':').next().unwrap_or_default();
        let location = location.trim_end_matches('.');
        let path = location.strip_prefix("./").unwrap_or(location);
        let name = path.rsplit('/').next().unwrap_or_default();
        // Without a slash and an extension, too many ordinary words would count as paths.
        let is_path = path.contains('/')
            && name.split_once('.').is_some_and(|(stem, extension)| {
                !stem.is_empty()
                    && !extension.is_empty()
                    && extension.chars().all(char::is_alphanumeric)
            });
        // Absolute paths and `..` lead out of the repository.
        (is_path && !path.starts_with('/') && !path.contains("..")).then(|| path.to_owned())
    })
}

/// Returns the first [`PATHS_MAX`] distinct paths, in order.
fn first_unique_paths(paths: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let unique = paths.iter().filter(|path| seen.insert(path.as_str()));
    unique.take(PATHS_MAX).cloned().collect()
}

fn lossy_head(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]).into_owned()
}

fn lossy_tail(bytes: &[u8]) -> String {
    let from = bytes.len().saturating_sub(TEXT_BYTES_MAX);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_log_the_lines_that_say_what_went_wrong_are_taken() {
        let log = b"\
   Compiling pay v0.1.0
\x1b[31merror[E0382]\x1b[0m: borrow of moved value: `order`
  --> src/pay.rs:42:7
note: in attempt 1
error[E0382]: borrow of moved value: `order`
warning: 3 warnings emitted
thread 'main' panicked at ./src/queue/mod.rs:9:5:
called `Option::unwrap()` on a `None` value
";
        let asked = query_from_lines(&log_lines(log));
        assert_eq!(
            asked.text,
            "error[E0382]: borrow of moved value: `order`\n\
             thread 'main' panicked at ./src/queue/mod.rs:9:5:"
        );
        assert_eq!(asked.paths, ["src/pay.rs", "src/queue/mod.rs"]);
    }

    #[test]
    fn a_log_without_trouble_speaks_by_its_end() {
        let log: String = (0..20)
            .map(|n| format!("step {}\n", "x".repeat(n + 1)))
            .collect();
        let asked = query_from_lines(&log_lines(log.as_bytes()));
        assert_eq!(asked.text.lines().count(), LINES_MAX);
        assert!(asked.text.ends_with(&"x".repeat(20)));
    }

    #[test]
    fn paths_outside_the_repository_are_not_paths_in_hand() {
        for line in [
            "/etc/passwd.d/x.y",
            "../up/x.rs",
            "http://host/x",
            "a/b",
            "x.rs",
        ] {
            assert_eq!(extract_paths(line).count(), 0, "{line}");
        }
        let python: Vec<String> =
            extract_paths("  File \"app/auth.py\", line 3, in login").collect();
        assert_eq!(python, ["app/auth.py"]);
        let sentence: Vec<String> = extract_paths("A repro is at tests/test_pay.py.").collect();
        assert_eq!(sentence, ["tests/test_pay.py"]);
    }

    #[test]
    fn imports_name_the_code_that_a_test_is_about() {
        for (line, expected) in [
            (
                "from boltons.pay import charge, refund as back",
                &["charge", "refund", "back"][..],
            ),
            ("import { charge } from './pay'", &["charge"]),
            ("use crate::pay::{charge, refund};", &["charge", "refund"]),
            ("import com.acme.Charge;", &["Charge"]),
            ("const { charge } = require('./pay')", &["charge"]),
            ("charge(order)", &[]),
        ] {
            assert_eq!(imported_names(line), expected, "{line}");
        }
        assert!(is_test_file("tests/test_pay.py") && !is_test_file("src/pay.py"));
    }

    #[test]
    fn of_a_diff_the_names_it_touches_are_taken() {
        let diff = "\
diff --git a/src/pay.rs b/src/pay.rs
--- a/src/pay.rs
+++ b/src/pay.rs
@@ -10,2 +10,3 @@ fn charge_customer(order: &Order) {
-    gateway.charge(order)
+    gateway.charge(order, key)
";
        let asked = query_from_diff_text(diff, &["src/pay.rs".to_owned()]);
        assert_eq!(asked.text, "charge_customer order Order gateway charge key");
        assert_eq!(asked.paths, ["src/pay.rs"]);
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read() {
        let mut log = vec![b'x'; 2 * TEXT_BYTES_MAX];
        log.extend_from_slice("\nfatal: out of \u{1f4be} space\n".as_bytes());
        assert_eq!(
            query_from_lines(&log_lines(&log)).text,
            "fatal: out of \u{1f4be} space"
        );
    }
}
