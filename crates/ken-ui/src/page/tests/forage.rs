//! The forager's page: off, with decisions and hostile text, and without rights.

use ken_core::ledger::event::{DomainAction, ForageCompleted};
use ken_core::values::time::Timestamp;

use super::{HOSTILE, text};
use crate::address::PageAddress;
use crate::frame::{PageContext, render_frame};
use crate::page::forage_page;
use crate::source::{OptionalPages, SourceOverview};
use crate::view::{ForageBudgets, ForageDomain, ForageLogEntry, ForageQuestionLine, ForageView};

fn at() -> Timestamp {
    "2026-11-18T10:00:00Z".parse().expect("a time")
}

fn off() -> ForageView {
    ForageView {
        settings_file: "/home/ada/.config/ken/forage.toml".to_owned(),
        ..ForageView::default()
    }
}

fn question(completed: Option<ForageCompleted>) -> ForageQuestionLine {
    ForageQuestionLine {
        at: at(),
        by: "human:ada@example.org".parse().expect("an actor"),
        reason: "a person asked".to_owned(),
        completed,
    }
}

fn line(source: Option<&str>, refusal: Option<&str>) -> ForageLogEntry {
    ForageLogEntry {
        at: at(),
        source: source.map(ToOwned::to_owned),
        refusal: refusal.map(ToOwned::to_owned),
        bytes: if refusal.is_none() { 12_345 } else { 0 },
        millis: 87,
    }
}

fn domain(name: &str, decision: Option<DomainAction>) -> ForageDomain {
    ForageDomain {
        domain: name.to_owned(),
        decision,
        learned: decision
            .is_none()
            .then(|| ("nothing".to_owned(), at().date())),
    }
}

fn on() -> ForageView {
    let completed = ForageCompleted {
        request: "01JCPQ3W6M7Y2K8T4D5F6G7H8J".parse().expect("an id"),
        fetched: 2,
        admitted: 1,
        rejected: 3,
        duration_ms: 1_280,
    };
    ForageView {
        status: Some(ForageBudgets {
            sources: vec!["packages".to_owned(), "hosts".to_owned()],
            allowed_hosts: vec!["docs.example.org".to_owned()],
            entries: (20, 20),
            searches: (1, 20),
            waiting: (2, 50),
            unasked: false,
        }),
        questions: vec![question(Some(completed)), question(None)],
        log: vec![
            line(Some("docs.example.org"), None),
            line(Some(HOSTILE), Some(HOSTILE)),
            line(None, Some("nothing is locked")),
        ],
        log_omitted: 7,
        domains: vec![
            domain("docs.example.org", Some(DomainAction::Trust)),
            domain("blog.example.org", Some(DomainAction::Distrust)),
            domain("wiki.example.org", None),
        ],
        ..off()
    }
}

#[test]
fn a_forager_that_is_off_says_what_turns_it_on() {
    let page = forage_page(&PageContext::for_tests(), &off());
    insta::assert_snapshot!("forage_off", text(&page.body));
}

#[test]
fn a_forager_shows_budgets_refusals_and_decisions() {
    let context = PageContext {
        address: &PageAddress::Forage,
        ..PageContext::for_tests()
    };
    let page = forage_page(&context, &on());
    let rendered = render_frame(&context, &page).0;
    assert!(!rendered.contains("<script>alert"));
    assert!(!rendered.contains("onload=\"x\""));
    assert!(!rendered.contains(['\u{202e}', '\u{200b}']));
    // A field of this name would hide the address of its form from scripts.
    assert!(!rendered.contains("name=\"action\""));
    insta::assert_snapshot!("forage", text(&page.body));
}

#[test]
fn decisions_about_domains_are_offered_only_to_a_person() {
    let overview = SourceOverview::default();
    let context = PageContext {
        overview: &overview,
        ..PageContext::for_tests()
    };
    let page = forage_page(&context, &on()).body.0;
    assert!(page.contains("docs.example.org"), "{page}");
    assert!(!page.contains("<form"), "{page}");
}

#[test]
fn the_navigation_names_an_optional_page_only_if_it_is_in_use() {
    for is_configured in [true, false] {
        let overview = SourceOverview {
            optional: OptionalPages {
                forage: is_configured,
                peers: !is_configured,
            },
            ..SourceOverview::default()
        };
        let context = PageContext {
            overview: &overview,
            address: &PageAddress::People,
            ..PageContext::for_tests()
        };
        let rendered = render_frame(&context, &forage_page(&context, &off())).0;
        assert_eq!(rendered.contains("href=\"/forage\""), is_configured);
        assert_eq!(rendered.contains("href=\"/peers\""), !is_configured);
    }
}
