//! Applies a difference: which copies came and went, what each event is now, what follows.
//!
//! One form of each event is stored. It is blanked if an authorised order or this machine's
//! memory says so, or if no copy has its data any more; otherwise it is the full one. Where the
//! stored form does not tell what the new one must be, the caller has to start from nothing.
//!
//! Only touched entries are folded again, and events that only add up are added to the entry.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::event::{Event, Recorded};
use ken_core::fold::fold_entry;
use ken_core::id::{EntryId, EventId};
use ken_core::state::blanks;
use ken_core::workspace::concerns_workspace;
use rusqlite::{Connection, params};

use crate::error::IndexError;
use crate::missed;
use crate::recent::Recent;
use crate::rows::{self, Copies, EntryKey, EntryRow, Held, LOOSE_BLANK, LOOSE_FULL};
use crate::search;
use crate::segment::Form;

/// What came and went since the index was last in step.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    pub(crate) incoming: Vec<Recorded>,
    /// Copies that segments do not hold any more.
    pub(crate) outgoing: Vec<(EventId, Form)>,
    pub(crate) source: Source<'a>,
}

impl<'a> Change<'a> {
    /// Returns a change by segments that has nothing in it yet.
    pub(crate) fn from_segments(remembered: &'a [EventId]) -> Self {
        Self {
            incoming: Vec::new(),
            outgoing: Vec::new(),
            source: Source::Segments { remembered },
        }
    }
}

/// Where the incoming copies come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// Segments, which can be read again; with everything this machine remembers as blanked.
    Segments { remembered: &'a [EventId] },
    /// A caller, who is not asked again; with events to drop and ids to remember from now on.
    Caller {
        dropped: &'a [EventId],
        remembered: &'a [EventId],
    },
}

/// What a change came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) events_added: usize,
    pub(crate) events_removed: usize,
    /// Entries folded from their events.
    pub(crate) folded: BTreeSet<EntryId>,
    pub(crate) entries_absorbed: usize,
}

/// Why a change was not made.
#[derive(Debug)]
pub(crate) enum Unmade {
    /// Copies differ, or a text is wanted that is not stored.
    StartOver,
    Index(IndexError),
}

impl<E: Into<IndexError>> From<E> for Unmade {
    fn from(error: E) -> Self {
        Self::Index(error.into())
    }
}

/// Applies `change` inside the caller's transaction.
pub(crate) fn make(db: &Connection, change: Change<'_>, recent: &Recent) -> Result<Made, Unmade> {
    let mut slots = Slots {
        db,
        by_id: BTreeMap::new(),
        source: change.source,
    };
    for copy in change.incoming {
        slots.take_in(copy)?;
    }
    for (id, form) in change.outgoing {
        slots.let_go(id, form)?;
    }
    if let Source::Caller { dropped, .. } = change.source {
        for id in dropped {
            slots.slot(*id)?.copies = Copies::default();
        }
    }
    slots.settle_orders()?;
    slots.settle_memory()?;
    let effects = slots.write()?;
    if effects.scrubbed {
        // The write-ahead log has to be emptied once this is committed.
        rows::write_meta(db, rows::META_SCRUB, &[])?;
    }
    Ok(effects.follow(db, recent)?)
}

/// The events a change concerns, each with what is stored and what is known now.
struct Slots<'a> {
    db: &'a Connection,
    by_id: BTreeMap<EventId, Slot>,
    source: Source<'a>,
}

struct Slot {
    before: Option<Held>,
    copies: Copies,
    /// The best copy seen; the stored one to begin with.
    copy: Option<Recorded>,
}

impl Slots<'_> {
    fn slot(&mut self, id: EventId) -> Result<&mut Slot, IndexError> {
        match self.by_id.entry(id) {
            Entry::Occupied(slot) => Ok(slot.into_mut()),
            Entry::Vacant(place) => {
                let before = rows::held(self.db, id)?;
                Ok(place.insert(Slot {
                    copies: before.as_ref().map_or_else(Copies::default, |h| h.copies),
                    copy: before.as_ref().map(|held| held.copy.clone()),
                    before,
                }))
            }
        }
    }

    fn take_in(&mut self, copy: Recorded) -> Result<(), Unmade> {
        let source = self.source;
        let slot = self.slot(copy.event.id)?;
        match (source, Form::of(&copy)) {
            (Source::Segments { .. }, Form::Full) => slot.copies.full += 1,
            (Source::Segments { .. }, Form::Blank) => slot.copies.blank += 1,
            (Source::Caller { .. }, Form::Full) => slot.copies.loose |= LOOSE_FULL,
            (Source::Caller { .. }, Form::Blank) => slot.copies.loose |= LOOSE_BLANK,
        }
        slot.copy = Some(match slot.copy.take() {
            None => copy,
            Some(held) if held.line() == copy.line() => held,
            Some(held) => {
                slot.copies.mixed |= held.blanked().line() != copy.blanked().line();
                held.better_copy(copy)
            }
        });
        slot.can_be_told(source)
    }

    fn let_go(&mut self, id: EventId, form: Form) -> Result<(), Unmade> {
        let source = self.source;
        let slot = self.slot(id)?;
        let count = match form {
            Form::Full => &mut slot.copies.full,
            Form::Blank => &mut slot.copies.blank,
        };
        *count = count.saturating_sub(1);
        slot.can_be_told(source)
    }

    /// Brings the table of blanking orders in step and looks at every event they aim at.
    fn settle_orders(&mut self) -> Result<(), IndexError> {
        let mut targets = BTreeSet::new();
        for (id, slot) in &self.by_id {
            let Some(target) = slot.copy.as_ref().and_then(|copy| blanks(&copy.event)) else {
                continue;
            };
            targets.insert(target);
            let statement = if slot.copies.any_full() {
                "INSERT OR IGNORE INTO orders (target, event) VALUES (?1, ?2)"
            } else {
                "DELETE FROM orders WHERE target = ?1 AND event = ?2"
            };
            self.db
                .prepare_cached(statement)?
                .execute(params![target.to_bytes(), id.to_bytes()])?;
        }
        for target in targets {
            self.slot(target)?;
        }
        Ok(())
    }

    /// Brings the remembered ids in step and looks at every event whose place among them changed.
    fn settle_memory(&mut self) -> Result<(), IndexError> {
        let (ids, forget) = match self.source {
            Source::Segments { remembered } => (remembered, true),
            Source::Caller { remembered, .. } => (remembered, false),
        };
        let known: BTreeSet<EventId> = remembered(self.db)?.into_iter().collect();
        let now: BTreeSet<EventId> = ids.iter().copied().collect();
        for id in now.difference(&known) {
            self.db
                .prepare_cached("INSERT INTO remembered VALUES (?1)")?
                .execute([id.to_bytes()])?;
            self.slot(*id)?;
        }
        for id in known.difference(&now).filter(|_| forget) {
            self.db
                .prepare_cached("DELETE FROM remembered WHERE event = ?1")?
                .execute([id.to_bytes()])?;
            self.slot(*id)?;
        }
        Ok(())
    }

    /// Writes every event in the form it has now.
    fn write(self) -> Result<Effects, Unmade> {
        let mut effects = Effects::default();
        for (id, slot) in self.by_id {
            let copies = slot.copies;
            match (slot.before, slot.copy.filter(|_| copies.any())) {
                (None, None) => {}
                (Some(held), None) => effects.remove(self.db, &held)?,
                (before, Some(copy)) => {
                    let now = settled(self.db, self.source, id, copy, copies)?;
                    match before {
                        None => effects.insert(self.db, now, copies)?,
                        Some(held) => effects.update(self.db, &held, &now, copies)?,
                    }
                }
            }
        }
        Ok(effects)
    }
}

impl Slot {
    /// Refuses where copies differ and their segments can be asked instead.
    fn can_be_told(&self, source: Source<'_>) -> Result<(), Unmade> {
        match source {
            Source::Segments { .. } if self.copies.mixed => Err(Unmade::StartOver),
            Source::Segments { .. } | Source::Caller { .. } => Ok(()),
        }
    }
}

/// Returns the one form of an event that is stored.
fn settled(
    db: &Connection,
    source: Source<'_>,
    id: EventId,
    copy: Recorded,
    copies: Copies,
) -> Result<Recorded, Unmade> {
    let must = blanks(&copy.event).is_none() && is_blanked(db, id)?;
    if must || !copies.any_full() {
        return Ok(copy.blanked());
    }
    match source {
        // A segment has the text, we do not: whoever ordered it blanked took that back.
        Source::Segments { .. } if copy.is_blanked() => Err(Unmade::StartOver),
        Source::Segments { .. } | Source::Caller { .. } => Ok(copy),
    }
}

/// Returns whether an order or this machine's memory says that `id` is blanked.
fn is_blanked(db: &Connection, id: EventId) -> Result<bool, IndexError> {
    let mut statement = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM orders WHERE target = ?1)
             OR EXISTS (SELECT 1 FROM remembered WHERE event = ?1)",
    )?;
    Ok(statement.query_row([id.to_bytes()], |row| row.get(0))?)
}

fn remembered(db: &Connection) -> Result<Vec<EventId>, IndexError> {
    let mut statement = db.prepare_cached("SELECT event FROM remembered")?;
    let ids = statement.query_map([], |row| row.get(0).map(EventId::from_bytes))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// What follows from the events that were written.
#[derive(Default)]
struct Effects {
    made: Made,
    /// Entries that must be folded again.
    refold: BTreeSet<EntryId>,
    /// Events that are new to an entry, which stands under this key, and may only add up.
    gained: BTreeMap<EntryId, (EntryKey, Vec<Arc<Event>>)>,
    workspace: bool,
    /// A text that was stored is blanked now.
    scrubbed: bool,
}

impl Effects {
    fn insert(
        &mut self,
        db: &Connection,
        copy: Recorded,
        copies: Copies,
    ) -> Result<(), IndexError> {
        let key = rows::insert_event(
            db,
            None,
            (copy.event.id, copy.event.at),
            copies,
            copy.line(),
        )?;
        self.note_workspace(db, key, &copy.event)?;
        self.made.events_added += 1;
        let entries: BTreeSet<EntryId> = copy.event.entries().collect();
        let event = Arc::new(copy.event);
        for entry in entries {
            let entry_key = touch(db, entry, key)?;
            let (_, gained) = self
                .gained
                .entry(entry)
                .or_insert_with(|| (entry_key, Vec::new()));
            gained.push(Arc::clone(&event));
        }
        Ok(())
    }

    fn update(
        &mut self,
        db: &Connection,
        held: &Held,
        now: &Recorded,
        copies: Copies,
    ) -> Result<(), IndexError> {
        if held.copy.line() == now.line() {
            if held.copies != copies {
                rows::update_copies(db, held.key, copies)?;
            }
            return Ok(());
        }
        self.scrubbed |= now.is_blanked() && !held.copy.is_blanked();
        self.take_out(db, held)?;
        rows::insert_event(
            db,
            Some(held.key),
            (now.event.id, now.event.at),
            copies,
            now.line(),
        )?;
        self.note_workspace(db, held.key, &now.event)?;
        for entry in now.event.entries() {
            touch(db, entry, held.key)?;
            self.refold.insert(entry);
        }
        Ok(())
    }

    fn remove(&mut self, db: &Connection, held: &Held) -> Result<(), IndexError> {
        self.made.events_removed += 1;
        self.take_out(db, held)
    }

    fn take_out(&mut self, db: &Connection, held: &Held) -> Result<(), IndexError> {
        db.prepare_cached("DELETE FROM events WHERE key = ?1")?
            .execute([held.key])?;
        for entry in held.copy.event.entries() {
            let EntryKey { key, .. } = rows::entry_key(db, entry)?;
            db.prepare_cached("DELETE FROM touches WHERE entry = ?1 AND event = ?2")?
                .execute([key, held.key])?;
            self.refold.insert(entry);
        }
        if concerns_workspace(&held.copy.event) {
            db.prepare_cached("DELETE FROM workspace_events WHERE event = ?1")?
                .execute([held.key])?;
            self.workspace = true;
        }
        Ok(())
    }

    fn note_workspace(
        &mut self,
        db: &Connection,
        key: i64,
        event: &Event,
    ) -> Result<(), IndexError> {
        if concerns_workspace(event) {
            db.prepare_cached("INSERT INTO workspace_events VALUES (?1)")?
                .execute([key])?;
            self.workspace = true;
        }
        Ok(())
    }

    /// Brings entries and workspace in step with the events.
    fn follow(mut self, db: &Connection, recent: &Recent) -> Result<Made, IndexError> {
        for (entry, (key, events)) in std::mem::take(&mut self.gained) {
            if self.refold.contains(&entry) {
                continue;
            }
            if key.is_new {
                let folded = fold_entry(entry, events.iter().map(|event| &**event));
                write_folded(db, key.key, folded.as_ref())?;
                self.made.folded.insert(entry);
            } else if absorb(db, recent, (entry, key.key), &events)? {
                self.made.entries_absorbed += 1;
            } else {
                self.refold.insert(entry);
            }
        }
        for entry in &self.refold {
            refold(db, *entry)?;
        }
        self.made.folded.append(&mut self.refold);
        if self.workspace {
            let mut statement = db.prepare_cached(
                "SELECT line FROM workspace_events JOIN events ON events.key = event",
            )?;
            let events = rows::lines(&mut statement, [])?;
            rows::write_workspace(db, events.iter().map(|copy| &copy.event))?;
        }
        Ok(self.made)
    }
}

/// Notes that an event is about an entry; returns the entry's key.
fn touch(db: &Connection, entry: EntryId, event: i64) -> Result<EntryKey, IndexError> {
    let entry = rows::entry_key(db, entry)?;
    db.prepare_cached("INSERT OR IGNORE INTO touches VALUES (?1, ?2)")?
        .execute([entry.key, event])?;
    Ok(entry)
}

/// Adds `events` to the stored entry; says `false`, changing nothing, if one needs a fold.
fn absorb(
    db: &Connection,
    recent: &Recent,
    (id, key): (EntryId, i64),
    events: &[Arc<Event>],
) -> Result<bool, IndexError> {
    let Some(json) = rows::json_at(db, key)? else {
        return Ok(false);
    };
    let mut entry = match recent.take(id, &json) {
        Some(entry) => entry,
        None => rows::parse_entry(&json)?,
    };
    if !events.iter().all(|event| entry.absorb(event)) {
        return Ok(false);
    }
    rows::update_absorbed(db, key, &entry)?;
    Ok(true)
}

/// Folds an entry from its events; one without events goes.
fn refold(db: &Connection, id: EntryId) -> Result<(), IndexError> {
    let EntryKey { key, .. } = rows::entry_key(db, id)?;
    let events = rows::events_of(db, key)?;
    rows::delete_satellites(db, key)?;
    let folded = fold_entry(id, events.iter().map(|copy| &copy.event));
    write_folded(db, key, folded.as_ref())
}

/// Writes what the events of the entry under `key` came to; nothing is written beside its row yet.
fn write_folded(
    db: &Connection,
    key: i64,
    folded: Option<&ken_core::entry::Entry>,
) -> Result<(), IndexError> {
    search::note(db, key)?;
    match folded {
        Some(entry) => {
            if 0 < entry.history.blanked {
                search::forget(db, key)?;
                missed::forget_all(db)?;
            }
            EntryRow::new(entry).write(db, key)
        }
        None => {
            db.prepare_cached("DELETE FROM entries WHERE key = ?1")?
                .execute([key])?;
            search::forget(db, key)
        }
    }
}
