//! Scores what the index found, and holds back what must not or need not be shown.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::content::Scope;
use ken_core::entry::Entry;
use ken_core::event::Overlay;
use ken_core::facts::{EntryFacts, Validity};
use ken_core::id::EntryId;
use ken_core::kind::Memory;
use ken_core::score::{self, Boosts, Draw, Match, Role, Seed, Signals, Weights, Withheld};
use ken_core::time::Timestamp;
use ken_core::together::strongest;
use ken_core::workspace::Workspace;
use ken_index::{Candidate, Least, Rung, Thresholds};

use super::{Answer, Floor, Hit, Search};
use crate::config::ThreadVisibility;

/// From here on an entry's words alone answer a query a person typed: `cargo xtask eval` finds one in
/// a hundred unrelated questions there, and three quarters of the prose queries.
pub(super) const COVERAGE_RELEVANT: f64 = 0.4;

/// From here on they answer somebody who did not ask: no unrelated question in two hundred.
const COVERAGE_STRICT: f64 = 0.5;

/// How relevant an entry about a path in hand is at least.
const ANCHORED_RELEVANCE: f64 = 0.75;

/// Scores what was found for one search.
pub(super) struct Scorer<'a> {
    pub(super) search: &'a Search,
    pub(super) weights: Weights,
    pub(super) workspace: &'a Workspace,
    /// What the code says about entries that rest on it.
    pub(super) validity: BTreeMap<EntryId, Validity>,
    pub(super) threads: ThreadVisibility,
    pub(super) now: Timestamp,
    /// What was found in the same search.
    pub(super) beside: BTreeSet<EntryId>,
}

impl Floor {
    /// Returns how well an entry must answer to be shown: by its meaning or by its words.
    #[must_use]
    pub fn least(self, model: Option<Thresholds>) -> Least {
        let (near, coverage) = match self {
            Self::None => return Least::NOTHING,
            Self::Cosine(least) => (Some(least), f64::INFINITY),
            Self::Relevant => (model.map(|it| it.relevant), COVERAGE_RELEVANT),
            Self::Strict => (model.map(|it| it.strict), COVERAGE_STRICT),
        };
        let cosine = near.unwrap_or(f64::INFINITY);
        Least { cosine, coverage }
    }
}

impl Scorer<'_> {
    /// Returns what may be shown of what was found, in no order.
    pub(super) fn answer(&self, served_by: Rung, found: Vec<Candidate>) -> Answer {
        let mut answer = Answer {
            served_by,
            hits: Vec::new(),
            withheld: Vec::new(),
        };
        for candidate in found {
            self.add(&mut answer, candidate, Vec::new());
        }
        answer
    }

    /// Adds a candidate to the hits, or to what is withheld.
    pub(super) fn add(&self, answer: &mut Answer, candidate: Candidate, conflicts: Vec<EntryId>) {
        let looked = self.validity.get(&candidate.entry.id).copied();
        let mut facts = EntryFacts::of(&candidate.entry, looked, self.now);
        facts.revoked = self.workspace.is_revoked(&candidate.entry);
        facts.cooccurrence = strongest(&candidate.entry, &self.beside, self.now.date());
        match self.withheld(&candidate.entry, &facts) {
            Some(why) => answer.withheld.push((candidate.entry.id, why)),
            None => answer.hits.push(self.hit(candidate, facts, conflicts)),
        }
    }

    /// Returns why an entry is not shown: raw signals only to who asks for them by name.
    fn withheld(&self, entry: &Entry, facts: &EntryFacts) -> Option<Withheld> {
        let filter = &self.search.filter;
        let named = filter.kind.is_some() || !filter.kinds.is_empty();
        let asked = named || filter.memory.is_some();
        let raw = entry.id.prefix().memory() == Memory::Episodic;
        if raw && !asked {
            return Some(Withheld::Raw);
        }
        if self.is_of_another_thread(entry) {
            return Some(Withheld::OtherThread);
        }
        match score::withheld(entry, facts) {
            Some(Withheld::Changed | Withheld::Broken) if self.search.include_stale => None,
            why => why,
        }
    }

    /// Returns whether an entry is kept to a thread that the question does not come from.
    fn is_of_another_thread(&self, entry: &Entry) -> bool {
        let kept = entry.scope.value == Scope::Thread && entry.thread().is_some();
        match self.threads {
            ThreadVisibility::Boost => false,
            ThreadVisibility::Strict => kept && entry.thread() != self.search.thread.as_ref(),
        }
    }

    fn hit(&self, candidate: Candidate, facts: EntryFacts, conflicts: Vec<EntryId>) -> Hit {
        let Candidate {
            entry,
            coverage,
            cosine,
            relevance,
            anchored,
            ..
        } = candidate;
        let relevance = if anchored {
            relevance.max(ANCHORED_RELEVANCE)
        } else {
            relevance
        };
        let thread = entry.thread();
        let found = Match {
            semantic: relevance,
            in_thread: thread.is_some() && thread == self.search.thread.as_ref(),
        };
        let draw = match &self.search.run {
            Some(run) => Draw::Of(Seed::new(run, &self.search.query), entry.id),
            None => Draw::Mean,
        };
        let signals = Signals::of(&facts, found, draw, self.now);
        let explained = signals.explain(&self.weights, self.boosts(&entry));
        Hit {
            entry,
            facts,
            relevance,
            cosine,
            coverage,
            anchored,
            conflicts,
            explained,
        }
    }

    fn boosts(&self, entry: &Entry) -> Boosts {
        let prefers = |role: Role| entry.kind().is_some_and(|kind| role.prefers(kind));
        Boosts {
            pinned: entry.is_marked(Overlay::Pin),
            cross_domain: self.names_two_tags(entry),
            role: self.search.role.is_some_and(prefers),
        }
    }

    /// Returns whether the query names two of the fields an entry is filed under.
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
