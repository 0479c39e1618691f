//! Scores what a store found, and holds back what must not or need not be shown.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Hit, Search, ThreadVisibility};
use crate::content::Scope;
use crate::entry::Entry;
use crate::event::Overlay;
use crate::facts::{EntryFacts, Validity};
use crate::id::EntryId;
use crate::kind::Memory;
use crate::score::{self, Boosts, Draw, Match, Role, Seed, Signals, Weights, Withheld};
use crate::time::Timestamp;
use crate::together::strongest;
use crate::workspace::Workspace;

/// How relevant an entry about a path in hand is at least.
const ANCHORED_RELEVANCE: f64 = 0.75;

/// Scores what was found for one search.
#[derive(Debug)]
pub struct Scorer<'a> {
    pub search: &'a Search,
    pub weights: Weights,
    pub workspace: &'a Workspace,
    /// What the code says about entries that rest on it.
    pub validity: BTreeMap<EntryId, Validity>,
    pub threads: ThreadVisibility,
    pub now: Timestamp,
    /// What was found in the same search.
    pub beside: BTreeSet<EntryId>,
}

impl Scorer<'_> {
    /// Returns a candidate with its score, or why it is not shown.
    pub fn judge(&self, candidate: Candidate) -> Result<Hit, (EntryId, Withheld)> {
        let looked = self.validity.get(&candidate.entry.id).copied();
        let mut facts = EntryFacts::of(&candidate.entry, looked, self.now);
        facts.revoked = self.workspace.is_revoked(&candidate.entry);
        facts.cooccurrence = strongest(&candidate.entry, &self.beside, self.now.date());
        match self.withheld(&candidate.entry, &facts) {
            Some(why) => Err((candidate.entry.id, why)),
            None => Ok(self.hit(candidate, facts)),
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

    fn hit(&self, candidate: Candidate, facts: EntryFacts) -> Hit {
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
            conflicts: Vec::new(),
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
