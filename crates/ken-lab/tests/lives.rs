//! What must come out of a life whatever the figures are.

use ken_core::event::ArchiveReason;
use ken_core::review::ReviewPolicy;
use ken_core::run::blind::{is_one_agents_word, may_be_withheld};
use ken_lab::grid::{MIDDLE, RUNS_PER_DAY};
use ken_lab::policy::{Gate, Policy, Ranking, Renewal};
use ken_lab::simulation::{Simulation, live_for};
use ken_lab::world::{Cell, ClaimId};

/// A seed no setting is chosen on and no result is computed from.
const SEED: u64 = 77;

const KEN: Policy = Policy::Ken {
    review: ReviewPolicy {
        reviews: 10,
        chances: 18,
        blind: true,
    },
};

const KEEP: Policy = Policy::KeepEverything {
    gate: Gate::Any,
    ranking: Ranking::Usual,
};

const REINFORCEMENT: Policy = Policy::Reinforcement {
    gate: Gate::Accumulation,
    reviews: 10,
};

const CITATION: Policy = Policy::Citation {
    gate: Gate::Any,
    expiry_days: 28,
    renewal: Renewal::Never,
};

/// Nothing can be found, everything that is shown is repeated.
const ECHO: Cell = Cell {
    detection: 0.0,
    priming: 1.0,
    false_share: 0.0,
    change_rate: 0.0,
    agents: 3,
    recurrence: 0.0,
};

/// Lives through some runs of a simulation.
fn lived(cell: Cell, policy: Policy, runs: std::ops::Range<usize>) -> Simulation {
    let mut simulation = Simulation::new(cell, policy, SEED);
    runs.for_each(|run| simulation.step(run));
    simulation
}

/// The claims that are entries now, laid aside or not.
fn claims(simulation: &Simulation) -> Vec<ClaimId> {
    simulation.memory.all().map(|held| held.claim).collect()
}

/// A world in which false claims are entries and nobody would find them: a normal one up to run 60, then echo.
fn echo(policy: Policy) -> (Simulation, Vec<ClaimId>) {
    let cell = Cell {
        recurrence: 0.05,
        ..MIDDLE
    };
    let mut simulation = lived(cell, policy, 0..60);
    let wrong = claims(&simulation).into_iter();
    let wrong = wrong.filter(|id| !simulation.code.claims[*id].holds());
    let wrong: Vec<ClaimId> = wrong.filter(|id| simulation.is_showable(*id)).collect();
    simulation.code.set_cell(ECHO);
    (60..600).for_each(|run| simulation.step(run));
    (simulation, wrong)
}

#[test]
fn the_same_seed_gives_the_same_life() {
    for policy in [KEN, KEEP, REINFORCEMENT, CITATION] {
        let once = live_for(MIDDLE, policy, SEED, 80);
        let text = |life: &ken_lab::measure::Life| serde_json::to_string(&life.figures()).unwrap();
        assert_eq!(text(&once), text(&live_for(MIDDLE, policy, SEED, 80)));
        assert_ne!(text(&once), text(&live_for(MIDDLE, policy, SEED + 1, 80)));
    }
}

#[test]
fn keeping_everything_never_lays_an_entry_aside() {
    let simulation = lived(MIDDLE, KEEP, 0..200);
    let all = || simulation.memory.all();
    assert!(100 < all().count());
    assert!(all().all(|held| held.entry.is_live()));
}

#[test]
fn an_echo_keeps_every_false_claim_alive_where_repetition_confirms() {
    let (simulation, wrong) = echo(REINFORCEMENT);
    assert!(5 < wrong.len());
    let retracted = |id: &ClaimId| simulation.memory.of_claim(*id).is_none();
    let kept = wrong.iter().filter(|id| simulation.is_showable(**id));
    let gone = wrong.iter().filter(|id| retracted(id));
    assert_eq!(kept.count() + gone.count(), wrong.len());
}

#[test]
fn an_echo_does_not_keep_false_claims_alive_in_ken() {
    let (simulation, wrong) = echo(KEN);
    // An incident is never withheld from anybody, so nobody can be silent about it.
    let fades = |id: &&ClaimId| {
        let held = simulation.memory.of_claim(**id);
        held.is_some_and(|held| may_be_withheld(&held.entry))
    };
    let fading: Vec<&ClaimId> = wrong.iter().filter(fades).collect();
    assert!(5 < fading.len());
    let alive: Vec<&&ClaimId> = fading
        .iter()
        .filter(|id| simulation.is_showable(***id))
        .collect();
    assert!(alive.is_empty(), "{} of {}", alive.len(), fading.len());
}

#[test]
fn what_is_outranked_gathers_chances_in_ken_and_nowhere_else() {
    let chances = |policy| {
        let simulation = lived(MIDDLE, policy, 0..200);
        let entries = simulation.memory.all().map(|held| &held.entry);
        // What was never offered has no trial.
        let outranked = entries.filter(|it| {
            let tallies = &it.tallies;
            !is_one_agents_word(it) && tallies.shown == 0 && tallies.trials.is_empty()
        });
        let chances: Vec<u64> = outranked.map(|it| it.tallies.blind).collect();
        chances
    };
    let ken = chances(KEN);
    assert!(ken.iter().any(|count| 3 <= *count), "{ken:?}");
    assert!(chances(KEEP).iter().all(|count| *count == 0));
}

#[test]
fn ken_does_not_push_one_agents_word_until_somebody_else_finds_it() {
    let alone = Cell {
        agents: 1,
        ..MIDDLE
    };
    let simulation = lived(alone, KEN, 0..200);
    let words = simulation.memory.all();
    let words: Vec<_> = words
        .filter(|held| is_one_agents_word(&held.entry))
        .collect();
    assert!(!words.is_empty());
    for held in words {
        assert!(!simulation.is_showable(held.claim));
        assert_eq!(held.entry.tallies.shown, 0);
    }
}

#[test]
fn a_citation_expires_after_28_days() {
    let still = Cell {
        change_rate: 0.0,
        ..MIDDLE
    };
    let mut simulation = lived(still, CITATION, 0..1);
    let first = claims(&simulation);
    assert!(!first.is_empty());
    simulation.code.set_cell(ECHO);
    let last_day = 28 * RUNS_PER_DAY;
    (1..last_day + RUNS_PER_DAY).for_each(|run| simulation.step(run));
    assert!(first.iter().all(|id| simulation.is_showable(*id)));
    simulation.step(last_day + RUNS_PER_DAY);
    assert!(first.iter().all(|id| !simulation.is_showable(*id)));
    let because = simulation.memory.of_claim(first[0]);
    let because = because.and_then(|held| held.entry.archived.as_ref());
    assert_eq!(because.map(|it| it.because), Some(ArchiveReason::Age));
}

#[test]
fn what_a_person_took_back_returns_where_it_is_deleted_and_not_in_ken() {
    let often = Cell {
        recurrence: 0.05,
        ..MIDDLE
    };
    let resurrected = |policy| {
        let life = live_for(often, policy, SEED, 300);
        let moments = life.moments().iter();
        moments.map(|moment| moment.resurrected).sum::<usize>()
    };
    assert!(0 < resurrected(KEEP));
    assert_eq!(resurrected(KEN), 0);
    let simulation = lived(often, KEN, 0..300);
    let tombstones = simulation.memory.all();
    let tombstones = tombstones.filter(|held| held.entry.is_tombstone());
    assert!(0 < tombstones.count(), "a person took something back");
}
