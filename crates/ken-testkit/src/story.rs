//! One story for every store: events in, answers out.
//!
//! Each chapter starts with a new store and ends by comparing its whole state with the fold of
//! the same events, so that a store cannot be right about the answers and wrong about the rest.

mod chapters;
mod questions;

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::id::{EntryId, EventId};
use ken_core::state::EventSet;
use ken_core::store::{Delta, Store};

use crate::build::Scribe;

/// Tells the whole story to stores made by `make`; panics where one answers wrongly.
pub fn store_story<S: Store>(mut make: impl FnMut() -> S) {
    for chapter in chapters::all().into_iter().chain(questions::all()) {
        chapter(&mut Told::new(make()));
    }
}

/// A part of the story.
type Chapter<S> = fn(&mut Told<S>);

/// A store, and everything it has been told.
struct Told<S> {
    store: S,
    scribe: Scribe,
    events: Vec<Recorded>,
    remembered: Vec<EventId>,
}

impl<S: Store> Told<S> {
    fn new(store: S) -> Self {
        Self {
            store,
            scribe: Scribe::new(7),
            events: Vec::new(),
            remembered: Vec::new(),
        }
    }

    /// Tells the store one event, twice, because events arrive more than once.
    fn tell(&mut self, copy: Recorded) -> EventId {
        let id = copy.event.id;
        for _ in 0..2 {
            self.apply(Delta {
                added: std::slice::from_ref(&copy),
                ..Delta::default()
            });
        }
        self.events.push(copy);
        id
    }

    fn take_back(&mut self, id: EventId) {
        self.apply(Delta {
            removed: &[id],
            ..Delta::default()
        });
        self.events.retain(|copy| copy.event.id != id);
    }

    fn remember_blanked(&mut self, id: EventId) {
        self.apply(Delta {
            blanked: &[id],
            ..Delta::default()
        });
        self.remembered.push(id);
    }

    fn apply(&mut self, delta: Delta<'_>) {
        self.store.apply(delta).expect("the store takes events");
    }

    /// Proposes an entry and tells the store.
    fn propose(&mut self, statement: &str) -> EntryId {
        let (entry, copy) = self.scribe.propose(statement);
        self.tell(copy);
        entry
    }

    fn entry(&self, id: EntryId) -> Entry {
        let entry = self.store.entry(id).expect("the store answers");
        entry.expect("the entry is known")
    }

    fn statement(&self, id: EntryId) -> String {
        let content = self.entry(id).content;
        content.expect("it has a wording").statement.to_string()
    }

    fn found(&self, beginning: &str) -> Vec<EntryId> {
        self.store.find(beginning).expect("the store answers")
    }

    /// Compares everything the store says with the fold of what it was told.
    fn ends_as_folded(&self) {
        let mut set = EventSet::remembering(self.remembered.iter().copied());
        for copy in &self.events {
            set.add(copy.clone());
        }
        let state = self.store.state().expect("the store answers");
        assert_eq!(state.to_bytes(), set.fold().to_bytes());
        for copy in set.events() {
            let held = self.store.event(copy.event.id).expect("the store answers");
            assert_eq!(held, Some(copy));
        }
    }
}
