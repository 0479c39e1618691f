//! Rules 8 to 11: what work cost and came to. They recommend; nothing is set by them.

use std::collections::BTreeMap;

use super::{Facts, Insight, Outcome, Rule, Severity, as_float, quoted, ratio};
use crate::event;
use crate::posterior::QUALITY_MILLI_DEFAULT;
use crate::text::Tag;

/// Days for which an outcome counts: what was slow a year ago is no news.
pub const OUTCOME_DAYS: u32 = 90;

/// Rule 8: how much worse than the best a strategy must be more than, and runs each needs.
pub const STRATEGY_WORSE: f64 = 0.15;
pub const STRATEGY_RUNS_MIN: usize = 3;

/// Rule 9: runs that were long, how many rounds that is, and what their quality must be less than.
pub const LONG_RUNS_MIN: usize = 2;
pub const LONG_ROUNDS: u32 = 10;
pub const LONG_QUALITY: f64 = 0.4;

/// Rule 10: how many times the median a run must cost more than, and runs whose cost is known.
pub const COST_FACTOR: f64 = 2.5;
pub const COST_RUNS_MIN: usize = 5;

/// Rule 11: the share of what was spent that must have gone into work which left nothing.
pub const SPEND_WITHOUT_KNOWLEDGE: f64 = 0.3;

/// Returns the outcomes that count: somebody's work, lately, seen to its end.
pub(super) fn counted(facts: &Facts) -> impl Iterator<Item = &Outcome> {
    let today = facts.now.date();
    let is_late = move |it: &&Outcome| today.days_since(it.at.date()) <= OUTCOME_DAYS;
    let outcomes = facts.outcomes.iter().filter(is_late);
    outcomes.filter(|it| it.quality().is_some() && it.maintenance().is_none())
}

impl Outcome {
    /// Returns how good the work was, from 0 to 1; nothing of work that was given up.
    pub fn quality(&self) -> Option<f64> {
        let told = self.closed.quality_milli;
        let milli = match self.closed.outcome {
            event::Outcome::Succeeded => told.unwrap_or(QUALITY_MILLI_DEFAULT),
            event::Outcome::Failed => told.unwrap_or(0),
            event::Outcome::Abandoned => return None,
        };
        Some(f64::from(milli) / 1000.0)
    }

    /// Returns the service whose work it was, if it was maintenance.
    pub fn maintenance(&self) -> Option<&str> {
        let strategy = self.closed.strategy.as_ref()?;
        strategy
            .as_str()
            .strip_prefix(crate::maintenance::STRATEGY_PREFIX)
    }
}

/// A way of going about work is worse than the best one known here.
pub fn strategy_efficiency(facts: &Facts) -> Vec<Insight> {
    let averages = strategies(facts);
    let Some((best, top)) = averages.iter().copied().reduce(better) else {
        return Vec::new();
    };
    let insight = |(strategy, quality): &(&Tag, f64)| {
        (STRATEGY_WORSE < worse_by(*quality, top)).then(|| {
            let what = format!(
                "strategy `{strategy}` averages a quality of {quality:.2}, `{best}` {top:.2}"
            );
            let insight = Insight::new(Rule::StrategyEfficiency, Severity::Info, what);
            insight.command("ken run list".to_owned())
        })
    };
    averages.iter().filter_map(insight).collect()
}

/// Returns the average quality of every strategy that was tried often enough.
pub(super) fn strategies(facts: &Facts) -> Vec<(&Tag, f64)> {
    let mut by_strategy: BTreeMap<&Tag, Vec<f64>> = BTreeMap::new();
    for outcome in counted(facts) {
        if let (Some(strategy), Some(quality)) = (&outcome.closed.strategy, outcome.quality()) {
            by_strategy.entry(strategy).or_default().push(quality);
        }
    }
    let average = |all: &[f64]| all.iter().sum::<f64>() / as_float(all.len() as u64);
    by_strategy
        .into_iter()
        .filter(|(_, all)| STRATEGY_RUNS_MIN <= all.len())
        .map(|(strategy, all)| (strategy, average(&all)))
        .collect()
}

/// Returns the better of two strategies; among equals the first.
pub(super) fn better<'a>(one: (&'a Tag, f64), other: (&'a Tag, f64)) -> (&'a Tag, f64) {
    match one.1 < other.1 {
        true => other,
        false => one,
    }
}

/// Returns by which share of the best a quality falls short, in whole millionths: qualities are
/// decimal fractions, which sums do not tell exactly.
fn worse_by(quality: f64, best: f64) -> f64 {
    match best {
        best if best <= 0.0 => 0.0,
        best => libm::round((best - quality) / best * 1e6) / 1e6,
    }
}

/// Work goes on for many rounds and comes to little.
pub fn diminishing_rounds(facts: &Facts) -> Vec<Insight> {
    let is_poor = |it: &&Outcome| it.quality().is_some_and(|quality| quality < LONG_QUALITY);
    let long: Vec<&Outcome> = counted(facts)
        .filter(|it| LONG_ROUNDS <= it.closed.rounds)
        .filter(is_poor)
        .collect();
    if long.len() < LONG_RUNS_MIN {
        return Vec::new();
    }
    let what = format!(
        "{} runs took {LONG_ROUNDS} rounds or more and came to a quality below {LONG_QUALITY:.1}: {}",
        long.len(),
        names(&long)
    );
    let insight = Insight::new(Rule::DiminishingRounds, Severity::Attention, what);
    vec![insight.command("ken run list".to_owned())]
}

/// A run cost far more than runs here do.
pub fn cost_outlier(facts: &Facts) -> Vec<Insight> {
    let costly: Vec<&Outcome> = counted(facts)
        .filter(|it| 0 < it.closed.cost_micros)
        .collect();
    let mut costs: Vec<u64> = costly.iter().map(|it| it.closed.cost_micros).collect();
    costs.sort_unstable();
    if costs.len() < COST_RUNS_MIN {
        return Vec::new();
    }
    let median = median(&costs);
    let is_outlier = |it: &&&Outcome| COST_FACTOR * median < as_float(it.closed.cost_micros);
    let insight = |it: &&Outcome| {
        let (cost, usual) = (as_float(it.closed.cost_micros) / 1e6, median / 1e6);
        let what = format!(
            "run {} cost {cost:.2}; runs here cost {usual:.2}",
            it.closed.run
        );
        Insight::new(Rule::CostOutlier, Severity::Info, what).command("ken run list".to_owned())
    };
    costly.iter().filter(is_outlier).map(insight).collect()
}

/// Returns the middle of sorted numbers, of which there are some.
fn median(sorted: &[u64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => f64::midpoint(as_float(sorted[middle - 1]), as_float(sorted[middle])),
        _ => as_float(sorted[middle]),
    }
}

/// Much was spent on work that succeeded and taught nothing.
pub fn knowledge_roi(facts: &Facts) -> Vec<Insight> {
    let spent = |it: &Outcome| it.closed.cost_micros;
    let all: u64 = counted(facts).map(spent).sum();
    let taught_nothing =
        |it: &&Outcome| it.closed.outcome == event::Outcome::Succeeded && it.closed.extracted == 0;
    let silent: Vec<&Outcome> = counted(facts).filter(taught_nothing).collect();
    let without: u64 = silent.iter().map(|it| spent(it)).sum();
    let share = ratio(without, all);
    if share <= SPEND_WITHOUT_KNOWLEDGE {
        return Vec::new();
    }
    let what = format!(
        "{:.0} % of what was spent went into work that succeeded and left no entry",
        share * 100.0
    );
    let insight = Insight::new(Rule::KnowledgeRoi, Severity::Attention, what);
    let example = format!(
        "ken capture --problem {} --solution {} --cite commit:HASH",
        quoted("What went wrong"),
        quoted("What solved it")
    );
    vec![insight.command(example)]
}

/// Returns the names of runs, for a sentence.
fn names(outcomes: &[&Outcome]) -> String {
    let names: Vec<&str> = outcomes.iter().map(|it| it.closed.run.as_str()).collect();
    names.join(", ")
}
