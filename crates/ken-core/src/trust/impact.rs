//! Impact of an entry: the measured difference in success rate with and without it.
//!
//! The holdout share changes over an entry's life. Outcomes are therefore stratified by the
//! probability of withholding, and the differences are pooled with Mantel-Haenszel weights. The
//! confidence interval is Newcombe's, built from two Wilson score intervals, which keep their
//! coverage at small counts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ledger::entry::{Entry, EntryTallies, SuccessCount, TrialArms};

/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Outcomes each trial arm needs before an impact is reported.
pub const OUTCOMES_PER_ARM_MIN: u64 = 5;

/// A difference in success rates with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredImpact {
    pub difference: f64,
    pub low: f64,
    pub high: f64,
    /// Number of outcomes with the entry.
    pub shown: u64,
    /// Number of outcomes without it.
    pub withheld: u64,
}

/// The impact of an entry, if there are enough outcomes to measure it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImpactEstimate {
    /// One of the arms has fewer than [`OUTCOMES_PER_ARM_MIN`] outcomes.
    TooFew {
        shown: u64,
        withheld: u64,
    },
    Measured(MeasuredImpact),
}

impl MeasuredImpact {
    /// Returns the width of the interval.
    pub fn width(self) -> f64 {
        self.high - self.low
    }
}

impl TrialArms {
    /// Adds the outcomes of another pair of arms.
    pub fn add(&mut self, other: Self) {
        for (to, from) in [
            (&mut self.shown, other.shown),
            (&mut self.withheld, other.withheld),
        ] {
            to.succeeded += from.succeeded;
            to.all += from.all;
        }
    }
}

impl EntryTallies {
    /// Returns the impact of the entry.
    pub fn impact(&self) -> ImpactEstimate {
        estimate_impact(&self.trials)
    }
}

/// The impact of all entries together and of each one.
#[derive(Clone, Debug)]
pub struct ImpactReport {
    pub all: ImpactEstimate,
    /// Entries that were part of a holdout, the most certainly helpful first.
    pub entries: Vec<(Entry, ImpactEstimate)>,
}

/// Measures the impact of those `entries` that were part of a holdout.
pub fn measure_impacts(entries: impl IntoIterator<Item = Entry>) -> ImpactReport {
    let mut tried: Vec<Entry> = entries.into_iter().collect();
    tried.retain(|entry| !entry.tallies.trials.is_empty());
    // Pooled per propensity, not per entry: outcomes are comparable only within one stratum.
    let mut pooled: BTreeMap<u16, TrialArms> = BTreeMap::new();
    for (propensity, arms) in tried.iter().flat_map(|entry| &entry.tallies.trials) {
        pooled.entry(*propensity).or_default().add(*arms);
    }
    let mut entries: Vec<(Entry, ImpactEstimate)> = tried
        .into_iter()
        .map(|entry| {
            let impact = entry.tallies.impact();
            (entry, impact)
        })
        .collect();
    entries.sort_by(|(a, impact_a), (b, impact_b)| {
        let by_impact = lower_bound(*impact_b).total_cmp(&lower_bound(*impact_a));
        by_impact.then(a.id.cmp(&b.id))
    });
    let all = estimate_impact(&pooled);
    ImpactReport { all, entries }
}

/// Returns the lower bound of an impact; unmeasured entries sort last.
fn lower_bound(impact: ImpactEstimate) -> f64 {
    match impact {
        ImpactEstimate::Measured(lift) => lift.low,
        ImpactEstimate::TooFew { .. } => f64::NEG_INFINITY,
    }
}

/// Estimates the impact from trials, keyed by the probability of withholding in thousandths.
pub fn estimate_impact(trials: &BTreeMap<u16, TrialArms>) -> ImpactEstimate {
    let sum = |of: fn(&TrialArms) -> u64| trials.values().map(of).sum::<u64>();
    let (shown, withheld) = (sum(|it| it.shown.all), sum(|it| it.withheld.all));
    let few = shown.min(withheld) < OUTCOMES_PER_ARM_MIN;
    // Arms without a common stratum cannot be compared, however many outcomes they have.
    match PooledRates::from_strata(trials.values()).filter(|_| !few) {
        None => ImpactEstimate::TooFew { shown, withheld },
        Some(pooled) => {
            let (difference, low, high) = pooled.newcombe_interval();
            ImpactEstimate::Measured(MeasuredImpact {
                difference,
                low,
                high,
                shown,
                withheld,
            })
        }
    }
}

/// Success rates of both arms over all strata.
struct PooledRates {
    shown: SuccessRate,
    withheld: SuccessRate,
}

/// A pooled success rate.
#[derive(Clone, Copy)]
struct SuccessRate {
    rate: f64,
    /// Effective sample size: outcomes of a single stratum that would give the same variance.
    outcomes: f64,
}

impl PooledRates {
    fn from_strata<'a>(strata: impl Iterator<Item = &'a TrialArms>) -> Option<Self> {
        // A stratum with one empty arm offers no comparison and would divide by zero below.
        let strata: Vec<&TrialArms> = strata
            .filter(|arms| arms.shown.all > 0 && arms.withheld.all > 0)
            .collect();
        let weight = |arms: &TrialArms| {
            let (one, other) = (count(arms.shown.all), count(arms.withheld.all));
            one * other / (one + other)
        };
        let total: f64 = strata.iter().map(|arms| weight(arms)).sum();
        if strata.is_empty() {
            return None;
        }
        let side = |of: fn(&TrialArms) -> SuccessCount| {
            let mut rate = 0.0;
            let mut spread = 0.0;
            for arms in &strata {
                let (share, score) = (weight(arms) / total, of(arms));
                rate += share * count(score.succeeded) / count(score.all);
                // Variance of a weighted mean, up to the binomial factor; its inverse is the
                // effective sample size.
                spread += share * share / count(score.all);
            }
            SuccessRate {
                rate,
                outcomes: 1.0 / spread,
            }
        };
        Some(Self {
            shown: side(|arms| arms.shown),
            withheld: side(|arms| arms.withheld),
        })
    }

    /// Returns the difference of the rates and Newcombe's interval (1998, method 10).
    fn newcombe_interval(&self) -> (f64, f64, f64) {
        let (one, other) = (self.shown, self.withheld);
        let difference = one.rate - other.rate;
        let ((one_low, one_high), (other_low, other_high)) =
            (one.wilson_interval(), other.wilson_interval());
        let below = libm::hypot(one.rate - one_low, other_high - other.rate);
        let above = libm::hypot(one_high - one.rate, other.rate - other_low);
        (difference, difference - below, difference + above)
    }
}

impl SuccessRate {
    /// Returns the Wilson score interval.
    fn wilson_interval(self) -> (f64, f64) {
        let Self { rate, outcomes } = self;
        let z2 = Z * Z;
        let middle = rate + z2 / (2.0 * outcomes);
        let half =
            Z * libm::sqrt(rate * (1.0 - rate) / outcomes + z2 / (4.0 * outcomes * outcomes));
        let scale = 1.0 + z2 / outcomes;
        ((middle - half) / scale, (middle + half) / scale)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs")]
fn count(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(shown: (u64, u64), withheld: (u64, u64)) -> TrialArms {
        let score = |(succeeded, all)| SuccessCount { succeeded, all };
        TrialArms {
            shown: score(shown),
            withheld: score(withheld),
        }
    }

    fn measured(trials: &[(u16, TrialArms)]) -> MeasuredImpact {
        match estimate_impact(&trials.iter().copied().collect()) {
            ImpactEstimate::Measured(lift) => lift,
            ImpactEstimate::TooFew { .. } => panic!("too few"),
        }
    }

    #[test]
    fn one_stratum_gives_the_published_intervals() {
        // Newcombe 1998, table II, examples a and c, method 10.
        let lift = measured(&[(100, arms((56, 70), (48, 80)))]);
        assert!((lift.difference - 0.2).abs() < 1e-9);
        assert!((lift.low - 0.0524).abs() < 5e-5, "{lift:?}");
        assert!((lift.high - 0.3339).abs() < 5e-5, "{lift:?}");
        let lift = measured(&[(100, arms((6, 7), (2, 7)))]);
        assert!((lift.low - 0.0582).abs() < 5e-5, "{lift:?}");
        assert!((lift.high - 0.8062).abs() < 5e-5, "{lift:?}");
    }

    #[test]
    fn few_outcomes_on_one_side_say_nothing() {
        let four = [(100, arms((90, 100), (4, 4)))].into_iter().collect();
        assert_eq!(
            estimate_impact(&four),
            ImpactEstimate::TooFew {
                shown: 100,
                withheld: 4
            }
        );
        assert_eq!(
            estimate_impact(&BTreeMap::new()),
            ImpactEstimate::TooFew {
                shown: 0,
                withheld: 0
            }
        );
        let five = [(100, arms((90, 100), (4, 5)))].into_iter().collect();
        assert!(matches!(
            estimate_impact(&five),
            ImpactEstimate::Measured(_)
        ));
    }

    #[test]
    fn sides_are_compared_only_where_chance_was_the_same() {
        // Simpson's paradox: withholding was likelier while work was harder. Pooled naively the
        // entry seems to help; within each stratum it does not.
        let strata = [
            (100, arms((810, 900), (90, 100))),
            (500, arms((50, 500), (50, 500))),
        ];
        let lift = measured(&strata);
        assert!(lift.difference.abs() < 1e-9, "{lift:?}");
        assert!(lift.low < 0.0 && lift.high > 0.0);
    }

    #[test]
    fn a_stratum_with_one_side_only_counts_for_nothing() {
        let alone = measured(&[(100, arms((8, 10), (5, 10)))]);
        let with = measured(&[(100, arms((8, 10), (5, 10))), (300, arms((0, 50), (0, 0)))]);
        assert_eq!((alone.low, alone.high), (with.low, with.high));
    }
}
