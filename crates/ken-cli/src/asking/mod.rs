//! Query facade over the repository's ledger and the global one, shared by every surface.
//!
//! Exposures of agents are recorded before the results are returned. Queries are counted.

mod global;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::agent_texts;
use ken_core::retrieval::surface::{self, EntrySelection, OmissionReason, OmittedEntry};
use ken_core::retrieval::unrecorded::UnrecordedHit;
use ken_core::trust::run::{ExposureChannel, SentConclusion};
use ken_core::values::id::EntryId;
use ken_core::values::time::Date;
use ken_engine::briefing::TaskBriefing;
use ken_engine::runs::EntryReader;
use ken_engine::search::{RelevanceFloor, SearchOutcome, SearchQuery, SelectionLimits};
use ken_engine::usage::{AnswerUsage, QueryKind};
use ken_engine::{Engine, EngineError};

use crate::failure::CommandFailure;
use crate::world::{self, Environment};

pub(crate) use global::{GLOBAL_HEADING, GlobalResults, PEERS_HEADING};

/// A search request.
#[derive(Debug)]
pub(crate) struct SearchRequest {
    pub(crate) search: SearchQuery,
    pub(crate) portion: SelectionLimits,
    /// True if the query is text without filters; those without a good hit are recorded.
    pub(crate) is_in_words: bool,
    /// Use of the hits below the threshold.
    pub(crate) weak: WeakHits,
}

/// Use of the hits below the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WeakHits {
    /// They are not reported.
    Drop,
    /// A person sees the nearest ones if nothing else was found.
    Suggest,
    /// All are listed with the omitted entries.
    Explain,
}

/// The results of a search in the repository's ledger and the global one.
#[derive(Debug)]
pub(crate) struct QueryResults {
    pub(crate) search: SearchQuery,
    pub(crate) answer: SearchOutcome,
    pub(crate) page: EntrySelection,
    pub(crate) global: GlobalResults,
    /// The hits without a threshold, if the request needs them.
    pub(crate) nearest: Option<SearchOutcome>,
    /// True if nothing passed the threshold and a person reads. Agents get no weak hits: an
    /// irrelevant entry in their context costs more than silence.
    pub(crate) suggests_nearest: bool,
    /// Conversations and commits, ranked below all entries.
    pub(crate) unrecorded: Vec<UnrecordedHit>,
    pub(crate) today: Date,
}

/// A briefing from the repository's ledger and the global one.
#[derive(Debug)]
pub(crate) struct BriefingResults {
    pub(crate) brief: TaskBriefing,
    pub(crate) known: EntrySelection,
    pub(crate) global: GlobalResults,
    /// Rendered conclusions that other agents of the run sent to the reader.
    conclusions: String,
}

/// Runs queries for one reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryService<'a> {
    pub(crate) surroundings: &'a Environment,
    /// `None` if a person reads: exposures of people are not recorded.
    pub(crate) reader: Option<&'a EntryReader>,
}

impl QueryService<'_> {
    /// Searches and records the exposures.
    pub(crate) fn search(
        self,
        engine: &mut Engine,
        request: SearchRequest,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<QueryResults, CommandFailure> {
        let SearchRequest {
            mut search,
            portion,
            is_in_words,
            weak,
        } = request;
        // An explicit thread of work wins; otherwise the one of the reader's run applies.
        if let (None, Some(reader)) = (&search.thread, self.reader) {
            search.thread = engine.reader_thread(reader)?;
        }
        let answer = engine.search(&search, progress)?;
        let is_unmatched = answer.hits.is_empty();
        let wants_nearest = match weak {
            WeakHits::Drop => is_unmatched && is_in_words,
            WeakHits::Suggest => is_unmatched,
            WeakHits::Explain => true,
        };
        let nearest = if wants_nearest && search.floor != RelevanceFloor::None {
            let anything = SearchQuery {
                floor: RelevanceFloor::None,
                ..search.clone()
            };
            Some(engine.search(&anything, progress)?)
        } else {
            None
        };
        if is_in_words {
            // A failure to record a missed query must not fail the search.
            let _ = engine.record_unanswered(
                &search,
                &answer,
                nearest.as_ref().filter(|_| is_unmatched),
            );
        }
        let mut page = answer.page(portion);
        if let (WeakHits::Explain, Some(nearest)) = (weak, &nearest) {
            let below = nearest.hits.iter().map(|hit| hit.entry.id);
            page.left_out
                .extend(
                    below
                        .filter(|id| answer.hit(*id).is_none())
                        .map(|id| OmittedEntry {
                            id,
                            why: OmissionReason::Threshold,
                        }),
                );
        }
        let local = (&answer, &page);
        let global = global::query_global(self.surroundings, engine, &search, local, portion);
        // Recorded before the results leave this function: an unrecorded exposure would let the
        // agent confirm the entry as independent.
        if let Some(reader) = self.reader {
            let shown = page.shown.iter().chain(global.shown()).map(|it| it.id);
            engine.record_exposures(
                reader,
                &shown.collect::<Vec<EntryId>>(),
                ExposureChannel::Pull,
            )?;
        }
        self.count(engine, (QueryKind::Search, &answer), vec![&page], &global);
        let unrecorded = find_unrecorded(engine, &search, is_in_words);
        let is_silent = page.shown.is_empty() && global.shown().is_empty();
        let suggests_nearest = is_silent && weak != WeakHits::Drop && self.reader.is_none();
        Ok(QueryResults {
            search,
            answer,
            page,
            global,
            nearest,
            suggests_nearest,
            unrecorded,
            today: engine.now().date(),
        })
    }

    /// Builds a briefing and records the exposures.
    pub(crate) fn brief(
        self,
        engine: &mut Engine,
        mut search: SearchQuery,
        portion: SelectionLimits,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<BriefingResults, CommandFailure> {
        if let (None, Some(reader)) = (&search.thread, self.reader) {
            search.thread = engine.reader_thread(reader)?;
        }
        let mut brief = engine.brief(&search, progress)?;
        let known = engine.render_briefing(&mut brief, portion, self.reader)?;
        let local = (&brief.results, &known);
        let global = global::query_global(self.surroundings, engine, &search, local, portion);
        // `render_briefing` recorded the local entries; the global ones are recorded here.
        if let Some(reader) = self.reader {
            let shown: Vec<EntryId> = global.shown().iter().map(|it| it.id).collect();
            engine.record_exposures(reader, &shown, ExposureChannel::Brief)?;
        }
        let conclusions = self.conclusions(engine)?;
        let pages = vec![&brief.norms, &known];
        self.count(engine, (QueryKind::Brief, &brief.results), pages, &global);
        Ok(BriefingResults {
            brief,
            known,
            global,
            conclusions,
        })
    }
}

/// Searches conversations and commits. They are a lower tier: a failure must not fail the search.
fn find_unrecorded(engine: &Engine, search: &SearchQuery, is_in_words: bool) -> Vec<UnrecordedHit> {
    // A filter asks for entries.
    let is_plain = is_in_words && search.filter == EntryFilter::default();
    let Some(home) = world::conversation_home().filter(|_| is_plain) else {
        return Vec::new();
    };
    match engine.search_unrecorded(&home, &search.query) {
        Ok(hits) => hits,
        Err(error) => {
            tracing::warn!(%error, "conversations and commits were not searched");
            Vec::new()
        }
    }
}

/// Refuses to show a quarantined entry to an agent: it may contain an injection, so only a person
/// reads it before its release.
pub(crate) fn ensure_released(entry: &Entry) -> Result<(), CommandFailure> {
    if entry.quarantine.is_empty() {
        return Ok(());
    }
    let id = entry.id;
    let message = format!("{id} is quarantined: no person has released it yet");
    let hint =
        format!("a person can release it: `ken guard quarantine release {id} --reason TEXT`");
    Err(CommandFailure::refused("quarantined", message).with_hint(hint))
}

/// Finds an entry by id in the repository's ledger or else in the global one or a peer's, and calls
/// `describe` with the engine that contains it.
pub(crate) fn with_entry<T>(
    environment: &Environment,
    engine: &mut Engine,
    id: &str,
    describe: impl FnOnce(&mut Engine, Entry) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let found = engine.find(id);
    // Only "not found" falls through: an ambiguous id must be reported, not resolved elsewhere.
    if let Err(EngineError::NotFound(_)) = &found {
        if let Some(mut global) = environment.open_global()?
            && let Ok(entry) = global.find(id)
        {
            return describe(&mut global, entry);
        }
        for mut peer in environment.open_peers()? {
            // Only what a person approved: waiting wordings are read with `ken remote peer review`.
            if let Ok(entry) = peer.engine.find(id)
                && let Ok(entry) = peer.shown_entry(entry.id)
            {
                return describe(&mut peer.engine, entry);
            }
        }
    }
    let entry = found?;
    describe(engine, entry)
}

impl QueryService<'_> {
    /// Renders the conclusions that other agents of the run sent to the reader, and records that
    /// the reader knows of the entries behind them.
    fn conclusions(self, engine: &mut Engine) -> Result<String, CommandFailure> {
        let Some(reader) = self.reader else {
            return Ok(String::new());
        };
        let Some(run) = engine.open_run_for(reader)? else {
            return Ok(String::new());
        };
        let sent = run.conclusions_for(&reader.agent);
        let cites = SentConclusion::cited_entries(&sent);
        engine.record_exposures(reader, &cites, ExposureChannel::Told)?;
        Ok(surface::render_conclusions(&sent))
    }

    /// Counts a query whose results were shown on `pages` and in the global results.
    fn count<'p>(
        self,
        engine: &Engine,
        (kind, answer): (QueryKind, &SearchOutcome),
        mut pages: Vec<&'p EntrySelection>,
        global: &'p GlobalResults,
    ) {
        pages.extend(global.overlay.as_ref().map(|it| &it.page));
        let answered = AnswerUsage::from_answer(kind, answer, &pages);
        engine.count_answer(self.surroundings.surface, answered);
    }
}

impl BriefingResults {
    /// Renders the briefing for an agent.
    pub(crate) fn text(&self) -> String {
        let all = self.global.beside(self.known.clone());
        let served_by = self.brief.results.served_by.name();
        let render = if self.brief.is_overview {
            surface::render_overview_block
        } else {
            surface::render_briefing_block
        };
        let mut text = render(&self.brief.norms, &all, served_by);
        let withheld = self.brief.results.withheld.iter();
        match withheld.filter(|(_, why)| why.is_about_code()).count() {
            0 => {}
            count => {
                text.push_str(&agent_texts::withheld_line(count));
                text.push('\n');
            }
        }
        text + &self.conclusions
    }
}
