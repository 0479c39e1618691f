//! Revocation of an author or origin: first its effect, then the decision, then the result.

use maud::{Markup, html};

use super::{HubFrame, HubPage, HubSection, RevocationView, SourceImpactLine};
use crate::component::{count, counted, empty, entry_link, submit};
use crate::untrusted::UntrustedText;

/// Returns the page of a revocation.
pub fn revocation_page(frame: &HubFrame, view: &RevocationView) -> HubPage {
    let path = HubSection::Revocation.path();
    let body = html! {
        div.page-head { h1 { "Revoke an author or origin" } }
        p.muted { "Agents are no longer shown anything by this author or from this origin, in every workspace that you may enter. The entries stay, and ending the revocation brings them back." }
        form.inline-form method="get" action=(path) {
            label.inline { "Source " input type="text" name="source" value=(&view.source) size="32" required placeholder="agent:scraper or origin:web"; }
            label.inline { " " input type="checkbox" name="end" value="on" checked[view.ends]; " end a revocation" }
            " " (submit("Show the effect", None))
        }
        @if !view.results.is_empty() { (results(frame, view)) }
        @else if let Some(impacts) = &view.impacts { (effect(frame, view, impacts)) }
    };
    HubPage::new("Revoke", body).with_command("ken guard revoke --help")
}

fn effect(frame: &HubFrame, view: &RevocationView, impacts: &[SourceImpactLine]) -> Markup {
    let total = |number: fn(&SourceImpactLine) -> u64| impacts.iter().map(number).sum::<u64>();
    let touched = impacts
        .iter()
        .filter(|it| it.all > 0 || it.runs > 0)
        .count();
    html! {
        section #effect {
            h2 { "Effect" }
            div.numbers {
                div { strong { (count(touched as u64)) } " " span.muted { "workspaces touched" } }
                div { strong { (count(total(|it| it.live))) } " " span.muted { "live entries" } }
                div { strong { (count(total(|it| it.verified))) } " " span.muted { "of them verified" } }
                div { strong { (count(total(|it| it.runs))) } " " span.muted { "runs that were shown them" } }
                div { strong { (count(total(|it| it.showings))) } " " span.muted { "showings of its entries" } }
            }
            @if view.is_partial { p.notice.warn { "Timeout: not all workspaces are counted. The revocation covers all of them." } }
            @if impacts.is_empty() { (empty(&html! { "You may enter no workspace." })) }
            div.scroll tabindex="0" role="region" aria-label="Effect per workspace" { table.list {
                thead { tr { th scope="col" { "Workspace" } th.num scope="col" { "Live" } th.num scope="col" { "Verified" } th.num scope="col" { "All" }
                    th.num scope="col" { "Runs" } th.num scope="col" { "Showings" } th scope="col" { "Shown most" } } }
                tbody { @for it in impacts { tr {
                    td { (UntrustedText(&it.workspace)) @if it.is_revoked { " " span.badge.mark { "revoked" } } }
                    td.num { (count(it.live)) } td.num { (count(it.verified)) } td.num { (count(it.all)) } td.num { (count(it.runs)) } td.num { (count(it.showings)) }
                    td { @for (id, title) in &it.examples { div { (frame.for_workspace(&it.workspace, |context| entry_link(context, id))) " " (UntrustedText(title)) } } }
                } } }
            } }
            form.form method="post" action=(HubSection::Revocation.path()) {
                (frame.token_field())
                input type="hidden" name="source" value=(&view.source);
                @if view.ends { input type="hidden" name="end" value="on"; }
                @let label = if view.ends { "End the revocation" } else { "Revoke" };
                p { (label) " " strong { (UntrustedText(&view.source)) } " in "
                    @if view.is_partial { "every workspace that you may enter" } @else { (counted(impacts.len() as u64, "workspace", "workspaces")) } "." }
                (submit(label, None))
            }
        }
    }
}

fn results(frame: &HubFrame, view: &RevocationView) -> Markup {
    html! {
        section #results {
            h2 { "Result" }
            ul { @for it in &view.results {
                li { (UntrustedText(&it.workspace)) ": " @match &it.result {
                    Ok(what) => (what),
                    Err(why) => span.verdict.bad { "✗ " (UntrustedText(why)) },
                } }
            } }
            @if let Some(next) = &view.next {
                form.form method="post" action=(HubSection::Revocation.path()) {
                    (frame.token_field())
                    input type="hidden" name="source" value=(&view.source);
                    input type="hidden" name="after" value=(next);
                    @if view.ends { input type="hidden" name="end" value="on"; }
                    p.notice.warn { "Timeout: the workspaces after " (UntrustedText(next)) " are not done yet." }
                    (submit("Continue", None))
                }
            }
        }
    }
}
