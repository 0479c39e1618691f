//! Activation functions of a BERT encoder, written for automatic vectorization.
//!
//! Within 1e-6 of the exact values (relative, for the exponential), which is less than the error of
//! 32-bit sums.

/// Magnitude of the argument beyond which the exponential of an `f32` is zero or infinite.
const EXPONENT_MAX: f32 = 87.0;

/// Adding and subtracting it rounds a small number to the nearest integer.
const ROUNDER: f32 = 12_582_912.0;

/// Layout of an `f32`: number of fraction bits, and the exponent bias.
const FRACTION_BITS: u32 = 23;
const EXPONENT_BIAS: u32 = 127;

/// Natural logarithm of 2 in two parts; the first has few digits, so that integer multiples of it
/// are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Abramowitz and Stegun, 7.1.26: the error function within 1.5e-7.
const ERF_P: f32 = 0.327_591_1;
const ERF_A: [f32; 5] = [
    0.254_829_6,
    -0.284_496_74,
    1.421_413_7,
    -1.453_152,
    1.061_405_4,
];

/// GELU, the activation of BERT: `x` times the standard normal distribution function at `x`.
pub(super) fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// Normalizes scores to a probability distribution.
pub(super) fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    // Subtracting the maximum prevents overflow and cancels out.
    scores.iter_mut().for_each(|it| *it = exp(*it - largest));
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|it| *it /= sum);
}

fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + ERF_P * size);
    let [a, b, c, d, e] = ERF_A;
    let sum = ((((e * t + d) * t + c) * t + b) * t + a) * t;
    (1.0 - sum * exp(-size * size)).copysign(x)
}

fn exp(x: f32) -> f32 {
    let x = x.clamp(-EXPONENT_MAX, EXPONENT_MAX);
    // exp(x) = 2^twos * exp(rest); the low bits of `rounded` hold `twos` as an integer.
    let rounded = x * std::f32::consts::LOG2_E + ROUNDER;
    let twos = rounded - ROUNDER;
    let rest = x - twos * LN_2_HIGH - twos * LN_2_LOW;
    // Taylor series up to the seventh power; |rest| is at most ln(2)/2.
    let high_terms = rest * (1.0 / 120.0 + rest * (1.0 / 720.0 + rest / 5040.0));
    let series = rest * (0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + high_terms)));
    let exponent = rounded.to_bits().wrapping_sub(ROUNDER.to_bits());
    let power = exponent.wrapping_add(EXPONENT_BIAS) << FRACTION_BITS;
    (1.0 + rest * (1.0 + series)) * f32::from_bits(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_near_the_exact_one() {
        for step in -8000..=8000 {
            let x = step as f32 * 0.01;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 1e-6, "{x}");
        }
        assert!(exp(-1000.0) < 1e-37);
    }

    #[test]
    fn the_activation_has_its_known_values() {
        // Computed with Python's math.erf.
        let known = [
            (0.0, 0.0),
            (1.0, 0.841_345),
            (-1.0, -0.158_655),
            (2.5, 2.484_476),
            (-3.0, -0.004_05),
            (20.0, 20.0),
            (-20.0, 0.0),
        ];
        for (x, y) in known {
            assert!((gelu(x) - y).abs() < 2e-6, "{x}: {}", gelu(x));
        }
    }

    #[test]
    fn shares_sum_to_one_and_keep_their_order() {
        let mut scores = [1.0, 3.0, -500.0, 2.0];
        softmax(&mut scores);
        assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(scores[2] < scores[0] && scores[0] < scores[3] && scores[3] < scores[1]);
    }
}
