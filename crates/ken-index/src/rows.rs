//! What stands in which column: events and entries to rows and back.

use ken_core::entry::Entry;
use ken_core::event::{Event, Recorded};
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId};
use ken_core::time::Timestamp;
use ken_core::workspace::{Workspace, fold_workspace};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::IndexError;
use crate::grounds::Grounds;

/// The digest of the listing and memory the index was last brought in step with.
pub(crate) const META_IN_STEP: &str = "in_step";
/// There while a blanked text may still be in the write-ahead log.
pub(crate) const META_SCRUB: &str = "scrub";
/// The folded workspace as JSON.
const META_WORKSPACE: &str = "workspace";

/// A clock reading as bytes that sort as it does: wall time and counter, then the node's text.
pub(crate) type AtKey = [u8; 14];

/// An event given to [`apply`](ken_core::store::Store::apply) in full, not found in a segment.
pub(crate) const LOOSE_FULL: u8 = 1;
/// The same for a blanked copy.
pub(crate) const LOOSE_BLANK: u8 = 2;

/// Which copies of an event are held, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Copies {
    /// Copies with their data, in segments.
    pub(crate) full: u32,
    /// Blanked copies, in segments.
    pub(crate) blank: u32,
    pub(crate) loose: u8,
    /// Copies say different things: what is left when one goes cannot be told from here.
    pub(crate) mixed: bool,
}

/// An event as stored.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) key: i64,
    pub(crate) copies: Copies,
    pub(crate) copy: Recorded,
}

/// An entry made ready to be written.
#[derive(Debug)]
pub(crate) struct EntryRow {
    id: EntryId,
    kind: Option<&'static str>,
    status: &'static str,
    lens: Option<String>,
    alias: Option<String>,
    created: Option<AtKey>,
    updated: AtKey,
    worded: bool,
    live: bool,
    archived: bool,
    retracted: bool,
    tombstone: bool,
    json: String,
    citations: Vec<(&'static str, String, String, u64)>,
    tags: Vec<String>,
    links: Vec<(String, String, [u8; 16])>,
    grounds: Grounds,
}

impl Copies {
    pub(crate) fn any(self) -> bool {
        self.full > 0 || self.blank > 0 || self.loose != 0
    }

    pub(crate) fn any_full(self) -> bool {
        self.full > 0 || self.loose & LOOSE_FULL != 0
    }
}

pub(crate) fn at_key(at: Hlc) -> AtKey {
    let mut key = [0; 14];
    let tick = at.wall.millis() << 16 | u64::from(at.counter);
    key[..8].copy_from_slice(&tick.to_be_bytes());
    key[8..].copy_from_slice(at.node.to_string().as_bytes());
    key
}

pub(crate) fn at_from_key(key: AtKey) -> Result<Hlc, IndexError> {
    let [a, b, c, d, e, f, g, h, node @ ..] = key;
    let tick = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    let node = str::from_utf8(&node).map_err(IndexError::damaged)?;
    Ok(Hlc {
        wall: Timestamp::from_millis(tick >> 16),
        counter: (tick & 0xffff) as u16,
        node: node.parse().map_err(IndexError::damaged)?,
    })
}

/// Reads a stored line back.
pub(crate) fn recorded(line: &str) -> Result<Recorded, IndexError> {
    Recorded::parse(line.as_bytes()).map_err(IndexError::damaged)
}

pub(crate) fn held(db: &Connection, id: EventId) -> Result<Option<Held>, IndexError> {
    let mut statement =
        db.prepare_cached("SELECT key, full, blank, loose, mixed, line FROM events WHERE id = ?1")?;
    let mut rows = statement.query([id.to_bytes()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let copies = Copies {
        full: row.get(1)?,
        blank: row.get(2)?,
        loose: row.get(3)?,
        mixed: row.get(4)?,
    };
    Ok(Some(Held {
        key: row.get(0)?,
        copies,
        copy: recorded(row.get_ref(5)?.as_str().map_err(IndexError::damaged)?)?,
    }))
}

/// Writes an event row; `key` is given when many are written in order.
pub(crate) fn insert_event(
    db: &Connection,
    key: Option<i64>,
    (id, at): (EventId, Hlc),
    copies: Copies,
    line: &str,
) -> Result<i64, IndexError> {
    let mut statement = db.prepare_cached(
        "INSERT INTO events (key, id, at, full, blank, loose, mixed, line)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let Copies {
        full,
        blank,
        loose,
        mixed,
    } = copies;
    Ok(statement.insert(params![
        key,
        id.to_bytes(),
        at_key(at),
        full,
        blank,
        loose,
        mixed,
        line
    ])?)
}

pub(crate) fn update_copies(db: &Connection, key: i64, copies: Copies) -> Result<(), IndexError> {
    let Copies {
        full,
        blank,
        loose,
        mixed,
    } = copies;
    db.prepare_cached(
        "UPDATE events SET full = ?2, blank = ?3, loose = ?4, mixed = ?5 WHERE key = ?1",
    )?
    .execute(params![key, full, blank, loose, mixed])?;
    Ok(())
}

/// Where an entry's row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryKey {
    pub(crate) key: i64,
    /// The row was made just now: no event of the entry was known.
    pub(crate) is_new: bool,
}

/// Returns the key of an entry's row, making an empty row where there is none.
pub(crate) fn entry_key(db: &Connection, id: EntryId) -> Result<EntryKey, IndexError> {
    let text = id.to_string();
    let known = db
        .prepare_cached("SELECT key FROM entries WHERE id = ?1")?
        .query_row([&text], |row| row.get(0))
        .optional()?;
    if let Some(key) = known {
        return Ok(EntryKey { key, is_new: false });
    }
    let mut statement =
        db.prepare_cached("INSERT INTO entries (id, tail, memory, json) VALUES (?1, ?2, ?3, '')")?;
    let memory = id.prefix().memory().name();
    let key = statement.insert(params![text, tail(&text), memory])?;
    Ok(EntryKey { key, is_new: true })
}

/// Returns the part of an entry's id behind its prefix.
pub(crate) fn tail(id: &str) -> &str {
    id.split_once('-').map_or(id, |(_, tail)| tail)
}

/// Returns every event of an entry, in no particular order.
pub(crate) fn events_of(db: &Connection, entry: i64) -> Result<Vec<Recorded>, IndexError> {
    let mut statement = db.prepare_cached(
        "SELECT line FROM touches JOIN events ON events.key = touches.event
         WHERE touches.entry = ?1",
    )?;
    lines(&mut statement, [entry])
}

/// Reads the lines a statement selects.
pub(crate) fn lines(
    statement: &mut rusqlite::Statement<'_>,
    parameters: impl rusqlite::Params,
) -> Result<Vec<Recorded>, IndexError> {
    let mut rows = statement.query(parameters)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(recorded(
            row.get_ref(0)?.as_str().map_err(IndexError::damaged)?,
        )?);
    }
    Ok(events)
}

pub(crate) fn parse_entry(json: &str) -> Result<Entry, IndexError> {
    serde_json::from_str(json).map_err(IndexError::damaged)
}

/// Returns the entry under `key`, if it has events.
pub(crate) fn entry_at(db: &Connection, key: i64) -> Result<Option<Entry>, IndexError> {
    let json = json_at(db, key)?;
    json.map(|json| parse_entry(&json)).transpose()
}

/// Returns the text of the entry under `key`, if it has events.
pub(crate) fn json_at(db: &Connection, key: i64) -> Result<Option<String>, IndexError> {
    let mut statement =
        db.prepare_cached("SELECT json FROM entries WHERE key = ?1 AND json <> ''")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

impl EntryRow {
    pub(crate) fn new(entry: &Entry) -> Self {
        let created = entry.created.as_ref();
        let content = entry.content.as_ref();
        let citation = |c: &ken_core::citation::Citation| {
            let by = c.cited_by.to_string();
            (
                c.evidence_type.name(),
                c.evidence_ref.to_string(),
                by,
                c.cited_at,
            )
        };
        let link = |link: &ken_core::entry::Link| {
            let rel = serde_json::to_value(link.rel).expect("a word");
            let rel = rel.as_str().expect("a word").to_owned();
            (link.to.to_string(), rel, link.event.to_bytes())
        };
        Self {
            id: entry.id,
            kind: entry.kind().map(ken_core::kind::Kind::name),
            status: entry.status.value.name(),
            lens: content
                .and_then(|c| c.lens.as_ref())
                .map(ToString::to_string),
            alias: created
                .and_then(|c| c.alias.as_ref())
                .map(ToString::to_string),
            created: created.map(|c| at_key(c.at)),
            updated: at_key(entry.history.last),
            worded: content.is_some(),
            live: entry.is_live(),
            archived: entry.archived.is_some(),
            retracted: entry.retracted.is_some(),
            tombstone: entry.is_tombstone(),
            json: serde_json::to_string(entry).expect("an entry has string keys"),
            citations: entry.citations.iter().map(citation).collect(),
            tags: content.map_or_else(Vec::new, |c| {
                c.tags.iter().map(ToString::to_string).collect()
            }),
            links: entry.links.iter().map(link).collect(),
            grounds: Grounds::of(entry),
        }
    }

    /// Writes the row over whatever stands under `key`.
    pub(crate) fn write(&self, db: &Connection, key: i64) -> Result<(), IndexError> {
        let id = self.id.to_string();
        db.prepare_cached(
            "INSERT INTO entries (key, id, tail, memory, kind, status, lens, alias,
                created, updated, worded, live, archived, retracted, tombstone, json)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
             ON CONFLICT (key) DO UPDATE SET kind = ?5, status = ?6, lens = ?7, alias = ?8,
                created = ?9, updated = ?10, worded = ?11, live = ?12, archived = ?13,
                retracted = ?14, tombstone = ?15, json = ?16",
        )?
        .execute(params![
            key,
            id,
            tail(&id),
            self.id.prefix().memory().name(),
            self.kind,
            self.status,
            self.lens,
            self.alias,
            self.created,
            self.updated,
            self.worded,
            self.live,
            self.archived,
            self.retracted,
            self.tombstone,
            self.json,
        ])?;
        self.write_satellites(db, key)
    }

    fn write_satellites(&self, db: &Connection, key: i64) -> Result<(), IndexError> {
        let mut citations =
            db.prepare_cached("INSERT INTO citations VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for (kind, reference, by, at) in &self.citations {
            let at = i64::try_from(*at).unwrap_or(i64::MAX);
            citations.execute(params![key, kind, reference, by, at])?;
        }
        let mut tags = db.prepare_cached("INSERT INTO tags VALUES (?1, ?2)")?;
        for tag in &self.tags {
            tags.execute(params![key, tag])?;
        }
        let mut links = db.prepare_cached("INSERT INTO links VALUES (?1, ?2, ?3, ?4)")?;
        for (target, rel, event) in &self.links {
            links.execute(params![key, target, rel, event])?;
        }
        self.grounds.write(db, key)
    }
}

/// Writes what an absorbed event changed: sums and counts, no column a filter reads.
pub(crate) fn update_absorbed(db: &Connection, key: i64, entry: &Entry) -> Result<(), IndexError> {
    let json = serde_json::to_string(entry).expect("an entry has string keys");
    db.prepare_cached("UPDATE entries SET json = ?2, updated = ?3 WHERE key = ?1")?
        .execute(params![key, json, at_key(entry.history.last)])?;
    Ok(())
}

/// Removes what [`EntryRow::write`] wrote beside the entry's own row.
pub(crate) fn delete_satellites(db: &Connection, key: i64) -> Result<(), IndexError> {
    for table in ["citations", "tags", "links", "grounds"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE entry = ?1"))?
            .execute([key])?;
    }
    Ok(())
}

/// Folds the workspace from `events` and keeps the result.
pub(crate) fn write_workspace<'a>(
    db: &Connection,
    events: impl IntoIterator<Item = &'a Event>,
) -> Result<(), IndexError> {
    let state = fold_workspace(events);
    let json = serde_json::to_string(&state).expect("the workspace has string keys");
    write_meta(db, META_WORKSPACE, json.as_bytes())
}

pub(crate) fn workspace(db: &Connection) -> Result<Workspace, IndexError> {
    match meta(db, META_WORKSPACE)? {
        None => Ok(Workspace::default()),
        Some(json) => serde_json::from_slice(&json).map_err(IndexError::damaged),
    }
}

pub(crate) fn meta(db: &Connection, name: &str) -> Result<Option<Vec<u8>>, IndexError> {
    let mut statement = db.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

pub(crate) fn write_meta(db: &Connection, name: &str, value: &[u8]) -> Result<(), IndexError> {
    db.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?
        .execute(params![name, value])?;
    Ok(())
}

pub(crate) fn delete_meta(db: &Connection, name: &str) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM meta WHERE name = ?1")?
        .execute([name])?;
    Ok(())
}
