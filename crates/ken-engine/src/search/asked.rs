//! What to look for, from what somebody has at hand: a diff, a file, the output of something that failed.
//!
//! Nobody should have to find the right words while something is broken. Of a log the lines that say
//! what went wrong are taken, and the files it names; of a diff the files and the names it touches.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::text::unstyled;

use crate::engine::Engine;
use crate::error::Error;
use crate::git;

/// Bytes of a log, a file or a diff that are looked at; of a log the last ones.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Lines of a log that become words to look for.
const LINES_MAX: usize = 6;
/// Characters of such a line.
const LINE_CHARS_MAX: usize = 300;
/// Names of a file or diff that become words to look for.
const NAMES_MAX: usize = 40;
/// Letters a name must have to say anything, and may have to be one.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=100;
/// Paths that are taken from anything.
const PATHS_MAX: usize = 50;

/// Words that stand in lines saying what went wrong, lower case.
const TROUBLE: &[&str] = &[
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

/// Words to look for and files that are in hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub text: String,
    pub paths: Vec<String>,
}

impl Engine {
    /// Returns what a diff against `revision` asks about.
    pub fn asked_by_diff(&self, revision: &str) -> Result<Asked, Error> {
        let paths = git::changed_paths(&self.place, Some(revision))?;
        if paths.is_empty() {
            return Ok(Asked::default());
        }
        let diff = git::diff(&self.place, revision, &first(&paths))?;
        Ok(from_diff(&lossy_head(&diff), &paths))
    }

    /// Returns the paths that differ from the last commit here, if there is one.
    pub fn paths_in_hand(&self) -> Vec<String> {
        let paths = git::changed_paths(&self.place, None);
        first(&paths.unwrap_or_default())
    }
}

/// Returns what the output of something that failed asks about.
pub fn from_error(log: &[u8]) -> Asked {
    let log = lossy_tail(log);
    let lines: Vec<String> = log.lines().map(unstyled).collect();
    let mut told = BTreeSet::new();
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty() && told.insert(without_numbers(line)))
        .collect();
    let trouble: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| says_trouble(line))
        .collect();
    let chosen = if trouble.is_empty() {
        &lines[lines.len().saturating_sub(LINES_MAX)..]
    } else {
        &trouble[..trouble.len().min(LINES_MAX)]
    };
    let words: Vec<String> = chosen
        .iter()
        .map(|line| line.chars().take(LINE_CHARS_MAX).collect())
        .collect();
    Asked {
        text: words.join("\n"),
        paths: first(
            &lines
                .iter()
                .flat_map(|line| paths_of(line))
                .collect::<Vec<_>>(),
        ),
    }
}

/// Returns what somebody's words ask about, and the files they name.
pub fn from_words(text: &str) -> Asked {
    let paths: Vec<String> = text.lines().flat_map(paths_of).collect();
    Asked {
        text: text.to_owned(),
        paths: first(&paths),
    }
}

/// Returns what a file under review asks about; `path` is below the repository's root.
pub fn from_file(path: &str, text: &[u8]) -> Asked {
    Asked {
        text: names(&lossy_head(text)),
        paths: vec![path.to_owned()],
    }
}

fn from_diff(diff: &str, paths: &[String]) -> Asked {
    let changed = diff.lines().filter_map(|line| {
        if line.starts_with("+++") || line.starts_with("---") {
            return None;
        }
        // `@@ -1,2 +3,4 @@ fn charge()` names the function around a change.
        let around = line
            .strip_prefix("@@")
            .and_then(|rest| rest.split_once("@@"));
        let changed = line.strip_prefix('+').or_else(|| line.strip_prefix('-'));
        around.map(|(_, around)| around).or(changed)
    });
    let changed: Vec<&str> = changed.collect();
    Asked {
        text: names(&changed.join("\n")),
        paths: first(paths),
    }
}

/// Returns the commonest names of a text, in the order they first stand there.
fn names(text: &str) -> String {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words = words.filter(|word| {
        NAME_CHARS.contains(&word.chars().count()) && !word.starts_with(|c: char| c.is_numeric())
    });
    for (at, word) in words.enumerate() {
        let (count, _) = counts.entry(word).or_insert((0, at));
        *count += 1;
    }
    let mut names: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
    names.sort_by_key(|(_, (count, at))| (std::cmp::Reverse(*count), *at));
    names.truncate(NAMES_MAX);
    names.sort_by_key(|(_, (_, at))| *at);
    let names: Vec<&str> = names.into_iter().map(|(name, _)| name).collect();
    names.join(" ")
}

fn says_trouble(line: &str) -> bool {
    let line = line.to_lowercase();
    TROUBLE.iter().any(|word| line.contains(word))
}

/// What two lines that differ only in numbers have in common.
fn without_numbers(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Returns the files a line of a log names: `src/pay.rs:42:7`, `File "app/auth.py", line 3`.
fn paths_of(line: &str) -> impl Iterator<Item = String> {
    let words = line.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>,;=".contains(c));
    words.filter_map(|word| {
        let path = word.split(':').next().unwrap_or_default();
        let path = path.strip_prefix("./").unwrap_or(path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let looks = path.contains('/')
            && name.split_once('.').is_some_and(|(stem, ending)| {
                !stem.is_empty() && !ending.is_empty() && ending.chars().all(char::is_alphanumeric)
            });
        (looks && !path.starts_with('/') && !path.contains("..")).then(|| path.to_owned())
    })
}

/// The first paths, each once, in their order.
fn first(paths: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let paths = paths.iter().filter(|path| seen.insert(path.as_str()));
    paths.take(PATHS_MAX).cloned().collect()
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
    fn inj_13_of_a_log_the_lines_that_say_what_went_wrong_are_taken() {
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
        let asked = from_error(log);
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
        let asked = from_error(log.as_bytes());
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
            assert_eq!(paths_of(line).count(), 0, "{line}");
        }
        let python: Vec<String> = paths_of("  File \"app/auth.py\", line 3, in login").collect();
        assert_eq!(python, ["app/auth.py"]);
    }

    #[test]
    fn ret_21_of_a_diff_the_names_it_touches_are_taken() {
        let diff = "\
diff --git a/src/pay.rs b/src/pay.rs
--- a/src/pay.rs
+++ b/src/pay.rs
@@ -10,2 +10,3 @@ fn charge_customer(order: &Order) {
-    gateway.charge(order)
+    gateway.charge(order, key)
";
        let asked = from_diff(diff, &["src/pay.rs".to_owned()]);
        assert_eq!(asked.text, "charge_customer order Order gateway charge key");
        assert_eq!(asked.paths, ["src/pay.rs"]);
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read() {
        let mut log = vec![b'x'; 2 * TEXT_BYTES_MAX];
        log.extend_from_slice("\nfatal: out of \u{1f4be} space\n".as_bytes());
        assert_eq!(from_error(&log).text, "fatal: out of \u{1f4be} space");
    }
}
