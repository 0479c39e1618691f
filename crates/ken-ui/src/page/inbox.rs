//! The inbox: everything that waits for a decision, in one list that can be worked off by keys.

use ken_core::health::InsightSeverity;
use maud::{Markup, html};

use crate::address::{InboxLane, PageAddress};
use crate::component::{
    actor, anchor_state, command, condition_state, confidence, count, counted, decision_forms,
    disclosure, edit_form, empty, entry_link, head_badges, note_head, post_form, retract_form,
    statement, submit, time, validity_badge,
};
use crate::frame::{PageContent, PageContext, live_topics};
use crate::live::ChangeTopic;
use crate::untrusted::UntrustedText;
use crate::view::{
    ApprovalItem, ChangedItem, ClaimItem, EntryRow, InboxItem, InboxView, PairItem, VersionsItem,
};

pub(super) fn lane_title(lane: InboxLane) -> &'static str {
    match lane {
        InboxLane::Changed => "Changed code",
        InboxLane::Quarantined => "Quarantined",
        InboxLane::Approvals => "To approve",
        InboxLane::Claims => "Claims",
        InboxLane::Contradictions => "Contradictions",
        InboxLane::Duplicates => "Duplicates",
        InboxLane::Versions => "Versions",
        InboxLane::Health => "Health",
    }
}

pub(crate) fn inbox_page(
    context: &PageContext<'_>,
    lane: Option<InboxLane>,
    view: &InboxView,
) -> PageContent {
    // A lane without a number was not compared yet; it counts as soon as it is known.
    let total: u64 = view.counts.iter().filter_map(|(_, number)| *number).sum();
    let of_page = view
        .counts
        .iter()
        .filter(|(it, _)| lane.is_none_or(|lane| lane == *it));
    let waiting: u64 = of_page.filter_map(|(_, number)| *number).sum();
    let tab = |label: &str, lane_of_tab: Option<InboxLane>, number: Option<u64>| {
        html! {
            a href=(context.link(&PageAddress::Inbox { lane: lane_of_tab })) aria-current=[(lane == lane_of_tab).then_some("page")] {
                (label) @if let Some(number) = number { " " span.count { (count(number)) } }
            }
        }
    };
    let body = html! {
        div.page-head {
            h1 { "Inbox" }
            @if let Some(at) = view.checked { span.muted { "code checked " (time(at)) } }
            span.spacer {}
            span.muted.keys-hint { kbd { "j" } " " kbd { "k" } " move, " kbd { "y" } " still true, " kbd { "w" } " edit, " kbd { "n" } " retract, " kbd { "z" } " undo" }
        }
        nav #lanes .lanes-nav aria-label="Kinds of items" data-live=(live_topics(&[ChangeTopic::Inbox])) data-auto {
            (tab("All", None, Some(total)))
            @for (of_lane, number) in &view.counts {
                // The lane that is open stays in the list when its last item is decided.
                @if *number != Some(0) || lane == Some(*of_lane) { (tab(lane_title(*of_lane), Some(*of_lane), *number)) }
            }
        }
        // Not replaced by itself: an item must not move while a person reads it or types a reason.
        div #items data-live=(live_topics(&[ChangeTopic::Ledger])) {
            @if view.items.is_empty() { (empty(&html! { "Nothing waits for you." })) }
            ol.cards { @for item in &view.items { (item_card(context, view, item)) } }
            @if (view.items.len() as u64) < waiting { p.muted { (count(waiting - view.items.len() as u64)) " more follow as you decide." } }
        }
    };
    PageContent::new("Inbox", body).with_command("ken inbox")
}

fn item_card(context: &PageContext<'_>, view: &InboxView, item: &InboxItem) -> Markup {
    html! {
        // Focusable for the script only; the tab key visits the controls inside.
        li.item data-row tabindex="-1" {
            div.lane-name { (lane_title(item.lane())) }
            @match item {
                InboxItem::Changed(it) => (changed(context, it, view.suggested_citation.as_deref())),
                InboxItem::Quarantined { row, reason } => (quarantined(context, row, reason)),
                InboxItem::Approval(it) => (approval(context, it)),
                InboxItem::Claim(it) => (claim(context, it)),
                InboxItem::Contradiction(it) => (contradiction(context, it)),
                InboxItem::Duplicate(it) => (duplicate(context, it)),
                InboxItem::Versions(it) => (versions(context, it)),
                InboxItem::Health(it) => (health(context, it)),
            }
        }
    }
}

fn changed(context: &PageContext<'_>, item: &ChangedItem, suggested: Option<&str>) -> Markup {
    let entry = &item.row.entry;
    // An item with several anchors opens at the first; the entry's own page lists the others.
    let path = item
        .anchors
        .first()
        .and_then(|it| it.location.path().parse().ok());
    html! {
        (note_head(context, &item.row))
        (statement(context, entry.statement_text()))
        @for anchor in &item.anchors { (anchor_state(context, anchor)) }
        @for condition in &item.conditions { (condition_state(condition)) }
        p.muted { "shown in " (counted(entry.tallies.shown, "run", "runs"))
            @if let Some(created) = &entry.created { ", added by " (actor(&created.by)) " on " (created.at.wall.date()) } }
        (decision_forms(context, entry, suggested))
        @if let Some(path) = path { a.small href={ (context.link(&PageAddress::path(path))) "#n-" (entry.id) } data-key="o" data-open { "Open at the code " kbd { "o" } } }
    }
}

fn quarantined(context: &PageContext<'_>, row: &EntryRow, reason: &str) -> Markup {
    let entry = &row.entry;
    html! {
        (note_head(context, row))
        (statement(context, entry.statement_text()))
        p { "Quarantined: " (UntrustedText(reason)) @if let Some(created) = &entry.created { " · brought by " (actor(&created.by)) } }
        @if context.may_write() {
            div.decide {
                (disclosure("Release", Some("y"), post_form(context, "release", &[("entry", entry.id.to_string())], html! {
                    // Releasing shows the text to agents, so the reason becomes part of the event.
                    label { "Reason" input type="text" name="reason" required; }
                    (submit("Release", None))
                })))
                (disclosure("Retract", Some("n"), retract_form(context, entry)))
            }
        }
    }
}

fn approval(context: &PageContext<'_>, item: &ApprovalItem) -> Markup {
    let entry = &item.row.entry;
    let fields = [
        ("entry", entry.id.to_string()),
        // The approval names the bytes that were on the page, so an edit in between refuses it.
        ("digest", item.digest.clone()),
    ];
    html! {
        (note_head(context, &item.row))
        (statement(context, entry.statement_text()))
        p.muted { "written by " @for author in &item.authors { (actor(author)) " " } }
        // The exact artifact, not a rendering of it: hidden characters must not be approved
        // unseen.
        details.raw { summary { "The text you approve" } pre tabindex="0" { (UntrustedText(&item.artifact)) } }
        @if context.may_write() {
            div.decide {
                (disclosure("Approve", Some("y"), post_form(context, "approve", &fields, html! {
                    p { "An approval stays for good." }
                    @if let Some(line) = &item.signing_command {
                        p { "Sign the artifact: " (command(line)) }
                        label { "Signature" textarea name="signature" rows="4" required {} }
                    }
                    (submit("Approve", None))
                })))
                (disclosure("Edit", Some("w"), edit_form(context, entry, false)))
                (disclosure("Retract", Some("n"), retract_form(context, entry)))
            }
        }
    }
}

fn claim(context: &PageContext<'_>, item: &ClaimItem) -> Markup {
    let fields = [("claim", item.id.clone())];
    html! {
        div.meta { span.id { (UntrustedText(&item.id)) } " " span.badge.kind { (item.kind) } " " span.muted { (UntrustedText(&item.citation)) } }
        (statement(context, &item.statement))
        @for finding in &item.findings { p.warn { "⚠ " (UntrustedText(finding)) } }
        @if let Some(location) = &item.location { p.muted { (UntrustedText(location)) } }
        @if let Some(exchange) = &item.exchange {
            details.raw { summary { "The conversation" } pre tabindex="0" { (UntrustedText(exchange)) } }
        }
        @for (id, older) in &item.supersedes {
            p { "Accepting it supersedes " span.id { (UntrustedText(id)) } ":" }
            (statement(context, older))
        }
        @if let Some(newer) = &item.superseded_by {
            p.warn { "⚠ Superseded by " span.id { (UntrustedText(newer)) } ": it would be recorded as no longer current." }
        }
        @if !item.tags.is_empty() { p.muted { @for tag in &item.tags { (UntrustedText(tag)) " " } } }
        @if context.may_write() {
            div.decide {
                (post_form(context, "accept-claims", &fields, submit("Accept", Some("y"))))
                // Accepting can be undone, rejecting keeps the claim out for good: only the latter
                // asks again.
                (disclosure("Reject", Some("n"), post_form(context, "reject-claims", &fields, html! {
                    p { "A rejected claim is not proposed again." }
                    (submit("Reject", None))
                })))
            }
        }
    }
}

/// Renders two entries beside each other.
fn pair(context: &PageContext<'_>, item: &PairItem) -> Markup {
    html! {
        p.muted { (UntrustedText(&item.reason)) }
        div.pair { @for (name, row) in [("A", &item.first), ("B", &item.second)] {
            div {
                div.meta { strong { (name) } " " (head_badges(context, &row.entry)) " " (validity_badge(row.facts.validity)) }
                (statement(context, row.entry.statement_text()))
                div.meta { (crate::component::confirmations(&row.facts)) span.spacer {} (confidence(row.facts.posterior)) }
            }
        } }
    }
}

fn contradiction(context: &PageContext<'_>, item: &PairItem) -> Markup {
    let (a, b) = (
        item.first.entry.id.to_string(),
        item.second.entry.id.to_string(),
    );
    let ordered =
        |first: &str, second: &str| [("first", first.to_owned()), ("second", second.to_owned())];
    html! {
        (pair(context, item))
        @if context.may_write() {
            div.decide {
                // The order of the two fields is the decision: the first entry is the one that
                // stays.
                (final_action(context, "Keep A", "1", "keep-one", &ordered(&a, &b)))
                (final_action(context, "Keep B", "2", "keep-one", &ordered(&b, &a)))
                (final_action(context, "Keep both", "b", "keep-both", &ordered(&a, &b)))
                (disclosure("Scope each", None, post_form(context, "keep-scoped", &ordered(&a, &b), html! {
                    label { "Tag of A" input type="text" name="first_tag" required; }
                    label { "Tag of B" input type="text" name="second_tag" required; }
                    (submit("Keep both with tags", None))
                })))
                (final_action(context, "Not a contradiction", "d", "dismiss-contradiction", &ordered(&a, &b)))
            }
        }
    }
}

fn duplicate(context: &PageContext<'_>, item: &PairItem) -> Markup {
    let (a, b) = (
        item.first.entry.id.to_string(),
        item.second.entry.id.to_string(),
    );
    let ordered =
        |first: &str, second: &str| [("first", first.to_owned()), ("second", second.to_owned())];
    html! {
        (pair(context, item))
        @if context.may_write() {
            div.decide {
                (final_action(context, "Merge, keep A's words", "1", "merge", &ordered(&a, &b)))
                (final_action(context, "Merge, keep B's words", "2", "merge", &ordered(&b, &a)))
                (final_action(context, "A supersedes B", "u", "supersede", &ordered(&a, &b)))
                (final_action(context, "Not the same", "d", "dismiss-duplicate", &ordered(&a, &b)))
            }
        }
    }
}

/// Renders an action that cannot be undone: its button asks once more.
fn final_action(
    context: &PageContext<'_>,
    label: &str,
    key: &str,
    name: &str,
    fields: &[(&str, String)],
) -> Markup {
    disclosure(
        label,
        Some(key),
        post_form(
            context,
            name,
            fields,
            html! {
                p { "This stays for good." }
                (submit(label, None))
            },
        ),
    )
}

fn versions(context: &PageContext<'_>, item: &VersionsItem) -> Markup {
    let entry = &item.row.entry;
    html! {
        (note_head(context, &item.row))
        p { "Edited concurrently. Keep one:" }
        @for (at, (event, by, text)) in item.versions.iter().enumerate() {
            div {
                p.muted { @if at == 0 { "in use, " } (actor(by)) " " (event) }
                (statement(context, text))
                @if context.may_write() {
                    // Keeping a version is an edit with its text: the new event has both versions
                    // as parents.
                    @let fields = [("entry", entry.id.to_string()), ("statement", Clone::clone(text)), ("reason", "resolves concurrent versions".to_owned())];
                    @let key = (at + 1).to_string();
                    (post_form(context, "edit", &fields, submit("Keep this version", Some(&key))))
                }
            }
        }
    }
}

fn health(context: &PageContext<'_>, insight: &ken_core::health::HealthInsight) -> Markup {
    let class = match insight.severity {
        InsightSeverity::ActionRequired => "bad",
        InsightSeverity::Attention => "warn",
        InsightSeverity::Info => "muted",
    };
    html! {
        p { span class={ "verdict " (class) } { (ken_core::values::text::enum_label(&insight.severity)) } " " (UntrustedText(&insight.what)) }
        // The command below works on all of them; ten are enough to see what it is about.
        @if !insight.entries.is_empty() { p { @for id in insight.entries.iter().take(10) { (entry_link(context, id)) " " } } }
        @if let Some(line) = &insight.command { p { (command(line)) } }
        @if let Some(research) = &insight.research { p.muted { (UntrustedText(&research.task)) " " (command(&research.command)) } }
    }
}
