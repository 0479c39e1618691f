//! Sources of entries: a derived entry has the trust of its least trusted source, no source fills
//! an answer alone, and one event revokes a source.

use ken_core::decide::{self, MergeWording, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{AdmissionVerdict, EventBody, Origin, Switch};
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::source::ContributionSource;
use ken_core::ledger::workspace::{WorkspaceState, fold_workspace};
use ken_core::retrieval::score::{HiddenReason, hidden_reason};
use ken_core::retrieval::surface::{
    EntrySelection, HitView, SOURCE_SHARE_PERCENT, SelectionContext,
};
use ken_core::trust::facts::EntryFacts;
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;
use ken_testkit::build::EventWriter;

use crate::stage::{TestLedger, proposal};

fn propose_from_origin(scribe: &mut EventWriter, origin: Origin, statement: &str) -> Entry {
    let (id, copy) =
        scribe.propose_with(EntryKind::Learning, statement, |data| data.origin = origin);
    fold_entry(id, [&copy.event]).unwrap()
}

#[test]
fn what_is_made_of_several_is_trusted_as_the_least_of_them() {
    let mut stage = TestLedger::new();
    let target = stage.add(EntryKind::Learning, "Retries need a key");
    let own = stage.entry(target).created.unwrap().origin;
    let mut foreign = proposal(EntryKind::Learning, "Retries need a key, they say");
    foreign.origin = Origin::Web;
    let source = stage.propose(foreign);
    let draft = decide::merge(
        &stage.entry(target),
        &[stage.entry(source)],
        MergeWording::Longer,
    )
    .unwrap();
    stage.write(draft);
    assert_ne!(own, Origin::Web);
    assert_eq!(stage.entry(target).created.unwrap().origin, Origin::Web);
}

#[test]
fn what_is_quarantined_does_not_get_out_by_being_merged() {
    let mut stage = TestLedger::new();
    let target = stage.add(EntryKind::Learning, "Retries need a key");
    let source = stage.add(EntryKind::Learning, "Retries need a key, they say");
    let body = decide::set_annotation(
        &stage.entry(source),
        ken_core::ledger::event::Overlay::Annotate,
        Switch::On,
        None,
    );
    let id = stage.fresh();
    stage.write_as(id, body.unwrap(), AdmissionVerdict::Quarantined);
    let held = stage.entry(source);
    assert_eq!(held.quarantine, [id], "any event may hold an entry");
    let refused = decide::merge(&stage.entry(target), &[held], MergeWording::Longer);
    assert_eq!(refused, Err(Refusal::Quarantined(source)));
}

#[test]
fn one_event_turns_a_source_off_and_one_turns_it_on_again() {
    let mut stage = TestLedger::new();
    let entry = stage.add(EntryKind::Learning, "Retries need a key");
    let entry = stage.entry(entry);
    let created = entry.created.clone().unwrap();
    for source in [
        ContributionSource::Author(created.by),
        ContributionSource::Origin(created.origin),
    ] {
        let by = "human:ada".parse().unwrap();
        let on = decide::revoke(
            &WorkspaceState::default(),
            source.clone(),
            Switch::On,
            Vec::new(),
            &by,
        );
        let first = stage.write(on.unwrap());
        let revoked = fold_workspace(&stage.events);
        assert!(revoked.is_revoked(&entry), "{source}");
        let mut facts = EntryFacts::from_entry(&entry, None, Timestamp::from_millis(0));
        facts.revoked = revoked.is_revoked(&entry);
        assert_eq!(hidden_reason(&entry, &facts), Some(HiddenReason::Revoked));
        let twice = decide::revoke(&revoked, source.clone(), Switch::On, Vec::new(), &by);
        assert_eq!(twice, Err(Refusal::AlreadyRevoked(source.clone())));
        let off = decide::revoke(&revoked, source.clone(), Switch::Off, vec![first], &by);
        stage.write(off.unwrap());
        let after = fold_workspace(&stage.events);
        assert!(!after.is_revoked(&entry), "{source}");
        let never = decide::revoke(&after, source.clone(), Switch::Off, Vec::new(), &by);
        assert_eq!(never, Err(Refusal::NotRevoked(source)));
    }
}

#[test]
fn no_agent_revokes_a_source() {
    let by = "agent:x".parse().unwrap();
    let source = ContributionSource::Origin(Origin::Human);
    let refused = decide::revoke(
        &WorkspaceState::default(),
        source,
        Switch::On,
        Vec::new(),
        &by,
    );
    assert!(
        matches!(refused, Err(Refusal::PersonNeeded { .. })),
        "{refused:?}"
    );
    let body = EventBody::OriginRevoked(ken_core::ledger::event::OriginRevoked {
        source: ContributionSource::Origin(Origin::Web),
        state: Switch::On,
        replaces: Vec::new(),
    });
    let json = body.to_json().unwrap();
    assert_eq!(json["source"], "origin:web");
    assert_eq!(body.reread(&json), Some(body));
}

/// Returns the indexes of the entries shown when `cap` of them fit, best first.
fn shown_indexes(entries: &[Entry], cap: usize) -> Vec<usize> {
    let facts: Vec<EntryFacts> = entries
        .iter()
        .map(|entry| EntryFacts::from_entry(entry, None, Timestamp::from_millis(0)))
        .collect();
    let findings: Vec<HitView<'_>> = entries
        .iter()
        .zip(&facts)
        .map(|(entry, facts)| HitView {
            entry,
            facts,
            score: 0.5,
            is_about_paths: false,
            conflicts: &[],
        })
        .collect();
    let room = SelectionContext {
        cap,
        budget: usize::MAX,
        tier: None,
        role: None,
        folder: ".ken/entries",
        tokens: &|text| text.len(),
    };
    let page = EntrySelection::of(&findings, &room);
    let place = |id| entries.iter().position(|entry| entry.id == id);
    page.shown.iter().filter_map(|it| place(it.id)).collect()
}

#[test]
fn one_author_fills_no_answer_while_others_have_something_to_say() {
    let (mut one, mut other) = (EventWriter::new(1), EventWriter::new(2));
    other.by("agent:other");
    one.by("agent:flood");
    let mut entries: Vec<Entry> = (0..6)
        .map(|n| propose_from_origin(&mut one, Origin::Agent, &format!("Flooding number {n}")))
        .collect();
    entries.extend(
        (0..2).map(|n| propose_from_origin(&mut other, Origin::Agent, &format!("Quiet word {n}"))),
    );
    let most = 5 * SOURCE_SHARE_PERCENT / 100;
    let page = shown_indexes(&entries, 5);
    assert_eq!(page.iter().filter(|at| **at < 6).count(), most, "{page:?}");
    assert!(page.contains(&6) && page.contains(&7), "{page:?}");
    assert_eq!(
        shown_indexes(&entries[..6], 5).len(),
        5,
        "alone it may fill what is left"
    );
}

#[test]
fn an_author_is_one_by_whatever_names_below_its_own() {
    let mut scribe = EventWriter::new(4);
    let mut write = |by: &str, n: usize| {
        scribe.by(by);
        propose_from_origin(
            &mut scribe,
            Origin::Agent,
            &format!("Said by {by} number {n}"),
        )
    };
    let mut entries: Vec<Entry> = (0..6).map(|n| write(&format!("agent:x/{n}"), n)).collect();
    entries.extend((0..2).map(|n| write("agent:xy", n)));
    let page = shown_indexes(&entries, 5);
    let most = 5 * SOURCE_SHARE_PERCENT / 100;
    assert_eq!(page.iter().filter(|at| **at < 6).count(), most, "{page:?}");
    let revoked = |source: &str| {
        let source: ContributionSource = source.parse().unwrap();
        entries
            .iter()
            .map(|it| source.matches_entry(it))
            .collect::<Vec<bool>>()
    };
    let all = [true, true, true, true, true, true, false, false];
    assert_eq!(
        revoked("agent:x"),
        all,
        "all of its conversations, and nobody else's"
    );
    let one = [false, true, false, false, false, false, false, false];
    assert_eq!(revoked("agent:x/1"), one);
}

#[test]
fn what_comes_from_outside_never_fills_an_answer_and_people_may() {
    let mut scribe = EventWriter::new(3);
    let most = 5 * SOURCE_SHARE_PERCENT / 100;
    for (origin, expected) in [
        (Origin::Peer, most),
        (Origin::Web, most),
        (Origin::Human, 5),
    ] {
        let entries: Vec<Entry> = (0..6)
            .map(|n| {
                propose_from_origin(&mut scribe, origin, &format!("From {} {n}", origin.name()))
            })
            .collect();
        assert_eq!(
            shown_indexes(&entries, 5).len(),
            expected,
            "{}",
            origin.name()
        );
        assert_eq!(
            shown_indexes(&entries, 1).len(),
            1,
            "one place is a full share"
        );
    }
}
