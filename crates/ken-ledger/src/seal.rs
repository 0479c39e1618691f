//! Decides which open segments git may have seen; those are never written again.
//!
//! Sealing too early costs a file, sealing too late a merge conflict. So every doubt seals.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::DiskError;
use crate::git::GitView;
use crate::heal::Restart;
use crate::journal::{self, Journal, Mark, NO_BRANCH, Position};
use crate::layout::SegmentName;
use crate::ledger::{Ledger, list_in};
use crate::notice::Notice;
use crate::state::{OpenSegment, OpenState};

impl Ledger {
    /// Removes from `state` what may not be written any more, after making it durable.
    pub(crate) fn seal(
        &self,
        before: &OpenState,
        state: &mut OpenState,
        restart: Restart,
        end: Mark,
        notices: &mut Vec<Notice>,
    ) -> Result<(), DiskError> {
        let copied = before.node.is_some_and(|node| Some(node) != state.node);
        let Some(git) = &self.parts.git else {
            NO_BRANCH.clone_into(&mut state.branch);
            return self.keep_last_of_each_memory(state, &|_| copied);
        };
        state.head = git.head_token();
        let head_moved = state.head != before.head;
        if head_moved || before.segments.is_empty() {
            state.branch = git.branch();
            if !before.branch.is_empty() && state.branch != before.branch {
                self.tell_what_came_along(&**git, &state.branch, notices)?;
            }
        }
        // A clone of a virtual machine restarts with the same files; each must go its own way.
        let all = copied || head_moved || restart == Restart::Yes;
        state.index = git.index_stat();
        let listed = if all || state.segments.is_empty() || state.index == before.index {
            Some(BTreeSet::new())
        } else {
            git.index_paths().ok()
        };
        self.keep_last_of_each_memory(state, &|open| {
            let in_index = listed
                .as_ref()
                .is_none_or(|paths| paths.contains(&open.name.tree_path()));
            let old = open
                .journal
                .is_none_or(|mark| mark.position.file != end.position.file);
            all || in_index || old || journal::is_full(end.position)
        })
    }

    /// Makes durable and forgets segments that are `sealed` or followed by a newer one.
    fn keep_last_of_each_memory(
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
                // Git may take it away at any moment.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(DiskError::on("sync", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Says which segments that git does not know were written on another branch.
    fn tell_what_came_along(
        &self,
        git: &dyn GitView,
        now_on: &str,
        notices: &mut Vec<Notice>,
    ) -> Result<(), DiskError> {
        // If git cannot be asked there is nothing to tell; sealing does not depend on it.
        let Ok(listed) = git.index_paths() else {
            return Ok(());
        };
        let mut loose: BTreeMap<SegmentName, (String, u64)> = list_in(&*self.parts.ken)?
            .into_iter()
            .filter(|stat| !listed.contains(&stat.name.tree_path()))
            .map(|stat| (stat.name, (String::new(), 0)))
            .collect();
        if loose.is_empty() {
            return Ok(());
        }
        let start = Position { file: 0, offset: 0 };
        Journal::new(&*self.parts.local).scan(start, &mut |record| {
            if let Some((branch, events)) = loose.get_mut(&record.segment) {
                record.branch.clone_into(branch);
                *events += 1;
            }
        })?;
        for (segment, (written_on, events)) in loose {
            if events != 0 && written_on != now_on {
                let now_on = now_on.to_owned();
                notices.push(Notice::CameAlong {
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
