//! Fills the index from nothing: every segment at once, each line parsed once.
//!
//! Lines are sorted by event and by entry on their looks alone. Then some threads parse, check
//! and fold entry by entry while this one writes, so that a million events never exist in typed
//! form at the same time. Indexes are made last. It all happens in the caller's transaction: a
//! line that turns out to be damaged leaves nothing behind.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ken_core::event::{Recorded, blank_form};
use ken_core::id::{EntryId, EventId};
use ken_core::state::blanks;
use rusqlite::{Connection, params};

use crate::database;
use crate::error::{IndexError, RefreshError};
use crate::fold::{self, Folded};
use crate::gather::{Texts, gather};
use crate::refresh::{Refreshed, bad_line};
use crate::rows::{self, Copies};
use crate::scan::{About, Glimpse, Order, Scanned};
use crate::search;
use crate::segment::{self, Form, SegmentStat, Taken};

/// Pages kept in memory while loading, in KiB.
const CACHE_KIB: i64 = 64 * 1024;

/// Bytes of text below which making tables anew costs more than keeping their indexes up to date.
const IN_PLACE_BYTES_MAX: usize = 1 << 20;

/// Events written between two looks at what the folding threads have finished.
const EVENTS_PER_TURN: usize = 512;

/// The same for entries, whose events are listed.
const GROUPS_PER_TURN: usize = 64;

/// Replaces everything the index holds by what the listed segments say.
///
/// Events that came from a caller and not from a segment are kept.
pub(crate) fn fill<E>(
    db: &Connection,
    listing: &[SegmentStat],
    remembered: &[EventId],
    read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<Refreshed, RefreshError<E>> {
    let loose = loose(db)?;
    let texts = Texts::new(listing.len());
    let scans = gather(&texts, listing, read)?;
    let Some(scans) = scans.into_iter().collect::<Option<Vec<_>>>() else {
        return Err(first_bad_line(listing, &texts));
    };
    let bytes: usize = texts.iter().map(<[u8]>::len).sum();
    let in_place = bytes < IN_PLACE_BYTES_MAX && database::is_fresh(db)?;
    if !in_place {
        database::wipe(db)?;
    }
    for (stat, scan) in listing.iter().zip(&scans) {
        let taken = Taken {
            stat,
            bytes: scan.bytes,
            torn: scan.torn,
            digest: scan.digest,
            holdings: &scan.holdings,
        };
        segment::write(db, &taken)?;
    }
    let Some(load) = Load::new(scans, loose, remembered) else {
        return Err(first_bad_line(listing, &texts));
    };
    let entries = load.groups.len();
    if !load.write(db)? {
        return Err(first_bad_line(listing, &texts));
    }
    write_memory(db, remembered)?;
    search::note_all(db)?;
    if !in_place {
        database::create_indexes(db)?;
    }
    // Pages of before may be in the write-ahead log, with text that is blanked by now.
    rows::write_meta(db, rows::META_SCRUB, &[])?;
    Ok(Refreshed {
        segments_read: listing.len(),
        events_added: load.events.len(),
        entries_folded: entries,
        ..Refreshed::default()
    })
}

/// Everything to be written, sorted.
struct Load<'a> {
    /// One for each event, in order of id.
    events: Vec<Glimpse<'a>>,
    groups: Vec<Group>,
    /// Places in `events`, entry by entry.
    places: Vec<u32>,
    /// Events that touch no entry.
    alone: Vec<u32>,
    orders: Vec<Order>,
}

/// The events of one entry.
pub(crate) struct Group {
    pub(crate) entry: EntryId,
    pub(crate) places: Range<usize>,
}

impl<'a> Load<'a> {
    /// Sorts what was seen; `None` if a line turns out to be no event.
    fn new(
        scans: Vec<Scanned<'a>>,
        loose: Vec<(Recorded, u8)>,
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
            orders.extend(blanks(&copy.event).map(|target| Order { target, event }));
            let copies = Copies {
                loose: bits,
                ..Copies::default()
            };
            events.push(Glimpse {
                copies,
                ..Glimpse::of(&copy)
            });
        }
        events.sort_by_key(|glimpse| glimpse.id);
        let mut sound = true;
        events.dedup_by(|copy, kept| {
            let same = copy.id == kept.id;
            if same {
                sound &= merge(kept, copy).is_some();
            }
            same
        });
        blank(&mut events, &orders, remembered)?;
        let (groups, places, alone) = group(&events);
        sound.then_some(Self {
            events,
            groups,
            places,
            alone,
            orders,
        })
    }

    /// Writes it all; `false` if a line turned out to be no event.
    fn write(&self, db: &Connection) -> Result<bool, IndexError> {
        let cache: i64 = db.query_row("PRAGMA cache_size", [], |row| row.get(0))?;
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        let mut workspace = BTreeMap::new();
        let work = fold::Work {
            events: &self.events,
            groups: &self.groups,
            places: &self.places,
            alone: &self.alone,
        };
        let mut rest = Rest::of(self);
        let sound = fold::run(&work, |folded| {
            let Some(Folded { rows, shared }) = folded else {
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
        while rest.write_some(db)? {}
        for place in workspace.keys() {
            db.prepare_cached("INSERT INTO workspace_events VALUES (?1)")?
                .execute([row_key(*place as usize)])?;
        }
        rows::write_workspace(db, workspace.values())?;
        for order in &self.orders {
            db.prepare_cached("INSERT OR IGNORE INTO orders VALUES (?1, ?2)")?
                .execute(params![order.target.to_bytes(), order.event.to_bytes()])?;
        }
        db.pragma_update(None, "cache_size", cache)?;
        Ok(true)
    }
}

/// What is written beside the folded entries, whenever none of them is waiting.
struct Rest<'a> {
    load: &'a Load<'a>,
    /// How many events, and groups of events by entry, are written.
    events: usize,
    groups: usize,
}

impl<'a> Rest<'a> {
    fn of(load: &'a Load<'a>) -> Self {
        Self {
            load,
            events: 0,
            groups: 0,
        }
    }

    /// Writes a portion; returns whether there was one.
    fn write_some(&mut self, db: &Connection) -> Result<bool, IndexError> {
        let Load { events, groups, .. } = self.load;
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
        for place in portion {
            let event = &self.load.events[place];
            let order = (event.id, event.at);
            rows::insert_event(db, Some(row_key(place)), order, event.copies, &event.line)?;
        }
        Ok(())
    }

    fn write_touches(&self, db: &Connection, portion: Range<usize>) -> Result<(), IndexError> {
        let mut statement = db.prepare_cached("INSERT INTO touches VALUES (?1, ?2)")?;
        for number in portion {
            let group = &self.load.groups[number];
            for place in &self.load.places[group.places.clone()] {
                statement.execute([row_key(number), row_key(*place as usize)])?;
            }
        }
        Ok(())
    }
}

fn portion(done: usize, all: usize, size: usize) -> Range<usize> {
    done..all.min(done + size)
}

/// Rows are numbered from 1 in the order of ids.
fn row_key(place: usize) -> i64 {
    place as i64 + 1
}

/// Adds `copy` to the copies of the same event in `kept`; `None` if one of them is no event.
fn merge<'a>(kept: &mut Glimpse<'a>, copy: &mut Glimpse<'a>) -> Option<()> {
    let mut copies = kept.copies;
    copies.full += copy.copies.full;
    copies.blank += copy.copies.blank;
    copies.loose |= copy.copies.loose;
    if kept.line != copy.line {
        let [one, other] = [&kept, &copy].map(|glimpse| Recorded::parse(glimpse.line.as_bytes()));
        let (one, other) = (one.ok()?, other.ok()?);
        copies.mixed |= copy.copies.mixed || one.blanked().line() != other.blanked().line();
        let better = one.better_copy(other);
        if better.line() == copy.line {
            std::mem::swap(kept, copy);
        }
    }
    kept.copies = copies;
    Some(())
}

/// Blanks what must be; `None` if such a line is no event.
fn blank(events: &mut [Glimpse<'_>], orders: &[Order], remembered: &[EventId]) -> Option<()> {
    let targets: BTreeSet<EventId> = orders.iter().map(|order| order.target).collect();
    for id in targets.iter().chain(remembered) {
        let Ok(place) = events.binary_search_by_key(id, |event| event.id) else {
            continue;
        };
        let event = &mut events[place];
        if !event.is_order {
            event.line = Cow::Owned(blank_form(&event.line).ok()?.0.into());
        }
    }
    Some(())
}

/// Sorts events by the entries they touch.
fn group(events: &[Glimpse<'_>]) -> (Vec<Group>, Vec<u32>, Vec<u32>) {
    let mut alone = Vec::new();
    let mut touches: Vec<(EntryId, u32)> = Vec::with_capacity(events.len());
    for (place, event) in (0..).zip(events) {
        if event.about == About::None {
            alone.push(place);
        }
        touches.extend(event.about.entries().iter().map(|entry| (*entry, place)));
    }
    touches.sort_unstable();
    let places = touches.iter().map(|(_, place)| *place).collect();
    let mut groups: Vec<Group> = Vec::new();
    for (at, (entry, _)) in touches.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if group.entry == *entry => group.places.end = at + 1,
            Some(_) | None => groups.push(Group {
                entry: *entry,
                places: at..at + 1,
            }),
        }
    }
    (groups, places, alone)
}

/// Returns the events a caller brought, with the forms they came in.
fn loose(db: &Connection) -> Result<Vec<(Recorded, u8)>, IndexError> {
    let mut statement = db.prepare("SELECT loose, line FROM events WHERE loose <> 0")?;
    let mut rows = statement.query([])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let line: String = row.get(1)?;
        let copy = rows::recorded(&line)?;
        // Once blanked here the text is gone, whatever it came as.
        let bits = match Form::of(&copy) {
            Form::Full => row.get(0)?,
            Form::Blank => rows::LOOSE_BLANK,
        };
        events.push((copy, bits));
    }
    Ok(events)
}

fn write_memory(db: &Connection, remembered: &[EventId]) -> Result<(), IndexError> {
    for id in remembered {
        db.prepare_cached("INSERT OR IGNORE INTO remembered VALUES (?1)")?
            .execute([id.to_bytes()])?;
    }
    Ok(())
}

/// Names the first damaged line; the quick way only notices that there is one.
fn first_bad_line<E>(listing: &[SegmentStat], texts: &Texts) -> RefreshError<E> {
    for (stat, text) in listing.iter().zip(texts.iter()) {
        if let Err(bad) = segment::read_lines(text, 0) {
            return bad_line(&stat.name, bad);
        }
    }
    RefreshError::Index(IndexError::damaged(
        "a line looks different from what it says",
    ))
}
