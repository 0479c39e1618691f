//! Health, impact and statistics.

use ken_core::health::InsightSeverity;
use ken_core::trust::outcome::effect::{EffectReport, ObservedEffect};
use ken_core::values::text::enum_label;
use maud::{Markup, html};

use crate::component::chart::{bar_chart, impact_row, impact_text};
use crate::component::{
    command, count, counted, disclosure, empty, entry_link, post_form, submit, time,
};
use crate::frame::{PageContent, PageContext};
use crate::untrusted::UntrustedText;
use crate::view::{HealthView, ImpactView, MaintenanceServiceView, StatsView};

/// Entries in the forest plot.
const IMPACTS_SHOWN: usize = 100;

pub(crate) fn health_page(context: &PageContext<'_>, view: &HealthView) -> PageContent {
    let body = html! {
        div.page-head { h1 { "Health" } span.muted { "as of " (time(view.at)) } }
        div.numbers { @for (status, number) in &view.counts { div { strong { (count(*number)) } " " span.muted { (status) } } }
            div { strong { (view.outcomes.succeeded) " of " (view.outcomes.runs) } " " span.muted { "runs succeeded lately" } } }
        (insights(context, view))
        section { h2 { "Maintenance" } div.three { @for service in &view.services { (service_card(context, service)) } } }
        @if !view.trends.is_empty() {
            section { h2 { "Trends" } div.three { @for series in &view.trends {
                @let bars: Vec<(String, f64)> = series.points.iter().map(|(day, value)| (day.to_string(), *value)).collect();
                div.card { h3 { (series.title) } (bar_chart(&series.title, &bars))
                    details { summary { "As a table" } div.scroll tabindex="0" role="region" aria-label=(series.title) { table.list { tbody { @for (day, value) in &series.points { tr { th scope="row" { (day) } td.num { (value) } } } } } } } }
            } } }
        }
        (grid(view))
        @if !view.drift.is_empty() {
            section { h2 { "Drift" } ul { @for finding in &view.drift {
                li { (UntrustedText(&drift_text(finding))) " " span.muted { (counted(finding.entries.len() as u64, "entry", "entries")) } }
            } } }
        }
    };
    PageContent::new("Health", body).with_command("ken health report")
}

fn drift_text(finding: &ken_core::health::drift::DriftFinding) -> String {
    let value = serde_json::to_value(finding).unwrap_or_default();
    let text = |key: &str| {
        value
            .get(key)
            .map(|it| {
                it.as_str()
                    .map_or_else(|| it.to_string(), ToOwned::to_owned)
            })
            .unwrap_or_default()
    };
    format!(
        "{}: {} → {}",
        text("shelf"),
        text("signal"),
        text("recommendation")
    )
    .replace('_', " ")
}

fn insights(context: &PageContext<'_>, view: &HealthView) -> Markup {
    html! {
        section {
            h2 { "Insights" }
            @for advice in &view.escalations { p.notice.bad { (UntrustedText(&advice.what)) " " (command(&advice.command)) } }
            @if view.insights.is_empty() { (empty(&html! { "Nothing needs attention." })) }
            ul.insights { @for insight in &view.insights {
                @let class = match insight.severity { InsightSeverity::ActionRequired => "bad", InsightSeverity::Attention => "warn", InsightSeverity::Info => "muted" };
                li {
                    span class={ "verdict " (class) } { (enum_label(&insight.severity)) } " " (UntrustedText(&insight.what))
                    @if !insight.entries.is_empty() { div { @for id in insight.entries.iter().take(8) { (entry_link(context, id)) " " }
                        @if insight.entries.len() > 8 { span.muted { "and " (insight.entries.len() - 8) " more" } } } }
                    @if let Some(line) = &insight.command { div { (command(line)) } }
                }
            } }
            @if !view.recommendations.is_empty() {
                h3 { "Recommendations" }
                p.muted { "Nothing is set by a recommendation." }
                ul { @for advice in &view.recommendations { li { (UntrustedText(&advice.what)) " " (command(&advice.command)) } } }
            }
        }
    }
}

fn service_card(context: &PageContext<'_>, service: &MaintenanceServiceView) -> Markup {
    html! {
        div.card {
            h3 { (UntrustedText(&service.title)) @if service.is_due { " " span.badge.mark { "due" } } }
            p.muted { @match service.last { Some(at) => { "last " (time(at)) }, None => "never run here" } @if service.is_automatic { ", runs by itself" } }
            @if !service.preview.is_empty() {
                details { summary { "What it would change (" (service.preview.len()) ")" } ul { @for line in &service.preview { li { (UntrustedText(line)) } } } }
            }
            @if context.may_write() {
                (disclosure("Run", None, post_form(context, "maintain", &[("service", Clone::clone(&service.name))], html! {
                    p { "This changes entries. " (command(&service.command)) }
                    (submit("Run now", None))
                })))
            }
        }
    }
}

/// Renders how often entries were shown against the chances to find them unseen.
fn grid(view: &HealthView) -> Markup {
    let most = view
        .exposure_grid
        .iter()
        .flatten()
        .copied()
        .max()
        .unwrap_or(0);
    html! {
        @if most > 0 {
            section {
                h2 { "Exposure against confirmation" }
                p.muted { "Live entries by runs since the last confirmation (down) and chances to find them unseen (across). The lower right is about to be archived; the lower left is shown to everybody, so nobody can confirm it." }
                div.scroll tabindex="0" role="region" aria-label="Exposure against confirmation" { table.grid {
                    thead { tr { th { "runs" } @for column in 0..view.exposure_grid.first().map_or(0, Vec::len) { th scope="col" { (column * 2) } } } }
                    tbody { @for (runs, row) in view.exposure_grid.iter().enumerate() {
                        tr { th scope="row" { (runs) }
                            @for number in row {
                                @let shade = if *number == 0 { 0 } else { 1 + (*number * 3 / most.max(1)).min(3) };
                                td class={ "g" (shade) } { @if *number > 0 { (count(*number)) } }
                            } }
                    } }
                } }
            }
        }
    }
}

/// What hooks, git and CI observed of sessions in which chance decided.
fn observed_effects(context: &PageContext<'_>, view: &ImpactView, report: &EffectReport) -> Markup {
    // The same words as on the command line.
    let lines = |effect: &ObservedEffect, is_all: bool| {
        html! { @for line in effect.to_lines(is_all) { div { (line) } } }
    };
    html! {
        section { h2 { "Observed, without anyone's word" }
            p.muted { "corrections by a person, failed test runs, reverts and CI, in " (count(report.observed)) " observed sessions; less is better" }
            (lines(&report.all, true))
            @if !report.entries.is_empty() {
                div.scroll tabindex="0" role="region" aria-label="Observed effect per entry" { table.list {
                    thead { tr { th scope="col" { "Entry" } th scope="col" { "Observed" } } }
                    tbody { @for (id, effect) in report.entries.iter().take(IMPACTS_SHOWN) {
                        tr data-row {
                            td { (entry_link(context, *id)) @if let Some(title) = view.titles.get(id) { " " (UntrustedText(title)) } }
                            td { (lines(effect, false)) }
                        }
                    } }
                } }
            }
        }
    }
}

pub(crate) fn impact_page(context: &PageContext<'_>, view: &ImpactView) -> PageContent {
    let body = html! {
        div.page-head { h1 { "Impact" } span.muted { "difference in success with and without an entry, decided by chance" } }
        p.big { "All entries together: " (impact_text(view.all)) " " (impact_row(view.all)) }
        @if view.entries.is_empty() {
            (empty(&html! { "No entry has been tried yet. A briefing in a run withholds some entries by chance; closing the run with its outcome counts." }))
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Impact per entry" { table.list {
                thead { tr { th scope="col" { "Entry" } th scope="col" { "−100 to +100 points" } th scope="col" { "Impact" } } }
                tbody { @for (entry, impact) in view.entries.iter().take(IMPACTS_SHOWN) {
                    tr data-row { td { (entry_link(context, entry.id)) " " (UntrustedText(&entry.title())) } td { (impact_row(*impact)) } td { (impact_text(*impact)) } }
                } }
            } }
        }
        @if let Some(report) = &view.observed { (observed_effects(context, view, report)) }
    };
    PageContent::new("Impact", body).with_command("ken health impact")
}

pub(crate) fn stats_page(_context: &PageContext<'_>, view: &StatsView) -> PageContent {
    let bars: Vec<(String, f64)> = view
        .days
        .iter()
        .map(|it| (it.on.to_string(), it.queries as f64))
        .collect();
    let body = html! {
        h1 { "Statistics" }
        @if view.days.is_empty() { (empty(&html! { "No query has been counted on this machine yet." })) } @else {
            section { h2 { "Queries per day" } (bar_chart("Queries per day", &bars))
                details { summary { "As a table" }
                    div.scroll tabindex="0" role="region" aria-label="Queries per day" { table.list {
                        thead { tr { th scope="col" { "Day" } th.num scope="col" { "Queries" } th.num scope="col" { "Answered" } th.num scope="col" { "Entries shown" } } }
                        tbody { @for day in &view.days { tr { th scope="row" { (day.on) } td.num { (count(day.queries)) } td.num { (count(day.answered)) } td.num { (count(day.shown)) } } } }
                    } } } }
        }
        dl.facts { @for (name, value) in &view.totals { dt { (UntrustedText(name)) } dd { (UntrustedText(value)) } } }
        @if !view.unanswered.is_empty() {
            section { h2 { "Queries without a relevant hit" }
                div.scroll tabindex="0" role="region" aria-label="Unanswered queries" { table.list {
                    thead { tr { th scope="col" { "Query" } th.num scope="col" { "Times" } th scope="col" { "Last" } } }
                    tbody { @for (query, times, day) in &view.unanswered { tr { td { (UntrustedText(query)) } td.num { (times) } td { (day) } } } }
                } } }
        }
    };
    PageContent::new("Statistics", body).with_command("ken health stats")
}
