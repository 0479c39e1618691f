//! The experiment on the real engine: runs, briefings, findings, code checks and closing in a
//! temporary repository, at reduced size. Its figures agree with those of the core's simulation.
//!
//! The world is the same: which agent finds what, which code changes and what a person retracts
//! follow from the seed. Different are the parts that the core's simulation replaces: statements
//! are compared by their words, entries are found by search, and anchors are checked in source
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Outcome, RetractReason};
use ken_core::retrieval::score::{HiddenReason, hidden_reason};
use ken_core::trust::rediscovery::{RediscoveryMode, RediscoveryPolicy};
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::{RunFinding, RunMember, RunNote, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::anchor::Anchor;
use ken_core::values::id::{EntryId, IdSource};
use ken_core::values::time::{DAY_MS, Timestamp};
use ken_engine::runs::{EntryReader, OpenRunRequest};
use ken_engine::runtime::Runtime;
use ken_engine::search::{SearchQuery, SelectionLimits};
use ken_engine::{Engine, GitEnv, init};
use ken_lab::dice::{DrawPurpose, SeededDice, SimulationIds};
use ken_lab::grid::{MIDDLE, RUNS_PER_DAY, SHOWN_MAX};
use ken_lab::measure::{Measure, RunMeasurement, SimulationRecord};
use ken_lab::policy::{BeliefModel, EntryGate, KnowledgePolicy};
use ken_lab::simulation::simulate_runs;
use ken_lab::world::{
    AREAS, ClaimExposure, ClaimId, GridCell, REANCHOR_RATE, RETRACTION_RATE, SimulatedCodebase,
};
use tempfile::TempDir;

/// Runs of each simulation.
const RUNS: usize = 60;

/// Seeds on the engine, the first of those on the core. No published result uses them.
const ENGINE_SEEDS: u64 = 2;
const CORE_SEEDS: std::ops::Range<u64> = 3_000..3_020;

/// 97.5 % quantile of Student's t distribution with 19 degrees of freedom.
const STUDENT_19: f64 = 2.093;

/// The middle cell with fewer mistakes, each of which is made more often.
const CELL: GridCell = GridCell {
    recurrence: 0.05,
    ..MIDDLE
};

/// Words of each area, which every statement about it has and its agents search for.
const AREA_WORDS: [&str; AREAS] = [
    "billing invoice tax",
    "search query index",
    "nightly export currency",
    "login session password",
    "cache eviction memory",
    "chart report axis",
];

/// 2026-01-01.
const START_MS: u64 = 1_767_225_600_000;

/// A clock that the simulation sets, and ids from the seed.
#[derive(Debug)]
struct SimulatedRuntime {
    millis: Arc<AtomicU64>,
    ids: SimulationIds,
}

impl Runtime for SimulatedRuntime {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

impl IdSource for SimulatedRuntime {
    fn random(&mut self) -> u128 {
        self.ids.random()
    }
}

/// A codebase in a temporary repository, and the engine that keeps its knowledge.
struct EngineSimulation {
    dir: TempDir,
    engine: Engine,
    millis: Arc<AtomicU64>,
    code: SimulatedCodebase,
    dice: SeededDice,
    /// How often the code of each claim changed.
    versions: BTreeMap<ClaimId, usize>,
    /// Claims that were ever an entry, and the entry.
    entries: BTreeMap<ClaimId, EntryId>,
    record: SimulationRecord,
}

/// A run in progress.
struct EngineRun {
    number: usize,
    name: String,
    area: usize,
    agents: Vec<Actor>,
    /// Claims shown to each agent.
    shown: Vec<BTreeSet<ClaimId>>,
    succeeded: usize,
}

fn actor(name: &str) -> Actor {
    name.parse().expect("a plain name")
}

/// Returns a pronounceable word for a number, so that claims share no word but those of their area.
fn word(number: usize) -> String {
    let syllable = |digit: usize| {
        let (consonants, vowels) = (["b", "d", "f", "g", "k", "l", "m", "n", "p", "r"], "aeiou");
        let vowel = vowels.chars().nth(digit % 5).expect("below five");
        format!("{}{vowel}", consonants[digit / 5 % 10])
    };
    [number, number / 50, number / 2_500].map(syllable).concat()
}

fn statement(area: usize, claim: ClaimId) -> String {
    // Neighboring numbers would give similar words.
    let [a, b, c, d] = [1, 2, 3, 4].map(|nth| word((claim * 4 + nth) * 7_919 % 125_000));
    format!(
        "In {} the {a} needs {b}, and {c} fails without {d}",
        AREA_WORDS[area]
    )
}

impl EngineSimulation {
    fn new(mode: RediscoveryMode, seed: u64) -> Self {
        let dir = tempfile::tempdir().expect("as it was set up");
        let git = Command::new("git")
            .args(["init", "-q"])
            .current_dir(&dir)
            .status();
        assert!(git.expect("as it was set up").success());
        init::init(dir.path(), &GitEnv::default()).expect("as it was set up");
        let millis = Arc::new(AtomicU64::new(START_MS));
        let runtime = SimulatedRuntime {
            millis: Arc::clone(&millis),
            ids: SimulationIds::new(seed),
        };
        let mut engine = Engine::open(dir.path(), &GitEnv::default(), None, Box::new(runtime))
            .expect("as it was set up");
        // A setting that equals the default is refused as no change.
        let policy = policy_of(mode).review();
        if mode != RediscoveryMode::Observe {
            engine
                .set_review_policy(Some(policy), &actor("human:lead"))
                .expect("as it was set up");
        }
        let dice = SeededDice::new(seed);
        let simulation = Self {
            dir,
            engine,
            millis,
            code: SimulatedCodebase::new(CELL, dice),
            dice,
            versions: BTreeMap::new(),
            entries: BTreeMap::new(),
            record: SimulationRecord::default(),
        };
        (0..AREAS).for_each(|area| simulation.write_area(area));
        simulation
    }

    /// Writes the source file of an area: one function per claim.
    fn write_area(&self, area: usize) {
        let functions = self.code.of_area(area).map(|(id, _)| {
            let version = self.versions.get(&id).copied().unwrap_or_default();
            format!("pub fn claim_{id}() -> usize {{\n    {id} + {version}\n}}\n")
        });
        let text: String = functions.collect();
        write(self.dir.path(), &format!("src/area_{area}.rs"), &text);
    }

    fn step(&mut self, number: usize) {
        let since_start = DAY_MS / RUNS_PER_DAY as u64 * number as u64;
        self.millis.store(START_MS + since_start, Ordering::Relaxed);
        if let Some(broken) = self.code.next_to_break(number) {
            self.change(number, broken);
        }
        let mut run = self.open(number);
        self.brief(&mut run);
        let found = self.work(&mut run);
        self.close(&run, &found);
        self.retract_noticed(&run);
        self.look(&run);
        let measured = self.measure(&run);
        self.record.add(measured);
    }

    /// Breaks a claim and changes the code that the check sees.
    fn change(&mut self, number: usize, broken: ClaimId) {
        let area = self.code.claims[broken].area;
        self.code.change(number, broken);
        let touched = self.code.of_area(area);
        let touched = touched.filter(|(_, claim)| claim.touched == Some(number));
        for id in touched.map(|(id, _)| id).collect::<Vec<_>>() {
            *self.versions.entry(id).or_default() += 1;
        }
        // Also if the check sees nothing: the new fact needs a function to be anchored at.
        self.write_area(area);
    }

    fn open(&mut self, number: usize) -> EngineRun {
        // New agents in every run: whoever added an entry cannot confirm it.
        let agents = (0..CELL.agents).map(|agent| actor(&format!("agent:r{number}-a{agent}")));
        let agents: Vec<Actor> = agents.collect();
        let name = format!("run-{number}");
        let members = agents.iter().cloned().map(|it| (it, RunMember::default()));
        let wish = OpenRunRequest {
            id: Some(name.clone()),
            agents: members.collect(),
            witness: RunWitness::Orchestrator,
            ..OpenRunRequest::default()
        };
        self.engine
            .open_run(wish, &actor("human:lead"))
            .expect("as it was set up");
        EngineRun {
            number,
            name,
            area: self.code.area(number),
            shown: vec![BTreeSet::new(); agents.len()],
            agents,
            succeeded: 0,
        }
    }

    /// Briefs every agent about the area.
    fn brief(&mut self, run: &mut EngineRun) {
        let search = SearchQuery {
            query: AREA_WORDS[run.area].to_owned(),
            run: Some(run.name.clone()),
            ..SearchQuery::default()
        };
        let portion = SelectionLimits {
            cap: SHOWN_MAX,
            budget: usize::MAX,
            tier: None,
            role: None,
        };
        // Entries are told by id, the world knows claims.
        let claims: BTreeMap<EntryId, ClaimId> = self
            .entries
            .iter()
            .map(|(claim, id)| (*id, *claim))
            .collect();
        for number in 0..run.agents.len() {
            let mut brief = self
                .engine
                .brief(&search, &mut |_, _| ())
                .expect("as it was set up");
            let reader = reader(run, number);
            let page = self
                .engine
                .render_briefing(&mut brief, portion, Some(&reader))
                .expect("as it was set up");
            run.shown[number] = page.shown.iter().map(|it| claims[&it.id]).collect();
        }
    }

    /// Lets every agent report what it finds, use what it was shown, and succeed or fail. Returns
    /// the claims that were found.
    fn work(&mut self, run: &mut EngineRun) -> BTreeSet<ClaimId> {
        let mut found = BTreeSet::new();
        for number in 0..run.agents.len() {
            let (agent, shown) = (run.agents[number].clone(), run.shown[number].clone());
            let exposure = |claim: &ClaimId| {
                if shown.contains(claim) {
                    ClaimExposure::Shown
                } else {
                    ClaimExposure::Unseen
                }
            };
            let claims: Vec<ClaimId> = self.code.of_area(run.area).map(|(id, _)| id).collect();
            let is_found = |claim: &ClaimId| {
                self.code
                    .is_found(run.number, number, *claim, exposure(claim))
            };
            let stated: Vec<ClaimId> = claims.into_iter().filter(is_found).collect();
            // An agent uses an entry if it was shown it and repeats its claim, as in the core's
            // simulation.
            let used = stated.iter().filter(|claim| shown.contains(claim));
            let used: Vec<EntryId> = used.map(|claim| self.entries[claim]).collect();
            for claim in &stated {
                let finding = self.finding(run.number, number, *claim);
                self.engine
                    .observe(&reader(run, number), finding)
                    .expect("as it was set up");
            }
            // Broken claims mislead like mistakes.
            let right = shown.iter().filter(|id| self.code.claims[**id].holds());
            let right = right.count();
            let wrong = shown.len() - right;
            let succeeds = self.code.succeeds(run.number, number, right, wrong);
            run.succeeded += usize::from(succeeds);
            let notes = [
                RunNote::Used {
                    agent: agent.clone(),
                    entries: used,
                },
                RunNote::Ended {
                    agent,
                    outcome: outcome(succeeds),
                },
            ];
            for note in notes {
                self.engine
                    .record_note(&run.name, note, &actor("human:lead"))
                    .expect("as it was set up");
            }
            found.extend(stated);
        }
        found
    }

    fn finding(&self, run: usize, agent: usize, id: ClaimId) -> RunFinding {
        let claim = &self.code.claims[id];
        let place = format!("src/area_{}.rs#claim_{id}", claim.area);
        let anchor = claim.has_anchor.then(|| Anchor {
            at: place.parse().expect("a location"),
            fingerprint: None,
        });
        RunFinding {
            statement: statement(claim.area, id).parse().expect("a statement"),
            anchors: anchor.into_iter().collect(),
            verify: Vec::new(),
            severity_milli: claim.severity_milli,
            confidence_milli: self.code.confidence_milli(run, agent, id),
            dismissed: false,
        }
    }

    fn close(&mut self, run: &EngineRun, found: &BTreeSet<ClaimId>) {
        let ending = RunEnding {
            outcome: outcome(2 * run.succeeded >= run.agents.len()),
            quality_milli: None,
            rounds: 1,
            cost_micros: 0,
            strategy: None,
        };
        let closed = self
            .engine
            .close_run(&run.name, &ending, &actor("human:lead"))
            .expect("as it was set up");
        for id in closed.gained {
            let entry = self.engine.entry(id).expect("as it was set up");
            assert!(entry.quarantine.is_empty(), "{}", entry.statement_text());
            let states = |claim: &&ClaimId| {
                statement(self.code.claims[**claim].area, **claim) == entry.statement_text()
            };
            let claim = found.iter().find(states).expect("somebody found it");
            // Equal statements must have been matched with the first entry.
            let before = self.entries.insert(*claim, id);
            assert_eq!(before, None, "a claim became two entries");
        }
    }

    /// Retracts false claims that a person noticed among the shown ones.
    fn retract_noticed(&mut self, run: &EngineRun) {
        let shown: BTreeSet<ClaimId> = run.shown.iter().flatten().copied().collect();
        for claim in shown {
            // Drawn as in the core's simulation, so both lose the same claims.
            let is_noticed = self
                .dice
                .roll(DrawPurpose::Retraction, run.number, claim, 0)
                < RETRACTION_RATE;
            if is_noticed && !self.code.claims[claim].holds() {
                let (id, by) = (self.entries[&claim], actor("human:lead"));
                self.engine
                    .retract(id, RetractReason::False, None, &by)
                    .expect("as it was set up");
            }
        }
    }

    /// Points entries whose code changed at it anew if their claim still holds. A person does: no
    /// agent may change a verified entry.
    fn look(&mut self, run: &EngineRun) {
        let claims = self.code.of_area(run.area);
        let looked_at = claims.filter(|(id, claim)| {
            let roll = self.dice.roll(DrawPurpose::Look, run.number, *id, 0);
            roll < REANCHOR_RATE && claim.holds()
        });
        let looked_at: Vec<ClaimId> = looked_at.map(|(id, _)| id).collect();
        for (entry, reason) in self.hidden_reasons(&looked_at) {
            if reason == Some(HiddenReason::Changed) {
                let places = entry.content.iter().flat_map(|it| &it.anchors);
                let places = places.map(|anchor| anchor.at.clone()).collect();
                self.engine
                    .reanchor_to(entry.id, places, &actor("human:lead"))
                    .expect("as it was set up");
            }
        }
    }

    /// Returns the entries of claims, each with the reason why it is hidden.
    fn hidden_reasons(&mut self, claims: &[ClaimId]) -> Vec<(Entry, Option<HiddenReason>)> {
        let ids = claims.iter().filter_map(|id| self.entries.get(id));
        let entries = ids.map(|id| self.engine.entry(*id).expect("as it was set up"));
        let entries: Vec<Entry> = entries.collect();
        let facts = self.engine.entry_facts(&entries).expect("as it was set up");
        let both = entries.into_iter().zip(&facts);
        both.map(|(entry, facts)| {
            let reason = hidden_reason(&entry, facts);
            (entry, reason)
        })
        .collect()
    }

    fn measure(&mut self, run: &EngineRun) -> RunMeasurement {
        let shown: Vec<ClaimId> = run.shown.iter().flatten().copied().collect();
        let facts: Vec<ClaimId> = self.code.facts().collect();
        let policy = self
            .engine
            .review_policy()
            .expect("as it was set up")
            .rediscovery;
        let known = self.hidden_reasons(&facts);
        let showable = known
            .iter()
            .filter(|(entry, reason)| reason.is_none() && policy.may_push(entry));
        let wrong = shown.iter().filter(|id| !self.code.claims[**id].holds());
        RunMeasurement {
            surfaced: shown.len(),
            surfaced_false: wrong.count(),
            facts: facts.len(),
            facts_known_once: known.len(),
            facts_showable: showable.count(),
            agents: run.agents.len(),
            succeeded: run.succeeded,
            ..RunMeasurement::default()
        }
    }
}

fn reader(run: &EngineRun, agent: usize) -> EntryReader {
    EntryReader {
        agent: run.agents[agent].clone(),
        run: Some(run.name.clone()),
        session: None,
    }
}

fn outcome(succeeds: bool) -> Outcome {
    if succeeds {
        Outcome::Succeeded
    } else {
        Outcome::Failed
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("in a folder")).expect("as it was set up");
    fs::write(path, text).expect("as it was set up");
}

/// Returns Ken in a mode, with the standard model, as a workspace has it.
fn policy_of(mode: RediscoveryMode) -> KnowledgePolicy {
    KnowledgePolicy::Ken {
        gate: EntryGate::Accumulation,
        review: ReviewPolicy {
            rediscovery: RediscoveryPolicy { mode, fitted: None },
            ..ReviewPolicy::default()
        },
        model: BeliefModel::Standard,
    }
}

fn share(record: &SimulationRecord, measure: Measure) -> f64 {
    let at = Measure::ALL.iter().position(|it| *it == measure);
    record.figures().last[at.expect("a measure")]
}

/// Compares the engine with the core: the mean of its seeds lies where the mean of as many seeds
/// of the core would lie in 95 of 100 cases.
fn assert_engine_agrees(mode: RediscoveryMode) {
    let core = CORE_SEEDS.map(|seed| simulate_runs(CELL, policy_of(mode), seed, RUNS));
    let core: Vec<SimulationRecord> = core.collect();
    let engine = CORE_SEEDS.take(usize::try_from(ENGINE_SEEDS).expect("few"));
    let engine: Vec<SimulationRecord> = engine
        .map(|seed| {
            let mut simulation = EngineSimulation::new(mode, seed);
            (0..RUNS).for_each(|run| simulation.step(run));
            simulation.record
        })
        .collect();
    let mut report = String::new();
    let mut agrees = true;
    for measure in [Measure::FalseSurfaced, Measure::Retained] {
        let of = |records: &[SimulationRecord]| -> Vec<f64> {
            records.iter().map(|it| share(it, measure)).collect()
        };
        let (core, engine) = (of(&core), of(&engine));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let variance = core
            .iter()
            .map(|it| (it - mean(&core)).powi(2))
            .sum::<f64>();
        let deviation = (variance / (core.len() - 1) as f64).sqrt();
        let counts = 1.0 / core.len() as f64 + 1.0 / engine.len() as f64;
        let half = STUDENT_19 * deviation * counts.sqrt();
        let difference = mean(&engine) - mean(&core);
        agrees &= difference.abs() <= half;
        report += &format!(
            "{mode} {}: core {:.3}, engine {:.3} {engine:.3?}, difference {difference:+.3}, \
             interval {half:.3}\n",
            measure.word(),
            mean(&core),
            mean(&engine),
        );
    }
    assert!(agrees, "{report}");
}

#[test]
fn the_engine_that_observes_has_the_figures_of_the_core() {
    assert_engine_agrees(RediscoveryMode::Observe);
}

#[test]
fn the_engine_that_gates_has_the_figures_of_the_core() {
    assert_engine_agrees(RediscoveryMode::Gate);
}
