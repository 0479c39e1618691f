//! A replacement that was begun: what comes, what goes, and how to finish it from any point.
//!
//! Order: intent, packs, removals, commit, intent away; each durable before the next. Finishing
//! looks at the tree and at HEAD, not at how far it had got, so it does not matter whether a
//! crash, `git commit -a`, `git stash` or `git clean` came in between.

use std::collections::BTreeSet;

use ken_core::id::EventId;
use serde::{Deserialize, Serialize};

use super::ReplaceError;
use crate::disk::{DiskError, LockGuard, parent, read_if_there};
use crate::git::{Change, GitView};
use crate::heal::replace_segment;
use crate::layout::SegmentName;
use crate::ledger::Ledger;
use crate::notice::Notice;
use crate::state::OpenState;

const FILE: &str = "replacing.json";

/// Files that take the place of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intent {
    pub(super) message: String,
    pub(super) groups: Vec<Group>,
}

/// Files of one memory that git knows in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Group {
    pub(super) standing: Standing,
    pub(super) added: Vec<SegmentName>,
    pub(super) removed: Vec<SegmentName>,
}

/// How git knows a file; what takes its place is made known in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Standing {
    /// In HEAD's commit.
    Committed,
    /// In the index only.
    Staged,
    /// Not at all.
    Loose,
}

impl Ledger {
    /// Returns how git knows each of `names`.
    pub(super) fn standing_of(&self, names: &[SegmentName]) -> Result<Vec<Standing>, ReplaceError> {
        let Some(git) = &self.parts.git else {
            return Ok(vec![Standing::Loose; names.len()]);
        };
        let asked = |source| ReplaceError::Git { source };
        let (head, index) = (
            git.head_paths().map_err(asked)?,
            git.index_paths().map_err(asked)?,
        );
        let standing = |name: &SegmentName| {
            let path = name.tree_path();
            if head.contains(&path) {
                Standing::Committed
            } else if index.contains(&path) {
                Standing::Staged
            } else {
                Standing::Loose
            }
        };
        Ok(names.iter().map(standing).collect())
    }

    /// Returns the segments this worktree still writes to.
    pub(super) fn open_names(&self) -> Result<BTreeSet<SegmentName>, DiskError> {
        let state = OpenState::load(&*self.parts.worktree, &self.memo, &mut Vec::new())?;
        Ok(state.segments.into_iter().map(|open| open.name).collect())
    }

    /// Writes the intent down, then the packs, and does the rest; returns whether it committed.
    pub(super) fn carry_out(
        &self,
        intent: &Intent,
        packs: &[(SegmentName, Vec<u8>)],
    ) -> Result<bool, ReplaceError> {
        let worktree = &self.parts.worktree;
        let bytes = serde_json::to_vec(intent).expect("plain data");
        worktree
            .create_dirs("")
            .map_err(DiskError::on("create the folder of", FILE))?;
        worktree
            .replace(FILE, &bytes)
            .map_err(DiskError::on("write", FILE))?;
        for (name, content) in packs {
            replace_segment(&*self.parts.ken, name, content)?;
        }
        self.finish(intent)
    }

    /// Finishes an interrupted replacement if there is one; says what became of it.
    pub(crate) fn complete_replacement(&self, _lock: &LockGuard) -> Vec<Notice> {
        match self.finish_interrupted() {
            Ok(None) => Vec::new(),
            Ok(Some(commit)) => vec![Notice::ReplacementCompleted { commit }],
            Err(error) => vec![Notice::ReplacementWaits {
                error: error.to_string(),
            }],
        }
    }

    /// Finishes an interrupted replacement; `None` if there was none.
    pub(super) fn finish_interrupted(&self) -> Result<Option<bool>, ReplaceError> {
        let worktree = &*self.parts.worktree;
        if worktree
            .stat(FILE)
            .map_err(DiskError::on("look at", FILE))?
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
        let bytes = read_if_there(worktree, FILE)?.unwrap_or_default();
        let Ok(intent) = serde_json::from_slice::<Intent>(&bytes) else {
            // It is written all or nothing, so this is no intent of ours.
            self.forget_intent()?;
            return Ok(None);
        };
        self.finish(&intent).map(Some)
    }

    fn finish(&self, intent: &Intent) -> Result<bool, ReplaceError> {
        let mut committed = false;
        let mut change = OwnedChange::default();
        for group in &intent.groups {
            if !self.packs_are_there(group)? {
                self.take_back(group)?;
                continue;
            }
            let removed = self.remove_packed(group)?;
            let Some(git) = &self.parts.git else { continue };
            let asked = |source| ReplaceError::Git { source };
            match group.standing {
                Standing::Committed => change.add(&**git, group, &removed).map_err(asked)?,
                Standing::Staged => {
                    let (added, removed) = (tree_paths(&group.added), tree_paths(&removed));
                    let staged = Change {
                        added: &added,
                        removed: &removed,
                        message: "",
                    };
                    git.stage(&staged)
                        .map_err(|source| ReplaceError::Commit { source })?;
                }
                Standing::Loose => {}
            }
        }
        if let Some(git) = self.parts.git.as_ref().filter(|_| !change.is_empty()) {
            let OwnedChange { added, removed } = &change;
            let change = Change {
                added,
                removed,
                message: &intent.message,
            };
            git.commit_only(&change)
                .map_err(|source| ReplaceError::Commit { source })?;
            committed = true;
        }
        self.forget_intent()?;
        Ok(committed)
    }

    /// Returns whether every pack of the group is in the tree; an unreadable one is an error.
    fn packs_are_there(&self, group: &Group) -> Result<bool, ReplaceError> {
        for name in &group.added {
            if self.stat_of(name)?.is_none() {
                return Ok(false);
            }
            self.events_of(name)?;
        }
        Ok(true)
    }

    /// Removes the segments of the group whose events the packs hold; returns those now gone.
    fn remove_packed(&self, group: &Group) -> Result<Vec<SegmentName>, ReplaceError> {
        let mut packed: BTreeSet<EventId> = BTreeSet::new();
        for name in &group.added {
            packed.extend(self.events_of(name)?.iter().map(|event| event.event.id));
        }
        let mut gone = Vec::new();
        let mut dirs = BTreeSet::new();
        for name in &group.removed {
            if self.stat_of(name)?.is_some() {
                let events = self.events_of(name)?;
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

    /// Undoes a replacement of which a pack is missing: either the last one was never written, or
    /// `git clean` took it. Segments it removed come back from HEAD.
    fn take_back(&self, group: &Group) -> Result<(), ReplaceError> {
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
                // A commit took it out, or it was never in one: `recover` is the way back.
                None => all_back = false,
            }
        }
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

    fn forget_intent(&self) -> Result<(), DiskError> {
        let worktree = &self.parts.worktree;
        worktree
            .remove(FILE)
            .map_err(DiskError::on("remove", FILE))?;
        worktree
            .sync_dir("")
            .map_err(DiskError::on("sync", "the worktree's state"))
    }

    /// Returns how many commits touched the committed files the intent removed.
    pub(super) fn commits_in_history(&self, intent: &Intent) -> Option<u64> {
        let committed = intent
            .groups
            .iter()
            .filter(|g| g.standing == Standing::Committed);
        let paths: Vec<_> = committed
            .flat_map(|group| tree_paths(&group.removed))
            .collect();
        let git = self.parts.git.as_ref().filter(|_| !paths.is_empty())?;
        git.commits_touching(&paths).ok()
    }
}

/// Paths for one commit of all groups.
#[derive(Default)]
struct OwnedChange {
    added: Vec<String>,
    removed: Vec<String>,
}

impl OwnedChange {
    /// Adds what HEAD does not have yet and what git still knows of the removed.
    fn add(
        &mut self,
        git: &dyn GitView,
        group: &Group,
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
