//! State that a session's hooks share: failed and fixed calls, messages that decided something,
//! test runs and commits, and whether a reminder was shown.
//!
//! Stored as lines in a local file per run, with hashes in place of texts. Losing the file is
//! harmless: a reminder then appears twice or not at all, and the run is counted as not observed.

use std::collections::{BTreeMap, BTreeSet};

use ken_ledger::{Dir as _, LedgerLocation};

use crate::files::{append_bounded, open_ken_dir};

/// Directory of the files, one per run.
const STATE_DIR: &str = ".local/hooks";

/// Maximum bytes of a file; later lines are dropped.
const STATE_BYTES_MAX: u64 = 64 * 1024;

/// State of one session's hooks.
#[derive(Debug, Default)]
pub(crate) struct HookState {
    /// Hash of each error, with the hash of the call that produced it.
    pub(super) failed: BTreeMap<String, String>,
    /// Calls that failed and succeeded later.
    pub(super) fixed: BTreeSet<String>,
    pub(super) reminded: bool,
    /// True from the first prompt on, which is the task.
    pub(super) prompted: bool,
    /// Hashes of later prompts that corrected the agent or decided something.
    pub(super) decided: BTreeSet<String>,
    /// True if the agent was asked to record them.
    pub(super) asked: bool,
    /// True if a hook of the session was called at all.
    pub(crate) observed: bool,
    /// Number of messages of a person after the first.
    pub(crate) prompts: usize,
    /// Hashes of those that corrected the agent.
    pub(crate) corrected: BTreeSet<String>,
    /// Test runs in their order, and whether they passed.
    pub(crate) tests: Vec<bool>,
    /// Ids of the commits that the agent made, as git printed them.
    pub(crate) commits: Vec<String>,
}

/// Line of the state file.
#[derive(Clone, Copy, Debug)]
pub(super) enum HookStateLine<'a> {
    Failed {
        error: &'a str,
        call: &'a str,
    },
    Fixed {
        call: &'a str,
    },
    Reminded,
    Prompted,
    Decided {
        prompt: &'a str,
    },
    Asked,
    /// A person said something after the task.
    Said,
    Corrected {
        prompt: &'a str,
    },
    Tested {
        passed: bool,
    },
    Committed {
        id: &'a str,
    },
}

impl HookState {
    /// Loads the state of a run. Unreadable files and lines count as absent.
    pub(crate) fn load(place: &LedgerLocation, run: &str) -> Self {
        let dir = open_ken_dir(place).ok();
        let bytes = dir.and_then(|it| it.read(&state_path(run)).ok());
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let mut memory = Self {
            // Every hook that counts something writes a line, the first prompt included.
            observed: !text.is_empty(),
            ..Self::default()
        };
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
                (Some("prompted"), None, None) => memory.prompted = true,
                (Some("decided"), Some(prompt), None) => {
                    memory.decided.insert(prompt.to_owned());
                }
                (Some("asked"), None, None) => memory.asked = true,
                (Some("said"), None, None) => memory.prompts += 1,
                (Some("corrected"), Some(prompt), None) => {
                    memory.corrected.insert(prompt.to_owned());
                }
                (Some("tested"), Some(result), None) => memory.tests.push(result == "passed"),
                (Some("committed"), Some(id), None) => memory.commits.push(id.to_owned()),
                // Torn lines and lines of other versions.
                _ => {}
            }
        }
        memory
    }

    /// Counts the calls that failed and have not succeeded since.
    pub(super) fn count_unresolved(&self) -> usize {
        let failed: BTreeSet<&String> = self.failed.values().collect();
        failed
            .iter()
            .filter(|it| !self.fixed.contains(**it))
            .count()
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
        HookStateLine::Prompted => "prompted\n".to_owned(),
        HookStateLine::Decided { prompt } => format!("decided {prompt}\n"),
        HookStateLine::Asked => "asked\n".to_owned(),
        HookStateLine::Said => "said\n".to_owned(),
        HookStateLine::Corrected { prompt } => format!("corrected {prompt}\n"),
        HookStateLine::Tested { passed } => {
            format!("tested {}\n", if passed { "passed" } else { "failed" })
        }
        HookStateLine::Committed { id } => format!("committed {id}\n"),
    };
    let _ = append_bounded(&dir, &state_path(run), text.as_bytes(), STATE_BYTES_MAX);
}

/// Deletes the state of a run that ended.
pub(crate) fn delete_state(place: &LedgerLocation, run: &str) {
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
