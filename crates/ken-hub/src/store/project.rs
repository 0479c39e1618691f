//! Projection updates of a log change: absorbs events into stored entries or folds entries again.
//!
//! Pure: the caller provides the stored rows and writes the returned ones.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Event, RecordedEvent};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::workspace::{WorkspaceState, concerns_workspace, fold_workspace};
use ken_core::values::id::{EntryId, EventId};

use super::StoreError;
use super::copies::ResolvedChange;
use super::global::is_published;
use super::preload::{
    EntryHistories, PreloadQuery, PreloadedRows, StoredEntryJson, WORKSPACE_NAME,
};
use super::rows::{EntryTableRow, SearchTableRow};

/// Entries up to which one thread is faster than starting several.
const ALONE_MAX: usize = 16;

/// Maximum number of threads per change.
const THREADS_MAX: usize = 4;

/// A resolved change and the entries it affects.
#[derive(Debug)]
pub(super) struct LogChangeEffects {
    pub(super) resolved: ResolvedChange,
    entries: BTreeMap<EntryId, StoredEntryJson>,
    /// Names of the entries whose stored row was requested.
    touched: BTreeSet<String>,
    /// Entries into which the new events were absorbed.
    absorbed: Vec<Entry>,
    /// Entries that must be folded from all of their events.
    refold: BTreeSet<EntryId>,
    workspace: bool,
    /// Per entry, the indexes of its events among the new and changed events.
    changes_by_entry: BTreeMap<EntryId, Vec<usize>>,
    /// Events that were replaced or removed.
    displaced: BTreeSet<EventId>,
    histories: EntryHistories,
    /// Names of the entries whose history still has to be loaded.
    pub(super) missing: Vec<String>,
}

/// An entry folded from its events.
#[derive(Debug)]
pub(super) struct FoldedEntry {
    entry: Entry,
    /// True if it is published to the whole organization.
    is_published: bool,
}

impl FoldedEntry {
    /// Folds an entry from all of its events; `None` if no event creates one.
    pub(super) fn from_events(id: EntryId, events: &[&Event]) -> Option<Self> {
        let entry = fold_entry(id, events.iter().copied())?;
        Some(Self {
            is_published: is_published(&entry, events.iter().copied()),
            entry,
        })
    }
}

/// Stored state of an entry before it was folded again.
#[derive(Clone, Copy, Debug)]
pub(super) enum PriorEntryState<'a> {
    /// The entry is new.
    New,
    Stored(&'a StoredEntryJson),
    /// The stored row was not requested, so the entry may exist.
    Unknown,
}

/// Change of the workspace-level state.
#[derive(Debug, Default)]
pub(super) enum WorkspaceUpdate {
    #[default]
    Unchanged,
    Folded(WorkspaceState),
    /// No event concerns it any more.
    Gone,
}

/// Rows to write besides the log.
#[derive(Debug, Default)]
pub(super) struct ProjectionUpdate {
    /// True if some of the entries may exist already, which requires upserts.
    pub(super) may_overwrite: bool,
    pub(super) entries: Vec<EntryTableRow>,
    pub(super) searchable: Vec<SearchTableRow>,
    /// Entries to remove from the search table.
    pub(super) unsearchable: Vec<EntryId>,
    /// Entries without any remaining event.
    pub(super) deleted: Vec<EntryId>,
    pub(super) workspace: WorkspaceUpdate,
    /// Entries to publish to the organization.
    pub(super) published: Vec<Entry>,
    /// Entries to remove from the organization's published entries.
    pub(super) unpublished: Vec<EntryId>,
}

impl LogChangeEffects {
    /// Determines the entries that a resolved change affects.
    pub(super) fn plan(
        resolved: ResolvedChange,
        preload_query: PreloadQuery,
        preloaded: PreloadedRows,
    ) -> Result<Self, StoreError> {
        let mut refold = BTreeSet::new();
        let mut workspace = false;
        for (displaced, now) in &resolved.changed {
            // The old and the new form may be about different entries; both have to be folded
            // again.
            refold.extend(displaced.copy.event.entries().chain(now.event.entries()));
            workspace |=
                concerns_workspace(&displaced.copy.event) || concerns_workspace(&now.event);
        }
        for displaced in &resolved.removed {
            refold.extend(displaced.copy.event.entries());
            workspace |= concerns_workspace(&displaced.copy.event);
        }
        let mut gained: BTreeMap<EntryId, Vec<&Event>> = BTreeMap::new();
        for copy in &resolved.new {
            workspace |= concerns_workspace(&copy.event);
            let entries: BTreeSet<EntryId> = copy.event.entries().collect();
            for entry in entries {
                gained.entry(entry).or_default().push(&copy.event);
            }
        }
        let mut absorbed = Vec::new();
        for (id, events) in gained {
            // Absorbing skips loading and parsing the whole history. It is only correct for events
            // that add up, such as feedback.
            let may_absorb =
                !refold.contains(&id) && !preload_query.full_histories.contains(&id.to_string());
            match preloaded.entries.get(&id).filter(|_| may_absorb) {
                Some(stored) => match absorb(stored, &events)? {
                    Some(entry) => absorbed.push(entry),
                    None => drop(refold.insert(id)),
                },
                None => drop(refold.insert(id)),
            }
        }
        let is_read = |name: &String, id: EntryId| {
            // An entry that was requested and not returned is new: its history is empty and need
            // not be loaded.
            let is_new =
                preload_query.touched.contains(name) && !preloaded.entries.contains_key(&id);
            preload_query.full_histories.contains(name) || is_new
        };
        let names = refold.iter().map(|id| (id.to_string(), *id));
        let missing = names.filter(|(name, id)| !is_read(name, *id));
        let mut missing: Vec<String> = missing.map(|(name, _)| name).collect();
        if workspace && !preload_query.full_histories.contains(WORKSPACE_NAME) {
            missing.push(WORKSPACE_NAME.to_owned());
        }
        let changed = resolved.changed.iter().map(|(displaced, _)| displaced);
        let displaced = changed.chain(&resolved.removed);
        let displaced_ids = displaced.map(|event| event.copy.event.id).collect();
        let mut now: BTreeMap<EntryId, Vec<usize>> = BTreeMap::new();
        let changed = resolved.changed.iter().map(|(_, now)| now);
        for (place, copy) in resolved.new.iter().chain(changed).enumerate() {
            for entry in copy.event.entries() {
                now.entry(entry).or_default().push(place);
            }
        }
        Ok(Self {
            changes_by_entry: now,
            displaced: displaced_ids,
            entries: preloaded.entries,
            touched: preload_query.touched,
            histories: preloaded.histories,
            resolved,
            absorbed,
            refold,
            workspace,
            missing,
        })
    }

    /// Returns the approximate number of events to parse and fold.
    pub(super) fn weight(&self) -> usize {
        let read: usize = self.histories.values().map(Vec::len).sum();
        read + self.resolved.new.len() + self.absorbed.len()
    }

    /// Computes the rows to write; `more` contains the histories that were
    /// [`missing`](Self::missing).
    pub(super) fn project(
        mut self,
        more: EntryHistories,
    ) -> Result<(ResolvedChange, ProjectionUpdate), StoreError> {
        self.histories.extend(more);
        let mut projection = ProjectionUpdate::default();
        for entry in &self.absorbed {
            projection.may_overwrite = true;
            // Absorbed events change neither statement, approval nor scope, so the entry stays
            // published or unpublished.
            let stored = self.entries.get(&entry.id);
            let is_for_all = stored.is_some_and(|it| it.is_global);
            projection
                .entries
                .push(EntryTableRow::from_entry(entry, is_for_all));
        }
        let refold: Vec<EntryId> = self.refold.iter().copied().collect();
        for part in self.refold_parallel(&refold)? {
            projection.extend(part);
        }
        if self.workspace {
            let unchanged = self.unchanged_events(WORKSPACE_NAME)?;
            let events = || unchanged.iter().chain(self.changed_events());
            // A redacted event concerns nothing any more. Without any other there is no state, as
            // in a rebuild: a backup compares.
            projection.workspace = if events().any(|copy| concerns_workspace(&copy.event)) {
                WorkspaceUpdate::Folded(fold_workspace(events().map(|copy| &copy.event)))
            } else {
                WorkspaceUpdate::Gone
            };
        }
        Ok((self.resolved, projection))
    }

    /// Folds entries, on several threads if there are many.
    fn refold_parallel(&self, ids: &[EntryId]) -> Result<Vec<ProjectionUpdate>, StoreError> {
        if ids.len() <= ALONE_MAX {
            return Ok(vec![self.refold(ids)?]);
        }
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let chunk_size = ids.len().div_ceil(threads.min(THREADS_MAX));
        std::thread::scope(|scope| {
            let chunks = ids.chunks(chunk_size);
            // Collected before joining: a lazy iterator would start each thread only after the
            // previous one had finished.
            let handles: Vec<_> = chunks
                .map(|chunk| scope.spawn(|| self.refold(chunk)))
                .collect();
            let results = handles.into_iter().map(|handle| handle.join());
            results
                .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn refold(&self, ids: &[EntryId]) -> Result<ProjectionUpdate, StoreError> {
        let mut projection = ProjectionUpdate::default();
        for id in ids {
            let name = id.to_string();
            let unchanged = self.unchanged_events(&name)?;
            let indexes = self.changes_by_entry.get(id).into_iter().flatten();
            let changed = indexes.map(|index| &self.changed_event(*index).event);
            let events = unchanged.iter().map(|copy| &copy.event).chain(changed);
            let entry = FoldedEntry::from_events(*id, &events.collect::<Vec<&Event>>());
            let was = match self.entries.get(id) {
                Some(stored) => PriorEntryState::Stored(stored),
                None if self.touched.contains(&name) => PriorEntryState::New,
                None => PriorEntryState::Unknown,
            };
            projection.add_folded(*id, entry, was)?;
        }
        Ok(projection)
    }

    /// Returns the events of an entry, or of the workspace, that the change leaves as they were.
    fn unchanged_events(&self, name: &str) -> Result<Vec<RecordedEvent>, StoreError> {
        let stored = self.histories.get(name).into_iter().flatten();
        stored
            .filter(|(id, _)| !self.displaced.contains(id))
            .map(|(_, line)| super::copies::parse(line))
            .collect()
    }

    /// Returns a new or changed event by its index.
    fn changed_event(&self, index: usize) -> &RecordedEvent {
        match self.resolved.new.get(index) {
            Some(copy) => copy,
            // The index counts the new events first and the changed ones after them.
            None => &self.resolved.changed[index - self.resolved.new.len()].1,
        }
    }

    /// Returns the new and changed events.
    fn changed_events(&self) -> impl Iterator<Item = &RecordedEvent> {
        let changed = self.resolved.changed.iter().map(|(_, now)| now);
        self.resolved.new.iter().chain(changed)
    }
}

impl ProjectionUpdate {
    /// Returns whether the update only inserts rows of entries that are new, not retracted and not
    /// published.
    pub(super) fn only_adds(&self) -> bool {
        let is_taken_back = self.entries.iter().any(|it| it.tombstone);
        let takes_away = [&self.unsearchable, &self.deleted, &self.unpublished];
        !self.may_overwrite
            && !is_taken_back
            && takes_away.iter().all(|it| it.is_empty())
            && matches!(self.workspace, WorkspaceUpdate::Unchanged)
            && self.published.is_empty()
    }

    /// Merges the update of other entries.
    fn extend(&mut self, other: Self) {
        self.may_overwrite |= other.may_overwrite;
        self.entries.extend(other.entries);
        self.searchable.extend(other.searchable);
        self.unsearchable.extend(other.unsearchable);
        self.deleted.extend(other.deleted);
        self.published.extend(other.published);
        self.unpublished.extend(other.unpublished);
    }

    /// Adds the result of folding an entry; `None` means that no event of it is left.
    pub(super) fn add_folded(
        &mut self,
        id: EntryId,
        folded: Option<FoldedEntry>,
        was: PriorEntryState<'_>,
    ) -> Result<(), StoreError> {
        let (old, was_there, was_global) = match was {
            PriorEntryState::New => (None, false, false),
            PriorEntryState::Stored(stored) => {
                (Some(read_entry(&stored.json)?), true, stored.is_global)
            }
            // Deleting a row that does not exist is harmless, so the unknown case assumes that
            // everything is there.
            PriorEntryState::Unknown => (None, true, true),
        };
        self.may_overwrite |= was_there;
        let Some(FoldedEntry {
            entry,
            is_published: is_for_all,
        }) = folded
        else {
            self.deleted.push(id);
            self.unsearchable.push(id);
            self.unpublished.push(id);
            return Ok(());
        };
        // The search row depends on content and liveness only, which most events leave unchanged.
        // Skipping it saves an embedding.
        let is_same = |old: Entry| old.is_live() == entry.is_live() && old.content == entry.content;
        match (entry.content.is_some(), old.is_some_and(is_same)) {
            (true, true) => {}
            (true, false) => self.searchable.extend(SearchTableRow::from_entry(&entry)?),
            (false, _) if was_there => self.unsearchable.push(id),
            (false, _) => {}
        }
        self.entries
            .push(EntryTableRow::from_entry(&entry, is_for_all));
        if is_for_all {
            self.published.push(entry);
        } else if was_global {
            self.unpublished.push(id);
        }
        Ok(())
    }
}

/// Absorbs events into a stored entry; `None` if one of them requires a fold.
fn absorb(stored: &StoredEntryJson, events: &[&Event]) -> Result<Option<Entry>, StoreError> {
    let mut entry = read_entry(&stored.json)?;
    let all = events.iter().all(|event| entry.try_add_event(event));
    Ok(all.then_some(entry))
}

/// Parses a stored entry.
pub(super) fn read_entry(json: &str) -> Result<Entry, StoreError> {
    serde_json::from_str(json).map_err(StoreError::damaged)
}
