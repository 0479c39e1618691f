//! The journal: a durable copy of every event of every worktree, written before anything else.
//!
//! Files `journal/000001.jsonl`, `000002.jsonl` … in the state shared by all worktrees. A record
//! consists of branch, worktree, segment and event line, separated by tabs, which canonical JSON
//! never contains. The journal is read only to repair segments and to recover events, never to
//! answer queries.
//!
//! Invariant: every acknowledged event is in a synced part of a file whose name is durable. At most
//! one unacknowledged batch follows it.

use std::collections::BTreeSet;

use ken_core::ledger::event::{LINE_BYTES_MAX, RecordedEvent};
use ken_core::values::id::EventId;

use crate::disk::{Dir, DiskError, Stat};
use crate::layout::SegmentName;

/// File size after which a new file is started.
pub const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Maximum number of files; the names have six digits.
const FILES_MAX: u32 = 999_999;
/// Recorded as the branch if there is none.
pub const NO_BRANCH: &str = "-";
const DIR: &str = "journal";

/// A position in the journal.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct JournalPosition {
    /// 1-based file number; 0 if there is no file yet.
    pub file: u32,
    /// Byte offset in the file.
    pub offset: u64,
}

/// A position and the identity of its file, because a scrub replaces files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct JournalMark {
    pub(crate) position: JournalPosition,
    pub(crate) inode: u64,
}

impl JournalMark {
    /// The end of a journal without files.
    pub(crate) const START: Self = Self {
        position: JournalPosition { file: 0, offset: 0 },
        inode: 0,
    };
}

/// One event and its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRecord<'a> {
    pub branch: &'a str,
    pub worktree: &'a str,
    pub segment: SegmentName,
    /// The event's line, unchecked.
    pub line: &'a str,
}

/// A journal line that is not a valid record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Relative to the shared local state.
    pub file: String,
    /// 1-based.
    pub line: u64,
}

/// Failure of a journal operation.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("the journal has reached its maximum of {FILES_MAX} files")]
    Full,
}

/// A journal file without its invalid parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CleanedJournalFile {
    pub(crate) file: String,
    kept: Vec<u8>,
    /// Set if all invalid parts were at the end.
    only_tail: bool,
    /// Invalid bytes with their line number.
    pub(crate) bad: Vec<(u64, Vec<u8>)>,
}

/// Thoroughness of the check of the journal's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalTailCheck {
    /// A write may have been interrupted: check the last byte.
    LastByte,
    /// The machine may have stopped before a sync: check every record of the last file.
    EveryRecord,
}

/// The journal in the state shared by all worktrees.
#[derive(Clone, Copy, Debug)]
pub struct Journal<'a> {
    dir: &'a dyn Dir,
}

impl<'a> Journal<'a> {
    /// Uses the journal below `local`.
    pub fn new(local: &'a dyn Dir) -> Self {
        Self { dir: local }
    }

    /// Returns the numbers of the files.
    pub fn files(&self) -> Result<Vec<u32>, DiskError> {
        let listed = self.dir.list(DIR).map_err(DiskError::on("list", DIR))?;
        Ok(listed
            .into_iter()
            .filter_map(|(name, _)| parse_file_number(&name))
            .collect())
    }

    /// Returns the end of the last file; `known`, the previous end, saves listing the directory.
    pub(crate) fn end(&self, known: Option<JournalMark>) -> Result<JournalMark, DiskError> {
        // The next file is started only when this one is full.
        if let Some(JournalMark { position, inode }) = known
            && let Some(stat) = self.stat(position.file)?
            && stat.len < FILE_BYTES_MAX
            && stat.inode == inode
        {
            return Ok(mark_at(position.file, stat));
        }
        let Some(last) = self.files()?.last().copied() else {
            return Ok(JournalMark::START);
        };
        Ok(self
            .stat(last)?
            .map_or(JournalMark::START, |stat| mark_at(last, stat)))
    }

    /// Returns the last file without invalid records; `None` if it is valid.
    ///
    /// A crash can damage only the last, unacknowledged batch, possibly in its middle, because
    /// blocks reach the disk in any order.
    pub(crate) fn cleaned(
        &self,
        end: JournalPosition,
        look: JournalTailCheck,
    ) -> Result<Option<CleanedJournalFile>, DiskError> {
        let Some(last) = end.offset.checked_sub(1) else {
            return Ok(None);
        };
        // Reads one byte in the common case.
        if look == JournalTailCheck::LastByte && self.read(end.file, last)? == b"\n" {
            return Ok(None);
        }
        let bytes = self.read(end.file, 0)?;
        let file = file_path(end.file);
        let mut cleaned = CleanedJournalFile {
            file,
            kept: Vec::new(),
            only_tail: true,
            bad: Vec::new(),
        };
        for (number, text) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let good = || {
                text.strip_suffix(b"\n")
                    .and_then(parse_record)
                    .is_some_and(|r| is_valid_record(&r))
            };
            let kept = match look {
                JournalTailCheck::LastByte => text.ends_with(b"\n"),
                JournalTailCheck::EveryRecord => good(),
            };
            if kept {
                cleaned.only_tail &= cleaned.bad.is_empty();
                cleaned.kept.extend_from_slice(text);
            } else {
                cleaned.bad.push((number, text.to_owned()));
            }
        }
        Ok((!cleaned.bad.is_empty()).then_some(cleaned))
    }

    /// Stores a cleaned file; the caller has saved the invalid parts.
    pub(crate) fn store(&self, cleaned: &CleanedJournalFile) -> Result<(), DiskError> {
        let CleanedJournalFile {
            file,
            kept,
            only_tail,
            ..
        } = cleaned;
        let stored = if *only_tail {
            // Truncating keeps the inode, so marks that other processes hold stay valid.
            self.dir.truncate(file, kept.len() as u64)
        } else {
            self.dir.replace(file, kept)
        };
        stored.map_err(DiskError::on("clean", file))
    }

    /// Starts the next file if the last one is full or there is none; its name is not durable yet.
    pub(crate) fn roll(&self, end: JournalMark) -> Result<JournalMark, JournalError> {
        if !is_full(end.position) {
            return Ok(end);
        }
        let file = end.position.file + 1;
        if file > FILES_MAX {
            return Err(JournalError::Full);
        }
        let path = file_path(file);
        self.dir
            .create_dirs(DIR)
            .map_err(DiskError::on("create", DIR))?;
        self.dir
            .create_new(&path, b"")
            .map_err(DiskError::on("create", &path))?;
        let stat = self.stat(file)?;
        Ok(JournalMark {
            position: JournalPosition { file, offset: 0 },
            inode: stat.map_or(0, |stat| stat.inode),
        })
    }

    /// Makes the names of the files durable.
    pub(crate) fn sync_names(&self) -> Result<(), DiskError> {
        self.dir.sync_dir(DIR).map_err(DiskError::on("sync", DIR))
    }

    /// Appends records at `end` durably and returns the new end.
    ///
    /// On failure the file is truncated, so that unacknowledged events do not appear later.
    pub(crate) fn append(
        &self,
        end: JournalPosition,
        records: &str,
    ) -> Result<JournalPosition, JournalError> {
        let path = file_path(end.file);
        let written = self.dir.append_durably(&path, records.as_bytes());
        if let Err(error) = written {
            // If this fails too, the next writer removes the tail.
            let _ = self.dir.truncate(&path, end.offset);
            return Err(DiskError::on("write to", &path)(error).into());
        }
        Ok(JournalPosition {
            offset: end.offset + records.len() as u64,
            ..end
        })
    }

    /// Calls `visit` with every record from `from` and returns the invalid lines.
    pub fn scan(
        &self,
        from: JournalPosition,
        visit: &mut dyn FnMut(&JournalRecord<'_>),
    ) -> Result<Vec<BadRecord>, DiskError> {
        let mut bad = Vec::new();
        for file in self.files()? {
            if file < from.file {
                continue;
            }
            let offset = if file == from.file { from.offset } else { 0 };
            let (offset, bytes) = self.read_records(file, offset)?;
            for (line, text) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
                match text.strip_suffix(b"\n").map(parse_record) {
                    Some(Some(record)) => visit(&record),
                    Some(None) => {
                        // Counted only for invalid lines, because it reads the file again.
                        let line = line + self.lines_before(file, offset)?;
                        bad.push(BadRecord {
                            file: file_path(file),
                            line,
                        });
                    }
                    // Torn or still being written by another process: not acknowledged.
                    None => {}
                }
            }
        }
        Ok(bad)
    }

    /// Redacts `events` in all records and returns the number of redacted records.
    pub fn scrub(&self, events: &BTreeSet<EventId>) -> Result<u64, DiskError> {
        let mut scrubbed = 0;
        for file in self.files()? {
            let bytes = self.read(file, 0)?;
            // Redacted records are shorter, so the file is rewritten instead of patched in place.
            let mut kept = Vec::with_capacity(bytes.len());
            let before = scrubbed;
            for text in bytes.split_inclusive(|byte| *byte == b'\n') {
                match redact_record(text, events) {
                    Some(blanked) => {
                        kept.extend_from_slice(blanked.as_bytes());
                        scrubbed += 1;
                    }
                    None => kept.extend_from_slice(text),
                }
            }
            if scrubbed > before {
                let path = file_path(file);
                self.dir
                    .replace(&path, &kept)
                    .map_err(DiskError::on("rewrite", &path))?;
            }
        }
        Ok(scrubbed)
    }

    /// Returns the records from `offset`, or all records if none starts there, because a scrub may
    /// have moved them.
    fn read_records(&self, file: u32, offset: u64) -> Result<(u64, Vec<u8>), DiskError> {
        if let Some(before) = offset.checked_sub(1) {
            let mut bytes = self.read(file, before)?;
            if bytes.first() == Some(&b'\n') {
                bytes.remove(0);
                return Ok((offset, bytes));
            }
        }
        Ok((0, self.read(file, 0)?))
    }

    fn lines_before(&self, file: u32, offset: u64) -> Result<u64, DiskError> {
        let bytes = self.read(file, 0)?;
        let before = &bytes[..usize::try_from(offset).unwrap_or(0).min(bytes.len())];
        Ok(before.iter().filter(|byte| **byte == b'\n').count() as u64)
    }

    /// Returns the position from which to read records of a segment opened at `mark`.
    pub(crate) fn since(&self, mark: JournalMark) -> Result<JournalPosition, DiskError> {
        let JournalMark { position, inode } = mark;
        let same = self
            .stat(position.file)?
            .is_some_and(|stat| stat.inode == inode);
        Ok(if same {
            position
        } else {
            JournalPosition {
                offset: 0,
                ..position
            }
        })
    }

    fn stat(&self, file: u32) -> Result<Option<Stat>, DiskError> {
        let path = file_path(file);
        self.dir
            .stat(&path)
            .map_err(DiskError::on("read the metadata of", &path))
    }

    fn read(&self, file: u32, offset: u64) -> Result<Vec<u8>, DiskError> {
        let path = file_path(file);
        self.dir
            .read_from(&path, offset)
            .map_err(DiskError::on("read", &path))
    }
}

impl JournalRecord<'_> {
    /// Appends the record and its newline to `out`.
    pub(crate) fn write(&self, out: &mut String) {
        let Self {
            branch,
            worktree,
            segment,
            line,
        } = self;
        // A tab or newline in a branch name would break the record format.
        let visible = |c: char| if c.is_control() { '?' } else { c };
        out.extend(branch.chars().map(visible));
        out.push('\t');
        out.extend(worktree.chars().map(visible));
        out.push('\t');
        out.push_str(&segment.path());
        out.push('\t');
        out.push_str(line);
        out.push('\n');
    }
}

/// Parses a record without its newline; the event in it is not checked.
fn parse_record(text: &[u8]) -> Option<JournalRecord<'_>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = text.splitn(4, '\t');
    let (branch, worktree) = (parts.next()?, parts.next()?);
    let segment = parts.next()?.parse().ok()?;
    // A longer line cannot be an event; rejecting it bounds the cost of parsing.
    let line = parts.next().filter(|line| line.len() <= LINE_BYTES_MAX)?;
    Some(JournalRecord {
        branch,
        worktree,
        segment,
        line,
    })
}

/// Returns whether the event of a record is complete.
pub(crate) fn is_valid_record(record: &JournalRecord<'_>) -> bool {
    RecordedEvent::check(record.line.as_bytes()).is_ok()
}

/// Returns the redacted record if it contains the data of one of `events`.
fn redact_record(text: &[u8], events: &BTreeSet<EventId>) -> Option<String> {
    let record = parse_record(text.strip_suffix(b"\n")?)?;
    let event = RecordedEvent::parse(record.line.as_bytes()).ok()?;
    if event.is_redacted() || !events.contains(&event.event.id) {
        return None;
    }
    let mut out = String::new();
    JournalRecord {
        line: event.redacted().line(),
        ..record
    }
    .write(&mut out);
    Some(out)
}

/// Returns whether the next event goes to a new file.
pub(crate) fn is_full(end: JournalPosition) -> bool {
    end.file == 0 || end.offset >= FILE_BYTES_MAX
}

fn mark_at(file: u32, stat: Stat) -> JournalMark {
    JournalMark {
        position: JournalPosition {
            file,
            offset: stat.len,
        },
        inode: stat.inode,
    }
}

fn file_path(file: u32) -> String {
    format!("{DIR}/{file:06}.jsonl")
}

fn parse_file_number(name: &str) -> Option<u32> {
    let digits = name
        .strip_suffix(".jsonl")
        .filter(|digits| digits.len() == 6)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests;
