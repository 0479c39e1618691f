//! Which entries have the words of a query, and how well that answers it.
//!
//! FTS5 ranks a row in about two microseconds, so a word that every tenth of a hundred thousand entries
//! has would cost more than it tells. The rarest words are ranked by BM25; of commoner ones it only
//! counts whether an entry has them; what nearly every entry has is not looked at.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::{Wanted, quoted, words};
use crate::error::IndexError;
use crate::rows;

/// Words of a query that are looked up.
const LOOKED_UP_MAX: usize = 96;

/// Words of a query that count: of a longer one the rarest.
const WORDS_MAX: usize = 48;

/// Places in entries that the words of a query may have together, about: a word with more than its
/// share is a common one.
const PLACES_MAX: usize = 60_000;

/// No word is common below this many entries, and every word is above that many.
const COMMON: (usize, usize) = (1_000, 20_000);

/// Places that are ranked by BM25.
const RANKED_MAX: usize = 5_000;

/// How often a repeated word counts at most.
const TIMES_MAX: usize = 3;

/// What a word is worth where it stands: in the statement, a tag, an anchor.
const COLUMN_WEIGHTS: [f64; 3] = [1.0, 1.0, 0.5];

/// How many entries can be found, as [`prepare_search`](crate::Index::prepare_search) counted them.
pub(super) const META_COUNT: &str = "searchable";

/// The words of a query and who has them.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The rarest first.
    chosen: Vec<Word>,
    /// What all words of the query weigh, those nobody has included and common ones left out.
    weight: f64,
}

#[derive(Debug)]
struct Word {
    text: String,
    /// How often the query has it.
    times: usize,
    /// What having it tells: the fewer have it, the more.
    weight: f64,
    /// Row keys of the entries that have it, in order.
    entries: Vec<i64>,
}

impl Words {
    /// Looks the words of `text` up and chooses those that tell entries apart.
    pub(super) fn of(db: &Connection, text: &str) -> Result<Self, IndexError> {
        let count = count(db)?;
        let words: Vec<_> = words::query_words(text)
            .into_iter()
            .take(LOOKED_UP_MAX)
            .collect();
        let common = (PLACES_MAX / words.len().max(1)).clamp(COMMON.0, COMMON.1);
        let word = |(text, times): (String, usize), limit| {
            let entries = entries_with(db, &text, limit)?;
            Ok::<_, IndexError>(Word {
                weight: weight(entries.len(), count),
                text,
                times,
                entries,
            })
        };
        let mut telling = Vec::new();
        for asked in &words {
            let word = word(asked.clone(), common)?;
            if word.entries.len() < common {
                telling.push(word);
            }
        }
        let mut chosen = telling;
        if chosen.is_empty() {
            // Better common words than none, and then all of their places.
            for asked in words {
                chosen.push(word(asked, usize::MAX)?);
            }
        }
        let weight = chosen.iter().map(|word| word.weight).sum();
        chosen.retain(|word| !word.entries.is_empty());
        chosen.sort_by(|a, b| (a.entries.len(), &a.text).cmp(&(b.entries.len(), &b.text)));
        chosen.truncate(WORDS_MAX);
        Ok(Self { chosen, weight })
    }

    /// Returns what part of the query's weight the words of one entry have.
    pub(super) fn coverage(&self, key: i64) -> f64 {
        let has = |word: &&Word| word.entries.binary_search(&key).is_ok();
        let held = self.chosen.iter().filter(has);
        let held = held.fold(0.0, |sum, word| sum + word.weight);
        if self.weight == 0.0 {
            return 0.0;
        }
        held / self.weight
    }

    /// Returns the `best` entries by their words, with their scores.
    pub(super) fn scores(
        &self,
        db: &Connection,
        wanted: &Wanted,
        best: usize,
    ) -> Result<BTreeMap<i64, f64>, IndexError> {
        let (ranked, counted) = self.chosen.split_at(self.ranked());
        let mut scores = Scores::default();
        for (key, score) in bm25(db, ranked, wanted)? {
            scores.add(key, score);
        }
        for word in counted {
            let adds = word.weight * word.times.min(TIMES_MAX) as f64;
            for key in word.entries.iter().filter(|key| wanted.has(**key)) {
                scores.add(*key, adds);
            }
        }
        Ok(scores.best(best))
    }

    /// Returns how many of the rarest words are ranked.
    fn ranked(&self) -> usize {
        let mut places = 0;
        let within = self.chosen.iter().take_while(|word| {
            places += word.entries.len();
            places <= RANKED_MAX
        });
        within.count().max(1).min(self.chosen.len())
    }
}

/// A score for every row key; keys are given out without gaps.
#[derive(Debug, Default)]
struct Scores(Vec<f64>);

impl Scores {
    fn add(&mut self, key: i64, score: f64) {
        let Ok(at) = usize::try_from(key) else {
            return;
        };
        if self.0.len() <= at {
            self.0.resize(at + 1, 0.0);
        }
        self.0[at] += score;
    }

    fn best(self, count: usize) -> BTreeMap<i64, f64> {
        let mut found: Vec<(usize, f64)> = self.0.into_iter().enumerate().collect();
        found.retain(|(_, score)| 0.0 < *score);
        if count < found.len() {
            found.select_nth_unstable_by(count, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            found.truncate(count);
        }
        let keyed = |(key, score): (usize, f64)| Some((i64::try_from(key).ok()?, score));
        found.into_iter().filter_map(keyed).collect()
    }
}

/// Ranks every entry with some of `words`.
fn bm25(db: &Connection, words: &[Word], wanted: &Wanted) -> Result<Vec<(i64, f64)>, IndexError> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    // A word the query repeats counts more.
    let repeated = |word: &Word| vec![quoted(&word.text); word.times.min(TIMES_MAX)];
    let any: Vec<String> = words.iter().flat_map(repeated).collect();
    let mut values = vec![Value::Text(any.join(" OR "))];
    let filter = match wanted {
        Wanted::Live => String::new(),
        Wanted::These {
            condition,
            values: more,
            ..
        } => {
            values.extend(more.iter().cloned());
            format!("AND rowid IN (SELECT key FROM entries WHERE {condition})")
        }
    };
    let [statement, tags, places] = COLUMN_WEIGHTS;
    let query = format!(
        "SELECT rowid, bm25(texts, {statement}, {tags}, {places}) FROM texts
         WHERE texts MATCH ? {filter}"
    );
    let mut statement = db.prepare_cached(&query)?;
    // FTS5 gives better matches lower numbers.
    let found = statement.query_map(params_from_iter(values), |row| {
        Ok((row.get(0)?, -row.get::<_, f64>(1)?))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns what it tells that `having` of `all` entries have a word, as BM25 counts it.
fn weight(having: usize, all: i64) -> f64 {
    let (having, all) = (having as f64, (all as f64).max(having as f64));
    ((all - having + 0.5) / (having + 0.5)).ln_1p()
}

/// Returns how many entries can be found.
fn count(db: &Connection) -> Result<i64, IndexError> {
    let counted = rows::meta(db, META_COUNT)?;
    let counted = counted.as_deref().and_then(|value| value.try_into().ok());
    Ok(counted.map_or(0, i64::from_le_bytes))
}

/// Writes down how many entries can be found: counting them reads a page for every few hundred.
pub(super) fn write_count(db: &Connection) -> Result<(), IndexError> {
    let query = "SELECT count(*) FROM texts_docsize";
    let count: i64 = db.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    rows::write_meta(db, META_COUNT, &count.to_le_bytes())
}

/// Returns the first `limit` entries that have a word.
fn entries_with(db: &Connection, word: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let query = "SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rowid LIMIT ?2";
    let mut statement = db.prepare_cached(query)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let keys = statement.query_map((quoted(word), limit), |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}
