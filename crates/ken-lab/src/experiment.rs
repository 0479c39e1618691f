//! The whole experiment: settings are chosen on the tuning seeds, then every cell is run on the test seeds.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::grid::{MIDDLE, Named, RETENTION_TOLERANCE, settings};
use crate::measure::{Figures, Measure};
use crate::policy::{Name, Policy};
use crate::simulation::live;
use crate::statistics::Estimate;
use crate::world::Cell;

/// Lives that are lived at the same time.
const THREADS: usize = 2;

/// One setting on the tuning seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    #[serde(skip)]
    pub policy: Policy,
    pub name: Name,
    pub settings: String,
    pub false_surfaced: f64,
    pub retained: f64,
    pub is_chosen: bool,
}

/// One policy in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct CellResult {
    pub cell: String,
    pub parameters: Cell,
    pub policy: Name,
    pub settings: String,
    /// For each seed its figures.
    pub seeds: Vec<Figures>,
}

impl CellResult {
    /// Returns a measure of every seed.
    pub fn values(&self, measure: Measure) -> Vec<f64> {
        let place = place(measure);
        self.seeds.iter().map(|seed| seed.last[place]).collect()
    }

    /// Returns a measure with its interval.
    pub fn estimate(&self, measure: Measure) -> Estimate {
        Estimate::of(&self.values(measure))
    }

    /// Returns a measure in every window of runs, with its interval.
    pub fn curve(&self, measure: Measure) -> Vec<Estimate> {
        let place = place(measure);
        self.points(&|seed| &seed.curves[place])
    }

    /// Returns the share of broken claims that would be shown so many runs after they broke.
    pub fn forgetting(&self) -> Vec<Estimate> {
        self.points(&|seed| &seed.forgetting)
    }

    fn points(&self, curve: &dyn Fn(&Figures) -> &Vec<f64>) -> Vec<Estimate> {
        let length = self.seeds.first().map_or(0, |seed| curve(seed).len());
        let point = |at: usize| {
            let values: Vec<f64> = self.seeds.iter().map(|seed| curve(seed)[at]).collect();
            Estimate::of(&values)
        };
        (0..length).map(point).collect()
    }
}

/// Tries every setting of every policy in the middle cell and marks the chosen ones.
pub fn tune(seeds: Range<u64>, progress: &dyn Fn(&str)) -> Vec<Tried> {
    let mut all = Vec::new();
    for name in Name::ALL {
        progress(&format!("tuning {}", name.word()));
        let tried = settings(name).into_iter().map(|policy| {
            let figures = lives(MIDDLE, policy, seeds.clone());
            try_out(policy, &figures)
        });
        let mut tried: Vec<Tried> = tried.collect();
        choose(&mut tried);
        all.extend(tried);
    }
    all
}

/// Returns the setting that was chosen for each policy.
pub fn chosen(tried: &[Tried]) -> Vec<Policy> {
    let chosen = tried.iter().filter(|it| it.is_chosen);
    chosen.map(|it| it.policy).collect()
}

/// Runs policies in cells.
pub fn run(
    cells: &[Named],
    policies: &[Policy],
    seeds: Range<u64>,
    progress: &dyn Fn(&str),
) -> Vec<CellResult> {
    let mut results = Vec::new();
    for Named { name, cell } in cells {
        progress(&format!("cell {name}"));
        results.extend(policies.iter().map(|policy| CellResult {
            cell: (*name).to_owned(),
            parameters: *cell,
            policy: policy.name(),
            settings: policy.settings(),
            seeds: lives(*cell, *policy, seeds.clone()),
        }));
    }
    results
}

fn try_out(policy: Policy, figures: &[Figures]) -> Tried {
    let mean = |measure| {
        let values: Vec<f64> = figures.iter().map(|it| it.last[place(measure)]).collect();
        Estimate::of(&values).mean
    };
    Tried {
        policy,
        name: policy.name(),
        settings: policy.settings(),
        false_surfaced: mean(Measure::FalseSurfaced),
        retained: mean(Measure::Retained),
        is_chosen: false,
    }
}

/// Marks the setting with the fewest false claims among those that retain enough.
fn choose(tried: &mut [Tried]) {
    let best = tried.iter().map(|it| it.retained).fold(0.0, f64::max);
    let enough = tried
        .iter_mut()
        .filter(|it| best - RETENTION_TOLERANCE <= it.retained);
    let chosen = enough.min_by(|a, b| a.false_surfaced.total_cmp(&b.false_surfaced));
    if let Some(chosen) = chosen {
        chosen.is_chosen = true;
    }
}

/// Lives one life for each seed; the order of the answer is that of the seeds.
fn lives(cell: Cell, policy: Policy, seeds: Range<u64>) -> Vec<Figures> {
    let seeds: Vec<u64> = seeds.collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Figures>>> = Mutex::new(vec![None; seeds.len()]);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let figures = live(cell, policy, *seed).figures();
                    let at = seeds.iter().position(|it| it == seed);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done[at.expect("a seed of the list")] = Some(figures);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().flatten().collect()
}

fn place(measure: Measure) -> usize {
    let all = Measure::ALL.iter();
    all.take_while(|it| **it != measure).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Gate, Policy};

    fn tried(false_surfaced: f64, retained: f64) -> Tried {
        let policy = Policy::Reinforcement {
            gate: Gate::Any,
            reviews: 3,
        };
        Tried {
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
        choose(&mut all);
        assert_eq!(all.map(|it| it.is_chosen), [false, true, false]);
    }
}
