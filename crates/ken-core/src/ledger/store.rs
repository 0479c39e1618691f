//! Interface of derived stores: SQLite in a repository, PostgreSQL in a hub.
//!
//! A store holds events and the state that follows from them. It is never the source of truth: its
//! contents can be deleted and rebuilt.

use crate::ledger::entry::Entry;
use crate::ledger::event::RecordedEvent;
use crate::ledger::state::LedgerState;
use crate::ledger::workspace::WorkspaceState;
use crate::values::hlc::Hlc;
use crate::values::id::{EntryId, EventId};
use crate::values::kind::{EntryKind, Memory};
use crate::values::status::EntryStatus;
use crate::values::text::Tag;

/// Changes to the set of events under a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventDelta<'a> {
    pub added: &'a [RecordedEvent],
    /// Events that no source contains any more.
    pub removed: &'a [EventId],
    /// Ids that this machine remembers as redacted.
    pub blanked: &'a [EventId],
}

/// A filter for listing entries; the default selects every live entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryFilter {
    pub memory: Option<Memory>,
    pub kind: Option<EntryKind>,
    pub status: Option<EntryStatus>,
    /// The tag itself or any tag below it.
    pub tag: Option<Tag>,
    /// One of these kinds; empty means any.
    pub kinds: Vec<EntryKind>,
    /// One of these tags or a tag below one; empty means any.
    pub tags: Vec<Tag>,
    pub lens: Option<Tag>,
    pub lifecycle: LifecycleFilter,
    pub limit: Option<usize>,
}

/// Selects entries by lifecycle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LifecycleFilter {
    #[default]
    Live,
    /// Archived entries only.
    Archived,
    /// Retracted entries only.
    Retracted,
    /// Every entry with content.
    All,
}

/// A derived store of events and entries.
pub trait DerivedStore {
    type Error: std::error::Error;

    /// Applies a change atomically.
    fn apply(&mut self, delta: EventDelta<'_>) -> Result<(), Self::Error>;

    /// Returns an entry by its full id.
    fn entry(&self, id: EntryId) -> Result<Option<Entry>, Self::Error>;

    /// Returns an event by its id.
    fn event(&self, id: EventId) -> Result<Option<RecordedEvent>, Self::Error>;

    /// Returns every event of an entry in canonical order.
    fn history(&self, id: EntryId) -> Result<Vec<RecordedEvent>, Self::Error>;

    /// Returns the ids that start with `beginning`, or the one whose alias equals it.
    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, Self::Error>;

    /// Returns the matching entries, newest first.
    fn list(&self, filter: &EntryFilter) -> Result<Vec<Entry>, Self::Error>;

    /// Returns the tombstones: retracted entries that may not be proposed again.
    fn tombstones(&self) -> Result<Vec<Entry>, Self::Error>;

    /// Returns the state that belongs to no single entry.
    fn workspace(&self) -> Result<WorkspaceState, Self::Error>;

    /// Returns the latest clock reading not after `limit`.
    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, Self::Error>;

    /// Returns the complete state, for comparison and export.
    fn state(&self) -> Result<LedgerState, Self::Error>;
}

impl EntryFilter {
    /// Excludes episodic entries such as friction, unless the filter asks for them by kind or
    /// memory.
    #[must_use]
    pub fn without_raw(mut self) -> Self {
        let is_asked = self.memory.is_some() || self.kind.is_some() || !self.kinds.is_empty();
        if !is_asked {
            let kinds = EntryKind::ALL.into_iter();
            self.kinds = kinds
                .filter(|kind| kind.memory() != Memory::Episodic)
                .collect();
        }
        self
    }

    /// Returns whether `entry` matches, ignoring the limit.
    pub fn matches(&self, entry: &Entry) -> bool {
        // Without content there is nothing to list: the proposal is missing or redacted.
        let Some(content) = &entry.content else {
            return false;
        };
        let kind = entry.kind();
        let has_tag = |wanted: &Tag| content.tags.iter().any(|tag| tag.is_under(wanted));
        let shelf = match self.lifecycle {
            LifecycleFilter::Live => entry.is_live(),
            LifecycleFilter::Archived => entry.archived.is_some(),
            LifecycleFilter::Retracted => entry.retracted.is_some(),
            LifecycleFilter::All => true,
        };
        shelf
            && self
                .memory
                .is_none_or(|memory| entry.id.prefix().memory() == memory)
            && self.kind.is_none_or(|wanted| kind == Some(wanted))
            && self
                .status
                .is_none_or(|status| entry.status.value == status)
            && self.tag.as_ref().is_none_or(has_tag)
            && (self.kinds.is_empty() || kind.is_some_and(|kind| self.kinds.contains(&kind)))
            && (self.tags.is_empty() || self.tags.iter().any(has_tag))
            && self
                .lens
                .as_ref()
                .is_none_or(|lens| content.lens.as_ref() == Some(lens))
    }
}
