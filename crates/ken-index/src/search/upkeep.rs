//! Keeps what a search reads in step with the entries: their words and their vectors.
//!
//! Entries that change are only noted; the next search brings them up. So neither adding nor
//! rebuilding waits for it, and another model is the same thing as every entry having changed.

use std::time::{Duration, Instant};

use ken_core::entry::Entry;
use ken_embed::{Embedder, Vector};
use rusqlite::{Connection, TransactionBehavior, params};

use super::keywords::write_count;
use super::vectors::{Writer, block_of};
use super::words::spread;
use crate::error::IndexError;
use crate::held::META_MODEL;
use crate::index::Index;
use crate::rows;

/// Entries brought up between two reports of progress: from few, which a slow model takes a second for, to many.
const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 256;

/// A batch that took less is followed by a larger one, a batch that took more by a smaller one.
const QUICK: Duration = Duration::from_millis(50);
const SLOW: Duration = Duration::from_secs(1);

/// Time after which what was brought up is kept: a slow model must not make writers wait for all of it.
const PIECE: Duration = Duration::from_secs(1);

/// Notes that the entry under `key` is not as a search would find it.
pub(crate) fn note(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("INSERT OR IGNORE INTO unsearched VALUES (?1)")?
        .execute([key])?;
    Ok(())
}

/// Notes that of every entry.
pub(crate) fn note_all(db: &Connection) -> Result<(), IndexError> {
    Ok(db.execute_batch("INSERT OR IGNORE INTO unsearched SELECT key FROM entries")?)
}

/// Removes the words and the vector of the entry under `key` at once: its text was blanked.
///
/// Vectors go by the block; the next search makes the others again.
pub(crate) fn forget(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM texts WHERE rowid = ?1")?
        .execute([key])?;
    let (block, first, last) = block_of(key);
    db.prepare_cached("DELETE FROM vectors WHERE block = ?1")?
        .execute([block])?;
    db.prepare_cached(
        "INSERT OR IGNORE INTO unsearched SELECT key FROM entries WHERE key BETWEEN ?1 AND ?2",
    )?
    .execute([first, last])?;
    Ok(())
}

impl Index {
    /// Brings words and vectors up to date; returns how many entries that took.
    ///
    /// `progress` is told how many of how many are done. What takes long is kept piece by piece, so that
    /// others may write meanwhile and nothing is embedded again after a failure.
    pub fn prepare_search(
        &mut self,
        embedder: Option<&dyn Embedder>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<usize, IndexError> {
        let model = embedder.map_or("", |embedder| &embedder.model().id);
        let (mut done, mut batch) = (0, BATCH_MIN);
        while is_due(&self.db, model)? {
            let started = Instant::now();
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            change_model(&tx, model)?;
            let listed = due(&tx)?;
            let mut due = &*listed;
            let all = done + due.len();
            while !due.is_empty() && started.elapsed() < PIECE {
                let begun = Instant::now();
                let (keys, rest) = due.split_at(batch.min(due.len()));
                bring_up(&tx, keys, embedder)?;
                settle(&tx, keys)?;
                (due, done) = (rest, done + keys.len());
                progress(done, all);
                batch = match begun.elapsed() {
                    took if took < QUICK => (4 * batch).min(BATCH_MAX),
                    took if SLOW < took => (batch / 4).max(BATCH_MIN),
                    _ => batch,
                };
            }
            write_count(&tx)?;
            tx.commit()?;
        }
        Ok(done)
    }

    /// Brings the words of changed entries up where their vectors must wait, and keeps the vectors there are.
    pub fn prepare_words(&mut self) -> Result<(), IndexError> {
        if due(&self.db)?.is_empty() {
            return Ok(());
        }
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for keys in due(&tx)?.chunks(BATCH_MAX) {
            bring_up(&tx, keys, None)?;
        }
        write_count(&tx)?;
        Ok(tx.commit()?)
    }
}

/// Notes that neighbouring entries of those that are due are as a search would find them.
fn settle(db: &Connection, keys: &[i64]) -> Result<(), IndexError> {
    if let (Some(first), Some(last)) = (keys.first(), keys.last()) {
        db.prepare_cached("DELETE FROM unsearched WHERE entry BETWEEN ?1 AND ?2")?
            .execute([first, last])?;
    }
    Ok(())
}

fn is_due(db: &Connection, model: &str) -> Result<bool, IndexError> {
    if !holds_vectors_of(db, model)? {
        return Ok(true);
    }
    let query = "SELECT EXISTS (SELECT 1 FROM unsearched)";
    Ok(db.prepare_cached(query)?.query_row([], |row| row.get(0))?)
}

fn holds_vectors_of(db: &Connection, model: &str) -> Result<bool, IndexError> {
    Ok(rows::meta(db, META_MODEL)?.as_deref() == Some(model.as_bytes()))
}

/// Throws the vectors of another model away.
fn change_model(db: &Connection, model: &str) -> Result<(), IndexError> {
    if holds_vectors_of(db, model)? {
        return Ok(());
    }
    db.execute_batch("DELETE FROM vectors")?;
    note_all(db)?;
    rows::write_meta(db, META_MODEL, model.as_bytes())
}

fn due(db: &Connection) -> Result<Vec<i64>, IndexError> {
    let mut statement = db.prepare_cached("SELECT entry FROM unsearched ORDER BY entry")?;
    let keys = statement.query_map([], |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

fn bring_up(
    db: &Connection,
    keys: &[i64],
    embedder: Option<&dyn Embedder>,
) -> Result<(), IndexError> {
    let mut entries = Vec::with_capacity(keys.len());
    for key in keys {
        let entry = rows::entry_at(db, *key)?.filter(Entry::is_live);
        write_words(db, *key, entry.as_ref())?;
        entries.push(entry);
    }
    let Some(embedder) = embedder else {
        return Ok(());
    };
    let mut vectors = embed(embedder, &entries)?.into_iter();
    let mut writer = Writer::new(db, embedder.model().dimension);
    for (key, entry) in keys.iter().zip(&entries) {
        let vector = entry.as_ref().and_then(|_| vectors.next());
        writer.put(*key, vector.as_ref())?;
    }
    writer.flush()
}

/// Embeds the entries that are there.
fn embed(embedder: &dyn Embedder, entries: &[Option<Entry>]) -> Result<Vec<Vector>, IndexError> {
    let texts: Vec<String> = entries.iter().flatten().map(meaning).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(embedder.embed(&texts)?)
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

/// Writes the words of an entry, or takes them away.
fn write_words(db: &Connection, key: i64, entry: Option<&Entry>) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM texts WHERE rowid = ?1")?
        .execute([key])?;
    let Some(content) = entry.and_then(|entry| entry.content.as_ref()) else {
        return Ok(());
    };
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
