//! Index of conversations with coding agents and of commit messages, in a database of its own.
//!
//! It stands in the user's own folder, never in a repository, and can be deleted at any time: the
//! transcripts and the repository are the originals. Callers remove secrets from every text before
//! they store it here.

pub mod opencode;
mod search;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use ken_core::retrieval::unrecorded::UnrecordedKind;
use ken_core::retrieval::words;
use ken_core::values::time::Timestamp;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::database::{self, DatabaseLocation, DatabaseSchema};
use crate::error::IndexError;
use crate::rows;

pub use search::{CommitMatch, ConversationMatch, UnrecordedQuery};

/// The FTS5 option `hashsize` is the bytes of words collected in memory before they are written;
/// its default of 1 MiB makes many small segments. The tables keep no copy of the texts.
const TABLES: &str = "
CREATE TABLE sources (
    key INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    taken INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    agent TEXT
);
CREATE TABLE exchanges (
    key INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    source INTEGER NOT NULL,
    line INTEGER NOT NULL,
    at INTEGER NOT NULL,
    asked TEXT NOT NULL,
    answered TEXT NOT NULL
);
CREATE INDEX exchanges_source ON exchanges (source, line);
CREATE INDEX exchanges_at ON exchanges (at);
CREATE TABLE commits (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    message TEXT NOT NULL
);
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE said USING fts5(
    asked, answered, content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO said (said, rank) VALUES ('hashsize', 16777216);
CREATE VIRTUAL TABLE committed USING fts5(
    message, paths, content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
";

const CONVERSATIONS: DatabaseSchema = DatabaseSchema {
    version: 1,
    tables: &[TABLES],
};

/// Name of the meta row with the number of exchanges left out because they address a model.
const META_LEFT_OUT: &str = "left_out";

/// Number of hexadecimal digits of an exchange's digest.
pub const EXCHANGE_DIGITS: usize = 32;

/// The index.
#[derive(Debug)]
pub struct ConversationIndex {
    db: Connection,
    path: PathBuf,
}

/// How far a transcript is indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptState {
    pub size: u64,
    pub modified_ns: i64,
    /// Bytes before the last exchange, which may still grow; the lines in them.
    pub taken: u64,
    pub lines: u64,
    /// The agent; `None` if the transcript belongs to another repository.
    pub agent: Option<String>,
}

/// An exchange without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanExchange {
    /// Line in the transcript.
    pub line: u64,
    pub at: Timestamp,
    pub asked: String,
    pub answered: String,
}

/// A commit without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanCommit {
    pub id: String,
    pub at: Timestamp,
    pub kind: UnrecordedKind,
    pub message: String,
    pub paths: String,
}

/// Contents of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConversationTotals {
    pub conversations: u64,
    pub exchanges: u64,
    pub commits: u64,
    /// Exchanges that were left out because they address a model.
    pub left_out: u64,
    pub bytes: u64,
}

impl CleanExchange {
    /// Returns the digest that identifies and cites the exchange.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.at.millis().to_le_bytes());
        hasher.update(self.asked.as_bytes());
        hasher.update(&[0]);
        hasher.update(self.answered.as_bytes());
        hasher.finalize().to_hex()[..EXCHANGE_DIGITS].to_owned()
    }
}

impl ConversationIndex {
    /// Opens the index at `path`, which is created if it does not exist. Its folder must exist.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        create_private(path).map_err(|source| IndexError::Create {
            path: path.to_owned(),
            source,
        })?;
        let place = DatabaseLocation::File(path.to_owned());
        let (db, _) = database::open(&place, CONVERSATIONS)?;
        database::use_wal(&db)?;
        let path = path.to_owned();
        Ok(Self { db, path })
    }

    /// Opens the index if it exists.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, IndexError> {
        if path.is_file() {
            Self::open(path).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Deletes the files of the index at `path`.
    pub fn delete(path: &Path) -> Result<(), IndexError> {
        database::remove_files(path)
    }

    /// Empties the index, for example because the rules for secrets changed.
    pub fn clear(&mut self) -> Result<(), IndexError> {
        // The file is closed before it is removed, which some systems require.
        self.db = Connection::open_in_memory()?;
        database::remove_files(&self.path)?;
        *self = Self::open(&self.path)?;
        Ok(())
    }

    /// Returns a stored value.
    pub fn meta(&self, name: &str) -> Result<Option<String>, IndexError> {
        let value = rows::read_meta(&self.db, name)?;
        Ok(value.map(|it| String::from_utf8_lossy(&it).into_owned()))
    }

    /// Returns how far each transcript is indexed, by its path, also those of other repositories.
    pub fn transcript_states(&self) -> Result<BTreeMap<String, TranscriptState>, IndexError> {
        let query = "SELECT path, size, modified_ns, taken, lines, agent FROM sources";
        let mut statement = self.db.prepare_cached(query)?;
        let states = statement.query_map([], |row| {
            let state = TranscriptState {
                size: row.get::<_, i64>(1)?.unsigned_abs(),
                modified_ns: row.get(2)?,
                taken: row.get::<_, i64>(3)?.unsigned_abs(),
                lines: row.get::<_, i64>(4)?.unsigned_abs(),
                agent: row.get(5)?,
            };
            Ok((row.get(0)?, state))
        })?;
        Ok(states.collect::<Result<_, _>>()?)
    }

    /// Returns what the index contains.
    pub fn totals(&self) -> Result<ConversationTotals, IndexError> {
        let count = |query: &str| self.db.query_row(query, [], |row| row.get::<_, i64>(0));
        let sources = "SELECT count(DISTINCT source) FROM exchanges";
        let pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let left_out = self.meta(META_LEFT_OUT)?.and_then(|it| it.parse().ok());
        Ok(ConversationTotals {
            conversations: count(sources)?.unsigned_abs(),
            exchanges: count("SELECT count(*) FROM exchanges")?.unsigned_abs(),
            commits: count("SELECT count(*) FROM commits")?.unsigned_abs(),
            left_out: left_out.unwrap_or(0),
            bytes: count(pages)?.unsigned_abs(),
        })
    }

    /// Returns the digests of the exchanges that start with `prefix`, at most two.
    pub fn exchanges_named(&self, prefix: &str) -> Result<Vec<String>, IndexError> {
        let query = "SELECT lower(hex(digest)) AS name FROM exchanges
             WHERE name >= ?1 AND name < ?1 || 'g' LIMIT 2";
        let mut statement = self.db.prepare_cached(query)?;
        let names = statement.query_map([prefix], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Applies changes in one transaction; `None` if another process is writing.
    pub fn change<T>(
        &mut self,
        apply: impl FnOnce(&mut ConversationWriter<'_>) -> Result<T, IndexError>,
    ) -> Result<Option<T>, IndexError> {
        let behavior = TransactionBehavior::Immediate;
        let begun =
            database::without_waiting(&self.db, || Transaction::new_unchecked(&self.db, behavior));
        let tx = match begun {
            Err(IndexError::Busy { .. }) => return Ok(None),
            other => other?,
        };
        let mut writer = ConversationWriter { tx };
        let result = apply(&mut writer)?;
        writer.tx.commit()?;
        Ok(Some(result))
    }
}

/// A transaction that changes the index.
#[derive(Debug)]
pub struct ConversationWriter<'a> {
    tx: Transaction<'a>,
}

impl ConversationWriter<'_> {
    /// Stores a value.
    pub fn set_meta(&mut self, name: &str, value: &str) -> Result<(), IndexError> {
        rows::write_meta(&self.tx, name, value.as_bytes())
    }

    /// Counts exchanges that were left out because they address a model.
    pub fn count_left_out(&mut self, count: u64) -> Result<(), IndexError> {
        let before = rows::read_meta(&self.tx, META_LEFT_OUT)?;
        let before = before.and_then(|it| String::from_utf8(it).ok()?.parse().ok());
        let all: u64 = before.unwrap_or(0) + count;
        self.set_meta(META_LEFT_OUT, &all.to_string())
    }

    /// Replaces the exchanges of a transcript from line `first` on, and its state.
    pub fn store_transcript(
        &mut self,
        path: &str,
        state: &TranscriptState,
        first: u64,
        exchanges: &[CleanExchange],
    ) -> Result<(), IndexError> {
        let source = self.store_state(path, state)?;
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        self.remove_exchanges("source = ?1 AND line >= ?2", params![source, first])?;
        for exchange in exchanges {
            self.add_exchange(source, exchange)?;
        }
        Ok(())
    }

    fn store_state(&mut self, path: &str, state: &TranscriptState) -> Result<i64, IndexError> {
        let signed = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
        let query = "INSERT INTO sources (path, size, modified_ns, taken, lines, agent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (path) DO UPDATE SET size = ?2, modified_ns = ?3, taken = ?4, lines = ?5,
             agent = ?6 RETURNING key";
        let values = params![
            path,
            signed(state.size),
            state.modified_ns,
            signed(state.taken),
            signed(state.lines),
            state.agent
        ];
        let mut statement = self.tx.prepare_cached(query)?;
        Ok(statement.query_row(values, |row| row.get(0))?)
    }

    fn add_exchange(&mut self, source: i64, exchange: &CleanExchange) -> Result<(), IndexError> {
        // A resumed conversation repeats its beginning in another transcript.
        let query = "INSERT OR IGNORE INTO exchanges (digest, source, line, at, asked, answered)
             VALUES (unhex(?1), ?2, ?3, ?4, ?5, ?6)";
        let added = self.tx.prepare_cached(query)?.execute(params![
            exchange.digest(),
            source,
            i64::try_from(exchange.line).unwrap_or(i64::MAX),
            i64::try_from(exchange.at.millis()).unwrap_or(i64::MAX),
            exchange.asked,
            exchange.answered,
        ])?;
        if added == 0 {
            return Ok(());
        }
        let key = self.tx.last_insert_rowid();
        let (asked, answered) = (&exchange.asked, &exchange.answered);
        let query = "INSERT INTO said (rowid, asked, answered) VALUES (?1, ?2, ?3)";
        self.tx.prepare_cached(query)?.execute(params![
            key,
            words::expand_text(asked),
            words::expand_text(answered)
        ])?;
        Ok(())
    }

    /// Removes a transcript that no longer exists.
    pub fn remove_transcript(&mut self, path: &str) -> Result<(), IndexError> {
        let within = "source IN (SELECT key FROM sources WHERE path = ?1)";
        self.remove_exchanges(within, params![path])?;
        let query = "DELETE FROM sources WHERE path = ?1";
        self.tx.prepare_cached(query)?.execute([path])?;
        Ok(())
    }

    /// Removes exchanges older than `oldest`, and the oldest ones beyond `max`.
    pub fn prune(&mut self, oldest: Timestamp, max: u64) -> Result<(), IndexError> {
        let oldest = i64::try_from(oldest.millis()).unwrap_or(i64::MAX);
        self.remove_exchanges("at < ?1", params![oldest])?;
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let beyond = "key IN (SELECT key FROM exchanges ORDER BY at DESC, key DESC
             LIMIT -1 OFFSET ?1)";
        self.remove_exchanges(beyond, params![max])
    }

    fn remove_exchanges(
        &mut self,
        condition: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<(), IndexError> {
        let query = format!("DELETE FROM exchanges WHERE {condition} RETURNING key");
        let mut statement = self.tx.prepare_cached(&query)?;
        let keys = statement.query_map(values, |row| row.get(0))?;
        let keys: Vec<i64> = keys.collect::<Result<_, _>>()?;
        let mut words = self
            .tx
            .prepare_cached("DELETE FROM said WHERE rowid = ?1")?;
        for key in keys {
            words.execute([key])?;
        }
        Ok(())
    }

    /// Adds a commit unless it is known.
    pub fn add_commit(&mut self, commit: &CleanCommit) -> Result<(), IndexError> {
        let query = "INSERT OR IGNORE INTO commits (id, at, kind, message) VALUES (?1, ?2, ?3, ?4)";
        let added = self.tx.prepare_cached(query)?.execute(params![
            commit.id,
            i64::try_from(commit.at.millis()).unwrap_or(i64::MAX),
            kind_number(commit.kind),
            commit.message,
        ])?;
        if added > 0 {
            let key = self.tx.last_insert_rowid();
            let query = "INSERT INTO committed (rowid, message, paths) VALUES (?1, ?2, ?3)";
            self.tx.prepare_cached(query)?.execute(params![
                key,
                words::expand_text(&commit.message),
                words::expand_text(&commit.paths)
            ])?;
        }
        Ok(())
    }
}

/// Kinds by their stored number.
const KINDS: [UnrecordedKind; 4] = [
    UnrecordedKind::Conversation,
    UnrecordedKind::Commit,
    UnrecordedKind::Merge,
    UnrecordedKind::Revert,
];

fn kind_number(kind: UnrecordedKind) -> i64 {
    let place = KINDS.iter().position(|it| *it == kind);
    place.and_then(|it| i64::try_from(it).ok()).unwrap_or(0)
}

fn kind_of_number(number: i64) -> UnrecordedKind {
    let place = usize::try_from(number).unwrap_or(0);
    KINDS.get(place).copied().unwrap_or(UnrecordedKind::Commit)
}

/// Creates the file, readable for its owner only; SQLite gives its side files the same mode.
fn create_private(path: &Path) -> io::Result<()> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    if path.exists() || is_link {
        // A link is refused when the database is opened.
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

#[cfg(test)]
mod tests {
    use ken_core::retrieval::unrecorded::UnrecordedWeights;

    use super::*;

    fn exchange(line: u64, day: u64, asked: &str, answered: &str) -> CleanExchange {
        CleanExchange {
            line,
            at: Timestamp::from_millis(day * 86_400_000),
            asked: asked.to_owned(),
            answered: answered.to_owned(),
        }
    }

    fn state(agent: Option<&str>) -> TranscriptState {
        TranscriptState {
            size: 10,
            modified_ns: 1,
            agent: agent.map(str::to_owned),
            ..TranscriptState::default()
        }
    }

    fn query(text: &str) -> UnrecordedQuery<'_> {
        UnrecordedQuery {
            text,
            embedder: None,
            limit: 3,
            weights: UnrecordedWeights::default(),
        }
    }

    fn index() -> (tempfile::TempDir, ConversationIndex) {
        let folder = tempfile::tempdir().unwrap();
        let index = ConversationIndex::open(&folder.path().join("c.db")).unwrap();
        (folder, index)
    }

    #[test]
    fn a_transcript_is_replaced_from_a_line_on() {
        let (_folder, mut index) = index();
        let first = [
            exchange(1, 1, "alpha question", "beta"),
            exchange(5, 1, "gamma question", "delta"),
        ];
        let store = |index: &mut ConversationIndex, line, all: &[CleanExchange]| {
            let state = state(Some("codex"));
            let stored = index.change(|it| it.store_transcript("t", &state, line, all));
            assert!(stored.unwrap().is_some());
        };
        store(&mut index, 0, &first);
        store(
            &mut index,
            5,
            &[exchange(5, 1, "gamma question", "epsilon")],
        );
        assert_eq!(index.totals().unwrap().exchanges, 2);
        assert!(
            index
                .find_conversations(&query("delta"))
                .unwrap()
                .is_empty()
        );
        let found = index.find_conversations(&query("epsilon")).unwrap();
        assert_eq!(found[0].answered, "epsilon");
        let digest = found[0].digest.clone();
        assert_eq!(digest, exchange(5, 1, "gamma question", "epsilon").digest());
        assert_eq!(index.exchanges_named(&digest[..10]).unwrap(), [digest]);
        let states = index.transcript_states().unwrap();
        assert_eq!(states.get("t"), Some(&state(Some("codex"))));
        index.change(|it| it.remove_transcript("t")).unwrap();
        assert_eq!(index.totals().unwrap().exchanges, 0);
        assert!(
            index
                .find_conversations(&query("epsilon"))
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn the_oldest_exchanges_go_first() {
        let (_folder, mut index) = index();
        let days = [9, 3, 7, 1];
        let all = days.map(|day| exchange(day, day, "question", &format!("answer {day}")));
        let stored = index.change(|it| it.store_transcript("t", &state(None), 0, &all));
        assert!(stored.unwrap().is_some());
        let oldest = Timestamp::from_millis(2 * 86_400_000);
        index.change(|it| it.prune(oldest, 2)).unwrap();
        let left = index.db.prepare("SELECT line FROM exchanges ORDER BY line");
        let left: Vec<u64> = left
            .unwrap()
            .query_map([], |row| row.get::<_, i64>(0))
            .unwrap()
            .map(|it| it.unwrap().unsigned_abs())
            .collect();
        assert_eq!(left, [7, 9]);
    }

    #[test]
    fn a_repeated_beginning_and_a_rebased_commit_count_once() {
        let (_folder, mut index) = index();
        let said = [exchange(1, 1, "zeta question", "eta")];
        for name in ["one", "two"] {
            let stored = index.change(|it| it.store_transcript(name, &state(None), 0, &said));
            assert!(stored.unwrap().is_some());
        }
        assert_eq!(index.totals().unwrap().exchanges, 1);
        for (id, day) in [("aa", 1), ("bb", 2)] {
            let commit = CleanCommit {
                id: id.to_owned(),
                at: Timestamp::from_millis(day * 86_400_000),
                kind: UnrecordedKind::Commit,
                message: "Theta iota".to_owned(),
                paths: String::new(),
            };
            index.change(|it| it.add_commit(&commit)).unwrap();
        }
        let found = index.find_commits(&query("theta")).unwrap();
        let ids: Vec<&str> = found.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["bb"]);
    }
}
