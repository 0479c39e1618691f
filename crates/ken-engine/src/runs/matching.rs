//! Finds entries that already state a finding, also in other words.

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::trust::similarity::TokenizedStatement;
use ken_core::values::id::EntryId;
use ken_core::values::text::Statement;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::model;

/// Number of entries with the most words in common that are compared with a finding.
const COMPARED_MAX: usize = 32;

/// Returns a live entry that states `statement`.
pub(crate) fn live_entry_stating(
    engine: &mut Engine,
    statement: &Statement,
) -> Result<Option<Entry>, EngineError> {
    for id in engine.entries_stating(statement)? {
        let entry = engine.entry(id)?;
        if entry.is_live() {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Returns the entries, including archived ones, that state `statement`.
pub(crate) fn entries_stating(
    engine: &mut Engine,
    statement: &Statement,
) -> Result<BTreeSet<EntryId>, EngineError> {
    engine.index.prepare_words()?;
    let near = engine.index.worded_like(statement.as_str(), COMPARED_MAX)?;
    let own = [statement.as_str()].into_iter();
    let texts: Vec<&str> = own.chain(near.iter().map(Entry::statement_text)).collect();
    // The built-in model, because the similarity thresholds are calibrated for it.
    let vectors = model::built_in_vectors(engine, &texts)?;
    let claim = TokenizedStatement::parse(statement.as_str());
    let same = (1..texts.len()).filter(|at| {
        let cosine = vectors.as_ref().map(|(_, all)| all[*at].cosine(&all[0]));
        claim.matches_text(texts[*at], cosine)
    });
    Ok(same.map(|at| near[at - 1].id).collect())
}
