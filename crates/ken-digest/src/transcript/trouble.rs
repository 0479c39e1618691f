//! The line of an output that says what went wrong.

use ken_core::text::unstyled;

use crate::words::each;

/// Characters such a line may have when it is told.
const LINE_CHARS_MAX: usize = 140;

/// Letters it must have to say anything.
const LETTERS_MIN: usize = 12;

/// Lines of an output that are looked at, the last ones.
const LINES_MAX: usize = 2000;

/// What a line that says what went wrong has, in lower case; the first kinds say most.
const MARKS: [&str; 3] = [
    "error[, error:, error ts, err!, exception:, panicked at, fatal:, typeerror, referenceerror, syntaxerror, importerror, \
     modulenotfounderror, valueerror, keyerror, attributeerror, operationalerror, assertionerror, connectionerror, runtimeerror, \
     cannot find, could not find, not found, no such file, no module named, permission denied, connection refused, undefined:, undefined reference, \
     unresolved import, command not found, econnrefused, enoent, eacces, err_, unknown option, unexpected argument",
    "error, cannot, can't, could not, unable to, denied, refused, missing, invalid, unexpected, timed out, timeout, conflict, \
     unsupported, mismatch, requires, is not, not installed",
    "failed, failure, fail, abort, undefined, expected",
];

/// What a line has that only says that something went wrong.
const EMPTY: &str = "\
    could not compile, previous error, test failed, to rerun pass, elifecycle, command failed, exit code, exit status, errno 1, error 1, error 2, \
    a complete log, build failed with, aborting due, failures:, test result, tests failed, tests run, 0 errors, 0 failed, no errors, short test summary, \
    for more information, npm err! code 1, npm err! path, npm error path, npm error command, run with `rust_backtrace, stack backtrace, most recent call last, warning:, recipe for target, custom build command, \
    failed to load config, retrying, returned non-zero, lifecycle script, script failed, failed suites, errors found, error_on, --error, error-";

/// Returns the line of an output that says most about what went wrong, ready to stand between backticks.
pub(super) fn telling(output: &str) -> Option<String> {
    let all: Vec<&str> = output.lines().collect();
    let lines: Vec<String> = all[all.len().saturating_sub(LINES_MAX)..]
        .iter()
        .map(|line| unstyled(line))
        .collect();
    MARKS.iter().find_map(|marks| {
        let mut lines = lines.iter().filter(|line| says(line, marks));
        lines.find_map(|line| told(line))
    })
}

/// Returns whether an output says that something failed, though the exit code was not its program's.
pub(super) fn is_troubled(output: &str) -> bool {
    let strong = "error[, error:, error ts, err!, panicked at, fatal:, traceback (most, failed, command not found, no such file, exception";
    output.lines().map(unstyled).any(|line| {
        let low = line.to_lowercase();
        let clean = ["0 failed", "0 errors", "no errors", "0 failures"]
            .iter()
            .any(|it| low.contains(it));
        !clean && each(strong).any(|mark| low.contains(mark))
    })
}

fn says(line: &str, marks: &str) -> bool {
    let low = line.to_lowercase();
    each(marks).any(|mark| low.contains(mark)) && !each(EMPTY).any(|mark| low.contains(mark))
}

/// Returns a line as it may be told, if it says something.
fn told(line: &str) -> Option<String> {
    let words = line.split_whitespace().map(word);
    let text = words.collect::<Vec<_>>().join(" ");
    let text = text.trim_matches(['-', '=', '*', '>', '|', '×', '✖', '✗', '❌', ' ', '•', '│']);
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    if letters < LETTERS_MIN {
        return None;
    }
    let mut cut: String = text.chars().take(LINE_CHARS_MAX).collect();
    if cut.len() < text.len() {
        // A word that is cut in two names something else, and half a secret is not known as one.
        let whole = cut.rfind(' ')?;
        cut.truncate(whole);
        cut.push_str(" …");
    }
    Some(cut)
}

/// Returns a word without backticks, and a path of one machine as the name at its end.
fn word(word: &str) -> String {
    let word = word.replace('`', "'");
    let opens = word
        .find(|c: char| c == '/' || c.is_alphanumeric())
        .unwrap_or(0);
    let (before, path) = word.split_at(opens);
    let is_long = path.starts_with('/') && 2 < path.matches('/').count();
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
            assert_eq!(telling(output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_words() {
        let told = telling(&format!("error: {}", "word ".repeat(80))).unwrap();
        assert!(
            told.ends_with("word …") && told.chars().count() <= LINE_CHARS_MAX + 2,
            "{told}"
        );
    }
}
