//! Retrieval misses: entries that ranked first and did not answer, or got negative feedback.
//!
//! Queries are stored with their text on the machine that ran them, because reading must not write
//! tracked files. When a run ends, new misses become events without the query text: the entry that
//! ranked first, and that it did not answer. So the counts used by rules and sweeps survive a new
//! index and a new clone.

use ken_core::decide::Draft;
use ken_core::ledger::event::{EventBody, RetrievalMissed};
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;
use ken_index::UnansweredQuery;

use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum number of misses reported per run, newest first.
const MISSES_MAX: usize = 50;

/// Characters of a query's hash: enough to tell queries apart without revealing the text.
const HASH_CHARS: usize = 8;

/// Returns the entry of every miss, recorded in the ledger or only on this machine.
pub(crate) fn missed_entries(engine: &mut Engine) -> Result<Vec<EntryId>, EngineError> {
    let events = engine.index.of_type::<RetrievalMissed>()?;
    let unreported = unreported_misses(engine)?;
    let reported = events.iter().flat_map(|it| it.event.entries());
    Ok(reported
        .chain(unreported.into_iter().filter_map(|it| it.top))
        .collect())
}

/// Returns drafts for the misses on this machine since the last run.
pub(crate) fn miss_drafts(engine: &mut Engine) -> Result<Vec<Draft>, EngineError> {
    let mut drafts = Vec::new();
    for question in unreported_misses(engine)?.into_iter().take(MISSES_MAX) {
        let known = question.top.map(|id| engine.index.entry(id)).transpose()?;
        // A read-only entry has events of a newer version, so no event can be added to it.
        let Some(entry) = known.flatten().filter(|it| !it.is_read_only()) else {
            continue;
        };
        let hash = blake3::hash(question.query.as_bytes()).to_hex();
        let words = format!("question {}", &hash[..HASH_CHARS]);
        let query = words.parse().expect("a short line is a note");
        drafts.push(Draft {
            about: vec![entry.id.into()],
            // The relevance of the hit was not stored.
            body: EventBody::RetrievalMissed(RetrievalMissed {
                query,
                top_milli: 0,
            }),
        });
    }
    Ok(drafts)
}

/// Returns the misses on this machine that no event reports yet, newest first.
fn unreported_misses(engine: &mut Engine) -> Result<Vec<UnansweredQuery>, EngineError> {
    let mut questions = engine.index.missed()?;
    questions.retain(|it| it.top.is_some());
    if questions.is_empty() {
        return Ok(questions);
    }
    let last = last_miss_report(engine)?;
    questions.retain(|it| last.is_none_or(|last| last < it.last));
    Ok(questions)
}

/// Returns the time when this machine last reported misses.
fn last_miss_report(engine: &mut Engine) -> Result<Option<Timestamp>, EngineError> {
    let node = engine.ledger.node(&mut *engine.runtime)?;
    let reported = engine.index.of_type::<RetrievalMissed>()?.into_iter();
    let own = reported.filter(|it| it.event.at.node == node);
    Ok(own.map(|it| it.event.at.wall).max())
}
