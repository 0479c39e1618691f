//! Runs: what agents were shown, what chance withheld, what they used, and what came of it.

use std::collections::BTreeSet;

use ken_core::ledger::event::{Arm, Outcome};
use ken_core::retrieval::score::ReaderRole;
use ken_core::trust::run::{RunNote, RunRecord};
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use maud::{Markup, html};

use crate::address::{BriefQuery, PageAddress, RunListQuery};
use crate::component::{actor, count, empty, entry_link, statement, submit, time};
use crate::frame::{PageContent, PageContext, live_topics};
use crate::live::ChangeTopic;
use crate::untrusted::UntrustedText;
use crate::view::{BriefView, RUNS_PER_PAGE, RunLine, RunListView, RunSummaryRow, RunView};

fn outcome(line: &RunLine) -> Markup {
    // Each outcome has a sign and a word, so that color is not the only difference.
    let (sign, word, class) = match line {
        RunLine::Open => ("●", "open", "accent"),
        RunLine::Ended(Some(Outcome::Succeeded)) => ("✓", "succeeded", "ok"),
        RunLine::Ended(Some(Outcome::Failed)) => ("✗", "failed", "bad"),
        RunLine::Ended(Some(Outcome::Abandoned)) => ("–", "abandoned", "muted"),
        RunLine::Ended(None) => ("?", "ended", "muted"),
    };
    html! { span class={ "verdict " (class) } { (sign) " " (word) } }
}

fn run_table(context: &PageContext<'_>, label: &str, rows: &[RunSummaryRow]) -> Markup {
    html! {
        // Scrolls on its own and takes the focus, so that a phone shows the whole table and keys
        // can scroll it.
        div.scroll tabindex="0" role="region" aria-label=(label) { table.list {
            thead { tr { th scope="col" { "Run" } th scope="col" { "Outcome" } th scope="col" { "Agents" } th scope="col" { "When" }
                th.num scope="col" { "Shown" } th.num scope="col" { "Withheld" } th.num scope="col" { "Used" } th.num scope="col" { "Found" } th.num scope="col" { "Added" } } }
            tbody { @for row in rows {
                tr data-row {
                    td { a href=(context.link(&PageAddress::Run { run: Clone::clone(&row.id) })) data-open { (UntrustedText(&row.id)) }
                        @if let Some(task) = &row.task { div.muted { (UntrustedText(task)) } } }
                    td { (outcome(&row.state)) @if let Some(quality) = row.quality_milli { span.muted { " quality " (format!("{:.2}", f64::from(quality) / 1000.0)) } } }
                    td { @for agent in row.agents.iter().take(3) { div { (actor(agent)) } } @if row.agents.len() > 3 { span.muted { "and " (row.agents.len() - 3) " more" } } }
                    td { (time(row.at)) }
                    td.num { (row.shown) } td.num { (row.withheld) } td.num { (row.used) } td.num { (row.found) } td.num { (row.added) }
                }
            } }
        } }
    }
}

pub(crate) fn runs_page(
    context: &PageContext<'_>,
    query: &RunListQuery,
    view: &RunListView,
) -> PageContent {
    let skip = query.skip.unwrap_or_default();
    let more = u64::from(skip) + (view.ended.len() as u64) < view.ended_total;
    let names = ["succeeded", "failed", "abandoned"];
    let body = html! {
        div.page-head { h1 { "Runs" } span.muted { (count(view.ended_total)) " ended" } span.spacer {}
            nav.pick aria-label="Outcome" {
                a href=(context.link(&PageAddress::Runs(RunListQuery::default()))) aria-current=[query.outcome.is_none().then_some("true")] { "all" }
                @for name in names {
                    @let list = RunListQuery { outcome: Some(name.to_owned()), skip: None };
                    a href=(context.link(&PageAddress::Runs(list))) aria-current=[(query.outcome.as_deref() == Some(name)).then_some("true")] { (name) }
                }
            }
        }
        // `data-auto`: the script replaces this part without asking, because nothing is typed here.
        div #runs data-live=(live_topics(&[ChangeTopic::Runs, ChangeTopic::Ledger])) data-auto {
            @if !view.open.is_empty() { h2 { "Open" } (run_table(context, "Open runs", &view.open)) }
            @if !view.ended.is_empty() { h2 { "Ended" } (run_table(context, "Ended runs", &view.ended)) }
            @if view.open.is_empty() && view.ended.is_empty() {
                (empty(&html! { "No run yet. Agents with Ken's hooks record one per session; an orchestrator opens one with " code { "ken run open" } "." }))
            }
            nav.pager aria-label="Pages" {
                @if more {
                    @let list = RunListQuery { skip: Some(skip + RUNS_PER_PAGE), ..query.clone() };
                    a rel="next" href=(context.link(&PageAddress::Runs(list))) { "Next page" }
                }
            }
        }
        // Outside of the live part: a choice in the form must survive an update.
        @if view.ended.len() > 1 { (compare_form(context, &view.ended)) }
    };
    PageContent::new("Runs", body).with_command("ken run list")
}

fn compare_form(context: &PageContext<'_>, rows: &[RunSummaryRow]) -> Markup {
    let page = PageAddress::CompareRuns {
        first: String::new(),
        second: String::new(),
    };
    html! {
        form.inline-form method="get" action=(context.link(&page)) {
            // The last two runs are chosen first, the older one on the left, as a diff reads.
            label.inline { "Compare " (run_select("a", rows, 1)) }
            label.inline { " with " (run_select("b", rows, 0)) } " "
            (submit("Compare", None))
        }
    }
}

fn run_select(name: &str, rows: &[RunSummaryRow], chosen: usize) -> Markup {
    html! { select name=(name) { @for (at, row) in rows.iter().enumerate() {
        option value=(&row.id) selected[at == chosen] { (UntrustedText(&row.id)) }
    } } }
}

fn titled(context: &PageContext<'_>, view: &RunView, id: EntryId) -> Markup {
    html! { (entry_link(context, id)) @if let Some(title) = view.titles.get(&id) { " " span.muted { (UntrustedText(title)) } } }
}

pub(crate) fn run_page(context: &PageContext<'_>, view: &RunView) -> PageContent {
    let row = &view.row;
    let columns = view.columns();
    let body = html! {
        div #run data-live=(live_topics(&[ChangeTopic::Runs, ChangeTopic::Ledger])) data-auto {
            div.page-head {
                h1 { (UntrustedText(&row.id)) } (outcome(&row.state))
                span.muted { (time(row.at)) }
                span.spacer {}
                span { strong { (row.shown) } " shown · " strong { (row.withheld) } " withheld · " strong { (row.used) } " used · " strong { (row.found) } " found" }
            }
            @if let Some(task) = &row.task { (statement(context, task)) }
            @if let Some(run) = &view.notes {
                p.muted { "opened by " (actor(&run.by)) ", witness: " (enum_label(&run.witness))
                    @if !run.is_complete { span.warn { " · incomplete: an exposure was not recorded, so the run confirms nothing" } } }
            } @else {
                // Notes stay where the run took place; only their sums travel with the ledger.
                p.muted { "The notes of this run are not on this machine; the ledger has the sums of all agents." }
            }
            div.agents { @for column in &columns {
                section.card {
                    h2 { (actor(column.agent)) }
                    @if let Some(run) = &view.notes { p.muted { @if run.is_witnessed(column.agent) { "witnessed" } @else { "not witnessed" } } }
                    ol.timeline { @for record in &column.records { (record_line(context, view, record)) } }
                }
            } }
            (result(context, view))
        }
    };
    PageContent::new(format!("Run {}", row.id), body).with_command_on("ken run show", &row.id)
}

/// Renders one note of a run.
fn record_line(context: &PageContext<'_>, view: &RunView, record: &RunRecord) -> Markup {
    let entries =
        |ids: &[EntryId]| html! { ul { @for id in ids { li { (titled(context, view, *id)) } } } };
    let what = match &record.note {
        RunNote::Opened { .. } => html! { "opened the run" },
        RunNote::Joined { member, .. } => {
            html! { "joined" @if let Some(role) = &member.role { " as " (UntrustedText(role.as_str())) } }
        }
        RunNote::Shown {
            entries: ids, how, ..
        } => html! { "was shown (" (enum_label(how)) ")" (entries(ids)) },
        RunNote::SawEverything { how, .. } => {
            html! { "may have seen everything (" (enum_label(how)) ")" }
        }
        RunNote::Pushed { offers, .. } => html! {
            "chance decided"
            ul { @for offer in offers { li {
                @if offer.arm == Arm::Withheld { span.warn { "withheld" } } @else { "shown" }
                " " (titled(context, view, offer.entry)) span.muted { " withheld with " (format!("{:.0}", f64::from(offer.propensity_milli) / 10.0)) " %" }
            } } }
        },
        RunNote::Passed { entries: ids, .. } => html! { "no room for" (entries(ids)) },
        RunNote::Said {
            words, cites, to, ..
        } => html! {
            "told " @if to.is_empty() { "everybody" } @else { @for name in to { (actor(name)) " " } }
            @if let Some(words) = words { (statement(context, words.as_str())) }
            (entries(cites))
        },
        RunNote::Used { entries: ids, .. } => html! { strong { "used" } (entries(ids)) },
        RunNote::Added { entries: ids, .. } => html! { "added" (entries(ids)) },
        RunNote::Observed { finding, says, .. } => html! {
            "found" (statement(context, finding.statement.as_str()))
            @if !says.is_empty() { "which is what these state: " @for id in says { (entry_link(context, id)) " " } }
        },
        RunNote::Feedback { entry, verdict, .. } => {
            html! { "rated " (titled(context, view, *entry)) " " (enum_label(verdict)) }
        }
        RunNote::Ended { outcome, .. } => html! { "ended: " (enum_label(outcome)) },
        RunNote::Facts { facts } => html! { "observed: " (facts) },
        RunNote::Gap => html! { span.warn { "a note was lost" } },
    };
    html! { li { (time(record.at)) " " (what) } }
}

fn result(context: &PageContext<'_>, view: &RunView) -> Markup {
    html! {
        @if let Some(past) = &view.past {
            section { h2 { "What came of it" }
                p { "closed " (time(past.at)) " by " (actor(&past.by)) " as " (past.outcome_label()) ", " (past.closed.extracted) " entries added, "
                    (past.closed.rounds) " rounds" }
                @if let Some(facts) = &past.facts { p { "observed by hooks, git and CI: " (facts) } }
                @if !view.effects.is_empty() {
                    div.scroll tabindex="0" role="region" aria-label="Effects" { table.list {
                        thead { tr { th scope="col" { "Entry" } th.num scope="col" { "For" } th.num scope="col" { "Against" } th.num scope="col" { "Shown" } th.num scope="col" { "Chances" } } }
                        tbody { @for effect in &view.effects { tr {
                            td { (titled(context, view, effect.entry)) }
                            td.num { (format!("{:.2}", f64::from(effect.alpha_milli) / 1000.0)) }
                            td.num { (format!("{:.2}", f64::from(effect.beta_milli) / 1000.0)) }
                            td.num { (effect.shown) } td.num { (effect.blind) }
                        } } }
                    } }
                }
            }
        }
    }
}

/// The entries of a run by what happened to them.
fn entry_sets(view: &RunView) -> [(&'static str, BTreeSet<EntryId>); 4] {
    let mut sets = [
        ("Shown", BTreeSet::new()),
        ("Withheld", BTreeSet::new()),
        ("Used", BTreeSet::new()),
        ("Added", BTreeSet::new()),
    ];
    for agent in view.notes.iter().flat_map(|run| run.agents.values()) {
        sets[0].1.extend(agent.shown.keys());
        // One rule of what counts as withheld for pages and JSON.
        sets[1].1.extend(ken_core::json::withheld_entries(agent));
        sets[2].1.extend(&agent.used);
        sets[3].1.extend(&agent.added);
    }
    // Without notes, the recorded effects still say which entries were shown at all.
    if view.notes.is_none() {
        let shown = view.effects.iter().filter(|it| it.shown > 0);
        sets[0].1.extend(shown.map(|it| it.entry));
    }
    sets
}

pub(crate) fn compare_page(
    context: &PageContext<'_>,
    first: &RunView,
    second: &RunView,
) -> PageContent {
    let (a, b) = (entry_sets(first), entry_sets(second));
    let cell = |ids: Vec<EntryId>| {
        html! { td { ul.plain { @for id in ids {
            li { (entry_link(context, id)) " " @if let Some(title) = first.titles.get(&id).or_else(|| second.titles.get(&id)) { span.muted { (UntrustedText(title)) } } }
        } } } }
    };
    let body = html! {
        h1 { "Two runs" }
        div.pair { @for view in [first, second] {
            section.card {
                h2 { a href=(context.link(&PageAddress::Run { run: Clone::clone(&view.row.id) })) { (UntrustedText(&view.row.id)) } }
                p { (outcome(&view.row.state)) " " (time(view.row.at)) }
                p { (view.row.shown) " shown · " (view.row.withheld) " withheld · " (view.row.used) " used · " (view.row.found) " found" }
            }
        } }
        div.scroll tabindex="0" role="region" aria-label="Differences" { table.list.compare {
            thead { tr { th {} th scope="col" { "only in the first" } th scope="col" { "in both" } th scope="col" { "only in the second" } } }
            tbody { @for ((name, one), (_, other)) in a.iter().zip(&b) {
                tr { th scope="row" { (name) }
                    (cell(one.difference(other).copied().collect()))
                    (cell(one.intersection(other).copied().collect()))
                    (cell(other.difference(one).copied().collect()))
                }
            } }
        } }
    };
    PageContent::new("Two runs", body)
}

pub(crate) fn brief_page(
    context: &PageContext<'_>,
    query: &BriefQuery,
    view: &BriefView,
) -> PageContent {
    let roles = [""]
        .into_iter()
        .chain(ReaderRole::ALL.map(ReaderRole::name));
    let body = html! {
        h1 { "What an agent would be shown" }
        form.form.brief method="get" action=(context.link(&PageAddress::Brief(BriefQuery::default()))) {
            label { "Task" input type="text" name="task" value=(&query.task) placeholder="Fix the double charge after a retry"; }
            label { "Path" input type="text" name="path" value=(&query.path) placeholder="src/pay.rs"; }
            label { "Role" select name="role" { @for role in roles { option value=(role) selected[query.role == role] { (if role.is_empty() { "any" } else { role }) } } } }
            (submit("Show the briefing", None))
        }
        // A person who previews a briefing must not look like a chance to find its entries.
        p.muted { "Nothing is recorded: you are not an agent." }
        @if let Some(text) = &view.text {
            div.split.right {
                pre.report tabindex="0" { (UntrustedText(text)) }
                aside {
                    p { strong { (count(view.tokens as u64)) } " tokens" }
                    h2 { "Shown" }
                    ul.plain { @for (id, title) in &view.shown { li { (entry_link(context, id)) " " (UntrustedText(title)) } } }
                    @if !view.left_out.is_empty() {
                        h2 { "Left out" }
                        ul.plain { @for (id, why) in &view.left_out { li { (entry_link(context, id)) " " span.muted { (UntrustedText(why)) } } } }
                    }
                }
            }
        }
    };
    PageContent::new("Briefing", body).with_command_on("ken brief", &query.task)
}
