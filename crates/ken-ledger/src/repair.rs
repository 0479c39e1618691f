//! Repair of open segments from the journal.
//!
//! In git an open segment is not synced, but the journal is. After a power failure the segment may
//! be short, torn or contain garbage; after a kill it may lack the last batch. A *missing* segment
//! was removed by git or a person and is left to `recover`.

use std::collections::BTreeMap;

use ken_core::values::id::NodeId;

use crate::disk::{Dir, DiskError, LockGuard, Stat, parent};
use crate::journal::{self, Journal, JournalMark, JournalTailCheck};
use crate::layout::SegmentName;
use crate::ledger::Ledger;
use crate::notice::LedgerNotice;
use crate::repair_plan::{SegmentRepair, plan_repair};
use crate::segment::parse_line;
use crate::state::{OpenSegment, OpenState};

/// Thoroughness of the comparison of open segments with the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparisonDepth {
    /// By length, unless the machine was restarted.
    Length,
    /// Byte by byte, because a reader found damage.
    Bytes,
}

/// Restart of the machine since the open segments were last seen complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineRestart {
    No,
    Yes,
    /// This system has no boot id.
    Unknown,
}

/// The open segments after repair and sealing.
#[derive(Debug)]
pub(crate) struct PreparedSegments {
    pub(crate) state: OpenState,
    /// Set if `state` differs from `open.json`.
    pub(crate) unsaved: bool,
    /// Size of each open segment.
    pub(crate) lens: BTreeMap<SegmentName, u64>,
    pub(crate) end: JournalMark,
    pub(crate) notices: Vec<LedgerNotice>,
}

impl Ledger {
    /// Repairs open segments after a crash, so that a reader sees every acknowledged event. Call it
    /// before reading.
    ///
    /// Never fails: a repair that is impossible now (another writer holds the lock, the disk is
    /// read-only) is left to the next call.
    pub fn heal(&self) -> Vec<LedgerNotice> {
        let mut notices = Vec::new();
        let Ok(state) = OpenState::load(&*self.parts.worktree, &self.memo, &mut notices) else {
            return notices;
        };
        let head_moved = || {
            self.parts
                .git
                .as_ref()
                .is_some_and(|git| git.head_token() != state.head)
        };
        // Most reads end here, without taking the lock.
        if state.segments.is_empty()
            || (self.restart(&state) == MachineRestart::No && !head_moved())
        {
            return notices;
        }
        self.repair_if_unlocked(ComparisonDepth::Length)
            .unwrap_or_default()
    }

    /// Returns whether lines may still be appended to a segment.
    pub fn is_open_segment(&self, name: &SegmentName) -> bool {
        let state = OpenState::load(&*self.parts.worktree, &self.memo, &mut Vec::new());
        state.is_ok_and(|state| state.segments.iter().any(|open| open.name == *name))
    }

    /// Repairs one open segment in which a reader found damage; returns whether to read it again.
    pub fn repair_open_segment(&self, name: &SegmentName) -> bool {
        // Damage in a sealed segment is permanent and must be reported, not hidden by a repair.
        self.is_open_segment(name) && self.repair_if_unlocked(ComparisonDepth::Bytes).is_some()
    }

    fn repair_if_unlocked(&self, depth: ComparisonDepth) -> Option<Vec<LedgerNotice>> {
        let lock = self.try_lock().ok().flatten()?;
        // Without a node id the directory is new or a copy: a writer resolves that.
        let node = self.load_node_id().ok().flatten()?;
        let settled = self.settle(&lock, node, depth).ok()?;
        if settled.unsaved {
            settled.state.save(&*self.parts.worktree, &self.memo).ok()?;
        }
        Some(settled.notices)
    }

    /// Repairs open segments, then seals those git may have seen.
    pub(crate) fn settle(
        &self,
        _lock: &LockGuard,
        node: NodeId,
        depth: ComparisonDepth,
    ) -> Result<PreparedSegments, DiskError> {
        let mut notices = Vec::new();
        let before = OpenState::load(&*self.parts.worktree, &self.memo, &mut notices)?;
        let mut state = before.clone();
        let restart = self.restart(&before);
        if before.node.is_some_and(|known| known != node) {
            notices.push(LedgerNotice::Copied);
        }
        state.node = Some(node);
        state.boot.clone_from(&self.parts.boot);
        let end = self.repair_journal(restart, &mut notices)?;
        let lens = self.repair_segments(&mut state, end, (restart, depth), &mut notices)?;
        self.seal(&before, &mut state, restart, end, &mut notices)?;
        // Without segments only the branch matters, for the notice after the next branch change.
        let worth_saving = !before.segments.is_empty() || !state.segments.is_empty();
        let unsaved = state != before && (worth_saving || state.branch != before.branch);
        Ok(PreparedSegments {
            state,
            unsaved,
            lens,
            end,
            notices,
        })
    }

    fn restart(&self, state: &OpenState) -> MachineRestart {
        match &self.parts.boot {
            None => MachineRestart::Unknown,
            boot if *boot == state.boot => MachineRestart::No,
            Some(_) => MachineRestart::Yes,
        }
    }

    /// Removes damaged records at the journal's end and returns the end.
    fn repair_journal(
        &self,
        restart: MachineRestart,
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<JournalMark, DiskError> {
        if self.parts.git.is_none() {
            return Ok(JournalMark::START);
        }
        let journal = Journal::new(&*self.parts.local);
        let known = self.memo.known().journal;
        let end = journal.end(known)?;
        // This process has seen the same end before, so no other process wrote meanwhile.
        if known == Some(end) && restart != MachineRestart::Yes {
            return Ok(end);
        }
        // Without a restart the kernel has all written blocks, so only the last write can be
        // incomplete. A restart may also lose blocks in the middle of the last batch.
        let look = if restart == MachineRestart::Yes {
            JournalTailCheck::EveryRecord
        } else {
            JournalTailCheck::LastByte
        };
        let Some(cleaned) = journal.cleaned(end.position, look)? else {
            return Ok(end);
        };
        for (line, bytes) in &cleaned.bad {
            let moved_to = self.save_torn_bytes(&cleaned.file, *line, bytes)?;
            let (file, line, bytes) = (cleaned.file.clone(), *line, bytes.len() as u64);
            notices.push(LedgerNotice::TornTail {
                file,
                line,
                bytes,
                moved_to,
            });
        }
        self.memo.known().journal_names = false;
        journal.store(&cleaned)?;
        journal.end(Some(end))
    }

    /// Repairs every open segment, drops those that are no longer ours, and returns the sizes.
    fn repair_segments(
        &self,
        state: &mut OpenState,
        end: JournalMark,
        (restart, depth): (MachineRestart, ComparisonDepth),
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<BTreeMap<SegmentName, u64>, DiskError> {
        let expected = self.sizes_from_journal(&state.segments, end)?;
        let mut lens = BTreeMap::new();
        let mut kept = Vec::new();
        for open in std::mem::take(&mut state.segments) {
            let Some(stat) = self.stat_if_ours(&open)? else {
                continue;
            };
            let wanted = expected
                .as_ref()
                .map(|(lens, _)| lens.get(&open.name).copied());
            let first_look = expected.as_ref().is_some_and(|(_, first)| *first);
            // After a restart a matching length proves nothing: unsynced blocks may be zero.
            // Without a boot id the first look of each process counts as a restart.
            let fine = match (wanted, restart) {
                (Some(_), MachineRestart::Yes) => false,
                (Some(_), MachineRestart::Unknown) if first_look => false,
                (Some(wanted), _) => depth == ComparisonDepth::Length && wanted == Some(stat.len),
                (None, MachineRestart::Yes) => false,
                (None, MachineRestart::No | MachineRestart::Unknown) => {
                    self.ends_with_newline(&open.name, stat)?
                }
            };
            let stat = if fine {
                stat
            } else {
                let lines = self.read_journal_lines(&open, notices)?;
                self.mend_segment(&open.name, &lines, restart, notices)?;
                let Some(stat) = self.stat_of(&open.name)? else {
                    continue;
                };
                stat
            };
            // A rewritten segment has a new inode and is durable; it is sealed.
            if stat.inode == open.inode {
                lens.insert(open.name.clone(), stat.len);
                kept.push(open);
            }
        }
        state.segments = kept;
        Ok(lens)
    }

    /// Returns the segment's metadata if its file is still the one we opened.
    fn stat_if_ours(&self, open: &OpenSegment) -> Result<Option<Stat>, DiskError> {
        let stat = self.stat_of(&open.name)?;
        match stat {
            Some(stat) if stat.inode != open.inode => {
                // Git replaces files, so git has seen it; or we repaired it and were stopped before
                // its name was durable.
                let path = open.name.path();
                let dir = parent(&path);
                self.parts
                    .ken
                    .sync_dir(dir)
                    .map_err(DiskError::on("sync", dir))?;
                Ok(None)
            }
            other => Ok(other),
        }
    }

    pub(crate) fn stat_of(&self, name: &SegmentName) -> Result<Option<Stat>, DiskError> {
        let path = name.path();
        self.parts
            .ken
            .stat(&path)
            .map_err(DiskError::on("read the metadata of", &path))
    }

    /// Returns whether the file ends with a newline.
    fn ends_with_newline(&self, name: &SegmentName, stat: Stat) -> Result<bool, DiskError> {
        let Some(last) = stat.len.checked_sub(1) else {
            return Ok(true);
        };
        let path = name.path();
        let tail = self
            .parts
            .ken
            .read_from(&path, last)
            .map_err(DiskError::on("read", &path))?;
        Ok(tail == b"\n")
    }

    /// Returns the sizes of open segments according to the journal, and whether this process looks
    /// for the first time; `None` outside git.
    #[expect(
        clippy::type_complexity,
        reason = "two answers of one question, used once"
    )]
    fn sizes_from_journal(
        &self,
        segments: &[OpenSegment],
        end: JournalMark,
    ) -> Result<Option<(BTreeMap<SegmentName, u64>, bool)>, DiskError> {
        if self.parts.git.is_none() {
            return Ok(None);
        }
        let journal = Journal::new(&*self.parts.local);
        let known = self.memo.known().clone();
        // The cached sizes are usable if the journal only grew since and covers all open segments.
        let near = known.journal.filter(|mark| {
            mark.inode == end.inode
                && mark.position.file == end.position.file
                && mark.position.offset <= end.position.offset
                && segments
                    .iter()
                    .all(|open| known.lens.contains_key(&open.name))
        });
        let (from, mut lens) = match near {
            Some(mark) => (Some(mark.position), known.lens),
            None => {
                let marks = segments.iter().filter_map(|open| open.journal);
                let starts = marks
                    .map(|mark| journal.since(mark))
                    .collect::<Result<Vec<_>, _>>()?;
                let zeros = segments.iter().map(|open| (open.name.clone(), 0)).collect();
                (starts.into_iter().min(), zeros)
            }
        };
        if let Some(from) = from.filter(|from| *from != end.position) {
            journal.scan(from, &mut |record| {
                if let Some(len) = lens.get_mut(&record.segment) {
                    *len += record.line.len() as u64 + 1;
                }
            })?;
        }
        let mut memo = self.memo.known();
        memo.journal = Some(end).filter(|end| end.position.file != 0);
        memo.lens.clone_from(&lens);
        Ok(Some((lens, near.is_none())))
    }

    /// Returns the complete lines the journal has for an open segment.
    fn read_journal_lines(
        &self,
        open: &OpenSegment,
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<Vec<String>, DiskError> {
        let Some(mark) = open.journal else {
            return Ok(Vec::new());
        };
        let journal = Journal::new(&*self.parts.local);
        let mut lines = Vec::new();
        let bad = journal.scan(journal.since(mark)?, &mut |record| {
            if record.segment == open.name && journal::is_valid_record(record) {
                lines.push(record.line.to_owned());
            }
        })?;
        let damaged = |bad: journal::BadRecord| LedgerNotice::JournalDamaged {
            file: bad.file,
            line: bad.line,
        };
        notices.extend(bad.into_iter().map(damaged));
        Ok(lines)
    }

    /// Rewrites a segment that does not contain `expected` and saves invalid bytes.
    fn mend_segment(
        &self,
        name: &SegmentName,
        expected: &[String],
        restart: MachineRestart,
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<(), DiskError> {
        let path = name.path();
        let bytes = self
            .parts
            .ken
            .read(&path)
            .map_err(DiskError::on("read", &path))?;
        if self.parts.git.is_none() && restart != MachineRestart::Yes {
            return self.cut_tail(name, &bytes, notices);
        }
        let SegmentRepair {
            content,
            missing,
            aside,
        } = plan_repair(&bytes, expected);
        let Some(content) = content else {
            return Ok(());
        };
        // Saved before the rewrite, so that a crash in between loses nothing.
        for (line, bytes) in aside {
            let moved_to = self.save_torn_bytes(&path, line, &bytes)?;
            let (segment, bytes) = (name.clone(), bytes.len() as u64);
            notices.push(LedgerNotice::BytesMovedAside {
                segment,
                line,
                bytes,
                moved_to,
            });
        }
        replace_segment(&*self.parts.ken, name, &content)?;
        notices.push(LedgerNotice::SegmentRepaired {
            segment: name.clone(),
            events: missing,
        });
        Ok(())
    }

    /// Completes or removes the last bytes of a segment outside git.
    fn cut_tail(
        &self,
        name: &SegmentName,
        bytes: &[u8],
        notices: &mut Vec<LedgerNotice>,
    ) -> Result<(), DiskError> {
        let path = name.path();
        let ken = &self.parts.ken;
        // Every earlier batch was synced before it was acknowledged, so only the tail can be torn.
        let keep = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let tail = &bytes[keep..];
        if tail.is_empty() {
            return Ok(());
        }
        if parse_line(tail).is_ok() {
            ken.append(&path, b"\n")
                .map_err(DiskError::on("write to", &path))?;
            return ken.sync_file(&path).map_err(DiskError::on("sync", &path));
        }
        let line = 1 + bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let moved_to = self.save_torn_bytes(&path, line, tail)?;
        ken.truncate(&path, keep as u64)
            .map_err(DiskError::on("cut", &path))?;
        let bytes = tail.len() as u64;
        notices.push(LedgerNotice::TornTail {
            file: path,
            line,
            bytes,
            moved_to,
        });
        Ok(())
    }
}

/// Replaces or creates a segment atomically.
pub(crate) fn replace_segment(
    ken: &dyn Dir,
    name: &SegmentName,
    content: &[u8],
) -> Result<(), DiskError> {
    let (path, temporary) = (name.path(), name.temporary_path());
    for dir in [parent(&path), parent(&temporary)] {
        ken.create_dirs(dir).map_err(DiskError::on("create", dir))?;
    }
    ken.replace_via(&temporary, &path, content)
        .map_err(DiskError::on("write", &path))
}
