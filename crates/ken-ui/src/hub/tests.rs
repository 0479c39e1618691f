//! Forms, secrets and links of the hub's pages.

use std::collections::BTreeSet;

use axum::http::{HeaderMap, StatusCode};

use ken_core::federation::Freshness;

use super::*;
use crate::address::PeerLane;
use crate::view::{PeerEntryItem, PeerLine, PeerView};

fn frame(actions: &[&'static str]) -> HubFrame {
    HubFrame {
        organization: "acme".to_owned(),
        person: "human:ada@example.org".parse().expect("an actor"),
        hub: HubOverview {
            role: "curator".to_owned(),
            sections: vec![HubSection::Workspaces, HubSection::Review],
            actions: actions.iter().copied().collect::<BTreeSet<_>>(),
            form_token: "the-token".to_owned(),
            workspace: None,
        },
        notice: None,
    }
}

/// Returns a peer with two entries that wait.
fn peer_view() -> PeerView {
    let entry = || PeerEntryItem {
        id: "L-7k2f5qm3".parse().expect("an id"),
        first_seen: "2026-11-16".parse().expect("a day"),
        entry: Some(crate::page::tests::entry(
            "<b>Bound</b> retries [L-2345abcd]",
        )),
        related: Vec::new(),
    };
    PeerView {
        peer: PeerLine {
            name: "beta".to_owned(),
            publication: "partners".to_owned(),
            publisher: "k3hd7a5q".to_owned(),
            fingerprint: None,
            source: "https://beta.example/<b>".to_owned(),
            hops: 1,
            suspended: None,
            freshness: Freshness::Lapsed,
            expires: None,
            pulled: None,
            stopped: None,
            trust: 0.1,
            mean: 0.5,
            weight: 0.05,
            counts: vec![(PeerLane::Waiting, 2), (PeerLane::Withdrawn, 3)],
        },
        lane: PeerLane::Waiting,
        lanes: &[PeerLane::Waiting, PeerLane::Approved],
        entries: vec![entry(), entry()],
        next: Some("2026-11-16.L-7k2f5qm3".to_owned()),
    }
}

fn text(page: &HubPage, frame: &HubFrame) -> String {
    let response = page.respond(frame, &HeaderMap::new(), StatusCode::OK);
    assert!(response.headers().contains_key("content-security-policy"));
    page.0.body.0.clone()
}

#[test]
fn every_form_that_posts_has_the_form_token() {
    let frame = frame(&[]);
    let tokens = TokensView {
        tokens: vec![TokenLine {
            id: "1".to_owned(),
            name: "<b>".to_owned(),
            actor: "agent:x".to_owned(),
            role: "agent".to_owned(),
            workspaces: None,
            created: "2026-01-02T03:04:05Z".parse().expect("a time"),
            expires: None,
            revoked: None,
            used: None,
            is_live: true,
        }],
        ..TokensView::default()
    };
    let revocation = RevocationView {
        source: "agent:x".to_owned(),
        impacts: Some(Vec::new()),
        ..RevocationView::default()
    };
    let device = DeviceView {
        code: "ABCD-EFGH".to_owned(),
        device: Some(("laptop".to_owned(), None)),
        grant: Some(("human:ada@example.org".to_owned(), "member".to_owned(), 30)),
        ..DeviceView::default()
    };
    let peer = peer_view();
    for page in [
        peer_page(&frame, &peer),
        tokens_page(&frame, &tokens),
        revocation_page(&frame, &revocation),
        account_page(&frame, &AccountView::default()),
        device_page(&frame, &device),
    ] {
        let markup = text(&page, &frame);
        let forms = markup.matches("method=\"post\"").count();
        let fields = markup.matches("name=\"form_token\" value=\"the-token\"");
        assert!(forms > 0);
        assert_eq!(forms, fields.count(), "{markup}");
        assert!(!markup.contains("<b>"));
    }
}

#[test]
fn a_secret_is_not_in_debug_output() {
    let created = NewSecret {
        name: "ci".to_owned(),
        secret: "ken_secret".to_owned(),
    };
    assert!(!format!("{created:?}").contains("ken_secret"));
}

#[test]
fn filters_of_the_audit_log_stay_in_its_links() {
    let view = AuditView {
        filter: AuditFilterText {
            by: "human:a&b@example.org".to_owned(),
            ..AuditFilterText::default()
        },
        next: Some("17".to_owned()),
        lines: Vec::new(),
    };
    let markup = text(&audit_page(&view), &frame(&[]));
    assert!(markup.contains("/audit/export?by=human%3Aa%26b%40example.org&amp;format=csv"));
    assert!(markup.contains("/audit?by=human%3Aa%26b%40example.org&amp;after=17"));
}

#[test]
fn a_hub_lists_what_it_can_show_and_asks_a_person_to_decide() {
    let markup = text(&peer_page(&frame(&[]), &peer_view()), &frame(&[]));
    assert!(
        markup.contains("action=\"/peers/beta/approve\""),
        "{markup}"
    );
    assert!(markup.contains("action=\"/peers/beta/reject\""), "{markup}");
    assert!(markup.contains("/peers/beta?after=2026-11-16.L-7k2f5qm3"));
    // Withdrawn entries are counted in the list of peers, and not listed.
    assert!(!markup.contains("lane=withdrawn"), "{markup}");
    // An id in the words of a stranger leads nowhere.
    assert!(markup.contains("[L-2345abcd]"), "{markup}");
    assert!(!markup.contains("/e/"), "{markup}");
    let program = HubFrame {
        person: "ci:nightly".parse().expect("an actor"),
        ..frame(&[])
    };
    let markup = text(&peer_page(&program, &peer_view()), &program);
    assert!(!markup.contains("<form"), "{markup}");
}
