//! What a conversation's hooks remember between two moments: which calls failed, which were put right, what was said.
//!
//! A few lines in a file of this machine, hashes only. It can be lost at any time: then a reminder comes twice
//! or not at all, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use ken_ledger::{Dir as _, Place, RealDir};

use crate::files::ken_dir;

/// Where the files lie, one a conversation.
const FOLDER: &str = ".local/hooks";

/// Bytes a file may have; what comes later is not remembered.
const BYTES_MAX: u64 = 64 * 1024;

/// What is remembered of one conversation.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Errors that were met, and the call that met each.
    pub(super) failed: BTreeMap<String, String>,
    /// Calls that failed and did what they should later.
    pub(super) fixed: BTreeSet<String>,
    pub(super) reminded: bool,
}

/// Something to remember.
#[derive(Clone, Copy, Debug)]
pub(super) enum Line<'a> {
    Failed { error: &'a str, call: &'a str },
    Fixed { call: &'a str },
    Reminded,
}

impl Memory {
    /// Reads what is remembered of a run; what cannot be read is not.
    pub(super) fn of(place: &Place, run: &str) -> Self {
        let dir = ken_dir(place).ok();
        let bytes = dir.and_then(|it| it.read(&path(run)).ok());
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
                _ => {}
            }
        }
        memory
    }

    /// Returns whether a call failed and was not put right yet.
    pub(super) fn waits_for(&self, call: &str) -> bool {
        !self.fixed.contains(call) && self.failed.values().any(|it| it == call)
    }
}

/// Adds a line; where that cannot be done, nothing is remembered.
pub(super) fn remember(place: &Place, run: &str, line: Line<'_>) {
    let Ok(dir) = ken_dir(place) else {
        return;
    };
    let text = match line {
        Line::Failed { error, call } => format!("failed {error} {call}\n"),
        Line::Fixed { call } => format!("fixed {call}\n"),
        Line::Reminded => "reminded\n".to_owned(),
    };
    let _ = write(&dir, &path(run), text.as_bytes());
}

fn write(dir: &RealDir, path: &str, bytes: &[u8]) -> std::io::Result<()> {
    match dir.stat(path)? {
        Some(stat) if BYTES_MAX <= stat.len => Ok(()),
        Some(_) => dir.append(path, bytes),
        None => {
            dir.create_dirs(FOLDER)?;
            dir.create_new(path, bytes)
        }
    }
}

/// Forgets a conversation that ended.
pub(super) fn forget(place: &Place, run: &str) {
    if let Ok(dir) = ken_dir(place) {
        let _ = dir.remove(&path(run));
    }
}

/// Returns a short hash of what something is recognised by.
pub(super) fn print_of(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A run's name is letters, digits and dashes, so it stays in the folder.
fn path(run: &str) -> String {
    format!("{FOLDER}/{run}")
}
