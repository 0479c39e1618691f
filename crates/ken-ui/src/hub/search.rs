//! Search in all workspaces of a person.

use maud::html;

use super::{EverywhereView, HubFrame, HubPage, HubSection, workspace_base};
use crate::component::{count, empty, entry_row, submit};
use crate::untrusted::UntrustedText;

/// Returns the search with its hits, best first.
pub fn search_page(frame: &HubFrame, view: &EverywhereView) -> HubPage {
    let has_words = !view.words.is_empty();
    let body = html! {
        div.page-head { h1 { "Search all workspaces" } }
        form.inline-form method="get" action=(HubSection::Search.path()) {
            label.inline { "Words " input type="search" name="q" value=(&view.words) size="40" required; } " " (submit("Search", None))
        }
        @if has_words {
            p.muted #total { (count(view.hits.len() as u64)) " hits in " (count(view.searched as u64)) " workspaces"
                @for (name, why) in &view.skipped { ", " (UntrustedText(name)) " not searched: " (why) } }
            @if view.hits.is_empty() { (empty(&html! { "No workspace has a relevant entry." })) }
            @for hit in &view.hits {
                section {
                    p.lane-name { a href={ (workspace_base(&hit.workspace)) "/" } { (UntrustedText(&hit.workspace)) } }
                    ol.rows { (frame.for_workspace(&hit.workspace, |context| entry_row(context, &hit.row))) }
                }
            }
        }
    };
    HubPage::new("Search", body)
}
