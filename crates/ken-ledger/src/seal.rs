//! Sealing: segments that git may have seen are never written again.
//!
//! Sealing too early costs a file, sealing too late a merge conflict. So every doubt seals.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::DiskError;
use crate::git::GitView;
use crate::journal::{self, Journal, JournalMark, JournalPosition, NO_BRANCH};
use crate::layout::SegmentName;
use crate::ledger::{Ledger, list_segments};
use crate::notice::LedgerNotice;
use crate::repair::MachineRestart;
use crate::state::{OpenSegment, OpenState};

impl Ledger {
    /// Removes segments from `state` that must not be written any more, after making them durable.
    pub(crate) fn seal(
        &self,
        before: &OpenState,
        state: &mut OpenState,
        restart: MachineRestart,
        end: JournalMark,
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<(), DiskError> {
        let copied = before.node.is_some_and(|node| Some(node) != state.node);
        let Some(git) = &self.parts.git else {
            NO_BRANCH.clone_into(&mut state.branch);
            return self.retain_last_per_memory(state, &|_| copied);
        };
        state.head = git.head_token();
        let head_moved = state.head != before.head;
        if head_moved || before.segments.is_empty() {
            state.branch = git.branch();
            if !before.branch.is_empty() && state.branch != before.branch {
                self.report_carried_segments(&**git, &state.branch, notices)?;
            }
        }
        // A cloned virtual machine restarts with the same files; the clones must not share
        // segments.
        let all = copied || head_moved || restart == MachineRestart::Yes;
        state.index = git.index_stat();
        // `None` means that git could not answer; then every segment counts as listed.
        let listed = if all || state.segments.is_empty() || state.index == before.index {
            Some(BTreeSet::new())
        } else {
            git.index_paths().ok()
        };
        self.retain_last_per_memory(state, &|open| {
            let in_index = listed
                .as_ref()
                .is_none_or(|paths| paths.contains(&open.name.tree_path()));
            // A segment spans one journal file at most, so a repair reads only that file.
            let old = open
                .journal
                .is_none_or(|mark| mark.position.file != end.position.file);
            all || in_index || old || journal::is_full(end.position)
        })
    }

    /// Syncs and drops segments that are `sealed` or followed by a newer one of the same memory.
    fn retain_last_per_memory(
        &self,
        state: &mut OpenState,
        sealed: &dyn Fn(&OpenSegment) -> bool,
    ) -> Result<(), DiskError> {
        let last: BTreeMap<_, SegmentName> = state
            .segments
            .iter()
            .map(|open| (open.name.memory(), open.name.clone()))
            .collect();
        let (gone, kept): (Vec<OpenSegment>, _) = std::mem::take(&mut state.segments)
            .into_iter()
            .partition(|open| sealed(open) || last.get(&open.name.memory()) != Some(&open.name));
        state.segments = kept;
        for open in gone {
            let path = open.name.path();
            match self.parts.ken.sync_file(&path) {
                // Git may remove the file at any time.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(DiskError::on("sync", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a notice for each untracked segment that was written on another branch.
    fn report_carried_segments(
        &self,
        git: &dyn GitView,
        now_on: &str,
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<(), DiskError> {
        // Without an answer from git there is no notice; sealing does not depend on it.
        let Ok(listed) = git.index_paths() else {
            return Ok(());
        };
        let mut loose: BTreeMap<SegmentName, (String, u64)> = list_segments(&*self.parts.ken)?
            .into_iter()
            .filter(|stat| !listed.contains(&stat.name.tree_path()))
            .map(|stat| (stat.name, (String::new(), 0)))
            .collect();
        if loose.is_empty() {
            return Ok(());
        }
        let start = JournalPosition { file: 0, offset: 0 };
        Journal::new(&*self.parts.local).scan(start, &mut |record| {
            if let Some((branch, events)) = loose.get_mut(&record.segment) {
                record.branch.clone_into(branch);
                *events += 1;
            }
        })?;
        for (segment, (written_on, events)) in loose {
            if events != 0 && written_on != now_on {
                let now_on = now_on.to_owned();
                notices.push(LedgerNotice::SegmentCarriedOver {
                    segment,
                    written_on,
                    now_on,
                    events,
                });
            }
        }
        Ok(())
    }
}
