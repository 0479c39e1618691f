//! Whether what an agent found is known already, also in other words.

use std::collections::BTreeSet;

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::likeness::Claim;
use ken_core::text::Statement;
use ken_embed::Embedder as _;

use crate::service::{Desk, Failure};
use crate::store::table;

/// Entries with the most words in common that are compared with a finding.
const COMPARED_MAX: u32 = 32;

impl Desk {
    /// Returns the entries, laid aside or not, that say what `statement` says.
    pub(in crate::service) async fn entries_saying(
        &mut self,
        statement: &Statement,
    ) -> Result<BTreeSet<EntryId>, Failure> {
        let near = self
            .tenant
            .worded_like(statement.as_str(), COMPARED_MAX)
            .await?;
        Ok(saying(statement, &near))
    }
}

/// Returns those of `near` that say what `statement` says.
fn saying(statement: &Statement, near: &[Entry]) -> BTreeSet<EntryId> {
    let texts = [statement.as_str()].into_iter();
    let texts: Vec<&str> = texts.chain(near.iter().map(Entry::said)).collect();
    let vectors = table().embed(&texts).ok();
    let claim = Claim::of(statement.as_str());
    let same = (1..texts.len()).filter(|at| {
        let cosine = vectors.as_ref().map(|all| all[*at].cosine(&all[0]));
        claim.is_said_by(texts[*at], cosine)
    });
    same.map(|at| near[at - 1].id).collect()
}
