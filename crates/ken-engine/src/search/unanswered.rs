//! Unanswered queries: stored on this machine only, as hints for new entries.

use ken_guard::{GuardVerdict, ScannedField, TextMode, admit};
use ken_index::UnansweredQuery;

use super::{RelevanceFloor, SearchOutcome, SearchQuery, match_threshold};
use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum length of a recorded query; longer ones are pasted text, not questions.
const QUERY_CHARS_MAX: usize = 300;

/// Records a query if its best hit is weak; returns true if it is.
///
/// `nearest` are the hits without a relevance floor, if the query has none above it. The first one
/// is recorded as the entry that did not answer, if it shares a word with the query: an entry about
/// something else is not to blame.
///
/// Not every search is a person's question, so callers that know it is call this explicitly.
/// Queries that the guard would not admit to the ledger are not recorded.
pub(crate) fn record_unanswered(
    engine: &mut Engine,
    search: &SearchQuery,
    answer: &SearchOutcome,
    nearest: Option<&SearchOutcome>,
) -> Result<bool, EngineError> {
    let query = search.query.trim();
    let is_question = (1..=QUERY_CHARS_MAX).contains(&query.chars().count());
    if !is_question || !has_weak_answer(engine, query, nearest.unwrap_or(answer))? {
        return Ok(false);
    }
    let text = ScannedField {
        name: "query",
        text: query,
        mode: TextMode::Prose,
    };
    // A query may contain a pasted secret, which must not be stored.
    if let GuardVerdict::Admit { .. } = admit(&engine.guard.policy, &[text]) {
        let nearest = nearest.and_then(|it| it.hits.first());
        let nearest = nearest.filter(|hit| hit.coverage > 0.0);
        let top = answer.hits.first().or(nearest).map(|hit| hit.entry.id);
        let now = engine.now();
        engine.index.record_unanswered(query, top, now)?;
    }
    Ok(true)
}

/// Returns the queries without a good hit, newest first.
pub(crate) fn unanswered_queries(engine: &Engine) -> Result<Vec<UnansweredQuery>, EngineError> {
    Ok(engine.index.missed()?)
}

/// Returns true if the best hit is relevant neither by meaning, nor by words, nor by anchor.
fn has_weak_answer(
    engine: &mut Engine,
    query: &str,
    answer: &SearchOutcome,
) -> Result<bool, EngineError> {
    let Some(best) = answer.hits.first() else {
        return Ok(true);
    };
    let least = match_threshold(engine, RelevanceFloor::Relevant, query)?;
    Ok(!best.anchored && !best.named && !least.is_met(best.cosine, best.coverage))
}
