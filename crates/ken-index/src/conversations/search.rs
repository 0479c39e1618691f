//! Search in conversations and commits: by words, as entries are, then by meaning among the best.
//!
//! No vector is stored. The built-in table embeds a text in microseconds, so the texts of the best
//! candidates by words are embedded when a query is answered.

use std::collections::BTreeMap;

use ken_core::retrieval::unrecorded::{self, ScoredExchange, UnrecordedKind, UnrecordedWeights};
use ken_core::values::time::Timestamp;
use ken_embed::{Embedder, Vector};
use rusqlite::Connection;

use super::{ConversationIndex, kind_of_number};
use crate::error::IndexError;
use crate::search::KeyFilter;
use crate::search::keywords::{QueryWords, WordTable};

/// Maximum number of exchanges and of commits that words select.
const CANDIDATES_MAX: usize = 300;

/// Maximum number of conversations and of commits whose meaning is compared.
const COMPARED_MAX: usize = 60;

/// Maximum bytes of a text whose meaning is compared; its head says what it is about.
const COMPARED_BYTES_MAX: usize = 2_000;

/// Minimum number of words that a hit shares with the query; one word is chance.
const WORDS_MIN: usize = 2;

// A rule may stand in the question of the person or in the answer of the agent, so both count.
const SAID: WordTable = WordTable {
    name: "said",
    weights: &[1.0, 1.0],
};

// The subject says what a commit is about; a body also tells of other things.
const COMMITTED: WordTable = WordTable {
    name: "committed",
    weights: &[1.0, 0.5],
};

/// A query for conversations and commits.
#[derive(Clone, Copy, Debug)]
pub struct UnrecordedQuery<'a> {
    pub text: &'a str,
    /// The built-in model; words alone without one.
    pub embedder: Option<&'a dyn Embedder>,
    /// Maximum number of hits.
    pub limit: usize,
    pub weights: UnrecordedWeights,
}

/// A conversation, represented by the exchange that fits best.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationMatch {
    pub agent: String,
    /// Path of the transcript.
    pub transcript: String,
    pub digest: String,
    pub at: Timestamp,
    pub asked: String,
    pub answered: String,
    pub score: f64,
    pub coverage: f64,
    /// Cosine of the meaning; 0 without a model.
    pub cosine: f64,
}

/// A commit.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitMatch {
    pub id: String,
    pub kind: UnrecordedKind,
    pub at: Timestamp,
    pub message: String,
    pub score: f64,
    pub coverage: f64,
    /// Cosine of the meaning; 0 without a model.
    pub cosine: f64,
}

impl ConversationIndex {
    /// Returns the conversations that fit the query, best first.
    pub fn find_conversations(
        &self,
        query: &UnrecordedQuery<'_>,
    ) -> Result<Vec<ConversationMatch>, IndexError> {
        let weights = query.weights;
        // One snapshot: an indexing process may remove rows between the statements.
        let tx = self.db.unchecked_transaction()?;
        let words = QueryWords::in_table(&tx, SAID, count_rows(&tx, "exchanges")?, query.text)?;
        let scores = words.scores(&tx, &KeyFilter::Live, CANDIDATES_MAX)?;
        let mut ranked =
            unrecorded::rank_conversations(&load_scored(&tx, &scores)?, weights.support);
        // The texts of what remains are embedded now, which is the costly part of a search.
        ranked.truncate(COMPARED_MAX);
        let mut found = Vec::new();
        for best in ranked {
            let coverage = words.coverage(best.exchange);
            // Checked before the texts are read, because most candidates fail here.
            if coverage >= weights.coverage_min
                && words.has_words(best.exchange, WORDS_MIN)
                && let Some(it) = load_conversation(&tx, best, coverage)?
            {
                found.push(it);
            }
        }
        blend(query, &mut found)?;
        // After blending: the scale of the scores must not depend on who passes.
        found.retain(|it| query.embedder.is_none() || it.cosine >= weights.cosine_min);
        unrecorded::put_newest_first(
            &mut found,
            weights.alike,
            |it| it.score,
            |it| it.at.millis(),
        );
        found.truncate(query.limit);
        Ok(found)
    }

    /// Returns the commits that fit the query, best first. Of commits with the same message, as
    /// after a rebase, only the newest counts.
    pub fn find_commits(
        &self,
        query: &UnrecordedQuery<'_>,
    ) -> Result<Vec<CommitMatch>, IndexError> {
        let tx = self.db.unchecked_transaction()?;
        let words = QueryWords::in_table(&tx, COMMITTED, count_rows(&tx, "commits")?, query.text)?;
        let mut scores: Vec<(i64, f64)> = words
            .scores(&tx, &KeyFilter::Live, CANDIDATES_MAX)?
            .into_iter()
            .collect();
        // The key breaks ties, so that the same query gives the same order.
        scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scores.truncate(COMPARED_MAX);
        let mut by_message: BTreeMap<String, CommitMatch> = BTreeMap::new();
        for (key, score) in scores {
            let coverage = words.coverage(key);
            if coverage < query.weights.coverage_min || !words.has_words(key, WORDS_MIN) {
                continue;
            }
            let found = load_commit(&tx, key, score, coverage)?;
            let same = by_message.entry(found.message.clone());
            let same = same.or_insert_with(|| found.clone());
            if same.at < found.at {
                *same = found;
            }
        }
        let mut found: Vec<CommitMatch> = by_message.into_values().collect();
        blend(query, &mut found)?;
        found.truncate(query.limit);
        Ok(found)
    }
}

/// A hit whose score is computed in two steps.
trait ScoredText {
    fn text(&self) -> String;
    fn score(&self) -> f64;
    fn set_score(&mut self, score: f64, cosine: f64);
}

impl ScoredText for ConversationMatch {
    fn text(&self) -> String {
        format!("{}\n{}", self.asked, self.answered)
    }

    fn score(&self) -> f64 {
        self.score
    }

    fn set_score(&mut self, score: f64, cosine: f64) {
        self.score = score;
        self.cosine = cosine;
    }
}

impl ScoredText for CommitMatch {
    fn text(&self) -> String {
        self.message.clone()
    }

    fn score(&self) -> f64 {
        self.score
    }

    fn set_score(&mut self, score: f64, cosine: f64) {
        self.score = score;
        self.cosine = cosine;
    }
}

/// Blends the scores by words with the meaning and orders the hits; both are scaled to 0..1, as for
/// entries.
fn blend<T: ScoredText>(query: &UnrecordedQuery<'_>, hits: &mut [T]) -> Result<(), IndexError> {
    let best = hits.iter().map(T::score).fold(0.0, f64::max);
    let texts = hits.iter().map(T::text);
    let cosines = match query.embedder {
        Some(embedder) => cosines(query.text, texts, embedder)?,
        None => vec![0.0; hits.len()],
    };
    let low = cosines.iter().copied().fold(f64::INFINITY, f64::min);
    let high = cosines.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (hit, cosine) in hits.iter_mut().zip(cosines) {
        // BM25 has no upper bound, so it is scaled by the best hit.
        let words = if best > 0.0 { hit.score() / best } else { 0.0 };
        // Scaled to the range of these hits: the cosines of one query lie close together.
        let meaning = if low < high {
            (cosine - low) / (high - low)
        } else {
            0.0
        };
        let share = query.weights.meaning;
        hit.set_score((1.0 - share) * words + share * meaning, cosine);
    }
    hits.sort_by(|a, b| b.score().total_cmp(&a.score()));
    Ok(())
}

/// Returns the cosine of each text to the query.
fn cosines(
    query: &str,
    texts: impl Iterator<Item = String>,
    embedder: &dyn Embedder,
) -> Result<Vec<f64>, IndexError> {
    let texts: Vec<String> = texts.collect();
    let mut all: Vec<&str> = vec![query];
    all.extend(texts.iter().map(|it| {
        let end = COMPARED_BYTES_MAX.min(it.len());
        // Cut by bytes, because the limit is about time and a text may have no space to cut at.
        &it[..it.floor_char_boundary(end)]
    }));
    let vectors: Vec<Vector> = embedder.embed(&all)?;
    let Some((asked, vectors)) = vectors.split_first() else {
        return Ok(Vec::new());
    };
    Ok(vectors.iter().map(|it| asked.cosine(it)).collect())
}

fn count_rows(db: &Connection, table: &str) -> Result<i64, IndexError> {
    let query = format!("SELECT count(*) FROM {table}");
    Ok(db.prepare_cached(&query)?.query_row([], |row| row.get(0))?)
}

fn load_scored(
    db: &Connection,
    scores: &BTreeMap<i64, f64>,
) -> Result<Vec<ScoredExchange>, IndexError> {
    let mut statement = db.prepare_cached("SELECT source, at FROM exchanges WHERE key = ?1")?;
    let scored = scores.iter().map(|(exchange, score)| {
        statement.query_row([exchange], |row| {
            Ok(ScoredExchange {
                conversation: row.get(0)?,
                exchange: *exchange,
                at: Timestamp::from_millis(row.get::<_, i64>(1)?.unsigned_abs()),
                score: *score,
            })
        })
    });
    Ok(scored.collect::<Result<_, _>>()?)
}

fn load_conversation(
    db: &Connection,
    best: ScoredExchange,
    coverage: f64,
) -> Result<Option<ConversationMatch>, IndexError> {
    let query = "SELECT agent, path, lower(hex(digest)), asked, answered FROM exchanges
         JOIN sources ON sources.key = source WHERE exchanges.key = ?1";
    let mut statement = db.prepare_cached(query)?;
    let mut rows = statement.query([best.exchange])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let agent: Option<String> = row.get(0)?;
    Ok(Some(ConversationMatch {
        agent: agent.unwrap_or_default(),
        transcript: row.get(1)?,
        digest: row.get(2)?,
        at: best.at,
        asked: row.get(3)?,
        answered: row.get(4)?,
        score: best.score,
        coverage,
        cosine: 0.0,
    }))
}

fn load_commit(
    db: &Connection,
    key: i64,
    score: f64,
    coverage: f64,
) -> Result<CommitMatch, IndexError> {
    let query = "SELECT id, kind, at, message FROM commits WHERE key = ?1";
    let mut statement = db.prepare_cached(query)?;
    Ok(statement.query_row([key], |row| {
        Ok(CommitMatch {
            id: row.get(0)?,
            kind: kind_of_number(row.get(1)?),
            at: Timestamp::from_millis(row.get::<_, i64>(2)?.unsigned_abs()),
            message: row.get(3)?,
            score,
            coverage,
            cosine: 0.0,
        })
    })?)
}
