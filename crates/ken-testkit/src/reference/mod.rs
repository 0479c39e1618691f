//! Reference fold, written from the specification independently of `ken-core`.
//!
//! Deliberately naive: plain vectors, one sort, and ancestry decided by scanning all writes
//! repeatedly. It shares the types of `ken-core` but none of its logic, so a mistake would have to
//! be made twice to remain undetected.

mod causality;
mod content;
mod entry;
mod rediscovery;
mod workspace;

use ken_core::ledger::event::{Event, EventBlanked, EventData, RecordedEvent};
use ken_core::ledger::state::LedgerState;
use ken_core::values::actor::ActorRole;
use ken_core::values::id::{EntryId, EventId};

/// Folds copies of events, in any order and number, to their state.
///
/// `remembered` are ids this machine knows to be redacted, regardless of the events.
pub fn fold_state(copies: &[RecordedEvent], remembered: &[EventId]) -> LedgerState {
    let events = resolve_copies(copies, remembered);
    let mut ids: Vec<EntryId> = events.iter().flat_map(Event::entries).collect();
    ids.sort();
    ids.dedup();
    let entries = ids
        .into_iter()
        .map(|id| (id, entry::fold_entry(id, &events_of_entry(id, &events))))
        .collect();
    LedgerState {
        entries,
        workspace: workspace::fold_workspace(&events),
    }
}

/// Returns one event per id, redacted where required, in canonical order.
pub fn resolve_copies(copies: &[RecordedEvent], remembered: &[EventId]) -> Vec<Event> {
    let mut targets: Vec<EventId> = remembered.to_vec();
    targets.extend(
        copies
            .iter()
            .filter_map(|copy| redaction_target(&copy.event)),
    );
    let mut ids: Vec<EventId> = copies.iter().map(|copy| copy.event.id).collect();
    ids.sort();
    ids.dedup();
    let mut events = Vec::new();
    for id in ids {
        let mut same: Vec<&RecordedEvent> =
            copies.iter().filter(|copy| copy.event.id == id).collect();
        // A redaction order always wins over another copy of its id. Otherwise the copy with the
        // smaller redacted form wins, preferably in full.
        same.sort_by_key(|copy| {
            let no_order = redaction_target(&copy.event).is_none();
            (
                no_order,
                copy.redacted().line().to_owned(),
                copy.is_redacted(),
            )
        });
        let best = same[0];
        // Redaction orders are never redacted themselves.
        let blank = targets.contains(&id) && redaction_target(&best.event).is_none();
        events.push(if blank {
            best.redacted().event
        } else {
            best.event.clone()
        });
    }
    events.sort_by_key(|event| (event.at, event.id));
    events
}

/// Returns the target of a redaction by an actor who may redact.
fn redaction_target(event: &Event) -> Option<EventId> {
    match event.by.role() {
        ActorRole::Human | ActorRole::Ci => event.get::<EventBlanked>().map(|data| data.event),
        ActorRole::Agent | ActorRole::Import | ActorRole::Peer => None,
    }
}

fn events_of_entry(id: EntryId, events: &[Event]) -> Vec<&Event> {
    events
        .iter()
        .filter(|event| event.entries().any(|touched| touched == id))
        .collect()
}

/// Returns the events of one type with their data, in the given order.
fn events_of_type<'a, T: EventData + 'a>(events: &[&'a Event]) -> Vec<(&'a Event, &'a T)> {
    events
        .iter()
        .filter_map(|event| Some((*event, event.get::<T>()?)))
        .collect()
}
