//! Measures of a simulation: curves over its runs and final figures.

use serde::Serialize;

use crate::grid::{RESULT_RUNS, WATCHED_RUNS, WINDOW_RUNS};
use crate::world::ClaimId;

/// Measurement after one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunMeasurement {
    /// Entries shown, summed over agents.
    pub surfaced: usize,
    pub surfaced_false: usize,
    /// Facts of the run's area, and those that were shown to an agent.
    pub facts_here: usize,
    pub facts_surfaced: usize,
    /// Facts that are true now, those that were ever an entry, and those that would be shown.
    pub facts: usize,
    pub facts_known_once: usize,
    pub facts_showable: usize,
    /// True claims known before that were found by agents who were not shown them.
    pub found_again: usize,
    /// Retracted claims that can be shown again.
    pub resurrected: usize,
    pub agents: usize,
    pub succeeded: usize,
}

/// A measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Share of false claims among those surfaced.
    FalseSurfaced,
    /// Share of the true claims that were ever an entry that would be shown.
    Retained,
    /// Share of all true facts that would be shown.
    Known,
    /// Share of the facts of a run's area that were shown to an agent.
    Reached,
    /// Share of successful work.
    Success,
    /// Number of the 100 runs after a breaking change after which the broken claim would still be
    /// shown.
    Forgetting,
    /// True claims rediscovered by agents that were not shown them, per 100 runs of an agent.
    Relearning,
    /// Retracted claims that returned, in a whole simulation.
    Resurrections,
}

impl Measure {
    /// All measures, in the order of the tables.
    pub const ALL: [Self; 8] = [
        Self::FalseSurfaced,
        Self::Retained,
        Self::Known,
        Self::Reached,
        Self::Success,
        Self::Forgetting,
        Self::Relearning,
        Self::Resurrections,
    ];

    /// Returns the name used in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::FalseSurfaced => "false_surfaced",
            Self::Retained => "retained",
            Self::Known => "known",
            Self::Reached => "reached",
            Self::Success => "success",
            Self::Forgetting => "forgetting",
            Self::Relearning => "relearning",
            Self::Resurrections => "resurrections",
        }
    }

    /// Computes the measure over some runs; measures of a whole simulation are 0.
    fn of(self, moments: &[RunMeasurement]) -> f64 {
        let sum = |count: fn(&RunMeasurement) -> usize| moments.iter().map(count).sum::<usize>();
        match self {
            Self::FalseSurfaced => share(sum(|it| it.surfaced_false), sum(|it| it.surfaced)),
            Self::Retained => share(sum(|it| it.facts_showable), sum(|it| it.facts_known_once)),
            Self::Known => share(sum(|it| it.facts_showable), sum(|it| it.facts)),
            Self::Reached => share(sum(|it| it.facts_surfaced), sum(|it| it.facts_here)),
            Self::Success => share(sum(|it| it.succeeded), sum(|it| it.agents)),
            Self::Relearning => 100.0 * share(sum(|it| it.found_again), sum(|it| it.agents)),
            Self::Resurrections => sum(|it| it.resurrected) as f64,
            // Computed from broken claims and not from single runs.
            Self::Forgetting => 0.0,
        }
    }
}

/// A broken claim, and for each run since whether it would still have been shown.
#[derive(Clone, Debug, PartialEq)]
struct BrokenClaim {
    run: usize,
    claim: ClaimId,
    showable: Vec<bool>,
}

/// All measurements of one simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulationRecord {
    moments: Vec<RunMeasurement>,
    breaks: Vec<BrokenClaim>,
}

/// The curves and figures of one simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulationFigures {
    /// One value per measure, in the order of [`Measure::ALL`].
    pub last: Vec<f64>,
    /// Per measure its value in every window of runs.
    pub curves: Vec<Vec<f64>>,
    /// Share of broken claims that would still be shown, by runs after the change.
    pub forgetting: Vec<f64>,
}

impl SimulationRecord {
    /// Adds the measurement of a run.
    pub fn add(&mut self, moment: RunMeasurement) {
        self.moments.push(moment);
    }

    /// Records a broken claim, if it would have been shown before.
    pub fn broke(&mut self, run: usize, claim: ClaimId, was_showable: bool) {
        // A claim that was never shown cannot be forgotten.
        if was_showable {
            self.breaks.push(BrokenClaim {
                run,
                claim,
                showable: Vec::new(),
            });
        }
    }

    /// Returns the broken claims that are still watched.
    pub fn watched(&self, run: usize) -> impl Iterator<Item = ClaimId> + '_ {
        let watched = self.breaks.iter().filter(move |it| it.is_watched(run));
        watched.map(|it| it.claim)
    }

    /// Records which of the watched claims would be shown.
    pub fn watch(&mut self, run: usize, showable: &[bool]) {
        let watched = self.breaks.iter_mut().filter(|it| it.is_watched(run));
        for (it, showable) in watched.zip(showable) {
            it.showable.push(*showable);
        }
    }

    /// Returns the measurements, one per run.
    pub fn moments(&self) -> &[RunMeasurement] {
        &self.moments
    }

    /// Computes curves and figures.
    pub fn figures(&self) -> SimulationFigures {
        // The last runs show the steady state, without the initial growth.
        let last = &self.moments[self.moments.len().saturating_sub(RESULT_RUNS)..];
        let figure = |measure: Measure| match measure {
            Measure::Forgetting => self.forgetting().iter().sum(),
            // A return is rare, so the last runs alone would mostly show zero.
            Measure::Resurrections => measure.of(&self.moments),
            Measure::FalseSurfaced
            | Measure::Retained
            | Measure::Known
            | Measure::Reached
            | Measure::Success
            | Measure::Relearning => measure.of(last),
        };
        let curve = |measure: Measure| {
            let windows = self.moments.chunks(WINDOW_RUNS);
            windows.map(|moments| measure.of(moments)).collect()
        };
        SimulationFigures {
            last: Measure::ALL.into_iter().map(figure).collect(),
            curves: Measure::ALL.into_iter().map(curve).collect(),
            forgetting: self.forgetting(),
        }
    }

    /// Returns the share of broken claims that would still be shown, per run after the change.
    /// Claims that broke too late to be watched to the end are excluded.
    fn forgetting(&self) -> Vec<f64> {
        let whole = self
            .breaks
            .iter()
            .filter(|it| it.showable.len() == WATCHED_RUNS);
        let whole: Vec<&BrokenClaim> = whole.collect();
        let after = |run: usize| whole.iter().filter(|it| it.showable[run]).count();
        (0..WATCHED_RUNS)
            .map(|run| share(after(run), whole.len()))
            .collect()
    }
}

impl BrokenClaim {
    fn is_watched(&self, run: usize) -> bool {
        run < self.run + WATCHED_RUNS
    }
}

/// Returns a share, or 0 if `whole` is 0.
fn share(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 / whole as f64,
    }
}
