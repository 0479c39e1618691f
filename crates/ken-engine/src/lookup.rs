//! Lookup of entries, events and history.

use ken_core::json::EntityRelationship;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::page::{EntryPage, FacetCount, FacetCounts, PageFilter, PageQuery};
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

/// Returns one page of entries.
pub(crate) fn entry_page(engine: &mut Engine, query: &PageQuery) -> Result<EntryPage, EngineError> {
    Ok(engine.index.page(query)?)
}

/// Counts the entries of a list by facet.
pub(crate) fn facet_counts(
    engine: &Engine,
    filter: &PageFilter,
) -> Result<FacetCounts, EngineError> {
    Ok(engine.index.facet_counts(filter)?)
}

/// Counts all live entries by status.
pub(crate) fn status_counts(engine: &Engine) -> Result<Vec<FacetCount>, EngineError> {
    Ok(engine.index.status_counts()?)
}

/// Returns an entry as it was after one of its events: the fold of its events up to that one, in
/// canonical order.
pub(crate) fn entry_at(engine: &Engine, id: EntryId, event: EventId) -> Result<Entry, EngineError> {
    let events = engine.history(id)?;
    let last = events.iter().find(|it| it.event.id == event);
    let last = last
        .map(|it| it.event.order())
        .ok_or_else(|| EngineError::Usage(format!("{id} has no event {event}")))?;
    let past = events.iter().map(|it| &it.event);
    let past = past.filter(|it| it.order() <= last);
    fold_entry(id, past).ok_or_else(|| EngineError::NotFound(id.to_string()))
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
