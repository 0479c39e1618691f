//! The audit log with its filters and export.

use maud::{Markup, html};

use super::{AuditFilterText, AuditLine, AuditView, HubPage, HubSection};
use crate::component::{empty, submit, time};
use crate::untrusted::UntrustedText;

/// Formats of the export.
const FORMATS: [(&str, &str); 2] = [("csv", "CSV"), ("jsonl", "JSON lines")];

impl AuditFilterText {
    /// Returns the fields that are set, with their names in addresses.
    fn pairs(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("workspace", self.workspace.as_str()),
            ("by", &self.by),
            ("act", &self.act),
            ("outcome", &self.outcome),
            ("since", &self.since),
            ("until", &self.until),
            ("token", &self.token),
            ("entry", &self.entry),
        ];
        let set = all.into_iter().filter(|(_, value)| !value.is_empty());
        set.collect()
    }

    /// Returns the address of a page with this filter.
    fn href(&self, path: &str, more: (&'static str, &str)) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.pairs());
        query.append_pair(more.0, more.1);
        format!("{path}?{}", query.finish())
    }
}

/// Returns a page of the audit log.
pub fn audit_page(view: &AuditView) -> HubPage {
    let path = HubSection::Audit.path();
    let body = html! {
        div.page-head { h1 { "Audit log" } span.spacer {}
            @for (name, label) in FORMATS { a.button href=(view.filter.href("/audit/export", ("format", name))) download { "Export " (label) } " " } }
        (filter_form(&view.filter))
        @if view.lines.is_empty() { (empty(&html! { "No record matches." })) } @else {
            div.scroll tabindex="0" role="region" aria-label="Audit log" { table.list {
                thead { tr { @for title in ["Time", "Who", "Action", "Subject", "Outcome", "From"] { th scope="col" { (title) } } } }
                tbody { @for line in &view.lines { (row(line)) } }
            } }
        }
        @if let Some(next) = &view.next { nav.pager { a rel="next" href=(view.filter.href(path, ("after", next))) { "Next page" } } }
    };
    HubPage::new("Audit log", body).with_command("ken hub audit")
}

fn filter_form(filter: &AuditFilterText) -> Markup {
    let fields = [
        (
            "workspace",
            "Workspace",
            filter.workspace.as_str(),
            "the organization",
        ),
        ("by", "Who", &filter.by, "human:ada@example.org"),
        ("act", "Action", &filter.act, "token.created"),
        ("outcome", "Outcome", &filter.outcome, "done, forbidden"),
        ("since", "Since", &filter.since, "2026-01-31T08:00:00Z"),
        ("until", "Until", &filter.until, "2026-02-28T00:00:00Z"),
        ("token", "Token", &filter.token, "id"),
        ("entry", "Entry", &filter.entry, "L-7k2f5qm3"),
    ];
    html! {
        form.inline-form method="get" action=(HubSection::Audit.path()) {
            @for (name, label, value, example) in fields {
                label.inline { (label) " " input type="text" name=(name) value=(value) size="14" placeholder=(example); } " "
            }
            (submit("Filter", None))
        }
    }
}

fn row(line: &AuditLine) -> Markup {
    html! {
        tr {
            td { (time(line.at)) }
            td { (UntrustedText(&line.by)) " " span.muted { (UntrustedText(&line.role)) } }
            td { code { (UntrustedText(&line.act)) } }
            td { (UntrustedText(&line.subject))
                @if line.events > 0 { div.muted { (line.events) " events by " @for author in &line.authors { (UntrustedText(author)) " " } } }
                @if !line.entries.is_empty() { div.muted { @for entry in line.entries.iter().take(5) { (UntrustedText(entry)) " " } } } }
            td { (UntrustedText(&line.outcome)) }
            td { @if let Some(address) = &line.address { (UntrustedText(address)) }
                @if let Some(token) = &line.token { div.muted { "token " (UntrustedText(token.get(..8).unwrap_or(token))) } } }
        }
    }
}
