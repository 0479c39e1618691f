//! Peers and their entries. All words of a peer are text of a stranger, and no id in them is a
//! link: a stranger could choose the id of one of our entries.
//!
//! An approval covers every field of an entry, so every field is rendered.

use ken_core::federation::Freshness;
use ken_core::ledger::entry::Entry;
use ken_core::trust::promotion::PromotionArtifact;
use ken_core::values::content::{Content, KindDetail, SpikeDetail};
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use maud::{Markup, html};

use super::code::word_diff;
use super::{count, counted, disclosure, empty, kind_badge, submit, time};
use crate::address::{PeerLane, PeerQuery};
use crate::untrusted::{UntrustedText, untrusted_prose_without_links};
use crate::view::{PeerEntryItem, PeerLine, PeerView, PeersView, RelatedWords, WordsOwner};

/// Id of the form that approves the ticked entries.
const TICKED_FORM: &str = "approve-ticked";

/// Reasons of a rejection with their explanation.
const REJECT_REASONS: [(&str, &str); 2] = [
    ("unwanted", "unwanted: the claim is of no use here"),
    ("false", "false: the claim is wrong"),
];

/// A decision about entries of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerDecision {
    Approve,
    Reject,
}

/// Where the pages about peers are: in a repository, or at a hub.
pub(crate) trait PeerPlace {
    /// Returns the link to the list of peers.
    fn peers_link(&self) -> String;
    /// Returns the link to the page of a peer.
    fn peer_link(&self, peer: &str, query: &PeerQuery) -> String;
    /// Renders the link to one of our entries.
    fn entry_link(&self, id: EntryId) -> Markup;
    /// Returns the address of a form; `None` if the person may not use it.
    fn action(&self, peer: &str, decision: PeerDecision) -> Option<String>;
    /// Renders the hidden fields of a form about a peer.
    fn hidden_fields(&self, peer: &str) -> Markup;
}

/// Renders the list of peers.
pub(crate) fn peers_table(place: &impl PeerPlace, view: &PeersView) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Peers" { table.list {
            thead { tr {
                @for title in ["Peer", "State", "Fingerprint of the key"] { th scope="col" { (title) } }
                th.num scope="col" { "Trust" }
                @for lane in LISTED { th.num scope="col" { (lane_title(*lane)) } }
            } }
            tbody { @for peer in &view.peers {
                tr data-row {
                    td { a href=(place.peer_link(&peer.name, &PeerQuery::default())) data-open { (UntrustedText(&peer.name)) }
                        div.muted { (UntrustedText(&peer.publication)) } }
                    td { (state(peer)) }
                    td { (fingerprint(peer)) }
                    td.num { (score(peer.trust)) }
                    @for lane in LISTED { td.num { @if let Some(number) = peer.count(*lane) { (count(number)) } } }
                }
            } }
        } }
    }
}

/// Lanes with a column in the list of peers.
const LISTED: &[PeerLane] = &[
    PeerLane::Approved,
    PeerLane::Waiting,
    PeerLane::Withdrawn,
    PeerLane::Redacted,
];

fn lane_title(lane: PeerLane) -> &'static str {
    match lane {
        PeerLane::Waiting => "Waiting",
        PeerLane::Approved => "Approved",
        PeerLane::Rejected => "Rejected",
        PeerLane::Withdrawn => "Withdrawn",
        PeerLane::Redacted => "Redacted",
    }
}

fn nothing(lane: PeerLane) -> &'static str {
    match lane {
        PeerLane::Waiting => "Nothing of this peer waits for a person.",
        PeerLane::Approved => "No entry of this peer was approved.",
        PeerLane::Rejected => "No entry of this peer was rejected.",
        PeerLane::Withdrawn => "The publisher withdrew nothing.",
        PeerLane::Redacted => "The publisher redacted nothing.",
    }
}

fn score(value: f64) -> String {
    format!("{value:.2}")
}

fn fingerprint(peer: &PeerLine) -> Markup {
    html! { @match &peer.fingerprint {
        Some(fingerprint) => code.key { (UntrustedText(fingerprint)) },
        None => span.verdict.bad { "✗ the stored key is damaged" },
    } }
}

/// Renders whether anything of a peer is shown.
fn state(peer: &PeerLine) -> Markup {
    let (sign, word, class) = match peer.freshness {
        _ if peer.suspended.is_some() => ("✗", "suspended", "bad"),
        Freshness::Empty => ("?", "nothing received", "muted"),
        Freshness::Fresh => ("✓", "fresh", "ok"),
        Freshness::Stale => ("⚠", "stale", "warn"),
        Freshness::Lapsed => ("✗", "lapsed, hidden", "bad"),
    };
    html! { span class={ "verdict " (class) } { (sign) " " (word) } }
}

/// Renders what is known of a peer.
pub(crate) fn peer_summary(peer: &PeerLine) -> Markup {
    html! {
        @if let Some(why) = &peer.suspended { p.notice.bad { "Suspended: " (UntrustedText(why)) ". None of its entries is shown; redactions and withdrawals are still applied." } }
        dl.details {
            dt { "State" } dd { (state(peer)) @if let Some(at) = peer.expires { span.muted { ", the publisher vouches for it until " } (time(at)) } }
            dt { "Publication" } dd { (UntrustedText(&peer.publication)) }
            dt { "Publisher" } dd { code { (UntrustedText(&peer.publisher)) } }
            dt { "Fingerprint" } dd { (fingerprint(peer)) }
            dt { "Files" } dd { code { (UntrustedText(&peer.source)) } ", " (counted(peer.hops.into(), "hop", "hops")) }
            dt { "Trust" } dd { (score(peer.trust)) span.muted { " (mean " (score(peer.mean)) "), its entries weigh " } (score(peer.weight)) }
            @if let Some(at) = peer.pulled { dt { "Last pull" } dd { (time(at))
                @if let Some(why) = &peer.stopped { span.warn { " stopped: " } (UntrustedText(why)) } } }
        }
    }
}

/// Renders the entries of one lane of a peer, with their forms.
pub(crate) fn peer_entries(place: &impl PeerPlace, view: &PeerView) -> Markup {
    let name = &view.peer.name;
    let approves = view.lane == PeerLane::Waiting && view.entries.len() > 1;
    let bulk = approves.then(|| place.action(name, PeerDecision::Approve));
    let bulk = bulk.flatten();
    html! {
        (lanes(place, view))
        @if view.entries.is_empty() { (empty(&html! { (nothing(view.lane)) })) }
        ol.cards { @for item in &view.entries {
            li.item data-row tabindex="-1" { (entry_card(place, view, item, bulk.is_some())) }
        } }
        @if let Some(action) = &bulk { (bulk_approval(place, view, action)) }
        @if let Some(next) = &view.next {
            @let query = PeerQuery { lane: view.lane, after: Some(Clone::clone(next)) };
            nav.pager { a rel="next" href=(place.peer_link(name, &query)) { "Next page" } }
        }
    }
}

fn lanes(place: &impl PeerPlace, view: &PeerView) -> Markup {
    html! {
        nav.lanes-nav aria-label="Entries of the peer" {
            @for lane in view.lanes {
                @let query = PeerQuery { lane: *lane, after: None };
                @let number = view.peer.count(*lane).unwrap_or_default();
                // The lane that is open stays in the list when its last entry is decided.
                @if number > 0 || *lane == view.lane || *lane == PeerLane::Waiting {
                    a href=(place.peer_link(&view.peer.name, &query)) aria-current=[(*lane == view.lane).then_some("page")] {
                        (lane_title(*lane)) " " span.count { (count(number)) } }
                }
            }
        }
    }
}

fn entry_card(
    place: &impl PeerPlace,
    view: &PeerView,
    item: &PeerEntryItem,
    has_tick: bool,
) -> Markup {
    let entry = item.entry.as_ref();
    let content = entry.and_then(|it| Some((it, it.content.as_ref()?)));
    html! {
        div.meta { span.id { (item.id) } " " @if let Some(entry) = entry { (kind_badge(entry)) " " }
            span.muted { "first seen " (item.first_seen) } }
        @match content {
            Some((entry, content)) => {
                (words(content))
                @for other in &item.related { (related(place, content, other)) }
                (artifact(entry))
                (decisions(place, view, entry, has_tick))
            },
            None => p.muted { "Its words were redacted." },
        }
    }
}

/// Renders every field of an entry.
fn words(content: &Content) -> Markup {
    // Without `..`: a new field must be shown, or a person would approve what they did not read.
    let Content {
        statement,
        body,
        anchors,
        verify,
        tags,
        depends_on,
        applies_to,
        polarity,
        lens,
        decay,
        detail,
    } = content;
    let texts = |items: Vec<String>| {
        html! {
            @if items.is_empty() { span.muted { "none" } }
            @for (at, item) in items.iter().enumerate() { @if at > 0 { ", " } bdi { (UntrustedText(item)) } }
        }
    };
    let polarity = polarity.map_or_else(|| "none".to_owned(), |it| enum_label(&it));
    html! {
        div.claim { bdi { (untrusted_prose_without_links(statement.as_str())) } }
        dl.details {
            @if let Some(body) = body { dt { "Body" } dd { bdi { (untrusted_prose_without_links(body.as_str())) } } }
            @if let Some(detail) = detail { (kind_detail(detail)) }
            dt { "Tags" } dd { (texts(tags.iter().map(ToString::to_string).collect())) }
            dt { "Conditions" } dd { (texts(depends_on.iter().map(ToString::to_string).collect())) }
            dt { "Lens" } dd { (texts(lens.iter().map(ToString::to_string).collect())) }
            dt { "Polarity" } dd { (polarity) }
            dt { "Decay" } dd { (enum_label(decay)) }
            // A publication has none of these: a line that has them is refused by a pull.
            @if !verify.is_empty() { dt { "How to check" } dd { (texts(verify.iter().map(ToString::to_string).collect())) } }
            @if !applies_to.is_empty() { dt { "Applies to" } dd { (texts(applies_to.iter().map(ToString::to_string).collect())) } }
            @if !anchors.is_empty() { dt { "Anchors" } dd { (texts(anchors.iter().map(|it| it.at.to_string()).collect())) } }
        }
    }
}

/// Renders the fields that only some kinds have.
fn kind_detail(detail: &KindDetail) -> Markup {
    match detail {
        KindDetail::Spike(SpikeDetail {
            question,
            answer,
            confidence,
            constraints,
        }) => html! {
            dt { "Question" } dd { bdi { (untrusted_prose_without_links(question.as_str())) } }
            dt { "Answer" } dd { bdi { (untrusted_prose_without_links(answer.as_str())) } " " span.muted { (confidence.describe()) } }
            @if !constraints.is_empty() { dt { "Constraints" } dd { ul { @for it in constraints { li { bdi { (untrusted_prose_without_links(it.as_str())) } } } } } }
        },
        // Of kinds that are not published: shown as stored, so that nothing is left out.
        KindDetail::Entity(_)
        | KindDetail::Relationship(_)
        | KindDetail::Friction(_)
        | KindDetail::Norm(_) => {
            let stored = serde_json::to_string(detail).unwrap_or_default();
            html! { dt { "Details" } dd { code { (UntrustedText(&stored)) } } }
        }
    }
}

/// Renders another entry that states the same or the opposite, with the words that differ.
fn related(place: &impl PeerPlace, content: &Content, other: &RelatedWords) -> Markup {
    let (sign, word) = if other.is_opposed {
        ("⚠", "May state the opposite of")
    } else {
        ("≈", "May state the same as")
    };
    html! {
        details.compared open {
            summary { (sign) " " (word) " " @match other.owner {
                WordsOwner::Local => { "your entry " (other.id) },
                WordsOwner::Peer => { "an entry of this peer that you approved before, " (other.id) },
            } }
            div.claim { bdi { (word_diff(&other.statement, content.statement.as_str())) } }
            @if other.owner == WordsOwner::Local { p.muted { "Removed words are those of " (place.entry_link(other.id)) "." } }
        }
    }
}

/// Renders the bytes that an approval is bound to.
fn artifact(entry: &Entry) -> Markup {
    let artifact = PromotionArtifact::from_entry(entry);
    html! { @if let Some(artifact) = artifact {
        details.raw { summary { "Exactly what an approval covers" }
            pre.report tabindex="0" aria-label="Exactly what an approval covers" { (UntrustedText(&String::from_utf8_lossy(&artifact.bytes()))) } }
    } }
}

/// Returns the value that names an entry together with the words that were on the page.
fn read_words(entry: &Entry) -> Option<String> {
    let artifact = PromotionArtifact::from_entry(entry)?;
    Some(format!("{} {}", entry.id, artifact.digest()))
}

fn decisions(place: &impl PeerPlace, view: &PeerView, entry: &Entry, has_tick: bool) -> Markup {
    let name = &view.peer.name;
    let (may_approve, may_reject) = match view.lane {
        PeerLane::Waiting => (true, true),
        PeerLane::Approved => (false, true),
        PeerLane::Rejected | PeerLane::Withdrawn | PeerLane::Redacted => (false, false),
    };
    let approve = place.action(name, PeerDecision::Approve);
    let approve = approve.filter(|_| may_approve).zip(read_words(entry));
    let reject = place.action(name, PeerDecision::Reject);
    let reject = reject.filter(|_| may_reject);
    html! {
        @if approve.is_some() || reject.is_some() { div.decide {
            @if let Some((action, words)) = &approve {
                (disclosure("Approve", Some("y"), html! { form.act method="post" action=(action) {
                    (place.hidden_fields(name)) input type="hidden" name="words" value=(words);
                    p { "Searches and agents are shown these words from then on, labeled and discounted." }
                    (submit("Approve", None)) } }))
            }
            @if let Some(action) = &reject {
                (disclosure("Reject", Some("n"), html! { form.act method="post" action=(action) {
                    (place.hidden_fields(name)) input type="hidden" name="entry" value=(entry.id);
                    (reject_reasons())
                    p { "The entry is not shown, and the peer loses trust." }
                    (submit("Reject", None)) } }))
            }
            @if let (true, Some((_, words))) = (has_tick, &approve) {
                label.check { input type="checkbox" name="words" value=(words) form=(TICKED_FORM); " approve with others" }
            }
        } }
    }
}

fn reject_reasons() -> Markup {
    html! { fieldset { legend { "Why?" } @for (at, (value, text)) in REJECT_REASONS.iter().enumerate() {
        label.check { input type="radio" name="reason" value=(value) checked[at == 0]; " " (text) }
    } } }
}

/// Renders the approval of several entries. It stands below their words, and names the words that
/// were on the page: one that came in meanwhile is not approved with them.
fn bulk_approval(place: &impl PeerPlace, view: &PeerView, action: &str) -> Markup {
    let name = &view.peer.name;
    let entries = view.entries.iter().filter_map(|it| it.entry.as_ref());
    let all: Vec<String> = entries.filter_map(read_words).collect();
    let number = all.len() as u64;
    html! {
        section { h2 { "Approve several" }
            p.muted { "Only entries whose words are on this page are approved." }
            div.decide {
                form.act #(TICKED_FORM) method="post" action=(action) { (place.hidden_fields(name)) (submit("Approve the ticked entries", None)) }
                (disclosure(&format!("Approve all {number} on this page"), None, html! { form.act method="post" action=(action) {
                    (place.hidden_fields(name))
                    @for words in &all { input type="hidden" name="words" value=(words); }
                    p { "Searches and agents are shown the words of " (counted(number, "entry", "entries")) " from then on." }
                    (submit("Approve all", None)) } }))
            }
        }
    }
}
