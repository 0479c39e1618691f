//! Simulation of one policy: 500 runs over one codebase.
//!
//! Every run consists of the notes a real run would have, assembled and closed by the core. The
//! `closing` module writes the resulting events of the policy.

mod closing;
mod surfacing;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::Outcome;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::{Run, RunFinding, RunMember, RunMode, RunNote, RunRecord, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::time::{DAY_MS, Timestamp};

use crate::dice::{DrawPurpose, SeededDice};
use crate::grid::{RUNS, RUNS_PER_DAY};
use crate::measure::{RunMeasurement, SimulationRecord};
use crate::memory::{PolicyEntry, PolicyMemory};
use crate::policy::KnowledgePolicy;
use crate::world::{
    ClaimExposure, ClaimId, GridCell, REANCHOR_RATE, RETRACTION_RATE, SimulatedCodebase,
};

/// First day of the experiment: 2026-01-01.
const START_MS: u64 = 1_767_225_600_000;

/// Runs between two fits of the model, and steps of a fit.
const FIT_EVERY_RUNS: usize = 10;
const FIT_STEPS: usize = 2;

/// Simulates all runs and returns the measurements.
pub fn simulate(cell: GridCell, policy: KnowledgePolicy, seed: u64) -> SimulationRecord {
    simulate_runs(cell, policy, seed, RUNS)
}

/// Simulates the given number of runs.
pub fn simulate_runs(
    cell: GridCell,
    policy: KnowledgePolicy,
    seed: u64,
    runs: usize,
) -> SimulationRecord {
    let mut simulation = Simulation::new(cell, policy, seed);
    for run in 0..runs {
        simulation.step(run);
    }
    simulation.life
}

/// A codebase, a policy and the policy's knowledge.
#[derive(Debug)]
pub struct Simulation {
    pub code: SimulatedCodebase,
    pub memory: PolicyMemory,
    pub life: SimulationRecord,
    policy: KnowledgePolicy,
    /// The review policy with the model as last fitted.
    review: ReviewPolicy,
    dice: SeededDice,
    agents: Vec<Actor>,
    person: Actor,
    /// Claims a person retracted.
    retracted: BTreeSet<ClaimId>,
}

/// A run in progress: its notes and facts for measuring.
#[derive(Debug)]
struct SimulatedRun {
    number: usize,
    name: String,
    area: usize,
    notes: Vec<RunNote>,
    /// Claims shown to each agent.
    shown: Vec<BTreeSet<ClaimId>>,
    /// Entries that were shown to an agent, withheld or passed over.
    fitted: BTreeSet<EntryId>,
    /// The agents that found each claim, with their findings.
    found: BTreeMap<ClaimId, Vec<(usize, RunFinding)>>,
    succeeded: usize,
}

impl Simulation {
    /// Creates the codebase of a seed and an empty memory.
    pub fn new(cell: GridCell, policy: KnowledgePolicy, seed: u64) -> Self {
        let dice = SeededDice::new(seed);
        let agent = |number| format!("agent:a{number}").parse();
        let agents = (0..cell.agents).map(|it| agent(it).expect("a plain name"));
        Self {
            code: SimulatedCodebase::new(cell, dice),
            memory: PolicyMemory::new(seed, Timestamp::from_millis(START_MS)),
            life: SimulationRecord::default(),
            policy,
            review: policy.review(),
            dice,
            agents: agents.collect(),
            person: "human:lead".parse().expect("a plain name"),
            retracted: BTreeSet::new(),
        }
    }

    /// Simulates one run.
    pub fn step(&mut self, number: usize) {
        let since_start = DAY_MS / RUNS_PER_DAY as u64 * number as u64;
        self.memory.now = Timestamp::from_millis(START_MS + since_start);
        // Code changes before the run, so that agents work on the new state.
        if let Some(broken) = self.code.next_to_break(number) {
            let was_showable = self.is_showable(broken);
            // Recorded before the change, because the change itself may hide the claim.
            self.life.broke(number, broken, was_showable);
            self.code.change(number, broken);
        }
        if number.is_multiple_of(FIT_EVERY_RUNS) {
            self.fit_model();
        }
        // Before the run, so that expired entries are not shown.
        self.archive_expired();
        let mut work = self.open(number);
        self.surface(&mut work);
        self.work(&mut work);
        self.close(&work);
        // People see the entries of a run only after it.
        self.take_back(&work);
        self.look(&work);
        // One fold per run suffices, before the measurement.
        self.memory.settle();
        let moment = self.moment(&work);
        self.life.add(moment);
    }

    /// Fits the model to the entries, as `ken run policy --fit` does.
    fn fit_model(&mut self) {
        if !self.policy.fits_model() {
            return;
        }
        let entries = self.memory.all().map(|stored| &stored.entry);
        let traces: Vec<_> = entries.map(|entry| &entry.tallies.rediscovery).collect();
        let rediscovery = &mut self.review.rediscovery;
        let fitted = rediscovery.model().fit(&traces, FIT_STEPS);
        rediscovery.fitted = Some(fitted.to_stored());
    }

    /// Returns whether the policy would show a claim.
    pub fn is_showable(&self, claim: ClaimId) -> bool {
        let stored = self.memory.entry_of_claim(claim);
        stored.is_some_and(|stored| self.may_show(stored))
    }

    fn open(&self, number: usize) -> SimulatedRun {
        let name = format!("run-{number}");
        let opened = RunNote::Opened {
            run: name.clone(),
            manner: RunMode::Explicit,
            witness: RunWitness::Orchestrator,
            thread: None,
            task: None,
        };
        let joined = self.agents.iter().map(|agent| RunNote::Joined {
            agent: agent.clone(),
            member: RunMember {
                declared: true,
                ..RunMember::default()
            },
        });
        SimulatedRun {
            number,
            name,
            area: self.code.area(number),
            notes: [opened].into_iter().chain(joined).collect(),
            shown: vec![BTreeSet::new(); self.agents.len()],
            fitted: BTreeSet::new(),
            found: BTreeMap::new(),
            succeeded: 0,
        }
    }

    /// Simulates every agent: it finds claims, uses shown entries, and succeeds or fails.
    fn work(&self, work: &mut SimulatedRun) {
        for (number, agent) in self.agents.iter().enumerate() {
            let mut used = Vec::new();
            for (claim, _) in self.code.of_area(work.area) {
                let is_shown = work.shown[number].contains(&claim);
                let seen = if is_shown {
                    ClaimExposure::Shown
                } else {
                    ClaimExposure::Unseen
                };
                if !self.code.is_found(work.number, number, claim, seen) {
                    continue;
                }
                let stored = self
                    .memory
                    .entry_of_claim(claim)
                    .map(|stored| stored.entry.id);
                // An agent uses an entry if it was shown and reproduces its claim.
                used.extend(stored.filter(|_| is_shown));
                let finding = self.finding(work.number, number, claim);
                work.notes.push(RunNote::Observed {
                    agent: agent.clone(),
                    finding: Box::new(finding.clone()),
                    // The simulation knows which entry a finding states, so no similarity is
                    // involved.
                    says: stored.into_iter().collect(),
                });
                let findings = work.found.entry(claim).or_default();
                findings.push((number, finding));
            }
            work.notes.push(RunNote::Used {
                agent: agent.clone(),
                entries: used,
            });
            let outcome = self.outcome(work, number);
            work.succeeded += usize::from(outcome == Outcome::Succeeded);
            work.notes.push(RunNote::Ended {
                agent: agent.clone(),
                outcome,
            });
        }
    }

    fn outcome(&self, work: &SimulatedRun, agent: usize) -> Outcome {
        let shown = &work.shown[agent];
        let true_claims = shown.iter().filter(|id| self.code.claims[**id].holds());
        let right = true_claims.count();
        // Broken claims mislead like mistakes.
        let wrong = shown.len() - right;
        if self.code.succeeds(work.number, agent, right, wrong) {
            Outcome::Succeeded
        } else {
            Outcome::Failed
        }
    }

    fn finding(&self, run: usize, agent: usize, id: ClaimId) -> RunFinding {
        let claim = &self.code.claims[id];
        RunFinding {
            statement: claim.statement.clone(),
            anchors: Vec::new(),
            verify: Vec::new(),
            severity_milli: claim.severity_milli,
            confidence_milli: self.code.confidence_milli(run, agent, id),
            dismissed: false,
        }
    }

    /// Retracts false claims that a person noticed among the shown ones.
    fn take_back(&mut self, work: &SimulatedRun) {
        let shown: BTreeSet<ClaimId> = work.shown.iter().flatten().copied().collect();
        for claim in shown {
            // Drawn for true claims as well, so that draws do not depend on the policy.
            let is_noticed = self
                .dice
                .roll(DrawPurpose::Retraction, work.number, claim, 0)
                < RETRACTION_RATE;
            if is_noticed && !self.code.claims[claim].holds() {
                self.retract(claim);
            }
        }
    }

    /// Reanchors entries of the area whose claim still holds after a code change.
    fn look(&mut self, work: &SimulatedRun) {
        let claims = self.code.of_area(work.area);
        let looked_at = claims.filter_map(|(id, claim)| {
            let is_looked_at =
                self.dice.roll(DrawPurpose::Look, work.number, id, 0) < REANCHOR_RATE;
            let stored = self.memory.entry_of_claim(id)?;
            (is_looked_at && claim.holds()).then_some(stored.entry.id)
        });
        let looked_at: Vec<EntryId> = looked_at.collect();
        for id in looked_at {
            self.record_new_anchor(id, work.number);
            self.memory.anchor_again(id, work.number);
        }
    }

    /// Measures the policy's knowledge after a run.
    fn moment(&mut self, work: &SimulatedRun) -> RunMeasurement {
        let shown = || work.shown.iter().flatten();
        let wrong = |claim: &&ClaimId| !self.code.claims[**claim].holds();
        let seen: BTreeSet<ClaimId> = shown().copied().collect();
        let facts: Vec<ClaimId> = self.code.facts().collect();
        let here = facts
            .iter()
            .filter(|id| self.code.claims[**id].area == work.area);
        let known: Vec<bool> = facts.iter().map(|id| self.memory.was_known(*id)).collect();
        let showable: Vec<bool> = facts.iter().map(|id| self.is_showable(*id)).collect();
        let watched = self.life.watched(work.number);
        let still_showable: Vec<bool> = watched.map(|id| self.is_showable(id)).collect();
        self.life.watch(work.number, &still_showable);
        RunMeasurement {
            surfaced: shown().count(),
            surfaced_false: shown().filter(wrong).count(),
            facts_here: here.clone().count(),
            facts_surfaced: here.filter(|id| seen.contains(id)).count(),
            facts: facts.len(),
            facts_known_once: known.iter().filter(|it| **it).count(),
            facts_showable: showable.iter().filter(|it| **it).count(),
            found_again: self.found_again(work),
            resurrected: self.resurrected(),
            agents: self.agents.len(),
            succeeded: work.succeeded,
        }
    }

    /// Counts findings of true claims that were known before but not shown to the finder.
    fn found_again(&self, work: &SimulatedRun) -> usize {
        let found = work
            .found
            .iter()
            .filter(|(id, _)| self.code.claims[**id].holds());
        // An entry created in this run was not known before.
        let known = found.filter(|(id, _)| {
            let stored = self.memory.entry_of_claim(**id);
            self.memory.was_known(**id)
                && stored.is_none_or(|stored| !was_created_in(stored, &work.name))
        });
        let unseen = |(id, findings): (&ClaimId, &Vec<(usize, RunFinding)>)| {
            let unseen = findings
                .iter()
                .filter(|(agent, _)| !work.shown[*agent].contains(id));
            unseen.count()
        };
        known.map(unseen).sum()
    }

    /// Counts retracted claims that can be shown again, each once.
    fn resurrected(&mut self) -> usize {
        let retracted = self.retracted.iter().copied();
        let back: Vec<ClaimId> = retracted.filter(|id| self.is_showable(*id)).collect();
        // Each return counts once per retraction.
        for id in &back {
            self.retracted.remove(id);
        }
        back.len()
    }

    fn build_run(&self, work: &SimulatedRun) -> Run {
        let noted = work.notes.iter().map(|note| RunRecord {
            at: self.memory.now,
            by: self.person.clone(),
            note: note.clone(),
        });
        Run::from_records(noted).expect("the first note opens the run")
    }
}

fn was_created_in(stored: &PolicyEntry, run: &str) -> bool {
    let created = stored.entry.created.as_ref();
    let source = created.and_then(|created| created.run.as_ref());
    source.is_some_and(|source| source.id == run)
}
