//! The start page of a hub: the workspaces that a person may enter.

use maud::html;

use super::{HubPage, HubSection, WorkspacesView, workspace_base};
use crate::component::{count, counted, empty, time};
use crate::untrusted::UntrustedText;

/// Returns the list of workspaces.
pub fn workspaces_page(view: &WorkspacesView) -> HubPage {
    let has_pending = view.workspaces.iter().any(|it| it.pending.is_some());
    let body = html! {
        div.page-head { h1 { "Workspaces" } span.muted { (counted(view.workspaces.len() as u64, "workspace", "workspaces")) } }
        @if view.workspaces.is_empty() {
            (empty(&html! { "You have access to no workspace. An admin creates one with " code { "ken hub workspace add" } "." }))
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Workspaces" { table.list {
                thead { tr { th scope="col" { "Workspace" } th.num scope="col" { "Events" }
                    @if has_pending { th.num scope="col" { "Waits for a curator" } } th scope="col" { "Last event" } } }
                tbody { @for workspace in &view.workspaces {
                    @let base = workspace_base(&workspace.name);
                    tr data-row {
                        td { a href={ (base) "/" } data-open { (UntrustedText(&workspace.name)) } }
                        td.num { (count(workspace.events)) }
                        @if has_pending { td.num { @if let Some(pending) = workspace.pending { a href={ (base) "/inbox" } { (count(pending)) } } } }
                        td { @match workspace.last_event { Some(at) => (time(at)), None => span.muted { "none" } } }
                    }
                } }
            } }
        }
        @if let Some(next) = &view.next { nav.pager { a rel="next" href={ (HubSection::Workspaces.path()) "?after=" (next) } { "Next page" } } }
    };
    HubPage::new("Workspaces", body).with_command("ken hub workspace list")
}
