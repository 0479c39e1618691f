//! Searching: what may answer comes from the index, what deserves to be shown from the score.
//!
//! Whether anything is relevant at all is decided before scores are blended: the best of a bad lot
//! would otherwise look perfect.

mod asked;
mod missed;

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_core::answer::{Candidate, Near, Scorer, ThreadVisibility, sort};
use ken_core::id::EntryId;
use ken_core::score::{Role, Withheld};
use ken_core::store::Store as _;
use ken_core::surface::{Finding, Page, Room, Tier};
use ken_core::workspace::Workspace;
use ken_index::{Embedder, IndexError, Query, Rung, Thresholds, count_tokens};
use ken_ledger::layout::KEN_DIR;

use crate::config::Config;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::ENTRIES_DIR;
use crate::model::Serving;
use crate::scoring::Scoring;
use crate::validity::WorkTree;
use tracing::field::Empty;

pub use asked::{Asked, from_error, from_file, from_words};
pub use ken_core::answer::{Floor, Hit, Search};
pub use ken_index::Missed;

/// Entries that are scored; more would not reach the first page.
const SCORED_MAX: usize = 50;

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

/// How much of an answer is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Portion {
    /// Entries at most.
    pub cap: usize,
    /// Tokens that should do.
    pub budget: usize,
    /// `None` lets the answer decide.
    pub tier: Option<Tier>,
    pub role: Option<Role>,
}

impl Portion {
    /// Lays findings out, best first.
    pub(crate) fn page(self, findings: &[Finding<'_>]) -> Page {
        let room = Room {
            cap: self.cap,
            budget: self.budget,
            tier: self.tier,
            role: self.role,
            folder: &format!("{KEN_DIR}/{ENTRIES_DIR}"),
            tokens: &count_tokens,
        };
        Page::of(findings, &room)
    }
}

impl Answer {
    /// Lays the hits out, as much of them as is wanted.
    #[must_use]
    pub fn page(&self, portion: Portion) -> Page {
        let findings: Vec<Finding<'_>> = self.hits.iter().map(Hit::as_finding).collect();
        portion.page(&findings)
    }

    /// Returns how many tokens all hits would take in full.
    #[must_use]
    pub fn whole_tokens(&self) -> usize {
        let all = Portion {
            cap: self.hits.len(),
            budget: usize::MAX,
            tier: Some(Tier::Full),
            role: None,
        };
        self.page(all).tokens
    }

    /// Returns the hit that is `id`.
    #[must_use]
    pub fn hit(&self, id: EntryId) -> Option<&Hit> {
        self.hits.iter().find(|hit| hit.entry.id == id)
    }
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
        let span = tracing::info_span!(
            "search",
            gen_ai.operation.name = "search_memory",
            paths = search.paths.len(),
            hits = Empty,
            withheld = Empty
        );
        let _in = span.enter();
        let (serving, found) = self.find_candidates(search, progress)?;
        let workspace = self.index.workspace()?;
        let mut scorer = Scorer {
            search,
            weights: Scoring::of(&workspace).weights,
            workspace: &workspace,
            validity: self.validity_of(found.iter().map(|it| &it.entry))?,
            threads: self.thread_visibility(&found)?,
            now: self.now(),
            beside: found.iter().map(|it| it.entry.id).collect(),
        };
        let mut answer = Answer::of(serving.rung(), &scorer, found);
        self.bring_opponents(&mut answer, &mut scorer, &workspace)?;
        span.record("hits", answer.hits.len());
        span.record("withheld", answer.withheld.len());
        Ok(answer)
    }

    /// Returns who is shown what belongs to a thread; asked only where something found does.
    fn thread_visibility(&self, found: &[Candidate]) -> Result<ThreadVisibility, Error> {
        if found.iter().all(|it| it.entry.thread().is_none()) {
            return Ok(ThreadVisibility::default());
        }
        let config = Config::of(&WorkTree::new(&self.place)?)?;
        Ok(config.search.thread_visibility)
    }

    /// Returns what may answer and the model that found it: the chosen one, or what serves in its stead.
    fn find_candidates(
        &mut self,
        search: &Search,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(Arc<Serving>, Vec<Candidate>), Error> {
        let serving = self.serving_now()?;
        match self.candidates(search, &serving, progress) {
            Err(Error::Index(IndexError::Embed(why))) if serving.is_configured() => {
                let serving = self.serve_instead(why.to_string())?;
                let found = self.candidates(search, &serving, progress)?;
                Ok((serving, found))
            }
            found => Ok((serving, found?)),
        }
    }

    fn candidates(
        &mut self,
        search: &Search,
        serving: &Serving,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Candidate>, Error> {
        let embedder = serving.embedder();
        match serving.keeps_vectors() {
            true => self.index.prepare_words()?,
            false => self.index.prepare_search(embedder, progress).map(drop)?,
        }
        Ok(self.index.candidates(&Query {
            text: &search.query,
            filter: &search.filter,
            paths: &search.paths,
            least: search.floor.least(embedder.map(near)),
            embedder,
            limit: SCORED_MAX,
        })?)
    }

    /// Names the entries that contradict a hit and brings along those the search did not find.
    fn bring_opponents(
        &mut self,
        answer: &mut Answer,
        scorer: &mut Scorer<'_>,
        workspace: &Workspace,
    ) -> Result<(), Error> {
        let open = workspace.open_contradictions();
        let mut linked = self
            .index
            .contradicting(answer.hits.iter().map(|hit| hit.entry.id))?;
        let mut missing = BTreeSet::new();
        for hit in &mut answer.hits {
            let mut against = linked.remove(&hit.entry.id).unwrap_or_default();
            against.extend(open.get(&hit.entry.id).into_iter().flatten());
            hit.conflicts = against.into_iter().collect();
            missing.extend(hit.conflicts.iter().copied());
        }
        missing.retain(|id| {
            let withheld = answer.withheld.iter().any(|(it, _)| it == id);
            answer.hit(*id).is_none() && !withheld
        });
        let mut opponents = Vec::with_capacity(missing.len());
        for id in missing {
            opponents.extend(self.index.entry(id)?);
        }
        scorer.validity.extend(self.validity_of(&opponents)?);
        for entry in opponents {
            let against = answer.hits.iter();
            let against = against.filter(|hit| hit.conflicts.contains(&entry.id));
            let against = against.map(|hit| hit.entry.id).collect();
            answer.add(scorer.judge(Candidate::beside(entry)), against);
        }
        answer.keep_eligible_conflicts();
        sort(&mut answer.hits);
        Ok(())
    }
}

impl Answer {
    /// Returns what may be shown of what was found, in no order.
    fn of(served_by: Rung, scorer: &Scorer<'_>, found: Vec<Candidate>) -> Self {
        let mut answer = Self {
            served_by,
            hits: Vec::new(),
            withheld: Vec::new(),
        };
        for candidate in found {
            answer.add(scorer.judge(candidate), Vec::new());
        }
        answer
    }

    /// Adds what was judged to the hits, or to what is withheld.
    fn add(&mut self, judged: Result<Hit, (EntryId, Withheld)>, conflicts: Vec<EntryId>) {
        match judged {
            Ok(hit) => self.hits.push(Hit { conflicts, ..hit }),
            Err(withheld) => self.withheld.push(withheld),
        }
    }

    /// Forgets opponents that are not shown to anybody: a rejected claim contradicts nothing.
    fn keep_eligible_conflicts(&mut self) {
        let there: BTreeSet<EntryId> = self.hits.iter().map(|hit| hit.entry.id).collect();
        for hit in &mut self.hits {
            hit.conflicts.retain(|id| there.contains(id));
        }
    }
}

/// Returns from where on a model's nearness means something.
pub(crate) fn near(embedder: &dyn Embedder) -> Near {
    let Thresholds {
        relevant, strict, ..
    } = embedder.model().thresholds;
    Near { relevant, strict }
}
