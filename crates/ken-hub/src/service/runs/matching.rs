//! Matching of findings against existing entries, including entries with a different wording.

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::trust::similarity::TokenizedStatement;
use ken_core::values::id::EntryId;
use ken_core::values::text::Statement;
use ken_embed::Embedder as _;

use crate::service::{ServiceError, WorkspaceSession};
use crate::store::embedding_table;

/// Entries with the most words in common that are compared with a finding.
const COMPARED_MAX: u32 = 32;

impl WorkspaceSession {
    /// Returns the entries, live or archived, that state the same as `statement`.
    pub(in crate::service) async fn find_equivalent_entries(
        &mut self,
        statement: &Statement,
    ) -> Result<BTreeSet<EntryId>, ServiceError> {
        let near = self
            .tx
            .similar_entries(statement.as_str(), COMPARED_MAX)
            .await?;
        Ok(filter_equivalent(statement, &near))
    }
}

/// Returns the ids of those of `near` that state the same as `statement`.
fn filter_equivalent(statement: &Statement, near: &[Entry]) -> BTreeSet<EntryId> {
    let texts = [statement.as_str()].into_iter();
    let texts: Vec<&str> = texts
        .chain(near.iter().map(Entry::statement_text))
        .collect();
    // Without vectors the comparison falls back to words: a missing embedding must not fail the
    // request.
    let vectors = embedding_table().embed(&texts).ok();
    let claim = TokenizedStatement::parse(statement.as_str());
    let same = (1..texts.len()).filter(|at| {
        let cosine = vectors.as_ref().map(|all| all[*at].cosine(&all[0]));
        claim.matches_text(texts[*at], cosine)
    });
    same.map(|at| near[at - 1].id).collect()
}
