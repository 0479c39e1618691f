//! Search: candidates come from the store, ranking from `ken_core`, and hits of other workspaces
//! follow those of this one.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::json::SearchResult;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::retrieval::ranking::{
    CandidateScorer, CosineThresholds, ForeignHit, SearchHit, SearchQuery, SearchResults,
    ThreadVisibility, merge_foreign_hits,
};
use ken_core::retrieval::score::{HiddenReason, RankingWeights};
use ken_core::retrieval::surface::{EntrySelection, HitView, SelectionLimits};
use ken_core::trust::contradiction::unresolved::live_opponents;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_embed::{Backend, count_tokens};

use super::session::ensure_workspace_access;
use super::{EntryReader, OrganizationHits, ServiceContext, ServiceError, WorkspaceSession};
use crate::database::HubDatabase;
use crate::identity::AuthenticatedCaller;
use crate::ids::WorkspaceId;
use crate::store::{StoreQuery, embedding_model};

/// Candidates that are scored; lower-ranked ones would not reach the first page.
const SCORED_MAX: u32 = 50;

/// Directory of entry files in a repository. A truncated entry refers to its file there.
const ENTRIES_DIR: &str = ".ken/entries";

/// Cost from which a search counts as expensive: more words, paths and filters than a question has,
/// as in an error log.
const EXPENSIVE_COST: usize = 24;

/// Returns whether a search is so expensive that only a few may run at the same time.
#[must_use]
pub fn is_expensive(search: &SearchQuery) -> bool {
    query(search).cost() > EXPENSIVE_COST
}

/// Scale of the scores of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankingScale {
    /// Relative to the other entries of the workspace, with the weights of the workspace.
    Workspace,
    /// Independent of the workspace, so that hits of several workspaces compare.
    Organization,
}

/// A search, its token budget and its reader.
#[derive(Clone, Debug)]
pub struct HubSearchRequest {
    pub search: SearchQuery,
    pub portion: SelectionLimits,
    pub reader: EntryReader,
}

/// Result of a search in the workspace and in its organization.
#[derive(Clone, Debug)]
pub struct HubSearchResult {
    pub search: SearchQuery,
    /// Best first.
    pub hits: Vec<SearchHit>,
    /// Relevant entries that are not shown, with the reason.
    pub withheld: Vec<(EntryId, HiddenReason)>,
    pub page: EntrySelection,
    pub organization_hits: OrganizationHits,
}

/// Renders findings, best first, within a token budget.
pub(super) fn render_findings(
    findings: &[HitView<'_>],
    portion: SelectionLimits,
) -> EntrySelection {
    EntrySelection::of(findings, &portion.room(ENTRIES_DIR, &count_tokens))
}

/// Renders hits, best first, within a token budget.
pub(super) fn render_hits(hits: &[SearchHit], portion: SelectionLimits) -> EntrySelection {
    let findings: Vec<HitView<'_>> = hits.iter().map(SearchHit::as_view).collect();
    render_findings(&findings, portion)
}

impl HubSearchResult {
    /// Returns the result in the form that is serialized to JSON.
    #[must_use]
    pub fn to_response(&self) -> SearchResult<'_> {
        let beside = self.organization_hits.page.as_ref();
        SearchResult {
            query: &self.search.query,
            served_by: served_by(),
            hits: &self.hits,
            withheld: &self.withheld,
            page: &self.page,
            global: beside.map(|page| (self.organization_hits.hits.as_slice(), page)),
        }
    }
}

/// Searches the workspace and its organization, and records the exposures.
pub async fn search(
    session: &mut WorkspaceSession,
    question: HubSearchRequest,
) -> Result<HubSearchResult, ServiceError> {
    let HubSearchRequest {
        mut search,
        portion,
        reader,
    } = question;
    let mut reader_context = session.resolve_reader(&reader).await?;
    if search.thread.is_none() {
        let run = session.load_context_run(&mut reader_context).await?;
        search.thread = run.and_then(|it| it.thread.clone());
    }
    let SearchResults { hits, withheld } = session
        .rank_candidates(&search, RankingScale::Workspace)
        .await?;
    let page = render_hits(&hits, portion);
    let beside = session
        .search_organization(&search, (&hits, &page), portion)
        .await?;
    let shown = page.shown.iter().chain(beside.shown()).map(|it| it.id);
    let shown: Vec<EntryId> = shown.collect();
    session
        .record_exposures(&reader_context, &shown, ExposureChannel::Pull)
        .await?;
    Ok(HubSearchResult {
        search,
        hits,
        withheld,
        page,
        organization_hits: beside,
    })
}

/// Searches the workspace only, drops hits that `keep` rejects, and records the exposures.
pub async fn search_filtered(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    search: &SearchQuery,
    portion: SelectionLimits,
    keep: impl Fn(&SearchHit) -> bool,
) -> Result<EntrySelection, ServiceError> {
    let reader_context = session.resolve_reader(reader).await?;
    let SearchResults { mut hits, .. } = session
        .rank_candidates(search, RankingScale::Workspace)
        .await?;
    hits.retain(keep);
    let page = render_hits(&hits, portion);
    session
        .record_exposures(&reader_context, &page.ids(), ExposureChannel::Pull)
        .await?;
    Ok(page)
}

impl WorkspaceSession {
    /// Begins a search. The query travels in the message that begins the transaction, which saves a
    /// round trip.
    pub async fn begin_search(
        database: &HubDatabase,
        services: &ServiceContext,
        caller: AuthenticatedCaller,
        workspace: WorkspaceId,
        search: &SearchQuery,
    ) -> Result<Self, ServiceError> {
        ensure_workspace_access(&caller, workspace)?;
        let query = query(search);
        let tx = database.begin_search(caller.organization, workspace, &query);
        Ok(Self::with_tx(tx.await?, services, caller))
    }

    /// Returns the ranked hits of this workspace, each with the entries that contradict it.
    pub(super) async fn rank_candidates(
        &mut self,
        search: &SearchQuery,
        scale: RankingScale,
    ) -> Result<SearchResults, ServiceError> {
        let mut found = self.tx.candidates(&query(search)).await?;
        let overlays = self.personal_overlays().await?;
        found
            .iter_mut()
            .for_each(|it| overlays.apply(&mut it.entry));
        // The rules may have changed since an entry was admitted.
        let guard = &self.services.guard;
        let refused = found.extract_if(.., |it| guard.refuses_entry(&it.entry));
        let refused: Vec<EntryId> = refused.map(|it| it.entry.id).collect();
        let workspace = self.workspace().await?;
        let weights = match scale {
            RankingScale::Workspace => RankingWeights::from_workspace(&workspace),
            RankingScale::Organization => {
                let blend = embedding_model().blend;
                found
                    .iter_mut()
                    .for_each(|it| it.relevance = it.absolute_relevance(blend));
                None
            }
        };
        let scorer = CandidateScorer {
            search,
            weights: weights.unwrap_or_default(),
            workspace: &workspace,
            // A hub has no source code to verify anchors against.
            validity: BTreeMap::new(),
            threads: ThreadVisibility::default(),
            now: self.now,
            beside: found.iter().map(|it| it.entry.id).collect(),
        };
        let mut answer = SearchResults::from_candidates(&scorer, found);
        let withheld = refused.into_iter().map(|id| (id, HiddenReason::Refused));
        answer.withheld.extend(withheld);
        let ids: Vec<EntryId> = answer.hits.iter().map(|hit| hit.entry.id).collect();
        let linked = self.tx.contradicting(&ids).await?;
        let missing = answer.missing_conflicts(&linked, &workspace);
        let missing: Vec<EntryId> = missing.into_iter().collect();
        let mut opponents = Vec::new();
        if !missing.is_empty() {
            opponents = self.tx.entries(&missing).await?;
            opponents.iter_mut().for_each(|it| overlays.apply(it));
            opponents.sort_by_key(|it| it.id);
            let guard = &self.services.guard;
            opponents.retain(|it| !guard.refuses_entry(it));
        }
        answer.add_opponents(&scorer, opponents, &linked);
        Ok(answer)
    }

    /// Returns the live entries that contradict `entry`: by a link, or by a flag that still stands.
    pub(super) async fn load_opponents(
        &mut self,
        entry: &Entry,
        workspace: &WorkspaceState,
    ) -> Result<BTreeSet<EntryId>, ServiceError> {
        let mut linked = self.tx.contradicting(&[entry.id]).await?;
        let linked = linked.remove(&entry.id).unwrap_or_default();
        let mut flagged = workspace.open_contradictions();
        let flagged = flagged.remove(&entry.id).unwrap_or_default();
        let others: Vec<EntryId> = linked.union(&flagged).copied().collect();
        let others = self.tx.entries(&others).await?;
        Ok(live_opponents(entry, &others, &linked, workspace))
    }

    /// Searches the organization's other workspaces and its peers, within the token budget that
    /// this workspace's page left.
    pub(super) async fn search_organization(
        &mut self,
        search: &SearchQuery,
        (local, page): (&[SearchHit], &EntrySelection),
        portion: SelectionLimits,
    ) -> Result<OrganizationHits, ServiceError> {
        let left = portion.remaining_after(page);
        // Without query text, all entries of the organization would be equally relevant.
        if left.cap == 0 || search.query.trim().is_empty() {
            return Ok(OrganizationHits::default());
        }
        let global_search = search.elsewhere();
        let found = self.tx.global_candidates(&query(&global_search)).await?;
        // Row-level security hides the settings of other workspaces, so defaults apply. Entries of
        // revoked authors are already excluded when an entry is published to the organization.
        let defaults = WorkspaceState::default();
        let scorer = CandidateScorer {
            search: &global_search,
            weights: RankingWeights::default(),
            workspace: &defaults,
            validity: BTreeMap::new(),
            threads: ThreadVisibility::default(),
            now: self.now,
            beside: BTreeSet::new(),
        };
        let judged = found.into_iter();
        let judged = judged.filter_map(|it| scorer.score(it.candidate).ok());
        let mut others: Vec<ForeignHit> = judged.map(ForeignHit::global).collect();
        let foreign = self
            .search_peers(&scorer, &query(&global_search), local)
            .await?;
        others.extend(foreign.hits);
        let hits = merge_foreign_hits(local, others);
        let global_page = render_hits(&hits, left);
        if !page.admits(&global_page, left) {
            return Ok(OrganizationHits::default());
        }
        Ok(OrganizationHits {
            hits,
            page: Some(global_page),
            sources: foreign.sources,
            competing: foreign.competing,
        })
    }
}

/// Returns the name of the embedding model in use: the built-in table.
#[must_use]
pub fn served_by() -> &'static str {
    Backend::Static.name()
}

fn query(search: &SearchQuery) -> StoreQuery<'_> {
    StoreQuery {
        text: &search.query,
        filter: &search.filter,
        paths: &search.paths,
        least: search
            .floor
            .threshold(Some(cosine_thresholds()), &search.query),
        limit: SCORED_MAX,
    }
}

/// Returns the cosine thresholds of the built-in model.
fn cosine_thresholds() -> CosineThresholds {
    let thresholds = embedding_model().thresholds;
    CosineThresholds {
        relevant: thresholds.relevant,
        strict: thresholds.strict,
        // A hub ranks with another keyword index, for which the sums were not measured.
        joint: thresholds.joint,
        sums: None,
    }
}
