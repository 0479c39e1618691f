//! Packing and redaction: segments are replaced with packs, and git receives a commit of exactly
//! that change.
//!
//! Replacing files is the only way lines leave the worktree, so the intent is written first
//! (`intent.rs`), and the next writing command finishes an interrupted replacement.
//!
//! Invariant: a segment is removed only while packs in the worktree contain all of its events.

mod intent;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::{EventOrder, RecordedEvent};
use ken_core::values::id::{EventId, IdSource};
use ken_core::values::kind::Memory;
use ken_core::values::time::Timestamp;

use crate::disk::{DiskError, LockGuard};
use crate::git::{GitError, GitOperation};
use crate::journal::{Journal, JournalError};
use crate::layout::{SegmentForm, SegmentName, SegmentStat};
use crate::ledger::{Ledger, ReadError};
use crate::pack;
use crate::repair::ComparisonDepth;
use crate::segment::{SegmentError, read_segment};
use intent::{GitTracking, ReplacementGroup, ReplacementIntent};

/// Approximate compression ratio of a pack; used only to compare sizes.
const DEFLATE_GAIN: u64 = 4;
/// A pack is repacked if it is at most this many times as large as the lines that join it.
const REPACK_RATIO: u64 = 2;
/// Number of packs per memory above which small ones are merged even without new segments.
const PACKS_MAX: usize = 16;

/// Result of a replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplaceReport {
    pub added: Vec<SegmentName>,
    pub removed: Vec<SegmentName>,
    /// Lines in the added packs.
    pub events: u64,
    /// Events redacted in the worktree.
    pub blanked: u64,
    /// Set if git received a commit for it.
    pub committed: bool,
    /// Number of commits on any ref that touched the removed files, whose history still contains
    /// them; `None` if git did not track the files or could not answer.
    pub commits_in_history: Option<u64>,
}

/// Failure of a replacement, which may be partly done.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error("{0}; finish or abort it first")]
    Busy(GitOperation),
    #[error("the packs are in the tree but not committed; the next command that writes retries")]
    Commit { source: GitError },
    #[error("cannot read the committed files from git")]
    Git { source: GitError },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<SegmentError> for ReplaceError {
    fn from(error: SegmentError) -> Self {
        Self::Read(error.into())
    }
}

impl Ledger {
    /// Packs committed, unmodified segments (outside git: sealed segments); does nothing if there
    /// is no gain.
    pub fn pack(
        &self,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<ReplaceReport, ReplaceError> {
        let lock = self.begin_replacement(ids)?;
        let mut chosen = Vec::new();
        let mut by_memory: BTreeMap<Memory, Vec<SegmentStat>> = BTreeMap::new();
        for stat in self.packable_segments()? {
            by_memory.entry(stat.name.memory()).or_default().push(stat);
        }
        for stats in by_memory.into_values() {
            chosen.extend(choose_for_packing(stats));
        }
        let message = format!("ken: pack {} segments", chosen.len());
        self.replace(
            &lock,
            chosen,
            &BTreeSet::new(),
            message,
            &mut NameSource { now, ids },
        )
    }

    /// Redacts `events` in worktree and journal and records their ids.
    ///
    /// The caller has checked authorization. Other worktrees and clones follow when they scrub.
    pub fn blank(
        &self,
        events: &BTreeSet<EventId>,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<ReplaceReport, ReplaceError> {
        let lock = self.begin_replacement(ids)?;
        // Recorded first: after a crash the next scrub finishes the redaction.
        self.remember_blanked(&lock, events)?;
        // Outside git there is no journal.
        if self.parts.git.is_some() {
            {
                // The scrub replaces files whose identity and length are cached.
                let mut known = self.memo.known();
                (known.journal, known.journal_names) = (None, false);
            }
            Journal::new(&*self.parts.local).scrub(events)?;
        }
        let copies = self.full_copies(events)?;
        let holding: BTreeSet<_> = copies.iter().map(|(name, _)| name.clone()).collect();
        let blanked: BTreeSet<_> = copies.iter().map(|(_, id)| *id).collect();
        let message = format!("ken: redact {} events", blanked.len());
        let chosen = holding.into_iter().collect();
        let names = &mut NameSource { now, ids };
        let replaced = self.replace(&lock, chosen, events, message, names)?;
        Ok(ReplaceReport {
            blanked: blanked.len() as u64,
            ..replaced
        })
    }

    /// Redacts copies of recorded events that git restored.
    pub fn scrub(
        &self,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<ReplaceReport, ReplaceError> {
        let events = self.blanked_ids()?;
        // Checked without the lock, because most scrubs find nothing.
        if events.is_empty() || self.full_copies(&events)?.is_empty() {
            return Ok(ReplaceReport::default());
        }
        self.blank(&events, now, ids)
    }

    /// Returns the segments that contain unredacted copies of `events`, with the event ids.
    pub fn full_copies(
        &self,
        events: &BTreeSet<EventId>,
    ) -> Result<Vec<(SegmentName, EventId)>, ReadError> {
        let mut copies = BTreeSet::new();
        for stat in self.list()? {
            for event in self.events_of(&stat.name)? {
                if events.contains(&event.event.id) && !event.is_redacted() {
                    copies.insert((stat.name.clone(), event.event.id));
                }
            }
        }
        Ok(copies.into_iter().collect())
    }

    /// Reads and checks every event of a segment or pack.
    pub(crate) fn events_of(&self, name: &SegmentName) -> Result<Vec<RecordedEvent>, ReadError> {
        let text = self.read(name)?;
        Ok(read_segment(&name.path(), text.text().as_bytes())?.events)
    }

    /// Acquires the lock, finishes an interrupted replacement and repairs open segments.
    fn begin_replacement(&self, ids: &mut dyn IdSource) -> Result<LockGuard, ReplaceError> {
        let lock = self.lock()?;
        // A commit during a merge or rebase would become part of the user's operation.
        if let Some(operation) = self
            .parts
            .git
            .as_ref()
            .and_then(|git| git.operation_under_way())
        {
            return Err(ReplaceError::Busy(operation));
        }
        self.finish_interrupted()?;
        let node = self.ensure_node_id_locked(&lock, ids)?;
        let settled = self.settle(&lock, node, ComparisonDepth::Length)?;
        if settled.unsaved {
            settled.state.save(&*self.parts.worktree, &self.memo)?;
        }
        Ok(lock)
    }

    /// Returns the segments that may be packed: committed and unmodified ones, or outside git
    /// sealed ones.
    fn packable_segments(&self) -> Result<Vec<SegmentStat>, ReplaceError> {
        let all = self.list()?;
        let Some(git) = &self.parts.git else {
            let open = self.open_segment_names()?;
            return Ok(all
                .into_iter()
                .filter(|stat| !open.contains(&stat.name))
                .collect());
        };
        let git_error = |source| ReplaceError::Git { source };
        let (head, changed) = (
            git.head_paths().map_err(git_error)?,
            git.changed_paths().map_err(git_error)?,
        );
        let committed = |path: &String| head.contains(path) && !changed.contains(path);
        Ok(all
            .into_iter()
            .filter(|stat| committed(&stat.name.tree_path()))
            .collect())
    }

    /// Packs `chosen` by memory and git tracking state, redacting `events`.
    fn replace(
        &self,
        _lock: &LockGuard,
        chosen: Vec<SegmentName>,
        events: &BTreeSet<EventId>,
        message: String,
        names: &mut NameSource<'_>,
    ) -> Result<ReplaceReport, ReplaceError> {
        if chosen.is_empty() {
            return Ok(ReplaceReport::default());
        }
        // Grouped by tracking state, so that an uncommitted segment does not enter a commit.
        let mut groups: BTreeMap<(Memory, GitTracking), Vec<SegmentName>> = BTreeMap::new();
        let standing = self.git_tracking(&chosen)?;
        for (name, standing) in chosen.into_iter().zip(standing) {
            groups
                .entry((name.memory(), standing))
                .or_default()
                .push(name);
        }
        let mut intent = ReplacementIntent {
            message,
            groups: Vec::new(),
        };
        let mut packs = Vec::new();
        let mut replaced = ReplaceReport::default();
        for ((memory, standing), removed) in groups {
            let lines = self.collect_pack_lines(&removed, events)?;
            replaced.events += lines.len() as u64;
            let mut added = Vec::new();
            for text in split_into_texts(lines, pack::TEXT_BYTES_MAX) {
                let name = self.unused_name((memory, SegmentForm::Pack), names.now, names.ids)?;
                packs.push((name.clone(), pack::encode(&text, names.ids.random())));
                added.push(name);
            }
            intent.groups.push(ReplacementGroup {
                standing,
                added,
                removed,
            });
        }
        for group in &intent.groups {
            replaced.added.extend(group.added.iter().cloned());
            replaced.removed.extend(group.removed.iter().cloned());
        }
        replaced.committed = self.carry_out(&intent, &packs)?;
        // Counted after the commit: informational, and a failure must not undo the replacement.
        replaced.commits_in_history = self.commits_in_history(&intent);
        Ok(replaced)
    }

    /// Returns every line of the segments once, in canonical order, with `events` redacted.
    fn collect_pack_lines(
        &self,
        segments: &[SegmentName],
        events: &BTreeSet<EventId>,
    ) -> Result<BTreeSet<(EventOrder, Box<str>)>, ReadError> {
        let mut lines = BTreeSet::new();
        for name in segments {
            for event in self.events_of(name)? {
                let event = if events.contains(&event.event.id) {
                    event.redacted()
                } else {
                    event
                };
                lines.insert((event.event.order(), event.line().into()));
            }
        }
        Ok(lines)
    }
}

/// Source of new names and salts.
struct NameSource<'a> {
    now: Timestamp,
    ids: &'a mut dyn IdSource,
}

/// Joins lines to texts of at most `bytes_max` bytes, each line with its newline.
fn split_into_texts(lines: BTreeSet<(EventOrder, Box<str>)>, bytes_max: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    for (_, line) in lines {
        let full = texts
            .last()
            .is_none_or(|text| text.len() + line.len() + 1 > bytes_max);
        if full {
            texts.push(String::new());
        }
        let text = texts.last_mut().expect("never empty");
        text.push_str(&line);
        text.push('\n');
    }
    texts
}

/// Selects all plain segments of a memory and the packs that are not much larger.
///
/// Repacking a large pack repeatedly would add its whole content to git's history each time.
fn choose_for_packing(stats: Vec<SegmentStat>) -> Vec<SegmentName> {
    let (mut packs, plain): (Vec<_>, Vec<_>) = stats
        .into_iter()
        .partition(|stat| stat.name.form() == SegmentForm::Pack);
    // Smallest first: each pack that joins raises the limit for the next one.
    packs.sort_by(|a, b| (a.len, &a.name).cmp(&(b.len, &b.name)));
    let mut total = plain.iter().map(|stat| stat.len).sum::<u64>() / DEFLATE_GAIN;
    if packs.len() > PACKS_MAX {
        // The smallest pack then starts the chain, even without plain segments.
        total = total.max(packs[0].len);
    }
    let mut chosen: Vec<_> = plain.into_iter().map(|stat| stat.name).collect();
    for pack in packs {
        if pack.len <= REPACK_RATIO * total {
            total += pack.len;
            chosen.push(pack.name);
        }
    }
    // A single file gains nothing from being replaced with a single pack.
    if chosen.len() < 2 { Vec::new() } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn stat(n: u128, form: SegmentForm, len: u64) -> SegmentStat {
        let name = SegmentName::new(Memory::Semantic, form, Timestamp::from_millis(0), n);
        SegmentStat {
            name,
            len,
            modified_ns: 0,
            inode: 0,
        }
    }

    fn chosen(stats: &[(SegmentForm, u64)]) -> usize {
        let stats = (0..)
            .zip(stats)
            .map(|(n, (form, len))| stat(n, *form, *len))
            .collect();
        choose_for_packing(stats).len()
    }

    #[test]
    fn packing_happens_only_where_there_is_something_to_gain() {
        use SegmentForm::{Lines, Pack};
        for (stats, expected) in [
            (vec![], 0),
            (vec![(Lines, 100)], 0),
            (vec![(Lines, 100), (Lines, 100)], 2),
            (vec![(Pack, 1_000_000)], 0),
            (vec![(Pack, 1000), (Pack, 1000)], 0),
            (vec![(Lines, 100), (Lines, 100), (Pack, 1_000_000)], 2),
            (
                vec![(Lines, 100), (Lines, 100), (Pack, 100), (Pack, 250)],
                4,
            ),
            (vec![(Lines, 100), (Pack, 50)], 2),
            (vec![(Pack, 1000); 16], 0),
            (vec![(Pack, 1000); 17], 17),
            (vec![(Lines, 400), (Lines, 400), (Pack, 500)], 2),
        ] {
            assert_eq!(chosen(&stats), expected, "{stats:?}");
        }
    }

    #[test]
    fn a_text_for_a_pack_is_as_long_as_its_limit_and_no_longer() {
        let lines: BTreeSet<(EventOrder, Box<str>)> = (1..=4)
            .map(|n| (sample::event(n).event.order(), "x".repeat(9).into()))
            .collect();
        for (bytes_max, expected) in [
            (10, vec![10, 10, 10, 10]),
            (19, vec![10, 10, 10, 10]),
            (20, vec![20, 20]),
            (39, vec![30, 10]),
            (40, vec![40]),
        ] {
            let texts = split_into_texts(lines.clone(), bytes_max);
            let lens: Vec<_> = texts.iter().map(String::len).collect();
            assert_eq!(lens, expected, "{bytes_max}");
            assert_eq!(texts.concat().lines().count(), lines.len());
        }
    }
}
