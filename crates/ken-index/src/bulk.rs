//! Bulk load: builds the index from scratch, parsing each line once.
//!
//! Lines are grouped by event and entry from a cheap scan. Then worker threads parse, check and
//! fold entry by entry while the calling thread writes, so that a million events never exist in
//! parsed form at the same time. Indexes are created last. Everything happens in the caller's
//! transaction: a damaged line leaves no changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ken_core::ledger::event::{RecordedEvent, redact_line};
use ken_core::ledger::state::redaction_target;
use ken_core::values::id::{EntryId, EventId};
use rusqlite::{Connection, params};

use crate::database;
use crate::error::{IndexError, RefreshError};
use crate::fold::{self, FoldedBatch};
use crate::gather::{SegmentBuffers, read_and_scan};
use crate::refresh::{RefreshReport, line_error};
use crate::rows::{self, CopyCounts};
use crate::scan::{LineSummary, RedactionLink, SegmentScan, TouchedEntries};
use crate::search;
use crate::segment::{self, CopyForm, ListedSegment, SegmentRow};

/// SQLite page cache during a load, in KiB.
const CACHE_KIB: i64 = 64 * 1024;

/// Bytes of text below which recreating the tables costs more than maintaining their indexes.
const IN_PLACE_BYTES_MAX: usize = 1 << 20;

/// Events written between two checks for folded batches.
const EVENTS_PER_TURN: usize = 512;

/// Entries whose event links are written between two checks.
const GROUPS_PER_TURN: usize = 64;

/// Replaces the contents of the index with the listed segments.
///
/// Keeps events that a caller added directly.
pub(crate) fn fill<E>(
    db: &Connection,
    listing: &[ListedSegment],
    remembered: &[EventId],
    read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<RefreshReport, RefreshError<E>> {
    // Read first, because recreating the tables drops these events.
    let loose = load_loose_events(db)?;
    let texts = SegmentBuffers::new(listing.len());
    let scans = read_and_scan(&texts, listing, read)?;
    let Some(scans) = scans.into_iter().collect::<Option<Vec<_>>>() else {
        return Err(first_line_error(listing, &texts));
    };
    let bytes: usize = texts.iter().map(<[u8]>::len).sum();
    let in_place = bytes < IN_PLACE_BYTES_MAX && database::is_fresh(db)?;
    if !in_place {
        database::recreate_tables(db)?;
    }
    for (stat, scan) in listing.iter().zip(&scans) {
        let taken = SegmentRow {
            stat,
            bytes: scan.bytes,
            torn: scan.torn,
            digest: scan.digest,
            holdings: &scan.holdings,
        };
        segment::write_segment(db, &taken)?;
    }
    // Takes the scans apart, so the segment rows above are written first.
    let Some(load) = BulkLoad::new(scans, loose, remembered) else {
        return Err(first_line_error(listing, &texts));
    };
    let entries = load.groups.len();
    if !load.write(db)? {
        return Err(first_line_error(listing, &texts));
    }
    write_remembered(db, remembered)?;
    search::mark_all_outdated(db)?;
    if !in_place {
        database::create_indexes(db)?;
    }
    // Old pages in the write-ahead log may contain text that is redacted now.
    rows::write_meta(db, rows::META_SCRUB, &[])?;
    Ok(RefreshReport {
        segments_read: listing.len(),
        events_added: load.events.len(),
        entries_folded: entries,
        ..RefreshReport::default()
    })
}

/// Everything to write, sorted.
struct BulkLoad<'a> {
    /// One line per event, ordered by id.
    events: Vec<LineSummary<'a>>,
    groups: Vec<EntryEventGroup>,
    /// Positions in `events`, grouped by entry.
    places: Vec<u32>,
    /// Positions of events that touch no entry.
    alone: Vec<u32>,
    orders: Vec<RedactionLink>,
}

/// The events of one entry, as a range of positions.
pub(crate) struct EntryEventGroup {
    pub(crate) entry: EntryId,
    pub(crate) places: Range<usize>,
}

impl<'a> BulkLoad<'a> {
    /// Sorts the scanned lines; `None` if a line is not a valid event.
    fn new(
        scans: Vec<SegmentScan<'a>>,
        loose: Vec<(RecordedEvent, u8)>,
        remembered: &[EventId],
    ) -> Option<Self> {
        let count = scans.iter().map(|scan| scan.glimpses.len()).sum::<usize>() + loose.len();
        let mut events = Vec::with_capacity(count);
        let mut orders = Vec::new();
        for scan in scans {
            events.extend(scan.glimpses);
            orders.extend(scan.orders);
        }
        for (copy, bits) in loose {
            let event = copy.event.id;
            orders.extend(
                redaction_target(&copy.event).map(|target| RedactionLink { target, event }),
            );
            let copies = CopyCounts {
                loose: bits,
                ..CopyCounts::default()
            };
            events.push(LineSummary {
                copies,
                ..LineSummary::of(&copy)
            });
        }
        // A stable sort, so copies merge in listing order and the result is reproducible.
        events.sort_by_key(|glimpse| glimpse.id);
        let mut sound = true;
        events.dedup_by(|copy, kept| {
            let same = copy.id == kept.id;
            if same {
                sound &= merge_copies(kept, copy).is_some();
            }
            same
        });
        redact_targets(&mut events, &orders, remembered)?;
        let (groups, places, alone) = group_by_entry(&events);
        sound.then_some(Self {
            events,
            groups,
            places,
            alone,
            orders,
        })
    }

    /// Writes all rows; returns `false` if a line is not a valid event.
    fn write(&self, db: &Connection) -> Result<bool, IndexError> {
        let cache: i64 = db.query_row("PRAGMA cache_size", [], |row| row.get(0))?;
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        let mut workspace = BTreeMap::new();
        let work = fold::FoldJob {
            events: &self.events,
            groups: &self.groups,
            places: &self.places,
            alone: &self.alone,
        };
        let mut rest = RemainingRows::of(self);
        let sound = fold::fold_all(&work, |folded| {
            let Some(FoldedBatch { rows, shared }) = folded else {
                return rest.write_some(db);
            };
            for (group, row) in rows {
                row.write(db, row_key(group))?;
            }
            workspace.extend(shared);
            Ok(true)
        })?;
        if !sound {
            return Ok(false);
        }
        // The folding threads may finish first.
        while rest.write_some(db)? {}
        for position in workspace.keys() {
            db.prepare_cached("INSERT INTO workspace_events VALUES (?1)")?
                .execute([row_key(*position as usize)])?;
        }
        rows::write_workspace(db, workspace.values())?;
        for order in &self.orders {
            db.prepare_cached("INSERT OR IGNORE INTO orders VALUES (?1, ?2)")?
                .execute(params![order.target.to_bytes(), order.event.to_bytes()])?;
        }
        // The connection lives on; give the memory back.
        db.pragma_update(None, "cache_size", cache)?;
        Ok(true)
    }
}

/// Events and event links still to be written while no folded batch is ready.
struct RemainingRows<'a> {
    load: &'a BulkLoad<'a>,
    /// Number of events and groups already written.
    events: usize,
    groups: usize,
}

impl<'a> RemainingRows<'a> {
    fn of(load: &'a BulkLoad<'a>) -> Self {
        Self {
            load,
            events: 0,
            groups: 0,
        }
    }

    /// Writes one portion; returns whether there was one.
    fn write_some(&mut self, db: &Connection) -> Result<bool, IndexError> {
        let BulkLoad { events, groups, .. } = self.load;
        let event_portion = portion(self.events, events.len(), EVENTS_PER_TURN);
        let group_portion = portion(self.groups, groups.len(), GROUPS_PER_TURN);
        if !event_portion.is_empty() {
            self.events = event_portion.end;
            self.write_events(db, event_portion)?;
            return Ok(true);
        }
        self.groups = group_portion.end;
        self.write_touches(db, group_portion.clone())?;
        Ok(!group_portion.is_empty())
    }

    fn write_events(&self, db: &Connection, portion: Range<usize>) -> Result<(), IndexError> {
        for position in portion {
            let event = &self.load.events[position];
            let order = (event.id, event.at);
            rows::insert_event(
                db,
                Some(row_key(position)),
                order,
                event.copies,
                &event.line,
            )?;
        }
        Ok(())
    }

    fn write_touches(&self, db: &Connection, portion: Range<usize>) -> Result<(), IndexError> {
        let mut statement = db.prepare_cached("INSERT INTO touches VALUES (?1, ?2)")?;
        for number in portion {
            let group = &self.load.groups[number];
            for position in &self.load.places[group.places.clone()] {
                statement.execute([row_key(number), row_key(*position as usize)])?;
            }
        }
        Ok(())
    }
}

fn portion(done: usize, all: usize, size: usize) -> Range<usize> {
    done..all.min(done + size)
}

/// Returns the row key of a position: rows are numbered from 1 in id order.
fn row_key(position: usize) -> i64 {
    position as i64 + 1
}

/// Merges `copy` into `kept`, a copy of the same event; `None` if either line is invalid.
fn merge_copies<'a>(kept: &mut LineSummary<'a>, copy: &mut LineSummary<'a>) -> Option<()> {
    let mut copies = kept.copies;
    copies.full += copy.copies.full;
    copies.blank += copy.copies.blank;
    copies.loose |= copy.copies.loose;
    if kept.line != copy.line {
        let [one, other] =
            [&kept, &copy].map(|glimpse| RecordedEvent::parse(glimpse.line.as_bytes()));
        let (one, other) = (one.ok()?, other.ok()?);
        copies.mixed |= copy.copies.mixed || one.redacted().line() != other.redacted().line();
        let better = one.preferred_copy(other);
        // Swapping keeps the borrowed line instead of allocating the better one.
        if better.line() == copy.line {
            std::mem::swap(kept, copy);
        }
    }
    kept.copies = copies;
    Some(())
}

/// Redacts the targeted events; `None` if such a line is not a valid event.
fn redact_targets(
    events: &mut [LineSummary<'_>],
    orders: &[RedactionLink],
    remembered: &[EventId],
) -> Option<()> {
    let targets: BTreeSet<EventId> = orders.iter().map(|order| order.target).collect();
    for id in targets.iter().chain(remembered) {
        let Ok(position) = events.binary_search_by_key(id, |event| event.id) else {
            continue;
        };
        let event = &mut events[position];
        if !event.is_order {
            event.line = Cow::Owned(redact_line(&event.line).ok()?.0.into());
        }
    }
    Some(())
}

/// Groups events by the entries they touch.
fn group_by_entry(events: &[LineSummary<'_>]) -> (Vec<EntryEventGroup>, Vec<u32>, Vec<u32>) {
    let mut alone = Vec::new();
    let mut touches: Vec<(EntryId, u32)> = Vec::with_capacity(events.len());
    for (position, event) in (0..).zip(events) {
        if event.about == TouchedEntries::None {
            alone.push(position);
        }
        touches.extend(event.about.entries().iter().map(|entry| (*entry, position)));
    }
    touches.sort_unstable();
    let places = touches.iter().map(|(_, position)| *position).collect();
    let mut groups: Vec<EntryEventGroup> = Vec::new();
    for (at, (entry, _)) in touches.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if group.entry == *entry => group.places.end = at + 1,
            Some(_) | None => groups.push(EntryEventGroup {
                entry: *entry,
                places: at..at + 1,
            }),
        }
    }
    (groups, places, alone)
}

/// Returns the events that a caller added, with the forms they arrived in.
fn load_loose_events(db: &Connection) -> Result<Vec<(RecordedEvent, u8)>, IndexError> {
    let mut statement = db.prepare("SELECT loose, line FROM events WHERE loose <> 0")?;
    let mut rows = statement.query([])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let line: String = row.get(1)?;
        let copy = rows::parse_recorded(&line)?;
        // A redacted event lost its text, even if it arrived in full.
        let bits = match CopyForm::of(&copy) {
            CopyForm::Full => row.get(0)?,
            CopyForm::Blank => rows::LOOSE_BLANK,
        };
        events.push((copy, bits));
    }
    Ok(events)
}

fn write_remembered(db: &Connection, remembered: &[EventId]) -> Result<(), IndexError> {
    for id in remembered {
        db.prepare_cached("INSERT OR IGNORE INTO remembered VALUES (?1)")?
            .execute([id.to_bytes()])?;
    }
    Ok(())
}

/// Returns an error that names the first damaged line; the fast path only detects that there is
/// one.
fn first_line_error<E>(listing: &[ListedSegment], texts: &SegmentBuffers) -> RefreshError<E> {
    for (stat, text) in listing.iter().zip(texts.iter()) {
        if let Err(bad) = segment::read_lines(text, 0) {
            return line_error(&stat.name, bad);
        }
    }
    RefreshError::Index(IndexError::damaged(
        "a line looks different from what it says",
    ))
}
