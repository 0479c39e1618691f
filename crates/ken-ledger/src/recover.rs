//! Brings back events that a reset, clean or removed worktree took from every tree and ref.

use std::collections::BTreeMap;

use ken_core::id::IdSource;
use ken_core::time::Timestamp;

use crate::disk::DiskError;
use crate::git::GitError;
use crate::journal::JournalError;
use crate::layout::SegmentName;
use crate::ledger::{Ledger, ReadError};
use crate::notice::Notice;

/// Which lost events to bring back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those written on the current branch or on one that is no more.
    ThisBranch,
    /// Every one.
    All,
}

/// What was brought back and what was left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    pub segments: Vec<SegmentName>,
    /// Events brought back, by the branch they were written on.
    pub restored: BTreeMap<String, u64>,
    /// Lost events that belong to other branches.
    pub left: BTreeMap<String, u64>,
    pub notices: Vec<Notice>,
}

/// Why nothing was recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("cannot ask git what its history holds")]
    Git { source: GitError },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Ledger {
    /// Writes lost events of `scope` into new segments.
    pub fn recover(
        &self,
        _scope: Scope,
        _now: Timestamp,
        _ids: &mut dyn IdSource,
    ) -> Result<Recovered, RecoverError> {
        unimplemented!("next commit")
    }
}
