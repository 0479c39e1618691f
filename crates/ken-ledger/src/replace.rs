//! Packing and blanking: many segments become one pack, in an order a crash cannot hurt.

use std::collections::BTreeSet;

use ken_core::id::{EventId, IdSource};
use ken_core::time::Timestamp;

use crate::disk::DiskError;
use crate::git::{GitError, Operation};
use crate::journal::JournalError;
use crate::layout::SegmentName;
use crate::ledger::{Ledger, ReadError};

/// What a replacement did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    pub added: Vec<SegmentName>,
    pub removed: Vec<SegmentName>,
    /// Events in the added packs.
    pub events: u64,
    /// Events whose data was blanked in the tree.
    pub blanked: u64,
    /// Whether git got a commit of its own for it.
    pub committed: bool,
    /// Commits whose history still holds the removed files; `None` if git could not tell.
    pub commits_in_history: Option<u64>,
}

/// Why nothing, or not everything, was replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error("{0}; finish or abort it first")]
    Busy(Operation),
    #[error(
        "the replacement is in the tree but not committed; the next writing command tries again"
    )]
    Commit { source: GitError },
    #[error("cannot ask git what is committed")]
    Git { source: GitError },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Ledger {
    pub(crate) fn complete_replacement(
        &self,
        _lock: &crate::disk::LockGuard,
    ) -> Vec<crate::notice::Notice> {
        Vec::new()
    }

    /// Packs what is committed and unmodified (outside git: what is sealed); does nothing where
    /// there is nothing to gain.
    pub fn pack(&self, _now: Timestamp, _ids: &mut dyn IdSource) -> Result<Replaced, ReplaceError> {
        unimplemented!("next commit")
    }

    /// Blanks the data of `events` in tree and journal and remembers their ids.
    pub fn blank(
        &self,
        _events: &BTreeSet<EventId>,
        _now: Timestamp,
        _ids: &mut dyn IdSource,
    ) -> Result<Replaced, ReplaceError> {
        unimplemented!("next commit")
    }

    /// Blanks copies of remembered events that git brought back.
    pub fn scrub(
        &self,
        _now: Timestamp,
        _ids: &mut dyn IdSource,
    ) -> Result<Replaced, ReplaceError> {
        unimplemented!("next commit")
    }

    /// Returns which segments hold unblanked copies of which of `events`.
    pub fn full_copies(
        &self,
        _events: &BTreeSet<EventId>,
    ) -> Result<Vec<(SegmentName, EventId)>, ReadError> {
        unimplemented!("next commit")
    }
}
