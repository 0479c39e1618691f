//! Appending events: durably to the journal, then to segments.
//!
//! Invariant: nothing is acknowledged before it is durable, and nothing is written to a segment
//! that git may have seen.

use std::collections::BTreeMap;
use std::io;

use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::IdSource;
use ken_core::values::kind::Memory;
use ken_core::values::time::Timestamp;

use crate::disk::{DiskError, parent};
use crate::journal::{Journal, JournalError, JournalMark, JournalRecord, NO_BRANCH};
use crate::layout::{self, SegmentForm, SegmentName};
use crate::ledger::Ledger;
use crate::notice::LedgerNotice;
use crate::repair::{ComparisonDepth, PreparedSegments};
use crate::state::{OpenSegment, OpenState};

/// Segment size above which a new segment is opened.
pub const SEGMENT_BYTES_MAX: u64 = 1024 * 1024;
/// Attempts to find an unused name; a collision of six random characters within a minute is rare.
const NAME_TRIES_MAX: usize = 8;

/// Result of an append.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppendReport {
    pub written: Vec<SegmentWrite>,
    pub notices: Vec<LedgerNotice>,
}

impl AppendReport {
    /// Returns the segments written to.
    pub fn segments(&self) -> Vec<SegmentName> {
        let written = self.written.iter();
        written.map(|part| part.segment.clone()).collect()
    }
}

/// Lines appended to one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentWrite {
    pub segment: SegmentName,
    /// Segment size before the append.
    pub before: u64,
    /// Complete lines.
    pub text: Vec<u8>,
    /// The events of those lines.
    pub events: Vec<RecordedEvent>,
}

/// Failure of an append: no event of the batch is acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Lines to append to one segment.
#[derive(Debug, Default)]
struct SegmentBatch {
    /// Complete lines.
    text: String,
    /// The events of those lines.
    events: Vec<RecordedEvent>,
    /// Segment size before the append.
    len: u64,
}

impl Ledger {
    /// Appends `batch` durably; when it returns `Ok`, every event survives a power failure.
    ///
    /// A batch is not a transaction: after a crash *before* the acknowledgement, some of its events
    /// may be present. Redacted events are written in redacted form.
    pub fn append(
        &self,
        batch: &[RecordedEvent],
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<AppendReport, AppendError> {
        if batch.is_empty() {
            return Ok(AppendReport::default());
        }
        let lock = self.lock()?;
        let node = self.ensure_node_id_locked(&lock, ids)?;
        // First, because an interrupted replacement may still remove or restore segments.
        let mut notices = self.complete_replacement(&lock);
        let mut settled = self.settle(&lock, node, ComparisonDepth::Length)?;
        notices.append(&mut settled.notices);
        if self.parts.git.is_some() {
            let end = Journal::new(&*self.parts.local).roll(settled.end)?;
            // A new file has a name that is not durable yet.
            self.memo.known().journal_names &= end == settled.end;
            settled.end = end;
        }
        let portions = self.open_segments(batch, &mut settled, now, ids)?;
        match &self.parts.git {
            // The journal write is the commit point; segments follow without a sync.
            Some(git) => {
                let worktree = git.worktree();
                self.write_journal(&settled, &worktree, &portions)?;
                self.write_segments(&settled, &portions, &mut notices);
            }
            None => self.write_segments_durably(&portions)?,
        }
        let written = portions.into_iter().map(|(segment, portion)| SegmentWrite {
            segment,
            before: portion.len,
            text: portion.text.into_bytes(),
            events: portion.events,
        });
        Ok(AppendReport {
            written: written.collect(),
            notices,
        })
    }

    /// Assigns a segment to every event and saves the set of open segments before any event is
    /// written.
    fn open_segments(
        &self,
        batch: &[RecordedEvent],
        settled: &mut PreparedSegments,
        now: Timestamp,
        ids: &mut dyn IdSource,
    ) -> Result<BTreeMap<SegmentName, SegmentBatch>, DiskError> {
        let blanked = self.blanked_ids()?;
        let open = settled.state.segments.iter();
        let mut current: BTreeMap<Memory, SegmentName> = open
            .map(|open| (open.name.memory(), open.name.clone()))
            .collect();
        let mut portions: BTreeMap<SegmentName, SegmentBatch> = BTreeMap::new();
        for event in batch {
            let memory = event.event.memory();
            let event = if blanked.contains(&event.event.id) {
                event.redacted()
            } else {
                event.clone()
            };
            let line = event.line();
            let fits = |name: &&SegmentName| {
                let len = settled.lens.get(*name).copied().unwrap_or(0);
                // An event larger than the limit gets a segment of its own.
                len == 0 || len + line.len() as u64 <= SEGMENT_BYTES_MAX
            };
            let name = match current.get(&memory).filter(fits) {
                Some(name) => name.clone(),
                None => self.open_segment(memory, settled, now, ids)?,
            };
            current.insert(memory, name.clone());
            let len = settled.lens.entry(name.clone()).or_insert(0);
            if *len == 0 {
                // Its creator may have failed before the file name and `open.json` were durable.
                let dir = layout::memory_dir(memory);
                self.parts
                    .ken
                    .sync_dir(&dir)
                    .map_err(DiskError::on("sync", &dir))?;
                settled.unsaved = true;
            }
            let portion = portions.entry(name).or_insert_with(|| SegmentBatch {
                len: *len,
                ..SegmentBatch::default()
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
        settled: &mut PreparedSegments,
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
        let name = self.unused_name((memory, SegmentForm::Lines), now, ids)?;
        let path = name.path();
        let dir = parent(&path);
        // Git removes directories that become empty.
        ken.create_dirs(dir).map_err(DiskError::on("create", dir))?;
        ken.create_new(&path, b"")
            .map_err(DiskError::on("create", &path))?;
        Ok(name)
    }

    /// Returns a name that no file of this worktree has.
    pub(crate) fn unused_name(
        &self,
        (memory, form): (Memory, SegmentForm),
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

    /// Writes every event to the journal with one sync; afterwards they are durable.
    fn write_journal(
        &self,
        settled: &PreparedSegments,
        worktree: &str,
        portions: &BTreeMap<SegmentName, SegmentBatch>,
    ) -> Result<(), JournalError> {
        let branch = match settled.state.branch.as_str() {
            "" => NO_BRANCH,
            branch => branch,
        };
        let mut records = String::new();
        for (segment, portion) in portions {
            for line in portion.text.lines() {
                let segment = segment.clone();
                JournalRecord {
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
        // Cleared before the write: after a failure the cached end would be wrong.
        self.memo.known().journal = None;
        let position = journal.append(settled.end.position, &records)?;
        let mut known = self.memo.known();
        known.journal = Some(JournalMark {
            position,
            ..settled.end
        });
        known.lens.clone_from(&settled.lens);
        Ok(())
    }

    /// Writes segments whose events are already in the journal; a failure becomes a notice and is
    /// repaired later.
    fn write_segments(
        &self,
        settled: &PreparedSegments,
        portions: &BTreeMap<SegmentName, SegmentBatch>,
        notices: &mut Vec<LedgerNotice>,
    ) {
        let ken = &self.parts.ken;
        let before = notices.len();
        for (name, portion) in portions {
            let path = name.path();
            if let Err(error) = ken.append(&path, portion.text.as_bytes()) {
                // A partial line would look like damage to readers that cannot repair it.
                let _ = ken.truncate(&path, portion.len);
                let error = error.to_string();
                notices.push(LedgerNotice::SegmentBehind {
                    segment: name.clone(),
                    error,
                });
            }
        }
        if notices.len() > before {
            // Without a boot id readers repair the segments. If this write fails too, the next
            // writer repairs them anyway.
            let state = OpenState {
                boot: None,
                ..settled.state.clone()
            };
            let _ = state.save(&*self.parts.worktree, &self.memo);
        }
    }

    /// Writes segments durably; outside git there is no journal.
    fn write_segments_durably(
        &self,
        portions: &BTreeMap<SegmentName, SegmentBatch>,
    ) -> Result<(), DiskError> {
        let ken = &self.parts.ken;
        let write = |(name, portion): (&SegmentName, &SegmentBatch)| {
            let path = name.path();
            ken.append_durably(&path, portion.text.as_bytes())
                .map_err(DiskError::on("write to", &path))
        };
        // Nothing of a failed batch may remain, including segments that were written successfully.
        if let Err(error) = portions.iter().try_for_each(write) {
            for (name, portion) in portions {
                // If this fails too, the next writer removes the tail, which was not acknowledged.
                let _ = ken.truncate(&name.path(), portion.len);
            }
            return Err(error);
        }
        Ok(())
    }
}
