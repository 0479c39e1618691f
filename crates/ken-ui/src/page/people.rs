//! Norms, authors and origins.

use maud::{Markup, html};

use crate::address::{EntryListQuery, PageAddress, RepoPath};
use crate::component::{
    count, counted, disclosure, empty, head_badges, linked_statement, post_form, submit,
    validity_badge,
};
use crate::frame::{PageContent, PageContext};
use crate::untrusted::UntrustedText;
use crate::view::{NormsView, PeopleView, SourceSummary};

pub(crate) fn norms_page(
    context: &PageContext<'_>,
    path: Option<&RepoPath>,
    view: &NormsView,
) -> PageContent {
    let body = html! {
        div.page-head {
            h1 { "Norms" } span.muted { (counted(view.norms.len() as u64, "norm", "norms")) } span.spacer {}
            form.inline-form method="get" action=(context.link(&PageAddress::Norms { path: None })) {
                label.inline { "that apply to " input type="text" name="path" value=[path.map(RepoPath::as_str)] placeholder="src/pay.rs"; } " " (submit("Show", None))
            }
        }
        @if view.norms.is_empty() { (empty(&html! { "No norm applies. " code { "ken norms" } " lists examples to add." })) }
        ol.rows { @for norm in &view.norms {
            @let entry = &norm.row.entry;
            li.row data-row {
                (linked_statement(context, entry))
                div.meta { (head_badges(context, entry)) " " (validity_badge(norm.row.facts.validity)) " "
                    @match &norm.check {
                        Some(check) => { span.ok { "checked by " code { "ken verify" } } " " code { (UntrustedText(check)) } " " },
                        None => { span.muted { "not checked by a program" } " " },
                    }
                    @for approval in &norm.approvals { span.muted { "approved " (UntrustedText(approval)) } " " }
                    @if let Some(content) = &entry.content { @for glob in &content.applies_to { code { (UntrustedText(&glob.to_string())) } " " } }
                }
            }
        } }
    };
    PageContent::new("Norms", body).with_command("ken norms")
}

pub(crate) fn people_page(context: &PageContext<'_>, view: &PeopleView) -> PageContent {
    let body = html! {
        h1 { "People and origins" }
        (table(context, "Authors", &view.authors))
        (table(context, "Origins", &view.origins))
    };
    PageContent::new("People and origins", body).with_command("ken guard revoke --help")
}

fn table(context: &PageContext<'_>, title: &str, rows: &[SourceSummary]) -> Markup {
    html! {
        section { h2 { (title) }
            div.scroll tabindex="0" role="region" aria-label=(title) { table.list {
                thead { tr { th scope="col" { "Source" } th.num scope="col" { "Live" } th.num scope="col" { "Verified" } th.num scope="col" { "Retracted as false" } th.num scope="col" { "All" } th scope="col" { span.visually-hidden { "Action" } } } }
                tbody { @for row in rows { tr data-row {
                    td { (source_link(context, row)) @if row.is_revoked { " " span.badge.mark { "revoked" } } }
                    td.num { (count(row.live)) } td.num { (count(row.verified)) } td.num { (count(row.retracted_as_false)) } td.num { (count(row.all)) }
                    td { (revoke_form(context, row)) }
                } } }
            } }
        }
    }
}

fn source_link(context: &PageContext<'_>, row: &SourceSummary) -> Markup {
    let text = row.source.to_string();
    let list = EntryListQuery {
        by: Some(text.clone()),
        ..EntryListQuery::default()
    };
    html! { a href=(context.link(&PageAddress::Entries(list))) data-open { (UntrustedText(&text)) } }
}

fn revoke_form(context: &PageContext<'_>, row: &SourceSummary) -> Markup {
    if !context.may_write() {
        return html! {};
    }
    let state = if row.is_revoked { "off" } else { "on" };
    let fields = [
        ("source", row.source.to_string()),
        ("state", state.to_owned()),
    ];
    html! {
        @if row.is_revoked { (post_form(context, "revoke", &fields, submit("End revocation", None))) }
        @else {
            (disclosure("Revoke", None, post_form(context, "revoke", &fields, html! {
                p { (counted(row.live, "live entry", "live entries")) " will no longer be shown to agents. One more event brings them back." }
                (submit("Revoke", None))
            })))
        }
    }
}
