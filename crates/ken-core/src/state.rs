//! The whole state: a set of events, deduplicated and blanked, folded.
//!
//! Invariant: equal sets give equal bytes, whatever the order and number of additions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::actor::Role;
use crate::canonical;
use crate::entry::Entry;
use crate::event::{Event, EventBlanked, Recorded};
use crate::fold::EntryFold;
use crate::id::{EntryId, EventId};
use crate::workspace::{Workspace, fold_workspace};

/// A set of events by id, each in the one form every replica agrees on.
#[derive(Clone, Debug, Default)]
pub struct EventSet {
    copies: BTreeMap<EventId, Recorded>,
    /// Ids that blanking events or this machine's memory say are blanked.
    blanked: BTreeSet<EventId>,
}

/// Everything that follows from a set of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub entries: BTreeMap<EntryId, Entry>,
    pub workspace: Workspace,
}

impl EventSet {
    /// Starts with ids that are remembered as blanked, whatever the events say.
    pub fn remembering(blanked: impl IntoIterator<Item = EventId>) -> Self {
        Self {
            copies: BTreeMap::new(),
            blanked: blanked.into_iter().collect(),
        }
    }

    /// Adds a copy of an event.
    pub fn add(&mut self, copy: Recorded) {
        if let Some(target) = blanks(&copy.event) {
            self.blanked.insert(target);
        }
        let better = match self.copies.remove(&copy.event.id) {
            Some(held) => held.better_copy(copy),
            None => copy,
        };
        self.copies.insert(better.event.id, better);
    }

    /// Returns the events, blanked where they must be, by id.
    pub fn events(&self) -> impl Iterator<Item = Recorded> + '_ {
        self.copies.values().map(|copy| {
            let blank = self.blanked.contains(&copy.event.id) && blanks(&copy.event).is_none();
            if blank { copy.blanked() } else { copy.clone() }
        })
    }

    /// Folds the set.
    pub fn fold(&self) -> State {
        let events: Vec<Event> = self.events().map(|copy| copy.event).collect();
        State::of(&events)
    }
}

/// Returns the event that `event` orders to be blanked, if whoever wrote it may.
///
/// Agents, imports and peers never may. A blanking event cannot itself be blanked.
pub fn blanks(event: &Event) -> Option<EventId> {
    let may = matches!(event.by.role(), Role::Human | Role::Ci);
    event
        .get::<EventBlanked>()
        .filter(|_| may)
        .map(|data| data.event)
}

impl State {
    /// Folds events that are already one per id and blanked where they must be.
    pub fn of(events: &[Event]) -> Self {
        let mut folds: BTreeMap<EntryId, EntryFold<'_>> = BTreeMap::new();
        for event in events {
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

    /// Returns the state as canonical JSON: equal states, equal bytes.
    pub fn to_bytes(&self) -> String {
        canonical::to_string(self)
    }

    /// Returns a hash of [`Self::to_bytes`].
    pub fn hash(&self) -> String {
        format!("b3:{}", blake3::hash(self.to_bytes().as_bytes()).to_hex())
    }
}
