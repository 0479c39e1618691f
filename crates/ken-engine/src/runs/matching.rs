//! Whether what an agent found is known already, also in other words.

use std::collections::BTreeSet;

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::likeness::Claim;
use ken_core::text::Statement;

use crate::engine::Engine;
use crate::error::Error;

/// Entries with the most words in common that are compared with a finding.
const COMPARED_MAX: usize = 32;

impl Engine {
    /// Returns an entry in use that says what `statement` says.
    pub fn live_entry_saying(&mut self, statement: &Statement) -> Result<Option<Entry>, Error> {
        for id in self.entries_saying(statement)? {
            let entry = self.entry(id)?;
            if entry.is_live() {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Returns the entries, laid aside or not, that say what `statement` says.
    pub fn entries_saying(&mut self, statement: &Statement) -> Result<BTreeSet<EntryId>, Error> {
        self.index.prepare_words()?;
        let near = self.index.worded_like(statement.as_str(), COMPARED_MAX)?;
        let texts = [statement.as_str()].into_iter();
        let texts: Vec<&str> = texts.chain(near.iter().map(Entry::said)).collect();
        let vectors = self.built_in_vectors(&texts)?;
        let claim = Claim::of(statement.as_str());
        let same = (1..texts.len()).filter(|at| {
            let cosine = vectors.as_ref().map(|(_, all)| all[*at].cosine(&all[0]));
            claim.is_said_by(texts[*at], cosine)
        });
        Ok(same.map(|at| near[at - 1].id).collect())
    }
}
