//! The store every other one is measured against: it keeps all copies and folds them each time.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::convert::Infallible;

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId};
use ken_core::state::{EventSet, State};
use ken_core::store::{Delta, Filter, Store};
use ken_core::workspace::Workspace;

/// Candidates an ambiguous beginning lists.
const CANDIDATES_MAX: usize = 20;

/// Events in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    copies: Vec<Recorded>,
    remembered: BTreeSet<EventId>,
}

impl MemoryStore {
    fn set(&self) -> EventSet {
        let mut set = EventSet::remembering(self.remembered.iter().copied());
        for copy in &self.copies {
            set.add(copy.clone());
        }
        set
    }

    fn wanted(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let entries = self.set().fold().entries.into_values();
        entries.filter(|entry| wanted(entry)).collect()
    }
}

impl Store for MemoryStore {
    type Error = Infallible;

    fn apply(&mut self, delta: Delta<'_>) -> Result<(), Infallible> {
        self.copies.extend_from_slice(delta.added);
        self.copies
            .retain(|copy| !delta.removed.contains(&copy.event.id));
        self.remembered.extend(delta.blanked);
        Ok(())
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>, Infallible> {
        Ok(self.set().fold().entries.remove(&id))
    }

    fn event(&self, id: EventId) -> Result<Option<Recorded>, Infallible> {
        Ok(self.set().events().find(|copy| copy.event.id == id))
    }

    fn history(&self, id: EntryId) -> Result<Vec<Recorded>, Infallible> {
        let touches = |copy: &Recorded| copy.event.entries().any(|entry| entry == id);
        let mut events: Vec<Recorded> = self.set().events().filter(touches).collect();
        events.sort_by_key(|copy| copy.event.order());
        Ok(events)
    }

    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, Infallible> {
        if beginning.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = beginning.to_lowercase();
        let text = |entry: &Entry| entry.id.to_string().to_lowercase();
        let whole = self.wanted(|entry| text(entry) == wanted);
        if let [entry] = &whole[..] {
            return Ok(vec![entry.id]);
        }
        let begins = |entry: &Entry| {
            let id = text(entry);
            id.starts_with(&wanted) || id[2..].starts_with(&wanted)
        };
        let alias = |entry: &Entry| {
            let created = entry.created.as_ref();
            let alias = created.and_then(|created| created.alias.as_ref());
            alias.is_some_and(|alias| alias.as_str() == beginning)
        };
        let found = self.wanted(|entry| begins(entry) || alias(entry));
        let mut ids: Vec<EntryId> = found.iter().map(|entry| entry.id).collect();
        ids.sort_by_key(ToString::to_string);
        ids.truncate(CANDIDATES_MAX);
        Ok(ids)
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, Infallible> {
        let mut entries = self.wanted(|entry| filter.matches(entry));
        let created = |entry: &Entry| entry.created.as_ref().map(|created| created.at);
        entries.sort_by_key(|entry| Reverse((created(entry), entry.id.to_string())));
        entries.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(entries)
    }

    fn tombstones(&self) -> Result<Vec<Entry>, Infallible> {
        let mut entries = self.wanted(Entry::is_tombstone);
        entries.sort_by_key(|entry| entry.id.to_string());
        Ok(entries)
    }

    fn workspace(&self) -> Result<Workspace, Infallible> {
        Ok(self.set().fold().workspace)
    }

    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, Infallible> {
        let set = self.set();
        let readings = set.events().map(|copy| copy.event.at);
        Ok(readings.filter(|at| *at <= limit).max())
    }

    fn state(&self) -> Result<State, Infallible> {
        Ok(self.set().fold())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_holds_in_memory() {
        crate::story::store_story(MemoryStore::default);
    }
}
