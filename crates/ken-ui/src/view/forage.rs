//! Data of the forager's page.

use ken_core::ledger::event::{DomainAction, ForageCompleted};
use ken_core::values::actor::Actor;
use ken_core::values::time::{Date, Timestamp};

/// What the forager did and may do.
#[derive(Clone, Debug, Default)]
pub struct ForageView {
    /// Sources and budgets; `None` while the forager is off.
    pub status: Option<ForageBudgets>,
    /// The file whose presence turns the forager on.
    pub settings_file: String,
    /// Questions that entries were proposed for, newest first.
    pub questions: Vec<ForageQuestionLine>,
    /// What was read or refused today, newest first.
    pub log: Vec<ForageLogEntry>,
    /// Number of older lines of today that are left out.
    pub log_omitted: u64,
    pub domains: Vec<ForageDomain>,
}

/// The user's settings, and what of the budgets is used.
#[derive(Clone, Debug, Default)]
pub struct ForageBudgets {
    pub sources: Vec<String>,
    pub allowed_hosts: Vec<String>,
    /// Entries that were proposed today, and the maximum.
    pub entries: (u64, u64),
    /// Queries that were sent to search services today, and the maximum.
    pub searches: (u64, u64),
    /// Entries that wait for a person, and the number at which the forager stops.
    pub waiting: (u64, u64),
    /// Whether maintenance may forage at the end of a run.
    pub unasked: bool,
}

/// A question as the ledger records it: without its words.
#[derive(Clone, Debug)]
pub struct ForageQuestionLine {
    pub at: Timestamp,
    pub by: Actor,
    pub reason: String,
    /// `None` if the process ended before it was done.
    pub completed: Option<ForageCompleted>,
}

/// A source that was read or refused.
#[derive(Clone, Debug)]
pub struct ForageLogEntry {
    pub at: Timestamp,
    /// A package with its version, or a host; `None` if a line is about the question as a whole.
    pub source: Option<String>,
    /// `None` if it was read, or the reason why it was not.
    pub refusal: Option<String>,
    pub bytes: u64,
    pub millis: u64,
}

/// What the workspace says about a host and every host below it.
#[derive(Clone, Debug)]
pub struct ForageDomain {
    pub domain: String,
    pub decision: Option<DomainAction>,
    /// The form in which its pages gave passages, and since when that is known.
    pub learned: Option<(String, Date)>,
}
