//! Scores candidates and hides those that must not or need not be shown.

use std::collections::{BTreeMap, BTreeSet};

use super::{SearchCandidate, SearchHit, SearchQuery, ThreadVisibility};
use crate::ledger::cooccurrence::strongest_weight;
use crate::ledger::entry::Entry;
use crate::ledger::event::Overlay;
use crate::ledger::workspace::WorkspaceState;
use crate::retrieval::score::{
    self, DrawSeed, HiddenReason, PosteriorDraw, QueryMatch, RankingWeights, ReaderRole,
    ScoreBoosts,
};
use crate::trust::facts::{EntryFacts, Validity};
use crate::trust::rediscovery::RediscoveryPolicy;
use crate::values::content::EntryScope;
use crate::values::id::EntryId;
use crate::values::time::Timestamp;

/// Minimum relevance of an entry anchored under one of the query's paths.
const ANCHORED_RELEVANCE: f64 = 0.75;

/// Minimum relevance of an entry that names code of the query; the rest of the range keeps the
/// order of several such entries.
const NAMED_RELEVANCE: f64 = 0.75;

/// Amount added to the score of an anchored entry if the query asks about paths: as much as all
/// signals together.
const PATHS_BOOST: f64 = 1.0;

/// Name of the score part that records it.
pub(super) const PATHS_PART: &str = "anchored_in_paths";

/// Amount added to the score of a prescriptive entry whose code changed, besides the freshness that
/// the change took: as much as a pin, so that it comes before entries that match about as well.
const DEPARTURE_BOOST: f64 = score::PIN_BOOST;

/// Name of the score part that records it.
const DEPARTURE_PART: &str = "code_changed_since";

/// Scores the candidates of one query.
#[derive(Debug)]
pub struct CandidateScorer<'a> {
    pub search: &'a SearchQuery,
    pub weights: RankingWeights,
    pub workspace: &'a WorkspaceState,
    /// Verdicts of entries that were checked against the code.
    pub validity: BTreeMap<EntryId, Validity>,
    pub threads: ThreadVisibility,
    pub now: Timestamp,
    /// All candidates of the query; co-occurrence is measured against them.
    pub beside: BTreeSet<EntryId>,
}

impl CandidateScorer<'_> {
    /// Returns the scored hit, or the reason why the candidate is hidden.
    pub fn score(&self, candidate: SearchCandidate) -> Result<SearchHit, (EntryId, HiddenReason)> {
        let checked = self.validity.get(&candidate.entry.id).copied();
        let mut facts = EntryFacts::from_entry(&candidate.entry, checked, self.now);
        // These depend on other entries or on the workspace, so an entry alone cannot supply them.
        facts.revoked = self.workspace.is_revoked(&candidate.entry);
        let policy = RediscoveryPolicy::from_workspace(self.workspace);
        facts.belief = policy.score_factor(&candidate.entry);
        facts.cooccurrence = strongest_weight(&candidate.entry, &self.beside, self.now.date());
        match self.hidden_reason(&candidate.entry, &facts) {
            Some(why) => Err((candidate.entry.id, why)),
            None => Ok(self.score_hit(candidate, facts)),
        }
    }

    /// Returns the reason why an entry is hidden from this query.
    fn hidden_reason(&self, entry: &Entry, facts: &EntryFacts) -> Option<HiddenReason> {
        let filter = &self.search.filter;
        let named = filter.kind.is_some() || !filter.kinds.is_empty();
        let asked = named || filter.memory.is_some();
        // Episodic entries such as friction are raw material: shown only when a filter asks for
        // them.
        if entry.is_raw() && !asked {
            return Some(HiddenReason::Raw);
        }
        if self.is_in_another_thread(entry) {
            return Some(HiddenReason::OtherThread);
        }
        match score::hidden_reason(entry, facts) {
            Some(HiddenReason::Changed | HiddenReason::Broken) if self.search.include_stale => None,
            why => why,
        }
    }

    /// Returns whether an entry is restricted to a thread other than the query's.
    fn is_in_another_thread(&self, entry: &Entry) -> bool {
        let is_restricted = entry.scope.value == EntryScope::Thread && entry.thread().is_some();
        match self.threads {
            ThreadVisibility::Boost => false,
            ThreadVisibility::Strict => {
                is_restricted && entry.thread() != self.search.thread.as_ref()
            }
        }
    }

    fn score_hit(&self, candidate: SearchCandidate, facts: EntryFacts) -> SearchHit {
        let SearchCandidate {
            entry,
            coverage,
            cosine,
            relevance,
            anchored,
            named,
            ..
        } = candidate;
        // An entry about the very file in hand stays relevant even if its words differ from the
        // query.
        let relevance = if anchored {
            relevance.max(ANCHORED_RELEVANCE)
        } else {
            relevance
        };
        let relevance = if named {
            NAMED_RELEVANCE + (1.0 - NAMED_RELEVANCE) * relevance
        } else {
            relevance
        };
        let thread = entry.thread();
        let found = QueryMatch {
            semantic: relevance,
            // `None == None` must not count as the same thread.
            in_thread: thread.is_some() && thread == self.search.thread.as_ref(),
        };
        let draw = match &self.search.run {
            Some(run) => PosteriorDraw::Of(DrawSeed::new(run, &self.search.query), entry.id),
            None => PosteriorDraw::Mean,
        };
        let ranking = (&self.weights, self.boosts(&entry));
        let mut explained = score::score_entry(&facts, found, draw, self.now, ranking);
        if anchored && self.search.is_about_paths {
            explained.adjust(PATHS_PART, PATHS_BOOST);
        }
        if facts.validity == Validity::Changed && entry.is_prescriptive() {
            let lost = self.weights.freshness();
            explained.adjust(DEPARTURE_PART, lost + DEPARTURE_BOOST);
        }
        SearchHit {
            entry,
            facts,
            relevance,
            cosine,
            coverage,
            anchored,
            named,
            conflicts: Vec::new(),
            explained,
        }
    }

    fn boosts(&self, entry: &Entry) -> ScoreBoosts {
        let prefers = |role: ReaderRole| entry.kind().is_some_and(|kind| role.prefers(kind));
        ScoreBoosts {
            pinned: entry.has_annotation(Overlay::Pin),
            cross_domain: self.names_two_tags(entry),
            role: self.search.role.is_some_and(prefers),
        }
    }

    /// Returns whether the query names at least two of the entry's top-level tags.
    fn names_two_tags(&self, entry: &Entry) -> bool {
        let query = self.search.query.to_lowercase();
        let words: BTreeSet<&str> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let Some(content) = &entry.content else {
            return false;
        };
        let roots = content
            .tags
            .iter()
            .filter_map(|tag| tag.as_str().split('/').next());
        roots
            .filter(|root| words.contains(root))
            .collect::<BTreeSet<_>>()
            .len()
            > 1
    }
}
