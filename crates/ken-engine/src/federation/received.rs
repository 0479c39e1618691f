//! What came in from a peer, entry by entry, and what became of it.

use std::collections::BTreeMap;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::values::id::EntryId;
use ken_core::values::time::Date;

use super::peer::PeerLedger;
use crate::error::EngineError;

/// An entry of a peer.
#[derive(Clone, Debug)]
pub struct ReceivedEntry {
    pub id: EntryId,
    /// The day on which this clone first accepted it.
    pub first_seen: Date,
    pub state: ReceivedState,
    /// `None` if its words are redacted.
    pub entry: Option<Entry>,
}

/// What became of an entry of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReceivedState {
    /// It waits for a person.
    Waiting,
    /// A person approved it. It is shown unless the whole peer is not.
    Approved,
    /// A person rejected it.
    Rejected,
    /// Its publisher withdrew it, or lists it no longer.
    Withdrawn,
    /// Its publisher ordered that its words are removed.
    Redacted,
}

impl PeerLedger {
    /// Returns every accepted entry, oldest first.
    pub fn received(&self) -> Result<Vec<ReceivedEntry>, EngineError> {
        let all = self.engine.index.list(&EntryFilter {
            lifecycle: LifecycleFilter::All,
            ..EntryFilter::default()
        })?;
        let mut known: BTreeMap<EntryId, Entry> = all.into_iter().map(|it| (it.id, it)).collect();
        let replica = &self.peer.replica;
        let lines = replica.lines().map(|(line, record)| {
            let entry = known.remove(&record.entry);
            let state = if replica.redacted().contains(&line) {
                ReceivedState::Redacted
            } else if replica.is_shown(line) {
                entry.as_ref().map_or(ReceivedState::Redacted, state_of)
            } else {
                // A fork hides every line without a withdrawal of its own.
                ReceivedState::Withdrawn
            };
            ReceivedEntry {
                id: record.entry,
                first_seen: record.first_seen,
                state,
                entry: entry.filter(|_| state != ReceivedState::Redacted),
            }
        });
        let mut entries: Vec<ReceivedEntry> = lines.collect();
        entries.sort_by_key(|it| (it.first_seen, it.id));
        Ok(entries)
    }
}

/// Returns what a person decided about a listed entry.
fn state_of(entry: &Entry) -> ReceivedState {
    if entry.retracted.is_some() {
        ReceivedState::Rejected
    } else if entry.quarantine.is_empty() && !entry.approvals.is_empty() {
        ReceivedState::Approved
    } else {
        ReceivedState::Waiting
    }
}
