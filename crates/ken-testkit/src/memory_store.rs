//! Reference store for comparison: it keeps all copies and folds them on every call.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::convert::Infallible;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::{EventSet, LedgerState};
use ken_core::ledger::store::{DerivedStore, EntryFilter, EventDelta};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId};

/// Maximum number of candidates for an ambiguous id prefix.
const CANDIDATES_MAX: usize = 20;

/// Event copies in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    copies: Vec<RecordedEvent>,
    remembered: BTreeSet<EventId>,
}

impl MemoryStore {
    fn set(&self) -> EventSet {
        let mut set = EventSet::with_redacted(self.remembered.iter().copied());
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

impl DerivedStore for MemoryStore {
    type Error = Infallible;

    fn apply(&mut self, delta: EventDelta<'_>) -> Result<(), Infallible> {
        self.copies.extend_from_slice(delta.added);
        self.copies
            .retain(|copy| !delta.removed.contains(&copy.event.id));
        self.remembered.extend(delta.blanked);
        Ok(())
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>, Infallible> {
        Ok(self.set().fold().entries.remove(&id))
    }

    fn event(&self, id: EventId) -> Result<Option<RecordedEvent>, Infallible> {
        Ok(self.set().events().find(|copy| copy.event.id == id))
    }

    fn history(&self, id: EntryId) -> Result<Vec<RecordedEvent>, Infallible> {
        let touches = |copy: &RecordedEvent| copy.event.entries().any(|entry| entry == id);
        let mut events: Vec<RecordedEvent> = self.set().events().filter(touches).collect();
        events.sort_by_key(|copy| copy.event.order());
        Ok(events)
    }

    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, Infallible> {
        if beginning.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = beginning.to_lowercase();
        let text = |entry: &Entry| entry.id.to_string().to_lowercase();
        // A complete id wins over another entry that has it as an alias.
        let whole = self.wanted(|entry| text(entry) == wanted);
        if let [entry] = &whole[..] {
            return Ok(vec![entry.id]);
        }
        let begins = |entry: &Entry| {
            let id = text(entry);
            // The kind letter and its dash may be omitted.
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

    fn list(&self, filter: &EntryFilter) -> Result<Vec<Entry>, Infallible> {
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

    fn workspace(&self) -> Result<WorkspaceState, Infallible> {
        Ok(self.set().fold().workspace)
    }

    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, Infallible> {
        let set = self.set();
        let readings = set.events().map(|copy| copy.event.at);
        Ok(readings.filter(|at| *at <= limit).max())
    }

    fn state(&self) -> Result<LedgerState, Infallible> {
        Ok(self.set().fold())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_holds_in_memory() {
        crate::story::check_store_conformance(MemoryStore::default);
    }
}
