//! Cache of parsed entries, so that a change does not parse them again.
//!
//! A cached entry is valid only while the stored JSON equals the cached JSON, because another
//! process may have written since.

use std::cell::RefCell;
use std::collections::HashMap;

use ken_core::ledger::entry::Entry;
use ken_core::values::id::EntryId;

/// Maximum number of cached entries; closing a run reads and then changes a few hundred.
const CACHED_ENTRIES_MAX: usize = 1_024;

/// Parsed entries with the JSON they were parsed from.
#[derive(Debug, Default)]
pub(crate) struct EntryCache(RefCell<HashMap<EntryId, (String, Entry)>>);

impl EntryCache {
    /// Caches an entry that was parsed from `json`.
    pub(crate) fn keep(&self, json: String, entry: &Entry) {
        let mut kept = self.0.borrow_mut();
        // Clearing everything is cheaper than tracking use, and overflow is rare.
        if kept.len() >= CACHED_ENTRIES_MAX {
            kept.clear();
        }
        kept.insert(entry.id, (json, entry.clone()));
    }

    /// Returns the cached entry if it was parsed from `json`.
    pub(crate) fn read_from(&self, id: EntryId, json: &str) -> Option<Entry> {
        let kept = self.0.borrow();
        let (text, entry) = kept.get(&id)?;
        (text == json).then(|| entry.clone())
    }

    /// Removes and returns the cached entry if it was parsed from `json`.
    pub(crate) fn take(&self, id: EntryId, json: &str) -> Option<Entry> {
        let (text, entry) = self.0.borrow_mut().remove(&id)?;
        (text == json).then_some(entry)
    }
}
