//! [`Index`]: opening the database and the [`DerivedStore`] implementation.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use ken_core::ledger::entry::{AnnotationState, Entry};
use ken_core::ledger::event::{Event, EventData, Overlay, RecordedEvent};
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::store::{DerivedStore, EntryFilter, EventDelta};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::actor::Actor;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::change::{self, ApplyError, ChangeSource, IndexChange};
use crate::database::{self, DatabaseLocation};
use crate::error::IndexError;
use crate::listing;
use crate::recent::EntryCache;
use crate::refresh::RebuildReason;
use crate::rows;

/// SQLite index of events and entries.
///
/// A read that finds damage fails with [`IndexError::Damaged`]; the next [`refresh`](Self::refresh)
/// then rebuilds the index from scratch.
#[derive(Debug)]
pub struct Index {
    place: DatabaseLocation,
    pub(crate) db: Connection,
    /// Reason the database is empty, until it has been filled.
    emptied: Option<RebuildReason>,
    /// A read found damage. A `Cell`, because reads take `&self`.
    damaged: Cell<bool>,
    /// Set once the database is in WAL mode; the mode stays.
    in_wal: bool,
    pub(crate) recent: EntryCache,
    overlays: LocalOverlays,
}

/// Overlays of this clone. They are in no segment, and each replaces the entry's own.
pub type LocalOverlays = BTreeMap<EntryId, BTreeMap<Overlay, AnnotationState>>;

impl Index {
    /// Opens the database at `path`, whose directory must exist.
    ///
    /// Creates a missing database and replaces a damaged one or one with another schema version
    /// with an empty one. The next [`refresh`](Self::refresh) fills it and reports the reason.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        Self::at(DatabaseLocation::File(path.to_owned()))
    }

    /// Opens an in-memory index.
    pub fn open_in_memory() -> Result<Self, IndexError> {
        Self::at(DatabaseLocation::Memory)
    }

    /// Returns the event with the smallest id, which is the oldest.
    pub fn first_event(&self) -> Result<Option<EventId>, IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached("SELECT id FROM events ORDER BY id LIMIT 1")?;
            let first = statement.query_row([], |row| row.get(0)).optional()?;
            Ok(first.map(EventId::from_bytes))
        })
    }

    /// Calls `each` with the events by `actor`, latest first in canonical order, until it breaks.
    pub fn for_each_event_by(
        &self,
        actor: &Actor,
        each: &mut dyn FnMut(RecordedEvent) -> ControlFlow<()>,
    ) -> Result<(), IndexError> {
        self.checked(|db| {
            // The author is not a column, and the line alone may name it elsewhere.
            let query = "SELECT line FROM events WHERE instr(line, ?1) ORDER BY at DESC, id DESC";
            let mut statement = db.prepare_cached(query)?;
            // As JSON, because the name may contain characters that are escaped in a line.
            let name = serde_json::Value::from(actor.name()).to_string();
            let mut rows = statement.query([name.trim_matches('"')])?;
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = RecordedEvent::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                if copy.event.by == *actor && each(copy).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Returns the events of a type among the last `among` events, latest first.
    pub fn latest_events_of_type<T: EventData>(
        &self,
        among: u32,
    ) -> Result<Vec<RecordedEvent>, IndexError> {
        let name = T::TYPE;
        self.checked(|db| {
            let query = "SELECT line FROM (SELECT line FROM events ORDER BY at DESC, id DESC LIMIT ?2) WHERE instr(line, ?1)";
            let mut statement = db.prepare_cached(query)?;
            let asked = (format!("\"type\":\"{name}\""), among);
            let mut rows = statement.query(asked)?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = RecordedEvent::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                if copy.event.body.type_name() == name {
                    found.push(copy);
                }
            }
            Ok(found)
        })
    }

    /// Returns the events about handoffs in canonical order.
    ///
    /// Every start of a session asks for them, so they have an index of their own.
    pub fn handoff_events(&self) -> Result<Vec<RecordedEvent>, IndexError> {
        self.checked(|db| {
            // The condition is that of the index, word by word; SQLite uses it for no other.
            let query = "SELECT line FROM events INDEXED BY events_handoff
                         WHERE instr(line, '\"type\":\"handoff.') > 0 ORDER BY at, id";
            let mut statement = db.prepare_cached(query)?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                found.push(RecordedEvent::parse(line.as_bytes()).map_err(IndexError::damaged)?);
            }
            Ok(found)
        })
    }

    /// Returns the events of a type in canonical order.
    pub fn of_type<T: EventData>(&self) -> Result<Vec<RecordedEvent>, IndexError> {
        let name = T::TYPE;
        self.checked(|db| {
            // Events that are not about an entry's content are few among all: they have an index.
            // Its condition is repeated word by word, because SQLite uses it for no other.
            let query = if name.starts_with("entry.") {
                "SELECT line FROM events WHERE instr(line, ?1) ORDER BY at, id"
            } else {
                "SELECT line FROM events INDEXED BY events_other
                 WHERE instr(line, '\"type\":\"entry.') = 0 AND instr(line, ?1) ORDER BY at, id"
            };
            let mut statement = db.prepare_cached(query)?;
            let mut rows = statement.query([format!("\"type\":\"{name}\"")])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = RecordedEvent::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                // `instr` is only a prefilter: the same characters may occur in a text field.
                if copy.event.body.type_name() == name {
                    found.push(copy);
                }
            }
            Ok(found)
        })
    }

    /// Returns the quarantined entries that have content, newest first.
    pub fn quarantined(&self) -> Result<Vec<Entry>, IndexError> {
        let query = "SELECT json FROM entries WHERE quarantined = 1 AND worded = 1
             ORDER BY created DESC, id DESC";
        self.select(query)
    }

    /// Returns the live entries that have anchors or conditions to verify, newest first.
    pub fn checkable(&self) -> Result<Vec<Entry>, IndexError> {
        let query = "SELECT json FROM entries WHERE worded = 1 AND live = 1
             AND key IN (SELECT entry FROM grounds) ORDER BY created DESC, id DESC";
        self.select(query)
    }

    /// Returns the live entries whose content was edited concurrently, newest first.
    pub fn concurrently_edited(&self) -> Result<Vec<Entry>, IndexError> {
        // Inside a text the quotes are escaped, so only the field matches.
        let query = r#"SELECT json FROM entries WHERE instr(json, '"concurrent":["') > 0
             AND worded = 1 AND live = 1 ORDER BY created DESC, id DESC"#;
        self.select(query)
    }

    /// Returns the entries whose JSON a query selects, with this user's overlays.
    fn select(&self, query: &str) -> Result<Vec<Entry>, IndexError> {
        let mut entries = self.checked(|db| listing::select_entries(db, query, []))?;
        entries
            .iter_mut()
            .for_each(|entry| self.add_overlays(entry));
        Ok(entries)
    }

    /// Calls `each` with every live entry, newest first, without holding all in memory.
    pub fn for_each_live_entry(&self, each: &mut dyn FnMut(Entry)) -> Result<(), IndexError> {
        self.checked(|db| listing::for_each_entry(db, &EntryFilter::default(), each))
    }

    /// Calls `each` with every event in canonical order.
    pub fn for_each_event(&self, each: &mut dyn FnMut(&Event)) -> Result<(), IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached("SELECT line FROM events ORDER BY at, id")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = RecordedEvent::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                each(&copy.event);
            }
            Ok(())
        })
    }

    /// Calls `each` with the id and line of every event in canonical order, without parsing.
    pub fn for_each_line(&self, each: &mut dyn FnMut(EventId, &str)) -> Result<(), IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached("SELECT id, line FROM events ORDER BY at, id")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let line: String = row.get(1)?;
                each(EventId::from_bytes(row.get(0)?), &line);
            }
            Ok(())
        })
    }

    /// Returns the ids of the events that redaction events of this branch target.
    ///
    /// A redaction event is never redacted itself, so targets that are redaction events are
    /// excluded.
    pub fn ordered_blank(&self) -> Result<BTreeSet<EventId>, IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached(
                "SELECT DISTINCT target FROM orders WHERE target NOT IN (SELECT event FROM orders)",
            )?;
            let ids = statement.query_map([], |row| row.get(0).map(EventId::from_bytes))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    /// Returns whether a redaction event or this machine's list redacts an event.
    pub fn is_redacted(&self, id: EventId) -> Result<bool, IndexError> {
        self.checked(|db| change::is_redacted(db, id))
    }

    /// Returns whether any event is stored without its data.
    pub fn has_redacted_event(&self) -> Result<bool, IndexError> {
        self.checked(|db| {
            let query = "SELECT EXISTS (SELECT 1 FROM events WHERE blank > 0 OR loose & ?1)";
            Ok(db.query_row(query, [rows::LOOSE_BLANK], |row| row.get(0))?)
        })
    }

    /// Returns whether a segment stores one of `events` with its data.
    pub fn has_unredacted(&self, events: &BTreeSet<EventId>) -> Result<bool, IndexError> {
        self.checked(|db| {
            let query = "SELECT EXISTS (SELECT 1 FROM events WHERE id = ?1 AND full > 0)";
            let mut statement = db.prepare_cached(query)?;
            for id in events {
                if statement.query_row([id.to_bytes()], |row| row.get(0))? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Returns the events whose copies differ, which means that one copy is forged or corrupted.
    pub fn differing(&self) -> Result<Vec<EventId>, IndexError> {
        self.checked(|db| {
            let mut statement =
                db.prepare_cached("SELECT id FROM events WHERE mixed = 1 ORDER BY id")?;
            let ids = statement.query_map([], |row| row.get(0).map(EventId::from_bytes))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    fn at(place: DatabaseLocation) -> Result<Self, IndexError> {
        let (db, emptied) = database::open(&place, database::KNOWLEDGE)?;
        Ok(Self {
            place,
            db,
            emptied,
            damaged: Cell::new(false),
            in_wal: false,
            recent: EntryCache::default(),
            overlays: LocalOverlays::new(),
        })
    }

    /// Sets the overlays of this clone, which every entry read from now on shows.
    pub fn set_local_overlays(&mut self, overlays: LocalOverlays) {
        self.overlays = overlays;
    }

    /// Adds the overlays of this clone to an entry.
    pub(crate) fn add_overlays(&self, entry: &mut Entry) {
        if let Some(own) = self.overlays.get(&entry.id) {
            entry.overlays.extend(own.clone());
        }
    }

    /// Deletes the database and opens an empty one.
    pub(crate) fn start_over(&mut self, why: RebuildReason) -> Result<(), IndexError> {
        // Windows cannot delete an open file, so the connection is closed first.
        self.db = Connection::open_in_memory()?;
        self.db = database::recreate(&self.place, database::KNOWLEDGE)?;
        self.emptied = Some(why);
        self.in_wal = false;
        self.damaged.set(false);
        Ok(())
    }

    /// Returns the reason the database is empty, if this process created or emptied it.
    pub(crate) fn why_empty(&self) -> Option<RebuildReason> {
        self.emptied
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.get()
    }

    /// Runs the work that must follow a commit.
    pub(crate) fn after_commit(&mut self) -> Result<(), IndexError> {
        self.emptied = None;
        if !self.in_wal {
            self.in_wal = database::use_wal(&self.db)?;
        }
        self.scrub_wal()
    }

    /// Truncates the write-ahead log if it may contain text that has been redacted.
    ///
    /// A reader in another process prevents it; a later call retries.
    pub(crate) fn scrub_wal(&self) -> Result<(), IndexError> {
        let due = rows::read_meta(&self.db, rows::META_SCRUB)?.is_some();
        if due && database::truncate_wal(&self.db)? {
            rows::delete_meta(&self.db, rows::META_SCRUB)?;
        }
        Ok(())
    }

    /// Runs a read and records whether it found the database damaged.
    pub(crate) fn checked<T>(
        &self,
        ask: impl FnOnce(&Connection) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let answer = ask(&self.db);
        if answer.as_ref().is_err_and(IndexError::is_damage) {
            self.damaged.set(true);
        }
        answer
    }
}

impl DerivedStore for Index {
    type Error = IndexError;

    /// Applies a change from a source other than segments.
    ///
    /// Events added here stay until they are removed here, regardless of segments. The text of a
    /// redacted event is lost: removing the redaction event does not restore it.
    fn apply(&mut self, delta: EventDelta<'_>) -> Result<(), IndexError> {
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let change = IndexChange {
            incoming: delta.added.to_vec(),
            outgoing: Vec::new(),
            source: ChangeSource::Caller {
                dropped: delta.removed,
                remembered: delta.blanked,
            },
        };
        change::apply_change(&tx, change, &self.recent).map_err(|unmade| match unmade {
            ApplyError::Index(error) => error,
            // Only changes from segments require a rebuild.
            ApplyError::RebuildRequired => {
                unreachable!("a caller's events are never asked for again")
            }
        })?;
        tx.commit()?;
        self.scrub_wal()
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>, IndexError> {
        let mut entry = self.checked(|db| {
            let mut statement = db.prepare_cached("SELECT json FROM entries WHERE id = ?1")?;
            let json: Option<String> = statement
                .query_row([id.to_string()], |row| row.get(0))
                .optional()?;
            let Some(json) = json else {
                return Ok(None);
            };
            // Parsing an entry costs more than comparing its JSON with the cached text.
            if let Some(entry) = self.recent.read_from(id, &json) {
                return Ok(Some(entry));
            }
            let entry = rows::parse_entry(&json)?;
            self.recent.keep(json, &entry);
            Ok(Some(entry))
        })?;
        entry.iter_mut().for_each(|entry| self.add_overlays(entry));
        Ok(entry)
    }

    fn event(&self, id: EventId) -> Result<Option<RecordedEvent>, IndexError> {
        self.checked(|db| Ok(rows::load_event(db, id)?.map(|held| held.copy)))
    }

    fn history(&self, id: EntryId) -> Result<Vec<RecordedEvent>, IndexError> {
        self.checked(|db| {
            let key: Option<i64> = db
                .prepare_cached("SELECT key FROM entries WHERE id = ?1")?
                .query_row([id.to_string()], |row| row.get(0))
                .optional()?;
            let mut events =
                key.map_or_else(|| Ok(Vec::new()), |key| rows::load_entry_events(db, key))?;
            // The join returns events in row order, not in canonical order.
            events.sort_by_key(|copy| copy.event.order());
            Ok(events)
        })
    }

    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, IndexError> {
        self.checked(|db| listing::find_by_prefix(db, beginning))
    }

    fn list(&self, filter: &EntryFilter) -> Result<Vec<Entry>, IndexError> {
        let mut entries = self.checked(|db| listing::list_entries(db, filter))?;
        entries
            .iter_mut()
            .for_each(|entry| self.add_overlays(entry));
        Ok(entries)
    }

    fn tombstones(&self) -> Result<Vec<Entry>, IndexError> {
        let query = "SELECT json FROM entries WHERE tombstone = 1 ORDER BY id";
        self.checked(|db| listing::select_entries(db, query, []))
    }

    fn workspace(&self) -> Result<WorkspaceState, IndexError> {
        self.checked(rows::load_workspace)
    }

    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, IndexError> {
        self.checked(|db| {
            let mut statement =
                db.prepare_cached("SELECT at FROM events WHERE at <= ?1 ORDER BY at DESC LIMIT 1")?;
            // Keys sort as clock readings do, so the `events_at` index answers with one seek.
            let key = statement
                .query_row([rows::hlc_key(limit)], |row| row.get(0))
                .optional()?;
            key.map(rows::hlc_from_key).transpose()
        })
    }

    fn state(&self) -> Result<LedgerState, IndexError> {
        self.checked(|db| {
            let entries = listing::select_entries(db, "SELECT json FROM entries", [])?;
            Ok(LedgerState {
                entries: entries.into_iter().map(|entry| (entry.id, entry)).collect(),
                workspace: rows::load_workspace(db)?,
            })
        })
    }
}
