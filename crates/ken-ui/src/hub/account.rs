//! The person's own account: role, sign-ins, appearance, sign-out.

use ken_core::values::time::Timestamp;
use maud::html;

use super::{HubFrame, HubPage};
use crate::component::{actor, submit, time};
use crate::settings::Theme;
use crate::untrusted::UntrustedText;

/// The person's own account.
#[derive(Clone, Debug, Default)]
pub struct AccountView {
    pub sessions: Vec<SessionLine>,
}

/// One sign-in of the person.
#[derive(Clone, Debug)]
pub struct SessionLine {
    pub created: Timestamp,
    pub used: Timestamp,
    pub expires: Timestamp,
    /// How the person signed in.
    pub method: &'static str,
    pub address: Option<String>,
    pub is_this: bool,
}

/// Returns the page of the person's account.
pub fn account_page(frame: &HubFrame, view: &AccountView) -> HubPage {
    let body = html! {
        div.page-head { h1 { "Account" } span.spacer {}
            form.act method="post" action="/sign-out" { (frame.token_field()) (submit("Sign out", None)) } }
        dl.facts {
            dt { "Person" } dd { (actor(&frame.person)) }
            dt { "Organization" } dd { (UntrustedText(&frame.organization)) }
            dt { "Role" } dd { (frame.hub.role) }
        }
        section { h2 { "Your sign-ins" }
            div.scroll tabindex="0" role="region" aria-label="Your sign-ins" { table.list {
                thead { tr { @for title in ["Signed in", "Last used", "Ends", "By", "From"] { th scope="col" { (title) } } } }
                tbody { @for session in &view.sessions { tr {
                    td { (time(session.created)) @if session.is_this { " " span.badge { "this one" } } }
                    td { (time(session.used)) } td { (time(session.expires)) } td { (session.method) }
                    td { @if let Some(address) = &session.address { (UntrustedText(address)) } }
                } } }
            } }
            form.act method="post" action="/sign-out" { (frame.token_field()) input type="hidden" name="everywhere" value="on"; (submit("Sign out everywhere", None)) }
        }
        section { h2 { "Appearance" }
            form.act method="post" action="/account/settings" {
                (frame.token_field())
                fieldset { legend { "Colors" } @for (_, name) in Theme::ALL {
                    label.check { input type="radio" name="theme" value=(name); " " (name) } } }
                fieldset { legend { "Single-key shortcuts" }
                    label.check { input type="radio" name="keys" value="keys" checked; " on" }
                    label.check { input type="radio" name="keys" value="nokeys"; " off" } }
                (submit("Save", None))
            } }
        p { a href="/device" { "Confirm a code of " code { "ken remote login" } } " · " a href="/docs" { "API reference" } }
    };
    HubPage::new("Account", body)
}
