//! Updates the search tables: words and vectors of changed entries.
//!
//! A changed entry is only marked as outdated, and the next search updates it. Therefore neither
//! adding entries nor rebuilding waits for the model. Switching the model marks every entry as
//! outdated.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ken_core::ledger::entry::Entry;
use ken_core::values::content::Content;
use ken_embed::{Embedder, Vector};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::keywords::write_searchable_count;
use super::vectors::{VectorWriter, block_range};
use super::words::expand_text;
use crate::error::IndexError;
use crate::held::META_MODEL;
use crate::index::Index;
use crate::rows;

/// Batch size limits: small for a slow model that takes a second per batch, large for a fast one.
const BATCH_MIN: usize = 16;
const BATCH_MAX: usize = 1024;

/// A batch faster than this is followed by a larger one, a batch slower than `SLOW` by a smaller
/// one.
const QUICK: Duration = Duration::from_millis(50);
const SLOW: Duration = Duration::from_secs(1);

/// Marks the entry under `key` as outdated for search.
pub(crate) fn mark_outdated(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("INSERT OR REPLACE INTO unsearched VALUES (?1, 0)")?
        .execute([key])?;
    Ok(())
}

/// Marks every entry as outdated for search.
pub(crate) fn mark_all_outdated(db: &Connection) -> Result<(), IndexError> {
    Ok(db.execute_batch("INSERT OR REPLACE INTO unsearched SELECT key, 0 FROM entries")?)
}

/// Removes the words and the vector of the entry under `key` immediately, because its text was
/// redacted.
///
/// Vectors are deleted per block; the next search recreates the others.
pub(crate) fn remove_search_data(db: &Connection, key: i64) -> Result<(), IndexError> {
    remove_words(db, key)?;
    let (block, first, last) = block_range(key);
    db.prepare_cached("DELETE FROM vectors WHERE block = ?1")?
        .execute([block])?;
    db.prepare_cached(
        "INSERT OR REPLACE INTO unsearched SELECT key, 0 FROM entries WHERE key BETWEEN ?1 AND ?2",
    )?
    .execute([first, last])?;
    Ok(())
}

impl Index {
    /// Updates words and vectors of outdated entries and returns their number.
    ///
    /// `progress` receives the number of finished entries and the total. The model runs between
    /// transactions, so it never blocks another process. Its result for an entry that changed
    /// meanwhile is discarded.
    pub fn prepare_search(
        &mut self,
        embedder: Option<&dyn Embedder>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<usize, IndexError> {
        let model = embedder.map_or("", |embedder| &embedder.model().id);
        let mut model_is_current = self.holds_vectors_of(model)?;
        let (mut done, mut batch) = (0, BATCH_MIN);
        loop {
            let begun = Instant::now();
            // Before the switch nothing is marked as outdated for the new model, so the first
            // batch is simply the first entries.
            let keys = if model_is_current {
                outdated_keys(&self.db, batch)?
            } else {
                first_keys(&self.db, batch)?
            };
            if model_is_current && keys.is_empty() {
                return Ok(done);
            }
            let made = match embedder {
                Some(embedder) => Some(EmbeddedBatch::of(&self.db, &keys, embedder)?),
                None => None,
            };
            let tx = self.begin()?;
            if !holds_vectors_of(&tx, model)? {
                if model_is_current {
                    // Another process switched to another model meanwhile.
                    return Ok(done);
                }
                // Not earlier: a model that fails must not cost the existing vectors.
                switch_model(&tx, model)?;
            }
            model_is_current = true;
            update_entries(&tx, &keys, made.as_ref())?;
            write_searchable_count(&tx)?;
            let waiting = count_outdated(&tx)?;
            tx.commit()?;
            done += keys.len();
            progress(done, done + waiting);
            batch = match begun.elapsed() {
                took if took < QUICK => (4 * batch).min(BATCH_MAX),
                took if took > SLOW => (batch / 4).max(BATCH_MIN),
                _ => batch,
            };
        }
    }

    /// Updates the words of outdated entries without a model; existing vectors stay.
    pub fn prepare_words(&mut self) -> Result<(), IndexError> {
        if keys_with_outdated_words(&self.db)?.is_empty() {
            return Ok(());
        }
        let tx = self.begin()?;
        // Read again inside the transaction: another process may have updated them meanwhile.
        for key in keys_with_outdated_words(&tx)? {
            write_words(&tx, key, rows::load_entry(&tx, key)?.as_ref())?;
        }
        tx.execute_batch("UPDATE unsearched SET worded = 1")?;
        write_searchable_count(&tx)?;
        Ok(tx.commit()?)
    }

    /// Returns whether the stored vectors belong to the model `id`.
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
    Ok(rows::read_meta(db, META_MODEL)?.as_deref() == Some(model.as_bytes()))
}

/// Deletes the vectors of the previous model and records the new one.
fn switch_model(db: &Connection, model: &str) -> Result<(), IndexError> {
    db.execute_batch("DELETE FROM vectors")?;
    mark_all_outdated(db)?;
    rows::write_meta(db, META_MODEL, model.as_bytes())
}

/// Returns the row keys of the first `limit` entries.
fn first_keys(db: &Connection, limit: usize) -> Result<Vec<i64>, IndexError> {
    select_keys(db, "SELECT key FROM entries ORDER BY key LIMIT ?1", limit)
}

/// Returns the row keys of the first `limit` outdated entries.
fn outdated_keys(db: &Connection, limit: usize) -> Result<Vec<i64>, IndexError> {
    select_keys(
        db,
        "SELECT entry FROM unsearched ORDER BY entry LIMIT ?1",
        limit,
    )
}

fn count_outdated(db: &Connection) -> Result<usize, IndexError> {
    let query = "SELECT count(*) FROM unsearched";
    let count: i64 = db.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Returns the row keys of the entries whose words are outdated, not only their vectors.
fn keys_with_outdated_words(db: &Connection) -> Result<Vec<i64>, IndexError> {
    let query = "SELECT entry FROM unsearched WHERE worded = 0 ORDER BY entry LIMIT ?1";
    select_keys(db, query, usize::MAX)
}

fn select_keys(db: &Connection, query: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let mut statement = db.prepare_cached(query)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let keys = statement.query_map([limit], |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

/// Vectors of a batch of entries, with the embedded texts.
struct EmbeddedBatch {
    dimension: usize,
    vectors: BTreeMap<i64, (String, Vector)>,
}

impl EmbeddedBatch {
    /// Embeds the live entries among `keys`.
    fn of(db: &Connection, keys: &[i64], embedder: &dyn Embedder) -> Result<Self, IndexError> {
        let mut texts = BTreeMap::new();
        for key in keys {
            if let Some(entry) = rows::load_entry(db, *key)?.filter(Entry::is_live) {
                texts.insert(*key, embedding_text(&entry));
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

    /// Returns the vector of an entry if the entry's text is still the embedded one.
    fn vector(&self, key: i64, entry: &Entry) -> Option<&Vector> {
        let (text, vector) = self.vectors.get(&key)?;
        (*text == embedding_text(entry)).then_some(vector)
    }
}

/// Writes the words of entries, and their vectors if a model is in use.
fn update_entries(
    db: &Connection,
    keys: &[i64],
    made: Option<&EmbeddedBatch>,
) -> Result<(), IndexError> {
    let mut writer = made.map(|made| VectorWriter::new(db, made.dimension));
    for key in keys {
        let entry = rows::load_entry(db, *key)?;
        write_words(db, *key, entry.as_ref())?;
        let entry = entry.filter(Entry::is_live);
        let (Some(writer), Some(made)) = (&mut writer, made) else {
            mark_current(db, *key)?;
            continue;
        };
        let vector = entry.as_ref().map(|entry| made.vector(*key, entry));
        match vector {
            None => writer.put(*key, None)?,
            Some(Some(vector)) => writer.put(*key, Some(vector))?,
            // The entry changed while the model ran: it stays outdated.
            Some(None) => continue,
        }
        mark_current(db, *key)?;
    }
    match writer {
        Some(mut writer) => writer.flush(),
        None => Ok(()),
    }
}

/// Removes the outdated mark of an entry.
fn mark_current(db: &Connection, key: i64) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM unsearched WHERE entry = ?1")?
        .execute([key])?;
    Ok(())
}

/// Returns the text to embed for an entry: its statement and tags.
fn embedding_text(entry: &Entry) -> String {
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

/// Deletes the words of an entry.
fn remove_words(db: &Connection, key: i64) -> Result<(), IndexError> {
    for query in [
        "DELETE FROM texts WHERE rowid = ?1",
        "DELETE FROM aside WHERE rowid = ?1",
    ] {
        db.prepare_cached(query)?.execute([key])?;
    }
    Ok(())
}

/// Replaces the words of an entry. Words of an archived entry go to a separate table that only
/// [`similar_entries`](Index::similar_entries) reads.
fn write_words(db: &Connection, key: i64, entry: Option<&Entry>) -> Result<(), IndexError> {
    remove_words(db, key)?;
    let with_content = entry.and_then(|entry| Some((entry, entry.content.as_ref()?)));
    let Some((entry, content)) = with_content else {
        return Ok(());
    };
    if entry.is_live() {
        return write_live_words(db, key, content);
    }
    if entry.archived.is_some() && entry.retracted.is_none() {
        db.prepare_cached("INSERT INTO aside (rowid, statement) VALUES (?1, ?2)")?
            .execute(params![key, expand_text(content.statement.as_str())])?;
    }
    Ok(())
}

fn write_live_words(db: &Connection, key: i64, content: &Content) -> Result<(), IndexError> {
    let joined = |words: Vec<String>| expand_text(&words.join(" "));
    // A search finds an entry by every part of its file, not only by its statement.
    let wording = expand_text(&content.searchable_texts().join(" "));
    let tags = content.tags.iter().chain(&content.lens);
    let tags = tags.map(ToString::to_string).collect();
    let anchors = content.anchors.iter().map(|anchor| anchor.at.to_string());
    let conditions = content.depends_on.iter().map(ToString::to_string);
    let globs = content.applies_to.iter().map(ToString::to_string);
    let places = anchors.chain(conditions).chain(globs).collect();
    db.prepare_cached(
        "INSERT INTO texts (rowid, statement, tags, places) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![key, wording, joined(tags), joined(places)])?;
    Ok(())
}
