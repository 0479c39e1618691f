//! Entries that may answer a query: by their words, by what they mean, and both together.
//!
//! Says how well a text answers and nothing else; whether an entry deserves to be shown is decided
//! by whoever asks, with `ken_core::score`.

mod keywords;
mod places;
mod upkeep;
mod vectors;
mod worded;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::answer::{Candidate, Least};
use ken_core::store::Filter;
use ken_core::words;
use ken_embed::{Embedder, Model, Vector};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::error::IndexError;
use crate::index::Index;
use crate::listing;
use crate::rows;
use keywords::Words;
use vectors::Nearness;

use upkeep::holds_vectors_of;

pub(crate) use upkeep::{forget, note, note_all};

/// Entries taken from each side.
const PER_SIDE: usize = 200;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub text: &'a str,
    /// Which live entries count.
    pub filter: &'a Filter,
    /// Files and folders whose entries answer whatever they say.
    pub paths: &'a [String],
    /// How well others must answer.
    pub least: Least,
    /// The model that [`Index::prepare_search`] was given.
    pub embedder: Option<&'a dyn Embedder>,
    pub limit: usize,
}

impl Index {
    /// Returns what may answer `query`, best first.
    ///
    /// Entries that changed since [`prepare_search`](Self::prepare_search) are found as they were.
    pub fn candidates(&self, query: &Query<'_>) -> Result<Vec<Candidate>, IndexError> {
        let meaning = match query.embedder {
            Some(embedder) => Meaning::of(query.text, embedder)?,
            None => None,
        };
        // One view of the database, which also takes its locks once and not for every question.
        self.checked(|db| candidates(&*db.unchecked_transaction()?, query, meaning.as_ref()))
    }
}

/// What a query means to a model.
struct Meaning<'a> {
    model: &'a Model,
    vector: Vector,
}

impl<'a> Meaning<'a> {
    fn of(text: &str, embedder: &'a dyn Embedder) -> Result<Option<Self>, IndexError> {
        let model = embedder.model();
        let vector = embedder.embed(&[text])?.pop();
        Ok(vector.map(|vector| Self { model, vector }))
    }
}

fn candidates(
    db: &Connection,
    query: &Query<'_>,
    meaning: Option<&Meaning<'_>>,
) -> Result<Vec<Candidate>, IndexError> {
    let wanted = Wanted::by(db, query.filter)?;
    let words = Words::of(db, query.text)?;
    let keywords = words.scores(db, &wanted, PER_SIDE)?;
    let (near, blend) = match meaning {
        // Another process may have taken the index for another model: then words serve alone.
        Some(meaning) if holds_vectors_of(db, &meaning.model.id)? => (
            by_meaning(db, &meaning.vector, &wanted)?,
            meaning.model.blend,
        ),
        Some(_) | None => (Nearness::default(), 0.0),
    };
    let anchored = places::entries_at(db, query.paths, &wanted)?;
    let mut found = Vec::new();
    for (key, relevance) in rank(&keywords, &near, &anchored, blend) {
        if query.limit <= found.len() {
            break;
        }
        let anchored = anchored.contains(&key);
        let (coverage, cosine) = (words.coverage(key), near.get(key).unwrap_or(0.0));
        if !anchored && !query.least.is_met(cosine, coverage) {
            continue;
        }
        if let Some(entry) = rows::entry_at(db, key)? {
            found.push(Candidate {
                entry,
                keywords: keywords.get(&key).copied().unwrap_or(0.0),
                coverage,
                cosine,
                relevance,
                anchored,
            });
        }
    }
    Ok(found)
}

/// Blends both sides; row keys, those of the query's paths first, then best first.
fn rank(
    keywords: &BTreeMap<i64, f64>,
    near: &Nearness,
    anchored: &BTreeSet<i64>,
    blend: f64,
) -> Vec<(i64, f64)> {
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
    keys.extend(anchored);
    let relevance = |key| (1.0 - blend) * words(key) + blend * meaning(key);
    let mut ranked: Vec<_> = keys.into_iter().map(|key| (key, relevance(key))).collect();
    let order = |a: &(i64, f64), b: &(i64, f64)| {
        let by_place = anchored.contains(&b.0).cmp(&anchored.contains(&a.0));
        by_place.then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0))
    };
    ranked.sort_by(order);
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

    fn has(&self, key: i64) -> bool {
        match self {
            Self::Live => true,
            Self::These { keys, .. } => keys.contains(&key),
        }
    }
}

fn by_meaning(db: &Connection, to: &Vector, wanted: &Wanted) -> Result<Nearness, IndexError> {
    let mut near = Nearness::of(db, to)?;
    if let Wanted::These { .. } = wanted {
        near.retain(|key| wanted.has(key));
    }
    Ok(near)
}

/// A word as FTS5 takes it for a word, whatever it is.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}
