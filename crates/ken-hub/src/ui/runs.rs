//! Runs, briefings, impact, health and statistics of a workspace.

use std::collections::BTreeMap;

use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::score::ReaderRole;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_ui::address::{BriefQuery, RunListQuery};
use ken_ui::view::{
    BriefView, HealthView, ImpactView, RUNS_PER_PAGE, RunListView, RunSummaryRow, RunView,
    StatsView, count_statuses,
};

use super::source::WorkspaceSource;
use crate::service::{self, BriefingRequest, ReportPeriod, ServiceError, WorkspaceSession};

/// Period of the statistics.
const STATS_PERIOD: &str = "30d";

pub(super) async fn runs(
    session: &mut WorkspaceSession,
    query: &RunListQuery,
) -> Result<RunListView, ServiceError> {
    let mut ended = service::list_past_runs(session).await?;
    if let Some(outcome) = &query.outcome {
        ended.retain(|it| it.outcome_label() == outcome.as_str());
    }
    let ended_total = ended.len() as u64;
    let open = if query.outcome.is_none() {
        service::list_open_runs(session).await?
    } else {
        Vec::new()
    };
    let skip = query.skip.unwrap_or_default() as usize;
    let page = ended.iter().skip(skip).take(RUNS_PER_PAGE as usize);
    Ok(RunListView {
        open: open.iter().map(RunSummaryRow::from_notes).collect(),
        ended: page.map(|it| RunSummaryRow::from_past(it, None)).collect(),
        ended_total,
    })
}

pub(super) async fn run(session: &mut WorkspaceSession, id: &str) -> Result<RunView, ServiceError> {
    let details = service::show_run(session, id).await?;
    let row = match (&details.notes, &details.past) {
        (Some(notes), _) => RunSummaryRow::from_notes(notes),
        (None, Some(past)) => RunSummaryRow::from_past(past, None),
        (None, None) => {
            let (what, wanted) = ("run", id.to_owned());
            return Err(ServiceError::NotFound { what, wanted });
        }
    };
    Ok(RunView {
        row,
        notes: details.notes,
        records: details.records,
        past: details.past,
        effects: details.effects,
        titles: details.titles,
    })
}

pub(super) async fn impact(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<ImpactView, ServiceError> {
    let report = service::measure_impacts(session, &source.reader()?).await?;
    Ok(ImpactView {
        all: report.all,
        entries: report.entries,
        // The hub does not evaluate what hooks observed; every clone does.
        observed: None,
        titles: BTreeMap::new(),
    })
}

/// Returns the briefing that an agent would receive. A person reads it, so nothing is recorded.
pub(super) async fn brief(
    source: &WorkspaceSource,
    session: &mut WorkspaceSession,
    query: &BriefQuery,
) -> Result<BriefView, ServiceError> {
    if query.task.is_empty() && query.path.is_empty() {
        return Ok(BriefView::default());
    }
    let paths = query.path.split_whitespace().map(ToOwned::to_owned);
    let request = BriefingRequest {
        reader: source.reader()?,
        task: query.task.clone(),
        paths: paths.collect(),
        role: ReaderRole::from_name(&query.role),
    };
    let briefing = service::brief(session, request).await?;
    let ids = briefing.entries.shown.iter().map(|it| it.id).collect();
    let titles = service::load_titles(session, &ids).await?;
    let titled = |id: EntryId| (id, titles.get(&id).cloned().unwrap_or_default());
    let left_out = briefing.entries.left_out.iter();
    Ok(BriefView {
        tokens: briefing.entries.tokens,
        shown: briefing
            .entries
            .shown
            .iter()
            .map(|it| titled(it.id))
            .collect(),
        left_out: left_out.map(|it| (it.id, enum_label(&it.why))).collect(),
        text: Some(briefing.text()),
    })
}

pub(super) async fn health(
    _source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<HealthView, ServiceError> {
    let report = service::report_health(session).await?;
    let facets = service::count_facets(session, &EntryFilter::default()).await?;
    Ok(HealthView {
        at: session.now(),
        counts: count_statuses(&facets.statuses),
        insights: report.insights,
        outcomes: report.outcomes,
        escalations: report.escalations,
        recommendations: report.recommendations,
        // Maintenance runs in a clone, which has the code.
        services: Vec::new(),
        trends: Vec::new(),
        drift: Vec::new(),
        exposure_grid: Vec::new(),
    })
}

/// Returns the outcomes of the last month. A hub counts no queries.
pub(super) async fn stats(
    _source: &WorkspaceSource,
    session: &mut WorkspaceSession,
) -> Result<StatsView, ServiceError> {
    let period: ReportPeriod = STATS_PERIOD.parse().expect("the period is valid");
    let report = service::report_outcomes(session, period).await?.all;
    let rate = report.success_rate;
    let totals = [
        ("runs in 30 days", report.runs.to_string()),
        ("succeeded", report.succeeded.to_string()),
        ("failed", report.failed.to_string()),
        ("abandoned", report.abandoned.to_string()),
        (
            "success rate",
            rate.map_or_else(|| "unknown".to_owned(), |it| format!("{:.0} %", it * 100.0)),
        ),
        ("entries shown", report.entries_accessed.to_string()),
        ("entries created", report.entries_extracted.to_string()),
    ];
    Ok(StatsView {
        days: Vec::new(),
        totals: totals.map(|(name, value)| (name.to_owned(), value)).into(),
        unanswered: Vec::new(),
    })
}
