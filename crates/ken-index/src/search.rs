//! Entries that may answer a query: by their words, by what they mean, and both together.
//!
//! Says how well a text answers and nothing else; whether an entry deserves to be shown is decided
//! by whoever asks, with `ken_core::score`.

mod places;
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
const WORDS_MAX: usize = 48;

/// Places in entries that a query's words may have together: words beyond that are common ones, and
/// ranking them all would take longer than they are worth.
const PLACES_MAX: usize = 30_000;

/// How often a repeated word counts at most.
const TIMES_MAX: usize = 3;

/// Words of a query that are looked up at all.
const LOOKED_UP_MAX: usize = 96;

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
    /// Files and folders whose entries answer whatever they say.
    pub paths: &'a [String],
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
    /// What part of the query its words are, rare ones counting more; 1 if it has them all.
    pub coverage: f64,
    /// Cosine of its meaning with the query's; 0 without a model.
    pub cosine: f64,
    /// Both, each stretched to [0, 1] over all entries, blended as the model asks.
    pub relevance: f64,
    /// Whether it is about one of the query's paths.
    pub anchored: bool,
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
    let words = Words::of(db, query.text)?;
    let keywords = by_words(db, &words, &wanted)?;
    let near = match query.embedder {
        Some(embedder) => by_meaning(db, query.text, embedder, &wanted)?,
        None => Nearness::default(),
    };
    let blend = query
        .embedder
        .map_or(0.0, |embedder| embedder.model().blend);
    let anchored = places::entries_at(db, query.paths, &wanted)?;
    let mut ranked = rank(&keywords, &near, &anchored, blend);
    ranked.truncate(query.limit);
    let mut found = Vec::with_capacity(ranked.len());
    for (key, relevance) in ranked {
        if let Some(entry) = rows::entry_at(db, key)? {
            found.push(Candidate {
                anchored: anchored.contains(&key),
                entry,
                keywords: keywords.get(&key).copied().unwrap_or(0.0),
                coverage: words.coverage(key),
                cosine: near.get(key).unwrap_or(0.0),
                relevance,
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
    if let Wanted::These { .. } = wanted {
        near.retain(|key| wanted.has(key));
    }
    Ok(near)
}

/// Returns the entries with some of the words and their scores.
fn by_words(
    db: &Connection,
    words: &Words,
    wanted: &Wanted,
) -> Result<BTreeMap<i64, f64>, IndexError> {
    if words.chosen.is_empty() {
        return Ok(BTreeMap::new());
    }
    // A word the query repeats counts more.
    let repeated = |word: &Word| vec![quoted(&word.text); word.times.min(TIMES_MAX)];
    let any: Vec<String> = words.chosen.iter().flat_map(repeated).collect();
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

/// The words of a query and who has them.
#[derive(Debug, Default)]
struct Words {
    /// The rarest first.
    chosen: Vec<Word>,
    /// What all words of the query weigh, those nobody has included.
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
    fn of(db: &Connection, text: &str) -> Result<Self, IndexError> {
        let count: i64 = db
            .prepare_cached("SELECT count(*) FROM texts_docsize")?
            .query_row([], |row| row.get(0))?;
        let mut found = Vec::new();
        let mut all = 0.0;
        for (text, times) in words::query_words(text).into_iter().take(LOOKED_UP_MAX) {
            let entries = entries_with(db, &text)?;
            let weight = weight(entries.len(), count);
            all += weight;
            if !entries.is_empty() {
                found.push(Word {
                    text,
                    times,
                    weight,
                    entries,
                });
            }
        }
        found.sort_by(|a, b| (a.entries.len(), &a.text).cmp(&(b.entries.len(), &b.text)));
        let mut places = 0;
        let mut chosen = Vec::new();
        for word in found {
            places += word.entries.len();
            if !chosen.is_empty() && (PLACES_MAX < places || WORDS_MAX <= chosen.len()) {
                break;
            }
            chosen.push(word);
        }
        Ok(Self {
            chosen,
            weight: all,
        })
    }

    /// Returns what part of the query's weight the words of one entry have.
    fn coverage(&self, key: i64) -> f64 {
        let has = |word: &&Word| word.entries.binary_search(&key).is_ok();
        let held = self.chosen.iter().filter(has);
        let held = held.fold(0.0, |sum, word| sum + word.weight);
        if self.weight == 0.0 {
            return 0.0;
        }
        held / self.weight
    }
}

/// Returns what it tells that `having` of `all` entries have a word, as BM25 counts it.
fn weight(having: usize, all: i64) -> f64 {
    let (having, all) = (having as f64, all as f64);
    ((all - having + 0.5) / (having + 0.5)).ln_1p()
}

fn entries_with(db: &Connection, word: &str) -> Result<Vec<i64>, IndexError> {
    let mut statement =
        db.prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rowid")?;
    let keys = statement.query_map([quoted(word)], |row| row.get(0))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

/// A word as FTS5 takes it for a word, whatever it is.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}
