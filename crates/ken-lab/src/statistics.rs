//! Means with intervals over seeds, and differences paired by seed.

use serde::Serialize;

/// The quantile of Student's distribution with 19 degrees of freedom that leaves 2.5 % on either side.
const STUDENT_19: f64 = 2.093;

/// The same for a number of values other than twenty, from above: intervals come out a little wide.
const STUDENT_FEW: f64 = 2.776;

/// A mean and the interval that covers the true one 95 times of 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// Estimates from one value for each seed.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares = values.iter().map(|value| (value - mean).powi(2));
        let variance = squares.sum::<f64>() / (count - 1.0).max(1.0);
        let quantile = if values.len() < 20 {
            STUDENT_FEW
        } else {
            STUDENT_19
        };
        let half = quantile * (variance / count.max(1.0)).sqrt();
        Self {
            mean,
            low: mean - half,
            high: mean + half,
        }
    }

    /// Estimates how much larger `ours` is than `theirs`, seed by seed.
    pub fn of_difference(ours: &[f64], theirs: &[f64]) -> Self {
        let pairs = ours.iter().zip(theirs);
        let differences: Vec<f64> = pairs.map(|(our, their)| our - their).collect();
        Self::of(&differences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_values_give_students_interval() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let it = Estimate::of(&values);
        assert!((it.mean - 9.5).abs() < 1e-9);
        // The standard deviation is the square root of 35.
        let half = 2.093 * (35.0_f64 / 20.0).sqrt();
        assert!((it.high - 9.5 - half).abs() < 1e-9 && (9.5 - it.low - half).abs() < 1e-9);
    }

    #[test]
    fn a_difference_is_taken_seed_by_seed() {
        let ours: Vec<f64> = (0..20).map(|n| f64::from(n) + 1.0).collect();
        let theirs: Vec<f64> = (0..20).map(f64::from).collect();
        let it = Estimate::of_difference(&ours, &theirs);
        assert!((it.low - 1.0).abs() < 1e-9 && (it.high - 1.0).abs() < 1e-9);
    }
}
