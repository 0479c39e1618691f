//! Whether what an agent found is known already, also in other words.

use std::collections::BTreeSet;

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::text::Statement;

use crate::engine::Engine;
use crate::error::Error;
use crate::tombstone::says_same;

/// Entries with the most words in common that are compared with a finding.
const COMPARED_MAX: usize = 32;

impl Engine {
    /// Returns the entries, laid aside or not, that say what `statement` says.
    pub(crate) fn entries_saying(
        &mut self,
        statement: &Statement,
    ) -> Result<BTreeSet<EntryId>, Error> {
        self.index.prepare_words()?;
        let near = self.index.worded_like(statement.as_str(), COMPARED_MAX)?;
        let same = near.iter().filter(|entry| says(entry, statement));
        Ok(same.map(|entry| entry.id).collect())
    }
}

fn says(entry: &Entry, statement: &Statement) -> bool {
    let content = entry.content.as_ref();
    content.is_some_and(|it| says_same(&it.statement, statement))
}
