//! What an entry is worth, measured: outcomes with it minus outcomes without it, where chance decided.
//!
//! Shares change over an entry's life, so outcomes are compared only among those for whom withholding was
//! equally probable, and the differences are put together weighted by how much each says (Mantel and
//! Haenszel). The interval is Newcombe's: two score intervals, which hold their promise at small counts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entry::{Arms, Entry, Score, Tallies};

/// Two-sided 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// Outcomes each side needs before anything is said.
pub const LEAST_ON_EACH_SIDE: u64 = 5;

/// A difference of success rates and the interval it lies in, 19 times of 20.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lift {
    pub difference: f64,
    pub low: f64,
    pub high: f64,
    /// Outcomes with the entry, and without it.
    pub shown: u64,
    pub withheld: u64,
}

/// What is known about an entry's worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Worth {
    /// Too few outcomes, on the side that has fewer.
    TooFew {
        shown: u64,
        withheld: u64,
    },
    Measured(Lift),
}

impl Lift {
    /// Returns how far apart the ends of the interval are.
    pub fn width(self) -> f64 {
        self.high - self.low
    }
}

impl Arms {
    /// Adds the outcomes of other work.
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

impl Tallies {
    /// Returns what the entry is worth.
    pub fn worth(&self) -> Worth {
        worth(&self.trials)
    }
}

/// What entries are worth, all together and one by one.
#[derive(Clone, Debug)]
pub struct Lifts {
    pub all: Worth,
    /// Those chance has decided about, the best known first.
    pub entries: Vec<(Entry, Worth)>,
}

/// Returns what those of `entries` are worth that chance has decided about.
pub fn lifts(entries: impl IntoIterator<Item = Entry>) -> Lifts {
    let mut tried: Vec<Entry> = entries.into_iter().collect();
    tried.retain(|entry| !entry.tallies.trials.is_empty());
    let mut pooled: BTreeMap<u16, Arms> = BTreeMap::new();
    for (propensity, arms) in tried.iter().flat_map(|entry| &entry.tallies.trials) {
        pooled.entry(*propensity).or_default().add(*arms);
    }
    let mut entries: Vec<(Entry, Worth)> = tried
        .into_iter()
        .map(|entry| {
            let worth = entry.tallies.worth();
            (entry, worth)
        })
        .collect();
    entries.sort_by(|(a, worth_a), (b, worth_b)| {
        let by_worth = sureness(*worth_b).total_cmp(&sureness(*worth_a));
        by_worth.then(a.id.cmp(&b.id))
    });
    let all = worth(&pooled);
    Lifts { all, entries }
}

/// Sorts what is known before what is not, and the most surely helpful first.
fn sureness(worth: Worth) -> f64 {
    match worth {
        Worth::Measured(lift) => lift.low,
        Worth::TooFew { .. } => f64::NEG_INFINITY,
    }
}

/// Returns what outcomes say, given by how probable it was that the entry was withheld.
pub fn worth(trials: &BTreeMap<u16, Arms>) -> Worth {
    let sum = |of: fn(&Arms) -> u64| trials.values().map(of).sum::<u64>();
    let (shown, withheld) = (sum(|it| it.shown.all), sum(|it| it.withheld.all));
    let few = shown.min(withheld) < LEAST_ON_EACH_SIDE;
    match Pooled::of(trials.values()).filter(|_| !few) {
        None => Worth::TooFew { shown, withheld },
        Some(pooled) => {
            let (difference, low, high) = pooled.newcombe();
            Worth::Measured(Lift {
                difference,
                low,
                high,
                shown,
                withheld,
            })
        }
    }
}

/// Rates of both sides over all strata, and how many outcomes of one stratum each would take to know them as
/// well.
struct Pooled {
    shown: Rate,
    withheld: Rate,
}

#[derive(Clone, Copy)]
struct Rate {
    rate: f64,
    outcomes: f64,
}

impl Pooled {
    fn of<'a>(strata: impl Iterator<Item = &'a Arms>) -> Option<Self> {
        let strata: Vec<&Arms> = strata
            .filter(|arms| 0 < arms.shown.all && 0 < arms.withheld.all)
            .collect();
        let weight = |arms: &Arms| {
            let (one, other) = (count(arms.shown.all), count(arms.withheld.all));
            one * other / (one + other)
        };
        let total: f64 = strata.iter().map(|arms| weight(arms)).sum();
        if strata.is_empty() {
            return None;
        }
        let side = |of: fn(&Arms) -> Score| {
            let mut rate = 0.0;
            let mut spread = 0.0;
            for arms in &strata {
                let (share, score) = (weight(arms) / total, of(arms));
                rate += share * count(score.succeeded) / count(score.all);
                spread += share * share / count(score.all);
            }
            Rate {
                rate,
                outcomes: 1.0 / spread,
            }
        };
        Some(Self {
            shown: side(|arms| arms.shown),
            withheld: side(|arms| arms.withheld),
        })
    }

    fn newcombe(&self) -> (f64, f64, f64) {
        let (one, other) = (self.shown, self.withheld);
        let difference = one.rate - other.rate;
        let ((one_low, one_high), (other_low, other_high)) = (one.wilson(), other.wilson());
        let below = libm::hypot(one.rate - one_low, other_high - other.rate);
        let above = libm::hypot(one_high - one.rate, other.rate - other_low);
        (difference, difference - below, difference + above)
    }
}

impl Rate {
    /// Returns the score interval.
    fn wilson(self) -> (f64, f64) {
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

    fn arms(shown: (u64, u64), withheld: (u64, u64)) -> Arms {
        let score = |(succeeded, all)| Score { succeeded, all };
        Arms {
            shown: score(shown),
            withheld: score(withheld),
        }
    }

    fn measured(trials: &[(u16, Arms)]) -> Lift {
        match worth(&trials.iter().copied().collect()) {
            Worth::Measured(lift) => lift,
            Worth::TooFew { .. } => panic!("too few"),
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
            worth(&four),
            Worth::TooFew {
                shown: 100,
                withheld: 4
            }
        );
        assert_eq!(
            worth(&BTreeMap::new()),
            Worth::TooFew {
                shown: 0,
                withheld: 0
            }
        );
        let five = [(100, arms((90, 100), (4, 5)))].into_iter().collect();
        assert!(matches!(worth(&five), Worth::Measured(_)));
    }

    #[test]
    fn sides_are_compared_only_where_chance_was_the_same() {
        // In hard times entries are withheld more often: together the entry seems to help, apart it does not.
        let strata = [
            (100, arms((810, 900), (90, 100))),
            (500, arms((50, 500), (50, 500))),
        ];
        let lift = measured(&strata);
        assert!(lift.difference.abs() < 1e-9, "{lift:?}");
        assert!(lift.low < 0.0 && 0.0 < lift.high);
    }

    #[test]
    fn a_stratum_with_one_side_only_counts_for_nothing() {
        let alone = measured(&[(100, arms((8, 10), (5, 10)))]);
        let with = measured(&[(100, arms((8, 10), (5, 10))), (300, arms((0, 50), (0, 0)))]);
        assert_eq!((alone.low, alone.high), (with.low, with.high));
    }
}
