//! Verifies every byte of the ledger and says where it is wrong.

use crate::disk::DiskError;
use crate::ledger::Ledger;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Relative to `.ken`, or to the local state's folder for the journal.
    pub file: String,
    /// Counted from 1; `None` if it is about the whole file.
    pub line: Option<u64>,
    pub severity: Severity,
    pub message: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Data is damaged, or could be misread.
    Damage,
}

/// What a check looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub segments: u64,
    pub events: u64,
    pub findings: Vec<Finding>,
}

impl Ledger {
    /// Verifies every segment, pack and journal file.
    pub fn check(&self) -> Result<Checked, DiskError> {
        unimplemented!("next commit")
    }
}
