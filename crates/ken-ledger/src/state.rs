//! Which segments are open, and what the world looked like when they were opened.
//!
//! `open.json` is written, durably, before a segment's first event and whenever the picture
//! changes, not on every append: what an open segment must hold is in the journal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ken_core::id::NodeId;
use serde::{Deserialize, Serialize};

use crate::disk::{Dir, DiskError, Stat, read_if_there};
use crate::journal::Mark;
use crate::layout::SegmentName;
use crate::notice::Notice;

const FILE: &str = "open.json";

/// The open segments of one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenState {
    /// The node that opened them; another one means the folder was copied.
    pub(crate) node: Option<NodeId>,
    /// The start of the machine they were last seen whole in.
    pub(crate) boot: Option<String>,
    pub(crate) branch: String,
    /// [`crate::GitView::head_token`] at the time.
    pub(crate) head: String,
    pub(crate) index: Option<Stat>,
    /// In order of opening; of each memory only the last is written to.
    pub(crate) segments: Vec<OpenSegment>,
}

/// A segment that is written to, or was and is not known to be durable yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenSegment {
    pub(crate) name: SegmentName,
    pub(crate) inode: u64,
    /// Where the journal was when it was opened; `None` outside git.
    pub(crate) journal: Option<Mark>,
}

/// What this process knows already and need not read again while the stats agree.
#[derive(Debug, Default)]
pub(crate) struct Memo(Mutex<Known>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) state: Option<(Stat, OpenState)>,
    pub(crate) node: Option<NodeId>,
    /// Whether this process made the names of the journal's files durable.
    ///
    /// Another one may have begun or rewritten a file and failed before that.
    pub(crate) journal_names: bool,
    /// The journal was read up to here …
    pub(crate) journal: Option<Mark>,
    /// … and says the open segments have these lengths.
    pub(crate) lens: BTreeMap<SegmentName, u64>,
}

impl Memo {
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        // The memo is only ever a shortcut; a panic elsewhere does not make it wrong.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenState {
    /// Reads the state; one that cannot be read is begun anew, and said so.
    pub(crate) fn load(
        dir: &dyn Dir,
        memo: &Memo,
        notices: &mut Vec<Notice>,
    ) -> Result<Self, DiskError> {
        let stat = dir.stat(FILE).map_err(DiskError::on("look at", FILE))?;
        let Some(stat) = stat else {
            return Ok(Self::default());
        };
        if let Some((known, state)) = &memo.known().state
            && *known == stat
        {
            return Ok(state.clone());
        }
        let bytes = read_if_there(dir, FILE)?.unwrap_or_default();
        let state = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            notices.push(Notice::StateLost {
                file: FILE.to_owned(),
            });
            Self::default()
        });
        memo.known().state = Some((stat, state.clone()));
        Ok(state)
    }

    /// Writes the state durably.
    pub(crate) fn save(&self, dir: &dyn Dir, memo: &Memo) -> Result<(), DiskError> {
        let bytes = serde_json::to_vec(self).expect("plain data");
        memo.known().state = None;
        dir.create_dirs("")
            .map_err(DiskError::on("create the folder of", FILE))?;
        dir.replace(FILE, &bytes)
            .map_err(DiskError::on("write", FILE))?;
        if let Ok(Some(stat)) = dir.stat(FILE) {
            memo.known().state = Some((stat, self.clone()));
        }
        Ok(())
    }
}
