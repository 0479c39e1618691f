//! Runs at a hub: exposures are recorded, and closing decides the same as the core on the same
//! notes.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Arm, Outcome, Provenance};
use ken_core::trust::facts::Validity;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::closed::entries_with_same_claim;
use ken_core::trust::run::closing::{RunEnding, TouchedEntry, close_run};
use ken_core::trust::run::exposure::ExposureSet;
use ken_core::trust::run::{ExposureChannel, Run, RunFinding, RunMember, RunNote, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::kind::EntryKind;
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Timestamp;
use ken_hub::ids::Role;
use ken_hub::service::{self, BriefingRequest, ObservedFinding, OpenRunRequest, ServiceError};

use crate::environment::{ServiceTestEnvironment, agent_reader, recording};

const STATEMENT: &str = "The payment gateway answers twice after a timeout";

fn run_ending(outcome: Outcome) -> RunEnding {
    RunEnding {
        outcome,
        quality_milli: Some(800),
        rounds: 2,
        cost_micros: 7,
        strategy: None,
    }
}

fn run_members(names: &[&str]) -> Vec<(Actor, RunMember)> {
    let member = |name: &&str| (name.parse().unwrap(), RunMember::default());
    names.iter().map(member).collect()
}

fn open_orchestrated_run(place: &ServiceTestEnvironment, id: &str, names: &[&str]) -> Run {
    let wish = OpenRunRequest {
        id: Some(id.to_owned()),
        agents: run_members(names),
        witness: RunWitness::Orchestrator,
        ..OpenRunRequest::default()
    };
    let orchestrator = place.caller(Role::Agent, "agent:orchestrator");
    place
        .act(&orchestrator, async |desk| {
            service::load_open_run(desk, wish).await
        })
        .unwrap()
}

fn finding(statement: &str) -> RunFinding {
    RunFinding {
        statement: statement.parse().unwrap(),
        anchors: Vec::new(),
        verify: Vec::new(),
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    }
}

fn observe_finding(place: &ServiceTestEnvironment, name: &str, run: &str, statement: &str) -> Run {
    let it = ObservedFinding {
        reader: agent_reader(name, run),
        finding: finding(statement),
    };
    let caller = place.caller(Role::Agent, name);
    place
        .act(&caller, async |desk| {
            service::record_finding(desk, it).await
        })
        .unwrap()
}

#[test]
fn what_two_agents_found_unseen_becomes_an_entry_and_closing_twice_writes_once() {
    let place = ServiceTestEnvironment::new();
    open_orchestrated_run(&place, "R-1", &["agent:a", "agent:b"]);
    observe_finding(&place, "agent:a", "R-1", STATEMENT);
    observe_finding(
        &place,
        "agent:b",
        "R-1",
        "After a timeout the payment gateway answers twice",
    );
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let ended = run_ending(Outcome::Succeeded);
    let closed = place
        .act(&by, async |desk| {
            service::close_run(desk, "R-1", &ended).await
        })
        .unwrap();
    assert_eq!(closed.gained.len(), 1, "{:?}", closed.refused);
    let id = closed.gained[0].to_string();
    let ada = place.ada();
    let told = place
        .act(&ada, async |desk| {
            service::show_entry(desk, &agent_reader("human:ada@example.org", "R-x"), &id).await
        })
        .unwrap();
    assert_eq!(told.entry.kind(), Some(EntryKind::Pattern));
    assert_eq!(told.entry.status.value, EntryStatus::Active);
    assert_eq!(told.entry.confirmation.independent, 1);
    let written = (place.events("run.closed"), place.events("entry.proposed"));
    assert_eq!(written, (1, 1));
    let again = place.act(&by, async |desk| {
        service::close_run(desk, "R-1", &ended).await
    });
    assert!(
        matches!(again, Err(ServiceError::NotFound { .. })),
        "{again:?}"
    );
    let after = (place.events("run.closed"), place.events("entry.proposed"));
    assert_eq!(after, written, "closing twice writes once");
}

/// Returns the entries a run touched: `agent:b` found `known` again, `other` was only shown.
fn touched_entries(run: &Run, known: &Entry, other: Entry) -> Vec<TouchedEntry> {
    let found = BTreeSet::from(["agent:b".parse().unwrap()]);
    let mut all = vec![(known.clone(), found), (other, BTreeSet::new())];
    all.sort_by_key(|(entry, _)| entry.id);
    let touched = all.into_iter().map(|(entry, found_by)| TouchedEntry {
        same: entries_with_same_claim(run, &entry),
        validity: Validity::Unverifiable,
        found_by,
        authors: BTreeSet::from(["agent:bot".parse().unwrap()]),
        entry,
    });
    touched.collect()
}

#[test]
fn closing_decides_what_the_core_decides_on_the_same_notes() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    let known = place.add(&bot, EntryKind::Learning, STATEMENT);
    let other = place.add(
        &bot,
        EntryKind::Learning,
        "Queues are drained before a deployment begins",
    );
    place.later(1_000);
    open_orchestrated_run(&place, "R-2", &["agent:a", "agent:b"]);
    let by = place.caller(Role::Agent, "agent:orchestrator");
    for note in [
        RunNote::Shown {
            agent: "agent:a".parse().unwrap(),
            entries: vec![other.id],
            how: ExposureChannel::Push,
        },
        RunNote::Used {
            agent: "agent:a".parse().unwrap(),
            entries: vec![other.id],
        },
    ] {
        place
            .act(&by, async |desk| {
                service::record_note(desk, "R-2", note).await
            })
            .unwrap();
    }
    // One agent finds the claim again without exposure.
    let run = observe_finding(&place, "agent:b", "R-2", STATEMENT);
    let ended = run_ending(Outcome::Succeeded);
    let touched = touched_entries(&run, &known, other);
    let now = place.house.clock.now();
    let policy = ReviewPolicy::default();
    let mut expected = close_run(
        &run,
        &ended,
        &touched,
        &|_| ExposureSet::default(),
        policy,
        now,
    );
    // The run of an agent confirms entries, but verifies none.
    expected.promoted.clear();
    let closed = place
        .act(&by, async |desk| {
            service::close_run(desk, "R-2", &ended).await
        })
        .unwrap();
    assert_eq!(closed.closing, expected);
    let found = BTreeMap::from([(known.id, Provenance::Independent)]);
    assert_eq!(closed.closing.found, found);
    let told = place
        .act(&place.ada(), async |desk| {
            service::show_entry(
                desk,
                &agent_reader("human:ada@example.org", "R-x"),
                &known.id.to_string(),
            )
            .await
        })
        .unwrap();
    assert_eq!(
        (told.entry.confirmation.independent, told.entry.status.value),
        (1, EntryStatus::Candidate),
        "found by one who had not seen it"
    );
    assert_eq!(told.entry.confirmation.independent, 1);
}

#[test]
fn who_was_shown_an_entry_at_the_hub_confirms_nothing() {
    let place = ServiceTestEnvironment::new();
    let known = place.add(&place.bot(), EntryKind::Learning, STATEMENT);
    open_orchestrated_run(&place, "R-3", &["agent:a", "agent:b"]);
    let a = place.caller(Role::Agent, "agent:a");
    place
        .act(&a, async |desk| {
            service::show_entry(desk, &agent_reader("agent:a", "R-3"), &known.id.to_string()).await
        })
        .unwrap();
    observe_finding(&place, "agent:a", "R-3", STATEMENT);
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let ended = run_ending(Outcome::Succeeded);
    let closed = place
        .act(&by, async |desk| {
            service::close_run(desk, "R-3", &ended).await
        })
        .unwrap();
    assert_eq!(
        closed.closing.found,
        BTreeMap::from([(known.id, Provenance::Primed)])
    );
}

#[test]
fn what_somebody_read_outside_any_run_is_remembered_against_it() {
    let place = ServiceTestEnvironment::new();
    let known = place.add(&place.bot(), EntryKind::Learning, STATEMENT);
    let a = place.caller(Role::Agent, "agent:a");
    let reader = crate::environment::reader(&a, None);
    place
        .act(&a, async |desk| {
            service::show_entry(desk, &reader, &known.id.to_string()).await
        })
        .unwrap();
    open_orchestrated_run(&place, "R-4", &["agent:a", "agent:b"]);
    observe_finding(&place, "agent:a", "R-4", STATEMENT);
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let ended = run_ending(Outcome::Succeeded);
    let closed = place
        .act(&by, async |desk| {
            service::close_run(desk, "R-4", &ended).await
        })
        .unwrap();
    assert_eq!(
        closed.closing.found,
        BTreeMap::from([(known.id, Provenance::Primed)])
    );
}

#[test]
fn what_a_session_saw_is_remembered_after_its_run_ended() {
    let place = ServiceTestEnvironment::new();
    let known = place.add(&place.bot(), EntryKind::Learning, STATEMENT);
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let ended = run_ending(Outcome::Succeeded);
    for id in ["R-5", "R-6"] {
        let member = RunMember {
            session: Some("s-1".to_owned()),
            ..RunMember::default()
        };
        let wish = OpenRunRequest {
            id: Some(id.to_owned()),
            agents: vec![("agent:a".parse().unwrap(), member)],
            witness: RunWitness::Orchestrator,
            ..OpenRunRequest::default()
        };
        place
            .act(&by, async |desk| service::load_open_run(desk, wish).await)
            .unwrap();
        let a = place.caller(Role::Agent, "agent:a");
        let reader = agent_reader("agent:a", id);
        match id {
            "R-5" => drop(
                place
                    .act(&a, async |desk| {
                        service::show_entry(desk, &reader, &known.id.to_string()).await
                    })
                    .unwrap(),
            ),
            _ => drop(observe_finding(&place, "agent:a", id, STATEMENT)),
        }
        let closed = place
            .act(&by, async |desk| service::close_run(desk, id, &ended).await)
            .unwrap();
        if id == "R-6" {
            assert_eq!(
                closed.closing.found,
                BTreeMap::from([(known.id, Provenance::Primed)])
            );
        }
    }
}

#[test]
fn dec_chance_keeps_entries_from_some_agents_of_a_run_and_it_is_written_down() {
    let place = ServiceTestEnvironment::new();
    let bot = place.bot();
    let entry = place.add(&bot, EntryKind::Learning, STATEMENT);
    let names = ["agent:a", "agent:b", "agent:c"];
    open_orchestrated_run(&place, "R-7", &names);
    let mut arms = Vec::new();
    for name in names {
        let caller = place.caller(Role::Agent, name);
        let briefing = BriefingRequest {
            reader: agent_reader(name, "R-7"),
            task: STATEMENT.to_owned(),
            paths: Vec::new(),
            role: None,
        };
        let briefed = place
            .act(&caller, async |desk| service::brief(desk, briefing).await)
            .unwrap();
        let shown = briefed.entries.shown.iter().any(|it| it.id == entry.id);
        let run = place
            .act(&caller, async |desk| {
                service::get_open_run(desk, "R-7").await
            })
            .unwrap();
        let member = &run.agents[&name.parse::<Actor>().unwrap()];
        let offer = member.offers[&entry.id];
        assert_eq!(offer.arm == Arm::Shown, shown, "{name}");
        assert_eq!(member.shown.contains_key(&entry.id), shown, "{name}");
        arms.push(offer.arm);
    }
    assert!(
        arms.contains(&Arm::Withheld),
        "of several, one never sees it"
    );
    assert!(arms.contains(&Arm::Shown));
}

#[test]
fn who_reads_without_end_is_taken_to_have_seen_everything() {
    let place = ServiceTestEnvironment::new();
    let known = place.add(&place.bot(), EntryKind::Learning, STATEMENT);
    let a = place.caller(Role::Agent, "agent:a");
    let reader = crate::environment::reader(&a, None);
    let id = known.id.to_string();
    place
        .act(&a, async |desk| {
            for _ in 0..1_001 {
                service::show_entry(desk, &reader, &id).await?;
            }
            Ok(())
        })
        .unwrap();
    let notes = format!(
        "set ken.workspace = '{}'; select count(*) from ken.run_notes",
        place.workspace.0
    );
    let left = place.bare.sql(&notes);
    let left: usize = left.trim().lines().last().unwrap().parse().unwrap();
    assert!(left < 10, "{left} notes are left");
    open_orchestrated_run(&place, "R-9e", &["agent:a", "agent:b"]);
    observe_finding(&place, "agent:a", "R-9e", STATEMENT);
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let ended = run_ending(Outcome::Succeeded);
    let closed = place
        .act(&by, async |desk| {
            service::close_run(desk, "R-9e", &ended).await
        })
        .unwrap();
    assert_eq!(
        closed.closing.found,
        BTreeMap::from([(known.id, Provenance::Primed)])
    );
}

#[test]
fn a_secret_gets_into_no_note() {
    let place = ServiceTestEnvironment::new();
    open_orchestrated_run(&place, "R-8", &["agent:a"]);
    let token = ["ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    let it = ObservedFinding {
        reader: agent_reader("agent:a", "R-8"),
        finding: finding(&format!("The deploy uses {token} everywhere")),
    };
    let a = place.caller(Role::Agent, "agent:a");
    let refused = place.act(&a, async |desk| service::record_finding(desk, it).await);
    assert!(
        matches!(refused, Err(ServiceError::GuardRejected(_))),
        "{refused:?}"
    );
    let kept = format!(
        "set ken.workspace = '{}'; select count(*) from ken.run_notes where note like '%ghp%'",
        place.workspace.0
    );
    assert_eq!(place.bare.sql(&kept).trim().lines().last(), Some("0"));
}

#[test]
fn runs_nobody_closed_are_closed_when_another_is_opened() {
    let place = ServiceTestEnvironment::new();
    open_orchestrated_run(&place, "R-old", &["agent:a"]);
    place.later(25 * 60 * 60 * 1000);
    open_orchestrated_run(&place, "R-new", &["agent:a"]);
    let ada = place.ada();
    let ids: Vec<String> = place
        .act(&ada, async |desk| service::list_open_runs(desk).await)
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(ids, ["R-new"]);
    let past = place
        .act(&ada, async |desk| service::list_past_runs(desk).await)
        .unwrap();
    assert_eq!(past[0].closed.outcome, Outcome::Abandoned);
}

#[test]
fn a_run_is_as_old_as_the_hubs_one_clock_says() {
    let place = ServiceTestEnvironment::new();
    // A test clock far behind the machine's: rows stamped by the machine would never expire.
    let past = Timestamp::from_millis(1_000_000_000_000);
    place.house.clock.set(past);
    open_orchestrated_run(&place, "R-old", &["agent:a"]);
    place.later(25 * 60 * 60 * 1000);
    open_orchestrated_run(&place, "R-new", &["agent:a"]);
    let open = place
        .act(&place.ada(), async |desk| {
            service::list_open_runs(desk).await
        })
        .unwrap();
    let ids: Vec<&str> = open.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["R-new"]);
    let opened = format!(
        "set ken.workspace = '{}'; select min(opened_at) from ken.runs",
        place.workspace.0
    );
    let opened = place.bare.sql(&opened);
    // The old row was deleted with its run.
    assert_eq!(opened.trim().lines().last(), Some("1000090000000"));
}

#[test]
fn a_finding_that_is_known_is_noted_and_names_no_entry_the_agent_had_not_seen() {
    let place = ServiceTestEnvironment::new();
    let known = place.add(&place.bot(), EntryKind::Learning, STATEMENT);
    open_orchestrated_run(&place, "R-9", &["agent:a"]);
    let a = place.caller(Role::Agent, "agent:a");
    let it = recording(
        agent_reader("agent:a", "R-9"),
        EntryKind::Learning,
        STATEMENT,
    );
    let noted = place
        .act(&a, async |desk| service::add_entry(desk, it).await)
        .unwrap();
    assert!(
        matches!(noted, service::RecordOutcome::Noted(None)),
        "{noted:?}"
    );
    place
        .act(&a, async |desk| {
            service::show_entry(desk, &agent_reader("agent:a", "R-9"), &known.id.to_string()).await
        })
        .unwrap();
    let it = recording(
        agent_reader("agent:a", "R-9"),
        EntryKind::Learning,
        STATEMENT,
    );
    let noted = place
        .act(&a, async |desk| service::add_entry(desk, it).await)
        .unwrap();
    assert!(
        matches!(noted, service::RecordOutcome::Noted(Some(id)) if id == known.id),
        "{noted:?}"
    );
}

#[test]
fn a_finding_in_other_forms_of_the_same_words_is_known() {
    let place = ServiceTestEnvironment::new();
    let known = place.add(
        &place.bot(),
        EntryKind::Learning,
        "Retrying payments twice charges customers twice",
    );
    open_orchestrated_run(&place, "R-10", &["agent:a"]);
    let run = observe_finding(
        &place,
        "agent:a",
        "R-10",
        "Retrying a payment twice charges the customer twice",
    );
    let found = &run.agents[&"agent:a".parse::<Actor>().unwrap()].findings[0];
    assert_eq!(found.says, BTreeSet::from([known.id]));
}

#[test]
fn a_note_that_is_too_long_is_refused() {
    let place = ServiceTestEnvironment::new();
    open_orchestrated_run(&place, "R-11", &["agent:a"]);
    let by = place.caller(Role::Agent, "agent:orchestrator");
    let many = (0..1_500).map(|n| format!("L-{n:08}").parse().unwrap());
    let note = RunNote::Used {
        agent: "agent:a".parse().unwrap(),
        entries: many.collect(),
    };
    let refused = place.act(&by, async |desk| {
        service::record_note(desk, "R-11", note).await
    });
    assert!(
        matches!(refused, Err(ServiceError::InvalidRequest(_))),
        "{refused:?}"
    );
}
