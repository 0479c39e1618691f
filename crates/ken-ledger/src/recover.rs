//! Recovery of events that a reset, clean or deleted worktree removed from every worktree and ref.
//!
//! Cut segments are completed first, see [`crate::cut`].
//!
//! The journal has every event that this clone wrote. An event that is in no worktree's ledger and
//! in no file reachable from a ref or stash is lost, and is written into a new segment. An event on
//! another branch is not lost: it arrives with the merge. `Ledger::event_ids_elsewhere` returns
//! the events that exist outside this worktree.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::{EventOrder, RecordedEvent};
use ken_core::values::id::{EventId, IdSource};
use ken_core::values::kind::Memory;
use ken_core::values::time::Timestamp;

use crate::disk::{Dir, DiskError, LockGuard};
use crate::git::{GitError, GitView};
use crate::journal::{Journal, JournalError, JournalPosition};
use crate::layout::{SegmentForm, SegmentName};
use crate::ledger::{Ledger, ReadError, list_segments};
use crate::notice::LedgerNotice;
use crate::pack;
use crate::repair::{ComparisonDepth, replace_segment};
use crate::segment::{parse_line, raw_lines};
use crate::writer::SEGMENT_BYTES_MAX;

/// Selection of lost events to recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverScope {
    /// Events written on the current branch or on a deleted branch.
    ThisBranch,
    /// All lost events.
    All,
}

/// Result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    pub segments: Vec<SegmentName>,
    /// Number of recovered events by the branch they were written on.
    pub restored: BTreeMap<String, u64>,
    /// Number of lost events of other branches, which were not recovered.
    pub left: BTreeMap<String, u64>,
    pub notices: Vec<LedgerNotice>,
}

/// Failure of a recovery.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("cannot read the git history")]
    Git { source: GitError },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Lines to write by memory, in canonical order.
type RecoveredLines = BTreeMap<Memory, BTreeSet<(EventOrder, Box<str>)>>;

impl Ledger {
    /// Writes the lost events of `scope` into new segments.
    pub fn recover(
        &self,
        scope: RecoverScope,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<RecoveryReport, RecoverError> {
        let Some(git) = &self.parts.git else {
            return Ok(RecoveryReport::default());
        };
        let lock = self.lock()?;
        let node = self.ensure_node_id_locked(&lock, ids)?;
        let mut recovered = RecoveryReport {
            notices: self.complete_replacement(&lock),
            ..RecoveryReport::default()
        };
        let mut settled = self.settle(&lock, node, ComparisonDepth::Length)?;
        recovered.notices.append(&mut settled.notices);
        if settled.unsaved {
            settled.state.save(&*self.parts.worktree, &self.memo)?;
        }
        self.restore_cut_segments(&lock, &mut recovered)?;
        let lost = self.lost(&**git, &mut recovered.notices)?;
        if lost.is_empty() {
            return Ok(recovered);
        }
        let branches = git
            .branches()
            .map_err(|source| RecoverError::Git { source })?;
        let (here, blanked) = (git.branch(), self.blanked_ids()?);
        let wanted = |branch: &str| match scope {
            RecoverScope::All => true,
            RecoverScope::ThisBranch => branch == here || !branches.contains(branch),
        };
        let lines = self.lines_of(&lost, &blanked, &wanted, &mut recovered)?;
        self.write_recovered(&lock, lines, (now, ids), &mut recovered)?;
        Ok(recovered)
    }

    /// Returns the number of events that [`Self::recover`] would write into new segments.
    pub fn count_lost(&self) -> Result<u64, RecoverError> {
        let Some(git) = &self.parts.git else {
            return Ok(0);
        };
        Ok(self.lost(&**git, &mut Vec::new())?.len() as u64)
    }

    /// Returns the ids of events that only the journal has.
    fn lost(
        &self,
        git: &dyn GitView,
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<BTreeSet<EventId>, RecoverError> {
        let mut lost = BTreeSet::new();
        let bad = self.for_each_journal_event(&mut |_, _, event| {
            lost.insert(event.event.id);
        })?;
        notices.extend(bad);
        for_each_id_in_dir(&*self.parts.ken, &mut |id| {
            lost.remove(&id);
        })?;
        // Walking the history is slow, so it happens only if this worktree lacks an event.
        if !lost.is_empty() {
            for_each_id_elsewhere(git, &mut |id| {
                lost.remove(&id);
            })?;
        }
        Ok(lost)
    }

    /// Returns the ids of events in other worktrees and in files reachable from a ref or stash;
    /// none outside git.
    pub fn elsewhere(&self) -> Result<BTreeSet<EventId>, RecoverError> {
        let mut found = BTreeSet::new();
        if let Some(git) = &self.parts.git {
            for_each_id_elsewhere(&**git, &mut |id| {
                found.insert(id);
            })?;
        }
        Ok(found)
    }

    /// Collects the lines of lost events on wanted branches and counts all lost events.
    fn lines_of(
        &self,
        lost: &BTreeSet<EventId>,
        blanked: &BTreeSet<EventId>,
        wanted: &dyn Fn(&str) -> bool,
        recovered: &mut RecoveryReport,
    ) -> Result<RecoveredLines, DiskError> {
        let mut lines = RecoveredLines::new();
        let mut seen = BTreeSet::new();
        self.for_each_journal_event(&mut |branch, memory, event| {
            let id = event.event.id;
            // The journal contains an event twice if two worktrees appended it, for example after
            // pulls.
            if !lost.contains(&id) || !seen.insert(id) {
                return;
            }
            let counts = if wanted(branch) {
                &mut recovered.restored
            } else {
                &mut recovered.left
            };
            *counts.entry(branch.to_owned()).or_default() += 1;
            if wanted(branch) {
                let event = if blanked.contains(&id) {
                    event.redacted()
                } else {
                    event
                };
                let line = (event.event.order(), event.line().into());
                lines.entry(memory).or_default().insert(line);
            }
        })?;
        Ok(lines)
    }

    /// Writes new segments that are sealed from the start, because the journal already has their
    /// events.
    fn write_recovered(
        &self,
        _lock: &LockGuard,
        lines: RecoveredLines,
        (now, ids): (Timestamp, &mut dyn IdSource),
        recovered: &mut RecoveryReport,
    ) -> Result<(), DiskError> {
        for (memory, lines) in lines {
            let mut texts = vec![String::new()];
            for (_, line) in lines {
                let last = texts.last_mut().expect("never empty");
                if !last.is_empty() && (last.len() + line.len()) as u64 > SEGMENT_BYTES_MAX {
                    texts.push(String::new());
                }
                let last = texts.last_mut().expect("never empty");
                last.push_str(&line);
                last.push('\n');
            }
            for text in texts {
                let name = self.unused_name((memory, SegmentForm::Lines), now, ids)?;
                replace_segment(&*self.parts.ken, &name, text.as_bytes())?;
                recovered.segments.push(name);
            }
        }
        Ok(())
    }

    /// Calls `visit` with branch, memory and event of every complete journal record.
    fn for_each_journal_event(
        &self,
        visit: &mut dyn FnMut(&str, Memory, RecordedEvent),
    ) -> Result<Vec<LedgerNotice>, DiskError> {
        let start = JournalPosition { file: 0, offset: 0 };
        let bad = Journal::new(&*self.parts.local).scan(start, &mut |record| {
            if let Ok(event) = RecordedEvent::parse(record.line.as_bytes()) {
                visit(record.branch, record.segment.memory(), event);
            }
        })?;
        Ok(bad
            .into_iter()
            .map(|bad| LedgerNotice::JournalDamaged {
                file: bad.file,
                line: bad.line,
            })
            .collect())
    }
}

/// Calls `visit` with every event id in other worktrees and in files reachable from a ref or stash.
fn for_each_id_elsewhere(
    git: &dyn GitView,
    visit: &mut dyn FnMut(EventId),
) -> Result<(), RecoverError> {
    let git_error = |source| RecoverError::Git { source };
    for ken in git.other_ledgers().map_err(git_error)? {
        // Damage in another worktree is reported there; complete events count.
        for_each_id_in_dir(&*ken, visit)?;
    }
    git.each_reachable_file(&mut |path, content| {
        if let Ok(name) = SegmentName::from_tree_path(path) {
            for_each_id_in_segment(&name, content, visit);
        }
    })
    .map_err(git_error)
}

/// Calls `visit` with the event ids of a `.ken` directory.
fn for_each_id_in_dir(ken: &dyn Dir, visit: &mut dyn FnMut(EventId)) -> Result<(), DiskError> {
    for stat in list_segments(ken)? {
        let path = stat.name.path();
        let bytes = ken.read(&path).map_err(DiskError::on("read", &path))?;
        for_each_id_in_segment(&stat.name, &bytes, visit);
    }
    Ok(())
}

/// Calls `visit` with the ids of the complete events of a segment or pack.
fn for_each_id_in_segment(name: &SegmentName, bytes: &[u8], visit: &mut dyn FnMut(EventId)) {
    // An unreadable pack counts as having no events: recovering an event twice is harmless.
    let lines = pack::decode_lines(name.form(), bytes).unwrap_or_default();
    for (_, line, _) in raw_lines(&lines) {
        // Git may have converted line endings in an old commit; the event still exists.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(event) = parse_line(line) {
            visit(event.event.id);
        }
    }
}
