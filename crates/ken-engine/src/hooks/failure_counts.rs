//! Failures of tools, counted on this machine until they recur.
//!
//! Agents fail dozens of commands per hour, so a failure is not knowledge. The file stores hashes
//! only: no command line and no error text. Losing it is harmless, counting starts again.

use std::collections::BTreeSet;

use ken_ledger::{Dir as _, LedgerLocation};

use super::log::append_bounded;
use super::session_state::short_hash;
use crate::files::open_ken_dir;

/// Path of the counts below `.ken/`: lines of a failure and the run it occurred in.
const COUNTS_FILE: &str = ".local/failures";

/// Maximum bytes of the file: about 7,000 lines.
const COUNTS_BYTES_MAX: u64 = 256 * 1024;

/// Second word of the line that marks a failure with an entry.
const RECORDED: &str = "recorded";

/// Hexadecimal digits of a UUID.
const UUID_DIGITS: usize = 32;

/// Minimum length of a hexadecimal word that counts as a hash.
const HASH_CHARS_MIN: usize = 7;

/// Returns the hash of a failure: the same for the same failure in another run.
pub(super) fn failure_hash(tool: &str, error: &str) -> String {
    // The first line names the error; later ones are often consequences.
    let first = error.lines().next().unwrap_or_default();
    short_hash(&[tool, &normalize_failure(first)])
}

/// Counts a failure in a run. Returns the number of runs with it, or `None` if it has an entry.
pub(super) fn count_failure(place: &LedgerLocation, failure: &str, run: &str) -> Option<usize> {
    let run = short_hash(&[run]);
    let known = read_counts(place);
    let mut runs: BTreeSet<&str> = known
        .iter()
        .filter(|(it, _)| it == failure)
        .map(|(_, run)| run.as_str())
        .collect();
    if runs.contains(RECORDED) {
        return None;
    }
    if runs.insert(&run) {
        append_count(place, failure, &run);
    }
    Some(runs.len())
}

/// Marks a failure as recorded in an entry.
pub(super) fn mark_recorded(place: &LedgerLocation, failure: &str) {
    append_count(place, failure, RECORDED);
}

/// Returns the number of distinct failures counted on this machine.
pub(crate) fn count_local_failures(place: &LedgerLocation) -> usize {
    let known = read_counts(place);
    let failures: BTreeSet<&str> = known.iter().map(|(it, _)| it.as_str()).collect();
    failures.len()
}

/// Reads the pairs of failure and run. An unreadable file counts as empty.
fn read_counts(place: &LedgerLocation) -> Vec<(String, String)> {
    let dir = open_ken_dir(place).ok();
    let bytes = dir.and_then(|it| it.read(COUNTS_FILE).ok());
    let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs
        .map(|(failure, run)| (failure.to_owned(), run.to_owned()))
        .collect()
}

fn append_count(place: &LedgerLocation, failure: &str, run: &str) {
    // Failures are ignored: a hook must not fail because of a count.
    if let Ok(dir) = open_ken_dir(place) {
        let line = format!("{failure} {run}\n");
        let _ = append_bounded(&dir, COUNTS_FILE, COUNTS_BYTES_MAX, line.as_bytes());
    }
}

/// Returns an error line without the parts that differ between runs: folders, numbers, hashes and
/// times.
fn normalize_failure(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        // Checkouts and temporary folders differ; the name of the file tells failures apart.
        let is_path = |c: char| c == '/' || c == '\\';
        let name = word.rsplit(is_path).find(|it| !it.is_empty());
        normalize_word(name.unwrap_or_default())
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Replaces hashes by `#` and numbers by `0`.
fn normalize_word(word: &str) -> String {
    let digits = word.chars().filter(char::is_ascii_hexdigit).count();
    let is_uuid = |c: char| c.is_ascii_hexdigit() || c == '-';
    if digits == UUID_DIGITS && word.chars().all(is_uuid) {
        return "#".to_owned();
    }
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let is_part = first.is_ascii_alphanumeric();
        let end = rest.find(|c: char| c.is_ascii_alphanumeric() != is_part);
        let (part, tail) = rest.split_at(end.unwrap_or(rest.len()));
        rest = tail;
        let has_digit = part.contains(|c: char| c.is_ascii_digit());
        let is_hash = has_digit
            && part.len() >= HASH_CHARS_MIN
            && part.chars().all(|c| c.is_ascii_hexdigit())
            && part.contains(|c: char| c.is_ascii_alphabetic());
        if is_hash {
            out.push('#');
        } else if has_digit {
            // A run of digits becomes one: `9 ms` and `10 ms` are the same.
            let mut was_digit = false;
            for c in part.chars() {
                let is_digit = c.is_ascii_digit();
                if !is_digit {
                    out.push(c);
                } else if !was_digit {
                    out.push('0');
                }
                was_digit = is_digit;
            }
        } else {
            out.push_str(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_in_another_checkout_and_at_another_time_is_the_same() {
        for (one, other) in [
            (
                "error: cannot find /home/ada/till/src/pay.rs:42:7",
                "error: cannot find /tmp/wt-9/src/pay.rs:118:12",
            ),
            (
                "2026-11-15T12:00:00Z timeout after 30s on port 5432",
                "2027-01-02T03:04:05Z timeout after 9s on port 15432",
            ),
            (
                "fatal: bad object 3fce3b5a91",
                "fatal: bad object 77aa01c2de4f",
            ),
            (
                r"cannot open C:\work\a\ledger.db",
                r"cannot open D:\b\ledger.db",
            ),
            (
                "worker 4f1c9a52-8d0e-4c7b-9d61-2f6f1f0a7e11 died",
                "worker 0a7e1152-9d61-8d0e-4c7b-4f1c9a522f6f died",
            ),
        ] {
            assert_eq!(normalize_failure(one), normalize_failure(other));
        }
    }

    #[test]
    fn different_failures_stay_apart() {
        for (one, other) in [
            ("cannot find src/pay.rs", "cannot find src/refund.rs"),
            ("unknown option --role", "unknown option --for"),
            ("error E: a facade failed", "error E: a decade failed"),
        ] {
            assert_ne!(normalize_failure(one), normalize_failure(other));
        }
        assert_ne!(failure_hash("Bash", "x"), failure_hash("Edit", "x"));
    }
}
