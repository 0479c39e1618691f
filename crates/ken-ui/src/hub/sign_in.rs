//! Sign-in of people, and the confirmation of a device.

use axum::http::StatusCode;
use axum::response::Response;
use maud::html;

use super::frame::bare_page;
use super::{DeviceView, HubFrame, HubPage};
use crate::component::submit;
use crate::untrusted::UntrustedText;

/// The sign-in page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignInView<'a> {
    /// True if the hub has an identity provider for people.
    pub has_provider: bool,
    /// Why the last attempt failed.
    pub error: Option<&'a str>,
    /// The page to return to.
    pub target: &'a str,
}

/// Returns the sign-in page.
pub fn sign_in_page(status: StatusCode, view: SignInView<'_>) -> Response {
    let body = html! {
        h1 { "Ken hub" }
        @if let Some(error) = view.error { div.notice.bad role="alert" { p { (UntrustedText(error)) } } }
        @if view.has_provider {
            // A link, not a form: the content policy lets no form lead to another origin.
            @let query = form_urlencoded::Serializer::new(String::new()).append_pair("target", view.target).finish();
            p { a.button href={ "/sign-in/provider?" (query) } { "Sign in with your organization" } }
        }
        details open[!view.has_provider] { summary { "Sign in with a token" }
            form.form method="post" action="/sign-in" {
                input type="hidden" name="target" value=(view.target);
                label { "Token" input type="password" name="token" autocomplete="off" required placeholder="ken_…"; }
                p.muted { "The token of a person. It is sent once and not kept in the browser." }
                (submit("Sign in", None))
            }
        }
        p.muted { "Programs use the API with a token instead: " a href="/docs" { "API reference" } "." }
    };
    bare_page(status, "Sign in", &body)
}

/// Returns the page that confirms a device.
pub fn device_page(frame: &HubFrame, view: &DeviceView) -> HubPage {
    let body = html! {
        div.page-head { h1 { "Confirm a device" } }
        @if let Some(error) = view.error { div.notice.bad role="alert" { p { (error) } } }
        @match (view.decided, &view.device, &view.grant) {
            (Some(true), ..) => p.notice.done { "The device is signed in. You can close this page." },
            (Some(false), ..) => p.notice.warn { "The device was refused." },
            (None, Some((name, address)), Some((actor, role, days))) => {
                p { strong { (UntrustedText(name)) } @if let Some(address) = address { " at " (UntrustedText(address)) }
                    " asks to act as " strong { (UntrustedText(actor)) } " with the role " strong { (role) } " for " (days) " days." }
                p.notice.warn { "Confirm only if you started `ken remote login` yourself and the terminal shows the code " strong { (UntrustedText(&view.code)) } "." }
                form.act method="post" action="/device/decide" {
                    (frame.token_field())
                    input type="hidden" name="code" value=(&view.code);
                    button type="submit" name="decision" value="confirm" { "Confirm" } " "
                    button type="submit" name="decision" value="refuse" { "Refuse" }
                }
            },
            (None, _, _) => {
                form.form method="get" action="/device" {
                    label { "Code" input type="text" name="code" value=(&view.code) required autocomplete="off" autocapitalize="characters" size="12" placeholder="XXXX-XXXX"; }
                    (submit("Continue", None))
                }
            },
        }
    };
    HubPage::new("Confirm a device", body)
}
