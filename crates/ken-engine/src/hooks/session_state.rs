//! State that a session's hooks share: failed calls, fixed calls and whether a reminder was shown.
//!
//! Stored as lines of hashes in a local file per run. Losing the file is harmless: a reminder then
//! appears twice or not at all.

use std::collections::{BTreeMap, BTreeSet};

use ken_ledger::{Dir as _, LedgerLocation, RealDir};

use crate::files::open_ken_dir;

/// Directory of the files, one per run.
const STATE_DIR: &str = ".local/hooks";

/// Maximum bytes of a file; later lines are dropped.
const STATE_BYTES_MAX: u64 = 64 * 1024;

/// State of one session's hooks.
#[derive(Debug, Default)]
pub(super) struct HookState {
    /// Hash of each error, with the hash of the call that produced it.
    pub(super) failed: BTreeMap<String, String>,
    /// Calls that failed and succeeded later.
    pub(super) fixed: BTreeSet<String>,
    pub(super) reminded: bool,
}

/// Line of the state file.
#[derive(Clone, Copy, Debug)]
pub(super) enum HookStateLine<'a> {
    Failed { error: &'a str, call: &'a str },
    Fixed { call: &'a str },
    Reminded,
}

impl HookState {
    /// Loads the state of a run. Unreadable files and lines count as absent.
    pub(super) fn load(place: &LedgerLocation, run: &str) -> Self {
        let dir = open_ken_dir(place).ok();
        let bytes = dir.and_then(|it| it.read(&state_path(run)).ok());
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let mut memory = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("failed"), Some(error), Some(call)) => {
                    memory.failed.insert(error.to_owned(), call.to_owned());
                }
                (Some("fixed"), Some(call), None) => {
                    memory.fixed.insert(call.to_owned());
                }
                (Some("reminded"), None, None) => memory.reminded = true,
                // Torn lines and lines of other versions.
                _ => {}
            }
        }
        memory
    }

    /// Returns true if a call failed and has not succeeded since.
    pub(super) fn is_unresolved(&self, call: &str) -> bool {
        !self.fixed.contains(call) && self.failed.values().any(|it| it == call)
    }
}

/// Appends a line. Failures are ignored, because the state is optional.
pub(super) fn append_line(place: &LedgerLocation, run: &str, line: HookStateLine<'_>) {
    let Ok(dir) = open_ken_dir(place) else {
        return;
    };
    let text = match line {
        HookStateLine::Failed { error, call } => format!("failed {error} {call}\n"),
        HookStateLine::Fixed { call } => format!("fixed {call}\n"),
        HookStateLine::Reminded => "reminded\n".to_owned(),
    };
    let _ = append_bytes(&dir, &state_path(run), text.as_bytes());
}

/// Appends bytes to a file, up to its maximum size.
fn append_bytes(dir: &RealDir, path: &str, bytes: &[u8]) -> std::io::Result<()> {
    match dir.stat(path)? {
        Some(stat) if stat.len >= STATE_BYTES_MAX => Ok(()),
        Some(_) => dir.append(path, bytes),
        None => {
            dir.create_dirs(STATE_DIR)?;
            dir.create_new(path, bytes)
        }
    }
}

/// Deletes the state of a run that ended.
pub(super) fn delete_state(place: &LedgerLocation, run: &str) {
    if let Ok(dir) = open_ken_dir(place) {
        let _ = dir.remove(&state_path(run));
    }
}

/// Returns a short hash of `parts`.
pub(super) fn short_hash(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part.as_bytes());
        // The separator keeps `["ab", "c"]` and `["a", "bc"]` distinct.
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Returns the path of a run's file. A run id is letters, digits and dashes, so it cannot escape
/// the directory.
fn state_path(run: &str) -> String {
    format!("{STATE_DIR}/{run}")
}
