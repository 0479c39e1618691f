//! Forms of actions. Each works without a script; keys are attributes that the script reads.

use ken_core::ledger::entry::Entry;
use ken_core::values::text::Statement;
use maud::{Markup, html};

use crate::frame::PageContext;
use crate::hub::FORM_TOKEN_FIELD;

/// Reasons of a retraction with their explanation.
const RETRACT_REASONS: [(&str, &str); 5] = [
    ("obsolete", "obsolete: it was true, the code moved on"),
    (
        "false",
        "false: it was never true (cannot be proposed again)",
    ),
    ("unwanted", "unwanted (cannot be proposed again)"),
    ("duplicate", "duplicate of another entry"),
    ("withdrawn", "withdrawn by its author"),
];

/// Renders a form that performs an action and returns to the current page.
#[expect(
    clippy::needless_pass_by_value,
    reason = "markup is built at the call and not needed after it"
)]
pub(crate) fn post_form(
    context: &PageContext<'_>,
    name: &str,
    fields: &[(&str, String)],
    inner: Markup,
) -> Markup {
    if !context.may(name) {
        return html! {};
    }
    html! {
        form.act method="post" action=(context.action(name)) {
            (form_token(context))
            input type="hidden" name="back" value=(context.address.href());
            @for (field, value) in fields { input type="hidden" name=(field) value=(value); }
            (inner)
        }
    }
}

/// Renders the field that proves that a form came from a page of the same sign-in. Only a hub has
/// one: many people share its address.
pub(crate) fn form_token(context: &PageContext<'_>) -> Markup {
    let hub = context.overview.hub.as_ref();
    html! { @if let Some(hub) = hub { input type="hidden" name=(FORM_TOKEN_FIELD) value=(hub.form_token); } }
}

/// Renders the button of a form with its key.
pub(crate) fn submit(label: &str, key: Option<&str>) -> Markup {
    html! { button type="submit" data-key=[key] { (label) @if let Some(key) = key { " " kbd { (key) } } } }
}

/// Renders a form that opens below its button; nothing if the person may not use the form.
pub(crate) fn disclosure(label: &str, key: Option<&str>, inner: Markup) -> Markup {
    if inner.0.is_empty() {
        return inner;
    }
    html! {
        details.disclose {
            summary data-key=[key] { (label) @if let Some(key) = key { " " kbd { (key) } } }
            (inner)
        }
    }
}

/// Returns the fields that name an entry and the version that the person read.
fn entry_fields(entry: &Entry) -> Vec<(&'static str, String)> {
    let revision: Vec<String> = entry.revision.iter().map(ToString::to_string).collect();
    vec![
        ("entry", entry.id.to_string()),
        ("revision", revision.join(",")),
    ]
}

/// Renders the field of a citation.
fn citation_field(suggested: Option<&str>) -> Markup {
    html! {
        label.inline { "evidence "
            input type="text" name="citation" value=[suggested] size="20" placeholder="commit:HASH, pr:7, doc:PATH";
        }
    }
}

/// Renders the form that edits a statement.
pub(crate) fn edit_form(context: &PageContext<'_>, entry: &Entry, accepts_code: bool) -> Markup {
    post_form(
        context,
        "edit",
        &entry_fields(entry),
        html! {
            @if accepts_code { input type="hidden" name="accept_code" value="on"; }
            label { "Statement"
                textarea name="statement" rows="4" maxlength=(Statement::BYTES_MAX) required { (entry.statement_text()) }
            }
            label { "Reason" input type="text" name="reason" placeholder="optional"; }
            label.check { input type="checkbox" name="redact"; " replace secrets with [REDACTED]" }
            (submit("Save", None))
        },
    )
}

/// Renders the form that retracts an entry.
pub(crate) fn retract_form(context: &PageContext<'_>, entry: &Entry) -> Markup {
    post_form(
        context,
        "retract",
        &entry_fields(entry),
        html! {
            fieldset {
                legend { "Why?" }
                @for (at, (value, text)) in RETRACT_REASONS.iter().enumerate() {
                    label.check { input type="radio" name="reason" value=(value) checked[at == 0]; " " (text) }
                }
            }
            label { "Note" input type="text" name="note" placeholder="optional"; }
            (submit("Retract", None))
        },
    )
}

/// Renders the decisions about an entry whose code changed: still true, edit, reanchor, retract.
pub(crate) fn decision_forms(
    context: &PageContext<'_>,
    entry: &Entry,
    suggested_citation: Option<&str>,
) -> Markup {
    if !context.may_write() {
        return html! {};
    }
    let fields = entry_fields(entry);
    html! {
        div.decide {
            (post_form(context, "accept-code", &fields, html! {
                (submit("Still true", Some("y"))) " " (citation_field(suggested_citation))
            }))
            (disclosure("Edit", Some("w"), edit_form(context, entry, true)))
            (disclosure("Move anchor", Some("m"), post_form(context, "reanchor", &fields, html! {
                label { "New location" input type="text" name="to" required placeholder="src/pay.rs#Ledger::charge"; }
                (submit("Move", None))
            })))
            (disclosure("Retract", Some("n"), retract_form(context, entry)))
        }
    }
}
