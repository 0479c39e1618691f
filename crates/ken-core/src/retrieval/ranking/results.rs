//! Search results: hits, hidden entries with the reason, and conflicts between hits.

use std::collections::{BTreeMap, BTreeSet};

use super::{CandidateScorer, SearchCandidate, SearchHit, sort_hits};
use crate::retrieval::score::HiddenReason;
use crate::values::id::EntryId;

/// The entries that contradict each entry.
pub type ConflictMap = BTreeMap<EntryId, BTreeSet<EntryId>>;

/// The scored candidates of one search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// Unordered until [`SearchResults::mark_conflicts`] sorts them best first.
    pub hits: Vec<SearchHit>,
    /// Relevant entries that are not shown, with the reason.
    pub withheld: Vec<(EntryId, HiddenReason)>,
}

impl SearchResults {
    /// Scores candidates, in no particular order.
    pub fn from_candidates(scorer: &CandidateScorer<'_>, found: Vec<SearchCandidate>) -> Self {
        let mut answer = Self::default();
        answer.add_candidates(scorer, found);
        answer
    }

    /// Scores more candidates and adds each to the hits or the hidden entries.
    pub fn add_candidates(
        &mut self,
        scorer: &CandidateScorer<'_>,
        found: impl IntoIterator<Item = SearchCandidate>,
    ) {
        for candidate in found {
            match scorer.score(candidate) {
                Ok(hit) => self.hits.push(hit),
                Err(withheld) => self.withheld.push(withheld),
            }
        }
    }

    /// Returns the entries that contradict a hit and were not among the candidates.
    pub fn missing_conflicts(&self, against: &ConflictMap) -> BTreeSet<EntryId> {
        let hits = self.hits.iter().map(|hit| hit.entry.id);
        let mut missing: BTreeSet<EntryId> = hits
            .clone()
            .filter_map(|id| against.get(&id))
            .flatten()
            .copied()
            .collect();
        let withheld = self.withheld.iter().map(|(id, _)| *id);
        for id in hits.chain(withheld) {
            missing.remove(&id);
        }
        missing
    }

    /// Sets the conflicts of each hit and sorts the hits, best first.
    ///
    /// Only hits count as conflicts: a hidden entry, such as a rejected one, contradicts nothing.
    pub fn mark_conflicts(&mut self, against: &ConflictMap) {
        let hit_ids: BTreeSet<EntryId> = self.hits.iter().map(|hit| hit.entry.id).collect();
        for hit in &mut self.hits {
            let own = hit.entry.id;
            // The map may record a pair under either id, so both directions are read.
            let reverse = against.iter().filter(|(_, ids)| ids.contains(&own));
            let reverse = reverse.map(|(id, _)| *id);
            let others = reverse.chain(against.get(&own).into_iter().flatten().copied());
            let conflicts: BTreeSet<EntryId> = others.filter(|id| hit_ids.contains(id)).collect();
            hit.conflicts = conflicts.into_iter().collect();
        }
        sort_hits(&mut self.hits);
    }
}
