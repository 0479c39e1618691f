//! Brings open segments back to what the journal says they hold.
//!
//! In git a segment is not synced while it is open; the journal is. So after a power cut the
//! segment may be short, torn or hold garbage, and after a kill it may lack the last batch. A
//! segment that is *gone* was removed by git or a person and is left to `recover`.

use std::collections::BTreeMap;

use ken_core::id::NodeId;

use crate::disk::{Dir, DiskError, LockGuard, Stat, parent};
use crate::journal::{self, Journal, Look, Mark};
use crate::layout::SegmentName;
use crate::ledger::Ledger;
use crate::mend::{Mended, mend};
use crate::notice::Notice;
use crate::segment::parse_line;
use crate::state::{OpenSegment, OpenState};

/// How closely open segments are compared with the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// By length, unless the machine was restarted.
    Length,
    /// Byte by byte: a reader found something wrong.
    Bytes,
}

/// Whether the machine was started since the open segments were last seen whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    No,
    Yes,
    /// This system does not tell.
    Unknown,
}

/// The open segments after mending and sealing.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) state: OpenState,
    /// Whether `state` is not what `open.json` says.
    pub(crate) unsaved: bool,
    /// Bytes each open segment has.
    pub(crate) lens: BTreeMap<SegmentName, u64>,
    pub(crate) end: Mark,
    pub(crate) notices: Vec<Notice>,
}

impl Ledger {
    /// Mends what a crash left of the open segments, so that a reader sees every acknowledged
    /// event. Call it before reading.
    ///
    /// Never fails: what cannot be mended now (another writer holds the lock, the disk is
    /// read-only) is left to the next call.
    pub fn heal(&self) -> Vec<Notice> {
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
        if state.segments.is_empty() || (self.restart(&state) == Restart::No && !head_moved()) {
            return notices;
        }
        self.settle_if_free(Depth::Length).unwrap_or_default()
    }

    /// Mends one open segment in which a reader found something wrong; says whether to read again.
    pub fn heal_open(&self, name: &SegmentName) -> bool {
        let state = OpenState::load(&*self.parts.worktree, &self.memo, &mut Vec::new());
        let open = state.is_ok_and(|state| state.segments.iter().any(|open| open.name == *name));
        open && self.settle_if_free(Depth::Bytes).is_some()
    }

    fn settle_if_free(&self, depth: Depth) -> Option<Vec<Notice>> {
        let lock = self.try_lock().ok().flatten()?;
        // Without a node id the folder is new or a copy: a writer sorts that out.
        let node = self.known_node().ok().flatten()?;
        let settled = self.settle(&lock, node, depth).ok()?;
        if settled.unsaved {
            settled.state.save(&*self.parts.worktree, &self.memo).ok()?;
        }
        Some(settled.notices)
    }

    /// Mends open segments, then seals those git may have seen.
    pub(crate) fn settle(
        &self,
        _lock: &LockGuard,
        node: NodeId,
        depth: Depth,
    ) -> Result<Settled, DiskError> {
        let mut notices = Vec::new();
        let before = OpenState::load(&*self.parts.worktree, &self.memo, &mut notices)?;
        let mut state = before.clone();
        let restart = self.restart(&before);
        if before.node.is_some_and(|known| known != node) {
            notices.push(Notice::Copied);
        }
        state.node = Some(node);
        state.boot.clone_from(&self.parts.boot);
        let end = self.settle_journal(restart, &mut notices)?;
        let lens = self.mend_segments(&mut state, end, (restart, depth), &mut notices)?;
        self.seal(&before, &mut state, restart, end, &mut notices)?;
        let worth_saving = !before.segments.is_empty() || !state.segments.is_empty();
        let unsaved = state != before && (worth_saving || state.branch != before.branch);
        Ok(Settled {
            state,
            unsaved,
            lens,
            end,
            notices,
        })
    }

    fn restart(&self, state: &OpenState) -> Restart {
        match &self.parts.boot {
            None => Restart::Unknown,
            boot if *boot == state.boot => Restart::No,
            Some(_) => Restart::Yes,
        }
    }

    /// Cuts off what a crash left at the journal's end and returns the end.
    fn settle_journal(
        &self,
        restart: Restart,
        notices: &mut Vec<Notice>,
    ) -> Result<Mark, DiskError> {
        if self.parts.git.is_none() {
            return Ok(Mark::START);
        }
        let journal = Journal::new(&*self.parts.local);
        let known = self.memo.known().journal;
        let end = journal.end(known)?;
        if known == Some(end) && restart != Restart::Yes {
            return Ok(end);
        }
        let look = if restart == Restart::Yes {
            Look::EveryRecord
        } else {
            Look::LastByte
        };
        let Some(cleaned) = journal.cleaned(end.position, look)? else {
            return Ok(end);
        };
        for (line, bytes) in &cleaned.bad {
            let moved_to = self.put_aside(&cleaned.file, *line, bytes)?;
            let (file, line, bytes) = (cleaned.file.clone(), *line, bytes.len() as u64);
            notices.push(Notice::TornTail {
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

    /// Mends every open segment, forgets those that are not ours any more, returns lengths.
    fn mend_segments(
        &self,
        state: &mut OpenState,
        end: Mark,
        (restart, depth): (Restart, Depth),
        notices: &mut Vec<Notice>,
    ) -> Result<BTreeMap<SegmentName, u64>, DiskError> {
        let expected = self.expected_lens(&state.segments, end)?;
        let mut lens = BTreeMap::new();
        let mut kept = Vec::new();
        for open in std::mem::take(&mut state.segments) {
            let Some(stat) = self.own_stat(&open)? else {
                continue;
            };
            let wanted = expected
                .as_ref()
                .map(|(lens, _)| lens.get(&open.name).copied());
            let first_look = expected.as_ref().is_some_and(|(_, first)| *first);
            let fine = match (wanted, restart) {
                (Some(_), Restart::Yes) => false,
                (Some(_), Restart::Unknown) if first_look => false,
                (Some(wanted), _) => depth == Depth::Length && wanted == Some(stat.len),
                (None, Restart::Yes) => false,
                (None, Restart::No | Restart::Unknown) => self.ends_whole(&open.name, stat)?,
            };
            let stat = if fine {
                stat
            } else {
                let lines = self.journal_lines(&open, notices)?;
                self.mend_segment(&open.name, &lines, restart, notices)?;
                let Some(stat) = self.stat_of(&open.name)? else {
                    continue;
                };
                stat
            };
            // One that was written anew is durable and whole; it is left at that.
            if stat.inode == open.inode {
                lens.insert(open.name.clone(), stat.len);
                kept.push(open);
            }
        }
        state.segments = kept;
        Ok(lens)
    }

    /// Returns the segment's stat if its file is still the one we opened.
    fn own_stat(&self, open: &OpenSegment) -> Result<Option<Stat>, DiskError> {
        let stat = self.stat_of(&open.name)?;
        match stat {
            Some(stat) if stat.inode != open.inode => {
                // Git writes files anew, so git has had it in its hands; or we mended it and were
                // stopped before its name was durable.
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
            .map_err(DiskError::on("look at", &path))
    }

    /// Returns whether nothing stands behind the last newline.
    fn ends_whole(&self, name: &SegmentName, stat: Stat) -> Result<bool, DiskError> {
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

    /// Returns the lengths the journal says open segments have, and whether this process looks
    /// for the first time; `None` outside git.
    #[expect(
        clippy::type_complexity,
        reason = "two answers of one question, used once"
    )]
    fn expected_lens(
        &self,
        segments: &[OpenSegment],
        end: Mark,
    ) -> Result<Option<(BTreeMap<SegmentName, u64>, bool)>, DiskError> {
        if self.parts.git.is_none() {
            return Ok(None);
        }
        let journal = Journal::new(&*self.parts.local);
        let known = self.memo.known().clone();
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

    /// Returns the whole lines the journal has for an open segment.
    fn journal_lines(
        &self,
        open: &OpenSegment,
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<String>, DiskError> {
        let Some(mark) = open.journal else {
            return Ok(Vec::new());
        };
        let journal = Journal::new(&*self.parts.local);
        let mut lines = Vec::new();
        let bad = journal.scan(journal.since(mark)?, &mut |record| {
            if record.segment == open.name && journal::checks(record) {
                lines.push(record.line.to_owned());
            }
        })?;
        let damaged = |bad: journal::BadRecord| Notice::JournalDamaged {
            file: bad.file,
            line: bad.line,
        };
        notices.extend(bad.into_iter().map(damaged));
        Ok(lines)
    }

    /// Writes a segment again if it does not hold `expected`; puts aside what is no event.
    fn mend_segment(
        &self,
        name: &SegmentName,
        expected: &[String],
        restart: Restart,
        notices: &mut Vec<Notice>,
    ) -> Result<(), DiskError> {
        let path = name.path();
        let bytes = self
            .parts
            .ken
            .read(&path)
            .map_err(DiskError::on("read", &path))?;
        if self.parts.git.is_none() && restart != Restart::Yes {
            return self.cut_tail(name, &bytes, notices);
        }
        let Mended {
            content,
            missing,
            aside,
        } = mend(&bytes, expected);
        let Some(content) = content else {
            return Ok(());
        };
        for (line, bytes) in aside {
            let moved_to = self.put_aside(&path, line, &bytes)?;
            let (segment, bytes) = (name.clone(), bytes.len() as u64);
            notices.push(Notice::MovedAside {
                segment,
                line,
                bytes,
                moved_to,
            });
        }
        replace_segment(&*self.parts.ken, name, &content)?;
        notices.push(Notice::Healed {
            segment: name.clone(),
            events: missing,
        });
        Ok(())
    }

    /// Outside git: takes the last bytes as an event or cuts them off.
    fn cut_tail(
        &self,
        name: &SegmentName,
        bytes: &[u8],
        notices: &mut Vec<Notice>,
    ) -> Result<(), DiskError> {
        let path = name.path();
        let ken = &self.parts.ken;
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
        let moved_to = self.put_aside(&path, line, tail)?;
        ken.truncate(&path, keep as u64)
            .map_err(DiskError::on("cut", &path))?;
        let bytes = tail.len() as u64;
        notices.push(Notice::TornTail {
            file: path,
            line,
            bytes,
            moved_to,
        });
        Ok(())
    }
}

/// Puts `content` in the place of a segment, or makes a new one, all or nothing.
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
