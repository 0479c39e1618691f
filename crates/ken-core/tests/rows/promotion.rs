//! Promotion: the scope of an entry, and approval of norms derived from observations.

use std::collections::BTreeSet;

use ken_core::decide::{self, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    ApprovalGranted, Channel, Confirmed, Event, EventBody, Origin, Provenance, QuarantineLifted,
    Reanchored, RecordedEvent, Revised, ScopeChanged,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::retrieval::score::{
    PosteriorDraw, QueryMatch, RankingSignals, RankingWeights, ScoreBoosts,
};
use ken_core::trust::facts::{BetaPosterior, EntryFacts, Validity};
use ken_core::trust::promotion::{
    CONFIDENCE_MIN, PROVEN_MEAN, PromotionArtifact, PromotionBarrier, exportable_content,
    is_approved, is_approved_outright, origin_of_copy, promotion_barrier,
};
use ken_core::values::content::EntryScope;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Timestamp;
use ken_testkit::build::EventWriter;

const NORM: &str = "Format before you commit";

fn fold_copies(id: EntryId, copies: &[RecordedEvent]) -> Entry {
    let events: Vec<&Event> = copies.iter().map(|it| &it.event).collect();
    fold_entry(id, events).unwrap()
}

/// Proposes a norm derived from a friction entry, as `by`.
fn propose_norm(scribe: &mut EventWriter, by: &str) -> (EntryId, Vec<RecordedEvent>) {
    let (source, _) = scribe.propose_with(EntryKind::Friction, "The formatter failed", |_| {});
    scribe.by(by);
    let (id, copy) = scribe.propose_with(EntryKind::CommitNorm, NORM, |data| {
        data.promoted_from = vec![source];
    });
    (id, vec![copy])
}

fn write_approval(
    scribe: &mut EventWriter,
    by: &str,
    entry: EntryId,
    covers: &[EventId],
) -> RecordedEvent {
    scribe.by(by);
    let body = EventBody::ApprovalGranted(ApprovalGranted {
        entry,
        artifact: "b3:read".parse().unwrap(),
        signature: None,
        covers: covers.to_vec(),
    });
    scribe.about(entry, body)
}

#[test]
fn what_came_from_friction_waits_for_a_person_who_did_not_write_it() {
    for (author, approver, counts) in [
        ("agent:codex/1", "human:bob", true),
        ("human:ada", "human:bob", true),
        ("human:ada", "human:ada", false),
        ("agent:codex/1", "agent:claude-code/7", false),
        ("agent:codex/1", "ci:main", false),
        ("agent:codex/1", "peer:other", false),
        ("agent:codex/1", "import:wiki", false),
    ] {
        let mut scribe = EventWriter::new(7);
        let (id, mut copies) = propose_norm(&mut scribe, author);
        let waiting = fold_copies(id, &copies);
        assert_eq!(waiting.quarantine, [copies[0].event.id], "admitted or not");
        assert!(!waiting.is_live());
        copies.push(write_approval(&mut scribe, approver, id, &waiting.revision));
        let after = fold_copies(id, &copies);
        assert_eq!(after.is_live(), counts, "{approver} approves {author}");
        assert_eq!(after.approvals.len(), usize::from(counts));
    }
}

#[test]
fn lifting_a_quarantine_is_no_approval() {
    let mut scribe = EventWriter::new(7);
    let (id, mut copies) = propose_norm(&mut scribe, "agent:codex/1");
    let waiting = fold_copies(id, &copies);
    let bob = "human:bob".parse().unwrap();
    let refused = decide::release_quarantine(&waiting, &bob, "I looked".parse().unwrap());
    assert_eq!(refused, Err(Refusal::ApprovalNeeded(id)));
    scribe.by("human:bob");
    let body = EventBody::QuarantineLifted(QuarantineLifted {
        lifts: waiting.quarantine,
        reason: "written by hand".parse().unwrap(),
    });
    copies.push(scribe.about(id, body));
    assert!(!fold_copies(id, &copies).is_live(), "not even by hand");
}

#[test]
fn an_approval_covers_the_wording_it_names_and_no_later_one() {
    let mut scribe = EventWriter::new(7);
    let (id, mut copies) = propose_norm(&mut scribe, "agent:codex/1");
    let first = fold_copies(id, &copies).revision;
    copies.push(write_approval(&mut scribe, "human:bob", id, &first));
    assert!(fold_copies(id, &copies).is_live());
    scribe.by("human:ada");
    let body = EventBody::Revised(Revised {
        changes: ken_core::values::content::ContentChanges {
            statement: Some("Never format anything".parse().unwrap()),
            ..Default::default()
        },
        replaces: first,
        channel: Channel::HandEdit,
        reason: None,
        origin: None,
    });
    copies.push(scribe.about(id, body));
    let reworded = fold_copies(id, &copies);
    assert!(!reworded.is_live(), "a new wording waits again");
    copies.push(write_approval(
        &mut scribe,
        "human:ada",
        id,
        &reworded.revision,
    ));
    assert!(!fold_copies(id, &copies).is_live(), "her own words");
    copies.push(write_approval(
        &mut scribe,
        "human:bob",
        id,
        &reworded.revision,
    ));
    assert!(fold_copies(id, &copies).is_live());
}

/// Returns an agent's lesson and the scribe that writes its events.
fn propose_lesson() -> (EventWriter, EntryId, Vec<RecordedEvent>) {
    let mut scribe = EventWriter::new(9);
    scribe.by("agent:codex/1");
    let (id, copy) = scribe.propose("Retry a payment once");
    (scribe, id, vec![copy])
}

fn write_reanchored(
    scribe: &mut EventWriter,
    entry: EntryId,
    replaces: &[EventId],
) -> RecordedEvent {
    scribe.by("agent:mover");
    let body = EventBody::Reanchored(Reanchored {
        anchors: Vec::new(),
        replaces: replaces.to_vec(),
        origin: None,
    });
    scribe.about(entry, body)
}

fn write_revised(scribe: &mut EventWriter, entry: EntryId, replaces: &[EventId]) -> RecordedEvent {
    scribe.by("agent:codex/1");
    let body = EventBody::Revised(Revised {
        changes: ken_core::values::content::ContentChanges {
            statement: Some("Retry a payment twice".parse().unwrap()),
            ..Default::default()
        },
        replaces: replaces.to_vec(),
        channel: Channel::Command,
        reason: None,
        origin: None,
    });
    scribe.about(entry, body)
}

fn approval_results(id: EntryId, copies: &[RecordedEvent]) -> (bool, bool) {
    let entry = fold_copies(id, copies);
    let events = copies.iter().map(|it| &it.event);
    (is_approved_outright(&entry), is_approved(&entry, events))
}

#[test]
fn scp_following_code_that_moved_needs_no_new_approval_and_a_new_wording_does() {
    let (mut scribe, id, mut copies) = propose_lesson();
    let first = fold_copies(id, &copies).revision;
    assert_eq!(approval_results(id, &copies), (false, false));
    copies.push(write_approval(&mut scribe, "human:bob", id, &first));
    assert_eq!(approval_results(id, &copies), (true, true));
    // One reanchoring, a second one concurrent with it, and a third after both.
    copies.push(write_reanchored(&mut scribe, id, &first));
    assert_eq!(approval_results(id, &copies), (false, true));
    copies.push(write_reanchored(&mut scribe, id, &first));
    copies.push(write_reanchored(&mut scribe, id, &[]));
    assert_eq!(approval_results(id, &copies), (false, true));
    let heads = fold_copies(id, &copies).revision;
    copies.push(write_reanchored(&mut scribe, id, &heads));
    assert_eq!(approval_results(id, &copies), (false, true));
    let heads = fold_copies(id, &copies).revision;
    copies.push(write_revised(&mut scribe, id, &heads));
    assert_eq!(approval_results(id, &copies), (false, false), "other words");
    let heads = fold_copies(id, &copies).revision;
    copies.push(write_reanchored(&mut scribe, id, &heads));
    assert_eq!(
        approval_results(id, &copies),
        (false, false),
        "moving code hides no words"
    );
    let heads = fold_copies(id, &copies).revision;
    copies.push(write_approval(&mut scribe, "human:bob", id, &heads));
    assert_eq!(approval_results(id, &copies), (true, true));
    // An old clone reanchors from the first version.
    copies.push(write_reanchored(&mut scribe, id, &first));
    assert_eq!(
        approval_results(id, &copies),
        (false, true),
        "what was approved rests on it"
    );
}

#[test]
fn scp_words_beside_those_that_were_approved_are_not_approved() {
    let (mut scribe, id, mut copies) = propose_lesson();
    let first = fold_copies(id, &copies).revision;
    copies.push(write_approval(&mut scribe, "human:bob", id, &first));
    copies.push(write_revised(&mut scribe, id, &[]));
    assert_eq!(approval_results(id, &copies), (false, false));
}

#[test]
fn an_approval_that_names_no_wording_or_another_entry_approves_nothing() {
    let mut scribe = EventWriter::new(7);
    let (id, mut copies) = propose_norm(&mut scribe, "agent:codex/1");
    copies.push(write_approval(&mut scribe, "human:bob", id, &[]));
    let unknown = scribe.next_id();
    copies.push(write_approval(&mut scribe, "human:bob", id, &[unknown]));
    let (other, _) = scribe.propose("something else");
    let revision = fold_copies(id, &copies).revision;
    let mut stray = write_approval(&mut scribe, "human:bob", other, &revision);
    stray.event.about.push(id.into());
    copies.push(RecordedEvent::new(stray.event));
    assert!(fold_copies(id, &copies).approvals.is_empty());
    assert!(!fold_copies(id, &copies).is_live());
}

#[test]
fn deciding_to_approve_refuses_agents_machines_and_authors() {
    let mut scribe = EventWriter::new(7);
    let (id, mut copies) = propose_norm(&mut scribe, "human:ada");
    let waiting = fold_copies(id, &copies);
    let actor = |text: &str| text.parse().unwrap();
    let authors = BTreeSet::from([actor("human:ada")]);
    let as_whom = |by: &str| decide::approve(&waiting, &authors, &actor(by), None);
    assert!(matches!(
        as_whom("agent:codex/1"),
        Err(Refusal::PersonNeeded { .. })
    ));
    assert!(matches!(
        as_whom("ci:main"),
        Err(Refusal::PersonNeeded { .. })
    ));
    assert!(matches!(
        as_whom("human:ada"),
        Err(Refusal::OwnContent { .. })
    ));
    let draft = as_whom("human:bob").unwrap();
    scribe.by("human:bob");
    copies.push(scribe.write(draft.about, draft.body));
    let approved = fold_copies(id, &copies);
    assert!(approved.is_live());
    let digest = PromotionArtifact::from_entry(&approved).unwrap().digest();
    assert_eq!(approved.approvals[0].artifact.as_str(), digest);
}

#[test]
fn an_artifact_follows_from_the_ledger_and_changes_with_the_wording() {
    let mut scribe = EventWriter::new(7);
    let (id, copies) = propose_norm(&mut scribe, "agent:codex/1");
    let entry = fold_copies(id, &copies);
    let artifact = PromotionArtifact::from_entry(&entry).unwrap();
    assert_eq!(
        PromotionArtifact::from_entry(&entry).unwrap().bytes(),
        artifact.bytes()
    );
    let read: serde_json::Value = serde_json::from_slice(&artifact.bytes()).unwrap();
    assert_eq!(read["schema"], "ken.promotion.v1");
    assert_eq!(read["content"]["statement"], NORM);
    assert_eq!(read["to"], "procedural");
    assert_eq!(read["sources"].as_array().unwrap().len(), 1);
    let mut other = entry;
    other.content.as_mut().unwrap().statement = "Never format".parse().unwrap();
    assert_ne!(
        PromotionArtifact::from_entry(&other).unwrap().digest(),
        artifact.digest()
    );
}

fn propose_in_thread(scribe: &mut EventWriter, statement: &str) -> (EntryId, RecordedEvent) {
    scribe.propose_with(EntryKind::Learning, statement, |data| {
        data.thread = Some("billing".parse().unwrap());
        data.scope = EntryScope::Thread;
    })
}

fn facts(entry: &Entry, alpha: f64) -> EntryFacts {
    let mut facts = EntryFacts::from_entry(entry, None, Timestamp::default());
    facts.posterior = BetaPosterior { alpha, beta: 5.0 };
    facts
}

#[test]
fn promotion_clears_the_thread_and_loses_its_bonus() {
    let mut scribe = EventWriter::new(7);
    let (id, copy) = propose_in_thread(&mut scribe, "Amounts are cents");
    let before = fold_entry(id, [&copy.event]).unwrap();
    assert_eq!(before.thread().unwrap().as_str(), "billing");
    let draft = decide::widen_scope(
        &before,
        &facts(&before, 9.0),
        None,
        EntryScope::Workspace,
        None,
    );
    let EventBody::ScopeChanged(ScopeChanged { to, replaces }) =
        draft.as_ref().unwrap().body.clone()
    else {
        panic!("a change of scope");
    };
    assert_eq!((to, replaces), (EntryScope::Workspace, vec![copy.event.id]));
    let draft = draft.unwrap();
    let promoted = scribe.write(draft.about, draft.body);
    let after = fold_entry(id, [&copy.event, &promoted.event]).unwrap();
    assert_eq!(after.thread(), None);
    assert_eq!(
        after
            .created
            .as_ref()
            .unwrap()
            .thread
            .as_ref()
            .unwrap()
            .as_str(),
        "billing"
    );
    let score = |in_thread: bool| {
        let found = QueryMatch {
            semantic: 0.5,
            in_thread,
        };
        let signals = RankingSignals::from_facts(
            &facts(&before, 9.0),
            found,
            PosteriorDraw::Mean,
            Timestamp::default(),
        );
        signals
            .explain(&RankingWeights::default(), ScoreBoosts::default())
            .score
    };
    assert!((score(true) - score(false) - 0.07).abs() < 1e-9);
}

#[test]
fn an_entry_without_a_thread_is_the_whole_workspaces() {
    let mut scribe = EventWriter::new(7);
    let (id, copy) = scribe.propose("Amounts are cents");
    let entry = fold_entry(id, [&copy.event]).unwrap();
    assert_eq!(
        (entry.thread(), entry.scope.value),
        (None, EntryScope::Workspace)
    );
    let why = promotion_barrier(&entry, &facts(&entry, 9.0), None, EntryScope::Workspace);
    assert_eq!(why, Some(PromotionBarrier::AlreadyInScope));
}

#[test]
fn low_confidence_and_what_belongs_to_one_thread_are_not_promoted() {
    let proven = 5.0 * PROVEN_MEAN / (1.0 - PROVEN_MEAN) + 0.01;
    let fair = 5.0 * CONFIDENCE_MIN / (1.0 - CONFIDENCE_MIN);
    let unproven = PromotionBarrier::Unproven { hundredths: 50 };
    for (alpha, found, statement, expected) in [
        (proven, 0, "Amounts are cents", None),
        (
            proven - 0.02,
            0,
            "Amounts are cents",
            Some(PromotionBarrier::Unproven { hundredths: 54 }),
        ),
        (fair, 0, "Amounts are cents", Some(unproven)),
        (fair, 1, "Amounts are cents", None),
        (
            fair - 0.01,
            1,
            "Amounts are cents",
            Some(PromotionBarrier::LowConfidence { hundredths: 49 }),
        ),
        (
            proven,
            1,
            "In this thread amounts are cents",
            Some(PromotionBarrier::TiedToWork("this thread".into())),
        ),
        (
            proven,
            1,
            "The billing work wants cents",
            Some(PromotionBarrier::TiedToWork("billing".into())),
        ),
        (proven, 1, "Pre-billing and billings want cents", None),
    ] {
        let mut scribe = EventWriter::new(7);
        let (id, copy) = propose_in_thread(&mut scribe, statement);
        let mut copies = vec![copy];
        for _ in 0..found {
            let body = EventBody::Confirmed(Confirmed {
                provenance: Provenance::Independent,
                on: Timestamp::default().date(),
                run: None,
                withdraws: Vec::new(),
            });
            copies.push(scribe.about(id, body));
        }
        let entry = fold_copies(id, &copies);
        let why = promotion_barrier(&entry, &facts(&entry, alpha), None, EntryScope::Workspace);
        assert_eq!(why, expected, "{alpha} {found} {statement}");
    }
}

#[test]
fn contradicted_fallen_and_invalid_entries_stay_whoever_asks() {
    let mut scribe = EventWriter::new(7);
    let (id, copy) = propose_in_thread(&mut scribe, "Amounts are cents");
    let (other, _) = scribe.propose("Amounts are euros");
    let entry = fold_entry(id, [&copy.event]).unwrap();
    let good = facts(&entry, 9.0);
    let changed = EntryFacts {
        validity: Validity::Changed,
        ..good.clone()
    };
    let stale = EntryFacts {
        status: EntryStatus::Stale,
        ..good.clone()
    };
    let bob = "human:bob".parse().unwrap();
    for (facts, against, expected) in [
        (&good, Some(other), PromotionBarrier::Contradicted(other)),
        (&changed, None, PromotionBarrier::Invalid),
        (&stale, None, PromotionBarrier::StatusTooLow("stale")),
    ] {
        let refused =
            decide::widen_scope(&entry, facts, against, EntryScope::Workspace, Some(&bob));
        let why = expected;
        assert_eq!(refused, Err(Refusal::Unfit { entry: id, why }));
    }
}

#[test]
fn only_a_person_overrides_and_only_judgment() {
    let mut scribe = EventWriter::new(7);
    let (id, copy) = propose_in_thread(&mut scribe, "Amounts are cents");
    let entry = fold_entry(id, [&copy.event]).unwrap();
    let unproven = facts(&entry, 5.0);
    let with = |by: &str| {
        let by = by.parse().unwrap();
        decide::widen_scope(&entry, &unproven, None, EntryScope::Workspace, Some(&by))
    };
    assert!(with("human:bob").is_ok());
    assert!(matches!(
        with("agent:codex/1"),
        Err(Refusal::PersonNeeded { .. })
    ));
}

#[test]
fn only_what_can_be_true_elsewhere_goes_global_and_trust_does_not_rise() {
    for (kind, goes) in [
        (EntryKind::Learning, true),
        (EntryKind::Incident, true),
        (EntryKind::CommitNorm, false),
        (EntryKind::RiskTier, false),
    ] {
        let mut scribe = EventWriter::new(7);
        let (id, copy) = scribe.propose_with(kind, "Amounts are cents", |_| {});
        let entry = fold_entry(id, [&copy.event]).unwrap();
        let why = promotion_barrier(&entry, &facts(&entry, 9.0), None, EntryScope::Global);
        assert_eq!(why.is_none(), goes, "{kind:?}: {why:?}");
    }
    for origin in Origin::BY_TRUST {
        let copy = origin_of_copy(origin);
        assert_eq!(
            copy.least_trusted(Origin::Import),
            copy,
            "never above an import"
        );
        assert_eq!(copy.least_trusted(origin), copy, "never above its source");
    }
}

#[test]
fn what_a_copy_says_holds_nothing_of_the_repository_it_came_from() {
    let mut scribe = EventWriter::new(7);
    let (id, copy) = scribe.propose_with(EntryKind::Learning, "Amounts are cents", |data| {
        let target: ken_core::values::anchor::CodeLocation = "src/pay.rs".parse().unwrap();
        data.content.anchors = vec![target.into()];
        data.content.verify = vec!["Read src/pay.rs".parse().unwrap()];
        data.content.depends_on = vec!["file:src/pay.rs".parse().unwrap()];
        data.content.tags = ["money".parse().unwrap()].into();
    });
    let entry = fold_entry(id, [&copy.event]).unwrap();
    let copy = exportable_content(entry.content.as_ref().unwrap());
    let json = serde_json::to_string(&copy).unwrap();
    assert!(!json.contains("src/pay.rs"), "{json}");
    assert!(json.contains("money"), "{json}");
}
