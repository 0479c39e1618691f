//! Tests for rendering and parsing entry files.

use ken_core::ledger::event::{Admission, Event, RecordedEvent};
use ken_core::ledger::fold::fold_entry;
use ken_core::values::kind::EntryKind;

use super::*;

/// Creates an entry of `kind` with `content`.
fn entry(kind: EntryKind, content: Content) -> Entry {
    use ken_core::decide::{EventStamper, Proposal, propose};
    struct CountingIdSource(u128);
    impl ken_core::values::id::IdSource for CountingIdSource {
        fn random(&mut self) -> u128 {
            self.0 += 0x1_0001;
            self.0
        }
    }
    let now = "2026-11-14T22:51:03.120Z".parse().unwrap();
    let id = EventId::new(now, 77);
    let by: ken_core::values::actor::Actor = "human:ada@example.org".parse().unwrap();
    let evidence: ken_core::values::citation::CitationSource = "commit:3fce3b5".parse().unwrap();
    let draft = propose(
        id,
        Proposal::new(
            kind,
            content,
            vec![evidence.cite(&by, now)],
            ken_core::ledger::event::Origin::Human,
        ),
    )
    .unwrap();
    let node = ken_core::values::id::NodeId::new(1);
    let mut clock = EventStamper {
        node,
        now,
        seen: None,
        ids: &mut CountingIdSource(1),
    };
    let admission = Admission::clean("test");
    let event: Event = RecordedEvent::new(clock.stamp_with_id(id, draft, &by, admission)).event;
    fold_entry(EntryId::created_by(id, kind), [&event]).unwrap()
}

fn full_content() -> Content {
    let mut content = Content::new(
        "Evidence: is a label, \"quoted\" too.\nVerify: so is this\n\\Details: and this"
            .parse()
            .unwrap(),
    );
    content.anchors = ["src/pay.rs#Ledger::charge", "src/a b.rs:1-2"]
        .map(|a| a.parse::<CodeLocation>().unwrap().into())
        .to_vec();
    content.verify = ["Run `cargo test`", "Look at\nthe log"]
        .map(|s| s.parse().unwrap())
        .to_vec();
    content.tags = ["auth/jwt", "c++", "größe"]
        .map(|t| t.parse().unwrap())
        .into();
    content.depends_on = ["not file:src/legacy/**", "text:*.rs~a\"b"]
        .map(|c| c.parse().unwrap())
        .to_vec();
    content.polarity = Some(Polarity::Negative);
    content.lens = Some("security".parse().unwrap());
    content.decay = DecayClass::Stable;
    content
}

#[test]
fn what_is_written_reads_back_the_same() {
    for content in [
        full_content(),
        Content::new("Charging twice is safe".parse().unwrap()),
    ] {
        let entry = entry(EntryKind::Learning, content.clone());
        let text = render(&entry).unwrap();
        let reading = parse(&text).unwrap();
        assert_eq!(reading.content, content, "{text}");
        assert_eq!(reading.digest, content_digest(&content));
        assert_eq!(reading.revision, entry.revision);
        assert!(reading.machine_is_rendered);
        assert_eq!(parse(&text.replace('\n', "\r\n")).unwrap(), reading);
    }
    let text = render(&entry(EntryKind::Learning, full_content())).unwrap();
    assert!(text.contains("\nEvidence:\n"), "{text}");
    assert!(text.contains("\n- `src/pay.rs#Ledger::charge`\n"), "{text}");
    assert!(text.contains("\nVerify:\n"), "{text}");
    assert!(text.contains("\n1. "), "{text}");
    let bare = Content::new("Charging twice is safe".parse().unwrap());
    let text = render(&entry(EntryKind::Learning, bare)).unwrap();
    assert!(
        text.contains("\nEvidence: none (cites no code)\n"),
        "{text}"
    );
    assert!(text.contains("\nVerify: none\n"), "{text}");
}

#[test]
fn details_read_back_the_same() {
    let mut content = Content::new("SQLite holds 100k entries".parse().unwrap());
    content.detail = Some(KindDetail::Spike(ken_core::values::content::SpikeDetail {
        question: "Does it?".parse().unwrap(),
        answer: "It does.".parse().unwrap(),
        confidence: ken_core::values::content::SpikeConfidence::Conclusive,
        constraints: vec!["on a laptop".parse().unwrap()],
    }));
    let text = render(&entry(EntryKind::Spike, content.clone())).unwrap();
    assert_eq!(parse(&text).unwrap().content, content, "{text}");
}

#[test]
fn a_files_frontmatter_is_valid_okf() {
    let text = render(&entry(EntryKind::Learning, full_content())).unwrap();
    let document = Document::parse(&text).unwrap();
    document.validate().unwrap();
    assert_eq!(document.frontmatter.sources().len(), 1);
    assert_eq!(document.frontmatter.tags().len(), 3);
}

#[test]
fn edits_show_in_the_digest_and_reformatting_does_not() {
    let text = render(&entry(EntryKind::Learning, full_content())).unwrap();
    let reflowed = text.replace("a label, \"quoted\"", "a\nlabel, \"quoted\"");
    let reading = parse(&reflowed).unwrap();
    assert_eq!(content_digest(&reading.content), reading.digest);
    let reworded = parse(&text.replace("is a label", "is no label")).unwrap();
    assert_ne!(content_digest(&reworded.content), reworded.digest);
    let confirmed =
        parse(&text.replace("lastConfirmed: 2026-11-14", "lastConfirmed: 2026-11-20")).unwrap();
    assert!(!confirmed.machine_is_rendered);
    assert_eq!(content_digest(&confirmed.content), confirmed.digest);
}

#[test]
fn conflict_markers_are_never_taken_for_text() {
    let text = render(&entry(EntryKind::Learning, full_content())).unwrap();
    let marked = format!("{text}<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n");
    assert_eq!(parse(&marked), Err(EntryFileError::ConflictMarkers));
}

#[test]
fn a_conflict_has_two_sides() {
    let base = "||||||| base\nold\n";
    for between in ["", base] {
        let text = format!("a\n<<<<<<< ours\nb\n{between}=======\nc\n>>>>>>> theirs\nd\n=======\n");
        let sides = ["a\nb\nd\n=======\n", "a\nc\nd\n=======\n"];
        assert_eq!(conflict_sides(&text), sides.map(str::to_owned));
    }
}
