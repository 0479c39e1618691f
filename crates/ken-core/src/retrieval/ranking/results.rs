//! Search results: hits, hidden entries with the reason, and conflicts between hits.

use std::collections::{BTreeMap, BTreeSet};

use super::ceiling::apply_ceiling;
use super::{CandidateScorer, SearchCandidate, SearchHit, sort_hits};
use crate::ledger::entry::Entry;
use crate::ledger::workspace::WorkspaceState;
use crate::retrieval::score::HiddenReason;
use crate::trust::contradiction::unresolved::contradicting_pairs;
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

    /// Returns the entries that a link or flag sets against a hit and that were not candidates.
    pub fn missing_conflicts(
        &self,
        linked: &ConflictMap,
        workspace: &WorkspaceState,
    ) -> BTreeSet<EntryId> {
        let flagged = workspace.open_contradictions();
        let hits = self.hits.iter().map(|hit| hit.entry.id);
        let mut missing: BTreeSet<EntryId> = hits
            .clone()
            .flat_map(|id| [linked.get(&id), flagged.get(&id)])
            .flatten()
            .flatten()
            .copied()
            .collect();
        let withheld = self.withheld.iter().map(|(id, _)| *id);
        for id in hits.chain(withheld) {
            missing.remove(&id);
        }
        missing
    }

    /// Adds the entries that contradict a hit, sets the conflicts of each hit and sorts the hits.
    ///
    /// `opponents` are the entries of [`SearchResults::missing_conflicts`]; one that contradicts no
    /// hit any more is left out. `linked` are the contradictions that links of entries declare.
    pub fn add_opponents(
        &mut self,
        scorer: &CandidateScorer<'_>,
        mut opponents: Vec<Entry>,
        linked: &ConflictMap,
    ) {
        let hits = self.hits.iter().map(|hit| &hit.entry);
        let known: Vec<&Entry> = hits.chain(&opponents).collect();
        let mut against = linked.clone();
        for (first, second) in contradicting_pairs(&known, scorer.workspace) {
            against.entry(first).or_default().insert(second);
        }
        let opposed: BTreeSet<EntryId> = against.values().flatten().copied().collect();
        opponents.retain(|it| against.contains_key(&it.id) || opposed.contains(&it.id));
        let opponents = opponents.into_iter().map(SearchCandidate::unmatched);
        self.add_candidates(scorer, opponents);
        self.mark_conflicts(&against);
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
        apply_ceiling(&mut self.hits);
        sort_hits(&mut self.hits);
    }
}
