//! Fits the weights of the score that orders the band:
//! `cargo ken-bench eval duplicates --calibrate`.
//!
//! Logistic regression, rewordings against hard negatives, by Newton's method with a small ridge.
//! Opposites take no part: no score of this kind tells them from rewordings, and nobody is meant to
//! rely on it for that.

use ken_core::trust::similarity::{SimilaritySignals, SimilarityWeights};

use super::{Kind, Pair};

/// Signals, the bias included.
const SIZE: usize = 4;

/// Keeps weights of signals that say the same from growing against each other.
const RIDGE: f64 = 0.5;

/// Steps; the sum of changes is far below the last printed digit after ten.
const STEPS: usize = 25;

/// Share of rewordings that reach the band here. Asked for is 0.75 wherever it is measured: a
/// quantile of 398 pairs is off by four points one time in twenty.
const REACHED: f64 = 0.8;

/// Names in the order of [`SimilarityWeights::inputs`].
const NAMES: [&str; SIZE] = ["bias", "cosine", "containment", "names"];

type Inputs = [f64; SIZE];

/// Prints weights and lower bound, with the cosine and without.
pub(super) fn print(pairs: &[Pair]) {
    for with_cosine in [true, false] {
        let of = |pair: &Pair| {
            let cosine = with_cosine.then_some(pair.cosine);
            SimilarityWeights::inputs(&SimilaritySignals::from_statements(
                &pair.a, &pair.b, cosine,
            ))
        };
        let rows: Vec<(Inputs, bool)> = pairs
            .iter()
            .filter_map(|pair| match pair.kind {
                Kind::Positive => Some((of(pair), true)),
                Kind::Nearest | Kind::SameGroup => Some((of(pair), false)),
                Kind::Restated | Kind::OwnOpposite(_) | Kind::Opposite(_) => None,
            })
            .collect();
        let weights = fit(&rows).map(|weight| (weight * 100.0).round() / 100.0);
        let word = if with_cosine { "with" } else { "without" };
        println!("\n{word} the cosine:");
        for (name, weight) in NAMES.iter().zip(weights) {
            println!("    {name}: {weight:.2},");
        }
        let found = rows.iter().filter(|row| row.1);
        let mut scores: Vec<f64> = found.map(|row| score(&weights, &row.0)).collect();
        scores.sort_by(f64::total_cmp);
        let below = ((1.0 - REACHED) * scores.len() as f64).floor() as usize;
        let from = (scores[below] * 1000.0).floor() / 1000.0;
        println!("    from: {from:.3}");
    }
}

fn score(weights: &Inputs, inputs: &Inputs) -> f64 {
    let sum: f64 = weights.iter().zip(inputs).map(|(a, b)| a * b).sum();
    1.0 / (1.0 + (-sum).exp())
}

fn fit(rows: &[(Inputs, bool)]) -> Inputs {
    let mut weights = [0.0; SIZE];
    for _ in 0..STEPS {
        let mut gradient = weights.map(|weight| -RIDGE * weight);
        let mut curve = [[0.0; SIZE]; SIZE];
        for (place, row) in curve.iter_mut().enumerate() {
            row[place] = RIDGE;
        }
        for (inputs, is_same) in rows {
            let said = score(&weights, inputs);
            let missed = f64::from(u8::from(*is_same)) - said;
            for (one, input) in inputs.iter().enumerate() {
                gradient[one] += missed * input;
                for (other, second) in inputs.iter().enumerate() {
                    curve[one][other] += said * (1.0 - said) * input * second;
                }
            }
        }
        for (weight, step) in weights.iter_mut().zip(solve(curve, gradient)) {
            *weight += step;
        }
    }
    weights
}

/// Solves a system with a matrix that the ridge keeps regular.
fn solve(mut matrix: [[f64; SIZE]; SIZE], mut right: Inputs) -> Inputs {
    for column in 0..SIZE {
        let best = (column..SIZE).max_by(|one, other| {
            let size = |row: usize| matrix[row][column].abs();
            size(*one).total_cmp(&size(*other))
        });
        let best = best.unwrap_or(column);
        matrix.swap(column, best);
        right.swap(column, best);
        let pivot = matrix[column];
        for row in (0..SIZE).filter(|row| *row != column) {
            let factor = matrix[row][column] / pivot[column];
            for (cell, above) in matrix[row].iter_mut().zip(pivot) {
                *cell -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    let mut solved = right;
    for (place, value) in solved.iter_mut().enumerate() {
        *value /= matrix[place][place];
    }
    solved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_finds_the_signal_that_tells() {
        let row = |cosine: f64, is_same: bool| {
            let mut inputs = [0.0; SIZE];
            (inputs[0], inputs[1]) = (1.0, cosine);
            (inputs, is_same)
        };
        let mut rows = Vec::new();
        for step in 0..50 {
            let step = f64::from(step) / 100.0;
            rows.extend([row(0.5 + step, true), row(0.4 - step * 0.8, false)]);
        }
        let weights = fit(&rows);
        assert!(score(&weights, &row(0.9, true).0) > 0.9);
        assert!(score(&weights, &row(0.1, false).0) < 0.2);
        assert!(weights[2..].iter().all(|weight| weight.abs() < 1e-9));
    }
}
