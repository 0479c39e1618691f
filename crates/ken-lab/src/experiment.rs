//! The experiment: settings are chosen on the tuning seeds, then all cells run on the test seeds.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::grid::{MIDDLE, NamedCell, RETENTION_TOLERANCE, settings};
use crate::measure::{Measure, SimulationFigures};
use crate::policy::{KnowledgePolicy, PolicyName};
use crate::simulation::simulate;
use crate::statistics::MeanEstimate;
use crate::world::GridCell;

/// Number of simulations that run in parallel.
const THREADS: usize = 2;

/// Results of one setting on the tuning seeds.
#[derive(Clone, Debug, Serialize)]
pub struct TriedSetting {
    #[serde(skip)]
    pub policy: KnowledgePolicy,
    pub name: PolicyName,
    pub settings: String,
    pub false_surfaced: f64,
    pub retained: f64,
    pub is_chosen: bool,
}

/// Results of one policy in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct CellResult {
    pub cell: String,
    pub parameters: GridCell,
    pub policy: PolicyName,
    pub settings: String,
    /// The figures of each seed.
    pub seeds: Vec<SimulationFigures>,
}

impl CellResult {
    /// Returns a measure for every seed.
    pub fn values(&self, measure: Measure) -> Vec<f64> {
        let place = measure_index(measure);
        self.seeds.iter().map(|seed| seed.last[place]).collect()
    }

    /// Returns a measure with its confidence interval.
    pub fn estimate(&self, measure: Measure) -> MeanEstimate {
        MeanEstimate::of(&self.values(measure))
    }

    /// Describes the shares with their intervals on one line.
    pub fn brief(&self) -> String {
        let figure = |measure: Measure| {
            let MeanEstimate { mean, low, .. } = self.estimate(measure);
            let (percent, width) = (100.0 * mean, 100.0 * (mean - low));
            format!("{} {percent:.1} ± {width:.1}", measure.word())
        };
        let figures = Measure::ALL.into_iter().take(5).map(figure);
        figures.collect::<Vec<String>>().join(", ")
    }

    /// Returns a measure per window of runs, with confidence intervals.
    pub fn curve(&self, measure: Measure) -> Vec<MeanEstimate> {
        let place = measure_index(measure);
        self.points(&|seed| &seed.curves[place])
    }

    /// Returns the share of broken claims that would still be shown, by runs after the change.
    pub fn forgetting(&self) -> Vec<MeanEstimate> {
        self.points(&|seed| &seed.forgetting)
    }

    fn points(&self, curve: &dyn Fn(&SimulationFigures) -> &Vec<f64>) -> Vec<MeanEstimate> {
        let length = self.seeds.first().map_or(0, |seed| curve(seed).len());
        let point = |at: usize| {
            let values: Vec<f64> = self.seeds.iter().map(|seed| curve(seed)[at]).collect();
            MeanEstimate::of(&values)
        };
        (0..length).map(point).collect()
    }
}

/// Runs every setting of every policy in the middle cell and marks the chosen ones.
pub fn tune(seeds: Range<u64>, progress: &dyn Fn(&str)) -> Vec<TriedSetting> {
    let mut all = Vec::new();
    for name in PolicyName::ALL {
        progress(&format!("tuning {}", name.word()));
        let tried = settings(name).into_iter().map(|policy| {
            // Tuning in other cells would adapt the settings to the test.
            let figures = simulate_seeds(MIDDLE, policy, seeds.clone());
            summarize_setting(policy, &figures)
        });
        let mut tried: Vec<TriedSetting> = tried.collect();
        mark_chosen(&mut tried);
        all.extend(tried);
    }
    all
}

/// Returns the chosen setting of each policy.
pub fn chosen_policies(tried: &[TriedSetting]) -> Vec<KnowledgePolicy> {
    let chosen = tried.iter().filter(|it| it.is_chosen);
    chosen.map(|it| it.policy).collect()
}

/// Runs policies in cells.
pub fn run_cells(
    cells: &[NamedCell],
    policies: &[KnowledgePolicy],
    seeds: Range<u64>,
    progress: &dyn Fn(&str),
) -> Vec<CellResult> {
    let mut results = Vec::new();
    for NamedCell { name, cell } in cells {
        results.extend(policies.iter().map(|policy| {
            let result = CellResult {
                cell: (*name).to_owned(),
                parameters: *cell,
                policy: policy.name(),
                settings: policy.settings(),
                seeds: simulate_seeds(*cell, *policy, seeds.clone()),
            };
            progress(&format!(
                "cell {name}, {}: {}",
                policy.name().word(),
                result.brief()
            ));
            result
        }));
    }
    results
}

fn summarize_setting(policy: KnowledgePolicy, figures: &[SimulationFigures]) -> TriedSetting {
    let mean = |measure| {
        let values: Vec<f64> = figures
            .iter()
            .map(|it| it.last[measure_index(measure)])
            .collect();
        MeanEstimate::of(&values).mean
    };
    TriedSetting {
        policy,
        name: policy.name(),
        settings: policy.settings(),
        false_surfaced: mean(Measure::FalseSurfaced),
        retained: mean(Measure::Retained),
        is_chosen: false,
    }
}

/// Marks the setting with the fewest false claims among those with sufficient retention.
fn mark_chosen(tried: &mut [TriedSetting]) {
    let best = tried.iter().map(|it| it.retained).fold(0.0, f64::max);
    let enough = tried
        .iter_mut()
        .filter(|it| it.retained >= best - RETENTION_TOLERANCE);
    // `min_by` returns the first of equal settings.
    let chosen = enough.min_by(|a, b| a.false_surfaced.total_cmp(&b.false_surfaced));
    if let Some(chosen) = chosen {
        chosen.is_chosen = true;
    }
}

/// Runs one simulation per seed; the results are in the order of the seeds.
fn simulate_seeds(
    cell: GridCell,
    policy: KnowledgePolicy,
    seeds: Range<u64>,
) -> Vec<SimulationFigures> {
    let seeds: Vec<u64> = seeds.collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<SimulationFigures>>> = Mutex::new(vec![None; seeds.len()]);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                // Threads take the next seed, because simulations differ in duration.
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let figures = simulate(cell, policy, *seed).figures();
                    let at = seeds.iter().position(|it| it == seed);
                    // A panic in another thread propagates through the scope; poisoning adds
                    // nothing.
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done[at.expect("a seed of the list")] = Some(figures);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().flatten().collect()
}

fn measure_index(measure: Measure) -> usize {
    let all = Measure::ALL.iter();
    all.take_while(|it| **it != measure).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{EntryGate, KnowledgePolicy};

    fn tried(false_surfaced: f64, retained: f64) -> TriedSetting {
        let policy = KnowledgePolicy::Reinforcement {
            gate: EntryGate::Any,
            reviews: 3,
        };
        TriedSetting {
            policy,
            name: policy.name(),
            settings: String::new(),
            false_surfaced,
            retained,
            is_chosen: false,
        }
    }

    #[test]
    fn the_fewest_false_claims_win_among_those_that_retain_enough() {
        let mut all = [tried(0.3, 0.99), tried(0.2, 0.95), tried(0.0, 0.93)];
        mark_chosen(&mut all);
        assert_eq!(all.map(|it| it.is_chosen), [false, true, false]);
    }
}
