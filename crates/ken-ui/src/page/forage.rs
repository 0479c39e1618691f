//! The forager: budgets, questions, what was read or refused, and decisions about domains.

use ken_core::ledger::event::DomainAction;
use maud::{Markup, html};

use crate::address::{InboxLane, PageAddress};
use crate::component::{
    actor, count, counted, disclosure, empty, form_token, post_form, submit, time,
};
use crate::frame::{PageContent, PageContext, live_topics};
use crate::live::ChangeTopic;
use crate::untrusted::UntrustedText;
use crate::view::{ForageBudgets, ForageDomain, ForageLogEntry, ForageQuestionLine, ForageView};

/// The strategy of a host whose pages gave no passage.
const PAUSED: &str = "nothing";

pub(crate) fn forage_page(context: &PageContext<'_>, view: &ForageView) -> PageContent {
    let has_records = view.status.is_some() || !view.questions.is_empty() || !view.log.is_empty();
    let has_domains = view.status.is_some() || !view.domains.is_empty();
    let body = html! {
        div.page-head { h1 { "Forager" } @if view.status.is_none() { span.badge { "off" } } }
        // Replaced as a whole: nothing in it is typed.
        div #forager data-live=(live_topics(&[ChangeTopic::Ledger])) data-auto {
            @match &view.status {
                Some(budgets) => (settings(context, budgets)),
                None => (off(&view.settings_file)),
            }
            @if has_records { (questions(view)) (log(view)) }
        }
        @if has_domains { (domains(context, &view.domains)) }
    };
    PageContent::new("Forager", body).with_command("ken forage status")
}

fn off(settings_file: &str) -> Markup {
    html! {
        p { "The forager is off; to turn it on, create " code { (UntrustedText(settings_file)) } " with the line "
            code { "sources = [\"packages\"]" } ", as " code { "ken forage --help" } " explains." }
    }
}

fn settings(context: &PageContext<'_>, budgets: &ForageBudgets) -> Markup {
    let waiting = PageAddress::Inbox {
        lane: Some(InboxLane::Quarantined),
    };
    html! {
        div.numbers {
            div { (used(budgets.entries, "entries proposed today")) }
            div { (used(budgets.searches, "queries sent to search services today")) }
            div { (used(budgets.waiting, "entries wait for you")) @if budgets.waiting.0 > 0 { " " a href=(context.link(&waiting)) { "Open the inbox" } } }
        }
        dl.details {
            dt { "Sources" } dd { (list(&budgets.sources)) }
            dt { "Allowed hosts" } dd { (list(&budgets.allowed_hosts)) }
            dt { "Unasked" } dd { @if budgets.unasked { "allowed by your settings, if the maintenance policy allows it too" } @else { "off" } }
        }
    }
}

fn used((used, limit): (u64, u64), what: &str) -> Markup {
    html! { strong class=[(used >= limit).then_some("warn")] { (count(used)) " of " (count(limit)) } " " span.muted { (what) } }
}

fn list(names: &[String]) -> Markup {
    html! {
        @if names.is_empty() { span.muted { "none" } }
        @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } (UntrustedText(name)) }
    }
}

fn questions(view: &ForageView) -> Markup {
    html! {
        section { h2 { "Questions" }
            p.muted { "Questions that entries were proposed for. Their words are stored nowhere." }
            @if view.questions.is_empty() { (empty(&html! { "None yet: " code { "ken forage QUESTION --propose" } " asks one." })) } @else {
                div.scroll tabindex="0" role="region" aria-label="Questions" { table.list {
                    thead { tr { th scope="col" { "Asked" } th scope="col" { "Why" } th scope="col" { "By" }
                        @for title in ["Pages read", "Proposed", "Refused or known", "Seconds"] { th.num scope="col" { (title) } } } }
                    tbody { @for question in &view.questions { (question_row(question)) } }
                } }
            }
        }
    }
}

fn question_row(question: &ForageQuestionLine) -> Markup {
    html! {
        tr data-row {
            td { (time(question.at)) } td { (UntrustedText(&question.reason)) } td { (actor(&question.by)) }
            @match &question.completed {
                Some(done) => {
                    td.num { (count(done.fetched.into())) } td.num { (count(done.admitted.into())) }
                    td.num { (count(done.rejected.into())) } td.num { (seconds(done.duration_ms)) }
                },
                None => td colspan="4" { span.verdict.warn { "⚠ ended before it was done" } },
            }
        }
    }
}

fn seconds(millis: u64) -> String {
    format!("{}.{}", millis / 1000, millis % 1000 / 100)
}

fn log(view: &ForageView) -> Markup {
    html! {
        section { h2 { "Read and refused today" }
            @if view.log.is_empty() { (empty(&html! { "Nothing was read today." })) } @else {
                div.scroll tabindex="0" role="region" aria-label="Read and refused today" { table.list {
                    thead { tr { th scope="col" { "At" } th scope="col" { "Package or host" } th scope="col" { "Result" }
                        th.num scope="col" { "Bytes" } th.num scope="col" { "Milliseconds" } } }
                    tbody { @for line in &view.log { (log_row(line)) } }
                } }
                @if view.log_omitted > 0 { p.muted { (counted(view.log_omitted, "earlier line", "earlier lines")) ": " code { "ken forage log" } } }
            }
        }
    }
}

fn log_row(line: &ForageLogEntry) -> Markup {
    html! {
        tr data-row {
            td { (time(line.at)) }
            td { @match &line.source { Some(source) => (UntrustedText(source)), None => span.muted { "the question" } } }
            td { @match &line.refusal {
                None => span.verdict.ok { "✓ read" },
                Some(why) => { span.verdict.warn { "⚠ not read" } " " (UntrustedText(why)) },
            } }
            td.num { @if line.bytes > 0 { (count(line.bytes)) } }
            td.num { @if line.bytes > 0 { (count(line.millis)) } }
        }
    }
}

fn domains(context: &PageContext<'_>, domains: &[ForageDomain]) -> Markup {
    html! {
        section { h2 { "Domains" }
            p.muted { "Decisions hold for everybody in this workspace, and for every host below the named one." }
            @if domains.is_empty() { (empty(&html! { "Nothing was decided or learned about a domain." })) } @else {
                div.scroll tabindex="0" role="region" aria-label="Domains" { table.list {
                    thead { tr { th scope="col" { "Domain" } th scope="col" { "Decision" } th scope="col" { "Learned" } th scope="col" { span.visually-hidden { "Actions" } } } }
                    tbody { @for domain in domains { (domain_row(context, domain)) } }
                } }
            }
            @if context.may("forage-domain") { div.decide { (disclosure("Decide about a domain", Some("a"), decide_form(context))) } }
        }
    }
}

fn domain_row(context: &PageContext<'_>, domain: &ForageDomain) -> Markup {
    let offered = match domain.decision {
        Some(DomainAction::Trust) => vec![DomainAction::Distrust, DomainAction::Reset],
        Some(DomainAction::Distrust) => vec![DomainAction::Trust, DomainAction::Reset],
        Some(DomainAction::Reset) | None => vec![DomainAction::Trust, DomainAction::Distrust],
    };
    html! {
        tr data-row {
            td { code { (UntrustedText(&domain.domain)) } }
            td { @match domain.decision {
                Some(DomainAction::Trust) => span.verdict.ok { "✓ trusted" },
                Some(DomainAction::Distrust) => span.verdict.bad { "✗ distrusted" },
                Some(DomainAction::Reset) | None => span.muted { "none" },
            } }
            td { @if let Some((strategy, day)) = &domain.learned {
                @if strategy == PAUSED { "no passages" } @else { (UntrustedText(strategy)) } " since " (day)
            } }
            td { div.actions { @for action in offered { (decision(context, &domain.domain, action)) } } }
        }
    }
}

/// Returns the name of a decision in forms, and its button.
fn names(action: DomainAction) -> (&'static str, &'static str) {
    match action {
        DomainAction::Trust => ("trust", "Trust"),
        DomainAction::Distrust => ("distrust", "Distrust"),
        DomainAction::Reset => ("reset", "Reset"),
    }
}

fn decision(context: &PageContext<'_>, domain: &str, action: DomainAction) -> Markup {
    let (value, label) = names(action);
    let fields = [("host", domain.to_owned()), ("decision", value.to_owned())];
    post_form(context, "forage-domain", &fields, submit(label, None))
}

/// Renders the form about a host that is not listed. The decision is a choice and not one of two
/// buttons: Enter in the field would press the first.
fn decide_form(context: &PageContext<'_>) -> Markup {
    html! {
        form.form method="post" action=(context.action("forage-domain")) {
            (form_token(context))
            input type="hidden" name="back" value=(context.address.href());
            label { "Host" input type="text" name="host" required placeholder="docs.example.org" autocapitalize="off" spellcheck="false"; }
            label { "Decision" select name="decision" {
                option value="distrust" { "distrust: nobody here reads it" }
                option value="trust" { "trust: its passages rank higher; this allows no host" }
            } }
            (submit("Decide", None))
        }
    }
}
