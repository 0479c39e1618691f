//! Parts of entries: statement, badges, verdict, confirmations, confidence.

use ken_core::json::lifecycle_labels;
use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::{BetaPosterior, EntryFacts, Validity};
use ken_core::values::condition::TruthValue;
use maud::{Markup, html};

use super::chart::bar;
use super::code::diff;
use crate::address::{EntryListQuery, PageAddress};
use crate::frame::PageContext;
use crate::untrusted::{
    UntrustedText, untrusted_attribute, untrusted_prose, untrusted_prose_without_links,
};
use crate::view::{AnchorState, AnchorStateKind, ConditionState, EntryRow, HitScore};

/// Pseudo-observations at which the bar of a confidence is full.
const FULL_BAR: f64 = 50.0;

/// Number of tags in a row.
const TAGS_MAX: usize = 3;

/// Renders a statement in the frame that only text of others has.
pub(crate) fn statement(context: &PageContext<'_>, text: &str) -> Markup {
    html! { div.claim { bdi { (untrusted_prose(context, text)) } } }
}

/// Renders a statement as a link to its entry. References in it are no links, which cannot nest.
pub(crate) fn linked_statement(context: &PageContext<'_>, entry: &Entry) -> Markup {
    html! {
        a.open href=(context.link(&PageAddress::entry(entry.id))) data-open {
            div.claim { bdi { (untrusted_prose_without_links(entry.statement_text())) } }
        }
    }
}

/// Renders the link to an entry.
#[expect(
    clippy::needless_pass_by_value,
    reason = "ids are small and often made at the call"
)]
pub(crate) fn entry_link(context: &PageContext<'_>, id: impl ToString) -> Markup {
    let id = id.to_string();
    html! { a.id href=(context.link(&PageAddress::entry(&id))) { (id) } }
}

/// Renders the kind of an entry.
pub(crate) fn kind_badge(entry: &Entry) -> Markup {
    html! { @if let Some(kind) = entry.kind() { span.badge.kind title=(kind.summary()) { (kind.name()) } } }
}

/// Renders lifecycle labels and status.
pub(crate) fn status_badges(entry: &Entry) -> Markup {
    html! {
        @for label in lifecycle_labels(entry) { span.badge.mark { (UntrustedText(&label)) } " " }
        span class={ "badge st-" (entry.status.value.name()) } { (entry.status.value.name()) }
    }
}

/// Renders id, kind and status.
pub(crate) fn head_badges(context: &PageContext<'_>, entry: &Entry) -> Markup {
    html! { (entry_link(context, entry.id)) " " (kind_badge(entry)) " " (status_badges(entry)) }
}

/// Renders the verdict of the code.
pub(crate) fn validity_badge(validity: Validity) -> Markup {
    let (sign, word, class) = match validity {
        Validity::Holds => ("✓", "holds", "ok"),
        Validity::Changed => ("⚠", "code changed", "warn"),
        Validity::Broken => ("✗", "broken", "bad"),
        Validity::Unverifiable => ("?", "not checked", "muted"),
    };
    html! { span class={ "verdict " (class) } { span aria-hidden="true" { (sign) } " " (word) } }
}

/// Renders the confirmations by provenance.
pub(crate) fn confirmations(facts: &EntryFacts) -> Markup {
    let it = &facts.confirmation;
    html! {
        span.conf title="confirmations" {
            @if it.independent > 0 { span.ok { "◆ " (it.independent) " independent" } " " }
            @if it.manual > 0 { span { "◇ " (it.manual) " by a person" } " " }
            @if it.primed > 0 { span.muted { (it.primed) " primed" } " " }
            @if !it.is_confirmed() { span.muted { "unconfirmed" } }
        }
    }
}

/// Returns a confidence as a percentage.
fn confidence_percent(posterior: BetaPosterior) -> u32 {
    (posterior.mean() * 100.0).round() as u32
}

/// Renders a confidence: the percentage, and a bar whose width says how much evidence there is.
pub(crate) fn confidence(posterior: BetaPosterior) -> Markup {
    let sure = ((posterior.alpha + posterior.beta) / FULL_BAR).min(1.0);
    let percent = confidence_percent(posterior);
    let evidence = posterior.describe_evidence();
    html! {
        span.trust title={ "confidence; evidence of use: " (evidence) } {
            span.pct { (percent) " %" } " " (bar(sure))
            @if posterior.observations() < 0.05 { span.muted { " no data yet" } }
        }
    }
}

/// Renders one entry of a list.
pub(crate) fn entry_row(context: &PageContext<'_>, row: &EntryRow) -> Markup {
    let EntryRow { entry, facts, hit } = row;
    let content = entry.content.as_ref();
    let anchor = content.and_then(|it| it.anchors.first());
    let tags = content.into_iter().flat_map(|it| &it.tags);
    html! {
        li.row data-row {
            (linked_statement(context, entry))
            div.meta {
                (head_badges(context, entry)) " "
                (validity_badge(facts.validity)) " "
                (confirmations(facts)) " "
                @if let Some(anchor) = anchor { (location_link(context, anchor.at.path(), &anchor.at.to_string())) " " }
                @for tag in tags.take(TAGS_MAX) { (tag_link(context, tag.as_str())) " " }
                span.spacer {}
                (confidence(facts.posterior))
            }
            @if let Some(hit) = hit { (hit_reasons(hit)) }
        }
    }
}

/// Renders a tag as a link to the entries that have it.
fn tag_link(context: &PageContext<'_>, tag: &str) -> Markup {
    let list = EntryListQuery {
        tag: tag.parse().ok(),
        ..EntryListQuery::default()
    };
    html! { a.tag href=(context.link(&PageAddress::Entries(list))) { (UntrustedText(tag)) } }
}

/// Renders a code location as a link to its file.
pub(crate) fn location_link(context: &PageContext<'_>, path: &str, text: &str) -> Markup {
    html! {
        @match path.parse() {
            Ok(path) => a.at href=(context.link(&PageAddress::path(path))) { (UntrustedText(text)) },
            Err(_) => span.at { (UntrustedText(text)) },
        }
    }
}

/// Renders why an entry is a hit.
fn hit_reasons(hit: &HitScore) -> Markup {
    let coverage = (hit.coverage * 100.0).round();
    html! {
        details.why {
            summary {
                "score " (format!("{:.3}", hit.explained.score)) ": has " (coverage) " % of the words, meaning "
                (format!("{:.2}", hit.cosine))
            }
            table.parts {
                tr { th scope="col" { "signal" } th scope="col" { "value" } th scope="col" { "weight" } th scope="col" { "adds" } th {} }
                @for part in &hit.explained.parts {
                    tr {
                        td { (part.name.replace('_', " ")) }
                        td.num { (format!("{:.2}", part.value)) }
                        td.num { (format!("{:.2}", part.weight)) }
                        td.num { (format!("{:.3}", part.adds)) }
                        td { (bar(part.adds.clamp(0.0, 1.0))) }
                    }
                }
            }
        }
    }
}

/// Renders the head of an entry beside code or in the inbox.
pub(crate) fn note_head(context: &PageContext<'_>, row: &EntryRow) -> Markup {
    html! {
        div.meta {
            (head_badges(context, &row.entry)) " " (validity_badge(row.facts.validity))
            span.spacer {} (confidence(row.facts.posterior))
        }
    }
}

/// Renders the verdict on an anchor with its diff.
pub(crate) fn anchor_state(context: &PageContext<'_>, anchor: &AnchorState) -> Markup {
    let (sign, word, class) = match anchor.kind {
        AnchorStateKind::Intact => ("✓", "unchanged", "ok"),
        AnchorStateKind::Moved => ("→", "moved", "ok"),
        AnchorStateKind::Unverifiable => ("?", "not checked", "muted"),
        AnchorStateKind::Changed => ("⚠", "changed", "warn"),
        AnchorStateKind::Gone => ("✗", "gone", "bad"),
    };
    let current = anchor.moved_to.as_ref().unwrap_or(&anchor.location);
    let path = current.path().parse().ok();
    let first = anchor.lines.map_or(1, |it| it.first);
    let last = anchor.lines.map_or(first, |it| it.last);
    html! {
        div.anchor {
            span class={ "verdict " (class) } { (sign) " " (word) } " "
            @match &path {
                Some(path) => a.at href={ (context.link(&PageAddress::path(Clone::clone(path)))) "#L" (first) } { (UntrustedText(&anchor.location.to_string())) },
                None => span.at { (UntrustedText(&anchor.location.to_string())) },
            }
            @if let Some(lines) = anchor.lines { span.muted { " line " (lines.first) } }
            @if let Some(to) = &anchor.moved_to { " now " span.at { (UntrustedText(&to.to_string())) } }
            @if let Some(path) = &path {
                @if let Some(href) = context.editor_link(path, first) { " " a href=(href) { "editor" } }
                @if let Some(href) = context.host_link(path, first, last) { " " a href=(href) rel="noopener noreferrer" { "host" } }
            }
            @if !anchor.reason.is_empty() && anchor.reason != word { div.muted title=(untrusted_attribute(&anchor.reason)) { (UntrustedText(&anchor.reason)) } }
            @if let Some(lines) = &anchor.diff { (diff(lines)) }
        }
    }
}

/// Renders the evaluation of a condition.
pub(crate) fn condition_state(condition: &ConditionState) -> Markup {
    let (sign, word, class) = match condition.truth {
        TruthValue::Holds => ("✓", "met", "ok"),
        TruthValue::Broken => ("✗", "not met", "bad"),
        TruthValue::Unverifiable => ("?", "not checked", "muted"),
    };
    html! {
        div.anchor {
            span class={ "verdict " (class) } { (sign) " " (word) } " "
            code { (UntrustedText(&condition.condition)) }
            @if !condition.reason.is_empty() { " " span.muted { (UntrustedText(&condition.reason)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The percentage is the mean, and the bar is full at 50 pseudo-observations.
    #[test]
    fn confidence_is_a_percentage_and_the_bar_shows_the_evidence() {
        for (alpha, beta, percent, width) in [
            (5.0, 5.0, "50 %", "width=\"10\""),
            (20.0, 5.0, "80 %", "width=\"25\""),
            (25.0, 25.0, "50 %", "width=\"50\""),
            (60.0, 30.0, "67 %", "width=\"50\""),
        ] {
            let rendered = confidence(BetaPosterior { alpha, beta }).0;
            assert!(rendered.contains(percent), "{rendered}");
            assert!(rendered.contains(width), "{rendered}");
        }
        assert!(confidence(BetaPosterior::PRIOR).0.contains("no data yet"));
    }
}
