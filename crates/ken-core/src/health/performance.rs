//! Rules 8 to 11: cost and quality of work. They recommend and change no setting.

use std::collections::BTreeMap;

use super::{
    HealthFacts, HealthInsight, HealthRule, InsightSeverity, RunOutcome, as_float, ratio,
    shell_quote,
};
use crate::ledger::event;
use crate::trust::posterior::QUALITY_MILLI_DEFAULT;
use crate::values::text::Tag;

/// Days for which an outcome counts; older performance says little about today.
pub const OUTCOME_DAYS: u32 = 90;

/// Rule 8: relative shortfall from the best strategy above which a strategy is reported.
pub const STRATEGY_WORSE: f64 = 0.15;
/// Rule 8: runs a strategy needs before it is compared.
pub const STRATEGY_RUNS_MIN: usize = 3;

/// Rule 9: long runs of low quality from which the rule reports.
pub const LONG_RUNS_MIN: usize = 2;
/// Rule 9: rounds from which a run is long.
pub const LONG_ROUNDS: u32 = 10;
/// Rule 9: quality below which a long run counts.
pub const LONG_QUALITY: f64 = 0.4;

/// Rule 10: multiple of the median cost above which a run is an outlier.
pub const COST_FACTOR: f64 = 2.5;
/// Rule 10: runs with a known cost that a median needs.
pub const COST_RUNS_MIN: usize = 5;

/// Rule 11: share of the total cost, spent on successful runs without a new entry, above which the
/// rule reports.
pub const SPEND_WITHOUT_KNOWLEDGE: f64 = 0.3;

/// Returns the outcomes that count: recent, not abandoned, and not maintenance.
pub(super) fn counted_outcomes(facts: &HealthFacts) -> impl Iterator<Item = &RunOutcome> {
    let today = facts.now.date();
    let is_recent = move |it: &&RunOutcome| today.days_since(it.at.date()) <= OUTCOME_DAYS;
    let outcomes = facts.outcomes.iter().filter(is_recent);
    // Maintenance runs are Ken's own work and would distort quality and cost of the users' work.
    outcomes.filter(|it| it.quality().is_some() && it.maintenance_service().is_none())
}

impl RunOutcome {
    /// Returns the quality of the run, from 0 to 1; `None` if it was abandoned.
    pub fn quality(&self) -> Option<f64> {
        let reported = self.closed.quality_milli;
        let milli = match self.closed.outcome {
            event::Outcome::Succeeded => reported.unwrap_or(QUALITY_MILLI_DEFAULT),
            event::Outcome::Failed => reported.unwrap_or(0),
            event::Outcome::Abandoned => return None,
        };
        Some(f64::from(milli) / 1000.0)
    }

    /// Returns the maintenance service that made the run, if one did.
    pub fn maintenance_service(&self) -> Option<&str> {
        let strategy = self.closed.strategy.as_ref()?;
        strategy
            .as_str()
            .strip_prefix(crate::health::maintenance::STRATEGY_PREFIX)
    }
}

/// Rule 8: reports strategies of clearly lower quality than the best one.
pub fn strategy_efficiency(facts: &HealthFacts) -> Vec<HealthInsight> {
    let averages = strategy_qualities(facts);
    let Some((best, top)) = averages.iter().copied().reduce(better_strategy) else {
        return Vec::new();
    };
    let insight = |(strategy, quality): &(&Tag, f64)| {
        (shortfall(*quality, top) > STRATEGY_WORSE).then(|| {
            let what = format!(
                "strategy `{strategy}` averages a quality of {quality:.2}, `{best}` {top:.2}"
            );
            let insight =
                HealthInsight::new(HealthRule::StrategyEfficiency, InsightSeverity::Info, what);
            insight.with_command("ken run list".to_owned())
        })
    };
    averages.iter().filter_map(insight).collect()
}

/// Returns the average quality of every strategy with enough runs.
pub(super) fn strategy_qualities(facts: &HealthFacts) -> Vec<(&Tag, f64)> {
    let mut by_strategy: BTreeMap<&Tag, Vec<f64>> = BTreeMap::new();
    for outcome in counted_outcomes(facts) {
        if let (Some(strategy), Some(quality)) = (&outcome.closed.strategy, outcome.quality()) {
            by_strategy.entry(strategy).or_default().push(quality);
        }
    }
    let average = |all: &[f64]| all.iter().sum::<f64>() / as_float(all.len() as u64);
    by_strategy
        .into_iter()
        .filter(|(_, all)| all.len() >= STRATEGY_RUNS_MIN)
        .map(|(strategy, all)| (strategy, average(&all)))
        .collect()
}

/// Returns the better of two strategies, or the first if they are equal.
pub(super) fn better_strategy<'a>(one: (&'a Tag, f64), other: (&'a Tag, f64)) -> (&'a Tag, f64) {
    if other.1 > one.1 { other } else { one }
}

/// Returns the shortfall of a quality as a share of the best one.
fn shortfall(quality: f64, best: f64) -> f64 {
    if best <= 0.0 {
        return 0.0;
    }
    // Qualities are decimal fractions, which binary sums do not represent exactly. Rounding to
    // millionths keeps a shortfall of exactly 15 % from tripping the threshold.
    libm::round((best - quality) / best * 1e6) / 1e6
}

/// Rule 9: reports long runs of low quality.
pub fn diminishing_rounds(facts: &HealthFacts) -> Vec<HealthInsight> {
    let is_poor = |it: &&RunOutcome| it.quality().is_some_and(|quality| quality < LONG_QUALITY);
    let long: Vec<&RunOutcome> = counted_outcomes(facts)
        .filter(|it| it.closed.rounds >= LONG_ROUNDS)
        .filter(is_poor)
        .collect();
    if long.len() < LONG_RUNS_MIN {
        return Vec::new();
    }
    let what = format!(
        "{} runs took {LONG_ROUNDS} rounds or more and reached a quality below {LONG_QUALITY:.1}: {}",
        long.len(),
        join_run_ids(&long)
    );
    let insight = HealthInsight::new(
        HealthRule::DiminishingRounds,
        InsightSeverity::Attention,
        what,
    );
    vec![insight.with_command("ken run list".to_owned())]
}

/// Rule 10: reports runs that cost far more than the median.
pub fn cost_outlier(facts: &HealthFacts) -> Vec<HealthInsight> {
    // A cost of 0 means that no cost was reported; it would drag the median down.
    let costly: Vec<&RunOutcome> = counted_outcomes(facts)
        .filter(|it| it.closed.cost_micros > 0)
        .collect();
    let mut costs: Vec<u64> = costly.iter().map(|it| it.closed.cost_micros).collect();
    costs.sort_unstable();
    if costs.len() < COST_RUNS_MIN {
        return Vec::new();
    }
    let median = median(&costs);
    let is_outlier = |it: &&&RunOutcome| as_float(it.closed.cost_micros) > COST_FACTOR * median;
    let insight = |outcome: &&RunOutcome| {
        let closed = &outcome.closed;
        let (cost, usual) = (as_float(closed.cost_micros) / 1e6, median / 1e6);
        let what = format!(
            "run {} cost {cost:.2}; the median is {usual:.2}",
            closed.run
        );
        HealthInsight::new(HealthRule::CostOutlier, InsightSeverity::Info, what)
            .with_command("ken run list".to_owned())
    };
    costly.iter().filter(is_outlier).map(insight).collect()
}

/// Returns the median of a non-empty sorted slice.
fn median(sorted: &[u64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => f64::midpoint(as_float(sorted[middle - 1]), as_float(sorted[middle])),
        _ => as_float(sorted[middle]),
    }
}

/// Rule 11: reports a high share of cost in successful runs that produced no entry.
pub fn knowledge_roi(facts: &HealthFacts) -> Vec<HealthInsight> {
    let spent = |it: &RunOutcome| it.closed.cost_micros;
    let all: u64 = counted_outcomes(facts).map(spent).sum();
    let taught_nothing = |it: &&RunOutcome| {
        it.closed.outcome == event::Outcome::Succeeded && it.closed.extracted == 0
    };
    let silent: Vec<&RunOutcome> = counted_outcomes(facts).filter(taught_nothing).collect();
    let without: u64 = silent.iter().map(|it| spent(it)).sum();
    // Without any reported cost the share is 0 and the rule stays silent.
    let share = ratio(without, all);
    if share <= SPEND_WITHOUT_KNOWLEDGE {
        return Vec::new();
    }
    let what = format!(
        "{:.0} % of the cost was spent on runs that succeeded and added no entry",
        share * 100.0
    );
    let insight = HealthInsight::new(HealthRule::KnowledgeRoi, InsightSeverity::Attention, what);
    let example = format!(
        "ken capture --problem {} --solution {} --cite commit:HASH",
        shell_quote("The problem"),
        shell_quote("The solution")
    );
    vec![insight.with_command(example)]
}

/// Joins the ids of runs for a sentence.
fn join_run_ids(outcomes: &[&RunOutcome]) -> String {
    let names: Vec<&str> = outcomes.iter().map(|it| it.closed.run.as_str()).collect();
    names.join(", ")
}
