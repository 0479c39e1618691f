//! Snapshots of pages: empty, with an ordinary entry, with a hostile one, and without rights.

mod forage;
mod peers;

use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::{EntryFacts, Validity};
use ken_core::values::text::escape_invisible;
use maud::Markup;
use serde_json::json;

use super::*;
use crate::address::{EntryListQuery, LineSpan, PageAddress};
use crate::frame::{PageContext, render_frame};
use crate::source::SourceOverview;
use crate::view::{
    AnchorState, AnchorStateKind, ChangedItem, CodeClass, CodeLine, CodeNote, EntryListView,
    EntryRow, FileView, InboxItem, InboxView, ListSource, PathView,
};

const HOSTILE: &str =
    "<script>alert(1)</script> \" onload=\"x\" [L-7k2f5qm3] `a<b` \u{202e}gnp \u{200b}";

pub(crate) fn entry(statement: &str) -> Entry {
    let event = "01JCPQ3W6M7Y2K8T4D5F6G7H8J";
    let at = "2026-11-15T10:00:00.000Z/0000/abcdef";
    let value = json!({
        "id": "L-7k2f5qm3",
        "created": {
            "event": event, "at": at, "by": "agent:author", "kind": "learning", "origin": "agent",
            "schema_version": "1.0.0", "slug": "a-claim",
        },
        "content": { "statement": statement, "anchors": [{ "at": "src/pay.rs#charge" }], "tags": ["payments"], "decay": "ephemeral" },
        "revision": [event], "concurrent": [],
        "status": { "value": "active", "heads": [event] },
        "scope": { "value": "workspace", "heads": [event] },
        "citations": [], "confirmation": { "last": "2026-11-15", "provenance": null, "by": null, "independent": 1, "manual": 0, "primed": 2, "unwitnessed": 0 },
        "archived": null, "retracted": null, "quarantine": [], "links": [], "overlays": {},
        "merged_from": [], "merged_into": null, "superseded_by": null,
        "tallies": { "days": {}, "shown": 3, "blind": 1, "unhelpful": 0, "reset": null },
        "history": { "events": 1, "first": at, "last": at, "blanked": 0, "unknown": 0, "collisions": [] },
    });
    serde_json::from_value(value).expect("an entry")
}

fn row(statement: &str, validity: Validity) -> EntryRow {
    let entry = entry(statement);
    let now = "2026-11-18T10:00:00Z".parse().expect("a time");
    let facts = EntryFacts::from_entry(&entry, Some(validity), now);
    EntryRow {
        entry,
        facts,
        hit: None,
    }
}

fn changed_anchor() -> AnchorState {
    AnchorState {
        location: "src/pay.rs#charge".parse().expect("a location"),
        kind: AnchorStateKind::Changed,
        lines: Some(LineSpan { first: 2, last: 3 }),
        moved_to: None,
        reason: "its code changed".to_owned(),
        diff: Some("-    1_000\n+    100_000\n".to_owned()),
    }
}

fn list(rows: Vec<EntryRow>) -> EntryListView {
    EntryListView {
        rows,
        source: ListSource::Listed,
        total: Some(1),
        facets: Vec::new(),
        next: None,
        withheld: Vec::new(),
    }
}

fn file(statement: &str) -> PathView {
    let line = |text: &str| CodeLine {
        parts: vec![(CodeClass::Plain, text.to_owned())],
    };
    PathView::File(Box::new(FileView {
        path: "src/pay.rs".parse().expect("a path"),
        revision: None,
        revisions: vec!["HEAD".to_owned(), "main".to_owned()],
        lines: vec![
            line("impl Ledger {"),
            line("    fn charge() {"),
            line("    }"),
            line("}"),
        ],
        omitted: None,
        notes: vec![CodeNote {
            row: row(statement, Validity::Changed),
            anchor: changed_anchor(),
        }],
        about: Vec::new(),
        norms: Vec::new(),
        symbols: Vec::new(),
        is_modified: true,
        suggested_citation: Some("commit:c0ffee".to_owned()),
    }))
}

/// Returns markup by line, with hidden characters as a reader of a snapshot can see them.
fn text(markup: &Markup) -> String {
    let lines = markup.0.replace("><", ">\n<");
    let lines = lines.split('\n').map(escape_invisible);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_list_without_entries_says_how_to_begin() {
    let context = PageContext::for_tests();
    let page = entries_page(&context, &EntryListQuery::default(), &list(Vec::new()));
    insta::assert_snapshot!("empty_list", text(&page.body));
}

#[test]
fn a_list_shows_statement_verdict_and_confidence() {
    let context = PageContext::for_tests();
    let rows = vec![row(
        "A charge of ten euros or more is refused.",
        Validity::Holds,
    )];
    let page = entries_page(&context, &EntryListQuery::default(), &list(rows));
    insta::assert_snapshot!("list", text(&page.body));
}

#[test]
fn a_hostile_statement_is_inert_in_a_whole_page() {
    let context = PageContext::for_tests();
    let page = path_page(&context, &file(HOSTILE), None);
    let rendered = render_frame(&context, &page).0;
    assert!(!rendered.contains("<script>alert"));
    assert!(!rendered.contains("onload=\"x\""));
    // A field has the text as it is, so that saving it changes nothing unseen.
    let parts = rendered.split("<textarea");
    let outside = parts.map(|it| it.split_once("</textarea>").map_or(it, |(_, rest)| rest));
    let is_hidden = |it: char| it == '\u{202e}' || it == '\u{200b}';
    assert!(!outside.into_iter().any(|it| it.contains(is_hidden)));
    insta::assert_snapshot!("hostile_file", text(&page.body));
}

#[test]
fn the_inbox_offers_decisions_only_to_a_person() {
    let item = InboxItem::Changed(Box::new(ChangedItem {
        row: row("A claim.", Validity::Changed),
        anchors: vec![changed_anchor()],
        conditions: Vec::new(),
    }));
    let view = InboxView {
        items: vec![item],
        ..InboxView::default()
    };
    let address = PageAddress::Inbox { lane: None };
    let context = PageContext {
        address: &address,
        ..PageContext::for_tests()
    };
    let page = inbox_page(&context, None, &view);
    insta::assert_snapshot!("inbox", text(&page.body));
    let overview = SourceOverview::default();
    let context = PageContext {
        overview: &overview,
        ..context
    };
    let page = inbox_page(&context, None, &view);
    assert!(!page.body.0.contains("<form"));
}
