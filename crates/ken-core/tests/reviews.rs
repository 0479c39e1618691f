//! Decay by review, through the real closing of runs: a claim cannot confirm itself, a true claim
//! survives silence, a false one is archived.
//!
//! `KEN_LONG=1` repeats each simulation 2,000 times instead of 200; `--no-capture` prints the
//! results.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(
    clippy::print_stdout,
    reason = "figures for docs/decisions/0015-trust.md"
)]

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{
    ArchiveReason, Archived, Arm, Confirmed, EntryEffect, Event, EventBody, Origin, Outcome,
    Provenance, Restored, RunEffects,
};
use ken_core::ledger::fold::fold_entry;
use ken_core::trust::facts::Validity;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::closing::{RunClosing, RunEnding, TouchedEntry, close_run};
use ken_core::trust::run::exposure::ExposureSet;
use ken_core::trust::run::holdout::{assign_entry, holdout_share};
use ken_core::trust::run::{
    ExposureChannel, Run, RunFinding, RunMember, RunMode, RunNote, RunRecord, RunWitness,
};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;
use ken_testkit::build::EventWriter;
use ken_testkit::laws::is_long;
use proptest::prelude::*;

const ENDING: RunEnding = RunEnding {
    outcome: Outcome::Succeeded,
    quality_milli: None,
    rounds: 1,
    cost_micros: 0,
    strategy: None,
};

fn agent(n: usize) -> Actor {
    format!("agent:a{n}").parse().unwrap()
}

fn finding() -> Box<RunFinding> {
    Box::new(RunFinding {
        statement: "A retried payment is charged once.".parse().unwrap(),
        anchors: Vec::new(),
        verify: Vec::new(),
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    })
}

/// Builder of a run's notes.
struct RunNotesBuilder {
    notes: Vec<RunNote>,
}

impl RunNotesBuilder {
    fn open(number: u32, manner: RunMode, witness: RunWitness, agents: &[Actor]) -> Self {
        let opened = RunNote::Opened {
            run: format!("run-{number}"),
            manner,
            witness,
            thread: None,
            task: None,
        };
        let joined = |agent: &Actor| RunNote::Joined {
            agent: agent.clone(),
            member: RunMember {
                declared: true,
                ..RunMember::default()
            },
        };
        let joined = agents.iter().map(joined);
        Self {
            notes: [opened].into_iter().chain(joined).collect(),
        }
    }

    fn run(self) -> Run {
        let noted = |note| RunRecord {
            at: Timestamp::default(),
            by: "human:lead".parse().unwrap(),
            note,
        };
        Run::from_records(self.notes.into_iter().map(noted)).unwrap()
    }
}

/// Closes a run that touched one entry, which some of its agents found.
fn close_with_entry(run: &Run, entry: &Entry, policy: ReviewPolicy) -> RunClosing {
    let found_by = run.agents.iter().filter(|(_, it)| !it.findings.is_empty());
    let touched = TouchedEntry {
        entry: entry.clone(),
        validity: Validity::Unverifiable,
        same: BTreeSet::from([entry.id]),
        found_by: found_by.map(|(name, _)| name.clone()).collect(),
        authors: BTreeSet::new(),
    };
    let now = "2026-11-15T00:00:00Z".parse().unwrap();
    close_run(
        run,
        &ENDING,
        &[touched],
        &|_| ExposureSet::default(),
        policy,
        now,
    )
}

/// An entry with its events.
struct ReviewedEntry {
    scribe: EventWriter,
    id: EntryId,
    events: Vec<Event>,
}

impl ReviewedEntry {
    fn new() -> Self {
        let mut scribe = EventWriter::new(7);
        scribe.by("agent:author");
        let (id, copy) = scribe.propose_with(EntryKind::Learning, "It is charged once.", |data| {
            data.origin = Origin::Agent;
        });
        Self {
            scribe,
            id,
            events: vec![copy.event],
        }
    }

    fn entry(&self) -> Entry {
        fold_entry(self.id, &self.events).unwrap()
    }

    fn tell(&mut self, body: EventBody) {
        let copy = self.scribe.about(self.id, body);
        self.events.push(copy.event);
    }

    /// Appends the events that a closing decided.
    fn apply(&mut self, closing: &RunClosing) {
        let entry = self.entry();
        self.tell(EventBody::RunEffects(RunEffects {
            run: closing.closed.run.clone(),
            effects: closing.effects.clone(),
        }));
        if let Some(provenance) = closing.found.get(&self.id) {
            self.tell(EventBody::Confirmed(Confirmed {
                provenance: *provenance,
                on: "2026-11-15".parse().unwrap(),
                run: Some(closing.closed.run.clone()),
                withdraws: Vec::new(),
            }));
        }
        if closing.archived.contains(&self.id) {
            self.tell(EventBody::Archived(Archived {
                because: ArchiveReason::Decay,
                rests_on: entry.confirmation.by,
            }));
        }
        if closing.restored.contains(&self.id) {
            let undoes = entry.archived.map(|it| it.events).unwrap_or_default();
            self.tell(EventBody::Restored(Restored {
                undoes,
                reason: None,
            }));
        }
    }
}

/// Kind of exposure of a run's agents to the entry that they then repeat.
#[derive(Clone, Copy, Debug)]
enum ExposureCase {
    Shown(ExposureChannel),
    Implicit,
    Unobserved,
    Everything,
}

fn any_exposure_case() -> impl Strategy<Value = ExposureCase> {
    prop_oneof![
        Just(ExposureCase::Shown(ExposureChannel::Push)),
        Just(ExposureCase::Shown(ExposureChannel::Pull)),
        Just(ExposureCase::Shown(ExposureChannel::Brief)),
        Just(ExposureCase::Shown(ExposureChannel::File)),
        Just(ExposureCase::Shown(ExposureChannel::Told)),
        Just(ExposureCase::Implicit),
        Just(ExposureCase::Unobserved),
        Just(ExposureCase::Everything),
    ]
}

fn run_repeating_claim(number: u32, told: ExposureCase, entry: EntryId, agents: usize) -> Run {
    let agents: Vec<Actor> = (0..agents).map(agent).collect();
    let (manner, witness) = match told {
        ExposureCase::Implicit => (RunMode::Implicit, RunWitness::Hooks),
        ExposureCase::Unobserved => (RunMode::Explicit, RunWitness::Nobody),
        ExposureCase::Shown(_) | ExposureCase::Everything => {
            (RunMode::Explicit, RunWitness::Orchestrator)
        }
    };
    let mut work = RunNotesBuilder::open(number, manner, witness, &agents);
    for agent in agents {
        let how = match told {
            ExposureCase::Shown(how) => Some(how),
            // Another agent saw the entry; this one is merely unobserved.
            ExposureCase::Implicit | ExposureCase::Unobserved => None,
            ExposureCase::Everything => {
                work.notes.push(RunNote::SawEverything {
                    agent: agent.clone(),
                    how: ExposureChannel::File,
                });
                Some(ExposureChannel::Push)
            }
        };
        work.notes.extend(how.map(|how| RunNote::Shown {
            agent: agent.clone(),
            entries: vec![entry],
            how,
        }));
        work.notes.push(RunNote::Observed {
            agent,
            finding: finding(),
            says: BTreeSet::new(),
        });
    }
    work.run()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_claim_that_is_only_repeated_never_looks_fresher(
        schedule in prop::collection::vec((any_exposure_case(), 1_usize..4), 1..40)
    ) {
        let mut story = ReviewedEntry::new();
        let before = story.entry().confirmation.last;
        let mut counted = 0_u32;
        for (number, (told, agents)) in (0..).zip(schedule) {
            let entry = story.entry();
            if entry.archived.is_some() {
                break;
            }
            let run = run_repeating_claim(number, told, story.id, agents);
            let closing = close_with_entry(&run, &entry, ReviewPolicy::STRICT);
            let shown = closing.effects.iter().any(|it| it.shown == 1 && it.since.is_some());
            counted += u32::from(shown);
            story.apply(&closing);
            let entry = story.entry();
            prop_assert_eq!(entry.confirmation.last, before);
            prop_assert_eq!(entry.confirmation.independent, 0);
            prop_assert_eq!(
                entry.archived.is_some(),
                counted >= ReviewPolicy::STRICT.reviews,
                "after {} counted runs", counted
            );
        }
    }
}

#[test]
fn only_runs_that_showed_the_entry_count() {
    let mut story = ReviewedEntry::new();
    for number in 0..30 {
        let run =
            RunNotesBuilder::open(number, RunMode::Explicit, RunWitness::Hooks, &[agent(0)]).run();
        let closing = close_with_entry(&run, &story.entry(), ReviewPolicy::STRICT);
        story.apply(&closing);
    }
    assert!(story.entry().archived.is_none());
}

#[test]
fn an_unseen_finding_refreshes_verifies_and_brings_back() {
    let mut story = ReviewedEntry::new();
    for number in 0..10 {
        let run = run_repeating_claim(
            number,
            ExposureCase::Shown(ExposureChannel::Push),
            story.id,
            1,
        );
        let closing = close_with_entry(&run, &story.entry(), ReviewPolicy::STRICT);
        story.apply(&closing);
    }
    let archived = story.entry();
    assert!(archived.archived.is_some());
    let found = |number| {
        let mut work =
            RunNotesBuilder::open(number, RunMode::Explicit, RunWitness::Hooks, &[agent(0)]);
        work.notes.push(RunNote::Observed {
            agent: agent(0),
            finding: finding(),
            says: BTreeSet::new(),
        });
        work.run()
    };
    let closing = close_with_entry(&found(11), &archived, ReviewPolicy::STRICT);
    assert_eq!(closing.found[&story.id], Provenance::Independent);
    assert_eq!(closing.restored, [story.id]);
    assert_eq!(
        closing.promoted[&story.id],
        ken_core::values::status::EntryStatus::Verified
    );
    story.apply(&closing);
    let back = story.entry();
    assert!(back.archived.is_none());
    assert_eq!(back.confirmation.independent, 1);
    assert_eq!(back.exposures_since_confirmation().shown, 0, "counted anew");
    assert!(archived.history.events < back.history.events);
    let abandoned = RunEnding {
        outcome: Outcome::Abandoned,
        ..ENDING
    };
    let touched = TouchedEntry {
        entry: back,
        validity: Validity::Unverifiable,
        same: [story.id].into(),
        found_by: [agent(0)].into(),
        authors: BTreeSet::new(),
    };
    let now = "2026-11-15T00:00:00Z".parse().unwrap();
    let swept = close_run(
        &found(12),
        &abandoned,
        &[touched],
        &|_| ExposureSet::default(),
        ReviewPolicy::STRICT,
        now,
    );
    assert_eq!(swept.found[&story.id], Provenance::Unwitnessed);
}

/// A session ends without a reported outcome: hooks observed every exposure, so the finding
/// confirms, but nothing else follows.
#[test]
fn a_conversation_that_hooks_saw_out_confirms_and_is_worth_nothing() {
    let story = ReviewedEntry::new();
    let told = |witness: RunWitness, is_seen_out: bool| {
        let mut work = RunNotesBuilder::open(1, RunMode::Explicit, witness, &[agent(0)]);
        let (agent, says) = (agent(0), BTreeSet::from([story.id]));
        work.notes.push(RunNote::Observed {
            agent: agent.clone(),
            finding: finding(),
            says,
        });
        if is_seen_out {
            let outcome = Outcome::Abandoned;
            work.notes.push(RunNote::Ended { agent, outcome });
        }
        let run = Run {
            by: self::agent(0),
            ..work.run()
        };
        let touched = TouchedEntry {
            entry: story.entry(),
            validity: Validity::Unverifiable,
            same: [story.id].into(),
            found_by: [self::agent(0)].into(),
            authors: BTreeSet::new(),
        };
        let ending = RunEnding {
            outcome: Outcome::Abandoned,
            ..ENDING
        };
        let now = "2026-11-15T00:00:00Z".parse().unwrap();
        let before = |_: &Actor| ExposureSet::default();
        close_run(
            &run,
            &ending,
            &[touched],
            &before,
            ReviewPolicy::STRICT,
            now,
        )
    };
    let closing = told(RunWitness::Hooks, true);
    assert_eq!(closing.found[&story.id], Provenance::Independent);
    assert!(
        closing
            .effects
            .iter()
            .all(|it| it.alpha_milli + it.beta_milli == 0)
    );
    for (witness, is_seen_out) in [(RunWitness::Hooks, false), (RunWitness::Nobody, true)] {
        let closing = told(witness, is_seen_out);
        assert_eq!(closing.found[&story.id], Provenance::Unwitnessed);
    }
}

/// Outcome of one claim over many runs.
#[derive(Clone, Copy, Debug, Default)]
struct ClaimFate {
    archived_at_end: bool,
    first_archived: Option<u32>,
}

/// Simulates runs of agents that find the claim at `rate` when not shown it and repeat it when
/// shown.
fn simulate_claim(
    seed: u32,
    agents: usize,
    rate: f64,
    runs: u32,
    policy: ReviewPolicy,
) -> ClaimFate {
    let agents: Vec<Actor> = (0..agents).map(agent).collect();
    let mut entry = ReviewedEntry::new().entry();
    let mut fate = ClaimFate::default();
    let mut dice = ReviewRng(u64::from(seed) + 1);
    for number in 0..runs {
        let name = seed * 100_000 + number;
        let mut work =
            RunNotesBuilder::open(name, RunMode::Explicit, RunWitness::Orchestrator, &agents);
        let is_live = entry.archived.is_none();
        let share = holdout_share(&entry, policy);
        for agent in &agents {
            let offer = assign_entry(entry.id, &format!("run-{name}"), agent, &agents, share);
            let unseen = !is_live || offer.arm == Arm::Withheld;
            if is_live {
                work.notes.push(RunNote::Pushed {
                    agent: agent.clone(),
                    offers: vec![offer],
                });
            }
            if !unseen || dice.roll() < rate {
                work.notes.push(RunNote::Observed {
                    agent: agent.clone(),
                    finding: finding(),
                    says: BTreeSet::new(),
                });
            }
        }
        let closing = close_with_entry(&work.run(), &entry, policy);
        apply_closing(&mut entry, &closing, number);
        if entry.archived.is_some() {
            fate.first_archived.get_or_insert(number + 1);
        }
    }
    fate.archived_at_end = entry.archived.is_some();
    fate
}

/// Applies the events of a closing to an entry as the fold would; thousands of folds are too slow.
fn apply_closing(entry: &mut Entry, closing: &RunClosing, number: u32) {
    for EntryEffect {
        shown,
        blind,
        since,
        ..
    } in &closing.effects
    {
        if let Some(since) = since {
            let seen = entry.tallies.since.entry(*since).or_default();
            seen.shown += u64::from(*shown);
            seen.blind += u64::from(*blind);
        }
    }
    if closing.found.get(&entry.id) == Some(&Provenance::Independent) {
        let mut bytes = [0; 16];
        bytes[12..].copy_from_slice(&number.to_be_bytes());
        entry.confirmation.by = Some(EventId::from_bytes(bytes));
    }
    if closing.archived.contains(&entry.id) {
        entry.archived = Some(ken_core::ledger::entry::Archival {
            events: Vec::new(),
            because: ArchiveReason::Decay,
            since: "2026-11-15".parse().unwrap(),
        });
    }
    if closing.restored.contains(&entry.id) {
        entry.archived = None;
    }
}

/// Pseudo-random generator (xorshift), so that every test run is the same.
struct ReviewRng(u64);

impl ReviewRng {
    fn roll(&mut self) -> f64 {
        for _ in 0..3 {
            self.0 = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            self.0 ^= self.0 >> 29;
            self.0 ^= self.0 << 17;
            self.0 ^= self.0 >> 31;
        }
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

struct ArchivedShares {
    archived_at_end: f64,
    ever_archived: f64,
    archived_within_60: f64,
}

fn archived_shares(agents: usize, rate: f64, policy: ReviewPolicy) -> ArchivedShares {
    let lives = if is_long() { 2_000 } else { 200 };
    let fates: Vec<ClaimFate> = (0..lives)
        .map(|seed| simulate_claim(seed, agents, rate, 200, policy))
        .collect();
    let share = |is: &dyn Fn(&ClaimFate) -> bool| {
        let count = fates.iter().filter(|fate| is(fate)).count();
        count as f64 / f64::from(lives)
    };
    ArchivedShares {
        archived_at_end: share(&|it| it.archived_at_end),
        ever_archived: share(&|it| it.first_archived.is_some()),
        archived_within_60: share(&|it| it.first_archived.is_some_and(|run| run <= 60)),
    }
}

#[test]
fn a_true_claim_survives_silence_and_a_false_one_does_not() {
    println!("| rule | agents | rate | archived at run 200 | ever | within 60 runs |");
    for agents in [1, 4] {
        for (name, policy) in [
            ("strict", ReviewPolicy::STRICT),
            ("default", ReviewPolicy::default()),
        ] {
            for rate in [0.0, 0.1, 0.2, 0.3, 0.5] {
                let it = archived_shares(agents, rate, policy);
                println!(
                    "| {name} | {agents} | {rate} | {:.1} % | {:.1} % | {:.1} % |",
                    100.0 * it.archived_at_end,
                    100.0 * it.ever_archived,
                    100.0 * it.archived_within_60
                );
                if name == "default" && rate == 0.0 {
                    assert!(it.archived_within_60 >= 0.95);
                }
                if name == "default" && (0.3..0.4).contains(&rate) {
                    assert!(it.archived_at_end <= 0.02);
                    assert!(it.ever_archived <= 0.1);
                }
            }
        }
    }
}
