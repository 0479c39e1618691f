//! Searching: what may answer comes from the index, what deserves to be shown from the score.
//!
//! Whether anything is relevant at all is decided before scores are blended: the best of a bad lot
//! would otherwise look perfect.

use std::collections::BTreeSet;

use ken_core::entry::Entry;
use ken_core::event::{Overlay, Switch};
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::score::{
    self, Boosts, Draw, Explained, Match, Role, SCORING_KEY, Seed, Signals, Weights, Withheld,
};
use ken_core::store::{Filter, Store as _};
use ken_core::text::Tag;
use ken_core::time::Timestamp;
use ken_index::{Candidate, Query, Rung, Thresholds};

use crate::engine::Engine;
use crate::error::Error;

/// Entries that are scored; more would not reach the first page.
const SCORED_MAX: usize = 100;

/// From here on an entry's words alone answer a query a person typed: `cargo xtask eval` finds one in
/// a hundred unrelated questions there, and three quarters of the prose queries.
const COVERAGE_RELEVANT: f64 = 0.4;

/// From here on they answer somebody who did not ask: no unrelated question in two hundred.
const COVERAGE_STRICT: f64 = 0.5;

/// What is looked for, and for whom.
#[derive(Clone, Debug)]
pub struct Search {
    pub query: String,
    /// Which live entries count.
    pub filter: Filter,
    pub role: Option<Role>,
    /// The thread of work the query comes from.
    pub thread: Option<Tag>,
    /// The run whose draws serve; the posterior's mean without one.
    pub run: Option<String>,
    pub floor: Floor,
    pub limit: usize,
}

/// How relevant an entry must be to be shown at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Floor {
    /// Everything found, best first.
    None,
    /// For somebody who asked.
    #[default]
    Relevant,
    /// For somebody who did not.
    Strict,
    /// A cosine of the caller's choosing.
    Cosine(f64),
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Which kind of model the answer rests on.
    pub served_by: Rung,
    /// Best first.
    pub hits: Vec<Hit>,
    /// Relevant entries that are not shown, and why.
    pub withheld: Vec<(EntryId, Withheld)>,
}

/// An entry that answers.
#[derive(Clone, Debug)]
pub struct Hit {
    pub entry: Entry,
    pub facts: EntryFacts,
    /// How well its text answers, beside the others.
    pub relevance: f64,
    /// How near its meaning is, by itself.
    pub cosine: f64,
    /// What part of the query its words are.
    pub coverage: f64,
    pub explained: Explained,
}

impl Engine {
    /// Returns what answers, best first.
    ///
    /// `progress` is told how many of how many entries were made ready, where some had to be.
    pub fn search(
        &mut self,
        search: &Search,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Answer, Error> {
        let served_by = self.rung();
        let embedder = served_by.embedder();
        let embedder = embedder.as_deref();
        self.index.prepare_search(embedder, progress)?;
        let found = self.index.candidates(&Query {
            text: &search.query,
            filter: &search.filter,
            embedder,
            limit: SCORED_MAX,
        })?;
        let weights = self.weights()?;
        let scorer = Scorer {
            search,
            weights,
            now: self.now(),
            thresholds: embedder.map(|it| it.model().thresholds),
        };
        Ok(scorer.answer(served_by, found))
    }

    /// Returns the kind of model that serves here.
    fn rung(&self) -> Rung {
        Rung::Static
    }

    /// Returns the weights of this workspace, or the default ones where its own are not sound.
    fn weights(&self) -> Result<Weights, Error> {
        let workspace = self.index.workspace()?;
        let own = workspace.settings.get(SCORING_KEY);
        let sound = own.and_then(|setting| Weights::from_json(&setting.value).ok());
        Ok(sound.unwrap_or_default())
    }
}

/// Scores what was found for one search.
struct Scorer<'a> {
    search: &'a Search,
    weights: Weights,
    now: Timestamp,
    thresholds: Option<Thresholds>,
}

impl Scorer<'_> {
    fn answer(&self, served_by: Rung, found: Vec<Candidate>) -> Answer {
        let mut answer = Answer {
            served_by,
            hits: Vec::new(),
            withheld: Vec::new(),
        };
        for candidate in found.into_iter().filter(|it| self.is_relevant(it)) {
            let facts = EntryFacts::of(&candidate.entry);
            match score::withheld(&candidate.entry, &facts) {
                Some(why) => answer.withheld.push((candidate.entry.id, why)),
                None => answer.hits.push(self.hit(candidate, facts)),
            }
        }
        answer.hits.sort_by(|a, b| {
            let by_score = b.explained.score.total_cmp(&a.explained.score);
            by_score.then(a.entry.id.cmp(&b.entry.id))
        });
        answer.hits.truncate(self.search.limit);
        answer
    }

    /// Returns whether an entry answers well enough to be shown: by its meaning or by its words.
    fn is_relevant(&self, candidate: &Candidate) -> bool {
        let (near, covered) = match (self.search.floor, self.thresholds) {
            (Floor::None, _) => return true,
            (Floor::Cosine(least), _) => return least <= candidate.cosine,
            (Floor::Relevant, model) => (model.map(|it| it.relevant), COVERAGE_RELEVANT),
            (Floor::Strict, model) => (model.map(|it| it.strict), COVERAGE_STRICT),
        };
        near.is_some_and(|near| near <= candidate.cosine) || covered <= candidate.coverage
    }

    fn hit(&self, candidate: Candidate, facts: EntryFacts) -> Hit {
        let Candidate {
            entry,
            coverage,
            cosine,
            relevance,
            ..
        } = candidate;
        let thread = entry
            .created
            .as_ref()
            .and_then(|created| created.thread.as_ref());
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
            explained,
        }
    }

    fn boosts(&self, entry: &Entry) -> Boosts {
        let pin = entry.overlays.get(&Overlay::Pin);
        let prefers = |role: Role| entry.kind().is_some_and(|kind| role.prefers(kind));
        Boosts {
            pinned: pin.is_some_and(|mark| mark.state == Switch::On),
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
