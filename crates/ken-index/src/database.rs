//! The database file: its tables, its pragmas, and when it is thrown away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::IndexError;
use crate::refresh::Rebuilt;

/// Kept in `PRAGMA user_version`; any other number means that the database is not ours to read.
pub(crate) const SCHEMA: i64 = 8;

/// How long to wait for another process; a rebuild of a large ledger takes seconds.
const BUSY_TIMEOUT_MS: u64 = 60_000;

/// Bytes of the database that are mapped into memory: those a search reads lie in front of it.
const MAPPED_BYTES_MAX: i64 = 1 << 30;

const TABLES: &str = "
CREATE TABLE events (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    at BLOB NOT NULL,
    full INTEGER NOT NULL,
    blank INTEGER NOT NULL,
    loose INTEGER NOT NULL,
    mixed INTEGER NOT NULL,
    line TEXT NOT NULL
);
CREATE TABLE touches (entry INTEGER, event INTEGER, PRIMARY KEY (entry, event)) WITHOUT ROWID;
CREATE TABLE workspace_events (event INTEGER PRIMARY KEY);
CREATE TABLE orders (target BLOB, event BLOB, PRIMARY KEY (target, event)) WITHOUT ROWID;
CREATE TABLE remembered (event BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE entries (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    tail TEXT NOT NULL,
    memory TEXT NOT NULL,
    kind TEXT,
    status TEXT,
    lens TEXT,
    alias TEXT,
    created BLOB,
    updated BLOB,
    worded INTEGER,
    live INTEGER,
    archived INTEGER,
    retracted INTEGER,
    tombstone INTEGER,
    json TEXT NOT NULL
);
CREATE TABLE citations (
    entry INTEGER NOT NULL,
    evidence_type TEXT NOT NULL,
    evidence_ref TEXT NOT NULL,
    cited_by TEXT NOT NULL,
    cited_at INTEGER NOT NULL
);
CREATE TABLE tags (entry INTEGER, tag TEXT, PRIMARY KEY (entry, tag)) WITHOUT ROWID;
CREATE TABLE links (
    entry INTEGER NOT NULL,
    target TEXT NOT NULL,
    rel TEXT NOT NULL,
    event BLOB NOT NULL
);
CREATE TABLE grounds (entry INTEGER NOT NULL, kind INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    len INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    key TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE truths (condition TEXT PRIMARY KEY, truth TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE outlines (key TEXT UNIQUE NOT NULL, outline TEXT NOT NULL);
CREATE TABLE segments (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    len INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    taken INTEGER NOT NULL,
    torn INTEGER NOT NULL,
    digest BLOB NOT NULL
);
CREATE TABLE holdings (segment INTEGER NOT NULL, full BLOB NOT NULL, blank BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE unsearched (entry INTEGER PRIMARY KEY, worded INTEGER NOT NULL);
CREATE TABLE missed (query TEXT PRIMARY KEY, times INTEGER NOT NULL, at INTEGER NOT NULL, top TEXT);
CREATE TABLE vectors (block INTEGER PRIMARY KEY, slots BLOB NOT NULL);
CREATE VIRTUAL TABLE texts USING fts5(
    statement, tags, places, tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO texts (texts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE aside USING fts5(
    statement, tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO aside (aside, rank) VALUES ('secure-delete', 1);
";

/// Kept up during a bulk load. It brings events nearly in these orders, and entries nearly in that
/// of their ids; few entries are in the other three. Reading every row again for each takes longer.
const INDEXES_KEPT: &str = "
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_loose ON events (key) WHERE loose <> 0;
CREATE INDEX events_mixed ON events (id) WHERE mixed = 1;
CREATE UNIQUE INDEX entries_id ON entries (id);
CREATE INDEX entries_alias ON entries (alias) WHERE alias IS NOT NULL;
CREATE INDEX entries_procedural ON entries (created, id) WHERE memory = 'procedural';
CREATE INDEX entries_tombstone ON entries (id) WHERE tombstone = 1;
";

/// Made after a bulk load: one sort is cheaper than a million insertions.
const INDEXES: &str = "
CREATE INDEX orders_event ON orders (event);
CREATE INDEX entries_tail ON entries (tail);
CREATE INDEX entries_created ON entries (created, id);
CREATE INDEX citations_entry ON citations (entry);
CREATE INDEX citations_ref ON citations (evidence_ref);
CREATE INDEX tags_tag ON tags (tag);
CREATE INDEX links_entry ON links (entry);
CREATE INDEX links_target ON links (target);
CREATE INDEX grounds_entry ON grounds (entry);
CREATE INDEX grounds_at ON grounds (kind, at, entry);
CREATE INDEX holdings_segment ON holdings (segment);
CREATE INDEX segments_torn ON segments (key) WHERE torn > 0;
";

/// Where the database lives.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Memory,
    File(PathBuf),
}

/// Opens the database; one that is not as we left it is replaced by an empty one.
///
/// Returns why it is empty, if it is because it had to be made.
pub(crate) fn open(place: &Place) -> Result<(Connection, Option<Rebuilt>), IndexError> {
    let why = match connect(place).and_then(|db| Ok((look(&db)?, db))) {
        Ok((Look::Ours, db)) => return Ok((db, None)),
        Ok((Look::Empty, mut db)) => {
            create(&mut db)?;
            return Ok((db, Some(Rebuilt::Missing)));
        }
        Ok((Look::Other { schema }, _)) => Rebuilt::OtherSchema { found: schema },
        Err(error) if error.is_damage() => Rebuilt::Damaged,
        Err(error) => return Err(error),
    };
    Ok((replace(place)?, Some(why)))
}

/// Throws the database away and makes an empty one.
pub(crate) fn replace(place: &Place) -> Result<Connection, IndexError> {
    if let Place::File(path) = place {
        for file in files(path) {
            match fs::remove_file(&file) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(IndexError::Remove { path: file, source }),
            }
        }
    }
    let mut db = connect(place)?;
    create(&mut db)?;
    Ok(db)
}

/// Drops every table and makes empty ones, without the indexes a load makes when it is done.
pub(crate) fn wipe(db: &Connection) -> Result<(), IndexError> {
    // What FTS5 keeps beside its table goes with it.
    let mut names =
        db.prepare("SELECT name FROM pragma_table_list WHERE type IN ('table', 'virtual')")?;
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for name in names.iter().filter(|name| !name.starts_with("sqlite_")) {
        db.execute_batch(&format!("DROP TABLE \"{}\"", name.replace('"', "\"\"")))?;
    }
    db.execute_batch(TABLES)?;
    Ok(db.execute_batch(INDEXES_KEPT)?)
}

/// Returns whether nothing was ever written to the database.
pub(crate) fn is_fresh(db: &Connection) -> Result<bool, IndexError> {
    let query = "SELECT NOT EXISTS (SELECT 1 FROM events)
         AND NOT EXISTS (SELECT 1 FROM remembered) AND NOT EXISTS (SELECT 1 FROM meta)";
    Ok(db.query_row(query, [], |row| row.get(0))?)
}

/// Makes the indexes that [`wipe`] left out.
pub(crate) fn create_indexes(db: &Connection) -> Result<(), IndexError> {
    Ok(db.execute_batch(INDEXES)?)
}

/// Lets readers and a writer work side by side.
///
/// Not done for an empty database: its first load would be written twice. While others are
/// connected SQLite refuses; then a later call does it. Says whether it is done.
pub(crate) fn use_wal(db: &Connection) -> Result<bool, IndexError> {
    let switch = || db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
    match without_waiting(db, switch) {
        Err(IndexError::Busy { .. }) => Ok(false),
        other => other.map(|mode: String| mode == "wal"),
    }
}

/// Empties the write-ahead log, so that no page image of before is left; says whether it could.
pub(crate) fn truncate_wal(db: &Connection) -> Result<bool, IndexError> {
    let query = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = without_waiting(db, || db.query_row(query, [], |row| row.get(0)))?;
    Ok(busy == 0)
}

/// Does what can as well be done later, without waiting for others to finish.
fn without_waiting<T>(
    db: &Connection,
    act: impl FnOnce() -> rusqlite::Result<T>,
) -> Result<T, IndexError> {
    db.busy_timeout(Duration::ZERO)?;
    let result = act();
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    Ok(result?)
}

/// What an opened database turned out to be.
enum Look {
    Ours,
    Empty,
    Other { schema: i64 },
}

fn look(db: &Connection) -> Result<Look, IndexError> {
    let schema: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if schema == SCHEMA {
        return Ok(Look::Ours);
    }
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if schema == 0 && tables == 0 {
        return Ok(Look::Empty);
    }
    Ok(Look::Other { schema })
}

fn connect(place: &Place) -> Result<Connection, IndexError> {
    let db = match place {
        Place::Memory => Connection::open_in_memory()?,
        Place::File(path) => {
            for path in files(path) {
                if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink()) {
                    return Err(IndexError::Symlink { path });
                }
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(path, flags)?
        }
    };
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    // Losing the index costs a rebuild, so nothing waits for the disk. Deleted text is zeroed,
    // because a blanked secret must not stay in a free page.
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;")?;
    // Reading through a map saves a search a system call a page. In memory there is nothing to map.
    map(&db, MAPPED_BYTES_MAX)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

/// Reads the first `bytes` of the file through a map from now on.
fn map(db: &Connection, bytes: i64) -> Result<(), IndexError> {
    Ok(db.execute_batch(&format!("PRAGMA mmap_size = {bytes}"))?)
}

/// Does `load`, which passes over the whole file, without mapping it: what is mapped counts as memory of the process.
pub(crate) fn unmapped<T, E: From<IndexError>>(
    db: &Connection,
    load: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    map(db, 0)?;
    let loaded = load();
    map(db, MAPPED_BYTES_MAX)?;
    loaded
}

fn create(db: &mut Connection) -> Result<(), IndexError> {
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have made it while we waited for the lock.
    if matches!(look(&tx)?, Look::Empty) {
        tx.execute_batch(TABLES)?;
        tx.execute_batch(INDEXES_KEPT)?;
        tx.execute_batch(INDEXES)?;
        tx.pragma_update(None, "user_version", SCHEMA)?;
    }
    Ok(tx.commit()?)
}

/// The database and what SQLite puts beside it.
fn files(path: &Path) -> [PathBuf; 4] {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    [
        beside("-wal"),
        beside("-shm"),
        beside("-journal"),
        path.to_owned(),
    ]
}
