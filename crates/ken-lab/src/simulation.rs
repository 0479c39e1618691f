//! One life of a policy: 500 runs over one codebase.
//!
//! Every run is made of the notes a real one would have, put together and closed by the core. What the policy
//! then writes down is in `closing`.

mod closing;
mod surfacing;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::actor::Actor;
use ken_core::event::Outcome;
use ken_core::id::EntryId;
use ken_core::run::{Finding, Manner, Member, Note, Noted, Run, Witness};
use ken_core::time::{DAY_MS, Timestamp};

use crate::dice::{About, Dice};
use crate::grid::{RUNS, RUNS_PER_DAY};
use crate::measure::{Life, Moment};
use crate::memory::{Held, Memory};
use crate::policy::Policy;
use crate::world::{Cell, ClaimId, Codebase, LOOKED_AT, RETRACTED, Seen};

/// The day the experiment begins: 2026-01-01.
const START_MS: u64 = 1_767_225_600_000;

/// Lives through all runs and returns what was seen on the way.
pub fn live(cell: Cell, policy: Policy, seed: u64) -> Life {
    live_for(cell, policy, seed, RUNS)
}

/// Like [`live`], for so many runs.
pub fn live_for(cell: Cell, policy: Policy, seed: u64, runs: usize) -> Life {
    let mut simulation = Simulation::new(cell, policy, seed);
    for run in 0..runs {
        simulation.step(run);
    }
    simulation.life
}

/// A codebase, a policy, and what the policy knows.
#[derive(Debug)]
pub struct Simulation {
    pub code: Codebase,
    pub memory: Memory,
    pub life: Life,
    policy: Policy,
    dice: Dice,
    agents: Vec<Actor>,
    person: Actor,
    /// Claims a person took back.
    retracted: BTreeSet<ClaimId>,
}

/// What happened in one run, beside its notes.
#[derive(Debug)]
struct Work {
    number: usize,
    name: String,
    area: usize,
    notes: Vec<Note>,
    /// What each agent was shown.
    shown: Vec<BTreeSet<ClaimId>>,
    /// What was shown to somebody, withheld or passed over.
    fitted: BTreeSet<EntryId>,
    /// The agents that found a claim, each with its words.
    found: BTreeMap<ClaimId, Vec<(usize, Finding)>>,
    succeeded: usize,
}

impl Simulation {
    /// Starts with the codebase of a seed and an empty memory.
    pub fn new(cell: Cell, policy: Policy, seed: u64) -> Self {
        let dice = Dice::new(seed);
        let agent = |number| format!("agent:a{number}").parse();
        let agents = (0..cell.agents).map(|it| agent(it).expect("a plain name"));
        Self {
            code: Codebase::new(cell, dice),
            memory: Memory::new(seed, Timestamp::from_millis(START_MS)),
            life: Life::default(),
            policy,
            dice,
            agents: agents.collect(),
            person: "human:lead".parse().expect("a plain name"),
            retracted: BTreeSet::new(),
        }
    }

    /// Lives through one run.
    pub fn step(&mut self, number: usize) {
        let since_start = DAY_MS / RUNS_PER_DAY as u64 * number as u64;
        self.memory.now = Timestamp::from_millis(START_MS + since_start);
        if let Some(broken) = self.code.next_to_break(number) {
            let was_showable = self.is_showable(broken);
            self.life.broke(number, broken, was_showable);
            self.code.change(number, broken);
        }
        self.forget_what_is_too_old();
        let mut work = self.open(number);
        self.surface(&mut work);
        self.work(&mut work);
        self.close(&work);
        self.take_back(&work);
        self.look(&work);
        self.memory.settle();
        let moment = self.moment(&work);
        self.life.add(moment);
    }

    /// Returns whether the policy would show a claim.
    pub fn is_showable(&self, claim: ClaimId) -> bool {
        let held = self.memory.of_claim(claim);
        held.is_some_and(|held| self.may_show(held))
    }

    fn open(&self, number: usize) -> Work {
        let name = format!("run-{number}");
        let opened = Note::Opened {
            run: name.clone(),
            manner: Manner::Explicit,
            witness: Witness::Orchestrator,
            thread: None,
            task: None,
        };
        let joined = self.agents.iter().map(|agent| Note::Joined {
            agent: agent.clone(),
            member: Member {
                declared: true,
                ..Member::default()
            },
        });
        Work {
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

    /// Lets every agent do its work: find things, use what it was shown, succeed or fail.
    fn work(&self, work: &mut Work) {
        for (number, agent) in self.agents.iter().enumerate() {
            let mut used = Vec::new();
            for (claim, _) in self.code.of_area(work.area) {
                let is_shown = work.shown[number].contains(&claim);
                let seen = if is_shown { Seen::Shown } else { Seen::Unseen };
                if !self.code.is_found(work.number, number, claim, seen) {
                    continue;
                }
                let held = self.memory.of_claim(claim).map(|held| held.entry.id);
                used.extend(held.filter(|_| is_shown));
                let finding = self.finding(work.number, number, claim);
                work.notes.push(Note::Observed {
                    agent: agent.clone(),
                    finding: Box::new(finding.clone()),
                    says: held.into_iter().collect(),
                });
                let words = work.found.entry(claim).or_default();
                words.push((number, finding));
            }
            work.notes.push(Note::Used {
                agent: agent.clone(),
                entries: used,
            });
            let outcome = self.outcome(work, number);
            work.succeeded += usize::from(outcome == Outcome::Succeeded);
            work.notes.push(Note::Ended {
                agent: agent.clone(),
                outcome,
            });
        }
    }

    fn outcome(&self, work: &Work, agent: usize) -> Outcome {
        let shown = &work.shown[agent];
        let right = shown.iter().filter(|id| self.code.claims[**id].holds());
        let right = right.count();
        let wrong = shown.len() - right;
        match self.code.succeeds(work.number, agent, right, wrong) {
            true => Outcome::Succeeded,
            false => Outcome::Failed,
        }
    }

    fn finding(&self, run: usize, agent: usize, id: ClaimId) -> Finding {
        let claim = &self.code.claims[id];
        Finding {
            statement: claim.statement.clone(),
            evidence: Vec::new(),
            verify: Vec::new(),
            severity_milli: claim.severity_milli,
            confidence_milli: self.code.confidence_milli(run, agent, id),
            dismissed: false,
        }
    }

    /// Lets a person take back false claims that were shown.
    fn take_back(&mut self, work: &Work) {
        let shown: BTreeSet<ClaimId> = work.shown.iter().flatten().copied().collect();
        for claim in shown {
            let is_noticed = self.dice.roll(About::Retraction, work.number, claim, 0) < RETRACTED;
            if is_noticed && !self.code.claims[claim].holds() {
                self.retract(claim);
            }
        }
    }

    /// Lets somebody look at entries of the area whose code changed.
    fn look(&mut self, work: &Work) {
        let claims = self.code.of_area(work.area);
        let looked_at = claims.filter_map(|(id, claim)| {
            let is_looked_at = self.dice.roll(About::Look, work.number, id, 0) < LOOKED_AT;
            let held = self.memory.of_claim(id)?;
            (is_looked_at && claim.holds()).then_some(held.entry.id)
        });
        let looked_at: Vec<EntryId> = looked_at.collect();
        for id in looked_at {
            self.memory.anchor_again(id, work.number);
        }
    }

    /// Returns what can be seen of the knowledge after a run.
    fn moment(&mut self, work: &Work) -> Moment {
        let shown = || work.shown.iter().flatten();
        let wrong = |claim: &&ClaimId| !self.code.claims[**claim].holds();
        let seen: BTreeSet<ClaimId> = shown().copied().collect();
        let facts: Vec<ClaimId> = self.code.facts().collect();
        let here = facts
            .iter()
            .filter(|id| self.code.claims[**id].area == work.area);
        let known: Vec<bool> = facts.iter().map(|id| self.memory.knew(*id)).collect();
        let showable: Vec<bool> = facts.iter().map(|id| self.is_showable(*id)).collect();
        let watched = self.life.watched(work.number);
        let watched: Vec<bool> = watched.map(|id| self.is_showable(id)).collect();
        self.life.watch(work.number, &watched);
        Moment {
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

    /// Counts findings of true claims that were known before and not shown to whoever found them.
    fn found_again(&self, work: &Work) -> usize {
        let found = work.found.iter();
        let found = found.filter(|(id, _)| self.code.claims[**id].holds());
        // What became an entry in this very run was not known before.
        let known = found.filter(|(id, _)| {
            let held = self.memory.of_claim(**id);
            self.memory.knew(**id) && held.is_none_or(|held| !is_from(held, &work.name))
        });
        let unseen = |(id, words): (&ClaimId, &Vec<(usize, Finding)>)| {
            let unseen = words
                .iter()
                .filter(|(agent, _)| !work.shown[*agent].contains(id));
            unseen.count()
        };
        known.map(unseen).sum()
    }

    /// Counts claims that were taken back and can be shown again, each time once.
    fn resurrected(&mut self) -> usize {
        let retracted = self.retracted.iter().copied();
        let back: Vec<ClaimId> = retracted.filter(|id| self.is_showable(*id)).collect();
        for id in &back {
            self.retracted.remove(id);
        }
        back.len()
    }

    fn add_up(&self, work: &Work) -> Run {
        let noted = work.notes.iter().map(|note| Noted {
            at: self.memory.now,
            by: self.person.clone(),
            note: note.clone(),
        });
        Run::of(noted).expect("the first note opens the run")
    }
}

fn is_from(held: &Held, run: &str) -> bool {
    let created = held.entry.created.as_ref();
    let source = created.and_then(|created| created.run.as_ref());
    source.is_some_and(|source| source.id == run)
}
