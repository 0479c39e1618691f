//! Detection of the error line in the output of a command.

use ken_core::values::text::strip_terminal_codes;

use crate::words::split_phrases;

/// Maximum length in characters of a quoted line.
const LINE_CHARS_MAX: usize = 140;

/// Minimum number of letters of an informative line.
const LETTERS_MIN: usize = 12;

/// Maximum number of inspected lines, counted from the end.
const LINES_MAX: usize = 2000;

/// Marks of error lines in lower case, the most informative group first.
const MARKS: [&str; 3] = [
    "error[, error:, error ts, err!, exception:, panicked at, fatal:, typeerror, referenceerror, syntaxerror, importerror, \
     modulenotfounderror, valueerror, keyerror, attributeerror, operationalerror, assertionerror, connectionerror, runtimeerror, \
     cannot find, could not find, not found, no such file, no module named, permission denied, connection refused, undefined:, undefined reference, \
     unresolved import, command not found, econnrefused, enoent, eacces, err_, unknown option, unexpected argument",
    "error, cannot, can't, could not, unable to, denied, refused, missing, invalid, unexpected, timed out, timeout, conflict, \
     unsupported, mismatch, requires, is not, not installed",
    "failed, failure, fail, abort, undefined, expected",
];

/// Marks of lines that only report that something failed.
const UNINFORMATIVE: &str = "\
    could not compile, previous error, test failed, to rerun pass, elifecycle, command failed, exit code, exit status, errno 1, error 1, error 2, \
    a complete log, build failed with, aborting due, failures:, test result, tests failed, tests run, 0 errors, 0 failed, no errors, short test summary, \
    for more information, npm err! code 1, npm err! path, npm error path, npm error command, run with `rust_backtrace, stack backtrace, most recent call last, warning:, recipe for target, custom build command, \
    failed to load config, retrying, returned non-zero, lifecycle script, script failed, failed suites, errors found, error_on, --error, error-";

/// Returns the most informative error line, ready to be put between backticks.
pub(super) fn find_error_line(output: &str) -> Option<String> {
    let all: Vec<&str> = output.lines().collect();
    let lines: Vec<String> = all[all.len().saturating_sub(LINES_MAX)..]
        .iter()
        // Color sequences would split the marks.
        .map(|line| strip_terminal_codes(line))
        .collect();
    // The first matching line: later errors are usually consequences of it.
    MARKS.iter().find_map(|marks| {
        let mut lines = lines.iter().filter(|line| matches_marks(line, marks));
        lines.find_map(|line| quote_line(line))
    })
}

/// Returns whether an output reports a failure, for commands whose exit code is masked.
pub(super) fn reports_failure(output: &str) -> bool {
    let strong = "error[, error:, error ts, err!, panicked at, fatal:, traceback (most, failed, command not found, no such file, exception";
    output.lines().map(strip_terminal_codes).any(|line| {
        let low = line.to_lowercase();
        let clean = ["0 failed", "0 errors", "no errors", "0 failures"]
            .iter()
            .any(|it| low.contains(it));
        !clean && split_phrases(strong).any(|mark| low.contains(mark))
    })
}

fn matches_marks(line: &str, marks: &str) -> bool {
    let low = line.to_lowercase();
    split_phrases(marks).any(|mark| low.contains(mark))
        && !split_phrases(UNINFORMATIVE).any(|mark| low.contains(mark))
}

/// Shortens a line for quoting; returns `None` if it has too few letters.
fn quote_line(line: &str) -> Option<String> {
    let words = line.split_whitespace().map(shorten_word);
    let text = words.collect::<Vec<_>>().join(" ");
    let text = text.trim_matches(['-', '=', '*', '>', '|', '×', '✖', '✗', '❌', ' ', '•', '│']);
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    if letters < LETTERS_MIN {
        return None;
    }
    let mut cut: String = text.chars().take(LINE_CHARS_MAX).collect();
    if cut.len() < text.len() {
        // Half a word names something else, and half a secret escapes the secret detection.
        let whole = cut.rfind(' ')?;
        cut.truncate(whole);
        cut.push_str(" …");
    }
    Some(cut)
}

/// Replaces backticks in a word, and shortens an absolute path to its last part.
fn shorten_word(word: &str) -> String {
    let word = word.replace('`', "'");
    let opens = word
        .find(|c: char| c == '/' || c.is_alphanumeric())
        .unwrap_or(0);
    let (before, path) = word.split_at(opens);
    let is_long = path.starts_with('/') && path.matches('/').count() > 2;
    match is_long.then(|| path.rsplit('/').next()).flatten() {
        Some(name) => format!("{before}{name}"),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_most_is_told() {
        for (output, expected) in [
            (
                "   Compiling pay v0.1.0\n\u{1b}[31merror[E0432]\u{1b}[0m: unresolved import `tokio::net`\n --> src/net.rs:1\nerror: could not compile `pay` (lib) due to 1 previous error",
                Some("error[E0432]: unresolved import 'tokio::net'"),
            ),
            (
                "Traceback (most recent call last):\n  File \"/home/ada/pay/app.py\", line 3\nModuleNotFoundError: No module named 'psycopg'",
                Some("ModuleNotFoundError: No module named 'psycopg'"),
            ),
            (
                "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nError: Cannot find module '/home/ada/web/node_modules/.bin/vite'",
                Some("Error: Cannot find module 'vite'"),
            ),
            ("Exit code 1", None),
            ("all fine\n12 passed", None),
            ("make: *** [test] Error 2", None),
        ] {
            assert_eq!(find_error_line(output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_words() {
        let line = find_error_line(&format!("error: {}", "word ".repeat(80))).unwrap();
        assert!(
            line.ends_with("word …") && line.chars().count() <= LINE_CHARS_MAX + 2,
            "{line}"
        );
    }
}
