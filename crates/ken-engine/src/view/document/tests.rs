//! The document of an entry, both ways.

use ken_core::event::{Admission, Event, Recorded};
use ken_core::fold::fold_entry;
use ken_core::kind::Kind;

use super::*;

/// An entry of `kind` that says `content`.
fn entry(kind: Kind, content: Content) -> Entry {
    use ken_core::decide::{Clock, Proposal, propose};
    struct Dice(u128);
    impl ken_core::id::IdSource for Dice {
        fn random(&mut self) -> u128 {
            self.0 += 0x1_0001;
            self.0
        }
    }
    let now = "2026-11-14T22:51:03.120Z".parse().unwrap();
    let id = EventId::new(now, 77);
    let by: ken_core::actor::Actor = "human:ada@example.org".parse().unwrap();
    let evidence: ken_core::citation::Evidence = "commit:3fce3b5".parse().unwrap();
    let draft = propose(
        id,
        Proposal::new(
            kind,
            content,
            vec![evidence.cite(&by, now)],
            ken_core::event::Origin::Human,
        ),
    )
    .unwrap();
    let node = ken_core::id::NodeId::new(1);
    let mut clock = Clock {
        node,
        now,
        seen: None,
        ids: &mut Dice(1),
    };
    let admission = Admission::clean("test");
    let event: Event = Recorded::new(clock.stamp_as(id, draft, &by, admission)).event;
    fold_entry(EntryId::created_by(id, kind), [&event]).unwrap()
}

fn full() -> Content {
    let mut content = Content::new(
        "Evidence: is a label, \"quoted\" too.\nVerify: so is this\n\\Details: and this"
            .parse()
            .unwrap(),
    );
    content.evidence = ["src/pay.rs#Ledger::charge", "src/a b.rs:1-2"]
        .map(|a| a.parse::<Target>().unwrap().into())
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
        full(),
        Content::new("Charging twice is safe".parse().unwrap()),
    ] {
        let entry = entry(Kind::Learning, content.clone());
        let text = render(&entry, None).unwrap();
        let reading = read(&text).unwrap();
        assert_eq!(reading.content, content, "{text}");
        assert_eq!(reading.digest, digest(&content));
        assert_eq!(reading.revision, entry.revision);
        assert!(reading.machine_is_rendered);
        assert_eq!(
            render(&entry, Some(&reading.machine)).as_deref(),
            Some(text.as_str())
        );
        assert_eq!(read(&text.replace('\n', "\r\n")).unwrap(), reading);
    }
}

#[test]
fn details_read_back_the_same() {
    let mut content = Content::new("SQLite holds 100k entries".parse().unwrap());
    content.detail = Some(Detail::Spike(ken_core::content::Spike {
        question: "Does it?".parse().unwrap(),
        answer: "It does.".parse().unwrap(),
        confidence: ken_core::content::SpikeConfidence::Conclusive,
        constraints: vec!["on a laptop".parse().unwrap()],
    }));
    let text = render(&entry(Kind::Spike, content.clone()), None).unwrap();
    assert_eq!(read(&text).unwrap().content, content, "{text}");
}

#[test]
fn a_files_frontmatter_is_valid_okf() {
    let text = render(&entry(Kind::Learning, full()), None).unwrap();
    let document = Document::parse(&text).unwrap();
    document.validate().unwrap();
    assert_eq!(document.frontmatter.sources().len(), 1);
    assert_eq!(document.frontmatter.tags().len(), 3);
}

#[test]
fn edits_show_in_the_digest_and_reformatting_does_not() {
    let text = render(&entry(Kind::Learning, full()), None).unwrap();
    let reflowed = text.replace("a label, \"quoted\"", "a\nlabel, \"quoted\"");
    let reading = read(&reflowed).unwrap();
    assert_eq!(digest(&reading.content), reading.digest);
    let reworded = read(&text.replace("is a label", "is no label")).unwrap();
    assert_ne!(digest(&reworded.content), reworded.digest);
    let confirmed =
        read(&text.replace("lastConfirmed: 2026-11-14", "lastConfirmed: 2026-11-20")).unwrap();
    assert!(!confirmed.machine_is_rendered);
    assert_eq!(digest(&confirmed.content), confirmed.digest);
}

#[test]
fn conflict_markers_are_never_taken_for_text() {
    let text = render(&entry(Kind::Learning, full()), None).unwrap();
    let marked = format!("{text}<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n");
    assert_eq!(read(&marked), Err(ReadingError::ConflictMarkers));
}
