//! Briefings: the norms for the files in hand, the most relevant entries, and insights on the
//! workspace's health.

use ken_core::health::{HealthInsight, evaluate_rules};
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::brief::{
    HoldoutResult, apply_holdout, drop_norms_and_unproven_hits, select_norms,
};
use ken_core::retrieval::ranking::{SearchQuery, SearchResults};
use ken_core::retrieval::score::ReaderRole as Work;
use ken_core::retrieval::surface::{self, EntrySelection, SelectionLimits};
use ken_core::trust::run::{ExposureChannel, SentConclusion};
use ken_core::values::kind::Memory;

use super::search::{RankingScale, render_findings, render_hits, served_by};
use super::{EntryReader, OrganizationHits, ServiceError, WorkspaceSession};

/// Maximum number of norms read per briefing.
const NORMS_READ_MAX: u32 = 500;

/// Input of a briefing.
#[derive(Clone, Debug)]
pub struct BriefingRequest {
    pub reader: EntryReader,
    /// Description of the upcoming work; may be empty.
    pub task: String,
    /// Files and folders about to be worked on.
    pub paths: Vec<String>,
    pub role: Option<Work>,
}

/// Contents of a briefing.
#[derive(Clone, Debug)]
pub struct WorkspaceBriefing {
    /// One line per norm; norms about the given paths come first.
    pub norms: EntrySelection,
    /// The relevant entries, without norms.
    pub entries: EntrySelection,
    pub organization_hits: OrganizationHits,
    /// Rendered conclusions that other agents of the run sent to the reader.
    pub conclusions: String,
    /// Results of the health rules, most severe first.
    pub insights: Vec<HealthInsight>,
}

impl WorkspaceBriefing {
    /// Returns the briefing as the context block an agent receives.
    #[must_use]
    pub fn text(&self) -> String {
        let known = self.organization_hits.append_to(self.entries.clone());
        surface::render_briefing_block(&self.norms, &known, served_by()) + &self.conclusions
    }
}

/// Builds a briefing and records its entries as exposures.
///
/// In an explicitly opened run, a random holdout withholds some entries from some agents. Only an
/// agent from which an entry was withheld can find it independently.
pub async fn brief(
    session: &mut WorkspaceSession,
    request: BriefingRequest,
) -> Result<WorkspaceBriefing, ServiceError> {
    let BriefingRequest {
        reader,
        task,
        paths,
        role,
    } = request;
    let mut reader_context = session.resolve_reader(&reader).await?;
    // The run's name seeds the sampling, so every agent of a run draws the same ranking.
    let seed = reader.run.clone();
    let mut search = SearchQuery::for_briefing(&task, paths, role, seed);
    let run = session.load_context_run(&mut reader_context).await?;
    search.thread = run.and_then(|run| run.thread.clone());
    let sent = run.map(|run| run.conclusions_for(&reader.agent));
    let sent = sent.unwrap_or_default();
    let conclusions = surface::render_conclusions(&sent);
    let cited = SentConclusion::cited_entries(&sent);
    let portion = SelectionLimits {
        role,
        ..SelectionLimits::default()
    };
    let SearchResults { mut hits, .. } = session
        .rank_candidates(&search, RankingScale::Workspace)
        .await?;
    let policy = session.review_policy().await?.rediscovery;
    let unsaid = drop_norms_and_unproven_hits(&mut hits, &policy);
    let norms = session.load_norms(&search.paths).await?;
    let entries = hits.iter().map(|hit| &hit.entry);
    let offers = session.draw_holdout(&mut reader_context, entries).await?;
    let lay_out = |hits: &[_]| render_hits(hits, portion);
    let HoldoutResult {
        page: known,
        shown,
        offers,
        passed,
    } = apply_holdout(&mut hits, offers, &unsaid, lay_out);
    let beside = session
        .search_organization(&search, (&hits, &known), portion)
        .await?;
    let global_ids = beside.shown().iter().map(|it| it.id);
    let local_ids = norms.ids().into_iter().chain(shown);
    let shown: Vec<_> = local_ids.chain(global_ids).collect();
    session
        .record_exposures(&reader_context, &shown, ExposureChannel::Brief)
        .await?;
    session
        .record_exposures(&reader_context, &cited, ExposureChannel::Told)
        .await?;
    session
        .record_holdout(&reader_context, offers, passed)
        .await?;
    let facts = session.health_facts().await?;
    Ok(WorkspaceBriefing {
        norms,
        entries: known,
        organization_hits: beside,
        conclusions,
        // The rules compare up to two thousand entries pairwise, too long for an async worker
        // thread.
        insights: crate::blocking::run_blocking(move || evaluate_rules(&facts)).await?,
    })
}

/// Returns the norms that apply to the whole workspace or to `paths`, and records them as
/// exposures.
pub async fn show_norms(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    paths: &[String],
) -> Result<EntrySelection, ServiceError> {
    let reader_context = session.resolve_reader(reader).await?;
    let norms = session.load_norms(paths).await?;
    session
        .record_exposures(&reader_context, &norms.ids(), ExposureChannel::Pull)
        .await?;
    Ok(norms)
}

impl WorkspaceSession {
    /// Loads the norms that apply to the whole workspace or to `paths`.
    pub(super) async fn load_norms(
        &mut self,
        paths: &[String],
    ) -> Result<EntrySelection, ServiceError> {
        let filter = EntryFilter {
            memory: Some(Memory::Procedural),
            ..EntryFilter::default()
        };
        let workspace = self.workspace().await?;
        let mut listed = self.tx.list(&filter, None, Some(NORMS_READ_MAX)).await?;
        let overlays = self.personal_overlays().await?;
        listed.iter_mut().for_each(|it| overlays.apply(it));
        Ok(select_norms(
            listed,
            &workspace,
            paths,
            self.now,
            render_findings,
        ))
    }
}
