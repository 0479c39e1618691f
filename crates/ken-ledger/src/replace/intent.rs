//! The intent of a replacement, and how to finish it after an interruption.
//!
//! Order: intent, packs, removals, commit, deletion of the intent; each step is durable before the
//! next. Finishing looks at the worktree and HEAD, not at recorded progress, so it tolerates a
//! crash, `git commit -a`, `git stash` or `git clean` in between.

use std::collections::BTreeSet;

use ken_core::values::id::EventId;
use serde::{Deserialize, Serialize};

use super::ReplaceError;
use crate::disk::{DiskError, LockGuard, parent, read_if_exists};
use crate::git::{GitView, TreeChange};
use crate::layout::SegmentName;
use crate::ledger::Ledger;
use crate::notice::LedgerNotice;
use crate::repair::replace_segment;
use crate::state::OpenState;

const INTENT_FILE: &str = "replacing.json";

/// Files that replace other files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplacementIntent {
    pub(super) message: String,
    pub(super) groups: Vec<ReplacementGroup>,
}

/// Files of one memory with the same git tracking state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplacementGroup {
    pub(super) standing: GitTracking,
    pub(super) added: Vec<SegmentName>,
    pub(super) removed: Vec<SegmentName>,
}

/// Git tracking state of a file; its replacement gets the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum GitTracking {
    /// In HEAD's commit.
    Committed,
    /// Only in the index.
    Staged,
    /// Not tracked.
    Loose,
}

impl Ledger {
    /// Returns the git tracking state of each of `names`.
    pub(super) fn git_tracking(
        &self,
        names: &[SegmentName],
    ) -> Result<Vec<GitTracking>, ReplaceError> {
        let Some(git) = &self.parts.git else {
            return Ok(vec![GitTracking::Loose; names.len()]);
        };
        let git_error = |source| ReplaceError::Git { source };
        let (head, index) = (
            git.head_paths().map_err(git_error)?,
            git.index_paths().map_err(git_error)?,
        );
        let standing = |name: &SegmentName| {
            let path = name.tree_path();
            if head.contains(&path) {
                GitTracking::Committed
            } else if index.contains(&path) {
                GitTracking::Staged
            } else {
                GitTracking::Loose
            }
        };
        Ok(names.iter().map(standing).collect())
    }

    /// Returns the open segments of this worktree.
    pub(super) fn open_segment_names(&self) -> Result<BTreeSet<SegmentName>, DiskError> {
        // Durable before any pack is written, so that a crash leaves either no trace or an intent.
        let state = OpenState::load(&*self.parts.worktree, &self.memo, &mut Vec::new())?;
        Ok(state.segments.into_iter().map(|open| open.name).collect())
    }

    /// Writes the intent and the packs, then finishes; returns whether it committed.
    pub(super) fn carry_out(
        &self,
        intent: &ReplacementIntent,
        packs: &[(SegmentName, Vec<u8>)],
    ) -> Result<bool, ReplaceError> {
        let worktree = &self.parts.worktree;
        let bytes = serde_json::to_vec(intent).expect("plain data");
        worktree
            .create_dirs("")
            .map_err(DiskError::on("create the folder of", INTENT_FILE))?;
        worktree
            .replace(INTENT_FILE, &bytes)
            .map_err(DiskError::on("write", INTENT_FILE))?;
        for (name, content) in packs {
            replace_segment(&*self.parts.ken, name, content)?;
        }
        self.finish(intent)
    }

    /// Finishes an interrupted replacement, if any, and reports the result as a notice.
    pub(crate) fn complete_replacement(&self, _lock: &LockGuard) -> Vec<LedgerNotice> {
        match self.finish_interrupted() {
            Ok(None) => Vec::new(),
            Ok(Some(commit)) => vec![LedgerNotice::ReplacementCompleted { commit }],
            Err(error) => vec![LedgerNotice::ReplacementPending {
                error: error.to_string(),
            }],
        }
    }

    /// Finishes an interrupted replacement; `None` if there is none.
    pub(super) fn finish_interrupted(&self) -> Result<Option<bool>, ReplaceError> {
        let worktree = &*self.parts.worktree;
        if worktree
            .stat(INTENT_FILE)
            .map_err(DiskError::on("read the metadata of", INTENT_FILE))?
            .is_none()
        {
            return Ok(None);
        }
        if let Some(operation) = self
            .parts
            .git
            .as_ref()
            .and_then(|git| git.operation_under_way())
        {
            return Err(ReplaceError::Busy(operation));
        }
        let bytes = read_if_exists(worktree, INTENT_FILE)?.unwrap_or_default();
        let Ok(intent) = serde_json::from_slice::<ReplacementIntent>(&bytes) else {
            // It is written atomically, so this is not one of our intents.
            self.delete_intent()?;
            return Ok(None);
        };
        self.finish(&intent).map(Some)
    }

    fn finish(&self, intent: &ReplacementIntent) -> Result<bool, ReplaceError> {
        let mut committed = false;
        let mut change = OwnedTreeChange::default();
        for group in &intent.groups {
            if !self.packs_exist(group)? {
                self.take_back(group)?;
                continue;
            }
            let removed = self.remove_packed(group)?;
            let Some(git) = &self.parts.git else { continue };
            let git_error = |source| ReplaceError::Git { source };
            match group.standing {
                GitTracking::Committed => change.add(&**git, group, &removed).map_err(git_error)?,
                GitTracking::Staged => {
                    let (added, removed) = (tree_paths(&group.added), tree_paths(&removed));
                    let staged = TreeChange {
                        added: &added,
                        removed: &removed,
                        message: "",
                    };
                    git.stage(&staged)
                        .map_err(|source| ReplaceError::Commit { source })?;
                }
                GitTracking::Loose => {}
            }
        }
        // All committed groups share one commit, so history shows the replacement as one step.
        if let Some(git) = self.parts.git.as_ref().filter(|_| !change.is_empty()) {
            let OwnedTreeChange { added, removed } = &change;
            let change = TreeChange {
                added,
                removed,
                message: &intent.message,
            };
            git.commit_only(&change)
                .map_err(|source| ReplaceError::Commit { source })?;
            committed = true;
        }
        self.delete_intent()?;
        Ok(committed)
    }

    /// Returns whether every pack of the group is in the worktree; an unreadable pack is an error.
    fn packs_exist(&self, group: &ReplacementGroup) -> Result<bool, ReplaceError> {
        for name in &group.added {
            if self.stat_of(name)?.is_none() {
                return Ok(false);
            }
            // Parsed completely: segments are deleted on the strength of this pack.
            self.events_of(name)?;
        }
        Ok(true)
    }

    /// Removes the segments of the group whose events the packs contain; returns those now absent.
    fn remove_packed(&self, group: &ReplacementGroup) -> Result<Vec<SegmentName>, ReplaceError> {
        let mut packed: BTreeSet<EventId> = BTreeSet::new();
        for name in &group.added {
            packed.extend(self.events_of(name)?.iter().map(|event| event.event.id));
        }
        let mut gone = Vec::new();
        let mut dirs = BTreeSet::new();
        for name in &group.removed {
            if self.stat_of(name)?.is_some() {
                let events = self.events_of(name)?;
                // The segment gained events after the pack was made, for example by a merge: keep
                // it.
                if !events.iter().all(|event| packed.contains(&event.event.id)) {
                    continue;
                }
                let path = name.path();
                self.parts
                    .ken
                    .remove(&path)
                    .map_err(DiskError::on("remove", &path))?;
                dirs.insert(parent(&path).to_owned());
            }
            // A segment that is already absent still has to be removed from git.
            gone.push(name.clone());
        }
        for dir in dirs {
            self.parts
                .ken
                .sync_dir(&dir)
                .map_err(DiskError::on("sync", &dir))?;
        }
        Ok(gone)
    }

    /// Rolls back a replacement with a missing pack: either the last one was never written, or `git
    /// clean` removed it. Removed segments are restored from HEAD.
    fn take_back(&self, group: &ReplacementGroup) -> Result<(), ReplaceError> {
        let mut all_back = true;
        for name in &group.removed {
            if self.stat_of(name)?.is_some() {
                continue;
            }
            let content = match &self.parts.git {
                Some(git) => git.head_file(&name.tree_path()),
                None => Ok(None),
            };
            match content.map_err(|source| ReplaceError::Git { source })? {
                Some(content) => replace_segment(&*self.parts.ken, name, &content)?,
                // A commit removed it, or it was never committed; only `recover` can restore it.
                None => all_back = false,
            }
        }
        // Otherwise these packs may contain the only copy of an event.
        for name in group.added.iter().filter(|_| all_back) {
            let path = name.path();
            if self.stat_of(name)?.is_some() {
                self.parts
                    .ken
                    .remove(&path)
                    .map_err(DiskError::on("remove", &path))?;
            }
        }
        Ok(())
    }

    fn delete_intent(&self) -> Result<(), DiskError> {
        let worktree = &self.parts.worktree;
        worktree
            .remove(INTENT_FILE)
            .map_err(DiskError::on("remove", INTENT_FILE))?;
        worktree
            .sync_dir("")
            .map_err(DiskError::on("sync", "the worktree's state"))
    }

    /// Returns the number of commits that touched the committed files the intent removed.
    pub(super) fn commits_in_history(&self, intent: &ReplacementIntent) -> Option<u64> {
        let committed = intent
            .groups
            .iter()
            .filter(|g| g.standing == GitTracking::Committed);
        let paths: Vec<_> = committed
            .flat_map(|group| tree_paths(&group.removed))
            .collect();
        let git = self.parts.git.as_ref().filter(|_| !paths.is_empty())?;
        git.commits_touching(&paths).ok()
    }
}

/// Paths of all groups for one commit.
#[derive(Default)]
struct OwnedTreeChange {
    added: Vec<String>,
    removed: Vec<String>,
}

impl OwnedTreeChange {
    /// Adds paths missing in HEAD, and removed paths that git still tracks.
    fn add(
        &mut self,
        git: &dyn GitView,
        group: &ReplacementGroup,
        removed: &[SegmentName],
    ) -> Result<(), crate::git::GitError> {
        let (head, index) = (git.head_paths()?, git.index_paths()?);
        let added = tree_paths(&group.added);
        self.added
            .extend(added.into_iter().filter(|path| !head.contains(path)));
        let known = |path: &String| head.contains(path) || index.contains(path);
        self.removed
            .extend(tree_paths(removed).into_iter().filter(known));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

fn tree_paths(names: &[SegmentName]) -> Vec<String> {
    names.iter().map(SegmentName::tree_path).collect()
}
