//! State of a ledger: a set of events, deduplicated, redacted and folded.
//!
//! Invariant: equal sets of events produce equal bytes, regardless of the order and number of
//! additions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::canonical;
use crate::ledger::entry::Entry;
use crate::ledger::event::{Event, EventBlanked, RecordedEvent};
use crate::ledger::fold::EntryFold;
use crate::ledger::workspace::{WorkspaceState, fold_workspace};
use crate::values::actor::ActorRole;
use crate::values::id::{EntryId, EventId};

/// Events by id, each in the form that all replicas agree on.
#[derive(Clone, Debug, Default)]
pub struct EventSet {
    copies: BTreeMap<EventId, RecordedEvent>,
    /// Ids redacted by an event, or remembered as redacted on this machine.
    blanked: BTreeSet<EventId>,
}

/// The entries and settings that follow from a set of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerState {
    pub entries: BTreeMap<EntryId, Entry>,
    pub workspace: WorkspaceState,
}

impl EventSet {
    /// Creates a set with ids that stay redacted whatever the events contain.
    ///
    /// Without this memory, a clone that lost the redaction event could restore the data from an
    /// old copy.
    pub fn with_redacted(blanked: impl IntoIterator<Item = EventId>) -> Self {
        Self {
            copies: BTreeMap::new(),
            blanked: blanked.into_iter().collect(),
        }
    }

    /// Adds a copy of an event.
    pub fn add(&mut self, copy: RecordedEvent) {
        // Recorded before the copies are compared: the target may arrive earlier or later.
        if let Some(target) = redaction_target(&copy.event) {
            self.blanked.insert(target);
        }
        let better = match self.copies.remove(&copy.event.id) {
            Some(existing) => existing.preferred_copy(copy),
            None => copy,
        };
        self.copies.insert(better.event.id, better);
    }

    /// Returns the events by id, redacted where required.
    pub fn events(&self) -> impl Iterator<Item = RecordedEvent> + '_ {
        self.copies.values().map(|copy| {
            // Redaction happens on reading, so the result does not depend on the order of
            // additions.
            let blank =
                self.blanked.contains(&copy.event.id) && redaction_target(&copy.event).is_none();
            if blank { copy.redacted() } else { copy.clone() }
        })
    }

    /// Folds the set into state.
    pub fn fold(&self) -> LedgerState {
        let events: Vec<Event> = self.events().map(|copy| copy.event).collect();
        LedgerState::from_events(&events)
    }
}

/// Returns the event that `event` redacts, if its author may redact.
///
/// Agents, imports and peers may not. A redaction event cannot itself be redacted.
pub fn redaction_target(event: &Event) -> Option<EventId> {
    // The author is a claim, so this stops mistakes, not forgery; a hub checks the pusher's role.
    let may = matches!(event.by.role(), ActorRole::Human | ActorRole::Ci);
    event
        .get::<EventBlanked>()
        .filter(|_| may)
        .map(|data| data.event)
}

impl LedgerState {
    /// Folds events that are already unique by id and redacted where required.
    pub fn from_events(events: &[Event]) -> Self {
        let mut folds: BTreeMap<EntryId, EntryFold<'_>> = BTreeMap::new();
        for event in events {
            // An event about several entries, such as a merge, belongs to the fold of each.
            for id in event.entries() {
                folds
                    .entry(id)
                    .or_insert_with(|| EntryFold::new(id))
                    .add(event);
            }
        }
        let entries = folds
            .iter()
            .filter_map(|(id, fold)| Some((*id, fold.finish()?)))
            .collect();
        Self {
            entries,
            workspace: fold_workspace(events),
        }
    }

    /// Returns the state as canonical JSON. Equal states give equal bytes.
    pub fn to_canonical_json(&self) -> String {
        canonical::to_string(self)
    }

    /// Returns a hash of [`Self::to_canonical_json`].
    pub fn hash(&self) -> String {
        format!(
            "b3:{}",
            blake3::hash(self.to_canonical_json().as_bytes()).to_hex()
        )
    }
}
