//! Lookup of entries, events and history.

use ken_core::json::EntityRelationship;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;

use crate::engine::Engine;
use crate::error::EngineError;

/// Returns the only entry whose id starts with `wanted` or that has it as an alias.
pub(crate) fn find(engine: &Engine, wanted: &str) -> Result<Entry, EngineError> {
    // Ken prints ids in brackets, and people copy them with the brackets.
    let wanted = wanted.trim().trim_start_matches('[').trim_end_matches(']');
    let mut candidates = engine.index.find(wanted)?;
    match candidates.len() {
        0 => Err(EngineError::NotFound(wanted.to_owned())),
        1 => engine.entry(candidates.remove(0)),
        _ => Err(EngineError::Ambiguous {
            wanted: wanted.to_owned(),
            candidates,
        }),
    }
}

/// Returns an entry by its full id.
pub(crate) fn entry(engine: &Engine, id: EntryId) -> Result<Entry, EngineError> {
    engine
        .index
        .entry(id)?
        .ok_or_else(|| EngineError::NotFound(id.to_string()))
}

/// Returns the entries that match, newest first.
pub(crate) fn list(engine: &Engine, filter: &EntryFilter) -> Result<Vec<Entry>, EngineError> {
    Ok(engine.index.list(filter)?)
}

/// Returns the relationships that start or end at `entry`; none if it is not an entity.
pub(crate) fn relationships(
    engine: &Engine,
    entry: &Entry,
) -> Result<Vec<EntityRelationship>, EngineError> {
    if entry.kind() != Some(EntryKind::Entity) {
        return Ok(Vec::new());
    }
    let stated = engine.index.list(&EntryFilter {
        kind: Some(EntryKind::Relationship),
        ..EntryFilter::default()
    })?;
    Ok(EntityRelationship::of(entry.id, &stated))
}

/// Returns every event of an entry in canonical order.
pub(crate) fn history(engine: &Engine, id: EntryId) -> Result<Vec<RecordedEvent>, EngineError> {
    Ok(engine.index.history(id)?)
}

/// Returns the full state of this branch, for comparison and export.
pub(crate) fn state(engine: &Engine) -> Result<LedgerState, EngineError> {
    Ok(engine.index.state()?)
}

/// Returns an event by its full id.
pub(crate) fn event(engine: &Engine, id: &str) -> Result<RecordedEvent, EngineError> {
    let missing = || EngineError::NoSuchEvent(id.to_owned());
    // Ids are printed in upper case, but typed in any.
    let parsed: EventId = id
        .trim()
        .to_ascii_uppercase()
        .parse()
        .map_err(|_| missing())?;
    engine.index.event(parsed)?.ok_or_else(missing)
}
