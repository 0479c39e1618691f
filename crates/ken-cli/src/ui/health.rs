//! Health, statistics and the start page.

use ken_core::health::maintenance::MaintenanceService;
use ken_core::ledger::store::EntryFilter;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Date;
use ken_engine::Engine;
use ken_engine::usage::{UsageCounts, UsageDay};
use ken_ui::view::{
    DayCount, HealthView, HomeView, MaintenanceServiceView, StatsView, TrendSeries, count_statuses,
};

use super::check_cache::CheckCache;
use super::{entries, inbox};
use crate::commands::stats_span;
use crate::failure::CommandFailure;

/// Days of statistics.
const STATS_DAYS: u32 = 30;

/// Days on the start page.
const HOME_DAYS: u32 = 7;

/// Entries on the start page.
const NEWEST: usize = 10;

/// Days of a trend.
const TREND_DAYS: usize = 90;

/// Changes of a service that are previewed.
const PREVIEW_MAX: usize = 20;

/// Rows and columns of the grid of exposures.
const GRID_RUNS: usize = 11;
const GRID_CHANCES: usize = 10;

pub(super) fn home(engine: &mut Engine, checks: &CheckCache) -> Result<HomeView, CommandFailure> {
    let statuses = engine.status_counts()?;
    let open = engine.open_runs()?;
    Ok(HomeView {
        counts: count_statuses(&statuses),
        newest: entries::newest(engine, NEWEST)?,
        open_runs: open
            .iter()
            .map(ken_ui::view::RunSummaryRow::from_notes)
            .collect(),
        changed_files: engine.changed_paths(),
        days: days(engine, HOME_DAYS)?,
        pending: inbox::known_counts(engine, checks)?,
    })
}

fn totals<'a>(days: impl IntoIterator<Item = &'a UsageDay>) -> UsageCounts {
    let mut all = UsageCounts::default();
    for counts in days.into_iter().flat_map(|it| it.by_surface.values()) {
        all.searches += counts.searches;
        all.briefs += counts.briefs;
        all.empty += counts.empty;
        all.shown += counts.shown;
        all.withheld += counts.withheld;
        all.tokens_shown += counts.tokens_shown;
        all.tokens_not_shown += counts.tokens_not_shown;
    }
    all
}

/// Returns the usage of the last days, with days without any.
fn days(engine: &Engine, number: u32) -> Result<Vec<DayCount>, CommandFailure> {
    let today = engine.now().date();
    let first = today.minus_days(number - 1);
    let used = engine.usage_since(first)?;
    let day = |on: Date| {
        let found = totals(used.iter().find(|it| it.date == on));
        let queries = found.searches + found.briefs;
        DayCount {
            on,
            queries,
            answered: queries - found.empty.min(queries),
            shown: found.shown,
        }
    };
    Ok(stats_span(first, today).into_iter().map(day).collect())
}

/// Returns the first day of the statistics.
pub(super) fn first_day(engine: &Engine) -> Date {
    engine.now().date().minus_days(STATS_DAYS - 1)
}

pub(super) fn stats(engine: &mut Engine) -> Result<StatsView, CommandFailure> {
    let first = first_day(engine);
    let all = totals(&engine.usage_since(first)?);
    let feedback = engine.feedback_counts()?;
    let totals = [
        ("searches", all.searches),
        ("briefings", all.briefs),
        ("without a result", all.empty),
        ("entries shown", all.shown),
        ("entries withheld", all.withheld),
        ("tokens shown", all.tokens_shown),
        ("tokens saved", all.tokens_not_shown),
        ("rated helpful", feedback.helpful),
        ("rated unhelpful", feedback.unhelpful),
    ];
    let unanswered = engine.unanswered_queries()?.into_iter();
    Ok(StatsView {
        days: days(engine, STATS_DAYS)?,
        totals: totals
            .map(|(name, number)| (name.to_owned(), number.to_string()))
            .into(),
        unanswered: unanswered
            .map(|it| (it.query, it.times, it.last.date()))
            .collect(),
    })
}

pub(super) fn health(engine: &mut Engine) -> Result<HealthView, CommandFailure> {
    let report = engine.health_report()?;
    let by = engine.actor();
    let mut services = Vec::new();
    for it in report.maintenance.services {
        // The other two compare all entries with each other; the inbox shows what they find.
        let is_quick = matches!(
            it.service,
            MaintenanceService::StaleSweep | MaintenanceService::ConfidenceReset
        );
        let preview = is_quick.then(|| engine.maintenance_preview(it.service, PREVIEW_MAX, &by));
        let preview = preview
            .transpose()?
            .map(|it| it.changes)
            .unwrap_or_default();
        services.push(MaintenanceServiceView {
            name: service_name(it.service),
            title: service_title(it.service).to_owned(),
            is_due: it.due,
            is_automatic: it.automatic,
            last: it.last,
            command: it.command,
            preview: preview
                .into_iter()
                .map(|it| format!("{}: {}", it.entry, it.what))
                .collect(),
        });
    }
    Ok(HealthView {
        at: report.at,
        counts: report.entries,
        insights: report.insights,
        outcomes: report.outcomes,
        escalations: report.escalations,
        recommendations: report.recommendations,
        services,
        trends: trends(engine)?,
        drift: engine.drift()?,
        exposure_grid: exposure_grid(engine)?,
    })
}

/// Returns the name of a service in forms, which is its name in JSON.
fn service_name(service: MaintenanceService) -> String {
    let name = serde_json::to_value(service).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

fn service_title(service: MaintenanceService) -> &'static str {
    match service {
        MaintenanceService::Dedup => "Deduplication",
        MaintenanceService::StaleSweep => "Stale sweep",
        MaintenanceService::Contradiction => "Search for contradictions",
        MaintenanceService::ConfidenceReset => "Reset of stuck confidence",
        MaintenanceService::Forage => "Forager",
    }
}

fn trends(engine: &Engine) -> Result<Vec<TrendSeries>, CommandFailure> {
    let all = engine.health_days()?;
    let all = &all[all.len().saturating_sub(TREND_DAYS)..];
    if all.len() < 2 {
        return Ok(Vec::new());
    }
    let series = |title: &str, value: fn(&ken_engine::health::HealthDay) -> u64| TrendSeries {
        title: title.to_owned(),
        points: all.iter().map(|it| (it.date, value(it) as f64)).collect(),
    };
    Ok(vec![
        series("Live entries", |it| it.by_status.iter().sum()),
        series("Verified entries", |it| {
            it.by_status[EntryStatus::Verified as usize]
        }),
        series("Independent confirmations", |it| it.independent),
        series("Confirmations by people", |it| it.manual),
        series("Problems that require action", |it| it.action_required),
    ])
}

/// Counts live entries by runs since their last confirmation and by chances to find them unseen.
fn exposure_grid(engine: &Engine) -> Result<Vec<Vec<u64>>, CommandFailure> {
    let mut grid = vec![vec![0; GRID_CHANCES]; GRID_RUNS];
    for entry in engine.list(&EntryFilter::default())? {
        let since = entry.exposures_since_confirmation();
        let runs = usize::try_from(since.shown)
            .unwrap_or(usize::MAX)
            .min(GRID_RUNS - 1);
        let chances = usize::try_from(since.blind / 2)
            .unwrap_or(usize::MAX)
            .min(GRID_CHANCES - 1);
        grid[runs][chances] += 1;
    }
    Ok(grid)
}
