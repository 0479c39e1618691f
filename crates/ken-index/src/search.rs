//! Entries that may answer a query: by their words, by what they mean, and both together.
//!
//! Says how well a text answers and nothing else; whether an entry deserves to be shown is decided
//! by whoever asks, with `ken_core::score`.

mod upkeep;
mod vectors;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::entry::Entry;
use ken_core::store::Filter;
use ken_embed::{Embedder, Vector};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::error::IndexError;
use crate::index::Index;
use crate::listing;
use crate::rows;
use vectors::Nearness;

pub(crate) use upkeep::{forget, note, note_all};

/// Words of a query that are looked for; of a longer one the rarest.
const WORDS_MAX: usize = 24;

/// Places in entries that a query's words may have together: words beyond that are common ones, and
/// ranking them all would take longer than they are worth.
const PLACES_MAX: u64 = 12_000;

/// Entries taken from each side.
const PER_SIDE: usize = 200;

/// What a word is worth where it stands: in the statement, a tag, an anchor.
const COLUMN_WEIGHTS: [f64; 3] = [1.0, 1.0, 0.5];

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub text: &'a str,
    /// Which live entries count.
    pub filter: &'a Filter,
    /// The model that [`Index::prepare_search`] was given.
    pub embedder: Option<&'a dyn Embedder>,
    pub limit: usize,
}

/// An entry that may answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub entry: Entry,
    /// BM25 of its words; 0 if it has none of the query's.
    pub keywords: f64,
    /// Cosine of its meaning with the query's; 0 without a model.
    pub cosine: f64,
    /// Both, each stretched to [0, 1] over all entries, blended as the model asks.
    pub relevance: f64,
}

impl Index {
    /// Returns what may answer `query`, best first.
    ///
    /// Entries that changed since [`prepare_search`](Self::prepare_search) are found as they were.
    pub fn candidates(&self, query: &Query<'_>) -> Result<Vec<Candidate>, IndexError> {
        self.checked(|db| candidates(db, query))
    }
}

fn candidates(db: &Connection, query: &Query<'_>) -> Result<Vec<Candidate>, IndexError> {
    let wanted = Wanted::by(db, query.filter)?;
    let keywords = by_words(db, query.text, &wanted)?;
    let near = match query.embedder {
        Some(embedder) => by_meaning(db, query.text, embedder, &wanted)?,
        None => Nearness::default(),
    };
    let blend = query
        .embedder
        .map_or(0.0, |embedder| embedder.model().blend);
    let mut ranked = rank(&keywords, &near, blend);
    ranked.truncate(query.limit);
    let mut found = Vec::with_capacity(ranked.len());
    for (key, relevance) in ranked {
        if let Some(entry) = rows::entry_at(db, key)? {
            found.push(Candidate {
                entry,
                keywords: keywords.get(&key).copied().unwrap_or(0.0),
                cosine: near.get(key).unwrap_or(0.0),
                relevance,
            });
        }
    }
    Ok(found)
}

/// Blends both sides; row keys, best first.
fn rank(keywords: &BTreeMap<i64, f64>, near: &Nearness, blend: f64) -> Vec<(i64, f64)> {
    let best = keywords.values().copied().fold(0.0, f64::max);
    // Most entries have none of the words, so the least score is 0.
    let words = |key| match keywords.get(&key) {
        Some(score) if 0.0 < best => score / best,
        Some(_) | None => 0.0,
    };
    let range = near.range().filter(|(low, high)| low < high);
    let meaning = |key| match (near.get(key), range) {
        (Some(cosine), Some((low, high))) => (cosine - low) / (high - low),
        (Some(_) | None, _) => 0.0,
    };
    let mut keys: BTreeSet<i64> = keywords.keys().copied().collect();
    keys.extend(near.nearest(PER_SIDE));
    let relevance = |key| (1.0 - blend) * words(key) + blend * meaning(key);
    let mut ranked: Vec<_> = keys.into_iter().map(|key| (key, relevance(key))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked
}

/// The entries a filter lets through.
enum Wanted {
    /// Every live one, which is what is searched anyway.
    Live,
    These {
        condition: String,
        values: Vec<Value>,
        keys: BTreeSet<i64>,
    },
}

impl Wanted {
    fn by(db: &Connection, filter: &Filter) -> Result<Self, IndexError> {
        if *filter == Filter::default() {
            return Ok(Self::Live);
        }
        let (condition, values) = listing::condition(filter);
        let query = format!("SELECT key FROM entries WHERE {condition}");
        let mut statement = db.prepare_cached(&query)?;
        let keys = statement.query_map(params_from_iter(&values), |row| row.get(0))?;
        let keys = keys.collect::<Result<_, _>>()?;
        Ok(Self::These {
            condition,
            values,
            keys,
        })
    }
}

fn by_meaning(
    db: &Connection,
    text: &str,
    embedder: &dyn Embedder,
    wanted: &Wanted,
) -> Result<Nearness, IndexError> {
    let vectors: Vec<Vector> = embedder.embed(&[text])?;
    let Some(vector) = vectors.first() else {
        return Ok(Nearness::default());
    };
    let mut near = Nearness::of(db, vector)?;
    if let Wanted::These { keys, .. } = wanted {
        near.retain(|key| keys.contains(&key));
    }
    Ok(near)
}

/// Returns the entries with the query's words and their scores.
fn by_words(
    db: &Connection,
    text: &str,
    wanted: &Wanted,
) -> Result<BTreeMap<i64, f64>, IndexError> {
    let words = telling_words(db, text)?;
    if words.is_empty() {
        return Ok(BTreeMap::new());
    }
    let any: Vec<String> = words.iter().map(|word| quoted(word)).collect();
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
        "SELECT rowid, bm25(texts, {statement}, {tags}, {places}) AS score FROM texts
         WHERE texts MATCH ? {filter} ORDER BY score LIMIT {PER_SIDE}"
    );
    let mut statement = db.prepare_cached(&query)?;
    // FTS5 gives better matches lower numbers.
    let found = statement.query_map(params_from_iter(values), |row| {
        Ok((row.get(0)?, -row.get::<_, f64>(1)?))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Chooses the words that tell entries apart, the rarest first.
fn telling_words(db: &Connection, text: &str) -> Result<Vec<String>, IndexError> {
    let mut counted = Vec::new();
    let mut statement = db.prepare_cached("SELECT count(*) FROM texts WHERE texts MATCH ?1")?;
    for word in words::query_words(text).into_iter().take(4 * WORDS_MAX) {
        let count: i64 = statement.query_row([quoted(&word)], |row| row.get(0))?;
        if 0 < count {
            counted.push((count.cast_unsigned(), word));
        }
    }
    counted.sort();
    let mut places = 0;
    let mut chosen = Vec::new();
    for (count, word) in counted {
        places += count;
        if !chosen.is_empty() && (PLACES_MAX < places || WORDS_MAX <= chosen.len()) {
            break;
        }
        chosen.push(word);
    }
    Ok(chosen)
}

/// A word as FTS5 takes it for a word, whatever it is.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}
