//! Mapping of events and entries to table rows and back.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Event, Origin, RecordedEvent};
use ken_core::ledger::workspace::{WorkspaceState, fold_workspace};
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::IndexError;
use crate::grounds::ReverseIndexRows;
use crate::pages::{PageColumns, TRUST_DUE};

/// Name of the meta row with the digest of the last refreshed listing and redacted ids.
pub(crate) const META_LISTING_DIGEST: &str = "in_step";
/// Name of the meta row with the segments that became shorter.
pub(crate) const META_CUT: &str = "cut";
/// Name of the meta row that exists while the write-ahead log may contain redacted text.
pub(crate) const META_SCRUB: &str = "scrub";
/// Name of the meta row with the folded workspace as JSON.
const META_WORKSPACE: &str = "workspace";

/// A clock reading as bytes that sort like it: wall time and counter, then the node's text.
pub(crate) type HlcKey = [u8; 14];

/// Flag: a full copy came from [`apply`](ken_core::ledger::store::DerivedStore::apply), not from
/// a segment.
pub(crate) const LOOSE_FULL: u8 = 1;
/// Flag: a redacted copy came from `apply`.
pub(crate) const LOOSE_BLANK: u8 = 2;

/// Number of copies of an event by form and source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CopyCounts {
    /// Copies with data, in segments.
    pub(crate) full: u32,
    /// Redacted copies, in segments.
    pub(crate) blank: u32,
    pub(crate) loose: u8,
    /// Copies differ, so the index does not determine which one remains when one is removed.
    pub(crate) mixed: bool,
}

/// An event row.
#[derive(Clone, Debug)]
pub(crate) struct StoredEventRow {
    pub(crate) key: i64,
    pub(crate) copies: CopyCounts,
    pub(crate) copy: RecordedEvent,
}

/// Column values of an entry and its dependent rows, ready to write.
#[derive(Debug)]
pub(crate) struct IndexEntryRow {
    id: EntryId,
    kind: Option<&'static str>,
    status: &'static str,
    lens: Option<String>,
    alias: Option<String>,
    created: Option<HlcKey>,
    updated: HlcKey,
    worded: bool,
    live: bool,
    archived: bool,
    retracted: bool,
    tombstone: bool,
    quarantined: bool,
    page: PageColumns,
    json: String,
    tags: Vec<String>,
    links: Vec<(String, String, [u8; 16])>,
    grounds: ReverseIndexRows,
}

impl CopyCounts {
    pub(crate) fn any(self) -> bool {
        self.full > 0 || self.blank > 0 || self.loose != 0
    }

    pub(crate) fn any_full(self) -> bool {
        self.full > 0 || self.loose & LOOSE_FULL != 0
    }
}

pub(crate) fn hlc_key(at: Hlc) -> HlcKey {
    let mut key = [0; 14];
    // Big-endian bytes compare like the number. Wall time has 48 bits, so the shift loses none.
    let tick = at.wall.millis() << 16 | u64::from(at.counter);
    key[..8].copy_from_slice(&tick.to_be_bytes());
    key[8..].copy_from_slice(at.node.to_string().as_bytes());
    key
}

pub(crate) fn hlc_from_key(key: HlcKey) -> Result<Hlc, IndexError> {
    let [a, b, c, d, e, f, g, h, node @ ..] = key;
    let tick = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    let node = str::from_utf8(&node).map_err(IndexError::damaged)?;
    Ok(Hlc {
        wall: Timestamp::from_millis(tick >> 16),
        counter: (tick & 0xffff) as u16,
        node: node.parse().map_err(IndexError::damaged)?,
    })
}

/// Parses a stored line.
pub(crate) fn parse_recorded(line: &str) -> Result<RecordedEvent, IndexError> {
    RecordedEvent::parse(line.as_bytes()).map_err(IndexError::damaged)
}

pub(crate) fn load_event(
    db: &Connection,
    id: EventId,
) -> Result<Option<StoredEventRow>, IndexError> {
    let mut statement =
        db.prepare_cached("SELECT key, full, blank, loose, mixed, line FROM events WHERE id = ?1")?;
    let mut rows = statement.query([id.to_bytes()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let copies = CopyCounts {
        full: row.get(1)?,
        blank: row.get(2)?,
        loose: row.get(3)?,
        mixed: row.get(4)?,
    };
    Ok(Some(StoredEventRow {
        key: row.get(0)?,
        copies,
        copy: parse_recorded(row.get_ref(5)?.as_str().map_err(IndexError::damaged)?)?,
    }))
}

/// Inserts an event row; a bulk load passes `key`, otherwise SQLite assigns one.
pub(crate) fn insert_event(
    db: &Connection,
    key: Option<i64>,
    (id, at): (EventId, Hlc),
    copies: CopyCounts,
    line: &str,
) -> Result<i64, IndexError> {
    let mut statement = db.prepare_cached(
        "INSERT INTO events (key, id, at, full, blank, loose, mixed, line)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let CopyCounts {
        full,
        blank,
        loose,
        mixed,
    } = copies;
    Ok(statement.insert(params![
        key,
        id.to_bytes(),
        hlc_key(at),
        full,
        blank,
        loose,
        mixed,
        line
    ])?)
}

pub(crate) fn update_copies(
    db: &Connection,
    key: i64,
    copies: CopyCounts,
) -> Result<(), IndexError> {
    let CopyCounts {
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

/// Row key of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryKey {
    pub(crate) key: i64,
    /// The row was just inserted: no event of the entry was indexed before.
    pub(crate) is_new: bool,
}

/// Returns the row key of an entry, inserting an empty row if there is none.
pub(crate) fn ensure_entry_row(db: &Connection, id: EntryId) -> Result<EntryKey, IndexError> {
    // Row keys are small integers, so that `touches` and the search tables do not repeat the id.
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
    let key = statement.insert(params![text, id_tail(&text), memory])?;
    Ok(EntryKey { key, is_new: true })
}

/// Returns the part of an entry id after its prefix.
pub(crate) fn id_tail(id: &str) -> &str {
    id.split_once('-').map_or(id, |(_, tail)| tail)
}

/// Loads every event of an entry, unordered.
pub(crate) fn load_entry_events(
    db: &Connection,
    entry: i64,
) -> Result<Vec<RecordedEvent>, IndexError> {
    let mut statement = db.prepare_cached(
        "SELECT line FROM touches JOIN events ON events.key = touches.event
         WHERE touches.entry = ?1",
    )?;
    select_events(&mut statement, [entry])
}

/// Parses the lines a statement selects.
pub(crate) fn select_events(
    statement: &mut rusqlite::Statement<'_>,
    parameters: impl rusqlite::Params,
) -> Result<Vec<RecordedEvent>, IndexError> {
    let mut rows = statement.query(parameters)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(parse_recorded(
            row.get_ref(0)?.as_str().map_err(IndexError::damaged)?,
        )?);
    }
    Ok(events)
}

pub(crate) fn parse_entry(json: &str) -> Result<Entry, IndexError> {
    serde_json::from_str(json).map_err(IndexError::damaged)
}

/// Loads the entry under `key`, if it has events.
pub(crate) fn load_entry(db: &Connection, key: i64) -> Result<Option<Entry>, IndexError> {
    let json = load_entry_json(db, key)?;
    json.map(|json| parse_entry(&json)).transpose()
}

/// Loads the JSON of the entry under `key`, if it has events.
pub(crate) fn load_entry_json(db: &Connection, key: i64) -> Result<Option<String>, IndexError> {
    let mut statement =
        db.prepare_cached("SELECT json FROM entries WHERE key = ?1 AND json <> ''")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

impl IndexEntryRow {
    pub(crate) fn new(entry: &Entry) -> Self {
        let created = entry.created.as_ref();
        let content = entry.content.as_ref();
        let link = |link: &ken_core::ledger::entry::EntryLink| {
            (
                link.to.to_string(),
                word(serde_json::to_value(link.rel)),
                link.event.to_bytes(),
            )
        };
        Self {
            id: entry.id,
            kind: entry.kind().map(ken_core::values::kind::EntryKind::name),
            status: entry.status.value.name(),
            lens: content
                .and_then(|c| c.lens.as_ref())
                .map(ToString::to_string),
            alias: created
                .and_then(|c| c.alias.as_ref())
                .map(ToString::to_string),
            created: created.map(|c| hlc_key(c.at)),
            updated: hlc_key(entry.history.last),
            worded: content.is_some(),
            live: entry.is_live(),
            archived: entry.archived.is_some(),
            retracted: entry.retracted.is_some(),
            tombstone: entry.is_tombstone(),
            quarantined: !entry.quarantine.is_empty(),
            page: PageColumns::of(entry),
            json: serde_json::to_string(entry).expect("an entry has string keys"),
            tags: content.map_or_else(Vec::new, |c| {
                c.tags.iter().map(ToString::to_string).collect()
            }),
            links: entry.links.iter().map(link).collect(),
            grounds: ReverseIndexRows::of(entry),
        }
    }

    /// Inserts or replaces the row under `key`.
    pub(crate) fn write(&self, db: &Connection, key: i64) -> Result<(), IndexError> {
        let id = self.id.to_string();
        db.prepare_cached(
            "INSERT INTO entries (key, id, tail, memory, kind, status, lens, alias,
                created, updated, worded, live, archived, retracted, tombstone, json,
                author, origin, confirmed, shown, silent, trust, fades, trust_day, quarantined)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)
             ON CONFLICT (key) DO UPDATE SET kind = ?5, status = ?6, lens = ?7, alias = ?8,
                created = ?9, updated = ?10, worded = ?11, live = ?12, archived = ?13,
                retracted = ?14, tombstone = ?15, json = ?16, author = ?17, origin = ?18,
                confirmed = ?19, shown = ?20, silent = ?21, trust = ?22, fades = ?23,
                trust_day = ?24, quarantined = ?25",
        )?
        .execute(params![
            key,
            id,
            id_tail(&id),
            self.id.prefix().memory().name(),
            self.kind,
            self.status,
            self.lens,
            self.alias,
            // Not NULL, which no comparison with a cursor would find.
            self.created.as_ref().map_or(&[][..], |key| &key[..]),
            self.updated,
            self.worded,
            self.live,
            self.archived,
            self.retracted,
            self.tombstone,
            self.json,
            self.page.author,
            self.page.origin,
            self.page.confirmed,
            self.page.shown,
            self.page.silent,
            self.page.trust,
            self.page.fades,
            TRUST_DUE,
            self.quarantined,
        ])?;
        self.write_dependent_rows(db, key)
    }

    fn write_dependent_rows(&self, db: &Connection, key: i64) -> Result<(), IndexError> {
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

/// Updates the columns an absorbed event changes: counters, none that a filter reads.
pub(crate) fn update_absorbed(db: &Connection, key: i64, entry: &Entry) -> Result<(), IndexError> {
    let json = serde_json::to_string(entry).expect("an entry has string keys");
    let page = PageColumns::of(entry);
    db.prepare_cached(
        "UPDATE entries SET json = ?2, updated = ?3, shown = ?4, silent = ?5, trust = ?6,
            fades = ?7, trust_day = ?8 WHERE key = ?1",
    )?
    .execute(params![
        key,
        json,
        hlc_key(entry.history.last),
        page.shown,
        page.silent,
        page.trust,
        page.fades,
        TRUST_DUE,
    ])?;
    Ok(())
}

/// Returns the name of an origin in the column `origin`.
pub(crate) fn origin_name(origin: Origin) -> String {
    word(serde_json::to_value(origin))
}

/// Returns the text of a value that serialized as a string.
fn word(value: serde_json::Result<serde_json::Value>) -> String {
    let value = value.expect("a word");
    value.as_str().expect("a word").to_owned()
}

/// Deletes the dependent rows that [`IndexEntryRow::write`] inserts.
pub(crate) fn delete_dependent_rows(db: &Connection, key: i64) -> Result<(), IndexError> {
    for table in ["tags", "links", "grounds"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE entry = ?1"))?
            .execute([key])?;
    }
    Ok(())
}

/// Folds the workspace from `events` and stores it.
pub(crate) fn write_workspace<'a>(
    db: &Connection,
    events: impl IntoIterator<Item = &'a Event>,
) -> Result<(), IndexError> {
    let state = fold_workspace(events);
    let json = serde_json::to_string(&state).expect("the workspace has string keys");
    write_meta(db, META_WORKSPACE, json.as_bytes())
}

pub(crate) fn load_workspace(db: &Connection) -> Result<WorkspaceState, IndexError> {
    match read_meta(db, META_WORKSPACE)? {
        None => Ok(WorkspaceState::default()),
        Some(json) => serde_json::from_slice(&json).map_err(IndexError::damaged),
    }
}

pub(crate) fn read_meta(db: &Connection, name: &str) -> Result<Option<Vec<u8>>, IndexError> {
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
