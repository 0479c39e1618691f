//! Invariants of simulations, independent of the measured results.

use ken_core::ledger::event::ArchiveReason;
use ken_core::trust::rediscovery::{RediscoveryMode, RediscoveryPolicy};
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::holdout::{is_single_agent_claim, may_be_withheld};
use ken_lab::grid::{self, MIDDLE, RUNS_PER_DAY};
use ken_lab::memory::PolicyEntry;
use ken_lab::policy::{BeliefModel, EntryGate, ExpiryRenewal, KnowledgePolicy, RankingEmphasis};
use ken_lab::simulation::{Simulation, simulate_runs};
use ken_lab::world::{ClaimId, GridCell};

/// A seed that neither tuning nor the published results use.
const SEED: u64 = 77;

const KEN: KnowledgePolicy = KnowledgePolicy::Ken {
    gate: EntryGate::Accumulation,
    review: ReviewPolicy {
        reviews: 10,
        chances: 18,
        blind: true,
        rediscovery: RediscoveryPolicy::OBSERVE,
    },
    model: BeliefModel::Standard,
};

const KEEP_EVERYTHING: KnowledgePolicy = KnowledgePolicy::KeepEverything {
    gate: EntryGate::Any,
    ranking: RankingEmphasis::Usual,
};

const REINFORCEMENT: KnowledgePolicy = KnowledgePolicy::Reinforcement {
    gate: EntryGate::Accumulation,
    reviews: 10,
};

const CITATION: KnowledgePolicy = KnowledgePolicy::Citation {
    gate: EntryGate::Any,
    expiry_days: 28,
    renewal: ExpiryRenewal::Never,
};

/// No claim can be found, and every claim shown is repeated.
const ECHO: GridCell = GridCell {
    detection: 0.0,
    priming: 1.0,
    false_share: 0.0,
    change_rate: 0.0,
    agents: 3,
    recurrence: 0.0,
    ..MIDDLE
};

/// Runs a simulation for a range of runs.
fn simulate(cell: GridCell, policy: KnowledgePolicy, runs: std::ops::Range<usize>) -> Simulation {
    let mut simulation = Simulation::new(cell, policy, SEED);
    runs.for_each(|run| simulation.step(run));
    simulation
}

/// Returns the claims that are entries now, archived or not.
fn entry_claims(simulation: &Simulation) -> Vec<ClaimId> {
    simulation.memory.all().map(|held| held.claim).collect()
}

/// Simulates an echo: normal conditions up to run 60 create false entries, after which no agent can
/// find anything.
fn simulate_echo(policy: KnowledgePolicy) -> (Simulation, Vec<ClaimId>) {
    let cell = GridCell {
        recurrence: 0.05,
        ..MIDDLE
    };
    let mut simulation = simulate(cell, policy, 0..60);
    let wrong = entry_claims(&simulation).into_iter();
    let wrong = wrong.filter(|id| !simulation.code.claims[*id].holds());
    let wrong: Vec<ClaimId> = wrong.filter(|id| simulation.is_showable(*id)).collect();
    simulation.code.set_cell(ECHO);
    (60..600).for_each(|run| simulation.step(run));
    (simulation, wrong)
}

#[test]
fn the_same_seed_gives_the_same_life() {
    for policy in [KEN, KEEP_EVERYTHING, REINFORCEMENT, CITATION] {
        let once = simulate_runs(MIDDLE, policy, SEED, 80);
        let text = |life: &ken_lab::measure::SimulationRecord| {
            serde_json::to_string(&life.figures()).unwrap()
        };
        assert_eq!(text(&once), text(&simulate_runs(MIDDLE, policy, SEED, 80)));
        assert_ne!(
            text(&once),
            text(&simulate_runs(MIDDLE, policy, SEED + 1, 80))
        );
    }
}

#[test]
fn keeping_everything_never_lays_an_entry_aside() {
    let simulation = simulate(MIDDLE, KEEP_EVERYTHING, 0..200);
    let all = || simulation.memory.all();
    assert!(all().count() > 100);
    assert!(all().all(|held| held.entry.is_live()));
}

#[test]
fn an_echo_keeps_every_false_claim_alive_where_repetition_confirms() {
    let (simulation, wrong) = simulate_echo(REINFORCEMENT);
    assert!(wrong.len() > 5);
    let retracted = |id: &ClaimId| simulation.memory.entry_of_claim(*id).is_none();
    let kept = wrong.iter().filter(|id| simulation.is_showable(**id));
    let gone = wrong.iter().filter(|id| retracted(id));
    assert_eq!(kept.count() + gone.count(), wrong.len());
}

#[test]
fn an_echo_does_not_keep_false_claims_alive_in_ken() {
    let (simulation, wrong) = simulate_echo(KEN);
    // An incident is never withheld, so no agent can fail to mention it independently.
    let fades = |id: &&ClaimId| {
        let held = simulation.memory.entry_of_claim(**id);
        held.is_some_and(|held| may_be_withheld(&held.entry))
    };
    let fading: Vec<&ClaimId> = wrong.iter().filter(fades).collect();
    assert!(fading.len() > 5);
    let alive: Vec<&&ClaimId> = fading
        .iter()
        .filter(|id| simulation.is_showable(***id))
        .collect();
    assert!(alive.is_empty(), "{} of {}", alive.len(), fading.len());
}

#[test]
fn what_is_outranked_gathers_chances_in_ken_and_nowhere_else() {
    let chances = |policy| {
        let simulation = simulate(MIDDLE, policy, 0..200);
        let entries = simulation.memory.all().map(|held| &held.entry);
        // An entry that was never offered has no trial.
        let outranked = entries.filter(|it| {
            let tallies = &it.tallies;
            !is_single_agent_claim(it) && tallies.shown == 0 && tallies.trials.is_empty()
        });
        let chances: Vec<u64> = outranked.map(|it| it.tallies.blind).collect();
        chances
    };
    let ken = chances(KEN);
    assert!(ken.iter().any(|count| *count >= 3), "{ken:?}");
    assert!(chances(KEEP_EVERYTHING).iter().all(|count| *count == 0));
}

#[test]
fn ken_does_not_push_one_agents_word_until_somebody_else_finds_it() {
    let alone = GridCell {
        agents: 1,
        ..MIDDLE
    };
    let simulation = simulate(alone, KEN, 0..200);
    let words = simulation.memory.all();
    let words: Vec<_> = words
        .filter(|held| is_single_agent_claim(&held.entry))
        .collect();
    assert!(!words.is_empty());
    for held in words {
        assert!(!simulation.is_showable(held.claim));
        assert_eq!(held.entry.tallies.shown, 0);
    }
}

#[test]
fn a_citation_expires_after_28_days() {
    let still = GridCell {
        change_rate: 0.0,
        ..MIDDLE
    };
    let mut simulation = simulate(still, CITATION, 0..1);
    let first = entry_claims(&simulation);
    assert!(!first.is_empty());
    simulation.code.set_cell(ECHO);
    let last_day = 28 * RUNS_PER_DAY;
    (1..last_day + RUNS_PER_DAY).for_each(|run| simulation.step(run));
    assert!(first.iter().all(|id| simulation.is_showable(*id)));
    simulation.step(last_day + RUNS_PER_DAY);
    assert!(first.iter().all(|id| !simulation.is_showable(*id)));
    let because = simulation.memory.entry_of_claim(first[0]);
    let because = because.and_then(|held| held.entry.archived.as_ref());
    assert_eq!(because.map(|it| it.because), Some(ArchiveReason::Age));
}

#[test]
fn what_a_person_took_back_returns_where_it_is_deleted_and_not_in_ken() {
    let often = GridCell {
        recurrence: 0.05,
        ..MIDDLE
    };
    let resurrected = |policy| {
        let life = simulate_runs(often, policy, SEED, 300);
        let moments = life.moments().iter();
        moments.map(|moment| moment.resurrected).sum::<usize>()
    };
    assert!(resurrected(KEEP_EVERYTHING) > 0);
    assert_eq!(resurrected(KEN), 0);
    let simulation = simulate(often, KEN, 0..300);
    let tombstones = simulation.memory.all();
    let tombstones = tombstones.filter(|held| held.entry.is_tombstone());
    assert!(tombstones.count() > 0, "a person took something back");
}

#[test]
fn the_gate_does_not_surface_what_it_does_not_believe() {
    let gate = grid::ken(RediscoveryMode::Gate, EntryGate::Any);
    let rule = gate.review().rediscovery;
    // Before the first fit the model is the standard one.
    let simulation = simulate(MIDDLE, gate, 0..9);
    let doubted = simulation.memory.all();
    let doubted = doubted.filter(|held| !rule.may_push(&held.entry));
    let doubted: Vec<ClaimId> = doubted.map(|held| held.claim).collect();
    assert!(doubted.len() > 10);
    assert!(doubted.iter().all(|id| !simulation.is_showable(*id)));
}

#[test]
fn a_claim_that_everybody_finds_is_believed_and_one_that_nobody_finds_is_not() {
    let gate = grid::ken(RediscoveryMode::Gate, EntryGate::Accumulation);
    let simulation = simulate(MIDDLE, gate, 0..300);
    let belief = |held: &PolicyEntry| {
        let evidence = RediscoveryPolicy::OBSERVE.evidence(&held.entry);
        evidence.expect("findings describe").belief
    };
    let mean = |holds: bool| {
        let of = simulation.memory.all();
        let of = of.filter(|held| simulation.code.claims[held.claim].holds() == holds);
        let all: Vec<f64> = of.map(belief).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    assert!(
        mean(true) > 0.9 && mean(false) < 0.4,
        "{} {}",
        mean(true),
        mean(false)
    );
}
