//! Searching: what may answer comes from the index, what deserves to be shown from the score.
//!
//! Whether anything is relevant at all is decided before scores are blended: the best of a bad lot
//! would otherwise look perfect.

mod asked;
mod missed;

use std::sync::Arc;

use ken_core::answer::{self, Against, Candidate, Near, Scorer, ThreadVisibility};
use ken_core::id::EntryId;
use ken_core::score::Withheld;
use ken_core::store::Store as _;
use ken_core::surface::{Finding, Page, Tier};
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
pub use ken_core::surface::Portion;
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

/// Lays findings out, best first.
pub(crate) fn laid_out(findings: &[Finding<'_>], portion: Portion) -> Page {
    let folder = format!("{KEN_DIR}/{ENTRIES_DIR}");
    Page::of(findings, &portion.room(&folder, &count_tokens))
}

/// Lays hits out, best first.
pub(crate) fn page_of(hits: &[Hit], portion: Portion) -> Page {
    let findings: Vec<Finding<'_>> = hits.iter().map(Hit::as_finding).collect();
    laid_out(&findings, portion)
}

impl Answer {
    /// Lays the hits out, as much of them as is wanted.
    #[must_use]
    pub fn page(&self, portion: Portion) -> Page {
        page_of(&self.hits, portion)
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
        let mut answer = answer::Answer::of(&scorer, found);
        self.bring_opponents(&mut answer, &mut scorer)?;
        let answer::Answer { hits, withheld } = answer;
        span.record("hits", hits.len());
        span.record("withheld", withheld.len());
        Ok(Answer {
            served_by: serving.rung(),
            hits,
            withheld,
        })
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
        answer: &mut answer::Answer,
        scorer: &mut Scorer<'_>,
    ) -> Result<(), Error> {
        let hits = answer.hits.iter().map(|hit| hit.entry.id);
        let mut against: Against = self.index.contradicting(hits.clone())?;
        let open = scorer.workspace.open_contradictions();
        for id in hits {
            if let Some(others) = open.get(&id) {
                against.entry(id).or_default().extend(others);
            }
        }
        let missing = answer.missing(&against);
        let mut opponents = Vec::with_capacity(missing.len());
        for id in missing {
            opponents.extend(self.index.entry(id)?);
        }
        scorer.validity.extend(self.validity_of(&opponents)?);
        answer.add(scorer, opponents.into_iter().map(Candidate::beside));
        answer.oppose(&against);
        Ok(())
    }
}

/// Returns from where on a model's nearness means something.
pub(crate) fn near(embedder: &dyn Embedder) -> Near {
    let Thresholds {
        relevant, strict, ..
    } = embedder.model().thresholds;
    Near { relevant, strict }
}
