//! Keeps what a search reads in step with the entries: their words and their vectors.
//!
//! Entries that change are only noted; the next search brings them up. So neither adding nor
//! rebuilding waits for it, and another model is the same thing as every entry having changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ken_core::content::Content;
use ken_core::entry::Entry;
use ken_embed::{Embedder, Vector};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::keywords::write_count;
use super::vectors::{Writer, block_of};
use super::words::spread;
use crate::error::IndexError;
use crate::held::META_MODEL;
use crate::index::Index;
use crate::rows;

/// Entries brought up at a time: from few, which a slow model takes a second for, to many.
const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 1024;

/// A batch that took less is followed by a larger one, a batch that took more by a smaller one.
const QUICK: Duration = Duration::from_millis(50);
const SLOW: Duration = Duration::from_secs(1);

/// Notes that the entry under `key` is not as a search would find it.
pub(crate) fn note(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("INSERT OR REPLACE INTO unsearched VALUES (?1, 0)")?
        .execute([key])?;
    Ok(())
}

/// Notes that of every entry.
pub(crate) fn note_all(db: &Connection) -> Result<(), IndexError> {
    Ok(db.execute_batch("INSERT OR REPLACE INTO unsearched SELECT key, 0 FROM entries")?)
}

/// Removes the words and the vector of the entry under `key` at once: its text was blanked.
///
/// Vectors go by the block; the next search makes the others again.
pub(crate) fn forget(db: &Connection, key: i64) -> Result<(), IndexError> {
    remove_words(db, key)?;
    let (block, first, last) = block_of(key);
    db.prepare_cached("DELETE FROM vectors WHERE block = ?1")?
        .execute([block])?;
    db.prepare_cached(
        "INSERT OR REPLACE INTO unsearched SELECT key, 0 FROM entries WHERE key BETWEEN ?1 AND ?2",
    )?
    .execute([first, last])?;
    Ok(())
}

impl Index {
    /// Brings words and vectors up to date; returns how many entries that took.
    ///
    /// `progress` is told how many of how many are done. Nobody waits for the model: it is asked between
    /// transactions, and what it said of an entry that changed meanwhile is not kept.
    pub fn prepare_search(
        &mut self,
        embedder: Option<&dyn Embedder>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<usize, IndexError> {
        let model = embedder.map_or("", |embedder| &embedder.model().id);
        let mut taken = self.holds_vectors_of(model)?;
        let (mut done, mut batch) = (0, BATCH_MIN);
        loop {
            let begun = Instant::now();
            let keys = match taken {
                true => due(&self.db, batch)?,
                false => first(&self.db, batch)?,
            };
            if taken && keys.is_empty() {
                return Ok(done);
            }
            let made = match embedder {
                Some(embedder) => Some(Made::of(&self.db, &keys, embedder)?),
                None => None,
            };
            let tx = self.begin()?;
            match holds_vectors_of(&tx, model)? {
                true => {}
                // Only now: a model that does not answer must not cost the vectors there are.
                false if !taken => take_model(&tx, model)?,
                // Somebody chose another model meanwhile.
                false => return Ok(done),
            }
            taken = true;
            bring_up(&tx, &keys, made.as_ref())?;
            write_count(&tx)?;
            let waiting = count_due(&tx)?;
            tx.commit()?;
            done += keys.len();
            progress(done, done + waiting);
            batch = match begun.elapsed() {
                took if took < QUICK => (4 * batch).min(BATCH_MAX),
                took if SLOW < took => (batch / 4).max(BATCH_MIN),
                _ => batch,
            };
        }
    }

    /// Brings the words of changed entries up where their vectors must wait, and keeps the vectors there are.
    pub fn prepare_words(&mut self) -> Result<(), IndexError> {
        if unread(&self.db)?.is_empty() {
            return Ok(());
        }
        let tx = self.begin()?;
        for key in unread(&tx)? {
            write_words(&tx, key, rows::entry_at(&tx, key)?.as_ref())?;
        }
        tx.execute_batch("UPDATE unsearched SET worded = 1")?;
        write_count(&tx)?;
        Ok(tx.commit()?)
    }

    /// Returns whether the vectors here are those of the model called `id`.
    pub fn holds_vectors_of(&self, id: &str) -> Result<bool, IndexError> {
        holds_vectors_of(&self.db, id)
    }

    fn begin(&mut self) -> Result<Transaction<'_>, IndexError> {
        Ok(self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?)
    }
}
pub(super) fn holds_vectors_of(db: &Connection, model: &str) -> Result<bool, IndexError> {
    Ok(rows::meta(db, META_MODEL)?.as_deref() == Some(model.as_bytes()))
}

/// Throws the vectors of another model away.
fn take_model(db: &Connection, model: &str) -> Result<(), IndexError> {
    db.execute_batch("DELETE FROM vectors")?;
    note_all(db)?;
    rows::write_meta(db, META_MODEL, model.as_bytes())
}

/// Returns the first `limit` entries.
fn first(db: &Connection, limit: usize) -> Result<Vec<i64>, IndexError> {
    keys(db, "SELECT key FROM entries ORDER BY key LIMIT ?1", limit)
}

/// Returns the first `limit` entries that are not as a search would find them.
fn due(db: &Connection, limit: usize) -> Result<Vec<i64>, IndexError> {
    keys(
        db,
        "SELECT entry FROM unsearched ORDER BY entry LIMIT ?1",
        limit,
    )
}

fn count_due(db: &Connection) -> Result<usize, IndexError> {
    let query = "SELECT count(*) FROM unsearched";
    let count: i64 = db.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Returns the entries of which not even the words are as a search would find them.
fn unread(db: &Connection) -> Result<Vec<i64>, IndexError> {
    let query = "SELECT entry FROM unsearched WHERE worded = 0 ORDER BY entry LIMIT ?1";
    keys(db, query, usize::MAX)
}

fn keys(db: &Connection, query: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let mut statement = db.prepare_cached(query)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let keys = statement.query_map([limit], |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

/// What a model made of entries, with the texts it made it of.
struct Made {
    dimension: usize,
    vectors: BTreeMap<i64, (String, Vector)>,
}

impl Made {
    /// Asks the model about the live ones of `keys`.
    fn of(db: &Connection, keys: &[i64], embedder: &dyn Embedder) -> Result<Self, IndexError> {
        let mut texts = BTreeMap::new();
        for key in keys {
            if let Some(entry) = rows::entry_at(db, *key)?.filter(Entry::is_live) {
                texts.insert(*key, meaning(&entry));
            }
        }
        let asked: Vec<&str> = texts.values().map(String::as_str).collect();
        let made = embedder.embed(&asked)?;
        let vectors = texts.into_iter().zip(made);
        Ok(Self {
            dimension: embedder.model().dimension,
            vectors: vectors
                .map(|((key, text), vector)| (key, (text, vector)))
                .collect(),
        })
    }

    /// Returns the vector of an entry, if it still says what the model was asked about.
    fn vector(&self, key: i64, entry: &Entry) -> Option<&Vector> {
        let (text, vector) = self.vectors.get(&key)?;
        (*text == meaning(entry)).then_some(vector)
    }
}

/// Writes the words of entries, and their vectors where a model made them.
fn bring_up(db: &Connection, keys: &[i64], made: Option<&Made>) -> Result<(), IndexError> {
    let mut writer = made.map(|made| Writer::new(db, made.dimension));
    for key in keys {
        let entry = rows::entry_at(db, *key)?;
        write_words(db, *key, entry.as_ref())?;
        let entry = entry.filter(Entry::is_live);
        let (Some(writer), Some(made)) = (&mut writer, made) else {
            settle(db, *key)?;
            continue;
        };
        let vector = entry.as_ref().map(|entry| made.vector(*key, entry));
        match vector {
            None => writer.put(*key, None)?,
            Some(Some(vector)) => writer.put(*key, Some(vector))?,
            // It changed while the model was asked: next time.
            Some(None) => continue,
        }
        settle(db, *key)?;
    }
    match writer {
        Some(mut writer) => writer.flush(),
        None => Ok(()),
    }
}

/// Notes that an entry is as a search would find it.
fn settle(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM unsearched WHERE entry = ?1")?
        .execute([key])?;
    Ok(())
}

/// What an entry says, for a model: its statement and the words people filed it under.
fn meaning(entry: &Entry) -> String {
    let Some(content) = &entry.content else {
        return String::new();
    };
    let mut text = content.statement.to_string();
    for tag in &content.tags {
        text.push(' ');
        text.push_str(tag.as_str());
    }
    text
}

/// Takes the words of an entry away.
fn remove_words(db: &Connection, key: i64) -> Result<(), IndexError> {
    for query in [
        "DELETE FROM texts WHERE rowid = ?1",
        "DELETE FROM aside WHERE rowid = ?1",
    ] {
        db.prepare_cached(query)?.execute([key])?;
    }
    Ok(())
}

/// Writes the words of an entry, or takes them away; those of one that was laid aside where only
/// [`worded_like`](Index::worded_like) looks.
fn write_words(db: &Connection, key: i64, entry: Option<&Entry>) -> Result<(), IndexError> {
    remove_words(db, key)?;
    let Some((entry, content)) = entry.and_then(|it| Some((it, it.content.as_ref()?))) else {
        return Ok(());
    };
    if entry.is_live() {
        return write_live(db, key, content);
    }
    if entry.archived.is_some() && entry.retracted.is_none() {
        db.prepare_cached("INSERT INTO aside (rowid, statement) VALUES (?1, ?2)")?
            .execute(params![key, spread(content.statement.as_str())])?;
    }
    Ok(())
}

fn write_live(db: &Connection, key: i64, content: &Content) -> Result<(), IndexError> {
    let joined = |words: Vec<String>| spread(&words.join(" "));
    let tags = content.tags.iter().map(ToString::to_string).collect();
    let places = content
        .evidence
        .iter()
        .map(|anchor| anchor.at.to_string())
        .collect();
    db.prepare_cached(
        "INSERT INTO texts (rowid, statement, tags, places) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![
        key,
        spread(content.statement.as_str()),
        joined(tags),
        joined(places),
    ])?;
    Ok(())
}
