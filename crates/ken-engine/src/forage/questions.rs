//! Questions that the forager proposed entries for, as the ledger records them.
//!
//! A record has no word of the question: events are shared, and a question may be private. A
//! reading list writes no event, so only the log of this clone has its packages and hosts.

use std::collections::BTreeMap;

use ken_core::ledger::event::{ForageCompleted, ForageMode, ForageRequested};
use ken_core::values::actor::Actor;
use ken_core::values::id::EventId;
use ken_core::values::text::Note;
use ken_core::values::time::Timestamp;

use crate::engine::Engine;
use crate::error::EngineError;

/// One question that entries were proposed for.
#[derive(Clone, Debug, PartialEq)]
pub struct ForageRecord {
    pub request: EventId,
    pub at: Timestamp,
    pub by: Actor,
    pub mode: ForageMode,
    /// Why it was asked, as a fixed phrase.
    pub reason: Note,
    /// What came of it; `None` if the process ended before it was done.
    pub completed: Option<ForageCompleted>,
}

/// Returns the last `limit` questions, newest first.
pub(crate) fn forage_records(
    engine: &Engine,
    limit: usize,
) -> Result<Vec<ForageRecord>, EngineError> {
    let completed = engine.index.of_type::<ForageCompleted>()?;
    let completed = completed.iter().filter_map(|it| {
        let data = it.event.get::<ForageCompleted>()?;
        Some((data.request, data.clone()))
    });
    let mut completed: BTreeMap<EventId, ForageCompleted> = completed.collect();
    let requests = engine.index.of_type::<ForageRequested>()?;
    let records = requests.into_iter().rev().filter_map(|it| {
        let ForageRequested { mode, reason } = it.event.get::<ForageRequested>()?.clone();
        Some(ForageRecord {
            request: it.event.id,
            at: it.event.at.wall,
            by: it.event.by.clone(),
            mode,
            reason,
            completed: completed.remove(&it.event.id),
        })
    });
    Ok(records.take(limit).collect())
}
