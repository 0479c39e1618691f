//! SQLite database file: schema, pragmas and recreation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::IndexError;
use crate::refresh::RebuildReason;

/// Version of [`KNOWLEDGE`].
pub(crate) const SCHEMA_VERSION: i64 = 17;

/// Lock timeout. A rebuild of a large ledger in another process takes seconds.
const BUSY_TIMEOUT_MS: u64 = 60_000;

/// Maximum bytes of the database that are memory-mapped. The pages a search reads are at the start
/// of the file.
const MMAP_BYTES_MAX: i64 = 1 << 30;

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
    quarantined INTEGER,
    author TEXT,
    origin TEXT,
    confirmed INTEGER,
    shown INTEGER,
    silent INTEGER,
    trust INTEGER,
    trust_day INTEGER,
    fades INTEGER,
    json TEXT NOT NULL
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
CREATE TABLE scanned (digest BLOB PRIMARY KEY) WITHOUT ROWID;
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

/// Indexes maintained during a bulk load. Rows arrive almost in the order of these indexes (events
/// by id and time, entries by id), and the partial ones cover few rows. Building them afterwards
/// would reread every row and takes longer.
const EARLY_INDEXES: &str = "
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_loose ON events (key) WHERE loose <> 0;
CREATE INDEX events_mixed ON events (id) WHERE mixed = 1;
CREATE INDEX events_other ON events (at, id) WHERE instr(line, '\"type\":\"entry.') = 0;
CREATE INDEX events_handoff ON events (at) WHERE instr(line, '\"type\":\"handoff.') > 0;
CREATE UNIQUE INDEX entries_id ON entries (id);
CREATE INDEX entries_alias ON entries (alias) WHERE alias IS NOT NULL;
CREATE INDEX entries_procedural ON entries (worded, live, created, id) WHERE memory = 'procedural';
CREATE INDEX entries_tombstone ON entries (id) WHERE tombstone = 1;
CREATE INDEX entries_concurrent ON entries (created, id) WHERE instr(json, '\"concurrent\":[\"') > 0;
CREATE INDEX entries_quarantined ON entries (created, id) WHERE quarantined = 1;
";

/// Indexes created after a bulk load: one sort is cheaper than a million insertions.
const DEFERRED_INDEXES: &str = "
CREATE INDEX orders_event ON orders (event);
CREATE INDEX entries_tail ON entries (tail);
CREATE INDEX entries_created ON entries (created, id, live, worded, kind, status, lens, memory);
CREATE INDEX entries_confirmed ON entries (confirmed, id, live, worded, kind, status, lens, memory);
CREATE INDEX entries_trust ON entries (trust, id, live, worded, kind, status, lens, memory);
CREATE INDEX entries_shown ON entries (shown, id, live, worded, kind, status, lens, memory);
CREATE INDEX entries_silent ON entries (silent, id, live, worded, kind, status, lens, memory);
CREATE INDEX entries_facets ON entries (kind, status, author, origin, worded, lens, memory, live)
    WHERE live > 0;
CREATE INDEX entries_fading ON entries (trust_day) WHERE fades = 1;
CREATE INDEX tags_tag ON tags (tag);
CREATE INDEX links_entry ON links (entry);
CREATE INDEX links_target ON links (target);
CREATE INDEX grounds_entry ON grounds (entry);
CREATE INDEX grounds_at ON grounds (kind, at, entry);
CREATE INDEX holdings_segment ON holdings (segment);
CREATE INDEX segments_torn ON segments (key) WHERE torn > 0;
";

/// Tables of a database file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseSchema {
    /// Stored in `PRAGMA user_version`; a database with any other version is recreated.
    pub(crate) version: i64,
    /// Statements that create the tables.
    pub(crate) tables: &'static [&'static str],
}

/// The database of a ledger.
pub(crate) const KNOWLEDGE: DatabaseSchema = DatabaseSchema {
    version: SCHEMA_VERSION,
    tables: &[TABLES, EARLY_INDEXES, DEFERRED_INDEXES],
};

/// Location of the database.
#[derive(Clone, Debug)]
pub(crate) enum DatabaseLocation {
    Memory,
    File(PathBuf),
}

/// Opens the database and replaces an unreadable one with an empty one.
///
/// Returns the reason if the database is empty because it was just created.
pub(crate) fn open(
    place: &DatabaseLocation,
    schema: DatabaseSchema,
) -> Result<(Connection, Option<RebuildReason>), IndexError> {
    let why = match connect(place).and_then(|db| Ok((check_schema(&db, schema)?, db))) {
        Ok((SchemaCheck::Ours, db)) => return Ok((db, None)),
        Ok((SchemaCheck::Empty, mut db)) => {
            create_tables(&mut db, schema)?;
            return Ok((db, Some(RebuildReason::Missing)));
        }
        Ok((SchemaCheck::Other { found }, _)) => RebuildReason::OtherSchema { found },
        Err(error) if error.is_damage() => RebuildReason::Damaged,
        Err(error) => return Err(error),
    };
    Ok((recreate(place, schema)?, Some(why)))
}

/// Deletes the database files and creates an empty database.
pub(crate) fn recreate(
    place: &DatabaseLocation,
    schema: DatabaseSchema,
) -> Result<Connection, IndexError> {
    if let DatabaseLocation::File(path) = place {
        remove_files(path)?;
    }
    let mut db = connect(place)?;
    create_tables(&mut db, schema)?;
    Ok(db)
}

/// Removes a database with its side files. SQLite would apply a leftover `-wal` or `-journal` file
/// to a new database.
pub(crate) fn remove_files(path: &Path) -> Result<(), IndexError> {
    for file in database_files(path) {
        match fs::remove_file(&file) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(IndexError::Remove { path: file, source }),
        }
    }
    Ok(())
}

/// Drops every table and creates empty ones, without the indexes that a bulk load creates last.
pub(crate) fn recreate_tables(db: &Connection) -> Result<(), IndexError> {
    // Dropping a virtual table also drops its FTS5 shadow tables, which have another type here.
    let mut names =
        db.prepare("SELECT name FROM pragma_table_list WHERE type IN ('table', 'virtual')")?;
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for name in names.iter().filter(|name| !name.starts_with("sqlite_")) {
        db.execute_batch(&format!("DROP TABLE \"{}\"", name.replace('"', "\"\"")))?;
    }
    db.execute_batch(TABLES)?;
    Ok(db.execute_batch(EARLY_INDEXES)?)
}

/// Returns whether the database has never been written to.
pub(crate) fn is_fresh(db: &Connection) -> Result<bool, IndexError> {
    let query = "SELECT NOT EXISTS (SELECT 1 FROM events)
         AND NOT EXISTS (SELECT 1 FROM remembered) AND NOT EXISTS (SELECT 1 FROM meta)";
    Ok(db.query_row(query, [], |row| row.get(0))?)
}

/// Creates the indexes that [`recreate_tables`] omits.
pub(crate) fn create_indexes(db: &Connection) -> Result<(), IndexError> {
    Ok(db.execute_batch(DEFERRED_INDEXES)?)
}

/// Switches to write-ahead logging, so that readers and a writer do not block each other.
///
/// Skipped for an empty database, whose first load would be written twice. SQLite refuses the
/// switch while other connections are open; a later call retries. Returns whether WAL mode is on.
pub(crate) fn use_wal(db: &Connection) -> Result<bool, IndexError> {
    // SQLite reports the resulting mode instead of failing, so the result row is compared.
    let switch = || db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
    match without_waiting(db, switch) {
        Err(IndexError::Busy { .. }) => Ok(false),
        other => other.map(|mode: String| mode == "wal"),
    }
}

/// Truncates the write-ahead log, so that no old page image remains. Returns whether it succeeded.
pub(crate) fn truncate_wal(db: &Connection) -> Result<bool, IndexError> {
    let query = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = without_waiting(db, || db.query_row(query, [], |row| row.get(0)))?;
    Ok(busy == 0)
}

/// Runs deferrable work without waiting for locks of other processes.
pub(crate) fn without_waiting<T>(
    db: &Connection,
    act: impl FnOnce() -> rusqlite::Result<T>,
) -> Result<T, IndexError> {
    db.busy_timeout(Duration::ZERO)?;
    let result = act();
    // Restored before the result is inspected, so an error does not leave the timeout at zero.
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    Ok(result?)
}

/// Result of the schema check.
enum SchemaCheck {
    Ours,
    Empty,
    Other { found: i64 },
}

fn check_schema(db: &Connection, schema: DatabaseSchema) -> Result<SchemaCheck, IndexError> {
    let found: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found == schema.version {
        return Ok(SchemaCheck::Ours);
    }
    // A new SQLite file has version 0 and no tables. Version 0 with tables is a foreign database.
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if found == 0 && tables == 0 {
        return Ok(SchemaCheck::Empty);
    }
    Ok(SchemaCheck::Other { found })
}

fn connect(place: &DatabaseLocation) -> Result<Connection, IndexError> {
    let db = match place {
        DatabaseLocation::Memory => Connection::open_in_memory()?,
        DatabaseLocation::File(path) => {
            for path in database_files(path) {
                // A planted symbolic link would redirect our writes to another file.
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
    // Losing the index costs a rebuild, so writes skip fsync. Deleted text is overwritten with
    // zeros, because a redacted secret must not remain in a free page.
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;")?;
    // Memory-mapped reads save a search one system call per page. No effect on in-memory databases.
    set_mmap_size(&db, MMAP_BYTES_MAX)?;
    // The default of 16 evicts statements in the middle of a change.
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

/// Sets the number of bytes of the file that are memory-mapped.
fn set_mmap_size(db: &Connection, bytes: i64) -> Result<(), IndexError> {
    Ok(db.execute_batch(&format!("PRAGMA mmap_size = {bytes}"))?)
}

/// Runs `load` without memory mapping. A load touches the whole file, and mapped pages count as
/// resident memory of the process.
pub(crate) fn without_mmap<T, E: From<IndexError>>(
    db: &Connection,
    load: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    set_mmap_size(db, 0)?;
    let loaded = load();
    set_mmap_size(db, MMAP_BYTES_MAX)?;
    loaded
}

fn create_tables(db: &mut Connection, schema: DatabaseSchema) -> Result<(), IndexError> {
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have created the tables while we waited for the lock.
    if matches!(check_schema(&tx, schema)?, SchemaCheck::Empty) {
        for script in schema.tables {
            tx.execute_batch(script)?;
        }
        tx.pragma_update(None, "user_version", schema.version)?;
    }
    Ok(tx.commit()?)
}

/// Returns the database file and its SQLite side files; the database itself is last, so that an
/// interrupted deletion leaves no orphaned log.
fn database_files(path: &Path) -> [PathBuf; 4] {
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
