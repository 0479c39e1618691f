//! Conformance tests for stores: events in, query results out.
//!
//! Each case starts with an empty store and ends by comparing its whole state with the fold of the
//! same events. A store therefore cannot pass with correct results and a wrong state.

mod chapters;
mod questions;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::EventSet;
use ken_core::ledger::store::{DerivedStore, EventDelta};
use ken_core::values::id::{EntryId, EventId};

use crate::build::EventWriter;

/// Runs all conformance cases on stores created by `make`. Panics at the first wrong result.
pub fn check_store_conformance<S: DerivedStore>(mut make: impl FnMut() -> S) {
    for chapter in chapters::cases().into_iter().chain(questions::cases()) {
        chapter(&mut StoreScenario::new(make()));
    }
}

/// One conformance case.
type ConformanceCase<S> = fn(&mut StoreScenario<S>);

/// A store under test and all events applied to it.
struct StoreScenario<S> {
    store: S,
    scribe: EventWriter,
    events: Vec<RecordedEvent>,
    remembered: Vec<EventId>,
}

impl<S: DerivedStore> StoreScenario<S> {
    fn new(store: S) -> Self {
        Self {
            store,
            scribe: EventWriter::new(7),
            events: Vec::new(),
            remembered: Vec::new(),
        }
    }

    /// Applies one event twice, because events arrive more than once.
    fn tell(&mut self, copy: RecordedEvent) -> EventId {
        let id = copy.event.id;
        for _ in 0..2 {
            self.apply(EventDelta {
                added: std::slice::from_ref(&copy),
                ..EventDelta::default()
            });
        }
        self.events.push(copy);
        id
    }

    fn take_back(&mut self, id: EventId) {
        self.apply(EventDelta {
            removed: &[id],
            ..EventDelta::default()
        });
        self.events.retain(|copy| copy.event.id != id);
    }

    fn remember_blanked(&mut self, id: EventId) {
        self.apply(EventDelta {
            blanked: &[id],
            ..EventDelta::default()
        });
        self.remembered.push(id);
    }

    fn apply(&mut self, delta: EventDelta<'_>) {
        self.store.apply(delta).expect("the store takes events");
    }

    /// Proposes an entry and applies the event.
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

    /// Compares the whole state of the store with the fold of the applied events.
    fn assert_matches_fold(&self) {
        let mut set = EventSet::with_redacted(self.remembered.iter().copied());
        for copy in &self.events {
            set.add(copy.clone());
        }
        let state = self.store.state().expect("the store answers");
        assert_eq!(state.to_canonical_json(), set.fold().to_canonical_json());
        // The stored copies count, too: a redacted event must not survive in full.
        for copy in set.events() {
            let stored = self.store.event(copy.event.id).expect("the store answers");
            assert_eq!(stored, Some(copy));
        }
    }
}
