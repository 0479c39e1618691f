//! Whether what an agent found is known already, also in other words.

use std::collections::BTreeSet;

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::likeness::{Claim, likeness};
use ken_core::text::Statement;
use ken_index::Rung;

use crate::engine::Engine;
use crate::error::Error;

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
        let cosines = self.cosines(statement, &near)?;
        let claim = Claim::of(statement.as_str());
        let same = near.iter().zip(cosines).filter(|(entry, cosine)| {
            let theirs = entry.content.as_ref();
            theirs.is_some_and(|it| says(&claim, it.statement.as_str(), *cosine))
        });
        Ok(same.map(|(entry, _)| entry.id).collect())
    }

    /// Returns how near each entry is to `statement`, as the built-in model sees it: the rule is made for that one.
    fn cosines(
        &mut self,
        statement: &Statement,
        near: &[Entry],
    ) -> Result<Vec<Option<f64>>, Error> {
        let serving = self.serving()?;
        let embedder = serving
            .embedder()
            .filter(|_| serving.rung() == Rung::Static);
        let Some(embedder) = embedder.filter(|_| !near.is_empty()) else {
            return Ok(vec![None; near.len()]);
        };
        let text = |entry: &Entry| entry.content.as_ref().map(|it| it.statement.to_string());
        let texts: Vec<String> = [statement.to_string()]
            .into_iter()
            .chain(near.iter().map(|entry| text(entry).unwrap_or_default()))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embedder
            .embed(&texts)
            .map_err(ken_index::IndexError::from)?;
        let cosines = vectors
            .iter()
            .skip(1)
            .map(|it| Some(it.cosine(&vectors[0])));
        Ok(cosines.collect())
    }
}

/// Returns whether two findings say the same, by their words alone.
pub(super) fn says_same(one: &Statement, other: &Statement) -> bool {
    says(&Claim::of(one.as_str()), other.as_str(), None)
}

fn says(claim: &Claim, other: &str, cosine: Option<f64>) -> bool {
    likeness(claim, &Claim::of(other), cosine).is_match()
}
