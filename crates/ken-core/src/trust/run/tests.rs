//! Provenance tests: every way in which an agent can be exposed to an entry primes it.

use super::exposure::ExposureSet;
use super::*;
use crate::ledger::event::Provenance;

const AT: &str = "2026-11-15T00:00:00Z";

fn actor(name: &str) -> Actor {
    format!("agent:{name}").parse().unwrap()
}

fn entry() -> EntryId {
    "L-00000001".parse().unwrap()
}

fn noted(note: RunNote) -> RunRecord {
    RunRecord {
        at: AT.parse().unwrap(),
        by: actor("lead"),
        note,
    }
}

fn opened(manner: RunMode, witness: RunWitness) -> RunNote {
    RunNote::Opened {
        run: "run-1".to_owned(),
        manner,
        witness,
        thread: None,
        task: None,
    }
}

fn joined(name: &str, told_by: &[&str]) -> RunNote {
    RunNote::Joined {
        agent: actor(name),
        member: RunMember {
            told_by: told_by.iter().map(|it| actor(it)).collect(),
            declared: true,
            ..RunMember::default()
        },
    }
}

/// Builds a witnessed run with two agents and further notes.
fn run(more: Vec<RunNote>) -> Run {
    let first = [
        opened(RunMode::Explicit, RunWitness::Orchestrator),
        joined("a", &[]),
        joined("b", &[]),
    ];
    Run::from_records(first.into_iter().chain(more).map(noted)).unwrap()
}

fn provenance(run: &Run, agent: &str) -> Provenance {
    run.provenance(&actor(agent), &[entry()].into(), &ExposureSet::default())
}

fn shown(agent: &str, how: ExposureChannel) -> RunNote {
    RunNote::Shown {
        agent: actor(agent),
        entries: vec![entry()],
        how,
    }
}

#[test]
fn an_agent_that_was_not_shown_the_entry_finds_it_independently() {
    assert_eq!(provenance(&run(Vec::new()), "a"), Provenance::Independent);
}

#[test]
fn however_an_agent_saw_the_entry_it_is_primed_and_the_other_is_not() {
    for how in [
        ExposureChannel::Push,
        ExposureChannel::Pull,
        ExposureChannel::Show,
        ExposureChannel::Brief,
        ExposureChannel::File,
        ExposureChannel::Told,
    ] {
        let run = run(vec![shown("a", how)]);
        assert_eq!(provenance(&run, "a"), Provenance::Primed, "{how:?}");
        assert_eq!(provenance(&run, "b"), Provenance::Independent, "{how:?}");
    }
}

#[test]
fn who_read_a_file_of_many_entries_saw_them_all() {
    let run = run(vec![RunNote::SawEverything {
        agent: actor("a"),
        how: ExposureChannel::File,
    }]);
    assert_eq!(provenance(&run, "a"), Provenance::Primed);
}

#[test]
fn a_conclusion_passed_on_is_an_exposure() {
    let said = |to: Vec<Actor>| RunNote::Said {
        agent: actor("a"),
        words: None,
        cites: vec![entry()],
        to,
    };
    let everybody = run(vec![said(Vec::new())]);
    assert_eq!(provenance(&everybody, "b"), Provenance::Primed);
    let somebody_else = run(vec![joined("c", &[]), said(vec![actor("c")])]);
    assert_eq!(provenance(&somebody_else, "b"), Provenance::Independent);
    assert_eq!(provenance(&somebody_else, "c"), Provenance::Primed);
    assert_eq!(provenance(&somebody_else, "a"), Provenance::Primed);
}

#[test]
fn a_sub_agent_has_seen_what_its_parent_saw_however_far_up() {
    let run = run(vec![
        shown("a", ExposureChannel::Pull),
        joined("child", &["a"]),
        joined("grandchild", &["child"]),
    ]);
    assert_eq!(provenance(&run, "child"), Provenance::Primed);
    assert_eq!(provenance(&run, "grandchild"), Provenance::Primed);
    // Two agents that instruct each other must not loop forever.
    let ring = Run::from_records(
        [
            opened(RunMode::Explicit, RunWitness::Hooks),
            joined("x", &["y"]),
            joined("y", &["x"]),
            shown("x", ExposureChannel::Push),
        ]
        .map(noted),
    );
    assert_eq!(provenance(&ring.unwrap(), "y"), Provenance::Primed);
}

#[test]
fn a_copy_of_the_entry_and_an_earlier_run_of_the_session_count_as_seen() {
    let copy: EntryId = "L-00000002".parse().unwrap();
    let run = run(vec![RunNote::Shown {
        agent: actor("a"),
        entries: vec![copy],
        how: ExposureChannel::Pull,
    }]);
    let same = [entry(), copy].into();
    let nothing = ExposureSet::default();
    assert_eq!(
        run.provenance(&actor("a"), &same, &nothing),
        Provenance::Primed
    );
    let before = ExposureSet {
        entries: [copy].into(),
        everything: false,
    };
    assert_eq!(
        run.provenance(&actor("b"), &same, &before),
        Provenance::Primed
    );
    assert_eq!(
        run.provenance(&actor("b"), &same, &nothing),
        Provenance::Independent
    );
}

#[test]
fn what_nobody_watched_is_unwitnessed() {
    let with = |manner, witness| {
        let notes = [opened(manner, witness), joined("a", &[])];
        provenance(&Run::from_records(notes.map(noted)).unwrap(), "a")
    };
    assert_eq!(
        with(RunMode::Explicit, RunWitness::Hooks),
        Provenance::Independent
    );
    assert_eq!(
        with(RunMode::Explicit, RunWitness::Nobody),
        Provenance::Unwitnessed
    );
    for witness in [
        RunWitness::Orchestrator,
        RunWitness::Hooks,
        RunWitness::Nobody,
    ] {
        assert_eq!(with(RunMode::Implicit, witness), Provenance::Unwitnessed);
    }
    assert_eq!(
        provenance(&run(vec![RunNote::Gap]), "a"),
        Provenance::Unwitnessed
    );
    // A second opening makes the record incomplete.
    let second = opened(RunMode::Explicit, RunWitness::Orchestrator);
    assert_eq!(provenance(&run(vec![second]), "a"), Provenance::Unwitnessed);
}

#[test]
fn an_agent_nobody_announced_is_unwitnessed_and_so_is_whom_it_tells() {
    let finding = RunFinding {
        statement: "It is so.".parse().unwrap(),
        anchors: Vec::new(),
        verify: Vec::new(),
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    };
    let observed = RunNote::Observed {
        agent: actor("stranger"),
        finding: Box::new(finding),
        says: BTreeSet::new(),
    };
    let run = run(vec![
        observed,
        joined("stranger", &[]),
        joined("child", &["stranger"]),
    ]);
    assert_eq!(provenance(&run, "stranger"), Provenance::Unwitnessed);
    assert_eq!(provenance(&run, "child"), Provenance::Unwitnessed);
    assert_eq!(provenance(&run, "nobody"), Provenance::Unwitnessed);
}

#[test]
fn nobody_is_a_witness_to_itself() {
    let notes = [
        opened(RunMode::Explicit, RunWitness::Orchestrator),
        joined("lead", &[]),
        joined("a", &[]),
    ];
    let run = Run::from_records(notes.into_iter().map(noted)).unwrap();
    assert_eq!(provenance(&run, "lead"), Provenance::Unwitnessed);
    assert_eq!(provenance(&run, "a"), Provenance::Independent);
}

#[test]
fn what_the_agent_saw_that_wrote_the_prompts_everybody_saw() {
    let run = run(vec![shown("lead", ExposureChannel::Pull)]);
    assert_eq!(provenance(&run, "a"), Provenance::Primed);
    assert_eq!(provenance(&run, "b"), Provenance::Primed);
}

#[test]
fn what_chance_decided_first_counts_and_a_later_look_is_still_seen() {
    let offer = |arm| HoldoutAssignment {
        entry: entry(),
        arm,
        propensity_milli: 100,
    };
    let pushed = |arm| RunNote::Pushed {
        agent: actor("a"),
        offers: vec![offer(arm)],
    };
    let run = run(vec![
        pushed(Arm::Withheld),
        shown("a", ExposureChannel::Pull),
        pushed(Arm::Shown),
    ]);
    let agent = &run.agents[&actor("a")];
    assert_eq!(agent.offers[&entry()].arm, Arm::Withheld);
    assert_eq!(provenance(&run, "a"), Provenance::Primed);
}

#[test]
fn notes_read_back_as_they_were_written() {
    let notes = run_notes();
    let text: Vec<String> = notes
        .iter()
        .map(|it| serde_json::to_string(it).unwrap())
        .collect();
    let read: Vec<RunRecord> = text
        .iter()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(read, notes);
}

fn run_notes() -> Vec<RunRecord> {
    let notes = [
        opened(RunMode::Explicit, RunWitness::Hooks),
        joined("a", &["b"]),
        shown("a", ExposureChannel::File),
        RunNote::Pushed {
            agent: actor("b"),
            offers: vec![HoldoutAssignment {
                entry: entry(),
                arm: Arm::Withheld,
                propensity_milli: 300,
            }],
        },
        RunNote::Ended {
            agent: actor("a"),
            outcome: Outcome::Failed,
        },
        RunNote::Gap,
    ];
    notes.map(noted).to_vec()
}

#[test]
fn what_had_no_room_was_not_seen() {
    let passed = RunNote::Passed {
        agent: actor("a"),
        entries: vec![entry()],
    };
    let run = run(vec![passed]);
    assert_eq!(provenance(&run, "a"), Provenance::Independent);
    assert!(
        run.agents[&actor("a")]
            .touched_entries()
            .any(|id| id == entry())
    );
}

#[test]
fn what_a_session_saw_reads_back_and_what_cannot_be_read_may_be_any_entry() {
    for everything in [false, true] {
        let sight = ExposureSet {
            entries: BTreeSet::from([entry(), "N-00000002".parse().unwrap()]),
            everything,
        };
        let lines = sight.to_lines();
        assert_eq!(lines.len(), 2 + usize::from(everything));
        assert_eq!(
            ExposureSet::from_lines(lines.iter().map(String::as_str)),
            sight
        );
    }
    assert_eq!(ExposureSet::from_lines([]), ExposureSet::default());
    assert!(ExposureSet::from_lines(["L-00000001", "of a newer ken"]).everything);
}

#[test]
fn a_note_reads_back_and_what_is_none_is_a_gap() {
    let note = noted(shown("a", ExposureChannel::Pull));
    let line = serde_json::to_vec(&note).unwrap();
    assert_eq!(RunRecord::parse(&line), note);
    for bad in [&line[..9], b"", b"{\"note\":\"of a newer ken\"}", b"\xff"] {
        assert_eq!(RunRecord::parse(bad).note, RunNote::Gap);
    }
}
