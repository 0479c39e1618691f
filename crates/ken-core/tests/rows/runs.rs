//! Results of runs, decided identically by repository and hub: existing claims, permission to give
//! feedback, earlier exposure, duration, authorship of findings, and the events of closing.

use std::collections::BTreeSet;

use ken_core::decide::closing_events::closing_drafts;
use ken_core::decide::{self, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    Arm, EntryEffect, Event, EventBody, EventData as _, Feedback, FrictionRecorded, HandoffTaken,
    HandoffWritten, LINE_BYTES_MAX, LineTooLong, Outcome, Provenance, RecordedEvent, RetractReason,
    RunClosed, RunEffects, TrialResult,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::trust::facts::Validity;
use ken_core::trust::handoff::{
    EXPIRES_AFTER_DAYS, HANDOFF_BYTES_MAX, HandoffError, HandoffState, POINTS_MAX, handoffs_of,
};
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::accumulation::accept_findings;
use ken_core::trust::run::closed::PastRun;
use ken_core::trust::run::closing::{
    RunClosing, RunEnding, TouchedEntry, close_run, collect_touched_entries, entry_authors,
};
use ken_core::trust::run::existing_claim::{ExistingClaim, find_existing_claim};
use ken_core::trust::run::exposure::ExposureSet;
use ken_core::trust::run::{
    AGENTS_MAX, ExposureChannel, Run, RunFinding, RunMember, RunMode, RunNote, RunRecord,
    RunWitness,
};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Note;
use ken_core::values::time::Timestamp;
use ken_testkit::build::EventWriter;

use crate::stage::TestLedger;

const CLAIM: &str = "Retries of the payment call must carry the same key";

fn actor(name: &str) -> Actor {
    name.parse().unwrap()
}

fn time_at(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + millis)
}

fn note_opened(by: &str, manner: RunMode) -> RunRecord {
    RunRecord {
        at: time_at(0),
        by: actor(by),
        note: RunNote::Opened {
            run: "run-1".to_owned(),
            manner,
            witness: RunWitness::Orchestrator,
            thread: None,
            task: None,
        },
    }
}

fn note_joined(name: &str, session: Option<&str>) -> RunNote {
    let member = RunMember {
        session: session.map(ToOwned::to_owned),
        declared: true,
        ..RunMember::default()
    };
    let agent = actor(name);
    RunNote::Joined { agent, member }
}

fn note_observed(name: &str, says: &[EntryId]) -> RunNote {
    let finding = RunFinding::new(CLAIM.parse().unwrap(), Vec::new(), Vec::new());
    RunNote::Observed {
        agent: actor(name),
        finding: Box::new(finding),
        says: says.iter().copied().collect(),
    }
}

/// Returns a run that `by` opened, with notes by the named actors.
fn run_with_notes(by: &str, notes: Vec<(&str, RunNote)>) -> Run {
    let more = notes.into_iter().map(|(by, note)| RunRecord {
        at: time_at(0),
        by: actor(by),
        note,
    });
    Run::from_records([note_opened(by, RunMode::Explicit)].into_iter().chain(more)).unwrap()
}

fn successful_ending() -> RunEnding {
    RunEnding {
        outcome: Outcome::Succeeded,
        ..RunEnding::abandoned()
    }
}

fn close_successfully(run: &Run, touched: &[TouchedEntry]) -> RunClosing {
    let policy = ReviewPolicy::default();
    close_run(
        run,
        &successful_ending(),
        touched,
        &|_| ExposureSet::default(),
        policy,
        time_at(9),
    )
}

#[test]
fn what_is_recorded_is_known_in_one_way_and_names_only_what_was_seen() {
    let mut stage = TestLedger::new();
    let [id, gone] = [0, 1].map(|_| stage.add(EntryKind::Learning, CLAIM));
    let draft = decide::retract(
        &stage.entry(gone),
        RetractReason::Withdrawn,
        ken_core::ledger::event::Channel::Command,
        None,
    );
    stage.write(draft.unwrap());
    let (entry, gone) = (stage.entry(id), stage.entry(gone));
    let own = |note: RunNote| vec![("agent:a", note_joined("agent:a", None)), ("agent:a", note)];
    let added = |who: &str| RunNote::Added {
        agent: actor(who),
        entries: vec![id],
    };
    let shown = RunNote::Shown {
        agent: actor("agent:a"),
        entries: vec![id],
        how: ExposureChannel::Pull,
    };
    let everything = RunNote::SawEverything {
        agent: actor("agent:a"),
        how: ExposureChannel::File,
    };
    let both = {
        let mut notes = own(shown.clone());
        notes.push(("agent:a", note_observed("agent:a", &[id])));
        notes
    };
    let (none, taken, says): (&[Entry], _, _) = (&[], [gone], [entry.clone()]);
    let (taken, says): (&[Entry], &[Entry]) = (&taken, &says);
    let elsewhere = |id| Some(ExistingClaim::Elsewhere(id));
    let added_claim = Some(ExistingClaim::Added(id));
    let cases = [
        ("nobody said it", own(shown.clone()), none, None),
        ("taken back", own(shown.clone()), taken, None),
        ("its own", own(added("agent:a")), says, added_claim),
        ("another's", own(added("agent:b")), says, elsewhere(None)),
        ("seen", own(shown), says, elsewhere(Some(id))),
        ("who saw everything", own(everything), says, elsewhere(None)),
        (
            "found again",
            own(note_observed("agent:a", &[id])),
            says,
            Some(ExistingClaim::Found(None)),
        ),
        (
            "another found it",
            own(note_observed("agent:b", &[id])),
            says,
            elsewhere(None),
        ),
        (
            "seen and found",
            both,
            says,
            Some(ExistingClaim::Found(Some(id))),
        ),
    ];
    for (what, notes, says, wanted) in cases {
        let run = run_with_notes("human:lead", notes);
        let told =
            find_existing_claim(Some(&run), &actor("agent:a"), &CLAIM.parse().unwrap(), says);
        assert_eq!(told, wanted, "{what}");
    }
    let outside = find_existing_claim(None, &actor("agent:a"), &CLAIM.parse().unwrap(), &[entry]);
    assert_eq!(outside, Some(ExistingClaim::Elsewhere(None)));
}

#[test]
fn who_had_an_entry_judges_it_and_people_are_believed() {
    let (id, other): (EntryId, EntryId) =
        ("L-00000001".parse().unwrap(), "L-00000002".parse().unwrap());
    let sight = |entries: &[EntryId], everything| ExposureSet {
        entries: entries.iter().copied().collect(),
        everything,
    };
    for (by, sight, may) in [
        ("agent:a", sight(&[], false), false),
        ("agent:a", sight(&[other], false), false),
        ("agent:a", sight(&[id], false), true),
        ("agent:a", sight(&[], true), true),
        ("ci:main", sight(&[], false), false),
        ("human:ada", sight(&[], false), true),
    ] {
        let by = actor(by);
        let told = decide::check_was_shown(&by, &sight, id);
        let wanted = if may {
            Ok(())
        } else {
            Err(Refusal::NotShown {
                entry: id,
                by: by.clone(),
            })
        };
        assert_eq!(told, wanted, "{by} {sight:?}");
    }
}

#[test]
fn a_verdict_is_said_once_a_run_and_a_change_of_mind_counts() {
    use Feedback::{Helpful, Unhelpful};
    let mut scribe = EventWriter::new(3);
    let (id, proposal) = scribe.propose(CLAIM);
    let entry = fold_entry(id, [&proposal.event]).unwrap();
    let mut say = |by: &str, verdict| {
        scribe.by(by);
        let draft = decide::give_feedback(&entry, verdict).unwrap();
        scribe.write(draft.about, draft.body)
    };
    let first = say("agent:a", Helpful);
    let history = [first, say("agent:b", Unhelpful), say("agent:a", Unhelpful)];
    let last = history[2].event.at.wall;
    let a = actor("agent:a");
    for (history, verdict, since, said) in [
        (&history[..0], Helpful, None, false),
        (&history[..1], Helpful, None, true),
        (&history[..1], Unhelpful, None, false),
        (&history[..2], Helpful, None, true),
        (&history[..], Helpful, None, false),
        (&history[..], Unhelpful, None, true),
        (&history[..], Unhelpful, Some(last), true),
        (&history[..], Unhelpful, Some(last.plus_millis(1)), false),
        (&history[..], Unhelpful, Some(last.minus_millis(1)), true),
    ] {
        let told = decide::is_repeated_feedback(history, &a, verdict, since);
        assert_eq!(told, said, "{} {verdict:?} {since:?}", history.len());
    }
}

#[test]
fn another_session_saw_it_only_where_both_are_known() {
    let id: EntryId = "L-00000001".parse().unwrap();
    let sees = |name: &str, session: Option<&str>, who: &str| {
        let shown = RunNote::Shown {
            agent: actor(who),
            entries: vec![id],
            how: ExposureChannel::Pull,
        };
        let notes = [note_joined(name, session), shown].map(|note| RunRecord {
            at: time_at(0),
            by: actor(name),
            note,
        });
        let mut run = Run::from_records(
            [note_opened(name, RunMode::Implicit)]
                .into_iter()
                .chain(notes),
        )
        .unwrap();
        run.id = "I-1".to_owned();
        run
    };
    let a = actor("agent:a");
    for (mine, outside, seen) in [
        (Some("s"), sees("agent:a", Some("s"), "agent:a"), true),
        (Some("s"), sees("agent:a", Some("t"), "agent:a"), false),
        (Some("s"), sees("agent:a", None, "agent:a"), true),
        (None, sees("agent:a", Some("t"), "agent:a"), true),
        (None, sees("agent:a", None, "agent:a"), true),
        (None, sees("agent:b", None, "agent:b"), false),
    ] {
        let run = run_with_notes(
            "human:lead",
            vec![("human:lead", note_joined("agent:a", mine))],
        );
        let told = run.prior_exposures(&a, ExposureSet::default(), std::slice::from_ref(&outside));
        assert_eq!(told.contains(id), seen, "{mine:?} {outside:?}");
        let in_session = ExposureSet {
            everything: true,
            ..ExposureSet::default()
        };
        assert!(run.prior_exposures(&a, in_session, &[]).contains(id));
        let itself = Run {
            id: run.id.clone(),
            ..outside
        };
        let told = run.prior_exposures(&a, ExposureSet::default(), &[itself]);
        assert!(!told.contains(id), "a run is not before itself");
    }
}

#[test]
fn work_took_until_somebody_ended_it_and_of_abandoned_work_until_the_last_note() {
    use Outcome::{Abandoned, Failed, Succeeded};
    for (outcome, last, now, took) in [
        (Succeeded, 0, 47_000, 47_000),
        (Failed, 0, 47_000, 47_000),
        (Succeeded, 2_000, 47_000, 47_000),
        // The closer's clock is behind.
        (Succeeded, 2_000, 1_000, 2_000),
        (Abandoned, 2_000, 90_000_000, 2_000),
        (Abandoned, 0, 90_000_000, 0),
    ] {
        let used = RunRecord {
            at: time_at(last),
            by: actor("agent:a"),
            note: RunNote::Used {
                agent: actor("agent:a"),
                entries: Vec::new(),
            },
        };
        let run = Run::from_records([note_opened("human:lead", RunMode::Explicit), used]).unwrap();
        let ending = RunEnding {
            outcome,
            ..RunEnding::abandoned()
        };
        let policy = ReviewPolicy::default();
        let closing = close_run(
            &run,
            &ending,
            &[],
            &|_| ExposureSet::default(),
            policy,
            time_at(now),
        );
        assert_eq!(closing.closed.duration_ms, took, "{outcome:?} {last} {now}");
    }
}

#[test]
fn what_a_run_touched_is_told_with_who_found_it_and_what_it_may_not_write_is_left_out() {
    let mut scribe = EventWriter::new(4);
    let (found, first) = scribe.propose(CLAIM);
    let (used, second) = scribe.propose("Queues are drained before a deployment begins");
    let (newer, third) = scribe.propose("Clocks of tests stand still");
    let strange = scribe.foreign("entry.dreamt", &[newer]);
    let events: Vec<Event> = [first, second, third, strange].map(|it| it.event).into();
    let uses = RunNote::Used {
        agent: actor("agent:a"),
        entries: vec![used, newer],
    };
    let run = run_with_notes(
        "human:lead",
        vec![
            ("agent:a", uses),
            ("agent:b", note_observed("agent:b", &[found])),
        ],
    );
    assert_eq!(run.touched_entries(), BTreeSet::from([found, used, newer]));
    assert_eq!([found, used].map(|id| run.uses(id)), [false, true]);
    let mut entries: Vec<Entry> = run
        .touched_entries()
        .into_iter()
        .map(|id| fold_entry(id, &events).unwrap())
        .collect();
    entries.reverse();
    let told = collect_touched_entries(&run, entries, |id| {
        if id == used {
            Validity::Holds
        } else {
            Validity::Unverifiable
        }
    });
    let mut wanted = vec![
        (
            found,
            Validity::Unverifiable,
            BTreeSet::from([actor("agent:b")]),
        ),
        (used, Validity::Holds, BTreeSet::new()),
    ];
    wanted.sort_by_key(|it| it.0);
    let told: Vec<_> = told
        .into_iter()
        .map(|it| (it.entry.id, it.validity, it.found_by))
        .collect();
    assert_eq!(told, wanted);
}

/// Author of the claim, opener of the run, name that reported the finding, and token that sent it.
#[test]
fn nobody_confirms_its_own_word_where_names_are_proven() {
    let mut scribe = EventWriter::new(5);
    scribe.by("agent:bot/x");
    let (id, proposal) = scribe.propose(CLAIM);
    let entry = fold_entry(id, [&proposal.event]).unwrap();
    for (opener, finder, voice, provenance) in [
        (
            "agent:bot",
            "agent:bot/a",
            "agent:bot",
            Provenance::Unwitnessed,
        ),
        (
            "agent:bot",
            "agent:zzz",
            "agent:bot",
            Provenance::Unwitnessed,
        ),
        (
            "agent:lead",
            "agent:bot/x",
            "agent:bot",
            Provenance::Unwitnessed,
        ),
        (
            "agent:lead",
            "agent:bot",
            "agent:bot",
            Provenance::Unwitnessed,
        ),
        (
            "agent:lead",
            "agent:lead/a",
            "agent:lead",
            Provenance::Unwitnessed,
        ),
        ("agent:lead", "agent:b", "agent:b", Provenance::Independent),
        (
            "agent:lead",
            "agent:b",
            "agent:lead",
            Provenance::Independent,
        ),
        (
            "agent:lead",
            "agent:bottle",
            "agent:bottle",
            Provenance::Independent,
        ),
        (
            "agent:lead",
            "agent:b",
            "human:ada",
            Provenance::Independent,
        ),
    ] {
        let run = run_with_notes(
            opener,
            vec![
                (opener, note_joined(finder, None)),
                (voice, note_observed(finder, &[id])),
            ],
        );
        let mut touched =
            collect_touched_entries(&run, vec![entry.clone()], |_| Validity::Unverifiable);
        touched[0].authors = entry_authors(&entry, std::slice::from_ref(&proposal));
        let told = close_successfully(&run, &touched);
        assert_eq!(told.found[&id], provenance, "{opener} {finder} {voice}");
        let is_verified = told.promoted.contains_key(&id);
        assert_eq!(is_verified, provenance == Provenance::Independent);
    }
}

#[test]
fn what_one_voice_tells_in_two_names_does_not_converge() {
    for (voices, names, count) in [
        (["agent:a", "agent:b"], ["agent:a", "agent:b"], 1),
        (["human:ada", "human:ada"], ["agent:a", "agent:b"], 1),
        (
            ["agent:bot", "agent:bot"],
            ["agent:bot/a", "agent:bot/b"],
            0,
        ),
        (["agent:bot", "agent:bot"], ["agent:a", "agent:b"], 0),
        (["agent:a", "agent:a"], ["agent:a", "agent:b"], 0),
    ] {
        let joined = names.map(|it| ("agent:lead", note_joined(it, None)));
        let found = [0, 1].map(|at| (voices[at], note_observed(names[at], &[])));
        let run = run_with_notes("agent:lead", joined.into_iter().chain(found).collect());
        let gained = accept_findings(&run, Outcome::Succeeded);
        assert_eq!(gained.len(), count, "{voices:?} {names:?}");
    }
}

#[test]
fn findings_that_an_entry_says_by_now_are_no_gain() {
    let names = ["agent:a", "agent:b"];
    let joined = names.map(|it| ("human:lead", note_joined(it, None)));
    let found = names.map(|it| (it, note_observed(it, &[])));
    let mut run = run_with_notes("human:lead", joined.into_iter().chain(found).collect());
    assert_eq!(accept_findings(&run, Outcome::Succeeded).len(), 1);
    assert_eq!(run.unmatched_findings().count(), 2);
    for found in run.unmatched_findings() {
        found.says = BTreeSet::from(["L-00000001".parse().unwrap()]);
    }
    assert_eq!(run.unmatched_findings().count(), 0);
    assert_eq!(accept_findings(&run, Outcome::Succeeded), []);
}

#[test]
fn a_run_has_room_for_so_many_agents_and_what_others_do_is_lost() {
    let name = |n: usize| actor(&format!("agent:a{n}"));
    let said = |to: Vec<Actor>| RunNote::Said {
        agent: name(0),
        words: None,
        cites: Vec::new(),
        to,
    };
    for (others, fits) in [(AGENTS_MAX - 1, true), (AGENTS_MAX, false)] {
        let note = said((1..=others).map(name).collect());
        let mut run = run_with_notes("human:lead", Vec::new());
        assert_eq!(run.has_room_for(&note), fits, "{others}");
        run.apply(note);
        assert_eq!(run.is_complete, fits, "{others}");
        assert_eq!(run.agents.len(), if fits { AGENTS_MAX } else { 0 });
        if fits {
            assert!(
                run.has_room_for(&said(vec![name(3)])),
                "it has them already"
            );
            run.apply(note_joined("agent:late", None));
            assert!(!run.is_complete);
            assert_eq!(
                close_successfully(&run, &[]).closed.agents.len(),
                AGENTS_MAX
            );
        }
    }
}

#[test]
fn what_closing_writes_fits_into_lines_however_many_trials_there_were() {
    let trial = TrialResult {
        arm: Arm::Withheld,
        propensity_milli: 1000,
        succeeded: false,
    };
    let run = run_with_notes("human:lead", Vec::new());
    for (entries, trials) in [(250, 0), (130, AGENTS_MAX), (3, 600)] {
        let effect = |n: u32| EntryEffect {
            entry: format!("L-{n:08}").parse().unwrap(),
            alpha_milli: 4_000_000,
            beta_milli: 4_000_000,
            shown: 1,
            blind: 1,
            unseen: 0,
            since: Some("01KDYAMXQ8EV7BZJ26205ZR7J2".parse().unwrap()),
            source_outcome: None,
            trials: vec![trial; trials],
        };
        let mut closing = close_successfully(&run, &[]);
        closing.effects = (0..entries).map(effect).collect();
        let drafts = closing_drafts(&run, &closing, &[], Vec::new(), time_at(0).date()).unwrap();
        let mut scribe = EventWriter::new(6);
        let mut told = 0;
        for (_, draft) in drafts {
            let copy = scribe.write(draft.about, draft.body);
            let read = RecordedEvent::new_verified(copy.event).expect("it fits");
            told += read
                .event
                .get::<RunEffects>()
                .map_or(0, |it| it.effects.len());
        }
        assert_eq!(told, entries as usize, "each once, {trials} trials each");
    }
}

#[test]
fn an_event_is_written_up_to_the_longest_line_and_read_back() {
    let mut scribe = EventWriter::new(8);
    let mut of = |length: usize| {
        let body = EventBody::FrictionRecorded(FrictionRecorded {
            friction: ken_core::values::content::FrictionType::Redo,
            context: serde_json::json!({"text": "x".repeat(length), "number": 1.0}),
        });
        scribe.write(Vec::new(), body).event
    };
    let around = RecordedEvent::new(of(0)).line().len();
    let longest = LINE_BYTES_MAX - around;
    let written = RecordedEvent::new_verified(of(longest)).unwrap();
    assert_eq!(written.line().len(), LINE_BYTES_MAX);
    assert_eq!(RecordedEvent::parse(written.line().as_bytes()), Ok(written));
    let bytes = LINE_BYTES_MAX + 1;
    assert_eq!(
        RecordedEvent::new_verified(of(longest + 1)),
        Err(LineTooLong { bytes })
    );
}

#[test]
fn a_run_that_ended_is_read_from_its_event_and_from_no_other() {
    let run = run_with_notes(
        "human:lead",
        vec![("human:lead", note_joined("agent:a", None))],
    );
    let closed = close_successfully(&run, &[]).closed;
    let mut scribe = EventWriter::new(9);
    let copy = scribe.write(Vec::new(), EventBody::RunClosed(closed.clone()));
    assert_eq!(copy.event.body.type_name(), RunClosed::TYPE);
    let past = PastRun::from_event(&copy).unwrap();
    assert_eq!((past.closed, past.at), (closed, copy.event.at.wall));
    assert_eq!(PastRun::from_event(&copy.redacted()), None);
    assert_eq!(PastRun::from_event(&scribe.propose(CLAIM).1), None);
}

#[test]
fn the_first_taker_of_a_handoff_has_it_in_every_order_of_arrival() {
    let mut scribe = EventWriter::new(9);
    let left = |run: &str| HandoffWritten {
        branch: Some("main".to_owned()),
        unfinished: vec!["the refunds".parse().unwrap()],
        tried: Vec::new(),
        open: Vec::new(),
        run: Some(run.to_owned()),
    };
    let take = |handoff, run: &str| {
        let run = Some(run.to_owned());
        EventBody::HandoffTaken(HandoffTaken { handoff, run })
    };
    let written = scribe.write(Vec::new(), EventBody::HandoffWritten(left("r1")));
    let first = scribe.write(Vec::new(), take(written.event.id, "r2"));
    let second = scribe.write(Vec::new(), take(written.event.id, "r3"));
    let now = written.event.at.wall;
    let waiting = &handoffs_of(std::slice::from_ref(&written))[0];
    assert!(waiting.waits_on(Some("main"), now) && !waiting.waits_on(None, now));
    let late = now.plus_millis((EXPIRES_AFTER_DAYS + 1) * 86_400_000);
    assert_eq!(waiting.state(late), HandoffState::Expired);
    let all = handoffs_of(&[written.clone(), first.clone(), second]);
    let taken = all[0].taken.as_ref().unwrap();
    assert_eq!(
        (taken.event, taken.run.as_deref()),
        (first.event.id, Some("r2"))
    );
    let newer = scribe.write(Vec::new(), EventBody::HandoffWritten(left("r1")));
    let other = scribe.write(Vec::new(), EventBody::HandoffWritten(left("r9")));
    let all = handoffs_of(&[written, newer, other]);
    let states: Vec<_> = all.iter().map(|it| it.state(now)).collect();
    use HandoffState::{Replaced, Waiting};
    assert_eq!(states, [Replaced, Waiting, Waiting]);
}

#[test]
fn a_handoff_has_points_and_limits() {
    let point = |bytes: usize| "x".repeat(bytes).parse::<Note>().unwrap();
    let handoff = |open: Vec<Note>| HandoffWritten {
        branch: None,
        unfinished: Vec::new(),
        tried: Vec::new(),
        open,
        run: None,
    };
    for (points, expected) in [
        (Vec::new(), Err(HandoffError::Empty)),
        (vec![point(1); POINTS_MAX], Ok(())),
        (
            vec![point(1); POINTS_MAX + 1],
            Err(HandoffError::TooManyPoints),
        ),
        (vec![point(HANDOFF_BYTES_MAX / 2); 2], Ok(())),
        (vec![point(1_300); 2], Err(HandoffError::TooLong(2_600))),
    ] {
        assert_eq!(handoff(points).check(), expected);
    }
    let text = handoff(vec!["two\nlines".parse().unwrap()]).to_text();
    assert_eq!(text, "open:\n- two lines\n");
}
