//! Candidate search by keywords, by vector similarity, and by anchor path.
//!
//! Computes relevance only. The caller decides with `ken_core::retrieval::score` which entries to
//! show.

pub(crate) mod keywords;
mod places;
mod upkeep;
mod vectors;
mod worded;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::code_names::CodeNames;
use ken_core::retrieval::ranking::{MatchThreshold, SearchCandidate};
use ken_core::retrieval::words;
use ken_embed::{Embedder, EmbeddingModel, Vector};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::error::IndexError;
use crate::index::Index;
use crate::listing;
use crate::rows;
use keywords::QueryWords;
use vectors::CosineScores;

use upkeep::holds_vectors_of;

pub(crate) use upkeep::{mark_all_outdated, mark_outdated, remove_search_data};

/// Maximum number of candidates per signal (keywords, vectors).
const CANDIDATES_PER_SIGNAL: usize = 200;

/// Maximum number of entries below the threshold that are loaded to look for the query's names.
const NAME_CHECKS_MAX: usize = 60;

/// Query for candidates.
#[derive(Clone, Copy, Debug)]
pub struct CandidateQuery<'a> {
    pub text: &'a str,
    /// Filter for live entries.
    pub filter: &'a EntryFilter,
    /// Files and directories whose entries are candidates regardless of their text.
    pub paths: &'a [String],
    /// Code whose entries are candidates regardless of their other words.
    pub names: &'a CodeNames,
    /// Names of it that the text does not have.
    pub other_names: &'a [String],
    /// Minimum relevance of all other entries.
    pub least: MatchThreshold,
    /// Returns the nearest entries if none is relevant.
    pub or_nearest: bool,
    /// The model passed to [`Index::prepare_search`].
    pub embedder: Option<&'a dyn Embedder>,
    pub limit: usize,
}

/// Candidates of a query, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundCandidates {
    pub candidates: Vec<SearchCandidate>,
    /// Set if none is relevant, and these are the nearest, as the query asked.
    pub is_nearest: bool,
}

impl Index {
    /// Returns the number of entries that a search considers.
    pub fn searchable_entries(&self) -> Result<usize, IndexError> {
        let count = self.checked(keywords::read_searchable_count)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Returns candidates for `query`.
    ///
    /// Entries changed since [`prepare_search`](Self::prepare_search) are found with their old
    /// text.
    pub fn candidates(&self, query: &CandidateQuery<'_>) -> Result<FoundCandidates, IndexError> {
        let meaning = match query.embedder {
            Some(embedder) => QueryEmbedding::of(query.text, embedder)?,
            None => None,
        };
        // One transaction gives a consistent view and takes the locks once instead of per
        // statement.
        let mut found = self.checked(|db| {
            collect_candidates(&*db.unchecked_transaction()?, query, meaning.as_ref())
        })?;
        for candidate in &mut found.candidates {
            self.add_overlays(&mut candidate.entry);
        }
        Ok(found)
    }
}

/// Embedding of the query text and its model.
struct QueryEmbedding<'a> {
    model: &'a EmbeddingModel,
    vector: Vector,
}

impl<'a> QueryEmbedding<'a> {
    fn of(text: &str, embedder: &'a dyn Embedder) -> Result<Option<Self>, IndexError> {
        let model = embedder.model();
        let vector = embedder.embed(&[text])?.pop();
        Ok(vector.map(|vector| Self { model, vector }))
    }
}

fn collect_candidates(
    db: &Connection,
    query: &CandidateQuery<'_>,
    meaning: Option<&QueryEmbedding<'_>>,
) -> Result<FoundCandidates, IndexError> {
    let wanted = KeyFilter::by(db, query.filter)?;
    let words = QueryWords::of(db, query.text)?;
    let keywords = words.scores(db, &wanted, CANDIDATES_PER_SIGNAL)?;
    let (near, blend) = match meaning {
        // Another process may have switched the index to another model; then keywords are used
        // alone.
        Some(meaning) if holds_vectors_of(db, &meaning.model.id)? => (
            score_by_vector(db, &meaning.vector, &wanted)?,
            meaning.model.blend,
        ),
        Some(_) | None => (CosineScores::default(), 0.0),
    };
    let anchored = places::entry_keys_anchored_at(db, query.paths, &wanted)?;
    let named = keywords::entries_with_any(db, query.other_names)?;
    let mut ranked = rank(&keywords, &near, (&anchored, &named), blend);
    ranked.retain(|(key, _)| wanted.has(*key));
    let scored = ScoredKeys {
        ranked,
        keywords,
        words,
        near,
        anchored,
        named,
    };
    let mut found = FoundCandidates {
        candidates: scored.load(db, query, query.least)?,
        is_nearest: false,
    };
    if found.candidates.is_empty() && query.or_nearest {
        found.candidates = scored.load(db, query, MatchThreshold::NOTHING)?;
        found.is_nearest = true;
    }
    Ok(found)
}

/// Entries that a query may match, with what they match it by.
struct ScoredKeys {
    /// Row keys with relevance, best first.
    ranked: Vec<(i64, f64)>,
    keywords: BTreeMap<i64, f64>,
    words: QueryWords,
    near: CosineScores,
    anchored: BTreeSet<i64>,
    /// Entries with one of the query's other names.
    named: BTreeSet<i64>,
}

impl ScoredKeys {
    /// Loads the entries that are relevant enough, best first.
    fn load(
        &self,
        db: &Connection,
        query: &CandidateQuery<'_>,
        least: MatchThreshold,
    ) -> Result<Vec<SearchCandidate>, IndexError> {
        let mut found = Vec::new();
        let mut name_checks = NAME_CHECKS_MAX;
        for &(key, relevance) in &self.ranked {
            if query.limit <= found.len() {
                break;
            }
            let anchored = self.anchored.contains(&key);
            let cosine = self.near.get(key).unwrap_or(0.0);
            let coverage = self.words.coverage(key);
            // Entries anchored in the query's paths count as relevant without matching words, and
            // so do entries that name the same code. A name is a word, so entries without words
            // have none.
            let is_relevant = anchored || least.is_met(cosine, coverage);
            let has_words = coverage > 0.0 || self.named.contains(&key);
            let may_be_named = has_words && !query.names.is_empty() && name_checks > 0;
            if !is_relevant && !may_be_named {
                continue;
            }
            let Some(entry) = rows::load_entry(db, key)? else {
                continue;
            };
            let candidate = SearchCandidate {
                keywords: self.keywords.get(&key).copied().unwrap_or(0.0),
                coverage,
                cosine,
                relevance,
                anchored,
                named: query.names.are_named_by(&entry),
                entry,
            };
            if candidate.is_relevant(least) {
                found.push(candidate);
            } else {
                name_checks -= 1;
            }
        }
        Ok(found)
    }
}

/// Combines keyword and vector scores; returns row keys with relevance, anchored entries first,
/// then by descending relevance.
fn rank(
    keywords: &BTreeMap<i64, f64>,
    near: &CosineScores,
    (anchored, named): (&BTreeSet<i64>, &BTreeSet<i64>),
    blend: f64,
) -> Vec<(i64, f64)> {
    let best = keywords.values().copied().fold(0.0, f64::max);
    // The minimum keyword score is 0, because most entries contain none of the words.
    let words = |key| match keywords.get(&key) {
        Some(score) if best > 0.0 => score / best,
        Some(_) | None => 0.0,
    };
    // Cosines are rescaled to 0..1, because models differ in the range their cosines occupy.
    let range = near.range().filter(|(low, high)| low < high);
    let meaning = |key| match (near.get(key), range) {
        (Some(cosine), Some((low, high))) => (cosine - low) / (high - low),
        (Some(_) | None, _) => 0.0,
    };
    // Row keys break ties, so that equal scores always rank in the same order.
    let mut keys: BTreeSet<i64> = keywords.keys().copied().collect();
    keys.extend(near.nearest(CANDIDATES_PER_SIGNAL));
    keys.extend(anchored);
    keys.extend(named);
    let relevance = |key| (1.0 - blend) * words(key) + blend * meaning(key);
    let mut ranked: Vec<_> = keys.into_iter().map(|key| (key, relevance(key))).collect();
    let order = |a: &(i64, f64), b: &(i64, f64)| {
        let by_place = anchored.contains(&b.0).cmp(&anchored.contains(&a.0));
        by_place.then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0))
    };
    ranked.sort_by(order);
    ranked
}

/// Row keys that pass a filter.
pub(crate) enum KeyFilter {
    /// Every live entry; the search tables contain no others.
    Live,
    Matching {
        condition: String,
        values: Vec<Value>,
        keys: BTreeSet<i64>,
    },
}

impl KeyFilter {
    fn by(db: &Connection, filter: &EntryFilter) -> Result<Self, IndexError> {
        if *filter == EntryFilter::default() {
            return Ok(Self::Live);
        }
        let (condition, values) = listing::where_clause(filter);
        let query = format!("SELECT key FROM entries WHERE {condition}");
        let mut statement = db.prepare_cached(&query)?;
        let keys = statement.query_map(params_from_iter(&values), |row| row.get(0))?;
        let keys = keys.collect::<Result<_, _>>()?;
        Ok(Self::Matching {
            condition,
            values,
            keys,
        })
    }

    fn has(&self, key: i64) -> bool {
        match self {
            Self::Live => true,
            Self::Matching { keys, .. } => keys.contains(&key),
        }
    }
}

fn score_by_vector(
    db: &Connection,
    to: &Vector,
    wanted: &KeyFilter,
) -> Result<CosineScores, IndexError> {
    let mut near = CosineScores::of(db, to)?;
    if let KeyFilter::Matching { .. } = wanted {
        near.retain(|key| wanted.has(key));
    }
    Ok(near)
}

/// Quotes a word as an FTS5 string, so that operators such as `MEAN_DISTANCE_MAX` or `*` lose their
/// meaning.
fn quote_fts5(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}
