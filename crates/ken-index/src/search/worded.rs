//! Entries worded much like a text, those included that were laid aside.
//!
//! For whoever asks whether somebody said this before; that nobody may see an entry now does not unsay it.

use ken_core::entry::Entry;
use rusqlite::Connection;

use super::keywords::Words;
use super::{Wanted, quoted, words};
use crate::error::IndexError;
use crate::index::Index;
use crate::rows;

/// Words of a text that are looked up among what was laid aside: the longest tell most.
const WORDS_MAX: usize = 12;

impl Index {
    /// Returns up to `limit` entries in use and as many that were laid aside whose words are most like those of
    /// `text`.
    ///
    /// Entries that changed since [`prepare_words`](Self::prepare_words) are found as they were.
    pub fn worded_like(&self, text: &str, limit: usize) -> Result<Vec<Entry>, IndexError> {
        self.checked(|db| {
            let mut keys = in_use(db, text, limit)?;
            keys.extend(aside(db, text, limit)?);
            let entries = keys.into_iter().map(|key| rows::entry_at(db, key));
            let entries: Vec<Option<Entry>> = entries.collect::<Result<_, _>>()?;
            Ok(entries.into_iter().flatten().collect())
        })
    }
}

fn in_use(db: &Connection, text: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let words = Words::of(db, text)?;
    let scores = words.scores(db, &Wanted::Live, limit)?;
    Ok(scores.into_keys().collect())
}

fn aside(db: &Connection, text: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let mut words = words::query_words(text);
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.chars().count()));
    words.truncate(WORDS_MAX);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let any: Vec<String> = words.iter().map(|(word, _)| quoted(word)).collect();
    let query = "SELECT rowid FROM aside WHERE aside MATCH ?1 ORDER BY rank LIMIT ?2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = db.prepare_cached(query)?;
    let keys = statement.query_map((any.join(" OR "), limit), |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}
