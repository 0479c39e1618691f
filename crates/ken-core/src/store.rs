//! The port every derived store implements: SQLite in a repository, PostgreSQL in a hub.
//!
//! A store holds events and what follows from them. It is never the truth: whatever it holds can
//! be thrown away and applied again.

use crate::entry::Entry;
use crate::event::Recorded;
use crate::hlc::Hlc;
use crate::id::{EntryId, EventId};
use crate::kind::{Kind, Memory};
use crate::state::State;
use crate::status::Status;
use crate::text::Tag;
use crate::workspace::Workspace;

/// What changed underneath the store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delta<'a> {
    pub added: &'a [Recorded],
    /// Events no source holds any more.
    pub removed: &'a [EventId],
    /// Ids this machine remembers as blanked.
    pub blanked: &'a [EventId],
}

/// Which entries a listing wants; the default wants every live one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub memory: Option<Memory>,
    pub kind: Option<Kind>,
    pub status: Option<Status>,
    /// The tag itself or any tag below it.
    pub tag: Option<Tag>,
    /// One of these kinds, where any are named.
    pub kinds: Vec<Kind>,
    /// One of these tags or any tag below one, where any are named.
    pub tags: Vec<Tag>,
    pub lens: Option<Tag>,
    pub shelf: Shelf,
    pub limit: Option<usize>,
}

/// Which entries count beside the live ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shelf {
    #[default]
    Live,
    /// Only what was archived.
    Archived,
    /// Only what was retracted.
    Retracted,
    /// Everything that has a wording.
    All,
}

/// A derived store of events and entries.
pub trait Store {
    type Error: std::error::Error;

    /// Applies a change in one step: all of it or nothing.
    fn apply(&mut self, delta: Delta<'_>) -> Result<(), Self::Error>;

    /// Returns an entry by its full id.
    fn entry(&self, id: EntryId) -> Result<Option<Entry>, Self::Error>;

    /// Returns an event by its id.
    fn event(&self, id: EventId) -> Result<Option<Recorded>, Self::Error>;

    /// Returns every event of an entry in canonical order.
    fn history(&self, id: EntryId) -> Result<Vec<Recorded>, Self::Error>;

    /// Returns the ids that begin with `beginning`, or the one whose alias is exactly that.
    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, Self::Error>;

    /// Returns entries, newest first.
    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, Self::Error>;

    /// Returns retracted entries that refuse being proposed again.
    fn tombstones(&self) -> Result<Vec<Entry>, Self::Error>;

    /// Returns the state that belongs to no entry.
    fn workspace(&self) -> Result<Workspace, Self::Error>;

    /// Returns the latest clock reading not beyond `limit`.
    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, Self::Error>;

    /// Returns everything; for comparisons and export.
    fn state(&self) -> Result<State, Self::Error>;
}

impl Filter {
    /// Returns whether `entry` is wanted, the limit left aside.
    pub fn matches(&self, entry: &Entry) -> bool {
        let Some(content) = &entry.content else {
            return false;
        };
        let kind = entry.kind();
        let has_tag = |wanted: &Tag| content.tags.iter().any(|tag| tag.is_under(wanted));
        let shelf = match self.shelf {
            Shelf::Live => entry.is_live(),
            Shelf::Archived => entry.archived.is_some(),
            Shelf::Retracted => entry.retracted.is_some(),
            Shelf::All => true,
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
