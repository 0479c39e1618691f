//! Tokens: list, create, rotate, revoke.

use maud::{Markup, html};

use super::{HubFrame, HubPage, HubSection, TokenLine, TokensView};
use crate::component::{disclosure, submit, time};
use crate::untrusted::UntrustedText;

/// Roles of a token, with what they may do.
const ROLES: [(&str, &str); 5] = [
    ("reader", "searches and reads"),
    ("agent", "adds entries, never approves"),
    ("member", "a person who decides in their own name"),
    ("curator", "a person who reviews"),
    ("admin", "a person who manages tokens and workspaces"),
];

/// Returns the tokens of the organization.
pub fn tokens_page(frame: &HubFrame, view: &TokensView) -> HubPage {
    let body = html! {
        div.page-head { h1 { "Tokens" } }
        @if let Some(created) = &view.created {
            div.notice.done role="status" #secret {
                p { "Copy the secret of " strong { (UntrustedText(&created.name)) } " now; it is not shown again:" }
                code.cmd { (created.secret) } button.copy type="button" data-copy=(created.secret) hidden { "Copy" }
            }
        }
        (disclosure("Create a token", Some("a"), create_form(frame, view)))
        (revoke_actor_form(frame))
        div.scroll tabindex="0" role="region" aria-label="Tokens" { table.list {
            thead { tr { @for title in ["Name", "Actor", "Role", "Created", "Expires", "Last used"] { th scope="col" { (title) } }
                th scope="col" { span.visually-hidden { "Actions" } } } }
            tbody { @for token in &view.tokens { (row(frame, token)) } }
        } }
        @if let Some(next) = &view.next { nav.pager { a rel="next" href={ (HubSection::Tokens.path()) "?after=" (next) } { "Next page" } } }
    };
    HubPage::new("Tokens", body).with_command("ken hub token list")
}

fn form(frame: &HubFrame, action: &str, inner: &Markup) -> Markup {
    html! {
        form.act method="post" action={ (HubSection::Tokens.path()) "/" (action) } { (frame.token_field()) (inner) }
    }
}

fn create_form(frame: &HubFrame, view: &TokensView) -> Markup {
    let (days, days_max) = view.days;
    form(
        frame,
        "create",
        &html! {
            label { "Name" input type="text" name="name" required maxlength="128"; }
            label { "Role" select name="role" { @for (name, what) in ROLES { option value=(name) { (name) ": " (what) } } } }
            label { "Actor" input type="text" name="actor" placeholder="human:ada@example.org; default: an agent with the name"; }
            label { "Workspaces" input type="text" name="workspaces" placeholder="names, separated by spaces; default: all"; }
            label { "Days until it expires" input type="number" name="days" min="1" max=(days_max) value=(days); }
            (submit("Create", None))
        },
    )
}

fn revoke_actor_form(frame: &HubFrame) -> Markup {
    disclosure(
        "Revoke a person or program",
        None,
        form(
            frame,
            "revoke-actor",
            &html! {
                p { "Ends all tokens and all sign-ins of an actor at once." }
                label { "Actor" input type="text" name="actor" required placeholder="human:ada@example.org"; }
                (submit("Revoke all", None))
            },
        ),
    )
}

fn row(frame: &HubFrame, token: &TokenLine) -> Markup {
    html! {
        tr data-row {
            td { (UntrustedText(&token.name)) @if token.revoked.is_some() { " " span.badge.mark { "revoked" } } @else if !token.is_live { " " span.badge.mark { "expired" } } }
            td { (UntrustedText(&token.actor)) }
            td { (token.role) @if let Some(number) = token.workspaces { div.muted { (number) " workspaces" } } }
            td { (time(token.created)) }
            td { @if let Some(at) = token.expires { (time(at)) } }
            td { @match token.used { Some(at) => (time(at)), None => span.muted { "never" } } }
            td { @if token.is_live { div.actions {
                (disclosure("Rotate", None, form(frame, "rotate", &html! {
                    input type="hidden" name="token" value=(token.id);
                    label { "Hours in which the old secret stays valid" input type="number" name="hours" min="0" max="168" value="24"; }
                    (submit("Rotate", None)) })))
                (disclosure("Revoke", None, form(frame, "revoke", &html! {
                    input type="hidden" name="token" value=(token.id);
                    p { "The token and the sign-ins made with it end at once." }
                    (submit("Revoke", None)) })))
            } } }
        }
    }
}
