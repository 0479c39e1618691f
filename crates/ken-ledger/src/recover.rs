//! Brings back events that a reset, clean or removed worktree took from every tree and ref.
//!
//! The journal has every event this clone wrote. One that is in no worktree's ledger and in no
//! file any ref or stash reaches is lost, and is written into a new segment. What is merely on
//! another branch is not lost: it comes with the merge. [`Ledger::elsewhere`] tells the same of
//! events another store still has.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::event::{Order, Recorded};
use ken_core::id::{EventId, IdSource};
use ken_core::kind::Memory;
use ken_core::time::Timestamp;

use crate::disk::{Dir, DiskError, LockGuard};
use crate::git::{GitError, GitView};
use crate::heal::{Depth, replace_segment};
use crate::journal::{Journal, JournalError, Position};
use crate::layout::{Form, SegmentName};
use crate::ledger::{Ledger, ReadError, list_in};
use crate::notice::Notice;
use crate::pack;
use crate::segment::{parse_line, raw_lines};
use crate::writer::SEGMENT_BYTES_MAX;

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

/// Lines to write, by memory, in canonical order.
type Lines = BTreeMap<Memory, BTreeSet<(Order, Box<str>)>>;

impl Ledger {
    /// Writes lost events of `scope` into new segments.
    pub fn recover(
        &self,
        scope: Scope,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<Recovered, RecoverError> {
        let Some(git) = &self.parts.git else {
            return Ok(Recovered::default());
        };
        let lock = self.lock()?;
        let node = self.node_under(&lock, ids)?;
        let mut recovered = Recovered {
            notices: self.complete_replacement(&lock),
            ..Recovered::default()
        };
        let mut settled = self.settle(&lock, node, Depth::Length)?;
        recovered.notices.append(&mut settled.notices);
        if settled.unsaved {
            settled.state.save(&*self.parts.worktree, &self.memo)?;
        }
        let lost = self.lost(&**git, &mut recovered.notices)?;
        if lost.is_empty() {
            return Ok(recovered);
        }
        let branches = git
            .branches()
            .map_err(|source| RecoverError::Git { source })?;
        let (here, blanked) = (git.branch(), self.blanked_ids()?);
        let wanted = |branch: &str| match scope {
            Scope::All => true,
            Scope::ThisBranch => branch == here || !branches.contains(branch),
        };
        let lines = self.lines_of(&lost, &blanked, &wanted, &mut recovered)?;
        self.write_recovered(&lock, lines, (now, ids), &mut recovered)?;
        Ok(recovered)
    }

    /// Returns the ids of events only the journal still has.
    fn lost(
        &self,
        git: &dyn GitView,
        notices: &mut Vec<Notice>,
    ) -> Result<BTreeSet<EventId>, RecoverError> {
        let mut lost = BTreeSet::new();
        let bad = self.each_journalled(&mut |_, _, event| {
            lost.insert(event.event.id);
        })?;
        notices.extend(bad);
        each_id_in(&*self.parts.ken, &mut |id| {
            lost.remove(&id);
        })?;
        if !lost.is_empty() {
            each_id_elsewhere(git, &mut |id| {
                lost.remove(&id);
            })?;
        }
        Ok(lost)
    }

    /// Returns the ids of events in other worktrees and in files any ref or stash reaches; none
    /// outside git.
    pub fn elsewhere(&self) -> Result<BTreeSet<EventId>, RecoverError> {
        let mut found = BTreeSet::new();
        if let Some(git) = &self.parts.git {
            each_id_elsewhere(&**git, &mut |id| {
                found.insert(id);
            })?;
        }
        Ok(found)
    }

    /// Collects the lines of lost events on wanted branches and counts all of them.
    fn lines_of(
        &self,
        lost: &BTreeSet<EventId>,
        blanked: &BTreeSet<EventId>,
        wanted: &dyn Fn(&str) -> bool,
        recovered: &mut Recovered,
    ) -> Result<Lines, DiskError> {
        let mut lines = Lines::new();
        let mut seen = BTreeSet::new();
        self.each_journalled(&mut |branch, memory, event| {
            let id = event.event.id;
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
                    event.blanked()
                } else {
                    event
                };
                let line = (event.event.order(), event.line().into());
                lines.entry(memory).or_default().insert(line);
            }
        })?;
        Ok(lines)
    }

    /// Writes new segments that are sealed from birth: the journal has their events already.
    fn write_recovered(
        &self,
        _lock: &LockGuard,
        lines: Lines,
        (now, ids): (Timestamp, &mut dyn IdSource),
        recovered: &mut Recovered,
    ) -> Result<(), DiskError> {
        for (memory, lines) in lines {
            let mut texts = vec![String::new()];
            for (_, line) in lines {
                let last = texts.last_mut().expect("never empty");
                if !last.is_empty() && SEGMENT_BYTES_MAX < (last.len() + line.len()) as u64 {
                    texts.push(String::new());
                }
                let last = texts.last_mut().expect("never empty");
                last.push_str(&line);
                last.push('\n');
            }
            for text in texts {
                let name = self.free_name((memory, Form::Lines), now, ids)?;
                replace_segment(&*self.parts.ken, &name, text.as_bytes())?;
                recovered.segments.push(name);
            }
        }
        Ok(())
    }

    /// Calls `visit` with branch, memory and event of every whole record of the journal.
    fn each_journalled(
        &self,
        visit: &mut dyn FnMut(&str, Memory, Recorded),
    ) -> Result<Vec<Notice>, DiskError> {
        let start = Position { file: 0, offset: 0 };
        let bad = Journal::new(&*self.parts.local).scan(start, &mut |record| {
            if let Ok(event) = Recorded::parse(record.line.as_bytes()) {
                visit(record.branch, record.segment.memory(), event);
            }
        })?;
        Ok(bad
            .into_iter()
            .map(|bad| Notice::JournalDamaged {
                file: bad.file,
                line: bad.line,
            })
            .collect())
    }
}

/// Calls `visit` with every event of other worktrees and of files any ref or stash reaches.
fn each_id_elsewhere(
    git: &dyn GitView,
    visit: &mut dyn FnMut(EventId),
) -> Result<(), RecoverError> {
    let asked = |source| RecoverError::Git { source };
    for ken in git.other_ledgers().map_err(asked)? {
        // Another worktree's damage is that worktree's to report; what is whole counts.
        each_id_in(&*ken, visit)?;
    }
    git.each_reachable_file(&mut |path, content| {
        if let Ok(name) = SegmentName::from_tree_path(path) {
            each_id_of(&name, content, visit);
        }
    })
    .map_err(asked)
}

/// Calls `visit` with the events of a `.ken` folder.
fn each_id_in(ken: &dyn Dir, visit: &mut dyn FnMut(EventId)) -> Result<(), DiskError> {
    for stat in list_in(ken)? {
        let path = stat.name.path();
        let bytes = ken.read(&path).map_err(DiskError::on("read", &path))?;
        each_id_of(&stat.name, &bytes, visit);
    }
    Ok(())
}

/// Calls `visit` with the whole events of a segment or pack.
fn each_id_of(name: &SegmentName, bytes: &[u8], visit: &mut dyn FnMut(EventId)) {
    let lines = pack::lines(name.form(), bytes).unwrap_or_default();
    for (_, line, _) in raw_lines(&lines) {
        // Git may have converted line ends in an old commit; the event is there all the same.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(event) = parse_line(line) {
            visit(event.event.id);
        }
    }
}
