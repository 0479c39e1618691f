//! The inbox of a workspace at a hub: quarantined events and entries, and pending approvals.

use maud::{Markup, html};

use super::{
    ApprovalLine, HubFrame, HubPage, QuarantinedEntryLine, QuarantinedEventLine, ReviewView,
};
use crate::component::code::word_diff;
use crate::component::{
    confidence, confirmations, counted, disclosure, empty, entry_link, head_badges,
    linked_statement, statement, submit, time,
};
use crate::untrusted::UntrustedText;

/// Returns the items of one workspace that wait for a curator.
pub fn review_page(frame: &HubFrame, workspace: &str, view: &ReviewView) -> HubPage {
    let number = view.events.len() + view.entries.len() + view.approvals.len();
    let body = html! {
        div.page-head { h1 { "Inbox" } span.muted { (counted(number as u64, "item", "items")) } }
        @if number == 0 { (empty(&html! { "Nothing waits for a curator." })) }
        @if !view.events.is_empty() {
            section { h2 { "Quarantined events" }
                p.muted { "Pushed, and not in the log until you release them." }
                ol.cards { @for event in &view.events { li.item data-row { (quarantined_event(frame, workspace, event)) } } } }
        }
        @if !view.entries.is_empty() {
            section { h2 { "Quarantined entries" }
                p.muted { "In the log, and hidden from everyone below curator until you release them." }
                ol.cards { @for entry in &view.entries { li.item data-row { (quarantined_entry(frame, workspace, entry)) } } } }
        }
        @if !view.approvals.is_empty() {
            section { h2 { "Approvals" }
                ol.cards { @for item in &view.approvals { li.item data-row { (approval(frame, workspace, item)) } } } }
        }
    };
    HubPage::new("Inbox", body)
}

/// Renders a form of the review.
fn decision(
    frame: &HubFrame,
    workspace: &str,
    (action, subject): (&str, &str),
    inner: &Markup,
) -> Markup {
    let target = format!("{}/review/{action}", super::workspace_base(workspace));
    html! {
        form.act method="post" action=(target) {
            (frame.token_field())
            input type="hidden" name="subject" value=(subject);
            (inner)
        }
    }
}

fn reason_field() -> Markup {
    html! { label { "Reason" input type="text" name="reason" placeholder="optional"; } }
}

fn quarantined_event(frame: &HubFrame, workspace: &str, event: &QuarantinedEventLine) -> Markup {
    let id = event.id.to_string();
    html! {
        p.lane-name { code { (UntrustedText(&event.type_name)) } " by " (UntrustedText(&event.author))
            ", pushed by " (UntrustedText(&event.pusher)) " " (time(event.at)) }
        p { span.verdict.warn { "⚠ quarantined" } " " (UntrustedText(&event.reason)) }
        @if let Some(entry) = event.entry { p { "about " (frame.for_workspace(workspace, |context| entry_link(context, entry))) } }
        @match (&event.current, &event.proposed) {
            (Some(current), Some(proposed)) => div.claim { bdi { (word_diff(current, proposed)) } },
            (None, Some(text)) | (Some(text), None) => (frame.for_workspace(workspace, |context| statement(context, text))),
            (None, None) => {},
        }
        details.raw { summary { "The event" } pre.report tabindex="0" aria-label="The event" { (UntrustedText(&event.raw)) } }
        div.decide {
            (decision(frame, workspace, ("release-event", &id), &submit("Release", Some("y"))))
            (disclosure("Discard", Some("n"), decision(frame, workspace, ("discard-event", &id), &html! {
                p { "The event is deleted from the quarantine. Another push brings it here again." } (submit("Discard", None)) })))
        }
    }
}

fn quarantined_entry(frame: &HubFrame, workspace: &str, held: &QuarantinedEntryLine) -> Markup {
    let entry = &held.row.entry;
    let id = entry.id.to_string();
    html! {
        (frame.for_workspace(workspace, |context| html! { (linked_statement(context, entry)) div.meta { (head_badges(context, entry)) } }))
        ul.findings { @for finding in &held.findings { li { span.verdict.warn { "⚠" } " " (UntrustedText(finding)) } } }
        @if held.needs_approval { p.muted { "An approval ends this quarantine; see below." } } @else {
            div.decide {
                (disclosure("Release", Some("y"), decision(frame, workspace, ("release-entry", &id), &html! { (reason_field()) (submit("Release", None)) })))
                (disclosure("Discard", Some("n"), decision(frame, workspace, ("discard-entry", &id), &html! {
                    p { "The entry is retracted, and agents cannot propose the same claim again." } (reason_field()) (submit("Discard", None)) })))
            }
        }
    }
}

fn approval(frame: &HubFrame, workspace: &str, item: &ApprovalLine) -> Markup {
    let entry = &item.row.entry;
    let id = entry.id.to_string();
    html! {
        p.lane-name { (item.reason) }
        (frame.for_workspace(workspace, |context| html! { (linked_statement(context, entry))
            div.meta { (head_badges(context, entry)) " " (confirmations(&item.row.facts)) " " (confidence(item.row.facts.posterior)) } }))
        @if let Some(previous) = &item.previous {
            details open { summary { "Changes of the wording" } div.claim { bdi { (word_diff(previous, entry.statement_text())) } } }
        }
        @if !item.authors.is_empty() { p.muted { "Written by " @for author in &item.authors { (UntrustedText(author)) " " } ", who may not approve it." } }
        div.decide {
            (decision(frame, workspace, ("approve", &id), &html! {
                input type="hidden" name="digest" value=(item.digest);
                (submit("Approve", Some("y")))
                " " label.inline { input type="checkbox" name="override"; " although criteria are not met" }
            }))
            (disclosure("Decline", Some("n"), decision(frame, workspace, ("decline", &id), &html! {
                p { "An entry that is quarantined is retracted; another one keeps its scope." } (reason_field()) (submit("Decline", None)) })))
        }
    }
}
