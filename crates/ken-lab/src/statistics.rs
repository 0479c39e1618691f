//! Means with confidence intervals over seeds, and differences paired by seed.

use serde::Serialize;

/// 97.5 % quantile of Student's t distribution with 19 degrees of freedom.
const STUDENT_19: f64 = 2.093;

/// The same quantile with 4 degrees of freedom, used for fewer than 20 values; with more than 5
/// values the intervals are slightly too wide.
const STUDENT_FEW: f64 = 2.776;

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanEstimate {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl MeanEstimate {
    /// Estimates from one value per seed.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares = values.iter().map(|value| (value - mean).powi(2));
        // A single value has no variance; `max` avoids a division by zero.
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

    /// Estimates the difference of `ours` and `theirs`, paired by seed.
    pub fn from_differences(ours: &[f64], theirs: &[f64]) -> Self {
        // Pairing removes the variance between seeds, which both policies share.
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
        let it = MeanEstimate::of(&values);
        assert!((it.mean - 9.5).abs() < 1e-9);
        // The standard deviation is the square root of 35.
        let half = 2.093 * (35.0_f64 / 20.0).sqrt();
        assert!((it.high - 9.5 - half).abs() < 1e-9 && (9.5 - it.low - half).abs() < 1e-9);
    }

    #[test]
    fn a_difference_is_taken_seed_by_seed() {
        let ours: Vec<f64> = (0..20).map(|n| f64::from(n) + 1.0).collect();
        let theirs: Vec<f64> = (0..20).map(f64::from).collect();
        let it = MeanEstimate::from_differences(&ours, &theirs);
        assert!((it.low - 1.0).abs() < 1e-9 && (it.high - 1.0).abs() < 1e-9);
    }
}
