//! What follows from a change of the log: which entries are added to, which are folded again, and what they are then.
//!
//! Pure: what has to be known is brought by the caller, what has to be written is returned.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;

use ken_core::entry::Entry;
use ken_core::event::{Event, Recorded};
use ken_core::fold::fold_entry;
use ken_core::id::{EntryId, EventId};
use ken_core::workspace::{Workspace, concerns_workspace, fold_workspace};

use super::StoreError;
use super::global::is_for_all;
use super::known::{Asked, Histories, Known, OF_WORKSPACE, StoredEntry};
use super::rows::{EntryRow, SearchRow};
use super::settle::Settled;

/// Entries that one thread folds sooner than several could be asked to.
const ALONE_MAX: usize = 16;

/// Threads one change is folded by.
const THREADS_MAX: usize = 4;

/// A change of which it is known whom it concerns.
#[derive(Debug)]
pub(super) struct Effects {
    pub(super) settled: Settled,
    entries: BTreeMap<EntryId, StoredEntry>,
    /// Entries of which it was asked whether there are any.
    touched: BTreeSet<String>,
    /// Entries that new events were added to.
    absorbed: Vec<Entry>,
    /// Entries that have to be folded from their events.
    refold: BTreeSet<EntryId>,
    workspace: bool,
    /// Where among the events that are new, or not as they were, those about an entry stand.
    now: BTreeMap<EntryId, Vec<usize>>,
    /// Events that are not as they were.
    left: BTreeSet<EventId>,
    histories: Histories,
    /// Whose events have to be read still.
    pub(super) missing: Vec<String>,
}

/// An entry that was folded again.
#[derive(Debug)]
pub(super) struct Folded {
    entry: Entry,
    /// Whether the whole organisation is shown it.
    is_for_all: bool,
}

impl Folded {
    /// Folds an entry from all of its events; nothing where none of them makes one.
    pub(super) fn of(id: EntryId, events: &[&Event]) -> Option<Self> {
        let entry = fold_entry(id, events.iter().copied())?;
        Some(Self {
            is_for_all: is_for_all(&entry, events.iter().copied()),
            entry,
        })
    }
}

/// What is known of an entry that was folded again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Was<'a> {
    /// There was none.
    New,
    Stored(&'a StoredEntry),
    /// Nobody asked.
    Unknown,
}

/// What has to be written beside the log.
#[derive(Debug, Default)]
pub(super) struct Projection {
    /// Whether some of the entries may have been there before.
    pub(super) is_over: bool,
    pub(super) entries: Vec<EntryRow>,
    pub(super) searchable: Vec<SearchRow>,
    /// Entries that cannot be found any more, if they could.
    pub(super) unsearchable: Vec<EntryId>,
    /// Entries no event is left of.
    pub(super) gone: Vec<EntryId>,
    /// The workspace's own state, where it may have changed.
    pub(super) workspace: Option<Workspace>,
    /// Entries the whole organisation is shown.
    pub(super) global: Vec<Entry>,
    /// Entries it is not shown any more, if it was.
    pub(super) local: Vec<EntryId>,
}

impl Effects {
    /// Finds out whom a change concerns.
    pub(super) fn of(settled: Settled, asked: Asked, known: Known) -> Result<Self, StoreError> {
        let mut refold = BTreeSet::new();
        let mut workspace = false;
        for (left, now) in &settled.changed {
            refold.extend(left.copy.event.entries().chain(now.event.entries()));
            workspace |= concerns_workspace(&left.copy.event) || concerns_workspace(&now.event);
        }
        for left in &settled.removed {
            refold.extend(left.copy.event.entries());
            workspace |= concerns_workspace(&left.copy.event);
        }
        let mut gained: BTreeMap<EntryId, Vec<&Event>> = BTreeMap::new();
        for copy in &settled.new {
            workspace |= concerns_workspace(&copy.event);
            let entries: BTreeSet<EntryId> = copy.event.entries().collect();
            for entry in entries {
                gained.entry(entry).or_default().push(&copy.event);
            }
        }
        let mut absorbed = Vec::new();
        for (id, events) in gained {
            let may = !refold.contains(&id) && !asked.whole.contains(&id.to_string());
            match known.entries.get(&id).filter(|_| may) {
                Some(stored) => match absorb(stored, &events)? {
                    Some(entry) => absorbed.push(entry),
                    None => drop(refold.insert(id)),
                },
                None => drop(refold.insert(id)),
            }
        }
        let is_read = |name: &String, id: EntryId| {
            let is_new = asked.touched.contains(name) && !known.entries.contains_key(&id);
            asked.whole.contains(name) || is_new
        };
        let names = refold.iter().map(|id| (id.to_string(), *id));
        let missing = names.filter(|(name, id)| !is_read(name, *id));
        let mut missing: Vec<String> = missing.map(|(name, _)| name).collect();
        if workspace && !asked.whole.contains(OF_WORKSPACE) {
            missing.push(OF_WORKSPACE.to_owned());
        }
        let changed = settled.changed.iter().map(|(left, _)| left);
        let left = changed.chain(&settled.removed);
        let left = left.map(|left| left.copy.event.id).collect();
        let mut now: BTreeMap<EntryId, Vec<usize>> = BTreeMap::new();
        let changed = settled.changed.iter().map(|(_, now)| now);
        for (place, copy) in settled.new.iter().chain(changed).enumerate() {
            for entry in copy.event.entries() {
                now.entry(entry).or_default().push(place);
            }
        }
        Ok(Self {
            now,
            left,
            entries: known.entries,
            touched: asked.touched,
            histories: known.histories,
            settled,
            absorbed,
            refold,
            workspace,
            missing,
        })
    }

    /// Returns how many events have to be read and folded, about.
    pub(super) fn weight(&self) -> usize {
        let read: usize = self.histories.values().map(Vec::len).sum();
        read + self.settled.new.len() + self.absorbed.len()
    }

    /// Works out what has to be written; `more` are the events that were [`missing`](Self::missing).
    pub(super) fn project(mut self, more: Histories) -> Result<(Settled, Projection), StoreError> {
        self.histories.extend(more);
        let mut projection = Projection::default();
        for entry in &self.absorbed {
            projection.is_over = true;
            // What only adds up changes nobody's wording, approval or reach.
            let stored = self.entries.get(&entry.id);
            let is_for_all = stored.is_some_and(|it| it.is_global);
            projection.entries.push(EntryRow::of(entry, is_for_all));
        }
        let refold: Vec<EntryId> = self.refold.iter().copied().collect();
        for part in self.refolded(&refold)? {
            projection.extend(part);
        }
        if self.workspace {
            let held = self.events_of(OF_WORKSPACE)?;
            let events = held.iter().chain(self.now());
            projection.workspace = Some(fold_workspace(events.map(|copy| &copy.event)));
        }
        Ok((self.settled, projection))
    }

    /// Folds entries, side by side where they are many.
    fn refolded(&self, ids: &[EntryId]) -> Result<Vec<Projection>, StoreError> {
        if ids.len() <= ALONE_MAX {
            return Ok(vec![self.refold(ids)?]);
        }
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let each = ids.len().div_ceil(threads.min(THREADS_MAX));
        std::thread::scope(|scope| {
            let parts = ids.chunks(each);
            let parts: Vec<_> = parts
                .map(|part| scope.spawn(|| self.refold(part)))
                .collect();
            let done = parts.into_iter().map(|part| part.join());
            done.map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn refold(&self, ids: &[EntryId]) -> Result<Projection, StoreError> {
        let mut projection = Projection::default();
        for id in ids {
            let name = id.to_string();
            let held = self.events_of(&name)?;
            let now = self.now.get(id).into_iter().flatten();
            let now = now.map(|place| &self.nth(*place).event);
            let events = held.iter().map(|copy| &copy.event).chain(now);
            let entry = Folded::of(*id, &events.collect::<Vec<&Event>>());
            let was = match self.entries.get(id) {
                Some(stored) => Was::Stored(stored),
                None if self.touched.contains(&name) => Was::New,
                None => Was::Unknown,
            };
            projection.take(*id, entry, was)?;
        }
        Ok(projection)
    }

    /// Returns the events of an entry, or the workspace, that are as they were.
    fn events_of(&self, name: &str) -> Result<Vec<Recorded>, StoreError> {
        let stored = self.histories.get(name).into_iter().flatten();
        stored
            .filter(|(id, _)| !self.left.contains(id))
            .map(|(_, line)| super::settle::parse(line))
            .collect()
    }

    /// Returns the event at a place among those that are new, or not as they were.
    fn nth(&self, place: usize) -> &Recorded {
        match self.settled.new.get(place) {
            Some(copy) => copy,
            None => &self.settled.changed[place - self.settled.new.len()].1,
        }
    }

    /// Returns the events that are new, or not as they were.
    fn now(&self) -> impl Iterator<Item = &Recorded> {
        let changed = self.settled.changed.iter().map(|(_, now)| now);
        self.settled.new.iter().chain(changed)
    }
}

impl Projection {
    /// Returns whether it is nothing but rows that were not there, of entries only their workspace sees and nobody took back.
    pub(super) fn only_adds(&self) -> bool {
        let is_taken_back = self.entries.iter().any(|it| it.tombstone);
        let takes_away = [&self.unsearchable, &self.gone, &self.local];
        !self.is_over
            && !is_taken_back
            && takes_away.iter().all(|it| it.is_empty())
            && self.workspace.is_none()
            && self.global.is_empty()
    }

    /// Takes in what was worked out beside it about other entries.
    fn extend(&mut self, other: Self) {
        self.is_over |= other.is_over;
        self.entries.extend(other.entries);
        self.searchable.extend(other.searchable);
        self.unsearchable.extend(other.unsearchable);
        self.gone.extend(other.gone);
        self.global.extend(other.global);
        self.local.extend(other.local);
    }

    /// Takes in an entry that was folded again, or is no more.
    pub(super) fn take(
        &mut self,
        id: EntryId,
        folded: Option<Folded>,
        was: Was<'_>,
    ) -> Result<(), StoreError> {
        let (old, was_there, was_global) = match was {
            Was::New => (None, false, false),
            Was::Stored(stored) => (Some(read_entry(&stored.json)?), true, stored.is_global),
            Was::Unknown => (None, true, true),
        };
        self.is_over |= was_there;
        let Some(Folded { entry, is_for_all }) = folded else {
            self.gone.push(id);
            self.unsearchable.push(id);
            self.local.push(id);
            return Ok(());
        };
        // What a search reads follows from the wording, which most events leave as it is, and from whether it is in use.
        let is_same = |old: Entry| old.is_live() == entry.is_live() && old.content == entry.content;
        match (entry.content.is_some(), old.is_some_and(is_same)) {
            (true, true) => {}
            (true, false) => self.searchable.extend(SearchRow::of(&entry)?),
            (false, _) if was_there => self.unsearchable.push(id),
            (false, _) => {}
        }
        self.entries.push(EntryRow::of(&entry, is_for_all));
        if is_for_all {
            self.global.push(entry);
        } else if was_global {
            self.local.push(id);
        }
        Ok(())
    }
}

/// Adds events to a stored entry; nothing if one of them needs a fold.
fn absorb(stored: &StoredEntry, events: &[&Event]) -> Result<Option<Entry>, StoreError> {
    let mut entry = read_entry(&stored.json)?;
    let all = events.iter().all(|event| entry.absorb(event));
    Ok(all.then_some(entry))
}

/// Reads a stored entry back.
pub(super) fn read_entry(json: &str) -> Result<Entry, StoreError> {
    serde_json::from_str(json).map_err(StoreError::damaged)
}
