//! Requirement matrix: the lifecycle of an entry.

use ken_core::decide::{self, Draft, MergeWording, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    AdmissionVerdict, ArchiveReason, Archived, BlankReason, Channel, ConfigChanged, EVENT_TYPES,
    Event, EventBlanked, EventBody, EventSubject, MergeStrategy, Merged, Overlay, PairKind,
    Provenance, QuarantineLifted, RecordedEvent, Relation, Restored, RetractReason, RunEffects,
    StatusChanged, Switch,
};
use ken_core::ledger::fold::fold_entry_at;
use ken_core::ledger::state::{EventSet, LedgerState};
use ken_core::trust::facts::Validity;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use serde_json::json;

use crate::stage::{TestLedger, citation, proposal};

fn add_lesson() -> (TestLedger, EntryId) {
    let mut stage = TestLedger::new();
    let id = stage.add(EntryKind::Learning, "Retry on 503");
    (stage, id)
}

fn fold_state(stage: &TestLedger) -> LedgerState {
    let mut set = EventSet::default();
    for event in &stage.events {
        set.add(RecordedEvent::new(event.clone()));
    }
    set.fold()
}

#[test]
fn every_agreement_is_counted_by_how_it_came_about() {
    let (mut stage, id) = add_lesson();
    for provenance in [
        Provenance::Independent,
        Provenance::Primed,
        Provenance::Primed,
        Provenance::Unwitnessed,
        Provenance::Manual,
    ] {
        stage.found(id, provenance, "2026-11-15");
    }
    let found = stage.entry(id).confirmation;
    assert_eq!((found.independent, found.manual), (1, 1));
    assert_eq!((found.primed, found.unwitnessed), (2, 1));
}

#[test]
fn a_new_entry_is_independent_and_dated_by_its_proposal() {
    let (stage, id) = add_lesson();
    let found = stage.entry(id).confirmation;
    assert_eq!(found.provenance, Some(Provenance::Independent));
    assert_eq!(found.last.unwrap().to_string(), "2026-11-14");
    assert_eq!(found.by, Some(stage.events[0].id));
    assert_eq!(found.independent, 0);
}

#[test]
fn primed_confirmation_never_refreshes() {
    let (mut stage, id) = add_lesson();
    stage.found(id, Provenance::Primed, "2027-01-01");
    stage.found(id, Provenance::Unwitnessed, "2027-01-01");
    let found = stage.entry(id).confirmation;
    assert_eq!(found.last.unwrap().to_string(), "2026-11-14");
    assert_eq!(found.by, Some(stage.events[0].id));
}

#[test]
fn independent_and_manual_confirmation_refresh() {
    for provenance in [Provenance::Independent, Provenance::Manual] {
        let (mut stage, id) = add_lesson();
        let event = stage.found(id, provenance, "2026-12-01");
        let found = stage.entry(id).confirmation;
        assert_eq!(found.last.unwrap().to_string(), "2026-12-01");
        assert_eq!(found.by, Some(event));
    }
}

#[test]
fn decay_can_archive_after_a_finding_that_was_dated_back() {
    let (mut stage, id) = add_lesson();
    let event = stage.found(id, Provenance::Manual, "2026-11-13");
    let found = stage.entry(id).confirmation;
    assert_eq!(found.last.unwrap().to_string(), "2026-11-14");
    assert_eq!(found.by, Some(event));
    let draft = decide::archive(&stage.entry(id), ArchiveReason::Decay).unwrap();
    stage.write(draft);
    assert!(stage.entry(id).archived.is_some());
}

#[test]
fn archiving_keeps_everything() {
    let (mut stage, id) = add_lesson();
    let before = stage.entry(id);
    stage.write(decide::archive(&before, ArchiveReason::Decay).unwrap());
    let archived = stage.entry(id);
    assert!(!archived.is_live());
    assert_eq!(archived.content, before.content);
    assert_eq!(archived.citations, before.citations);
    assert_eq!(archived.status, before.status);
    let again = decide::archive(&archived, ArchiveReason::Manual);
    assert_eq!(again, Err(Refusal::AlreadyArchived(id)));
}

#[test]
fn an_archived_entry_comes_back_with_its_old_status() {
    let (mut stage, id) = add_lesson();
    let draft = decide::set_status(&stage.entry(id), EntryStatus::Active, &ada(), None);
    stage.write(draft.unwrap());
    stage.write(decide::archive(&stage.entry(id), ArchiveReason::Age).unwrap());
    stage.write(decide::restore(&stage.entry(id), &stage.events, None).unwrap());
    let back = stage.entry(id);
    assert!(back.is_live());
    assert_eq!(back.status.value, EntryStatus::Active);
    assert_eq!(
        decide::restore(&back, &stage.events, None),
        Err(Refusal::NothingToRestore(id))
    );
}

#[test]
fn recurrence_makes_archiving_by_decay_void() {
    for (because, provenance, stays) in [
        (ArchiveReason::Decay, Provenance::Independent, false),
        (ArchiveReason::Decay, Provenance::Manual, false),
        (ArchiveReason::Decay, Provenance::Primed, true),
        (ArchiveReason::Age, Provenance::Independent, true),
        (ArchiveReason::Manual, Provenance::Independent, true),
    ] {
        let (mut stage, id) = add_lesson();
        stage.write(decide::archive(&stage.entry(id), because).unwrap());
        stage.found(id, provenance, "2026-12-01");
        let archived = stage.entry(id).archived.is_some();
        assert_eq!(archived, stays, "{because:?} then {provenance:?}");
    }
}

#[test]
fn decay_that_knew_the_confirmation_stands() {
    let (mut stage, id) = add_lesson();
    let known = stage.found(id, Provenance::Independent, "2026-12-01");
    stage.write(decide::archive(&stage.entry(id), ArchiveReason::Decay).unwrap());
    assert_eq!(stage.entry(id).archived.unwrap().events.len(), 1);
    // A replica that had only the proposal archived too; that archiving is void.
    for (rests_on, stands) in [
        (Some(known), true),
        (Some(stage.events[0].id), false),
        (None, false),
    ] {
        let body = Archived {
            because: ArchiveReason::Decay,
            rests_on,
        };
        let event = stage.about(id, EventBody::Archived(body));
        let archived = stage.entry(id).archived.unwrap();
        assert_eq!(archived.events.contains(&event), stands, "{rests_on:?}");
    }
}

#[test]
fn archiving_by_age_preserves_provenance() {
    let (mut stage, id) = add_lesson();
    let before = stage.entry(id);
    stage.write(decide::archive(&before, ArchiveReason::Age).unwrap());
    let archived = stage.entry(id);
    assert_eq!(archived.archived.unwrap().because, ArchiveReason::Age);
    assert_eq!(archived.citations, before.citations);
    assert_eq!(archived.confirmation, before.confirmation);
}

#[test]
fn citations_cannot_be_undone() {
    let (mut stage, id) = add_lesson();
    let draft = decide::cite(&stage.entry(id), citation("pr:142")).unwrap();
    let proposed = stage.events[0].id;
    let event = stage.write(draft);
    let refusal = stage.undo(&[event]);
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "a citation (provenance is append-only) cannot be undone"
    );
    // Undoing the proposal retracts the entry; its citations remain.
    stage.undo(&[proposed]).unwrap();
    let entry = stage.entry(id);
    assert_eq!(entry.retracted.unwrap().reason, RetractReason::Withdrawn);
    assert_eq!(entry.citations.len(), 2);
}

#[test]
fn citing_the_same_twice_changes_nothing() {
    let (stage, id) = add_lesson();
    let again = decide::cite(&stage.entry(id), citation("commit:3fce3b5"));
    assert_eq!(again, Err(Refusal::NothingChanges));
}

#[test]
fn a_merge_names_everything_it_absorbed() {
    let mut stage = TestLedger::new();
    let [target, one, two] = ["Retry on 503", "Retry on 503 errors", "503: retry"]
        .map(|s| stage.add(EntryKind::Learning, s));
    let before = stage.entry(one);
    for source in [one, two] {
        let body = EventBody::Merged(Merged {
            target,
            sources: vec![source],
            strategy: MergeStrategy::KeepTarget,
            changes: ContentChanges::default(),
            replaces: stage.entry(target).revision,
            origin: None,
        });
        let about = vec![target.into(), source.into()];
        stage.write(Draft { about, body });
    }
    let merged = stage.entry(target);
    assert_eq!(merged.merged_from, [one, two].into());
    assert_eq!(merged.content.unwrap().statement.as_str(), "Retry on 503");
    let absorbed = stage.entry(one);
    assert_eq!(absorbed.merged_into, Some(target));
    assert_eq!(absorbed.citations, before.citations);
    assert!(!absorbed.citations.is_empty());
    assert_eq!(absorbed.status, before.status, "not rejected");
    assert!(!absorbed.is_live() && absorbed.content.is_some());
}

#[test]
fn the_lines_alone_give_the_state_back() {
    let (mut stage, id) = add_lesson();
    let effect = json!({
        "entry": id, "alpha_milli": 1500, "beta_milli": 0, "shown": 2, "blind": 1,
    });
    let body = RunEffects {
        run: "run-1".to_owned(),
        effects: vec![serde_json::from_value(effect).unwrap()],
    };
    stage.about(id, EventBody::RunEffects(body));
    let before = fold_state(&stage);
    let mut replayed = EventSet::default();
    for event in stage.events.iter().rev() {
        let line = RecordedEvent::new(event.clone()).line().to_owned();
        replayed.add(RecordedEvent::parse(line.as_bytes()).unwrap());
    }
    let after = replayed.fold();
    assert_eq!(after.to_canonical_json(), before.to_canonical_json());
    assert_eq!(after.hash(), before.hash());
    let tallies = &after.entries[&id].tallies;
    assert_eq!((tallies.shown, tallies.blind), (2, 1));
    assert_eq!(tallies.days.values().next().unwrap().alpha_milli, 1500);
}

/// Closing a run touches hundreds of entries; refolding each of them would be slow.
#[test]
fn an_entry_takes_in_what_only_adds_up_and_nothing_else() {
    let (mut stage, id) = add_lesson();
    let other = stage.add(EntryKind::Learning, "The queue drains before a deploy.");
    // Without a chance of rediscovery: those are kept in order, so an earlier one refolds.
    let effects = |entries: &[EntryId]| {
        let effect = |id: &EntryId| json!({"entry": id, "alpha_milli": 1500, "beta_milli": 0, "shown": 2, "blind": 0});
        let effects = entries
            .iter()
            .map(|id| serde_json::from_value(effect(id)).unwrap());
        EventBody::RunEffects(RunEffects {
            run: "run-1".to_owned(),
            effects: effects.collect(),
        })
    };
    let draft = |entries: &[EntryId]| Draft {
        about: entries.iter().map(|id| (*id).into()).collect(),
        body: effects(entries),
    };
    let before = stage.entry(id);
    let alone = stage.write(draft(&[id]));
    let first = stage.write(draft(&[id, other]));
    stage.later("2026-11-20T10:00:00Z");
    let second = stage.write(draft(&[id, other]));
    let own = stage.fresh();
    let held = stage.write_as(own, draft(&[id]), AdmissionVerdict::Quarantined);
    let unheard_of = Event {
        unknown_fields: 1,
        ..stage.event(alone)
    };
    let [alone, first, second, held] = [alone, first, second, held].map(|id| stage.event(id));
    let takes = |taken: &[&Event]| {
        let mut entry = before.clone();
        let took: Vec<bool> = taken
            .iter()
            .map(|event| entry.try_add_event(event))
            .collect();
        took
    };
    assert_eq!(takes(&[&alone, &first, &second]), [true, true, true]);
    let yes_no = [true, false];
    assert_eq!(takes(&[&second, &first]), yes_no, "days must come in order");
    assert_eq!(takes(&[&second, &alone]), [true, true], "but of pairs only");
    assert_eq!(takes(&[&alone, &held]), yes_no, "it is not believed yet");
    assert_eq!(takes(&[&alone, &unheard_of]), yes_no, "it may say more");
    let confirmed = stage.found(id, Provenance::Independent, "2026-11-20");
    assert_eq!(takes(&[&alone, &stage.event(confirmed)]), yes_no);
}

#[test]
fn the_event_types_form_a_closed_set() {
    let design = "entry.proposed entry.revised entry.cited entry.confirmed entry.status_changed \
        entry.scope_changed entry.archived entry.restored entry.retracted entry.merged \
        entry.superseded entry.linked entry.reanchored quarantine.lifted overlay.set \
        pair.dismissed contradiction.flagged contradiction.resolved run.closed run.effects \
        feedback.given retrieval.missed friction.recorded approval.granted origin.revoked \
        config.changed confidence.reset event.blanked knowledge.distilled peer.trust_changed \
        forage.requested forage.completed domain.strategy_changed domain.overridden \
        handoff.written handoff.taken run.observed";
    assert_eq!(EVENT_TYPES.join(" "), design);
}

#[test]
fn operator_marks_are_events_and_leave_truth_alone() {
    let (mut stage, id) = add_lesson();
    let before = stage.entry(id);
    let draft = decide::set_annotation(&before, Overlay::Pin, Switch::On, None).unwrap();
    let pin = stage.write(draft);
    let pinned = stage.entry(id);
    assert_eq!(pinned.overlays[&Overlay::Pin].heads, [pin]);
    assert_eq!(pinned.confirmation, before.confirmation);
    assert_eq!(pinned.status, before.status);
    let again = decide::set_annotation(&pinned, Overlay::Pin, Switch::On, None);
    assert_eq!(again, Err(Refusal::NothingChanges));
    stage.undo(&[pin]).unwrap();
    let mark = stage.entry(id).overlays[&Overlay::Pin].state;
    assert_eq!(mark, Switch::Off);
}

#[test]
fn marks_are_replayed_and_never_touch_what_is_believed() {
    let (mut stage, id) = add_lesson();
    let today = "2026-11-15".parse().unwrap();
    let believed = |entry: &Entry| entry.posterior(Validity::Unverifiable, today);
    let effect = json!({
        "entry": id, "alpha_milli": 1500, "beta_milli": 0, "shown": 1, "blind": 0,
    });
    let body = RunEffects {
        run: "run-1".to_owned(),
        effects: vec![serde_json::from_value(effect).unwrap()],
    };
    stage.about(id, EventBody::RunEffects(body));
    assert!(believed(&stage.entry(id)).alpha > 6.0, "there is evidence");
    let before = stage.entry(id);
    for overlay in [
        Overlay::Pin,
        Overlay::Mute,
        Overlay::Invalidate,
        Overlay::Annotate,
    ] {
        let entry = stage.entry(id);
        let draft = decide::set_annotation(&entry, overlay, Switch::On, None).unwrap();
        assert!(matches!(draft.body, EventBody::OverlaySet(_)));
        stage.write(draft);
        let marked = stage.entry(id);
        assert!(marked.has_annotation(overlay));
        assert_eq!(marked.tallies, before.tallies);
        assert_eq!(believed(&marked), believed(&before));
    }
}

#[test]
fn configuration_is_an_event() {
    let mut stage = TestLedger::new();
    let mut replaces: Vec<EventId> = Vec::new();
    for runs in [10, 25] {
        let body = EventBody::ConfigChanged(ConfigChanged {
            key: "decay/runs".parse().unwrap(),
            value: json!(runs),
            replaces,
        });
        let about = vec![EventSubject::Other("config".to_owned())];
        replaces = vec![stage.write(Draft { about, body })];
    }
    let setting = &fold_state(&stage).workspace.settings["config/decay/runs"];
    assert_eq!(setting.value, json!(25));
    assert_eq!(setting.heads, replaces);
}

#[test]
fn every_own_change_can_be_taken_back() {
    let (mut stage, id) = add_lesson();
    let other = stage.add(EntryKind::Learning, "Back off");
    let changes = ContentChanges {
        statement: Some("Never retry".parse().unwrap()),
        ..ContentChanges::default()
    };
    let entry = stage.entry(id);
    let drafts = [
        decide::edit(&entry, changes, None, Channel::Command, None),
        decide::set_status(&entry, EntryStatus::Verified, &ada(), None),
        decide::confirm(&entry, &ada(), "2027-01-01".parse().unwrap()),
        decide::link(&entry, &stage.entry(other), Relation::Refines),
        decide::archive(&entry, ArchiveReason::Manual),
        decide::retract(&entry, RetractReason::False, Channel::Command, None),
    ];
    for draft in drafts {
        let before = stage.entry(id);
        let event = stage.write(draft.unwrap());
        let name = stage.event(event).body.type_name().to_owned();
        let done = stage.entry(id);
        let undone = stage.undo(&[event]).unwrap();
        assert_same(&stage.entry(id), &before, &name);
        // Undoing the undo is a redo.
        let redone = stage.undo(&undone).unwrap();
        assert_same(&stage.entry(id), &done, &name);
        stage.undo(&redone).unwrap();
        assert_same(&stage.entry(id), &before, &name);
    }
}

fn assert_same(one: &Entry, other: &Entry, name: &str) {
    let links = |entry: &Entry| entry.links.iter().map(|it| it.to).collect::<Vec<_>>();
    assert_eq!(one.content, other.content, "{name}");
    assert_eq!(one.concurrent, other.concurrent, "{name}");
    assert_eq!(one.status.value, other.status.value, "{name}");
    assert_eq!(one.confirmation.last, other.confirmation.last, "{name}");
    assert_eq!(one.confirmation.manual, other.confirmation.manual, "{name}");
    assert_eq!(links(one), links(other), "{name}");
    assert_eq!(one.merged_from, other.merged_from, "{name}");
    assert_eq!(one.merged_into, other.merged_into, "{name}");
    assert_eq!(one.superseded_by, other.superseded_by, "{name}");
    assert_eq!(one.is_live(), other.is_live(), "{name}");
}

#[test]
fn undoing_step_after_step_leads_back_to_the_first_version() {
    let (mut stage, id) = add_lesson();
    let mut versions = vec![stage.entry(id)];
    let mut steps = Vec::new();
    for (statement, status) in [("B", EntryStatus::Active), ("C", EntryStatus::Stale)] {
        let changes = ContentChanges {
            statement: Some(statement.parse().unwrap()),
            ..ContentChanges::default()
        };
        let draft = decide::edit(&stage.entry(id), changes, None, Channel::Command, None);
        let edited = stage.write(draft.unwrap());
        let draft = decide::set_status(&stage.entry(id), status, &ada(), None);
        let changed = stage.write(draft.unwrap());
        steps.push(vec![edited, changed]);
        versions.push(stage.entry(id));
    }
    let mut undone = Vec::new();
    for (step, before) in steps.iter().zip(&versions).rev() {
        undone.push(stage.undo(step).unwrap());
        assert_same(&stage.entry(id), before, "undo");
    }
    for (step, after) in undone.iter().rev().zip(&versions[1..]) {
        stage.undo(step).unwrap();
        assert_same(&stage.entry(id), after, "redo");
    }
}

#[test]
fn an_undo_leaves_fields_that_were_edited_since() {
    let (mut stage, id) = add_lesson();
    let edit = |stage: &TestLedger, changes| {
        decide::edit(&stage.entry(id), changes, None, Channel::Command, None).unwrap()
    };
    let both = ContentChanges {
        statement: Some("B".parse().unwrap()),
        tags: Some(["b".parse().unwrap()].into()),
        ..ContentChanges::default()
    };
    let step = stage.write(edit(&stage, both));
    let later = ContentChanges {
        statement: Some("C".parse().unwrap()),
        ..ContentChanges::default()
    };
    stage.write(edit(&stage, later));
    stage.undo(&[step]).unwrap();
    let content = stage.entry(id).content.unwrap();
    assert_eq!(content.statement.as_str(), "C");
    assert!(content.tags.is_empty());
}

#[test]
fn merge_supersede_and_resolve_can_be_undone_and_redone() {
    let mut stage = TestLedger::new();
    let [target, one, two] = ["Retry on 503", "503: retry", "Never retry on 503"]
        .map(|s| stage.add(EntryKind::Learning, s));
    let entries = |stage: &TestLedger| [target, one, two].map(|id| stage.entry(id));
    let workspace = fold_state(&stage).workspace;
    let chosen = MergeWording::Chosen("Retry on 503, once".parse().unwrap());
    let merge = decide::merge(&stage.entry(target), &[stage.entry(one)], chosen);
    let (a, b) = (stage.entry(target), stage.entry(two));
    let keep = decide::ContradictionResolution::Keep(target);
    let by = "human:ann".parse().unwrap();
    let resolve = decide::resolve_contradiction(&a, &b, keep, &workspace, &by).unwrap();
    let steps = [
        vec![merge.unwrap()],
        vec![decide::supersede(&a, &b).unwrap()],
        resolve,
    ];
    for drafts in steps {
        let name = drafts[0].body.type_name().to_owned();
        let before = (entries(&stage), fold_state(&stage).workspace);
        let step: Vec<EventId> = drafts.into_iter().map(|it| stage.write(it)).collect();
        let done = (entries(&stage), fold_state(&stage).workspace);
        assert_ne!(before, done, "{name}");
        let undone = stage.undo(&step).unwrap();
        let redone = stage.undo(&undone);
        let redo_state = (entries(&stage), fold_state(&stage).workspace);
        for (now, then) in redo_state.0.iter().zip(&done.0) {
            assert_same(now, then, &name);
        }
        assert_eq!(redo_state.1, done.1, "{name}");
        stage.undo(&redone.unwrap()).unwrap();
        for (now, then) in entries(&stage).iter().zip(&before.0) {
            assert_same(now, then, &name);
        }
        assert_eq!(fold_state(&stage).workspace, before.1, "{name}");
    }
}

#[test]
fn one_source_of_a_merge_can_be_restored_alone() {
    let mut stage = TestLedger::new();
    let [target, one, two] =
        ["Retry on 503", "503: retry", "On 503, retry"].map(|s| stage.add(EntryKind::Learning, s));
    let sources = [stage.entry(one), stage.entry(two)];
    stage.write(decide::merge(&stage.entry(target), &sources, MergeWording::Target).unwrap());
    let draft = decide::restore(&stage.entry(one), &stage.events, None).unwrap();
    stage.write(draft);
    assert!(stage.entry(one).is_live());
    assert_eq!(stage.entry(two).merged_into, Some(target));
    assert_eq!(stage.entry(target).merged_from, [two].into());
    let again = decide::restore(&stage.entry(one), &stage.events, None);
    assert_eq!(again, Err(Refusal::NothingToRestore(one)));
}

#[test]
fn a_restoration_of_one_entry_undoes_no_decision_about_a_pair() {
    let (mut stage, one) = add_lesson();
    let other = stage.add(EntryKind::Learning, "Never retry");
    let workspace = fold_state(&stage).workspace;
    let (a, b) = (stage.entry(one), stage.entry(other));
    let draft = decide::dismiss_pair(&a, &b, PairKind::Duplicate, &workspace).unwrap();
    let dismissal = stage.write(draft);
    for (about, dismissed) in [(vec![one.into()], 1), (vec![one.into(), other.into()], 0)] {
        let undoes = vec![dismissal];
        let body = EventBody::Restored(Restored {
            undoes,
            reason: None,
        });
        stage.write(Draft { about, body });
        assert_eq!(fold_state(&stage).workspace.dismissed.len(), dismissed);
    }
}

fn ada() -> ken_core::values::actor::Actor {
    "human:ada".parse().unwrap()
}

#[test]
fn agents_can_neither_blank_nor_lift_nor_verify() {
    let (mut stage, id) = add_lesson();
    stage.by("agent:codex");
    let agent = "agent:codex".parse().unwrap();
    let secret = RecordedEvent::new(stage.events[0].clone());
    let target = secret.event.id;
    let refused = |result: Result<Draft, Refusal>| {
        assert!(matches!(result, Err(Refusal::PersonNeeded { .. })));
    };
    refused(decide::redact(&secret, &agent, BlankReason::Secret));
    refused(decide::set_status(
        &stage.entry(id),
        EntryStatus::Verified,
        &agent,
        None,
    ));
    // Even when appended past `decide`, the agent's event has no effect.
    let reason = BlankReason::Secret;
    let order = |event| EventBody::EventBlanked(EventBlanked { event, reason });
    stage.about(id, order(target));
    assert!(fold_state(&stage).entries[&id].content.is_some());
    stage.by("ci:main");
    stage.about(id, order(target));
    assert!(fold_state(&stage).entries[&id].content.is_none());
}

#[test]
fn a_quarantine_is_lifted_by_a_person_and_gives_the_old_status_back() {
    let mut stage = TestLedger::new();
    let it = proposal(EntryKind::Learning, "Retry on 503");
    let id = EventId::new("2026-11-14T10:00:00Z".parse().unwrap(), 99);
    let entry = EntryId::created_by(id, it.kind);
    let draft = decide::propose(id, it).unwrap();
    stage.write_as(id, draft, AdmissionVerdict::Quarantined);
    assert!(!stage.entry(entry).is_live());
    let lifted = |lifts| {
        let reason = "looked at it".parse().unwrap();
        EventBody::QuarantineLifted(QuarantineLifted { lifts, reason })
    };
    stage.by("agent:codex");
    stage.about(entry, lifted(vec![id]));
    assert_eq!(stage.entry(entry).quarantine, [id]);
    stage.by("human:ada");
    let reason = "looked at it".parse().unwrap();
    let draft = decide::release_quarantine(&stage.entry(entry), &ada(), reason).unwrap();
    stage.write(draft);
    let free = stage.entry(entry);
    assert!(free.is_live());
    assert_eq!(free.status.value, EntryStatus::Candidate);
}

#[test]
fn a_revision_beats_the_wording_from_2099_it_was_based_on() {
    let (mut stage, id) = add_lesson();
    let say = |text: &str| ContentChanges {
        statement: Some(text.parse().unwrap()),
        ..ContentChanges::default()
    };
    stage.later("2099-01-01T00:00:00Z");
    let draft = decide::edit(
        &stage.entry(id),
        say("From 2099"),
        None,
        Channel::Command,
        None,
    );
    stage.write(draft.unwrap());
    stage.later("2026-11-15T00:00:00Z");
    let draft = decide::edit(
        &stage.entry(id),
        say("From today"),
        None,
        Channel::Command,
        None,
    );
    let event = stage.write(draft.unwrap());
    let entry = stage.entry(id);
    assert_eq!(entry.content.unwrap().statement.as_str(), "From today");
    assert_eq!(entry.revision, [event]);
    assert!(entry.concurrent.is_empty());
}

#[test]
fn what_a_newer_build_wrote_makes_the_entry_read_only() {
    let (mut stage, id) = add_lesson();
    let body = EventBody::StatusChanged(StatusChanged {
        to: EntryStatus::Active,
        replaces: Vec::new(),
        reason: None,
    });
    stage.about(id, body);
    let last = stage.events.len() - 1;
    stage.events[last].unknown_fields = 1;
    let entry = stage.entry(id);
    assert_eq!(entry.history.unknown, 1);
    assert_eq!(
        decide::archive(&entry, ArchiveReason::Manual),
        Err(Refusal::ReadOnly(id))
    );
}

#[test]
fn whoever_saw_a_revision_saw_what_it_rests_on_and_nothing_later() {
    let (mut stage, id) = add_lesson();
    let mut revise = |changes: ContentChanges| {
        let draft = decide::edit(&stage.entry(id), changes, None, Channel::Command, None);
        stage.write(draft.unwrap())
    };
    let first = revise(ContentChanges {
        lens: Some(Some("security".parse().unwrap())),
        ..ContentChanges::default()
    });
    let second = revise(ContentChanges {
        statement: Some("Worded anew".parse().unwrap()),
        ..ContentChanges::default()
    });
    let seen = |revision| fold_entry_at(id, &[revision], &stage.events).unwrap();
    let (before, after) = (seen(first), seen(second));
    assert_eq!(before.revision, [first]);
    assert_ne!(before.content.unwrap().statement.as_str(), "Worded anew");
    assert_eq!(after, stage.entry(id));
    assert!(after.content.unwrap().lens.is_some());
}
