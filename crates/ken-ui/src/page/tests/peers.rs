//! Pages about peers: every word that an approval covers, hostile words, and no rights.

use ken_core::federation::Freshness;
use ken_core::ledger::entry::Entry;
use ken_core::trust::promotion::PromotionArtifact;
use serde_json::{Value, json};

use super::{HOSTILE, text};
use crate::address::{PageAddress, PeerLane, PeerQuery};
use crate::frame::{PageContext, render_frame};
use crate::page::{peer_page, peers_page};
use crate::source::SourceOverview;
use crate::view::{PeerEntryItem, PeerLine, PeerView, PeersView, RelatedWords, WordsOwner};

const EVENT: &str = "01JCPQ3W6M7Y2K8T4D5F6G7H8J";

fn peer_entry(content: Value) -> Entry {
    let at = "2026-11-15T10:00:00.000Z/0000/abcdef";
    let mut value = serde_json::to_value(super::entry("A claim.")).expect("JSON");
    value["created"] = json!({
        "event": EVENT, "at": at, "by": "peer:k3hd7a5q", "kind": "spike", "origin": "peer",
        "schema_version": "1.0.0", "slug": "a-claim",
    });
    value["content"] = content;
    serde_json::from_value(value).expect("an entry")
}

fn every_field(words: &str) -> Value {
    json!({
        "statement": words, "body": format!("First line.\n{words}"), "tags": ["rust/async"],
        "depends_on": ["pkg:cargo/tokio@>=1.40"], "polarity": "negative", "lens": "performance",
        "decay": "stable",
        "detail": {
            "of": "spike", "question": "Is it fast?", "answer": words,
            "confidence": "inconclusive", "constraints": ["On four cores"],
        },
    })
}

fn item(entry: Entry, related: Vec<RelatedWords>) -> PeerEntryItem {
    PeerEntryItem {
        id: entry.id,
        first_seen: "2026-11-16".parse().expect("a day"),
        entry: Some(entry),
        related,
    }
}

fn line() -> PeerLine {
    PeerLine {
        name: "acme".to_owned(),
        publication: "partners".to_owned(),
        publisher: "k3hd7a5q".to_owned(),
        fingerprint: Some("SHA256:6mPZ3q0Qw8Jc0D8nQe8Hh2jvYc1bQeVfUoS2f0mJr9k".to_owned()),
        source: "/srv/acme".to_owned(),
        hops: 1,
        suspended: None,
        freshness: Freshness::Fresh,
        expires: "2026-12-01T10:00:00Z".parse().ok(),
        pulled: None,
        stopped: None,
        trust: 0.1,
        mean: 0.5,
        weight: 0.05,
        counts: vec![(PeerLane::Waiting, 2), (PeerLane::Approved, 1_200)],
    }
}

fn view(entries: Vec<PeerEntryItem>) -> PeerView {
    PeerView {
        peer: line(),
        lane: PeerLane::Waiting,
        lanes: PeerLane::ALL,
        entries,
        next: Some("2026-11-16.L-7k2f5qm3".to_owned()),
    }
}

fn address() -> PageAddress {
    PageAddress::Peer {
        peer: "acme".to_owned(),
        query: PeerQuery::default(),
    }
}

fn context(address: &PageAddress) -> PageContext<'_> {
    PageContext {
        address,
        ..PageContext::for_tests()
    }
}

#[test]
fn the_list_of_peers_has_fingerprints_and_numbers() {
    let suspended = PeerLine {
        suspended: Some(HOSTILE.to_owned()),
        fingerprint: None,
        counts: Vec::new(),
        ..line()
    };
    let view = PeersView {
        peers: vec![line(), suspended],
    };
    let page = peers_page(&PageContext::for_tests(), &view);
    insta::assert_snapshot!("peers", text(&page.body));
    let page = peers_page(&PageContext::for_tests(), &PeersView::default());
    assert!(page.body.0.contains("ken remote peer add"));
}

#[test]
fn an_approval_shows_every_word_that_it_covers() {
    let entry = peer_entry(every_field("Eight workers beat sixteen."));
    let other = peer_entry(every_field("Another claim."));
    let related = vec![
        RelatedWords {
            id: "L-2345abcd".parse().expect("an id"),
            statement: "Eight workers beat four.".to_owned(),
            is_opposed: true,
            owner: WordsOwner::Local,
        },
        RelatedWords {
            id: "L-2345abce".parse().expect("an id"),
            statement: "Nine workers beat sixteen.".to_owned(),
            is_opposed: false,
            owner: WordsOwner::Peer,
        },
    ];
    let address = address();
    let digest = PromotionArtifact::from_entry(&entry).expect("content");
    let words = format!("value=\"{} {}\"", entry.id, digest.digest());
    let view = view(vec![item(entry, related), item(other, Vec::new())]);
    let page = peer_page(&context(&address), &view);
    // Approved alone, ticked, or with all of the page: always these words.
    assert_eq!(page.body.0.matches(&words).count(), 3, "{}", page.body.0);
    insta::assert_snapshot!("peer", text(&page.body));
}

#[test]
fn words_of_a_peer_are_inert_and_link_to_nothing() {
    let address = address();
    let related = vec![RelatedWords {
        id: "L-2345abcd".parse().expect("an id"),
        statement: HOSTILE.to_owned(),
        is_opposed: false,
        owner: WordsOwner::Peer,
    }];
    let peer = PeerLine {
        suspended: Some(HOSTILE.to_owned()),
        source: HOSTILE.to_owned(),
        stopped: Some(HOSTILE.to_owned()),
        pulled: "2026-11-18T10:00:00Z".parse().ok(),
        ..line()
    };
    let entry = peer_entry(every_field(HOSTILE));
    let view = PeerView {
        peer,
        ..view(vec![item(entry, related)])
    };
    let context = context(&address);
    let rendered = render_frame(&context, &peer_page(&context, &view)).0;
    assert!(!rendered.contains("<script>alert"));
    assert!(!rendered.contains("onload=\"x\""));
    assert!(!rendered.contains(['\u{202e}', '\u{200b}']));
    // The id in the words is one that the stranger chose.
    assert!(rendered.contains("[L-7k2f5qm3]"), "{rendered}");
    assert!(!rendered.contains("/e/L-7k2f5qm3"), "{rendered}");
    // A field of this name would hide the address of its form from scripts.
    assert!(!rendered.contains("name=\"action\""));
}

#[test]
fn a_redacted_entry_has_no_words_and_no_form() {
    let address = address();
    let item = PeerEntryItem {
        entry: None,
        ..item(peer_entry(every_field("Removed.")), Vec::new())
    };
    let view = PeerView {
        lane: PeerLane::Redacted,
        ..view(vec![item])
    };
    let page = peer_page(&context(&address), &view).body.0;
    assert!(page.contains("Its words were redacted."), "{page}");
    assert!(!page.contains("approve-peer-entries"), "{page}");
    assert!(!page.contains("reject-peer-entry"), "{page}");
}

#[test]
fn decisions_about_peers_are_offered_only_to_a_person() {
    let overview = SourceOverview::default();
    let address = address();
    let context = PageContext {
        overview: &overview,
        ..context(&address)
    };
    let entries = || item(peer_entry(every_field("A claim.")), Vec::new());
    let page = peer_page(&context, &view(vec![entries(), entries()]));
    assert!(page.body.0.contains("A claim."));
    assert!(!page.body.0.contains("<form"));
    assert!(!page.body.0.contains("<input"));
}
