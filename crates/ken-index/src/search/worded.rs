//! Search for entries with a similar statement, including archived entries.
//!
//! Answers whether a claim was made before; archiving an entry does not change that.

use ken_core::ledger::entry::Entry;
use rusqlite::Connection;

use super::keywords::QueryWords;
use super::{KeyFilter, quote_fts5, words};
use crate::error::IndexError;
use crate::index::Index;
use crate::rows;

/// Maximum number of words looked up among archived entries; the longest discriminate best.
const WORDS_MAX: usize = 12;

impl Index {
    /// Returns up to `limit` live and up to `limit` archived entries with the words most similar to
    /// `text`.
    ///
    /// Entries changed since [`prepare_words`](Self::prepare_words) are found with their old text.
    pub fn worded_like(&self, text: &str, limit: usize) -> Result<Vec<Entry>, IndexError> {
        self.checked(|db| {
            let mut keys = live_matches(db, text, limit)?;
            keys.extend(archived_matches(db, text, limit)?);
            let entries = keys.into_iter().map(|key| rows::load_entry(db, key));
            let entries: Vec<Option<Entry>> = entries.collect::<Result<_, _>>()?;
            Ok(entries.into_iter().flatten().collect())
        })
    }
}

fn live_matches(db: &Connection, text: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let words = QueryWords::of(db, text)?;
    let scores = words.scores(db, &KeyFilter::Live, limit)?;
    Ok(scores.into_keys().collect())
}

fn archived_matches(db: &Connection, text: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let mut words = words::query_words(text);
    // By length instead of document frequency, which would cost one lookup per word.
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.chars().count()));
    words.truncate(WORDS_MAX);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let any: Vec<String> = words.iter().map(|(word, _)| quote_fts5(word)).collect();
    let query = "SELECT rowid FROM aside WHERE aside MATCH ?1 ORDER BY rank LIMIT ?2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = db.prepare_cached(query)?;
    let keys = statement.query_map((any.join(" OR "), limit), |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}
