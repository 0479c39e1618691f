//! Decay by review, through the real closing of runs: a claim cannot confirm itself, a true one survives
//! silence, a false one does not.
//!
//! `KEN_LONG=1` repeats each simulation 2,000 times instead of 200; `--no-capture` prints the figures.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(
    clippy::print_stdout,
    reason = "figures for docs/decisions/0015-trust.md"
)]

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::entry::Entry;
use ken_core::event::{
    ArchiveReason, Archived, Arm, Body, Confirmed, Effect, Event, Origin, Outcome, Provenance,
    Restored, RunEffects,
};
use ken_core::facts::Validity;
use ken_core::fold::fold_entry;
use ken_core::id::{EntryId, EventId};
use ken_core::kind::Kind;
use ken_core::review::ReviewPolicy;
use ken_core::run::blind::offer;
use ken_core::run::close::{Closing, Ending, Touched, close};
use ken_core::run::exposure::Sight;
use ken_core::run::{Finding, How, Manner, Member, Note, Noted, Run, Witness};
use ken_core::time::Timestamp;
use ken_testkit::build::Scribe;
use ken_testkit::laws::is_long;
use proptest::prelude::*;

const ENDING: Ending = Ending {
    outcome: Outcome::Succeeded,
    quality_milli: None,
    rounds: 1,
    cost_micros: 0,
    strategy: None,
};

fn agent(n: usize) -> Actor {
    format!("agent:a{n}").parse().unwrap()
}

fn finding() -> Box<Finding> {
    Box::new(Finding {
        statement: "A retried payment is charged once.".parse().unwrap(),
        evidence: Vec::new(),
        verify: Vec::new(),
        severity_milli: 0,
        confidence_milli: 0,
        dismissed: false,
    })
}

/// A run's notes, put together.
struct Work {
    notes: Vec<Note>,
}

impl Work {
    fn open(number: u32, manner: Manner, witness: Witness, agents: &[Actor]) -> Self {
        let opened = Note::Opened {
            run: format!("run-{number}"),
            manner,
            witness,
            thread: None,
            task: None,
        };
        let joined = |agent: &Actor| Note::Joined {
            agent: agent.clone(),
            member: Member {
                declared: true,
                ..Member::default()
            },
        };
        let joined = agents.iter().map(joined);
        Self {
            notes: [opened].into_iter().chain(joined).collect(),
        }
    }

    fn run(self) -> Run {
        let noted = |note| Noted {
            at: Timestamp::default(),
            by: "human:lead".parse().unwrap(),
            note,
        };
        Run::of(self.notes.into_iter().map(noted)).unwrap()
    }
}

/// Closes a run that touched one entry and was found by some of its agents.
fn closed(run: &Run, entry: &Entry, policy: ReviewPolicy) -> Closing {
    let found_by = run.agents.iter().filter(|(_, it)| !it.findings.is_empty());
    let touched = Touched {
        entry: entry.clone(),
        validity: Validity::Unverifiable,
        same: BTreeSet::from([entry.id]),
        found_by: found_by.map(|(name, _)| name.clone()).collect(),
        authors: BTreeSet::new(),
    };
    let now = "2026-11-15T00:00:00Z".parse().unwrap();
    close(run, &ENDING, &[touched], &|_| Sight::default(), policy, now)
}

/// An entry and its events.
struct Story {
    scribe: Scribe,
    id: EntryId,
    events: Vec<Event>,
}

impl Story {
    fn new() -> Self {
        let mut scribe = Scribe::new(7);
        scribe.by("agent:author");
        let (id, copy) = scribe.propose_with(Kind::Learning, "It is charged once.", |data| {
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

    fn tell(&mut self, body: Body) {
        let copy = self.scribe.about(self.id, body);
        self.events.push(copy.event);
    }

    /// Writes what a closing decided.
    fn apply(&mut self, closing: &Closing) {
        let entry = self.entry();
        self.tell(Body::RunEffects(RunEffects {
            run: closing.closed.run.clone(),
            effects: closing.effects.clone(),
        }));
        if let Some(provenance) = closing.found.get(&self.id) {
            self.tell(Body::Confirmed(Confirmed {
                provenance: *provenance,
                on: "2026-11-15".parse().unwrap(),
                run: Some(closing.closed.run.clone()),
                withdraws: Vec::new(),
            }));
        }
        if closing.archived.contains(&self.id) {
            self.tell(Body::Archived(Archived {
                because: ArchiveReason::Decay,
                rests_on: entry.confirmation.by,
            }));
        }
        if closing.restored.contains(&self.id) {
            let undoes = entry.archived.map(|it| it.events).unwrap_or_default();
            self.tell(Body::Restored(Restored {
                undoes,
                reason: None,
            }));
        }
    }
}

/// How the entry came before the agents of a run that then repeat it.
#[derive(Clone, Copy, Debug)]
enum Told {
    Shown(How),
    Implicit,
    Unwatched,
    Everything,
}

fn any_told() -> impl Strategy<Value = Told> {
    prop_oneof![
        Just(Told::Shown(How::Push)),
        Just(Told::Shown(How::Pull)),
        Just(Told::Shown(How::Brief)),
        Just(Told::Shown(How::File)),
        Just(Told::Shown(How::Told)),
        Just(Told::Implicit),
        Just(Told::Unwatched),
        Just(Told::Everything),
    ]
}

fn repeated(number: u32, told: Told, entry: EntryId, agents: usize) -> Run {
    let agents: Vec<Actor> = (0..agents).map(agent).collect();
    let (manner, witness) = match told {
        Told::Implicit => (Manner::Implicit, Witness::Hooks),
        Told::Unwatched => (Manner::Explicit, Witness::Nobody),
        Told::Shown(_) | Told::Everything => (Manner::Explicit, Witness::Orchestrator),
    };
    let mut work = Work::open(number, manner, witness, &agents);
    for agent in agents {
        let how = match told {
            Told::Shown(how) => Some(how),
            // Somebody else saw it; this one is only not watched.
            Told::Implicit | Told::Unwatched => None,
            Told::Everything => {
                work.notes.push(Note::SawEverything {
                    agent: agent.clone(),
                    how: How::File,
                });
                Some(How::Push)
            }
        };
        work.notes.extend(how.map(|how| Note::Shown {
            agent: agent.clone(),
            entries: vec![entry],
            how,
        }));
        work.notes.push(Note::Observed {
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
    fn prv_07_dec_09_a_claim_that_is_only_repeated_never_looks_fresher(
        schedule in prop::collection::vec((any_told(), 1_usize..4), 1..40)
    ) {
        let mut story = Story::new();
        let before = story.entry().confirmation.last;
        let mut counted = 0_u32;
        for (number, (told, agents)) in (0..).zip(schedule) {
            let entry = story.entry();
            if entry.archived.is_some() {
                break;
            }
            let run = repeated(number, told, story.id, agents);
            let closing = closed(&run, &entry, ReviewPolicy::STRICT);
            let shown = closing.effects.iter().any(|it| it.shown == 1 && it.since.is_some());
            counted += u32::from(shown);
            story.apply(&closing);
            let entry = story.entry();
            prop_assert_eq!(entry.confirmation.last, before);
            prop_assert_eq!(entry.confirmation.independent, 0);
            prop_assert_eq!(
                entry.archived.is_some(),
                ReviewPolicy::STRICT.reviews <= counted,
                "after {} counted runs", counted
            );
        }
    }
}

#[test]
fn dec_03_only_runs_that_showed_the_entry_count() {
    let mut story = Story::new();
    for number in 0..30 {
        let run = Work::open(number, Manner::Explicit, Witness::Hooks, &[agent(0)]).run();
        let closing = closed(&run, &story.entry(), ReviewPolicy::STRICT);
        story.apply(&closing);
    }
    assert!(story.entry().archived.is_none());
}

#[test]
fn dec_05_dec_06_dec_07_an_unseen_finding_refreshes_verifies_and_brings_back() {
    let mut story = Story::new();
    for number in 0..10 {
        let run = repeated(number, Told::Shown(How::Push), story.id, 1);
        let closing = closed(&run, &story.entry(), ReviewPolicy::STRICT);
        story.apply(&closing);
    }
    let archived = story.entry();
    assert!(archived.archived.is_some());
    let found = |number| {
        let mut work = Work::open(number, Manner::Explicit, Witness::Hooks, &[agent(0)]);
        work.notes.push(Note::Observed {
            agent: agent(0),
            finding: finding(),
            says: BTreeSet::new(),
        });
        work.run()
    };
    let closing = closed(&found(11), &archived, ReviewPolicy::STRICT);
    assert_eq!(closing.found[&story.id], Provenance::Independent);
    assert_eq!(closing.restored, [story.id]);
    assert_eq!(
        closing.promoted[&story.id],
        ken_core::status::Status::Verified
    );
    story.apply(&closing);
    let back = story.entry();
    assert!(back.archived.is_none());
    assert_eq!(back.confirmation.independent, 1);
    assert_eq!(back.since_confirmation().shown, 0, "counted anew");
    assert!(archived.history.events < back.history.events);
    let abandoned = Ending {
        outcome: Outcome::Abandoned,
        ..ENDING
    };
    let touched = Touched {
        entry: back,
        validity: Validity::Unverifiable,
        same: [story.id].into(),
        found_by: [agent(0)].into(),
        authors: BTreeSet::new(),
    };
    let now = "2026-11-15T00:00:00Z".parse().unwrap();
    let swept = close(
        &found(12),
        &abandoned,
        &[touched],
        &|_| Sight::default(),
        ReviewPolicy::STRICT,
        now,
    );
    assert_eq!(swept.found[&story.id], Provenance::Unwitnessed);
}

/// A conversation ends and nobody says how it went: hooks saw that nothing is missing, and nothing else follows from it.
#[test]
fn a_conversation_that_hooks_saw_out_confirms_and_is_worth_nothing() {
    let story = Story::new();
    let told = |witness: Witness, is_seen_out: bool| {
        let mut work = Work::open(1, Manner::Explicit, witness, &[agent(0)]);
        let (agent, says) = (agent(0), BTreeSet::from([story.id]));
        work.notes.push(Note::Observed {
            agent: agent.clone(),
            finding: finding(),
            says,
        });
        if is_seen_out {
            let outcome = Outcome::Abandoned;
            work.notes.push(Note::Ended { agent, outcome });
        }
        let run = Run {
            by: self::agent(0),
            ..work.run()
        };
        let touched = Touched {
            entry: story.entry(),
            validity: Validity::Unverifiable,
            same: [story.id].into(),
            found_by: [self::agent(0)].into(),
            authors: BTreeSet::new(),
        };
        let ending = Ending {
            outcome: Outcome::Abandoned,
            ..ENDING
        };
        let now = "2026-11-15T00:00:00Z".parse().unwrap();
        let before = |_: &Actor| Sight::default();
        close(
            &run,
            &ending,
            &[touched],
            &before,
            ReviewPolicy::STRICT,
            now,
        )
    };
    let closing = told(Witness::Hooks, true);
    assert_eq!(closing.found[&story.id], Provenance::Independent);
    assert!(
        closing
            .effects
            .iter()
            .all(|it| it.alpha_milli + it.beta_milli == 0)
    );
    for (witness, is_seen_out) in [(Witness::Hooks, false), (Witness::Nobody, true)] {
        let closing = told(witness, is_seen_out);
        assert_eq!(closing.found[&story.id], Provenance::Unwitnessed);
    }
}

/// What became of one claim over many runs.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    archived_at_end: bool,
    first_archived: Option<u32>,
}

/// Lives through runs of agents who find a claim they were not shown at `rate`, and repeat one they were.
fn live(seed: u32, agents: usize, rate: f64, runs: u32, policy: ReviewPolicy) -> Fate {
    let agents: Vec<Actor> = (0..agents).map(agent).collect();
    let mut entry = Story::new().entry();
    let mut fate = Fate::default();
    let mut dice = Dice(u64::from(seed) + 1);
    for number in 0..runs {
        let name = seed * 100_000 + number;
        let mut work = Work::open(name, Manner::Explicit, Witness::Orchestrator, &agents);
        let is_live = entry.archived.is_none();
        let share = policy.share_milli(entry.since_confirmation(), entry.tallies.worth());
        for agent in &agents {
            let offer = offer(entry.id, &format!("run-{name}"), agent, &agents, share);
            let unseen = !is_live || offer.arm == Arm::Withheld;
            if is_live {
                work.notes.push(Note::Pushed {
                    agent: agent.clone(),
                    offers: vec![offer],
                });
            }
            if !unseen || dice.roll() < rate {
                work.notes.push(Note::Observed {
                    agent: agent.clone(),
                    finding: finding(),
                    says: BTreeSet::new(),
                });
            }
        }
        let closing = closed(&work.run(), &entry, policy);
        absorb(&mut entry, &closing, number);
        if entry.archived.is_some() {
            fate.first_archived.get_or_insert(number + 1);
        }
    }
    fate.archived_at_end = entry.archived.is_some();
    fate
}

/// Does to an entry what the fold does with the events of a closing; thousands of folds take too long.
fn absorb(entry: &mut Entry, closing: &Closing, number: u32) {
    for Effect {
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
        entry.archived = Some(ken_core::entry::Archival {
            events: Vec::new(),
            because: ArchiveReason::Decay,
            since: "2026-11-15".parse().unwrap(),
        });
    }
    if closing.restored.contains(&entry.id) {
        entry.archived = None;
    }
}

/// A small generator (xorshift); chance in a test must repeat.
struct Dice(u64);

impl Dice {
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

struct Shares {
    archived_at_end: f64,
    ever_archived: f64,
    archived_within_60: f64,
}

fn shares(agents: usize, rate: f64, policy: ReviewPolicy) -> Shares {
    let lives = if is_long() { 2_000 } else { 200 };
    let fates: Vec<Fate> = (0..lives)
        .map(|seed| live(seed, agents, rate, 200, policy))
        .collect();
    let share = |is: &dyn Fn(&Fate) -> bool| {
        let count = fates.iter().filter(|fate| is(fate)).count();
        count as f64 / f64::from(lives)
    };
    Shares {
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
                let it = shares(agents, rate, policy);
                println!(
                    "| {name} | {agents} | {rate} | {:.1} % | {:.1} % | {:.1} % |",
                    100.0 * it.archived_at_end,
                    100.0 * it.ever_archived,
                    100.0 * it.archived_within_60
                );
                if name == "default" && rate == 0.0 {
                    assert!(0.95 <= it.archived_within_60);
                }
                if name == "default" && (0.3..0.4).contains(&rate) {
                    assert!(it.archived_at_end <= 0.02);
                    assert!(it.ever_archived <= 0.1);
                }
            }
        }
    }
}
