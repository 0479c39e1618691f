//! The start page: what needs a person, who is at work, what is new.

use maud::html;

use crate::address::{EntryListQuery, PageAddress};
use crate::component::chart::bar_chart;
use crate::component::{actor, count, counted, empty, entry_row, time};
use crate::frame::{PageContent, PageContext, live_topics};
use crate::live::ChangeTopic;
use crate::page::inbox::lane_title;
use crate::untrusted::UntrustedText;
use crate::view::HomeView;

/// Changed files on the start page.
const FILES_SHOWN: usize = 8;

pub(crate) fn home_page(context: &PageContext<'_>, view: &HomeView) -> PageContent {
    let total: u64 = view.counts.values().sum();
    let queries: u64 = view.days.iter().map(|it| it.queries).sum();
    let answered: u64 = view.days.iter().map(|it| it.answered).sum();
    let bars: Vec<(String, f64)> = view
        .days
        .iter()
        .map(|it| (it.on.to_string(), it.queries as f64))
        .collect();
    let body = html! {
        div #home data-live=(live_topics(&[ChangeTopic::Ledger, ChangeTopic::Runs])) data-auto {
            h1.visually-hidden { "Home" }
            div.three {
                section.card {
                    h2 { "Pending decisions" }
                    @if view.pending.iter().all(|(_, number)| *number == 0) { p { "Nothing." } }
                    ul.plain { @for (lane, number) in view.pending.iter().filter(|(_, number)| *number > 0) {
                        li { a href=(context.link(&PageAddress::Inbox { lane: Some(*lane) })) { (lane_title(*lane)) " " strong { (count(*number)) } } }
                    } }
                    p { a href=(context.link(&PageAddress::Inbox { lane: None })) { "Open the inbox" } }
                }
                section.card {
                    h2 { "Agents at work" }
                    @if view.open_runs.is_empty() { p.muted { "No open run." } }
                    ul.plain { @for run in &view.open_runs {
                        li { a href=(context.link(&PageAddress::Run { run: Clone::clone(&run.id) })) { (UntrustedText(&run.id)) }
                            @if let Some(task) = &run.task { " " (UntrustedText(task)) }
                            div.muted { @for agent in run.agents.iter().take(3) { (actor(agent)) " " } (run.shown) " shown, " (run.used) " used, since " (time(run.at)) } }
                    } }
                }
                section.card {
                    h2 { "Last 7 days" }
                    p { strong { (count(queries)) } " queries, " strong { (count(answered)) } " answered" }
                    @if queries > 0 { (bar_chart("Queries per day", &bars)) }
                    p { (counted(total, "entry", "entries")) ": "
                        @for (status, number) in view.counts.iter().filter(|(_, number)| **number > 0) { span.nowrap { (count(*number)) " " (status) } " " } }
                }
            }
            @if !view.changed_files.is_empty() {
                section { h2 { "Not committed yet" }
                    ul.files { @for path in view.changed_files.iter().take(FILES_SHOWN) {
                        li { (crate::component::location_link(context, path, path)) }
                    } }
                    p { a href=(context.link(&PageAddress::Change { base: None })) { "What this branch does to knowledge" } } }
            }
            section {
                h2 { "Newest" }
                @if view.newest.is_empty() {
                    (empty(&html! { "No knowledge here yet. " a href=(context.link(&PageAddress::Documents)) { "Check CLAUDE.md and AGENTS.md" }
                        " or " a href=(context.link(&PageAddress::Add { anchor: String::new() })) { "add the first entry" } "." }))
                }
                ol.rows { @for row in &view.newest { (entry_row(context, row)) } }
                p { a href=(context.link(&PageAddress::Entries(EntryListQuery::default()))) { "All entries" } }
            }
        }
    };
    PageContent::new("Home", body).with_command("ken health")
}
