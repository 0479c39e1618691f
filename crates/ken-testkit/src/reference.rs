//! A second fold, written from the specification without looking at the first.
//!
//! Deliberately naive: plain vectors, one sort, and "does this descend from that" answered by
//! scanning all writes again and again. It shares the types of `ken-core` and none of its
//! reasoning, so that a mistake would have to be made twice to stay unseen.

mod causality;
mod content;
mod entry;
mod workspace;

use ken_core::actor::Role;
use ken_core::event::{Event, EventBlanked, EventData, Recorded};
use ken_core::id::{EntryId, EventId};
use ken_core::state::State;

/// Folds any copies of events, in any order and number, to the state they stand for.
///
/// `remembered` are ids this machine knows to be blanked, whatever the events say.
pub fn state(copies: &[Recorded], remembered: &[EventId]) -> State {
    let events = settled(copies, remembered);
    let mut ids: Vec<EntryId> = events.iter().flat_map(Event::entries).collect();
    ids.sort();
    ids.dedup();
    let entries = ids
        .into_iter()
        .map(|id| (id, entry::entry(id, &touching(id, &events))))
        .collect();
    State {
        entries,
        workspace: workspace::workspace(&events),
    }
}

/// Returns one event for each id, blanked where it must be, in canonical order.
pub fn settled(copies: &[Recorded], remembered: &[EventId]) -> Vec<Event> {
    let mut targets: Vec<EventId> = remembered.to_vec();
    targets.extend(copies.iter().filter_map(|copy| ordered_blank(&copy.event)));
    let mut ids: Vec<EventId> = copies.iter().map(|copy| copy.event.id).collect();
    ids.sort();
    ids.dedup();
    let mut events = Vec::new();
    for id in ids {
        let mut same: Vec<&Recorded> = copies.iter().filter(|copy| copy.event.id == id).collect();
        // An order to blank cannot be talked over; else the smaller blank form stands, in full
        // if anybody has it so.
        same.sort_by_key(|copy| {
            let no_order = ordered_blank(&copy.event).is_none();
            (
                no_order,
                copy.blanked().line().to_owned(),
                copy.is_blanked(),
            )
        });
        let best = same[0];
        let blank = targets.contains(&id) && ordered_blank(&best.event).is_none();
        events.push(if blank {
            best.blanked().event
        } else {
            best.event.clone()
        });
    }
    events.sort_by_key(|event| (event.at, event.id));
    events
}

/// Returns what a blanking by somebody who may blank is aimed at.
fn ordered_blank(event: &Event) -> Option<EventId> {
    match event.by.role() {
        Role::Human | Role::Ci => event.get::<EventBlanked>().map(|data| data.event),
        Role::Agent | Role::Import | Role::Peer => None,
    }
}

fn touching(id: EntryId, events: &[Event]) -> Vec<&Event> {
    events
        .iter()
        .filter(|event| event.entries().any(|touched| touched == id))
        .collect()
}

/// Returns the events of one type with their data, in the order given.
fn of_type<'a, T: EventData + 'a>(events: &[&'a Event]) -> Vec<(&'a Event, &'a T)> {
    events
        .iter()
        .filter_map(|event| Some((*event, event.get::<T>()?)))
        .collect()
}
