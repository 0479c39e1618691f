//! The index itself: opening it, and the answers of the [`Store`] port.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use ken_core::actor::Actor;
use ken_core::citation::EvidenceRef;
use ken_core::entry::Entry;
use ken_core::event::{Event, EventData, Recorded};
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId};
use ken_core::state::State;
use ken_core::store::{Delta, Filter, Store};
use ken_core::workspace::Workspace;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::change::{self, Change, Source, Unmade};
use crate::database::{self, Place};
use crate::error::IndexError;
use crate::listing;
use crate::recent::Recent;
use crate::refresh::Rebuilt;
use crate::rows;

/// Events and entries in SQLite.
///
/// A read that meets damage fails with [`IndexError::Damaged`]; the next
/// [`refresh`](Self::refresh) then starts from nothing.
#[derive(Debug)]
pub struct Index {
    place: Place,
    pub(crate) db: Connection,
    /// Why the database is empty, until it has been filled.
    emptied: Option<Rebuilt>,
    damaged: Cell<bool>,
    /// Whether this connection writes through the write-ahead log; that does not change again.
    in_wal: bool,
    pub(crate) recent: Recent,
}

impl Index {
    /// Opens the database at `path`, whose folder must exist.
    ///
    /// A missing one is made; a damaged one or one of another schema is replaced by an empty one.
    /// The next [`refresh`](Self::refresh) fills it and says why.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        Self::at(Place::File(path.to_owned()))
    }

    /// Opens an index that goes with the process.
    pub fn open_in_memory() -> Result<Self, IndexError> {
        Self::at(Place::Memory)
    }

    /// Returns the event with the smallest id: the first that was made.
    pub fn first_event(&self) -> Result<Option<EventId>, IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached("SELECT id FROM events ORDER BY id LIMIT 1")?;
            let first = statement.query_row([], |row| row.get(0)).optional()?;
            Ok(first.map(EventId::from_bytes))
        })
    }

    /// Returns the last event in canonical order that `actor` wrote.
    pub fn latest_by(&self, actor: &Actor) -> Result<Option<Recorded>, IndexError> {
        self.checked(|db| {
            let mut statement =
                db.prepare_cached("SELECT line FROM events ORDER BY at DESC, id DESC")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = Recorded::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                if copy.event.by == *actor {
                    return Ok(Some(copy));
                }
            }
            Ok(None)
        })
    }

    /// Returns the events of a type among the last `among` there are, the latest first.
    pub fn latest_of_type<T: EventData>(&self, among: u32) -> Result<Vec<Recorded>, IndexError> {
        let name = T::TYPE;
        self.checked(|db| {
            let query = "SELECT line FROM (SELECT line FROM events ORDER BY at DESC, id DESC LIMIT ?2) WHERE instr(line, ?1)";
            let mut statement = db.prepare_cached(query)?;
            let asked = (format!("\"type\":\"{name}\""), among);
            let mut rows = statement.query(asked)?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = Recorded::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                if copy.event.body.type_name() == name {
                    found.push(copy);
                }
            }
            Ok(found)
        })
    }

    /// Returns the events of a type, in canonical order.
    pub fn of_type<T: EventData>(&self) -> Result<Vec<Recorded>, IndexError> {
        let name = T::TYPE;
        self.checked(|db| {
            let query = "SELECT line FROM events WHERE instr(line, ?1) ORDER BY at, id";
            let mut statement = db.prepare_cached(query)?;
            let mut rows = statement.query([format!("\"type\":\"{name}\"")])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = Recorded::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                // The words may also stand in somebody's text.
                if copy.event.body.type_name() == name {
                    found.push(copy);
                }
            }
            Ok(found)
        })
    }

    /// Calls `each` with every event, in canonical order.
    pub fn each_event(&self, each: &mut dyn FnMut(&Event)) -> Result<(), IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached("SELECT line FROM events ORDER BY at, id")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let line: String = row.get(0)?;
                let copy = Recorded::parse(line.as_bytes()).map_err(IndexError::damaged)?;
                each(&copy.event);
            }
            Ok(())
        })
    }

    /// Calls `each` with id and line of every event, in canonical order; nothing is parsed.
    pub fn each_line(&self, each: &mut dyn FnMut(EventId, &str)) -> Result<(), IndexError> {
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

    /// Returns the entries that cite `reference`, such as a commit.
    pub fn citing(&self, reference: &EvidenceRef) -> Result<Vec<EntryId>, IndexError> {
        let query = "SELECT DISTINCT entries.id FROM citations
             JOIN entries ON entries.key = citations.entry
             WHERE evidence_ref = ?1 ORDER BY entries.id";
        self.checked(|db| listing::ids(db, query, [reference.as_str()]))
    }

    /// Returns the entries that link to `target`.
    pub fn linking_to(&self, target: EntryId) -> Result<Vec<EntryId>, IndexError> {
        let query = "SELECT DISTINCT entries.id FROM links
             JOIN entries ON entries.key = links.entry
             WHERE target = ?1 ORDER BY entries.id";
        self.checked(|db| listing::ids(db, query, [target.to_string()]))
    }

    /// Returns the ids that events of this branch order to be blanked.
    ///
    /// An order itself is never blanked, so one that aims at an order is not among them.
    pub fn ordered_blank(&self) -> Result<BTreeSet<EventId>, IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached(
                "SELECT DISTINCT target FROM orders WHERE target NOT IN (SELECT event FROM orders)",
            )?;
            let ids = statement.query_map([], |row| row.get(0).map(EventId::from_bytes))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    /// Returns whether some event is here without its data.
    pub fn any_blank(&self) -> Result<bool, IndexError> {
        self.checked(|db| {
            let query = "SELECT EXISTS (SELECT 1 FROM events WHERE blank > 0 OR loose & ?1)";
            Ok(db.query_row(query, [rows::LOOSE_BLANK], |row| row.get(0))?)
        })
    }

    /// Returns whether a segment holds one of `events` with its data.
    pub fn any_in_full(&self, events: &BTreeSet<EventId>) -> Result<bool, IndexError> {
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

    /// Returns the events whose copies say different things; somebody forged or broke one.
    pub fn differing(&self) -> Result<Vec<EventId>, IndexError> {
        self.checked(|db| {
            let mut statement =
                db.prepare_cached("SELECT id FROM events WHERE mixed = 1 ORDER BY id")?;
            let ids = statement.query_map([], |row| row.get(0).map(EventId::from_bytes))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    fn at(place: Place) -> Result<Self, IndexError> {
        let (db, emptied) = database::open(&place)?;
        Ok(Self {
            place,
            db,
            emptied,
            damaged: Cell::new(false),
            in_wal: false,
            recent: Recent::default(),
        })
    }

    /// Throws everything away.
    pub(crate) fn start_over(&mut self, why: Rebuilt) -> Result<(), IndexError> {
        // The file cannot be removed everywhere while it is open.
        self.db = Connection::open_in_memory()?;
        self.db = database::replace(&self.place)?;
        self.emptied = Some(why);
        self.in_wal = false;
        self.damaged.set(false);
        Ok(())
    }

    /// Returns why there is nothing in the database, if it was made or emptied by us.
    pub(crate) fn why_empty(&self) -> Option<Rebuilt> {
        self.emptied
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.get()
    }

    /// Does what has to wait for the end of a transaction.
    pub(crate) fn after_commit(&mut self) -> Result<(), IndexError> {
        self.emptied = None;
        if !self.in_wal {
            self.in_wal = database::use_wal(&self.db)?;
        }
        self.scrub_log()
    }

    /// Empties the write-ahead log if it may hold text that is blanked by now.
    ///
    /// Another process that reads prevents it; then a later call does it.
    pub(crate) fn scrub_log(&self) -> Result<(), IndexError> {
        let due = rows::meta(&self.db, rows::META_SCRUB)?.is_some();
        if due && database::truncate_wal(&self.db)? {
            rows::delete_meta(&self.db, rows::META_SCRUB)?;
        }
        Ok(())
    }

    /// Answers with `ask`, remembering if the database turns out to be damaged.
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

impl Store for Index {
    type Error = IndexError;

    /// Applies a change whose source the index does not know.
    ///
    /// What is added here stays until it is removed here, whatever segments come and go. The text
    /// of an event that is blanked is gone: taking the order back does not bring it back.
    fn apply(&mut self, delta: Delta<'_>) -> Result<(), IndexError> {
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let change = Change {
            incoming: delta.added.to_vec(),
            outgoing: Vec::new(),
            source: Source::Caller {
                dropped: delta.removed,
                remembered: delta.blanked,
            },
        };
        change::make(&tx, change, &self.recent).map_err(|unmade| match unmade {
            Unmade::Index(error) => error,
            Unmade::StartOver => unreachable!("a caller's events are never asked for again"),
        })?;
        tx.commit()?;
        self.scrub_log()
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>, IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached("SELECT json FROM entries WHERE id = ?1")?;
            let json: Option<String> = statement
                .query_row([id.to_string()], |row| row.get(0))
                .optional()?;
            let Some(json) = json else {
                return Ok(None);
            };
            if let Some(entry) = self.recent.read_from(id, &json) {
                return Ok(Some(entry));
            }
            let entry = rows::parse_entry(&json)?;
            self.recent.keep(json, &entry);
            Ok(Some(entry))
        })
    }

    fn event(&self, id: EventId) -> Result<Option<Recorded>, IndexError> {
        self.checked(|db| Ok(rows::held(db, id)?.map(|held| held.copy)))
    }

    fn history(&self, id: EntryId) -> Result<Vec<Recorded>, IndexError> {
        self.checked(|db| {
            let key: Option<i64> = db
                .prepare_cached("SELECT key FROM entries WHERE id = ?1")?
                .query_row([id.to_string()], |row| row.get(0))
                .optional()?;
            let mut events = key.map_or_else(|| Ok(Vec::new()), |key| rows::events_of(db, key))?;
            events.sort_by_key(|copy| copy.event.order());
            Ok(events)
        })
    }

    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, IndexError> {
        self.checked(|db| listing::find(db, beginning))
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, IndexError> {
        self.checked(|db| listing::list(db, filter))
    }

    fn tombstones(&self) -> Result<Vec<Entry>, IndexError> {
        let query = "SELECT json FROM entries WHERE tombstone = 1 ORDER BY id";
        self.checked(|db| listing::entries(db, query, []))
    }

    fn workspace(&self) -> Result<Workspace, IndexError> {
        self.checked(rows::workspace)
    }

    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, IndexError> {
        self.checked(|db| {
            let mut statement =
                db.prepare_cached("SELECT at FROM events WHERE at <= ?1 ORDER BY at DESC LIMIT 1")?;
            let key = statement
                .query_row([rows::at_key(limit)], |row| row.get(0))
                .optional()?;
            key.map(rows::at_from_key).transpose()
        })
    }

    fn state(&self) -> Result<State, IndexError> {
        self.checked(|db| {
            let entries = listing::entries(db, "SELECT json FROM entries", [])?;
            Ok(State {
                entries: entries.into_iter().map(|entry| (entry.id, entry)).collect(),
                workspace: rows::workspace(db)?,
            })
        })
    }
}
