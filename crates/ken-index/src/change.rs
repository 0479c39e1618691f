//! Applies a change to the index: event copies added and removed, and the entries that follow.
//!
//! The index stores one form of each event. The redacted form is stored if an authorized redaction
//! event or this machine's list of redacted ids requires it, or if no copy has data; otherwise the
//! full form is stored. If the stored form does not determine the new one, the caller must rebuild
//! the index.
//!
//! Only affected entries are folded again; events that only add to counters are absorbed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::ledger::event::{Event, RecordedEvent};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::state::redaction_target;
use ken_core::ledger::workspace::concerns_workspace;
use ken_core::values::id::{EntryId, EventId};
use rusqlite::{Connection, params};

use crate::error::IndexError;
use crate::missed;
use crate::recent::EntryCache;
use crate::rows::{
    self, CopyCounts, EntryKey, IndexEntryRow, LOOSE_BLANK, LOOSE_FULL, StoredEventRow,
};
use crate::scanned;
use crate::search;
use crate::segment::CopyForm;

/// Event copies added and removed since the last refresh.
#[derive(Debug)]
pub(crate) struct IndexChange<'a> {
    pub(crate) incoming: Vec<RecordedEvent>,
    /// Copies that segments no longer contain.
    pub(crate) outgoing: Vec<(EventId, CopyForm)>,
    pub(crate) source: ChangeSource<'a>,
}

impl<'a> IndexChange<'a> {
    /// Returns an empty change with segments as its source.
    pub(crate) fn from_segments(remembered: &'a [EventId]) -> Self {
        Self {
            incoming: Vec::new(),
            outgoing: Vec::new(),
            source: ChangeSource::Segments { remembered },
        }
    }
}

/// Source of the incoming copies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChangeSource<'a> {
    /// Segments, which can be read again; with every id this machine records as redacted.
    Segments { remembered: &'a [EventId] },
    /// A caller that cannot supply the events again; with events to drop and redacted ids to add.
    Caller {
        dropped: &'a [EventId],
        remembered: &'a [EventId],
    },
}

/// Counts of an applied change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApplyOutcome {
    pub(crate) events_added: usize,
    pub(crate) events_removed: usize,
    /// Entries folded from scratch.
    pub(crate) folded: BTreeSet<EntryId>,
    pub(crate) entries_absorbed: usize,
}

/// Failure to apply a change.
#[derive(Debug)]
pub(crate) enum ApplyError {
    /// Copies differ, or a text that is not stored is needed again.
    RebuildRequired,
    Index(IndexError),
}

impl<E: Into<IndexError>> From<E> for ApplyError {
    fn from(error: E) -> Self {
        Self::Index(error.into())
    }
}

/// Applies `change` inside the caller's transaction.
pub(crate) fn apply_change(
    db: &Connection,
    change: IndexChange<'_>,
    recent: &EntryCache,
) -> Result<ApplyOutcome, ApplyError> {
    let mut slots = AffectedEvents {
        db,
        by_id: BTreeMap::new(),
        source: change.source,
    };
    for copy in change.incoming {
        slots.take_in(copy)?;
    }
    for (id, form) in change.outgoing {
        slots.remove_copy(id, form)?;
    }
    if let ChangeSource::Caller { dropped, .. } = change.source {
        for id in dropped {
            slots.slot(*id)?.copies = CopyCounts::default();
        }
    }
    // Both steps may add events to the set, so they run before anything is written.
    slots.update_redactions()?;
    slots.update_remembered()?;
    let effects = slots.write()?;
    if effects.scrubbed {
        // The write-ahead log must be truncated after the commit.
        rows::write_meta(db, rows::META_SCRUB, &[])?;
    }
    Ok(effects.follow(db, recent)?)
}

/// The events a change affects, with their stored and current copies.
struct AffectedEvents<'a> {
    db: &'a Connection,
    by_id: BTreeMap<EventId, AffectedEvent>,
    source: ChangeSource<'a>,
}

/// One affected event.
struct AffectedEvent {
    before: Option<StoredEventRow>,
    copies: CopyCounts,
    /// Best copy seen so far, starting with the stored one.
    copy: Option<RecordedEvent>,
}

impl AffectedEvents<'_> {
    fn slot(&mut self, id: EventId) -> Result<&mut AffectedEvent, IndexError> {
        match self.by_id.entry(id) {
            Entry::Occupied(slot) => Ok(slot.into_mut()),
            Entry::Vacant(vacant) => {
                let before = rows::load_event(self.db, id)?;
                Ok(vacant.insert(AffectedEvent {
                    copies: before
                        .as_ref()
                        .map_or_else(CopyCounts::default, |h| h.copies),
                    copy: before.as_ref().map(|stored| stored.copy.clone()),
                    before,
                }))
            }
        }
    }

    fn take_in(&mut self, copy: RecordedEvent) -> Result<(), ApplyError> {
        let source = self.source;
        let slot = self.slot(copy.event.id)?;
        // Segments are counted, because each can disappear; a caller's copies are only flags.
        match (source, CopyForm::of(&copy)) {
            (ChangeSource::Segments { .. }, CopyForm::Full) => slot.copies.full += 1,
            (ChangeSource::Segments { .. }, CopyForm::Blank) => slot.copies.blank += 1,
            (ChangeSource::Caller { .. }, CopyForm::Full) => slot.copies.loose |= LOOSE_FULL,
            (ChangeSource::Caller { .. }, CopyForm::Blank) => slot.copies.loose |= LOOSE_BLANK,
        }
        slot.copy = Some(match slot.copy.take() {
            None => copy,
            Some(stored) if stored.line() == copy.line() => stored,
            Some(stored) => {
                // Compared in redacted form, because a redacted copy differs from its full copy by
                // design.
                slot.copies.mixed |= stored.redacted().line() != copy.redacted().line();
                stored.preferred_copy(copy)
            }
        });
        slot.ensure_resolvable(source)
    }

    fn remove_copy(&mut self, id: EventId, form: CopyForm) -> Result<(), ApplyError> {
        let source = self.source;
        let slot = self.slot(id)?;
        let count = match form {
            CopyForm::Full => &mut slot.copies.full,
            CopyForm::Blank => &mut slot.copies.blank,
        };
        // A database with wrong counts must not panic; it converges at the next rebuild.
        *count = count.saturating_sub(1);
        slot.ensure_resolvable(source)
    }

    /// Updates the table of redaction events and loads every event they target.
    fn update_redactions(&mut self) -> Result<(), IndexError> {
        let mut targets = BTreeSet::new();
        for (id, slot) in &self.by_id {
            let Some(target) = slot
                .copy
                .as_ref()
                .and_then(|copy| redaction_target(&copy.event))
            else {
                continue;
            };
            targets.insert(target);
            // A redaction event without its data no longer authorizes anything.
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

    /// Updates the recorded redacted ids and loads every event whose membership changed.
    fn update_remembered(&mut self) -> Result<(), IndexError> {
        // Segments come with the complete list, so missing ids are deleted; a caller only adds ids.
        let (ids, forget) = match self.source {
            ChangeSource::Segments { remembered } => (remembered, true),
            ChangeSource::Caller { remembered, .. } => (remembered, false),
        };
        let known: BTreeSet<EventId> = load_remembered(self.db)?.into_iter().collect();
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

    /// Writes every affected event in its resolved form.
    fn write(self) -> Result<IndexEffects, ApplyError> {
        let mut effects = IndexEffects::default();
        for (id, slot) in self.by_id {
            let copies = slot.copies;
            match (slot.before, slot.copy.filter(|_| copies.any())) {
                (None, None) => {}
                (Some(stored), None) => effects.remove(self.db, &stored)?,
                (before, Some(copy)) => {
                    let now = resolve_copy(self.db, self.source, id, copy, copies)?;
                    match before {
                        None => effects.insert(self.db, now, copies)?,
                        Some(stored) => effects.update(self.db, &stored, &now, copies)?,
                    }
                }
            }
        }
        Ok(effects)
    }
}

impl AffectedEvent {
    /// Requires a rebuild if copies differ and segments can supply them again.
    fn ensure_resolvable(&self, source: ChangeSource<'_>) -> Result<(), ApplyError> {
        match source {
            ChangeSource::Segments { .. } if self.copies.mixed => Err(ApplyError::RebuildRequired),
            ChangeSource::Segments { .. } | ChangeSource::Caller { .. } => Ok(()),
        }
    }
}

/// Returns the form of an event to store.
fn resolve_copy(
    db: &Connection,
    source: ChangeSource<'_>,
    id: EventId,
    copy: RecordedEvent,
    copies: CopyCounts,
) -> Result<RecordedEvent, ApplyError> {
    // Redaction events are never redacted: otherwise one could cancel another.
    let must = redaction_target(&copy.event).is_none() && is_redacted(db, id)?;
    if must || !copies.any_full() {
        return Ok(copy.redacted());
    }
    match source {
        // A segment has the text but the index does not: the redaction was withdrawn.
        ChangeSource::Segments { .. } if copy.is_redacted() => Err(ApplyError::RebuildRequired),
        ChangeSource::Segments { .. } | ChangeSource::Caller { .. } => Ok(copy),
    }
}

/// Returns whether a redaction event or this machine's list redacts `id`.
pub(crate) fn is_redacted(db: &Connection, id: EventId) -> Result<bool, IndexError> {
    let mut statement = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM orders WHERE target = ?1)
             OR EXISTS (SELECT 1 FROM remembered WHERE event = ?1)",
    )?;
    Ok(statement.query_row([id.to_bytes()], |row| row.get(0))?)
}

fn load_remembered(db: &Connection) -> Result<Vec<EventId>, IndexError> {
    let mut statement = db.prepare_cached("SELECT event FROM remembered")?;
    let ids = statement.query_map([], |row| row.get(0).map(EventId::from_bytes))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Consequences of the written events for entries and the workspace.
#[derive(Default)]
struct IndexEffects {
    made: ApplyOutcome,
    /// Entries to fold again.
    refold: BTreeSet<EntryId>,
    /// New events per entry, with the row key of the entry; they may be absorbed without a fold.
    gained: BTreeMap<EntryId, (EntryKey, Vec<Arc<Event>>)>,
    workspace: bool,
    /// Set if stored text was redacted.
    scrubbed: bool,
}

impl IndexEffects {
    fn insert(
        &mut self,
        db: &Connection,
        copy: RecordedEvent,
        copies: CopyCounts,
    ) -> Result<(), IndexError> {
        let key = rows::insert_event(
            db,
            None,
            (copy.event.id, copy.event.at),
            copies,
            copy.line(),
        )?;
        self.record_workspace_event(db, key, &copy.event)?;
        self.made.events_added += 1;
        let entries: BTreeSet<EntryId> = copy.event.entries().collect();
        let event = Arc::new(copy.event);
        for entry in entries {
            let entry_key = link_event(db, entry, key)?;
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
        stored: &StoredEventRow,
        now: &RecordedEvent,
        copies: CopyCounts,
    ) -> Result<(), IndexError> {
        if stored.copy.line() == now.line() {
            if stored.copies != copies {
                rows::update_copies(db, stored.key, copies)?;
            }
            return Ok(());
        }
        self.scrubbed |= now.is_redacted() && !stored.copy.is_redacted();
        // The new form may touch other entries, so the row and its links are replaced as a whole.
        self.delete_event(db, stored)?;
        rows::insert_event(
            db,
            Some(stored.key),
            (now.event.id, now.event.at),
            copies,
            now.line(),
        )?;
        self.record_workspace_event(db, stored.key, &now.event)?;
        for entry in now.event.entries() {
            link_event(db, entry, stored.key)?;
            self.refold.insert(entry);
        }
        Ok(())
    }

    fn remove(&mut self, db: &Connection, stored: &StoredEventRow) -> Result<(), IndexError> {
        self.made.events_removed += 1;
        self.delete_event(db, stored)
    }

    fn delete_event(&mut self, db: &Connection, stored: &StoredEventRow) -> Result<(), IndexError> {
        db.prepare_cached("DELETE FROM events WHERE key = ?1")?
            .execute([stored.key])?;
        for entry in stored.copy.event.entries() {
            let EntryKey { key, .. } = rows::ensure_entry_row(db, entry)?;
            db.prepare_cached("DELETE FROM touches WHERE entry = ?1 AND event = ?2")?
                .execute([key, stored.key])?;
            self.refold.insert(entry);
        }
        if concerns_workspace(&stored.copy.event) {
            db.prepare_cached("DELETE FROM workspace_events WHERE event = ?1")?
                .execute([stored.key])?;
            self.workspace = true;
        }
        Ok(())
    }

    fn record_workspace_event(
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

    /// Updates entries and the workspace from the events.
    fn follow(mut self, db: &Connection, recent: &EntryCache) -> Result<ApplyOutcome, IndexError> {
        for (entry, (key, events)) in std::mem::take(&mut self.gained) {
            if self.refold.contains(&entry) {
                continue;
            }
            // All events of a new entry are in this change, so no stored event has to be read.
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
            let events = rows::select_events(&mut statement, [])?;
            rows::write_workspace(db, events.iter().map(|copy| &copy.event))?;
        }
        Ok(self.made)
    }
}

/// Records that an event touches an entry and returns the entry's row key.
fn link_event(db: &Connection, entry: EntryId, event: i64) -> Result<EntryKey, IndexError> {
    let entry = rows::ensure_entry_row(db, entry)?;
    db.prepare_cached("INSERT OR IGNORE INTO touches VALUES (?1, ?2)")?
        .execute([entry.key, event])?;
    Ok(entry)
}

/// Absorbs `events` into the stored entry; returns `false` without changes if one requires a fold.
fn absorb(
    db: &Connection,
    recent: &EntryCache,
    (id, key): (EntryId, i64),
    events: &[Arc<Event>],
) -> Result<bool, IndexError> {
    let Some(json) = rows::load_entry_json(db, key)? else {
        return Ok(false);
    };
    let mut entry = match recent.take(id, &json) {
        Some(entry) => entry,
        None => rows::parse_entry(&json)?,
    };
    if !events.iter().all(|event| entry.try_add_event(event)) {
        return Ok(false);
    }
    rows::update_absorbed(db, key, &entry)?;
    Ok(true)
}

/// Folds an entry from its events; an entry without events is deleted.
fn refold(db: &Connection, id: EntryId) -> Result<(), IndexError> {
    let EntryKey { key, .. } = rows::ensure_entry_row(db, id)?;
    let events = rows::load_entry_events(db, key)?;
    rows::delete_dependent_rows(db, key)?;
    let folded = fold_entry(id, events.iter().map(|copy| &copy.event));
    write_folded(db, key, folded.as_ref())
}

/// Writes a folded entry under `key`; its dependent rows must be empty.
fn write_folded(
    db: &Connection,
    key: i64,
    folded: Option<&ken_core::ledger::entry::Entry>,
) -> Result<(), IndexError> {
    search::mark_outdated(db, key)?;
    match folded {
        Some(entry) => {
            if entry.history.blanked > 0 {
                // The search tables must not keep redacted words until the next search updates
                // them, and an unanswered query may quote them.
                search::remove_search_data(db, key)?;
                missed::clear_quoted_text(db)?;
                scanned::clear_scanned(db)?;
            }
            IndexEntryRow::new(entry).write(db, key)
        }
        None => {
            db.prepare_cached("DELETE FROM entries WHERE key = ?1")?
                .execute([key])?;
            search::remove_search_data(db, key)
        }
    }
}
