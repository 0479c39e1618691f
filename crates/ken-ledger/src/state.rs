//! Open segments of a worktree and the git state in which they were opened.
//!
//! `open.json` is written durably before a segment's first event and whenever the set changes, but
//! not on every append: the journal records the contents of open segments.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ken_core::values::id::NodeId;
use serde::{Deserialize, Serialize};

use crate::disk::{Dir, DiskError, Stat, read_if_exists};
use crate::journal::JournalMark;
use crate::layout::SegmentName;
use crate::notice::LedgerNotice;

const OPEN_STATE_FILE: &str = "open.json";

/// The open segments of one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenState {
    /// The node that opened them; another node means that the directory was copied.
    pub(crate) node: Option<NodeId>,
    /// Boot id under which they were last seen complete.
    pub(crate) boot: Option<String>,
    pub(crate) branch: String,
    /// [`crate::GitView::head_token`] at that time.
    pub(crate) head: String,
    pub(crate) index: Option<Stat>,
    /// In order of opening; only the last one of each memory is written to.
    pub(crate) segments: Vec<OpenSegment>,
}

/// A segment that is being written, or whose content is not known to be durable yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenSegment {
    pub(crate) name: SegmentName,
    pub(crate) inode: u64,
    /// End of the journal when the segment was opened; `None` outside git.
    pub(crate) journal: Option<JournalMark>,
}

/// Per-process cache of state that need not be read again while file metadata is unchanged.
#[derive(Debug, Default)]
pub(crate) struct LedgerCache(Mutex<CachedLedgerState>);

/// Cached values.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedLedgerState {
    pub(crate) state: Option<(Stat, OpenState)>,
    pub(crate) node: Option<NodeId>,
    /// Set if this process made the names of the journal's files durable.
    ///
    /// Another process may have created or replaced a file and failed before that.
    pub(crate) journal_names: bool,
    /// End of the journal up to which it was read.
    pub(crate) journal: Option<JournalMark>,
    /// Lengths of the open segments according to that part of the journal.
    pub(crate) lens: BTreeMap<SegmentName, u64>,
}

impl LedgerCache {
    pub(crate) fn known(&self) -> MutexGuard<'_, CachedLedgerState> {
        // The cache is only a shortcut; a panic in another thread does not invalidate it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenState {
    /// Loads the state; an unreadable one is reset with a notice.
    pub(crate) fn load(
        dir: &dyn Dir,
        memo: &LedgerCache,
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<Self, DiskError> {
        let stat = dir
            .stat(OPEN_STATE_FILE)
            .map_err(DiskError::on("read the metadata of", OPEN_STATE_FILE))?;
        let Some(stat) = stat else {
            return Ok(Self::default());
        };
        // Another process replaces the file and thereby changes its inode.
        if let Some((known, state)) = &memo.known().state
            && *known == stat
        {
            return Ok(state.clone());
        }
        let bytes = read_if_exists(dir, OPEN_STATE_FILE)?.unwrap_or_default();
        let state = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            notices.push(LedgerNotice::StateLost {
                file: OPEN_STATE_FILE.to_owned(),
            });
            Self::default()
        });
        memo.known().state = Some((stat, state.clone()));
        Ok(state)
    }

    /// Writes the state durably.
    pub(crate) fn save(&self, dir: &dyn Dir, memo: &LedgerCache) -> Result<(), DiskError> {
        let bytes = serde_json::to_vec(self).expect("plain data");
        // Cleared before the write: if it fails halfway, the next load reads the file.
        memo.known().state = None;
        dir.create_dirs("")
            .map_err(DiskError::on("create the folder of", OPEN_STATE_FILE))?;
        dir.replace(OPEN_STATE_FILE, &bytes)
            .map_err(DiskError::on("write", OPEN_STATE_FILE))?;
        // Without metadata the next load simply reads the file again.
        if let Ok(Some(stat)) = dir.stat(OPEN_STATE_FILE) {
            memo.known().state = Some((stat, self.clone()));
        }
        Ok(())
    }
}
