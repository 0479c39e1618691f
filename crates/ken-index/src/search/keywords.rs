//! Keyword search: which entries contain the words of a query, and with what score.
//!
//! FTS5 ranks a row in about two microseconds, so ranking a word that occurs in a tenth of 100,000
//! entries would cost more than it contributes. The rarest words are ranked by BM25. For more
//! common words, only their presence counts. Words that occur in almost every entry are ignored.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::{KeyFilter, quote_fts5, words};
use crate::error::IndexError;
use crate::rows;

/// Maximum number of query words looked up.
const LOOKED_UP_MAX: usize = 96;

/// Maximum number of query words that count; the rarest are used.
const WORDS_MAX: usize = 48;

/// Approximate number of postings the words of a query may have in total; a word with more than its
/// share is common.
const POSTINGS_MAX: usize = 60_000;

/// Lower and upper bound of the number of entries from which a word is common.
const COMMON_WORD_ENTRIES: (usize, usize) = (1_000, 20_000);

/// Maximum number of postings ranked by BM25.
const RANKED_POSTINGS_MAX: usize = 5_000;

/// Number of entries from which a name of code is too common to look up.
const ENTRIES_PER_NAME_MAX: usize = 20;

/// Maximum number of times a repeated query word counts.
const REPETITIONS_MAX: usize = 3;

/// The texts of entries; the columns are statement, tags and anchors.
pub(crate) const ENTRY_WORDS: WordTable = WordTable {
    name: "texts",
    weights: &[1.0, 1.0, 0.5],
};

/// An FTS5 table in which words are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordTable {
    pub(crate) name: &'static str,
    /// BM25 weights of its columns.
    pub(crate) weights: &'static [f64],
}

/// Name of the meta row with the number of searchable entries, written by
/// [`prepare_search`](crate::Index::prepare_search).
pub(super) const META_COUNT: &str = "searchable";

/// The words of a query and the entries that contain them.
#[derive(Debug)]
pub(crate) struct QueryWords {
    table: WordTable,
    /// Rarest first.
    chosen: Vec<QueryWord>,
    /// Number of different words of the query.
    asked: usize,
    /// Total weight of the query's words, including words that no entry contains and excluding
    /// common ones.
    weight: f64,
}

/// A query word and its postings.
#[derive(Debug)]
struct QueryWord {
    text: String,
    /// Occurrences in the query.
    times: usize,
    /// Inverse document frequency.
    weight: f64,
    /// Row keys of the entries that contain it, ascending.
    entries: Vec<i64>,
}

impl QueryWords {
    /// Looks up the words of `text` in the entries and selects the discriminating ones.
    pub(super) fn of(db: &Connection, text: &str) -> Result<Self, IndexError> {
        Self::in_table(db, ENTRY_WORDS, read_searchable_count(db)?, text)
    }

    /// Looks up the words of `text` in a table with `count` rows.
    pub(crate) fn in_table(
        db: &Connection,
        table: WordTable,
        count: i64,
        text: &str,
    ) -> Result<Self, IndexError> {
        let words: Vec<_> = words::query_words(text)
            .into_iter()
            .take(LOOKED_UP_MAX)
            .collect();
        let asked = words.len();
        // The longer the query, the fewer postings each word may cost.
        let common =
            (POSTINGS_MAX / words.len().max(1)).clamp(COMMON_WORD_ENTRIES.0, COMMON_WORD_ENTRIES.1);
        let word = |(text, times): (String, usize), limit| {
            let entries = entries_with(db, table, &text, limit)?;
            Ok::<_, IndexError>(QueryWord {
                weight: inverse_document_frequency(entries.len(), count),
                text,
                times,
                entries,
            })
        };
        let mut telling = Vec::new();
        for asked in &words {
            let word = word(asked.clone(), common)?;
            // `entries_with` stops at `common` rows, so reaching the limit means the word is
            // common.
            if word.entries.len() < common {
                telling.push(word);
            }
        }
        let mut chosen = telling;
        if chosen.is_empty() {
            // The query consists of common words only: use them with all their postings.
            for asked in words {
                chosen.push(word(asked, usize::MAX)?);
            }
        }
        // Computed before words without entries are dropped: they reduce the coverage of every
        // entry.
        let weight = chosen.iter().map(|word| word.weight).sum();
        chosen.retain(|word| !word.entries.is_empty());
        chosen.sort_by(|a, b| (a.entries.len(), &a.text).cmp(&(b.entries.len(), &b.text)));
        chosen.truncate(WORDS_MAX);
        Ok(Self {
            table,
            chosen,
            asked,
            weight,
        })
    }

    /// Returns the fraction of the query's weight that the words of one entry cover.
    pub(crate) fn coverage(&self, key: i64) -> f64 {
        let has = |word: &&QueryWord| word.entries.binary_search(&key).is_ok();
        let covered = self.chosen.iter().filter(has);
        let covered_weight = covered.fold(0.0, |sum, word| sum + word.weight);
        if self.weight == 0.0 {
            return 0.0;
        }
        covered_weight / self.weight
    }

    /// Returns whether a row has at least `count` of the query's words, or all if there are fewer.
    pub(crate) fn has_words(&self, key: i64, count: usize) -> bool {
        let has = |word: &&QueryWord| word.entries.binary_search(&key).is_ok();
        self.chosen.iter().filter(has).take(count).count() >= count.min(self.asked)
    }

    /// Returns the `best` entries by keyword score.
    pub(crate) fn scores(
        &self,
        db: &Connection,
        wanted: &KeyFilter,
        best: usize,
    ) -> Result<BTreeMap<i64, f64>, IndexError> {
        let (ranked, counted) = self.chosen.split_at(self.ranked());
        let mut scores = KeywordScores::default();
        for (key, score) in bm25(db, self.table, ranked, wanted)? {
            scores.add(key, score);
        }
        for word in counted {
            let adds = word.weight * word.times.min(REPETITIONS_MAX) as f64;
            for key in word.entries.iter().filter(|key| wanted.has(**key)) {
                scores.add(*key, adds);
            }
        }
        Ok(scores.best(best))
    }

    /// Returns the number of the rarest words that BM25 ranks; at least one.
    fn ranked(&self) -> usize {
        let mut places = 0;
        let within = self.chosen.iter().take_while(|word| {
            places += word.entries.len();
            places <= RANKED_POSTINGS_MAX
        });
        within.count().max(1).min(self.chosen.len())
    }
}

/// Scores indexed by row key; row keys have no gaps, so a vector is the fastest map.
#[derive(Debug, Default)]
struct KeywordScores(Vec<f64>);

impl KeywordScores {
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
        found.retain(|(_, score)| *score > 0.0);
        if count < found.len() {
            found.select_nth_unstable_by(count, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            found.truncate(count);
        }
        let keyed = |(key, score): (usize, f64)| Some((i64::try_from(key).ok()?, score));
        found.into_iter().filter_map(keyed).collect()
    }
}

/// Ranks every entry that contains one of `words`.
fn bm25(
    db: &Connection,
    table: WordTable,
    words: &[QueryWord],
    wanted: &KeyFilter,
) -> Result<Vec<(i64, f64)>, IndexError> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    // Repeating the term in the MATCH expression makes FTS5 add its score again.
    let repeated = |word: &QueryWord| vec![quote_fts5(&word.text); word.times.min(REPETITIONS_MAX)];
    let any: Vec<String> = words.iter().flat_map(repeated).collect();
    let mut values = vec![Value::Text(any.join(" OR "))];
    let filter = match wanted {
        KeyFilter::Live => String::new(),
        KeyFilter::Matching {
            condition,
            values: more,
            ..
        } => {
            values.extend(more.iter().cloned());
            format!("AND rowid IN (SELECT key FROM entries WHERE {condition})")
        }
    };
    let weights: Vec<String> = table.weights.iter().map(ToString::to_string).collect();
    let (name, weights) = (table.name, weights.join(", "));
    let query =
        format!("SELECT rowid, bm25({name}, {weights}) FROM {name} WHERE {name} MATCH ? {filter}");
    let mut statement = db.prepare_cached(&query)?;
    // FTS5 returns lower numbers for better matches.
    let found = statement.query_map(params_from_iter(values), |row| {
        Ok((row.get(0)?, -row.get::<_, f64>(1)?))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the inverse document frequency of a word as BM25 computes it.
fn inverse_document_frequency(having: usize, all: i64) -> f64 {
    // The stored count may lag behind the table, and the logarithm needs `all >= having`.
    let (having, all) = (having as f64, (all as f64).max(having as f64));
    ((all - having + 0.5) / (having + 0.5)).ln_1p()
}

/// Returns the number of searchable entries.
pub(super) fn read_searchable_count(db: &Connection) -> Result<i64, IndexError> {
    let counted = rows::read_meta(db, META_COUNT)?;
    let counted = counted.as_deref().and_then(|value| value.try_into().ok());
    Ok(counted.map_or(0, i64::from_le_bytes))
}

/// Stores the number of searchable entries, because counting reads a page per few hundred entries.
pub(super) fn write_searchable_count(db: &Connection) -> Result<(), IndexError> {
    // The docsize table has one small row per entry; the FTS5 table itself has the full texts.
    let query = "SELECT count(*) FROM texts_docsize";
    let count: i64 = db.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    rows::write_meta(db, META_COUNT, &count.to_le_bytes())
}

/// Returns the entries that contain one of `names`; a name that many entries contain names nothing.
pub(super) fn entries_with_any(
    db: &Connection,
    names: &[String],
) -> Result<BTreeSet<i64>, IndexError> {
    let mut found = BTreeSet::new();
    for name in names {
        let entries = entries_with(db, ENTRY_WORDS, name, ENTRIES_PER_NAME_MAX)?;
        if entries.len() < ENTRIES_PER_NAME_MAX {
            found.extend(entries);
        }
    }
    Ok(found)
}

/// Returns the first `limit` rows that contain a word.
fn entries_with(
    db: &Connection,
    table: WordTable,
    word: &str,
    limit: usize,
) -> Result<Vec<i64>, IndexError> {
    let name = table.name;
    let query = format!("SELECT rowid FROM {name} WHERE {name} MATCH ?1 ORDER BY rowid LIMIT ?2");
    let mut statement = db.prepare_cached(&query)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let keys = statement.query_map((quote_fts5(word), limit), |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}
