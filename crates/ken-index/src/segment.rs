//! Segments as the index sees them: file metadata, lines, and the stored rows.

use ken_core::ledger::event::{LineError, RecordedEvent};
use ken_core::values::id::EventId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::IndexError;

/// Name and file metadata of a segment, compared to detect changes without reading the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSegment {
    pub name: String,
    /// File size in bytes; for a pack this is the compressed size.
    pub len: u64,
    /// Modification time in nanoseconds since 1970; 0 if unknown.
    pub modified_ns: u64,
    /// Inode number; 0 if unknown.
    pub inode: u64,
}

/// Form of an event copy: with its data, or redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyForm {
    Full,
    Blank,
}

/// Lines that a writer has just appended to a segment.
#[derive(Clone, Debug)]
pub struct SegmentAppend {
    /// File metadata after the append.
    pub stat: ListedSegment,
    /// File size before the append.
    pub before: u64,
    /// The appended bytes: complete lines only.
    pub text: Vec<u8>,
    /// The parsed events of those lines.
    pub events: Vec<RecordedEvent>,
}

/// Ids of the events in a segment by form, each id as 16 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentEventIds {
    pub(crate) full: Vec<u8>,
    pub(crate) blank: Vec<u8>,
}

/// A segment as it was when it was last indexed.
#[derive(Clone, Debug)]
pub(crate) struct IndexedSegment {
    pub(crate) key: i64,
    pub(crate) stat: ListedSegment,
    /// Bytes of the text that are indexed, excluding a torn tail.
    pub(crate) taken: usize,
    /// Digest of those bytes, see [`extend_digest`].
    pub(crate) digest: LinesDigest,
}

/// Hash chain over the lines of a segment.
pub(crate) type LinesDigest = [u8; 32];

/// Digest of a segment without lines.
pub(crate) const EMPTY_DIGEST: LinesDigest = [0; 32];

/// Parsed lines and the length of the torn tail.
#[derive(Debug, Default)]
pub(crate) struct ParsedLines {
    pub(crate) events: Vec<RecordedEvent>,
    /// Bytes after the last complete line that are not a valid event.
    pub(crate) torn: usize,
}

/// A newline-terminated line that is not a valid event.
#[derive(Debug)]
pub(crate) struct BadLine {
    /// 1-based.
    pub(crate) line: u64,
    pub(crate) source: LineError,
}

impl CopyForm {
    pub(crate) fn of(copy: &RecordedEvent) -> Self {
        if copy.is_redacted() {
            Self::Blank
        } else {
            Self::Full
        }
    }
}

impl SegmentEventIds {
    pub(crate) fn of(events: &[RecordedEvent]) -> Self {
        let mut holdings = Self::default();
        for copy in events {
            holdings.push(copy.event.id, CopyForm::of(copy));
        }
        holdings
    }

    pub(crate) fn push(&mut self, id: EventId, form: CopyForm) {
        let side = match form {
            CopyForm::Full => &mut self.full,
            CopyForm::Blank => &mut self.blank,
        };
        side.extend_from_slice(&id.to_bytes());
    }

    /// Returns every event copy of the segment.
    pub(crate) fn copies(&self) -> impl Iterator<Item = (EventId, CopyForm)> + '_ {
        let full = decode_ids(&self.full).map(|id| (id, CopyForm::Full));
        full.chain(decode_ids(&self.blank).map(|id| (id, CopyForm::Blank)))
    }
}

fn decode_ids(bytes: &[u8]) -> impl Iterator<Item = EventId> + '_ {
    let (ids, _) = bytes.as_chunks::<16>();
    ids.iter().map(|id| EventId::from_bytes(*id))
}

impl IndexedSegment {
    /// Returns the offset of the first new line if `text` is this segment plus appended lines.
    pub(crate) fn append_offset(&self, text: &[u8]) -> Option<usize> {
        // A text shorter than the indexed part was rewritten, not appended to.
        let (old, new) = text.split_at_checked(self.taken)?;
        if extend_digest(EMPTY_DIGEST, old) != self.digest {
            return None;
        }
        if old.is_empty() || old.ends_with(b"\n") || new.is_empty() {
            return Some(self.taken);
        }
        // The last indexed line lacked its newline, so the appended bytes must begin with it.
        new.starts_with(b"\n").then_some(self.taken + 1)
    }
}

/// Extends a digest line by line, so that appended lines extend the digest of the known ones.
pub(crate) fn extend_digest(digest: LinesDigest, lines: &[u8]) -> LinesDigest {
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    lines.fold(digest, |digest, line| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&digest);
        // The newline is not hashed: a last line without one keeps its digest when it is completed.
        hasher.update(line.strip_suffix(b"\n").unwrap_or(line));
        *hasher.finalize().as_bytes()
    })
}

/// Splits `text` after its last newline-terminated line.
///
/// The rest is a complete event without its newline or a truncated line.
pub(crate) fn split_tail(text: &[u8]) -> (&[u8], &[u8]) {
    let whole = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    text.split_at(whole)
}

/// Parses the lines of `text` from byte `from`.
pub(crate) fn read_lines(text: &[u8], from: usize) -> Result<ParsedLines, BadLine> {
    let (before, new) = text.split_at(from);
    let (whole, tail) = split_tail(new);
    let mut lines = ParsedLines::default();
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let event = RecordedEvent::parse(line).map_err(|source| BadLine {
            line: 1 + count_newlines(before) + lines.events.len() as u64,
            source,
        })?;
        lines.events.push(event);
    }
    if !tail.is_empty() {
        // A crashed writer leaves a torn tail; it is reported but is not an error.
        match RecordedEvent::parse(tail) {
            Ok(event) => lines.events.push(event),
            Err(_) => lines.torn = tail.len(),
        }
    }
    Ok(lines)
}

fn count_newlines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Loads every indexed segment.
pub(crate) fn load_segments(db: &Connection) -> Result<Vec<IndexedSegment>, IndexError> {
    let mut statement = db
        .prepare_cached("SELECT key, name, len, modified_ns, inode, taken, digest FROM segments")?;
    let known = statement.query_map([], from_row)?;
    Ok(known.collect::<Result<_, _>>()?)
}

/// Loads one indexed segment by name.
pub(crate) fn load_segment(
    db: &Connection,
    name: &str,
) -> Result<Option<IndexedSegment>, IndexError> {
    let mut statement = db.prepare_cached(
        "SELECT key, name, len, modified_ns, inode, taken, digest FROM segments WHERE name = ?1",
    )?;
    Ok(statement.query_row([name], from_row).optional()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<IndexedSegment> {
    Ok(IndexedSegment {
        key: row.get(0)?,
        stat: ListedSegment {
            name: row.get(1)?,
            len: unsigned(row.get(2)?),
            modified_ns: unsigned(row.get(3)?),
            inode: unsigned(row.get(4)?),
        },
        taken: unsigned(row.get(5)?) as usize,
        digest: row.get(6)?,
    })
}

/// Loads the event ids of the segment `key`.
pub(crate) fn load_event_ids(db: &Connection, key: i64) -> Result<SegmentEventIds, IndexError> {
    let mut statement = db.prepare_cached("SELECT full, blank FROM holdings WHERE segment = ?1")?;
    let mut rows = statement.query([key])?;
    let mut holdings = SegmentEventIds::default();
    // Each append adds a row, so one segment may have several.
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

/// The indexed part of a segment, as written to the database.
pub(crate) struct SegmentRow<'a> {
    pub(crate) stat: &'a ListedSegment,
    pub(crate) bytes: usize,
    pub(crate) torn: usize,
    pub(crate) digest: LinesDigest,
    /// Event ids to add to those already stored for the segment.
    pub(crate) holdings: &'a SegmentEventIds,
}

/// Inserts or updates the row of a segment and adds its new event ids.
pub(crate) fn write_segment(db: &Connection, taken: &SegmentRow<'_>) -> Result<(), IndexError> {
    let SegmentRow { stat, .. } = taken;
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

/// Deletes a segment and its event ids.
pub(crate) fn delete_segment(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM segments WHERE key = ?1")?
        .execute([key])?;
    delete_event_ids(db, key)
}

/// Deletes the event ids of a segment.
pub(crate) fn delete_event_ids(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM holdings WHERE segment = ?1")?
        .execute([key])?;
    Ok(())
}

/// Reinterprets as a signed integer, the only kind SQLite has. An inode may use all 64 bits, and
/// only equality matters.
fn signed(value: u64) -> i64 {
    value.cast_signed()
}

fn unsigned(value: i64) -> u64 {
    value.cast_unsigned()
}
