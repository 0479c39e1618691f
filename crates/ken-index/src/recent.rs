//! Entries as they were read last, so that a change of them need not parse them again.
//!
//! What is kept counts only while the stored text is still the one it was read from: another process may have written since.

use std::cell::RefCell;
use std::collections::HashMap;

use ken_core::entry::Entry;
use ken_core::id::EntryId;

/// Entries that are kept; whoever closes a run reads some hundreds and then changes them.
const RECENT_MAX: usize = 1_024;

/// Entries that were read, each with the text it was read from.
#[derive(Debug, Default)]
pub(crate) struct Recent(RefCell<HashMap<EntryId, (String, Entry)>>);

impl Recent {
    /// Keeps an entry that was read from `json`.
    pub(crate) fn keep(&self, json: String, entry: &Entry) {
        let mut kept = self.0.borrow_mut();
        if RECENT_MAX <= kept.len() {
            kept.clear();
        }
        kept.insert(entry.id, (json, entry.clone()));
    }

    /// Returns the entry that was read from `json`.
    pub(crate) fn read_from(&self, id: EntryId, json: &str) -> Option<Entry> {
        let kept = self.0.borrow();
        let (text, entry) = kept.get(&id)?;
        (text == json).then(|| entry.clone())
    }

    /// Takes out the entry that was read from `json`.
    pub(crate) fn take(&self, id: EntryId, json: &str) -> Option<Entry> {
        let (text, entry) = self.0.borrow_mut().remove(&id)?;
        (text == json).then_some(entry)
    }
}
