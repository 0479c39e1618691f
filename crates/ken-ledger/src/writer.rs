//! Appends events: to the journal, durably, then to segments.
//!
//! Invariant: nothing is acknowledged before it is durable, and nothing is written to a segment
//! that git may have seen.

use std::collections::BTreeMap;
use std::io;

use ken_core::event::Recorded;
use ken_core::id::IdSource;
use ken_core::kind::Memory;
use ken_core::time::Timestamp;

use crate::disk::{DiskError, parent};
use crate::heal::{Depth, Settled};
use crate::journal::{Journal, JournalError, Mark, NO_BRANCH, Record};
use crate::layout::{self, Form, SegmentName};
use crate::ledger::Ledger;
use crate::notice::Notice;
use crate::state::{OpenSegment, OpenState};

/// Bytes after which a segment is closed and a new one opened.
pub const SEGMENT_BYTES_MAX: u64 = 1024 * 1024;
/// Names tried before giving up; a clash of six random characters in one minute is rare.
const NAME_TRIES_MAX: usize = 8;

/// What an append did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Appended {
    pub written: Vec<Written>,
    pub notices: Vec<Notice>,
}

impl Appended {
    /// Returns the segments written to.
    pub fn segments(&self) -> Vec<SegmentName> {
        let written = self.written.iter();
        written.map(|part| part.segment.clone()).collect()
    }
}

/// What was put behind one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub segment: SegmentName,
    /// Bytes the segment had before.
    pub before: u64,
    /// Whole lines.
    pub text: Vec<u8>,
    /// What they say.
    pub events: Vec<Recorded>,
}

/// Why nothing was appended: no event of the batch is acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What goes into one segment.
#[derive(Debug, Default)]
struct Portion {
    /// Whole lines.
    text: String,
    /// What they say.
    events: Vec<Recorded>,
    /// Bytes the segment has before it.
    len: u64,
}

impl Ledger {
    /// Appends `batch` durably; when it returns `Ok`, every event survives a power cut.
    ///
    /// A batch is not a transaction: after a crash *before* the acknowledgement some of its
    /// events may be there. Events whose id was blanked are written blanked.
    pub fn append(
        &self,
        batch: &[Recorded],
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<Appended, AppendError> {
        if batch.is_empty() {
            return Ok(Appended::default());
        }
        let lock = self.lock()?;
        let node = self.node_under(&lock, ids)?;
        let mut notices = self.complete_replacement(&lock);
        let mut settled = self.settle(&lock, node, Depth::Length)?;
        notices.append(&mut settled.notices);
        if self.parts.git.is_some() {
            let end = Journal::new(&*self.parts.local).roll(settled.end)?;
            self.memo.known().journal_names &= end == settled.end;
            settled.end = end;
        }
        let portions = self.open_segments(batch, &mut settled, now, ids)?;
        match &self.parts.git {
            Some(git) => {
                let worktree = git.worktree();
                self.write_journal(&settled, &worktree, &portions)?;
                self.write_behind_journal(&settled, &portions, &mut notices);
            }
            None => self.write_durably(&portions)?,
        }
        let written = portions.into_iter().map(|(segment, portion)| Written {
            segment,
            before: portion.len,
            text: portion.text.into_bytes(),
            events: portion.events,
        });
        Ok(Appended {
            written: written.collect(),
            notices,
        })
    }

    /// Finds or opens a segment for every event and makes that known before anything is written.
    fn open_segments(
        &self,
        batch: &[Recorded],
        settled: &mut Settled,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<BTreeMap<SegmentName, Portion>, DiskError> {
        let blanked = self.blanked_ids()?;
        let open = settled.state.segments.iter();
        let mut current: BTreeMap<Memory, SegmentName> = open
            .map(|open| (open.name.memory(), open.name.clone()))
            .collect();
        let mut portions: BTreeMap<SegmentName, Portion> = BTreeMap::new();
        for event in batch {
            let memory = event.event.memory();
            let event = if blanked.contains(&event.event.id) {
                event.blanked()
            } else {
                event.clone()
            };
            let line = event.line();
            let fits = |name: &&SegmentName| {
                let len = settled.lens.get(*name).copied().unwrap_or(0);
                len == 0 || len + line.len() as u64 <= SEGMENT_BYTES_MAX
            };
            let name = match current.get(&memory).filter(fits) {
                Some(name) => name.clone(),
                None => self.open_segment(memory, settled, now, ids)?,
            };
            current.insert(memory, name.clone());
            let len = settled.lens.entry(name.clone()).or_insert(0);
            if *len == 0 {
                // Whoever opened it may have failed before its name and ours were durable.
                let dir = layout::memory_dir(memory);
                self.parts
                    .ken
                    .sync_dir(&dir)
                    .map_err(DiskError::on("sync", &dir))?;
                settled.unsaved = true;
            }
            let portion = portions.entry(name).or_insert_with(|| Portion {
                len: *len,
                ..Portion::default()
            });
            *len += line.len() as u64 + 1;
            portion.text.push_str(line);
            portion.text.push('\n');
            portion.events.push(event);
        }
        if settled.unsaved {
            settled.state.save(&*self.parts.worktree, &self.memo)?;
        }
        Ok(portions)
    }

    /// Creates an empty segment; its name becomes durable before its first event.
    fn open_segment(
        &self,
        memory: Memory,
        settled: &mut Settled,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<SegmentName, DiskError> {
        let name = self.create_segment(memory, now, ids)?;
        let inode = self.stat_of(&name)?.map_or(0, |stat| stat.inode);
        let journal = self.parts.git.as_ref().map(|_| settled.end);
        settled.state.segments.push(OpenSegment {
            name: name.clone(),
            inode,
            journal,
        });
        Ok(name)
    }

    fn create_segment(
        &self,
        memory: Memory,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<SegmentName, DiskError> {
        let ken = &self.parts.ken;
        let name = self.free_name((memory, Form::Lines), now, ids)?;
        let path = name.path();
        let dir = parent(&path);
        // Git removes folders it emptied.
        ken.create_dirs(dir).map_err(DiskError::on("create", dir))?;
        ken.create_new(&path, b"")
            .map_err(DiskError::on("create", &path))?;
        Ok(name)
    }

    /// Returns a name no file of this tree has.
    pub(crate) fn free_name(
        &self,
        (memory, form): (Memory, Form),
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<SegmentName, DiskError> {
        for _ in 0..NAME_TRIES_MAX {
            let name = SegmentName::new(memory, form, now, ids.random());
            if self.stat_of(&name)?.is_none() {
                return Ok(name);
            }
        }
        let taken = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(DiskError::on("find a free name in", memory.name())(taken))
    }

    /// Writes every event to the journal with one sync; from here on they are durable.
    fn write_journal(
        &self,
        settled: &Settled,
        worktree: &str,
        portions: &BTreeMap<SegmentName, Portion>,
    ) -> Result<(), JournalError> {
        let branch = match settled.state.branch.as_str() {
            "" => NO_BRANCH,
            branch => branch,
        };
        let mut records = String::new();
        for (segment, portion) in portions {
            for line in portion.text.lines() {
                let segment = segment.clone();
                Record {
                    branch,
                    worktree,
                    segment,
                    line,
                }
                .write(&mut records);
            }
        }
        let journal = Journal::new(&*self.parts.local);
        if !self.memo.known().journal_names {
            journal.sync_names()?;
            self.memo.known().journal_names = true;
        }
        self.memo.known().journal = None;
        let position = journal.append(settled.end.position, &records)?;
        let mut known = self.memo.known();
        known.journal = Some(Mark {
            position,
            ..settled.end
        });
        known.lens.clone_from(&settled.lens);
        Ok(())
    }

    /// Writes segments the journal already vouches for; a failure is told and mended later.
    fn write_behind_journal(
        &self,
        settled: &Settled,
        portions: &BTreeMap<SegmentName, Portion>,
        notices: &mut Vec<Notice>,
    ) {
        let ken = &self.parts.ken;
        let before = notices.len();
        for (name, portion) in portions {
            let path = name.path();
            if let Err(error) = ken.append(&path, portion.text.as_bytes()) {
                // Half a line would look like damage to readers that cannot heal.
                let _ = ken.truncate(&path, portion.len);
                let error = error.to_string();
                notices.push(Notice::SegmentBehind {
                    segment: name.clone(),
                    error,
                });
            }
        }
        if before < notices.len() {
            // Readers mend what was not seen whole in this run of the machine. If this cannot be
            // written either, the next writer mends all the same.
            let state = OpenState {
                boot: None,
                ..settled.state.clone()
            };
            let _ = state.save(&*self.parts.worktree, &self.memo);
        }
    }

    /// Outside git: the segments alone carry the write.
    fn write_durably(&self, portions: &BTreeMap<SegmentName, Portion>) -> Result<(), DiskError> {
        let ken = &self.parts.ken;
        let write = |(name, portion): (&SegmentName, &Portion)| {
            let path = name.path();
            ken.append_durably(&path, portion.text.as_bytes())
                .map_err(DiskError::on("write to", &path))
        };
        if let Err(error) = portions.iter().try_for_each(write) {
            for (name, portion) in portions {
                // If this fails too, the next writer finds the tail; nobody was told of it.
                let _ = ken.truncate(&name.path(), portion.len);
            }
            return Err(error);
        }
        Ok(())
    }
}
