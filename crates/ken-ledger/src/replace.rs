//! Packing and blanking: segments become packs, and git gets a commit of exactly that.
//!
//! Replacing files is the only way lines leave the tree, so it is written down first
//! (`intent.rs`) and finished by the next writing command if it was interrupted.
//!
//! Invariant: a segment is removed only while packs in the tree hold every one of its events.

mod intent;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::event::{Order, Recorded};
use ken_core::id::{EventId, IdSource};
use ken_core::kind::Memory;
use ken_core::time::Timestamp;

use crate::disk::{DiskError, LockGuard};
use crate::git::{GitError, Operation};
use crate::heal::Depth;
use crate::journal::{Journal, JournalError};
use crate::layout::{Form, SegmentName, SegmentStat};
use crate::ledger::{Ledger, ReadError};
use crate::pack;
use crate::segment::{SegmentError, read_segment};
use intent::{Group, Intent, Standing};

/// How much smaller lines get in a pack, roughly; only used to compare sizes.
const DEFLATE_GAIN: u64 = 4;
/// A pack is packed again when what joins it is at least this part of it.
const REPACK_RATIO: u64 = 2;
/// Packs of one memory above which small ones are joined even without new segments.
const PACKS_MAX: usize = 16;

/// What a replacement did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    pub added: Vec<SegmentName>,
    pub removed: Vec<SegmentName>,
    /// Lines in the added packs.
    pub events: u64,
    /// Events whose data was blanked in the tree.
    pub blanked: u64,
    /// Whether git got a commit of its own for it.
    pub committed: bool,
    /// Commits of any ref that touched the removed files, so whose history still holds them;
    /// `None` if git did not know the files or could not tell.
    pub commits_in_history: Option<u64>,
}

/// Why nothing, or not everything, was replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error("{0}; finish or abort it first")]
    Busy(Operation),
    #[error("the packs are in the tree but not committed; the next writing command tries again")]
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

impl From<SegmentError> for ReplaceError {
    fn from(error: SegmentError) -> Self {
        Self::Read(error.into())
    }
}

impl Ledger {
    /// Packs what is committed and unmodified (outside git: what is sealed); does nothing where
    /// there is nothing to gain.
    pub fn pack(&self, now: Timestamp, ids: &mut dyn IdSource) -> Result<Replaced, ReplaceError> {
        let lock = self.begin_replacement(ids)?;
        let mut chosen = Vec::new();
        let mut by_memory: BTreeMap<Memory, Vec<SegmentStat>> = BTreeMap::new();
        for stat in self.packable()? {
            by_memory.entry(stat.name.memory()).or_default().push(stat);
        }
        for stats in by_memory.into_values() {
            chosen.extend(worth_packing(stats));
        }
        let message = format!("ken: pack {} segments", chosen.len());
        self.replace(
            &lock,
            chosen,
            &BTreeSet::new(),
            message,
            &mut Names { now, ids },
        )
    }

    /// Blanks the data of `events` in tree and journal and remembers their ids.
    ///
    /// Who may do that was decided before; other worktrees and clones follow when they scrub.
    pub fn blank(
        &self,
        events: &BTreeSet<EventId>,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<Replaced, ReplaceError> {
        let lock = self.begin_replacement(ids)?;
        self.remember_blanked(&lock, events)?;
        if self.parts.git.is_some() {
            {
                // Files and lengths the memo knows are replaced.
                let mut known = self.memo.known();
                (known.journal, known.journal_names) = (None, false);
            }
            Journal::new(&*self.parts.local).scrub(events)?;
        }
        let copies = self.full_copies(events)?;
        let holding: BTreeSet<_> = copies.iter().map(|(name, _)| name.clone()).collect();
        let blanked: BTreeSet<_> = copies.iter().map(|(_, id)| *id).collect();
        let message = format!("ken: blank {} events", blanked.len());
        let chosen = holding.into_iter().collect();
        let names = &mut Names { now, ids };
        let replaced = self.replace(&lock, chosen, events, message, names)?;
        Ok(Replaced {
            blanked: blanked.len() as u64,
            ..replaced
        })
    }

    /// Blanks copies of remembered events that git brought back.
    pub fn scrub(&self, now: Timestamp, ids: &mut dyn IdSource) -> Result<Replaced, ReplaceError> {
        let events = self.blanked_ids()?;
        if events.is_empty() || self.full_copies(&events)?.is_empty() {
            return Ok(Replaced::default());
        }
        self.blank(&events, now, ids)
    }

    /// Returns which segments hold unblanked copies of which of `events`.
    pub fn full_copies(
        &self,
        events: &BTreeSet<EventId>,
    ) -> Result<Vec<(SegmentName, EventId)>, ReadError> {
        let mut copies = BTreeSet::new();
        for stat in self.list()? {
            for event in self.events_of(&stat.name)? {
                if events.contains(&event.event.id) && !event.is_blanked() {
                    copies.insert((stat.name.clone(), event.event.id));
                }
            }
        }
        Ok(copies.into_iter().collect())
    }

    /// Reads and checks every event of a segment or pack.
    pub(crate) fn events_of(&self, name: &SegmentName) -> Result<Vec<Recorded>, ReadError> {
        let text = self.read(name)?;
        Ok(read_segment(&name.path(), text.text().as_bytes())?.events)
    }

    /// Takes the lock, finishes what was interrupted and brings open segments up to date.
    fn begin_replacement(&self, ids: &mut dyn IdSource) -> Result<LockGuard, ReplaceError> {
        let lock = self.lock()?;
        if let Some(operation) = self
            .parts
            .git
            .as_ref()
            .and_then(|git| git.operation_under_way())
        {
            return Err(ReplaceError::Busy(operation));
        }
        self.finish_interrupted()?;
        let node = self.node_under(&lock, ids)?;
        let settled = self.settle(&lock, node, Depth::Length)?;
        if settled.unsaved {
            settled.state.save(&*self.parts.worktree, &self.memo)?;
        }
        Ok(lock)
    }

    /// Returns what may be packed: what git has exactly as it is, or outside git what is sealed.
    fn packable(&self) -> Result<Vec<SegmentStat>, ReplaceError> {
        let all = self.list()?;
        let Some(git) = &self.parts.git else {
            let open = self.open_names()?;
            return Ok(all
                .into_iter()
                .filter(|stat| !open.contains(&stat.name))
                .collect());
        };
        let asked = |source| ReplaceError::Git { source };
        let (head, changed) = (
            git.head_paths().map_err(asked)?,
            git.changed_paths().map_err(asked)?,
        );
        let committed = |path: &String| head.contains(path) && !changed.contains(path);
        Ok(all
            .into_iter()
            .filter(|stat| committed(&stat.name.tree_path()))
            .collect())
    }

    /// Packs `chosen` by memory and by how git knows them, blanking `events` on the way.
    fn replace(
        &self,
        _lock: &LockGuard,
        chosen: Vec<SegmentName>,
        events: &BTreeSet<EventId>,
        message: String,
        names: &mut Names<'_>,
    ) -> Result<Replaced, ReplaceError> {
        if chosen.is_empty() {
            return Ok(Replaced::default());
        }
        let mut groups: BTreeMap<(Memory, Standing), Vec<SegmentName>> = BTreeMap::new();
        let standing = self.standing_of(&chosen)?;
        for (name, standing) in chosen.into_iter().zip(standing) {
            groups
                .entry((name.memory(), standing))
                .or_default()
                .push(name);
        }
        let mut intent = Intent {
            message,
            groups: Vec::new(),
        };
        let mut packs = Vec::new();
        let mut replaced = Replaced::default();
        for ((memory, standing), removed) in groups {
            let lines = self.lines_for_pack(&removed, events)?;
            replaced.events += lines.len() as u64;
            let mut added = Vec::new();
            for text in texts_for_packs(lines, pack::TEXT_BYTES_MAX) {
                let name = self.free_name((memory, Form::Pack), names.now, names.ids)?;
                packs.push((name.clone(), pack::encode(&text, names.ids.random())));
                added.push(name);
            }
            intent.groups.push(Group {
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
        replaced.commits_in_history = self.commits_in_history(&intent);
        Ok(replaced)
    }

    /// Returns every line of the segments once, in canonical order, `events` blanked.
    fn lines_for_pack(
        &self,
        segments: &[SegmentName],
        events: &BTreeSet<EventId>,
    ) -> Result<BTreeSet<(Order, Box<str>)>, ReadError> {
        let mut lines = BTreeSet::new();
        for name in segments {
            for event in self.events_of(name)? {
                let event = if events.contains(&event.event.id) {
                    event.blanked()
                } else {
                    event
                };
                lines.insert((event.event.order(), event.line().into()));
            }
        }
        Ok(lines)
    }
}

/// What fresh names and salts are made of.
struct Names<'a> {
    now: Timestamp,
    ids: &'a mut dyn IdSource,
}

/// Joins lines to texts of at most `bytes_max`, each with its newline.
fn texts_for_packs(lines: BTreeSet<(Order, Box<str>)>, bytes_max: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    for (_, line) in lines {
        let full = texts
            .last()
            .is_none_or(|t| bytes_max < t.len() + line.len() + 1);
        if full {
            texts.push(String::new());
        }
        let text = texts.last_mut().expect("never empty");
        text.push_str(&line);
        text.push('\n');
    }
    texts
}

/// Chooses all plain segments of a memory and the packs that are not much bigger than those.
///
/// Packing a big pack again and again would put its whole content into git's history each time.
fn worth_packing(stats: Vec<SegmentStat>) -> Vec<SegmentName> {
    let (mut packs, plain): (Vec<_>, Vec<_>) = stats
        .into_iter()
        .partition(|stat| stat.name.form() == Form::Pack);
    packs.sort_by(|a, b| (a.len, &a.name).cmp(&(b.len, &b.name)));
    let mut total = plain.iter().map(|stat| stat.len).sum::<u64>() / DEFLATE_GAIN;
    if PACKS_MAX < packs.len() {
        total = total.max(packs[0].len);
    }
    let mut chosen: Vec<_> = plain.into_iter().map(|stat| stat.name).collect();
    for pack in packs {
        if pack.len <= REPACK_RATIO * total {
            total += pack.len;
            chosen.push(pack.name);
        }
    }
    if chosen.len() < 2 { Vec::new() } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn stat(n: u128, form: Form, len: u64) -> SegmentStat {
        let name = SegmentName::new(Memory::Semantic, form, Timestamp::from_millis(0), n);
        SegmentStat {
            name,
            len,
            modified_ns: 0,
            inode: 0,
        }
    }

    fn chosen(stats: &[(Form, u64)]) -> usize {
        let stats = (0..)
            .zip(stats)
            .map(|(n, (form, len))| stat(n, *form, *len))
            .collect();
        worth_packing(stats).len()
    }

    #[test]
    fn packing_happens_only_where_there_is_something_to_gain() {
        use Form::{Lines, Pack};
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
        let lines: BTreeSet<(Order, Box<str>)> = (1..=4)
            .map(|n| (sample::event(n).event.order(), "x".repeat(9).into()))
            .collect();
        for (bytes_max, expected) in [
            (10, vec![10, 10, 10, 10]),
            (19, vec![10, 10, 10, 10]),
            (20, vec![20, 20]),
            (39, vec![30, 10]),
            (40, vec![40]),
        ] {
            let texts = texts_for_packs(lines.clone(), bytes_max);
            let lens: Vec<_> = texts.iter().map(String::len).collect();
            assert_eq!(lens, expected, "{bytes_max}");
            assert_eq!(texts.concat().lines().count(), lines.len());
        }
    }
}
