//! Pages around the others: errors, refused forms, sign-in.

use maud::{DOCTYPE, Markup, html};

use crate::action::FormFields;
use crate::address::PageAddress;
use crate::assets::ASSETS;
use crate::component::{entry_link, form_token};
use crate::frame::{PageContent, PageContext};
use crate::hub::FORM_TOKEN_FIELD;
use crate::source::{KnowledgeError, KnowledgeErrorCause};
use crate::untrusted::UntrustedText;

/// Fields of a refused form that are shown again.
const TEXT_FIELDS: [(&str, &str); 10] = [
    ("statement", "Statement"),
    ("reason", "Reason"),
    ("note", "Note"),
    ("citation", "Citation"),
    ("citations", "Evidence"),
    ("anchors", "Anchors"),
    ("tags", "Tags"),
    ("to", "To"),
    ("signature", "Signature"),
    ("host", "Host"),
];

/// Returns the page of an error.
pub(crate) fn error_page(context: &PageContext<'_>, error: &KnowledgeError) -> PageContent {
    let title = match error.cause {
        KnowledgeErrorCause::Refused => "Refused",
        KnowledgeErrorCause::NotFound => "Not found",
        KnowledgeErrorCause::Forbidden => "Not allowed",
        KnowledgeErrorCause::Conflict => "Changed meanwhile",
        KnowledgeErrorCause::Busy => "Busy",
        KnowledgeErrorCause::Internal => "Error",
    };
    let body = html! {
        h1 { (title) }
        (message(context, error))
        p { a href=(context.link(&PageAddress::Home)) { "Home" } }
    };
    PageContent::new(title, body)
}

fn message(context: &PageContext<'_>, error: &KnowledgeError) -> Markup {
    html! {
        div.notice.bad role="alert" {
            p { (UntrustedText(&error.message)) }
            @if let Some(hint) = &error.hint { p.muted { (UntrustedText(hint)) } }
        }
        @if !error.candidates.is_empty() {
            p { "Did you mean:" }
            ul { @for id in &error.candidates { li { (entry_link(context, id)) } } }
        }
    }
}

/// Returns the page of a refused form, with everything that was typed.
pub(crate) fn refused_page(
    context: &PageContext<'_>,
    (action, form): (&str, &FormFields),
    back: &PageAddress,
    error: &KnowledgeError,
) -> PageContent {
    let is_text = |name: &str| TEXT_FIELDS.iter().any(|(field, _)| *field == name);
    let body = html! {
        h1 { "Nothing was changed" }
        (message(context, error))
        form.form method="post" action=(context.action(action)) {
            (form_token(context))
            input type="hidden" name="back" value=(back.href());
            @for (name, value) in form.pairs() {
                // What the person had read is dropped: they have now seen that it changed.
                @if !is_text(name) && name != "back" && name != "revision" && name != FORM_TOKEN_FIELD { input type="hidden" name=(name) value=(value); }
            }
            @for (field, label) in TEXT_FIELDS {
                @if let Some(value) = form.raw(field) {
                    label { (label) textarea name=(field) rows=(if field == "statement" { "4" } else { "1" }) { (value) } }
                }
            }
            @if form.raw("statement").is_some() { label.check { input type="checkbox" name="redact"; " replace secrets with [REDACTED]" } }
            (crate::component::submit("Try again", None)) " "
            a href=(context.link(back)) { "Back" }
        }
    };
    PageContent::new("Nothing was changed", body)
}

/// Returns the page of a browser that is not signed in.
///
/// A link of another site arrives without the strict cookie; the link on this page brings it.
pub(crate) fn sign_in_page(base: &str, target: Option<&PageAddress>) -> Markup {
    bare(
        base,
        "Ken",
        html! {
            h1 { "Ken" }
            @match target {
                Some(target) => p { "A link of another site led here. " a href={ (base) (target.href()) } { "Open " (UntrustedText(&target.href())) } },
                None => p { "Open the link that " code { "ken ui" } " printed in your terminal. Press Enter there for another one." },
            }
        },
    )
}

/// Returns the page that follows a one-time link.
///
/// A page that refreshes instead of a redirect: after a redirect that began at another site,
/// browsers do not send a strict cookie.
pub(crate) fn entered_page(base: &str, target: &PageAddress) -> Markup {
    let href = format!("{base}{}", target.href());
    html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Ken" } meta http-equiv="refresh" content={ "0; url=" (href) };
                link rel="icon" href={ (base) (ASSETS.icon.path) } type="image/svg+xml"; }
            body { main { h1 { "Ken" } p { a href=(href) { "Continue" } } } }
        }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "markup is built at the call and not needed after it"
)]
fn bare(base: &str, title: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; meta name="viewport" content="width=device-width, initial-scale=1"; title { (title) }
                link rel="icon" href={ (base) (ASSETS.icon.path) } type="image/svg+xml";
                link rel="stylesheet" href={ (base) (ASSETS.style.path) }; }
            body { main { (body) } }
        }
    }
}
