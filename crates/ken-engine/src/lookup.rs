//! Questions: one entry, many, and their history.

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::id::{EntryId, EventId};
use ken_core::state::State;
use ken_core::store::{Filter, Store as _};

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Returns the one entry whose id begins with `wanted`, or whose alias it is.
    pub fn find(&self, wanted: &str) -> Result<Entry, Error> {
        let wanted = wanted.trim().trim_start_matches('[').trim_end_matches(']');
        let mut candidates = self.index.find(wanted)?;
        match candidates.len() {
            0 => Err(Error::NotFound(wanted.to_owned())),
            1 => self.entry(candidates.remove(0)),
            _ => Err(Error::Ambiguous {
                wanted: wanted.to_owned(),
                candidates,
            }),
        }
    }

    /// Returns an entry by its full id.
    pub fn entry(&self, id: EntryId) -> Result<Entry, Error> {
        self.index
            .entry(id)?
            .ok_or_else(|| Error::NotFound(id.to_string()))
    }

    /// Returns the entries that match, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>, Error> {
        Ok(self.index.list(filter)?)
    }

    /// Returns every event of an entry in canonical order.
    pub fn history(&self, id: EntryId) -> Result<Vec<Recorded>, Error> {
        Ok(self.index.history(id)?)
    }

    /// Returns everything this branch knows; for comparisons and export.
    pub fn state(&self) -> Result<State, Error> {
        Ok(self.index.state()?)
    }

    /// Returns an event by its full id.
    pub fn event(&self, id: &str) -> Result<Recorded, Error> {
        let missing = || Error::NoSuchEvent(id.to_owned());
        let parsed: EventId = id
            .trim()
            .to_ascii_uppercase()
            .parse()
            .map_err(|_| missing())?;
        self.index.event(parsed)?.ok_or_else(missing)
    }
}
