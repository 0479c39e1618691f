//! Briefing: the norms that apply to a task and the most relevant entries.

use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::brief::{
    HoldoutResult, apply_holdout, drop_norms_and_unproven_hits, select_norms,
};
use ken_core::retrieval::surface::{DetailTier, EntrySelection};
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use tracing::field::Empty;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::health::{self, report::LEDGER_BYTES_ON_BRIEF_MAX};
use crate::runs::{self, EntryReader};
use crate::search::{
    SearchOutcome, SearchQuery, SelectionLimits, rank_newest, render_findings, render_hits,
};

/// The entries an agent receives before it starts work.
#[derive(Clone, Debug)]
pub struct TaskBriefing {
    /// One line per norm; those about the given paths come first.
    pub norms: EntrySelection,
    /// Search results without norms.
    pub results: SearchOutcome,
    /// Relevant entries without enough independent evidence; shown only to readers that search.
    pub unproven_entries: Vec<EntryId>,
    /// Set if neither a task nor paths were given and no entry is about the changed files. Then
    /// the results are the best entries of all.
    pub is_overview: bool,
}

/// Returns the briefing for a task described by `search`.
pub(crate) fn brief(
    engine: &mut Engine,
    search: &SearchQuery,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<TaskBriefing, EngineError> {
    let span = tracing::info_span!(
        "brief",
        gen_ai.operation.name = "search_memory",
        hits = Empty,
        norms = Empty
    );
    let _in = span.enter();
    let mut known = engine.search(search, progress)?;
    let policy = engine.review_policy()?.rediscovery;
    let mut unsaid = drop_norms_and_unproven_hits(&mut known.hits, &policy);
    // The reader asked for nothing in particular, so an overview is more useful than silence.
    let is_unspecific = search.query.trim().is_empty() && !search.is_about_paths;
    let is_overview = is_unspecific && known.hits.is_empty();
    if is_overview {
        known = rank_newest(engine, search)?;
        unsaid = drop_norms_and_unproven_hits(&mut known.hits, &policy);
    }
    let norms = engine.norms_for(&search.paths)?;
    health::report::update_small_health_report(engine, LEDGER_BYTES_ON_BRIEF_MAX);
    span.record("hits", known.hits.len());
    span.record("norms", norms.shown.len());
    Ok(TaskBriefing {
        norms,
        results: known,
        unproven_entries: unsaid,
        is_overview,
    })
}

/// Renders a briefing for `reader`, applies the holdout, and records the exposures.
///
/// In a run, some entries are withheld from some agents at random: only those agents can
/// confirm them independently.
pub(crate) fn render_briefing(
    engine: &mut Engine,
    brief: &mut TaskBriefing,
    portion: SelectionLimits,
    reader: Option<&EntryReader>,
) -> Result<EntrySelection, EngineError> {
    let portion = if brief.is_overview {
        // One line each: nobody asked for one of them in particular.
        SelectionLimits {
            tier: Some(DetailTier::Summary),
            ..portion
        }
    } else {
        portion
    };
    // Without a reader there is no run to record exposures in, so nothing is withheld.
    let Some(reader) = reader else {
        return Ok(brief.results.page(portion));
    };
    let TaskBriefing {
        norms,
        results: known,
        unproven_entries: unsaid,
        ..
    } = brief;
    let offers =
        runs::reader::assign_holdout(engine, reader, known.hits.iter().map(|hit| &hit.entry))?;
    let lay_out = |hits: &[_]| render_hits(hits, portion);
    let HoldoutResult {
        page,
        shown,
        offers,
        passed,
    } = apply_holdout(&mut known.hits, offers, unsaid, lay_out);
    // Norms are never withheld: they apply to every agent.
    let exposed = [norms.ids(), shown].concat();
    engine.record_exposures(reader, &exposed, ExposureChannel::Brief)?;
    runs::reader::record_offers(engine, reader, offers, passed)?;
    Ok(page)
}

/// Returns the norms that apply to the whole repository or to `paths`.
pub(crate) fn norms_for(engine: &Engine, paths: &[String]) -> Result<EntrySelection, EngineError> {
    let filter = EntryFilter {
        memory: Some(Memory::Procedural),
        ..EntryFilter::default()
    };
    let workspace = engine.workspace()?;
    let norms = engine.index.list(&filter)?;
    Ok(select_norms(
        norms,
        &workspace,
        paths,
        engine.now(),
        render_findings,
    ))
}
