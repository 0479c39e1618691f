//! What is counted, and how sure that is.

use std::fmt;

use crate::speed::story::Dice;

/// Samples drawn to learn how far a mean may be off.
const RESAMPLES: usize = 2000;

/// A mean with the interval that 95 of 100 resamples fall into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mean {
    mean: f64,
    low: f64,
    high: f64,
}

impl Mean {
    pub(super) fn of(values: &[f64]) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut dice = Dice::new(7);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let drawn = values.iter().map(|_| *dice.pick(values));
                drawn.sum::<f64>() / values.len().max(1) as f64
            })
            .collect();
        means.sort_by(f64::total_cmp);
        Self {
            mean: mean(values),
            low: means[RESAMPLES / 40],
            high: means[RESAMPLES - 1 - RESAMPLES / 40],
        }
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, low, high } = self;
        write!(f, "{mean:.1} [{low:.1}, {high:.1}]")
    }
}

/// Returns how well a list is ordered: `hits` says which results answer, of `relevant` that exist.
pub(super) fn ndcg(hits: &[bool], relevant: usize, depth: usize) -> f64 {
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let got = hits.iter().enumerate().take(depth);
    let got: f64 = got
        .filter(|(_, hit)| **hit)
        .map(|(place, _)| gain(place))
        .sum();
    let best: f64 = (0..relevant.min(depth)).map(gain).sum();
    if best == 0.0 { 0.0 } else { got / best }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_list_is_one_and_a_late_hit_less() {
        assert!((ndcg(&[true, false], 1, 10) - 1.0).abs() < 1e-12);
        assert!((ndcg(&[false, true], 1, 10) - 1.0 / 3_f64.log2()).abs() < 1e-12);
        assert_eq!(ndcg(&[false, true], 1, 1), 0.0);
        assert_eq!(ndcg(&[], 0, 10), 0.0);
    }

    #[test]
    fn an_interval_holds_its_mean() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let mean = Mean::of(&values);
        assert!(mean.low < mean.mean && mean.mean < mean.high);
        assert!(mean.high - mean.low < 15.0);
    }
}
