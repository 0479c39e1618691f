//! Pages that are forms: a new entry, settings.

use ken_core::values::kind::EntryKind;
use ken_core::values::text::Statement;
use maud::{Markup, html};

use crate::component::{form_token, submit};
use crate::frame::{PageContent, PageContext};
use crate::settings::{Editor, Theme};

pub(crate) fn add_page(context: &PageContext<'_>, anchor: &str) -> PageContent {
    let body = html! {
        h1 { "Add an entry" }
        @if !context.may("add") { p.notice.warn { "These pages are read only." } } @else {
            form.form method="post" action=(context.action("add")) {
                (form_token(context))
                input type="hidden" name="back" value=(context.address.href());
                label { "Statement"
                    textarea name="statement" rows="4" required maxlength=(Statement::BYTES_MAX) placeholder="One claim that is true of this code and not obvious from it." autofocus {} }
                label { "Kind" select name="kind" { @for kind in EntryKind::ALL {
                    option value=(kind.name()) selected[kind == EntryKind::Learning] { (kind.name()) ": " (kind.summary()) }
                } } }
                label { "Anchors" input type="text" name="anchors" value=(anchor) placeholder="src/pay.rs#Ledger::charge, src/pay.rs:10-20"; }
                label { "Evidence" input type="text" name="citations" value=[context.has_code().then_some("commit:HEAD")] placeholder="commit:HASH, pr:7, doc:PATH"; }
                label { "Tags" input type="text" name="tags" placeholder="payments/retries"; }
                label.check { input type="checkbox" name="redact"; " replace secrets with [REDACTED]" }
                (submit("Add", None))
            }
        }
    };
    PageContent::new("Add an entry", body).with_command("ken add")
}

pub(crate) fn settings_page(context: &PageContext<'_>) -> PageContent {
    let settings = context.settings;
    let body = html! {
        h1 { "Settings" }
        form.form method="post" action={ (context.base) "/settings" } {
            (form_token(context))
            fieldset { legend { "Colors" } @for (theme, name) in Theme::ALL {
                label.check { input type="radio" name="theme" value=(name) checked[settings.theme == theme]; " " (name) }
            } }
            fieldset { legend { "Single-key shortcuts" }
                label.check { input type="radio" name="keys" value="keys" checked[settings.has_keys]; " on" }
                label.check { input type="radio" name="keys" value="nokeys" checked[!settings.has_keys]; " off" }
            }
            fieldset { legend { "Editor" }
                label.check { input type="radio" name="editor" value="none" checked[settings.editor.is_none()]; " none" }
                @for (editor, name) in Editor::ALL {
                    label.check { input type="radio" name="editor" value=(name) checked[settings.editor == Some(editor)]; " " (name) }
                }
            }
            (submit("Save", None))
        }
        (about(context))
    };
    PageContent::new("Settings", body)
}

fn about(context: &PageContext<'_>) -> Markup {
    html! {
        @if let Some(person) = &context.overview.person {
            p.muted { "Every decision on these pages is recorded as " (crate::component::actor(person)) @if context.has_code() { ", the identity in git's configuration" } "." }
        }
        p.muted { "Settings are kept in a cookie of this browser." }
    }
}
