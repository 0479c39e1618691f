//! The journal: every event of every worktree, durable before anything else happens.
//!
//! Files `journal/000001.jsonl`, `000002.jsonl` … in the state all worktrees share. A record is
//! the branch, the worktree, the segment and the event's line, separated by tabs, which no line
//! of canonical JSON contains. The journal is never read to answer a question about knowledge,
//! only to mend segments and to recover.
//!
//! Invariant: every event somebody was told of stands in a synced part of a file whose name is
//! durable; what follows it is one batch at most, of which nobody was told.

use std::collections::BTreeSet;

use ken_core::event::{LINE_BYTES_MAX, Recorded};
use ken_core::id::EventId;

use crate::disk::{Dir, DiskError, Stat};
use crate::layout::SegmentName;

/// Bytes after which a new file is begun.
pub const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Files a journal may have; the names have six digits.
const FILES_MAX: u32 = 999_999;
/// The branch recorded where there is none.
pub const NO_BRANCH: &str = "-";
const DIR: &str = "journal";

/// A place in the journal.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Position {
    /// Number of the file, counted from 1; 0 if there is none yet.
    pub file: u32,
    /// Bytes from its beginning.
    pub offset: u64,
}

/// A place in the journal and the identity of its file: a scrub replaces files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Mark {
    pub(crate) position: Position,
    pub(crate) inode: u64,
}

impl Mark {
    /// The end of a journal that has no file yet.
    pub(crate) const START: Self = Self {
        position: Position { file: 0, offset: 0 },
        inode: 0,
    };
}

/// One event and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub branch: &'a str,
    pub worktree: &'a str,
    pub segment: SegmentName,
    /// The event's line, not yet checked.
    pub line: &'a str,
}

/// A line of the journal that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Relative to the shared state's folder.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("the journal has {FILES_MAX} files, more than it can count")]
    Full,
}

/// A journal file with its bad parts taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    pub(crate) file: String,
    kept: Vec<u8>,
    /// Whether the bad parts were all at the end.
    only_tail: bool,
    /// Bytes that are no record, with the line they stood on.
    pub(crate) bad: Vec<(u64, Vec<u8>)>,
}

/// How closely the journal's end is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A write may have been cut short: the last byte tells.
    LastByte,
    /// The machine may have stopped before a sync: every record of the last file is read.
    EveryRecord,
}

/// The journal in the state all worktrees share.
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
            .filter_map(|(name, _)| number(&name))
            .collect())
    }

    /// Returns the end of the last file; `known` is where it was and saves the listing.
    pub(crate) fn end(&self, known: Option<Mark>) -> Result<Mark, DiskError> {
        // A file is followed by the next only when it is full.
        if let Some(Mark { position, inode }) = known
            && let Some(stat) = self.stat(position.file)?
            && stat.len < FILE_BYTES_MAX
            && stat.inode == inode
        {
            return Ok(mark(position.file, stat));
        }
        let Some(last) = self.files()?.last().copied() else {
            return Ok(Mark::START);
        };
        Ok(self
            .stat(last)?
            .map_or(Mark::START, |stat| mark(last, stat)))
    }

    /// Returns the last file without what is no record; `None` if it is sound.
    ///
    /// Only the last batch can be hurt by a crash, and nobody was told of it. It may be hurt in
    /// its middle, because blocks reach a disk in any order.
    pub(crate) fn cleaned(&self, end: Position, look: Look) -> Result<Option<Cleaned>, DiskError> {
        let Some(last) = end.offset.checked_sub(1) else {
            return Ok(None);
        };
        if look == Look::LastByte && self.read(end.file, last)? == b"\n" {
            return Ok(None);
        }
        let bytes = self.read(end.file, 0)?;
        let file = file_path(end.file);
        let mut cleaned = Cleaned {
            file,
            kept: Vec::new(),
            only_tail: true,
            bad: Vec::new(),
        };
        for (number, text) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let good = || {
                text.strip_suffix(b"\n")
                    .and_then(parse)
                    .is_some_and(|r| checks(&r))
            };
            let kept = match look {
                Look::LastByte => text.ends_with(b"\n"),
                Look::EveryRecord => good(),
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

    /// Stores a cleaned file; the caller has put the bad parts aside.
    pub(crate) fn store(&self, cleaned: &Cleaned) -> Result<(), DiskError> {
        let Cleaned {
            file,
            kept,
            only_tail,
            ..
        } = cleaned;
        let stored = if *only_tail {
            self.dir.truncate(file, kept.len() as u64)
        } else {
            self.dir.replace(file, kept)
        };
        stored.map_err(DiskError::on("clean", file))
    }

    /// Begins the next file where the last one is full or there is none; its name is not durable.
    pub(crate) fn roll(&self, end: Mark) -> Result<Mark, JournalError> {
        if !is_full(end.position) {
            return Ok(end);
        }
        let file = end.position.file + 1;
        if FILES_MAX < file {
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
        Ok(Mark {
            position: Position { file, offset: 0 },
            inode: stat.map_or(0, |stat| stat.inode),
        })
    }

    /// Makes the names of the files durable.
    pub(crate) fn sync_names(&self) -> Result<(), DiskError> {
        self.dir.sync_dir(DIR).map_err(DiskError::on("sync", DIR))
    }

    /// Writes records at `end` and makes them durable; returns the new end.
    ///
    /// If that fails the file is cut back, so that what nobody was told of does not appear later.
    pub(crate) fn append(&self, end: Position, records: &str) -> Result<Position, JournalError> {
        let path = file_path(end.file);
        let written = self.dir.append_durably(&path, records.as_bytes());
        if let Err(error) = written {
            // If this fails too, the next writer finds the tail; there is nothing better to do.
            let _ = self.dir.truncate(&path, end.offset);
            return Err(DiskError::on("write to", &path)(error).into());
        }
        Ok(Position {
            offset: end.offset + records.len() as u64,
            ..end
        })
    }

    /// Calls `visit` with every record from `from` on and returns what is none.
    pub fn scan(
        &self,
        from: Position,
        visit: &mut dyn FnMut(&Record<'_>),
    ) -> Result<Vec<BadRecord>, DiskError> {
        let mut bad = Vec::new();
        for file in self.files()? {
            if file < from.file {
                continue;
            }
            let offset = if file == from.file { from.offset } else { 0 };
            let (offset, bytes) = self.records_from(file, offset)?;
            for (line, text) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
                match text.strip_suffix(b"\n").map(parse) {
                    Some(Some(record)) => visit(&record),
                    Some(None) => {
                        let line = line + self.lines_before(file, offset)?;
                        bad.push(BadRecord {
                            file: file_path(file),
                            line,
                        });
                    }
                    // Being written this moment, or torn: nobody was told of it.
                    None => {}
                }
            }
        }
        Ok(bad)
    }

    /// Blanks the data of `events` wherever the journal holds it.
    pub fn scrub(&self, events: &BTreeSet<EventId>) -> Result<u64, DiskError> {
        let mut scrubbed = 0;
        for file in self.files()? {
            let bytes = self.read(file, 0)?;
            let mut kept = Vec::with_capacity(bytes.len());
            let before = scrubbed;
            for text in bytes.split_inclusive(|byte| *byte == b'\n') {
                match blanked_record(text, events) {
                    Some(blanked) => {
                        kept.extend_from_slice(blanked.as_bytes());
                        scrubbed += 1;
                    }
                    None => kept.extend_from_slice(text),
                }
            }
            if before < scrubbed {
                let path = file_path(file);
                self.dir
                    .replace(&path, &kept)
                    .map_err(DiskError::on("rewrite", &path))?;
            }
        }
        Ok(scrubbed)
    }

    /// Returns the records from `offset` on, or all where none begins there: a scrub may have
    /// moved what it pointed to.
    fn records_from(&self, file: u32, offset: u64) -> Result<(u64, Vec<u8>), DiskError> {
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

    /// Returns where records for a segment opened at `mark` begin.
    pub(crate) fn since(&self, mark: Mark) -> Result<Position, DiskError> {
        let Mark { position, inode } = mark;
        let same = self
            .stat(position.file)?
            .is_some_and(|stat| stat.inode == inode);
        Ok(if same {
            position
        } else {
            Position {
                offset: 0,
                ..position
            }
        })
    }

    fn stat(&self, file: u32) -> Result<Option<Stat>, DiskError> {
        let path = file_path(file);
        self.dir
            .stat(&path)
            .map_err(DiskError::on("look at", &path))
    }

    fn read(&self, file: u32, offset: u64) -> Result<Vec<u8>, DiskError> {
        let path = file_path(file);
        self.dir
            .read_from(&path, offset)
            .map_err(DiskError::on("read", &path))
    }
}

impl Record<'_> {
    /// Writes the record with its newline behind `out`.
    pub(crate) fn write(&self, out: &mut String) {
        let Self {
            branch,
            worktree,
            segment,
            line,
        } = self;
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

/// Reads a record without its newline; the event in it is not checked.
fn parse(text: &[u8]) -> Option<Record<'_>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = text.splitn(4, '\t');
    let (branch, worktree) = (parts.next()?, parts.next()?);
    let segment = parts.next()?.parse().ok()?;
    let line = parts.next().filter(|line| line.len() <= LINE_BYTES_MAX)?;
    Some(Record {
        branch,
        worktree,
        segment,
        line,
    })
}

/// Returns whether the event of a record is whole.
pub(crate) fn checks(record: &Record<'_>) -> bool {
    Recorded::check(record.line.as_bytes()).is_ok()
}

/// Returns the record blanked if it holds the data of one of `events`.
fn blanked_record(text: &[u8], events: &BTreeSet<EventId>) -> Option<String> {
    let record = parse(text.strip_suffix(b"\n")?)?;
    let event = Recorded::parse(record.line.as_bytes()).ok()?;
    if event.is_blanked() || !events.contains(&event.event.id) {
        return None;
    }
    let mut out = String::new();
    Record {
        line: event.blanked().line(),
        ..record
    }
    .write(&mut out);
    Some(out)
}

/// Returns whether the next event goes to a new file.
pub(crate) fn is_full(end: Position) -> bool {
    end.file == 0 || FILE_BYTES_MAX <= end.offset
}

fn mark(file: u32, stat: Stat) -> Mark {
    Mark {
        position: Position {
            file,
            offset: stat.len,
        },
        inode: stat.inode,
    }
}

fn file_path(file: u32) -> String {
    format!("{DIR}/{file:06}.jsonl")
}

fn number(name: &str) -> Option<u32> {
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
