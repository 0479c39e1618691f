//! Segments as the index sees them: what their files look like from outside, and their lines.

use ken_core::event::{LineError, Recorded};
use ken_core::id::EventId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::IndexError;

/// A segment and what its file looks like from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentStat {
    pub name: String,
    /// Bytes of the file, which for a pack are not those of its text.
    pub len: u64,
    /// Nanoseconds since 1970; 0 where unknown.
    pub modified_ns: u64,
    /// Identity of the file on its disk; 0 where unknown.
    pub inode: u64,
}

/// Whether a copy of an event still has its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Full,
    Blank,
}

/// What a writer has just put behind a segment.
#[derive(Clone, Debug)]
pub struct Appended {
    /// The file as it is now.
    pub stat: SegmentStat,
    /// Bytes it had before.
    pub before: u64,
    /// Whole lines.
    pub text: Vec<u8>,
    /// What they say.
    pub events: Vec<Recorded>,
}

/// The events a segment holds, by form, each id as its 16 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) full: Vec<u8>,
    pub(crate) blank: Vec<u8>,
}

/// A segment as it was when its events were taken in.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) key: i64,
    pub(crate) stat: SegmentStat,
    /// Bytes of the text that were taken in; a torn tail is not among them.
    pub(crate) taken: usize,
    /// The [`chain`] of those bytes.
    pub(crate) digest: Digest,
}

/// Stands for the lines of a segment.
pub(crate) type Digest = [u8; 32];

/// The digest of a segment without lines.
pub(crate) const NO_LINES: Digest = [0; 32];

/// Lines that were read, and what did not become one.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) events: Vec<Recorded>,
    /// Bytes behind the last whole line that are no event.
    pub(crate) torn: usize,
}

/// A line that is no event although a newline ends it.
#[derive(Debug)]
pub(crate) struct BadLine {
    /// Counted from 1.
    pub(crate) line: u64,
    pub(crate) source: LineError,
}

impl Form {
    pub(crate) fn of(copy: &Recorded) -> Self {
        if copy.is_blanked() {
            Self::Blank
        } else {
            Self::Full
        }
    }
}

impl Holdings {
    pub(crate) fn of(events: &[Recorded]) -> Self {
        let mut holdings = Self::default();
        for copy in events {
            holdings.push(copy.event.id, Form::of(copy));
        }
        holdings
    }

    pub(crate) fn push(&mut self, id: EventId, form: Form) {
        let side = match form {
            Form::Full => &mut self.full,
            Form::Blank => &mut self.blank,
        };
        side.extend_from_slice(&id.to_bytes());
    }

    /// Returns every copy the segment holds.
    pub(crate) fn copies(&self) -> impl Iterator<Item = (EventId, Form)> + '_ {
        let full = ids(&self.full).map(|id| (id, Form::Full));
        full.chain(ids(&self.blank).map(|id| (id, Form::Blank)))
    }
}

fn ids(bytes: &[u8]) -> impl Iterator<Item = EventId> + '_ {
    let (ids, _) = bytes.as_chunks::<16>();
    ids.iter().map(|id| EventId::from_bytes(*id))
}

impl Known {
    /// Returns where new lines begin if `text` is this segment with something appended.
    pub(crate) fn grown_from(&self, text: &[u8]) -> Option<usize> {
        let (old, new) = text.split_at_checked(self.taken)?;
        if chain(NO_LINES, old) != self.digest {
            return None;
        }
        if old.is_empty() || old.ends_with(b"\n") || new.is_empty() {
            return Some(self.taken);
        }
        // The last line lacked its newline; what follows must supply it.
        new.starts_with(b"\n").then_some(self.taken + 1)
    }
}

/// Adds lines to a digest, one by one, so that what is appended can be added to what is known.
pub(crate) fn chain(digest: Digest, lines: &[u8]) -> Digest {
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    lines.fold(digest, |digest, line| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&digest);
        hasher.update(line.strip_suffix(b"\n").unwrap_or(line));
        *hasher.finalize().as_bytes()
    })
}

/// Splits `text` behind its last newline-terminated line.
///
/// What is left over is either a whole event that lacks its newline or was cut short.
pub(crate) fn split_tail(text: &[u8]) -> (&[u8], &[u8]) {
    let whole = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    text.split_at(whole)
}

/// Reads the lines of `text` from byte `from` on.
pub(crate) fn read_lines(text: &[u8], from: usize) -> Result<Lines, BadLine> {
    let (before, new) = text.split_at(from);
    let (whole, tail) = split_tail(new);
    let mut lines = Lines::default();
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let event = Recorded::parse(line).map_err(|source| BadLine {
            line: 1 + count_newlines(before) + lines.events.len() as u64,
            source,
        })?;
        lines.events.push(event);
    }
    if !tail.is_empty() {
        match Recorded::parse(tail) {
            Ok(event) => lines.events.push(event),
            Err(_) => lines.torn = tail.len(),
        }
    }
    Ok(lines)
}

fn count_newlines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Returns every segment the index took in.
pub(crate) fn known(db: &Connection) -> Result<Vec<Known>, IndexError> {
    let mut statement = db
        .prepare_cached("SELECT key, name, len, modified_ns, inode, taken, digest FROM segments")?;
    let known = statement.query_map([], from_row)?;
    Ok(known.collect::<Result<_, _>>()?)
}

/// Returns one segment the index took in.
pub(crate) fn known_as(db: &Connection, name: &str) -> Result<Option<Known>, IndexError> {
    let mut statement = db.prepare_cached(
        "SELECT key, name, len, modified_ns, inode, taken, digest FROM segments WHERE name = ?1",
    )?;
    Ok(statement.query_row([name], from_row).optional()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Known> {
    Ok(Known {
        key: row.get(0)?,
        stat: SegmentStat {
            name: row.get(1)?,
            len: unsigned(row.get(2)?),
            modified_ns: unsigned(row.get(3)?),
            inode: unsigned(row.get(4)?),
        },
        taken: unsigned(row.get(5)?) as usize,
        digest: row.get(6)?,
    })
}

/// Returns which copies the segment `key` held.
pub(crate) fn holdings(db: &Connection, key: i64) -> Result<Holdings, IndexError> {
    let mut statement = db.prepare_cached("SELECT full, blank FROM holdings WHERE segment = ?1")?;
    let mut rows = statement.query([key])?;
    let mut holdings = Holdings::default();
    while let Some(row) = rows.next()? {
        holdings
            .full
            .extend(row.get_ref(0)?.as_blob().map_err(IndexError::damaged)?);
        holdings
            .blank
            .extend(row.get_ref(1)?.as_blob().map_err(IndexError::damaged)?);
    }
    Ok(holdings)
}

/// What was taken in of a segment.
pub(crate) struct Taken<'a> {
    pub(crate) stat: &'a SegmentStat,
    pub(crate) bytes: usize,
    pub(crate) torn: usize,
    pub(crate) digest: Digest,
    /// What it holds beside what is written already.
    pub(crate) holdings: &'a Holdings,
}

/// Writes what was taken in of a segment over what was known of it.
pub(crate) fn write(db: &Connection, taken: &Taken<'_>) -> Result<(), IndexError> {
    let Taken { stat, .. } = taken;
    let key: i64 = db
        .prepare_cached(
            "INSERT INTO segments (name, len, modified_ns, inode, taken, torn, digest)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (name) DO UPDATE SET len = ?2, modified_ns = ?3, inode = ?4,
                taken = ?5, torn = ?6, digest = ?7
             RETURNING key",
        )?
        .query_row(
            params![
                stat.name,
                signed(stat.len),
                signed(stat.modified_ns),
                signed(stat.inode),
                signed(taken.bytes as u64),
                signed(taken.torn as u64),
                taken.digest,
            ],
            |row| row.get(0),
        )?;
    db.prepare_cached("INSERT INTO holdings VALUES (?1, ?2, ?3)")?
        .execute(params![key, taken.holdings.full, taken.holdings.blank])?;
    Ok(())
}

/// Forgets a segment.
pub(crate) fn delete(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM segments WHERE key = ?1")?
        .execute([key])?;
    delete_holdings(db, key)
}

/// Forgets what a segment held.
pub(crate) fn delete_holdings(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM holdings WHERE segment = ?1")?
        .execute([key])?;
    Ok(())
}

/// SQLite's integers are signed; an inode may use all 64 bits, and only equality matters.
fn signed(value: u64) -> i64 {
    value.cast_signed()
}

fn unsigned(value: i64) -> u64 {
    value.cast_unsigned()
}
