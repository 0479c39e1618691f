//! What answers a search: hits, what is withheld and why, and who contradicts whom.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Hit, Scorer, sort};
use crate::id::EntryId;
use crate::score::Withheld;

/// Who contradicts each entry.
pub type Against = BTreeMap<EntryId, BTreeSet<EntryId>>;

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Best first, once [`Answer::oppose`] put them in order.
    pub hits: Vec<Hit>,
    /// Relevant entries that are not shown, and why.
    pub withheld: Vec<(EntryId, Withheld)>,
}

impl Answer {
    /// Returns what may be shown of what was found, in no order.
    pub fn of(scorer: &Scorer<'_>, found: Vec<Candidate>) -> Self {
        let mut answer = Self::default();
        answer.add(scorer, found);
        answer
    }

    /// Judges more candidates: hits or withheld.
    pub fn add(&mut self, scorer: &Scorer<'_>, found: impl IntoIterator<Item = Candidate>) {
        for candidate in found {
            match scorer.judge(candidate) {
                Ok(hit) => self.hits.push(hit),
                Err(withheld) => self.withheld.push(withheld),
            }
        }
    }

    /// Returns the entries that contradict a hit and that the search did not find.
    pub fn missing(&self, against: &Against) -> BTreeSet<EntryId> {
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

    /// Names the hits that contradict each hit, whichever of the two says so, and puts all in order, best first.
    ///
    /// Who is not shown is not named: a rejected claim contradicts nothing.
    pub fn oppose(&mut self, against: &Against) {
        let there: BTreeSet<EntryId> = self.hits.iter().map(|hit| hit.entry.id).collect();
        for hit in &mut self.hits {
            let own = hit.entry.id;
            let theirs = against.iter().filter(|(_, it)| it.contains(&own));
            let theirs = theirs.map(|(id, _)| *id);
            let others = theirs.chain(against.get(&own).into_iter().flatten().copied());
            let others: BTreeSet<EntryId> = others.filter(|id| there.contains(id)).collect();
            hit.conflicts = others.into_iter().collect();
        }
        sort(&mut self.hits);
    }
}
