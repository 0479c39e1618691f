//! One entry: the three questions about it, its timeline, its wordings, its neighbors.

use ken_core::json::{describe_citation, describe_forage_provenance};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Overlay, Switch};
use ken_core::trust::posterior::beta_quantile;
use ken_core::trust::run::exposure_log::ExposureDecision;
use ken_core::values::content::EntryScope;
use ken_core::values::text::enum_label;
use maud::{Markup, html};

use crate::address::PageAddress;
use crate::component::chart::{confidence_chart, impact_text};
use crate::component::code::word_diff;
use crate::component::{
    actor, anchor_state, condition_state, confidence, counted, decision_forms, disclosure,
    edit_form, empty, entry_link, head_badges, post_form, retract_form, statement, submit, time,
    validity_badge,
};
use crate::frame::{PageContent, PageContext, live_topics};
use crate::live::ChangeTopic;
use crate::untrusted::UntrustedText;
use crate::view::{
    EntryView, EventLine, HistoryView, Neighbor, NeighborRelation, NeighborsView, ShownRecord,
};

/// Events on the page of an entry; the history has all.
const EVENTS_SHOWN: usize = 12;

/// Share of the interval around a confidence.
const INTERVAL: (f64, f64) = (0.1, 0.9);

/// Maximum neighbors in the picture; the list has all.
const NEIGHBORS_DRAWN: usize = 30;

pub(crate) fn entry_page(context: &PageContext<'_>, view: &EntryView) -> PageContent {
    let entry = &view.entry;
    let body = html! {
        article #entry data-live=(live_topics(&[ChangeTopic::Ledger])) {
            div.page-head {
                h1.id { (entry.id) } (head_badges_without_id(entry))
                span.spacer {}
                (actions(context, entry))
            }
            (retraction(entry))
            (statement(context, entry.statement_text()))
            @if let Some(body) = entry.content.as_ref().and_then(|it| it.body.as_ref()) {
                div.body { (statement(context, body.as_str())) }
            }
            @if !view.versions.is_empty() { (versions(context, view)) }
            div.three {
                (code_question(context, view))
                (confirmation_question(view))
                (use_question(view))
            }
            (details(context, view))
            (timeline(context, entry, &view.events))
            (shown_log(context, &view.shown))
        }
    };
    PageContent::new(entry.id.to_string(), body)
        .with_command_on("ken show --explain", &entry.id.to_string())
}

fn head_badges_without_id(entry: &Entry) -> Markup {
    html! { (crate::component::kind_badge(entry)) " " (crate::component::status_badges(entry)) }
}

fn retraction(entry: &Entry) -> Markup {
    html! {
        @if let Some(it) = &entry.retracted {
            p.notice.bad { "Retracted as " (enum_label(&it.reason)) " on " (it.since) " by " (actor(&it.by))
                @if let Some(note) = &it.note { ": " (UntrustedText(note.as_str())) } }
        }
        @if let Some(it) = &entry.archived {
            p.notice.warn { "Archived on " (it.since) " (" (enum_label(&it.because)) ")" }
        }
    }
}

/// Renders the actions on an entry.
fn actions(context: &PageContext<'_>, entry: &Entry) -> Markup {
    if !context.may_write() {
        return html! {};
    }
    let fields = [("entry", entry.id.to_string())];
    let is_out = entry.retracted.is_some() || entry.archived.is_some();
    html! {
        div.actions {
            @if is_out {
                (post_form(context, "restore", &fields, submit("Restore", Some("r"))))
            } @else {
                (post_form(context, "confirm", &fields, submit("Confirm", Some("c"))))
                (disclosure("Edit", Some("w"), edit_form(context, entry, false)))
                (disclosure("Cite", Some("e"), post_form(context, "cite", &fields, html! {
                    label { "Citation" input type="text" name="citation" required placeholder="commit:HASH, pr:7, doc:PATH"; }
                    p.muted { "A citation stays for good." }
                    (submit("Cite", None))
                })))
                @if entry.scope.value == EntryScope::Thread {
                    (post_form(context, "promote", &fields, submit("Promote", Some("P"))))
                }
                (disclosure("Retract", Some("n"), retract_form(context, entry)))
                (disclosure("More", None, more_actions(context, entry)))
            }
        }
    }
}

fn more_actions(context: &PageContext<'_>, entry: &Entry) -> Markup {
    let id = entry.id.to_string();
    let overlay = |label: &str, overlay: Overlay, name: &str| {
        let is_on = entry
            .overlays
            .get(&overlay)
            .is_some_and(|it| it.state == Switch::On);
        let (label, state) = if is_on {
            (format!("Undo: {label}"), "off")
        } else {
            (label.to_owned(), "on")
        };
        let fields = [
            ("entry", id.clone()),
            ("overlay", name.to_owned()),
            ("state", state.to_owned()),
        ];
        post_form(context, "overlay", &fields, submit(&label, None))
    };
    html! {
        div.menu {
            (overlay("Pin", Overlay::Pin, "pin"))
            (overlay("Mute", Overlay::Mute, "mute"))
            // At a hub, overlays belong to one person and change what that person is shown.
            @if context.has_code() { (overlay("Mark invalid", Overlay::Invalidate, "invalidate")) }
            (post_form(context, "archive", &[("entry", id.clone())], submit("Archive", None)))
            @for (label, verdict) in [("It helped", "helpful"), ("It did not help", "unhelpful")] {
                (post_form(context, "feedback", &[("entry", id.clone()), ("verdict", verdict.to_owned())], submit(label, None)))
            }
            (post_form(context, "status", &[("entry", id.clone())], html! {
                label.inline { "Status " select name="status" {
                    @for status in ken_core::values::status::EntryStatus::ALL {
                        option value=(status.name()) selected[entry.status.value == status] { (status.name()) }
                    }
                } } " " (submit("Set", None))
            }))
            (post_form(context, "link", &[("entry", id.clone())], html! {
                label.inline { "Link " select name="relation" {
                    @for relation in ["relates_to", "depends_on", "derived_from", "contradicts", "refines"] { option value=(relation) { (relation.replace('_', " ")) } }
                } }
                label.inline { " to " input type="text" name="to" size="12" required placeholder="L-7k2f5qm3"; } " " (submit("Link", None))
            }))
        }
    }
}

fn versions(context: &PageContext<'_>, view: &EntryView) -> Markup {
    html! {
        section.notice.warn {
            p { "Edited concurrently. The first version is in use; keep one of them:" }
            @for (event, by, text) in &view.versions {
                div { (actor(by)) " " span.muted { (event) } (statement(context, text)) }
            }
        }
    }
}

fn code_question(context: &PageContext<'_>, view: &EntryView) -> Markup {
    let needs_decision = view.facts.validity == ken_core::trust::facts::Validity::Changed
        || view.facts.validity == ken_core::trust::facts::Validity::Broken;
    html! {
        section.card {
            h2 { "Does the code bear it out?" }
            p { (validity_badge(view.facts.validity)) }
            @for anchor in &view.anchors { (anchor_state(context, anchor)) }
            @for condition in &view.conditions { (condition_state(condition)) }
            @if view.anchors.is_empty() && view.conditions.is_empty() { p.muted { "It has no anchor and no condition, so no check can tell." } }
            @if needs_decision { (decision_forms(context, &view.entry, view.suggested_citation.as_deref())) }
        }
    }
}

fn confirmation_question(view: &EntryView) -> Markup {
    let it = &view.entry.confirmation;
    html! {
        section.card {
            h2 { "Has anyone found it again?" }
            dl.facts {
                dt { "◆ independently" } dd { (it.independent) }
                dt { "◇ by a person" } dd { (it.manual) }
                dt { "primed" } dd { (it.primed) }
                dt { "unwitnessed" } dd { (it.unwitnessed) }
                @if let Some(day) = it.last { dt { "last" } dd { (day) @if !it.is_confirmed() { span.muted { " (added)" } } } }
            }
            p.muted {
                "Since then: shown in " (counted(view.since.shown, "run", "runs")) ", "
                (counted(view.since.blind, "chance", "chances")) " to find it unseen."
            }
            @if let Some(evidence) = view.policy.rediscovery.evidence(&view.entry).filter(|it| it.chances > 0) {
                p { "Belief " (format!("{:.2}", evidence.belief)) ": " (evidence) "." }
            }
        }
    }
}

fn use_question(view: &EntryView) -> Markup {
    let posterior = view.facts.posterior;
    let quantile = |share: f64| (beta_quantile(posterior, share) * 100.0).round();
    let (low, high) = (quantile(INTERVAL.0), quantile(INTERVAL.1));
    html! {
        section.card {
            h2 { "Does using it help?" }
            p.big { (confidence(posterior)) }
            p.muted { "80 % interval " (low) " to " (high) " %. Evidence of use: " (posterior.describe_evidence()) "." }
            p { (impact_text(view.impact)) }
            @if view.trend.len() > 1 {
                @let description = format!("From {} to {}: {:.0} % to {:.0} %", view.trend[0].on, view.trend[view.trend.len() - 1].on,
                    view.trend[0].mean * 100.0, view.trend[view.trend.len() - 1].mean * 100.0);
                (confidence_chart(&view.trend, &description))
                p.muted { (description) }
            }
        }
    }
}

fn details(context: &PageContext<'_>, view: &EntryView) -> Markup {
    let entry = &view.entry;
    let content = entry.content.as_ref();
    html! {
        dl.details {
            @if let Some(content) = content {
                @if !content.verify.is_empty() {
                    dt { "How to check" }
                    dd { ol { @for step in &content.verify { li { (UntrustedText(&step.to_string())) } } } }
                }
                @if !content.tags.is_empty() {
                    dt { "Tags" } dd { @for tag in &content.tags { (UntrustedText(tag.as_str())) " " } }
                }
                @if !content.applies_to.is_empty() {
                    dt { "Applies to" } dd { @for glob in &content.applies_to { code { (UntrustedText(&glob.to_string())) } " " } }
                }
                dt { "Decay" } dd { (enum_label(&content.decay)) ", " (enum_label(&entry.scope.value)) " scope" }
                @if let Some(detail) = &content.detail {
                    dt { "Details" } dd { code { (UntrustedText(&serde_json::to_string(detail).unwrap_or_default())) } }
                }
            }
            dt { "Rests on" }
            dd { @if entry.citations.is_empty() { span.muted { "nothing cited" } }
                ul { @for citation in &entry.citations { li { (UntrustedText(&describe_citation(citation))) } } } }
            @if !view.approvals.is_empty() {
                dt { "Approved" } dd { ul { @for approval in &view.approvals { li { (UntrustedText(approval)) } } } }
            }
            @if !view.neighbors.is_empty() {
                dt { "Around it" }
                dd { ul { @for it in view.neighbors.iter().take(6) { li { (UntrustedText(&it.label)) " " (entry_link(context, it.id)) " " (UntrustedText(&it.title)) } } }
                    a href=(context.link(&PageAddress::Neighbors { entry: entry.id.to_string() })) data-key="o" { "All neighbors" } }
            }
            @if let Some(created) = &entry.created {
                dt { "Added" } dd { (time(created.at.wall)) " by " (actor(&created.by)) }
                @if let Some(foraged) = &created.foraged {
                    dt { "Foraged" }
                    dd { ul { @for line in describe_forage_provenance(foraged) { li { (UntrustedText(&line)) } } } }
                }
            }
            @if let Some(file) = entry.file_name() { dt { "File" } dd { code { ".ken/entries/" (UntrustedText(&file)) } } }
        }
    }
}

fn timeline(context: &PageContext<'_>, entry: &Entry, events: &[EventLine]) -> Markup {
    html! {
        section {
            h2 { "Timeline" }
            (event_list(events.iter().take(EVENTS_SHOWN)))
            p { a href=(context.link(&PageAddress::History { entry: entry.id.to_string() })) data-key="h" {
                "Every event and wording " kbd { "h" }
            } }
        }
    }
}

fn event_list<'a>(events: impl Iterator<Item = &'a EventLine>) -> Markup {
    html! {
        ol.timeline {
            @for event in events {
                li #{ "ev-" (event.id) } {
                    (time(event.at)) " " (UntrustedText(&event.text)) " " span.muted { "by " (actor(&event.by)) }
                }
            }
        }
    }
}

fn shown_log(context: &PageContext<'_>, shown: &[ShownRecord]) -> Markup {
    html! {
        section {
            h2 { "Shown to agents" }
            @if shown.is_empty() { (empty(&html! { "No run on this machine has been shown this entry." })) }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Shown to agents" { table.list {
                    thead { tr { th scope="col" { "When" } th scope="col" { "Agent" } th scope="col" { "Run" } th scope="col" { "How" } th scope="col" { "Used" } } }
                    tbody { @for it in shown { tr {
                        td { (time(it.at)) }
                        td { (actor(&it.agent)) }
                        td { a href=(context.link(&PageAddress::Run { run: Clone::clone(&it.run) })) { (UntrustedText(&it.run)) } }
                        td { (exposure(it.decision)) }
                        td { @if it.was_used { "used" } }
                    } } }
                } }
            }
        }
    }
}

fn exposure(decision: ExposureDecision) -> Markup {
    html! {
        @match decision {
            ExposureDecision::Shown(channel) => (channel.description()),
            ExposureDecision::Withheld { propensity_milli } => span.warn { "withheld by chance (" (propensity_milli / 10) " %)" },
            ExposureDecision::Omitted => span.muted { "omitted for lack of room" },
        }
    }
}

pub(crate) fn history_page(context: &PageContext<'_>, view: &HistoryView) -> PageContent {
    let entry = &view.entry;
    let body = html! {
        div.page-head { h1 { "History of " (entry_link(context, entry.id)) } (head_badges_without_id(entry)) }
        (statement(context, entry.statement_text()))
        @if view.wordings.len() > 1 {
            section {
                h2 { "Wordings" }
                ol.timeline { @for pair in view.wordings.windows(2).rev() {
                    li { (time(pair[1].at)) " by " (actor(&pair[1].by))
                        div.claim { bdi { (word_diff(&pair[0].statement, &pair[1].statement)) } } }
                }
                li { (time(view.wordings[0].at)) " by " (actor(&view.wordings[0].by)) (statement(context, &view.wordings[0].statement)) } }
            }
        }
        section {
            h2 { "Events" }
            ol.timeline { @for event in &view.events {
                li #{ "ev-" (event.id) } {
                    (time(event.at)) " " (UntrustedText(&event.text)) " " span.muted { "by " (actor(&event.by)) }
                    details.raw { summary { (UntrustedText(&event.name)) " " (event.id) }
                        pre tabindex="0" { (UntrustedText(&event.raw)) } }
                }
            } }
        }
    };
    PageContent::new(format!("History of {}", entry.id), body)
        .with_command_on("ken log", &entry.id.to_string())
}

pub(crate) fn neighbors_page(context: &PageContext<'_>, view: &NeighborsView) -> PageContent {
    let entry = &view.entry;
    let lane = |relation: NeighborRelation| {
        let all = view
            .neighbors
            .iter()
            .filter(move |it| it.relation == relation);
        all.collect::<Vec<&Neighbor>>()
    };
    let list = |title: &str, neighbors: Vec<&Neighbor>| {
        html! {
            @if !neighbors.is_empty() {
                section.lane {
                    h2 { (title) " " span.muted { (neighbors.len()) } }
                    ul { @for it in neighbors.iter().take(NEIGHBORS_DRAWN) {
                        li { span.muted { (UntrustedText(&it.label)) } " " (entry_link(context, it.id)) " " (UntrustedText(&it.title))
                            @if let Some(weight) = it.weight { span.muted { " " (format!("{weight:.1}")) } } }
                    } }
                }
            }
        }
    };
    let body = html! {
        div.page-head { h1 { "Around " (entry_link(context, entry.id)) } }
        div.lanes {
            div {
                section.lane { h2 { "Rests on" }
                    ul { @for anchor in &view.anchors { li { code { (UntrustedText(anchor)) } } }
                        @for citation in &entry.citations { li { (UntrustedText(&citation.to_string())) } } } }
                (list("Derived from", lane(NeighborRelation::Source)))
            }
            div.center { (head_badges(context, entry)) (statement(context, entry.statement_text())) }
            div {
                (list("Rests on it", lane(NeighborRelation::Dependent)))
                section.lane { h2 { "Shown" } p { "in " (counted(view.shown_runs, "run", "runs")) } }
            }
        }
        (list("Contradicts", lane(NeighborRelation::Contradicts)))
        (list("States the same", lane(NeighborRelation::StatesTheSame)))
        (list("Used together", lane(NeighborRelation::UsedTogether)))
    };
    PageContent::new(format!("Around {}", entry.id), body)
        .with_command_on("ken show", &entry.id.to_string())
}
