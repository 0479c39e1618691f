//! Search: the index returns candidates, the score ranks them.
//!
//! Relevance is decided before the signals are combined. Otherwise the best of several irrelevant
//! candidates would get a high score.

pub(crate) mod query_extraction;
mod stack_frames;
pub(crate) mod unanswered;

use std::sync::Arc;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::retrieval::brief::applies_to_paths;
use ken_core::retrieval::ranking::{
    self, CandidateScorer, ConflictMap, CosineThresholds, MatchThreshold, SearchCandidate,
    SumThresholds, ThreadVisibility,
};
use ken_core::retrieval::score::HiddenReason;
use ken_core::retrieval::surface::{DetailTier, EntrySelection, HitView};
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_index::{
    Backend, CandidateQuery, Embedder, FoundCandidates, IndexError, ModelThresholds, count_tokens,
};
use ken_ledger::layout::KEN_DIR;

use crate::config::RepositoryConfig;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::ENTRIES_DIR;
use crate::model::{self, ActiveModel};
use crate::scoring::WorkspaceWeights;
use crate::validity::{self, WorkTree};
use tracing::field::Empty;

pub use ken_core::retrieval::ranking::{RelevanceFloor, SearchHit, SearchQuery};
pub use ken_core::retrieval::surface::SelectionLimits;
pub use ken_index::UnansweredQuery;
pub use query_extraction::{ExtractedQuery, query_from_file};

/// Maximum number of candidates that are scored; more would not reach the first page.
const CANDIDATES_MAX: usize = 50;

/// Maximum number of entries that are ranked without a query.
const NEWEST_MAX: usize = 200;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// The kind of embedding model that was used.
    pub served_by: Backend,
    /// Best first.
    pub hits: Vec<SearchHit>,
    /// Relevant entries that are not shown, with the reason.
    pub withheld: Vec<(EntryId, HiddenReason)>,
    /// Set if no entry that may be shown is relevant, so that the hits are the nearest, if any.
    pub is_nearest: bool,
}

/// Renders findings within a token budget, best first.
pub(crate) fn render_findings(
    findings: &[HitView<'_>],
    portion: SelectionLimits,
) -> EntrySelection {
    let folder = format!("{KEN_DIR}/{ENTRIES_DIR}");
    EntrySelection::of(findings, &portion.room(&folder, &count_tokens))
}

/// Renders hits within a token budget, best first.
pub(crate) fn render_hits(hits: &[SearchHit], portion: SelectionLimits) -> EntrySelection {
    let findings: Vec<HitView<'_>> = hits.iter().map(SearchHit::as_view).collect();
    render_findings(&findings, portion)
}

impl SearchOutcome {
    /// Returns the result of a search that finds nothing.
    #[must_use]
    pub fn empty(served_by: Backend) -> Self {
        Self {
            served_by,
            hits: Vec::new(),
            withheld: Vec::new(),
            is_nearest: false,
        }
    }

    /// Renders the hits within a token budget.
    #[must_use]
    pub fn page(&self, portion: SelectionLimits) -> EntrySelection {
        render_hits(&self.hits, portion)
    }

    /// Returns the number of tokens of all hits in full length.
    #[must_use]
    pub fn full_token_count(&self) -> usize {
        let all = SelectionLimits {
            cap: self.hits.len(),
            budget: usize::MAX,
            tier: Some(DetailTier::Full),
            role: None,
        };
        self.page(all).tokens
    }

    /// Returns the hit with this id.
    #[must_use]
    pub fn hit(&self, id: EntryId) -> Option<&SearchHit> {
        self.hits.iter().find(|hit| hit.entry.id == id)
    }
}

/// Returns the entries that match a query, best first.
///
/// `progress` receives the number of embedded entries and the total, if some lack vectors.
pub(crate) fn search(
    engine: &mut Engine,
    search: &SearchQuery,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<SearchOutcome, EngineError> {
    let span = tracing::info_span!(
        "search",
        gen_ai.operation.name = "search_memory",
        paths = search.paths.len(),
        hits = Empty,
        withheld = Empty
    );
    let _in = span.enter();
    let mut answer = search_once(engine, search, progress)?;
    if search.or_nearest && answer.hits.is_empty() && !answer.is_nearest {
        // Everything that is relevant is withheld.
        let anything = SearchQuery {
            floor: RelevanceFloor::None,
            ..search.clone()
        };
        answer = search_once(engine, &anything, progress)?;
        answer.is_nearest = true;
    }
    span.record("hits", answer.hits.len());
    span.record("withheld", answer.withheld.len());
    Ok(answer)
}

fn search_once(
    engine: &mut Engine,
    search: &SearchQuery,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<SearchOutcome, EngineError> {
    let (serving, found) = find_candidates(engine, search, progress)?;
    let mut answer = score_candidates(engine, search, serving.backend(), found.candidates)?;
    answer.is_nearest = found.is_nearest;
    Ok(answer)
}

/// Returns the newest entries without a query, ranked by every signal but relevance.
pub(crate) fn rank_newest(
    engine: &mut Engine,
    search: &SearchQuery,
) -> Result<SearchOutcome, EngineError> {
    let newest = EntryFilter {
        memory: Some(Memory::Semantic),
        limit: Some(NEWEST_MAX),
        ..EntryFilter::default()
    };
    let found = engine.index.list(&newest)?.into_iter();
    let found = found.map(SearchCandidate::unmatched).collect();
    score_candidates(engine, search, Backend::None, found)
}

/// Removes the items whose entries the guard would refuse today, and returns those entries.
///
/// Building the rules costs more than a search, so texts that passed are recorded and not scanned
/// again.
fn remove_refused<T>(
    engine: &mut Engine,
    items: &mut Vec<T>,
    entry_of: impl Fn(&T) -> &Entry,
) -> Result<Vec<EntryId>, EngineError> {
    let (mut kept, mut refused, mut passed) = (Vec::new(), Vec::new(), Vec::new());
    for item in items.drain(..) {
        let entry = entry_of(&item);
        let digest = engine.guard.scan_digest(entry);
        let is_scanned = match &digest {
            Some(digest) => engine.index.is_scanned(digest)?,
            None => false,
        };
        if !is_scanned {
            if engine.guard.refuses_entry(entry) {
                refused.push(entry.id);
                continue;
            }
            passed.extend(digest);
        }
        kept.push(item);
    }
    *items = kept;
    engine.index.record_scanned(&passed)?;
    Ok(refused)
}

/// Scores candidates and adds the entries that contradict them.
fn score_candidates(
    engine: &mut Engine,
    search: &SearchQuery,
    served_by: Backend,
    mut found: Vec<SearchCandidate>,
) -> Result<SearchOutcome, EngineError> {
    let workspace = engine.index.workspace()?;
    // The rules may have changed since an entry was admitted, and merges bring in any text.
    let refused = remove_refused(engine, &mut found, |it| &it.entry)?;
    let mut scorer = CandidateScorer {
        search,
        weights: WorkspaceWeights::from_workspace(&workspace).weights,
        workspace: &workspace,
        validity: validity::anchoring::validity_of(engine, found.iter().map(|it| &it.entry))?,
        threads: thread_visibility(engine, &found)?,
        now: engine.now(),
        beside: found.iter().map(|it| it.entry.id).collect(),
    };
    let mut found = found;
    // "Avoid classes" of `web/AGENTS.md` is no rule for `src/main.py`.
    found.retain(|it| applies_to_paths(&it.entry, &search.paths));
    let mut answer = ranking::SearchResults::from_candidates(&scorer, found);
    let refused = refused.into_iter();
    answer
        .withheld
        .extend(refused.map(|id| (id, HiddenReason::Refused)));
    add_contradicting(engine, &mut answer, &mut scorer)?;
    let ranking::SearchResults { mut hits, withheld } = answer;
    ranking::prefer_frames(&mut hits, &search.frames);
    validity::anchoring::add_changing_commits(engine, &mut hits)?;
    // One event per entry considered, for hooks and servers whose answers cannot be explained.
    for hit in &hits {
        tracing::debug!(entry = %hit.entry.id, score = hit.explained.score, "found");
    }
    for (entry, why) in &withheld {
        tracing::debug!(%entry, ?why, "withheld");
    }
    Ok(SearchOutcome {
        served_by,
        hits,
        withheld,
        is_nearest: false,
    })
}

/// Returns the configured visibility of entries that belong to a thread.
fn thread_visibility(
    engine: &Engine,
    found: &[SearchCandidate],
) -> Result<ThreadVisibility, EngineError> {
    // Most searches find no such entry; then the configuration file is not read.
    if found.iter().all(|it| it.entry.thread().is_none()) {
        return Ok(ThreadVisibility::default());
    }
    let config = RepositoryConfig::load_or_default(&WorkTree::new(&engine.place)?);
    Ok(config.search.thread_visibility)
}

/// Returns the candidates and the model that found them: the configured one or its fallback.
fn find_candidates(
    engine: &mut Engine,
    search: &SearchQuery,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Arc<ActiveModel>, FoundCandidates), EngineError> {
    let serving = model::refreshed_model(engine)?;
    match index_candidates(engine, search, &serving, progress) {
        // An endpoint that is down must not break a search: it is repeated with the fallback.
        Err(EngineError::Index(IndexError::Embed(why))) if serving.is_configured() => {
            let serving = model::use_fallback_model(engine, why.to_string())?;
            let found = index_candidates(engine, search, &serving, progress)?;
            Ok((serving, found))
        }
        found => Ok((serving, found?)),
    }
}

/// Returns the threshold that a floor means for a query with the current model.
pub(crate) fn match_threshold(
    engine: &mut Engine,
    floor: RelevanceFloor,
    query: &str,
) -> Result<MatchThreshold, EngineError> {
    let serving = model::active_model(engine)?;
    let entries = engine.index.searchable_entries()?;
    let thresholds = serving.embedder();
    let thresholds = thresholds.map(|it| similarity_thresholds(it, entries));
    Ok(floor.threshold(thresholds, query))
}

fn index_candidates(
    engine: &mut Engine,
    search: &SearchQuery,
    serving: &ActiveModel,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<FoundCandidates, EngineError> {
    let embedder = serving.embedder();
    // `prepare_search` would replace the vectors of a configured model that is only unavailable
    // at the moment.
    if serving.preserves_vectors() {
        engine.index.prepare_words()?;
    } else {
        engine.index.prepare_search(embedder, progress).map(drop)?;
    }
    let entries = engine.index.searchable_entries()?;
    let thresholds = embedder.map(|it| similarity_thresholds(it, entries));
    Ok(engine.index.candidates(&CandidateQuery {
        text: &search.query,
        filter: &search.filter,
        paths: &search.paths,
        names: &search.code_names(),
        other_names: &search.names,
        least: search.floor.threshold(thresholds, &search.query),
        or_nearest: search.or_nearest,
        embedder,
        limit: CANDIDATES_MAX,
    })?)
}

/// Adds entries that contradict a hit, and marks both sides.
fn add_contradicting(
    engine: &mut Engine,
    answer: &mut ranking::SearchResults,
    scorer: &mut CandidateScorer<'_>,
) -> Result<(), EngineError> {
    let hits = answer.hits.iter().map(|hit| hit.entry.id);
    let linked: ConflictMap = engine.index.contradicting(hits)?;
    // Links and flags name entries that the query may not match; rules compare the hits alone.
    let missing = answer.missing_conflicts(&linked, scorer.workspace);
    let mut opponents = Vec::with_capacity(missing.len());
    for id in missing {
        opponents.extend(engine.index.entry(id)?);
    }
    remove_refused(engine, &mut opponents, |it| it)?;
    // The scorer only knows the validity of the candidates it was created with.
    scorer
        .validity
        .extend(validity::anchoring::validity_of(engine, &opponents)?);
    answer.add_opponents(scorer, opponents, &linked);
    Ok(())
}

/// Returns the similarity thresholds of a model for a search among `entries` entries.
fn similarity_thresholds(embedder: &dyn Embedder, entries: usize) -> CosineThresholds {
    let ModelThresholds {
        relevant,
        strict,
        joint,
        sums,
        ..
    } = embedder.model().thresholds;
    CosineThresholds {
        relevant,
        strict,
        joint,
        sums: sums.map(|it| SumThresholds {
            relevant: it.relevant.for_entries(entries),
            strict: it.strict,
        }),
    }
}
