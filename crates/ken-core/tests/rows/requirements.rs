//! Requirement matrix: rows that need only the core, one boundary each.

use ken_core::decide::{self, Refusal, SCHEMA_VERSION};
use ken_core::ledger::event::{Channel, Origin, Outcome, Provenance, RetractReason, SourceRun};
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::store::EntryFilter;
use ken_core::values::content::{
    Content, ContentChanges, DecayClass, EntityDetail, KindDetail, Polarity, RelationshipDetail,
    SpikeConfidence, SpikeDetail,
};
use ken_core::values::id::EntryId;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;
use ken_testkit::build::EventWriter;

use crate::stage::{TestLedger, citation, proposal};

fn refusal_text(result: Result<decide::Draft, Refusal>) -> String {
    result.expect_err("it must be refused").to_string()
}

fn event_id() -> ken_core::values::id::EventId {
    "01JCPQ3W6M7Y2K8T4D5F6G7H8J".parse().unwrap()
}

fn propose_changed(change: impl FnOnce(&mut decide::Proposal)) -> Result<decide::Draft, Refusal> {
    let mut it = proposal(EntryKind::Learning, "Retry on 503");
    change(&mut it);
    decide::propose(event_id(), it)
}

#[test]
fn an_entry_says_when_and_how_it_was_last_found() {
    let mut stage = TestLedger::new();
    let entry = stage.add(EntryKind::Learning, "Retry on 503");
    stage.found(entry, Provenance::Independent, "2026-11-20");
    stage.found(entry, Provenance::Primed, "2026-11-25");
    let entry = stage.entry(entry);
    assert_eq!(entry.confirmation.last.unwrap().to_string(), "2026-11-20");
    let provenance = serde_json::to_value(entry.confirmation.provenance).unwrap();
    assert_eq!(provenance, "primed");
}

#[test]
fn at_most_three_sentences() {
    let say = |text: &str| propose_changed(|it| it.content = Content::new(text.parse().unwrap()));
    assert!(say("One. Two. Three.").is_ok());
    assert_eq!(
        refusal_text(say("One. Two. Three. Four.")),
        "the statement has 4 sentences; at most 3 are allowed"
    );
    assert!("  ".parse::<ken_core::values::text::Statement>().is_err());
}

#[test]
fn a_revision_keeps_to_the_limits_too() {
    let mut stage = TestLedger::new();
    let entry = stage.add(EntryKind::Learning, "Retry on 503");
    let changes = ContentChanges {
        statement: Some("One. Two. Three. Four.".parse().unwrap()),
        ..ContentChanges::default()
    };
    let entry = stage.entry(entry);
    let refusal = decide::edit(&entry, changes, None, Channel::Command, None);
    assert_eq!(refusal, Err(Refusal::TooManySentences { count: 4, max: 3 }));
}

#[test]
fn anchors_and_steps_are_kept_as_written() {
    let mut stage = TestLedger::new();
    let mut it = proposal(EntryKind::Bug, "Charging twice is not safe");
    let anchor = |text: &str| {
        text.parse::<ken_core::values::anchor::CodeLocation>()
            .unwrap()
            .into()
    };
    it.content.anchors = vec![anchor("src/pay.rs#charge"), anchor("src/pay.rs:10-20")];
    it.content.verify = vec!["Run the payment test".parse().unwrap()];
    let wanted = it.content.clone();
    let id = stage.propose(it);
    let content = stage.entry(id).content.unwrap();
    assert_eq!(content, wanted);
}

#[test]
fn at_most_three_verification_steps() {
    let steps = |n: usize| {
        propose_changed(|it| it.content.verify = vec!["Run the test".parse().unwrap(); n])
    };
    assert!(steps(3).is_ok());
    assert_eq!(
        refusal_text(steps(4)),
        "verification steps: 4 given, at most 3 allowed"
    );
}

#[test]
fn entities_and_relationships_carry_their_details() {
    let needs = |kind| refusal_text(decide::propose(event_id(), proposal(kind, "A thing")));
    assert_eq!(
        needs(EntryKind::Entity),
        "an entry of kind `entity` needs details: a name"
    );
    assert_eq!(
        needs(EntryKind::Relationship),
        "an entry of kind `relationship` needs details: from, rel and to"
    );
    let mut stage = TestLedger::new();
    let mut add = |name: &str| {
        let mut it = proposal(EntryKind::Entity, "A thing of the codebase");
        let name = name.parse().unwrap();
        it.content.detail = Some(KindDetail::Entity(EntityDetail { name }));
        stage.propose(it)
    };
    let (from, to): (EntryId, EntryId) = (add("Ledger"), add("Journal"));
    let mut it = proposal(
        EntryKind::Relationship,
        "The ledger writes its journal first",
    );
    let rel = "writes".parse().unwrap();
    it.content.detail = Some(KindDetail::Relationship(RelationshipDetail {
        from,
        rel,
        to,
    }));
    let id = stage.propose(it);
    assert!(from.to_string().starts_with("E-") && id.to_string().starts_with("R-"));
    let detail = stage.entry(id).content.unwrap().detail.unwrap();
    assert!(matches!(detail, KindDetail::Relationship(r) if r.from == from && r.to == to));
}

#[test]
fn details_of_another_kind_are_refused() {
    let name = "x".parse().unwrap();
    let refusal =
        propose_changed(|it| it.content.detail = Some(KindDetail::Entity(EntityDetail { name })));
    assert_eq!(
        refusal_text(refusal),
        "these details are not valid for an entry of kind `learning`"
    );
}

#[test]
fn procedural_kinds_are_norms() {
    for (name, kind) in [
        ("commit_norm", EntryKind::CommitNorm),
        ("pr_expectation", EntryKind::PrExpectation),
        ("user_expectation", EntryKind::UserExpectation),
        ("risk_tier", EntryKind::RiskTier),
    ] {
        assert_eq!(name.parse(), Ok(kind));
        assert_eq!(kind.memory(), Memory::Procedural);
        assert_eq!(kind.prefix().letter(), 'N');
    }
}

#[test]
fn friction_and_calibration_are_episodic_and_need_no_citation() {
    for kind in [EntryKind::Friction, EntryKind::Calibration] {
        assert_eq!(kind.memory(), Memory::Episodic);
        let mut it = proposal(kind, "The formatter was run three times");
        it.citations.clear();
        let mut stage = TestLedger::new();
        let id = stage.propose(it);
        assert!(stage.entry(id).is_live());
    }
}

#[test]
fn an_entry_records_the_version_of_its_schema() {
    let mut stage = TestLedger::new();
    let id = stage.add(EntryKind::Learning, "Retry on 503");
    assert_eq!(stage.entry(id).created.unwrap().schema_version, "1.0.0");
    assert_eq!(SCHEMA_VERSION, "1.0.0");
}

#[test]
fn a_norm_keeps_the_name_others_gave_it() {
    let mut stage = TestLedger::new();
    let mut it = proposal(EntryKind::CommitNorm, "Sign every commit");
    it.alias = Some("norm.commit.001".parse().unwrap());
    let id = stage.propose(it);
    let created = stage.entry(id).created.unwrap();
    assert_eq!(created.alias.unwrap().as_str(), "norm.commit.001");
}

#[test]
fn an_id_has_a_letter_by_kind_and_never_changes() {
    let mut stage = TestLedger::new();
    let id = stage.add(EntryKind::Learning, "Retry on 503");
    let name = stage.entry(id).file_name().unwrap();
    let changes = ContentChanges {
        statement: Some("Never retry".parse().unwrap()),
        ..ContentChanges::default()
    };
    let draft = decide::edit(&stage.entry(id), changes, None, Channel::Command, None);
    stage.write(draft.unwrap());
    assert_eq!(stage.entry(id).file_name().unwrap(), name);
    assert_eq!(name, format!("{id}-retry-on-503.md"));
    assert_eq!(id.to_string().len(), "L-7k2f5qm3".len());
    assert_eq!(EntryKind::Spike.prefix().letter(), 'S');
}

#[test]
fn entries_are_filtered_by_their_tags() {
    let mut stage = TestLedger::new();
    let mut it = proposal(EntryKind::Learning, "Refresh tokens early");
    it.content.tags = ["auth/jwt", "http"].map(|t| t.parse().unwrap()).into();
    let id = stage.propose(it);
    let by = |tag: &str| {
        let tag = Some(tag.parse().unwrap());
        let filter = EntryFilter {
            tag,
            ..EntryFilter::default()
        };
        filter.matches(&stage.entry(id))
    };
    assert!(by("auth") && by("auth/jwt") && by("http"));
    assert!(!by("auth/jwt/keys") && !by("database"));
}

#[test]
fn a_lesson_from_a_failed_run_is_kept_and_flagged() {
    for outcome in [Outcome::Failed, Outcome::Abandoned] {
        let mut stage = TestLedger::new();
        let mut it = proposal(EntryKind::Learning, "Do not cache tokens");
        let outcome = Some(outcome);
        it.run = Some(SourceRun {
            id: "run-7".to_owned(),
            outcome,
        });
        let id = stage.propose(it);
        let entry = stage.entry(id);
        assert!(entry.is_live());
        assert_eq!(entry.created.unwrap().run.unwrap().outcome, outcome);
    }
}

#[test]
fn a_spike_says_whether_it_was_conclusive() {
    let draft = decide::propose(
        event_id(),
        proposal(EntryKind::Spike, "SQLite is fast enough"),
    );
    assert!(refusal_text(draft).contains("question, answer and confidence"));
    for confidence in [SpikeConfidence::Conclusive, SpikeConfidence::Inconclusive] {
        let mut it = proposal(EntryKind::Spike, "SQLite is fast enough");
        it.content.detail = Some(KindDetail::Spike(SpikeDetail {
            question: "Is SQLite fast enough?".parse().unwrap(),
            answer: "Yes, by far".parse().unwrap(),
            confidence,
            constraints: Vec::new(),
        }));
        let mut stage = TestLedger::new();
        let id = stage.propose(it);
        let detail = stage.entry(id).content.unwrap().detail.unwrap();
        assert!(matches!(detail, KindDetail::Spike(spike) if spike.confidence == confidence));
    }
}

#[test]
fn an_entry_says_when_by_whom_and_from_where() {
    let mut stage = TestLedger::new();
    stage.by("import:wiki");
    let mut it = proposal(EntryKind::Learning, "Retry on 503");
    it.origin = Origin::Import;
    let id = stage.propose(it);
    let created = stage.entry(id).created.unwrap();
    assert_eq!(created.at.wall.date().to_string(), "2026-11-14");
    assert_eq!(created.by.to_string(), "import:wiki");
    assert_eq!(created.origin, Origin::Import);
}

#[test]
fn skills_and_experiences_have_their_kinds() {
    for name in [
        "technique",
        "pattern",
        "anti_pattern",
        "decision",
        "convention",
        "learning",
        "bug",
    ] {
        let kind: EntryKind = name.parse().unwrap();
        assert_eq!(kind.memory(), Memory::Semantic);
        assert_eq!(kind.prefix().letter(), 'L');
    }
}

#[test]
fn experiences_carry_polarity() {
    let mut stage = TestLedger::new();
    let mut it = proposal(EntryKind::Learning, "Retrying made it worse");
    it.content.polarity = Some(Polarity::Negative);
    let id = stage.propose(it);
    let content = stage.entry(id).content.unwrap();
    assert_eq!(content.polarity, Some(Polarity::Negative));
    assert_eq!(
        serde_json::to_value(Polarity::Positive).unwrap(),
        "positive"
    );
}

#[test]
fn every_entry_has_a_scan_status_and_a_status() {
    let mut stage = TestLedger::new();
    let id = stage.add(EntryKind::Learning, "Retry on 503");
    assert_eq!(stage.entry(id).status.value, EntryStatus::Candidate);
    let line = stage.last_line();
    assert!(line.contains(r#""admission":{"rules":"ken-guard/1","scan":"safe""#));
}

#[test]
fn an_entry_has_its_thread_and_decay_class() {
    let mut stage = TestLedger::new();
    let mut it = proposal(EntryKind::Decision, "We use one ledger");
    it.thread = Some("payments".parse().unwrap());
    it.content.decay = DecayClass::Permanent;
    let id = stage.propose(it);
    let entry = stage.entry(id);
    assert_eq!(entry.created.unwrap().thread.unwrap().as_str(), "payments");
    assert_eq!(entry.content.unwrap().decay, DecayClass::Permanent);
    let names = [
        DecayClass::Ephemeral,
        DecayClass::Stable,
        DecayClass::Permanent,
    ];
    let names = names.map(|class| serde_json::to_value(class).unwrap());
    assert_eq!(names, ["ephemeral", "stable", "permanent"]);
}

#[test]
fn procedural_without_provenance_is_refused() {
    for kind in EntryKind::ALL
        .into_iter()
        .filter(|k| k.memory() == Memory::Procedural)
    {
        let mut it = proposal(kind, "Sign every commit");
        it.citations.clear();
        let refusal = refusal_text(decide::propose(event_id(), it));
        assert!(refusal.contains("provenance required"), "{refusal}");
    }
}

#[test]
fn semantic_without_provenance_is_refused() {
    let refusal = propose_changed(|it| it.citations.clear());
    assert_eq!(refusal, Err(Refusal::ProvenanceRequired));
    assert!(propose_changed(|_| {}).is_ok());
}

#[test]
fn what_breaks_the_limits_of_content_is_refused() {
    let tag = |n: usize| format!("tag/{n}").parse().unwrap();
    let tags = |n: usize| propose_changed(|it| it.content.tags = (0..n).map(tag).collect());
    assert!(tags(Content::TAGS_MAX).is_ok());
    assert_eq!(refusal_text(tags(33)), "tags: 33 given, at most 32 allowed");
    let anchor = || {
        "src/a.rs"
            .parse::<ken_core::values::anchor::CodeLocation>()
            .unwrap()
    };
    let anchors = |n| propose_changed(|it| it.content.anchors = vec![anchor().into(); n]);
    assert!(anchors(Content::ANCHORS_MAX).is_ok());
    assert_eq!(
        refusal_text(anchors(33)),
        "anchors: 33 given, at most 32 allowed"
    );
    let conditions =
        |n| propose_changed(|it| it.content.depends_on = vec!["file:src/**".parse().unwrap(); n]);
    assert!(conditions(Content::CONDITIONS_MAX).is_ok());
    assert_eq!(
        refusal_text(conditions(33)),
        "conditions: 33 given, at most 32 allowed"
    );
    let cited = |n| propose_changed(|it| it.citations = vec![citation("commit:3fce3b5"); n]);
    assert!(cited(decide::CITATIONS_MAX).is_ok());
    assert_eq!(
        refusal_text(cited(33)),
        "citations: 33 given, at most 32 allowed"
    );
}

#[test]
fn a_retracted_entry_is_gone_from_sight_and_false_ones_leave_a_tombstone() {
    for (reason, tombstone) in [
        (RetractReason::False, true),
        (RetractReason::Unwanted, true),
        (RetractReason::Duplicate, false),
        (RetractReason::Obsolete, false),
        (RetractReason::Withdrawn, false),
    ] {
        let mut stage = TestLedger::new();
        let id = stage.add(EntryKind::Learning, "Retry on 503");
        let draft = decide::retract(&stage.entry(id), reason, Channel::HandEdit, None);
        stage.write(draft.unwrap());
        let entry = stage.entry(id);
        assert!(!entry.is_live());
        assert_eq!(entry.is_tombstone(), tombstone);
        let again = decide::retract(&entry, reason, Channel::Command, None);
        assert_eq!(again, Err(Refusal::AlreadyRetracted(id)));
    }
}

#[test]
fn a_persons_word_confirms_and_an_agents_is_primed() {
    let mut stage = TestLedger::new();
    let id = stage.add(EntryKind::Learning, "Retry on 503");
    stage.later("2026-12-24T00:00:00Z");
    let day = "2026-12-24".parse().unwrap();
    let agent = "agent:codex".parse().unwrap();
    let before = stage.entry(id).confirmation;
    stage.write(decide::confirm(&stage.entry(id), &agent, day).unwrap());
    let after = stage.entry(id).confirmation;
    assert_eq!((after.last, after.primed), (before.last, 1));
    let person = "human:ada".parse().unwrap();
    stage.write(decide::confirm(&stage.entry(id), &person, day).unwrap());
    let after = stage.entry(id).confirmation;
    assert_eq!((after.last, after.manual), (Some(day), 1));
    assert_eq!(after.provenance, Some(Provenance::Manual));
}

/// Every convergence law compares these bytes; if they were empty, no law could fail.
#[test]
fn the_bytes_of_a_state_say_everything_and_the_hash_is_theirs() {
    let mut scribe = EventWriter::new(11);
    let (id, proposed) = scribe.propose("Retry with the same key.");
    let state = LedgerState::from_events(&[proposed.event]);
    let bytes = state.to_canonical_json();
    let json: serde_json::Value = serde_json::from_str(&bytes).unwrap();
    assert_eq!(
        json["entries"][id.to_string()]["content"]["statement"],
        "Retry with the same key."
    );
    assert_ne!(bytes, LedgerState::default().to_canonical_json());
    let hash = blake3::hash(bytes.as_bytes()).to_hex();
    assert_eq!(state.hash(), format!("b3:{hash}"));
}
