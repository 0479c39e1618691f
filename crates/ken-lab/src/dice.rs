//! Reproducible randomness: every draw follows from the seed and its purpose.
//!
//! A draw does not depend on earlier draws. Two policies with the same seed therefore meet the same
//! code changes and the same agents, and differ only in their behavior.

use ken_core::values::id::IdSource;

/// Mixes the bits of a number (the output function of SplitMix64).
const fn mix_bits(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// State increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Purpose of a draw; draws for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawPurpose {
    Area,
    Severity,
    Confidence,
    HasAnchor,
    Change,
    ChangedFact,
    CheckDetection,
    FalseAlarm,
    Look,
    Relevance,
    IsCorrelated,
    FoundByOne,
    FoundByAll,
    Outcome,
    Retraction,
    OddRate,
    HostileRun,
    Publication,
    Approval,
    Asked,
    Report,
}

/// Random draws derived from a seed.
#[derive(Clone, Copy, Debug)]
pub struct SeededDice {
    seed: u64,
}

impl SeededDice {
    /// Creates the draws of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            // Mixed, because small seeds differ in only a few bits.
            seed: mix_bits(seed.wrapping_add(STEP)),
        }
    }

    /// Returns a number in [0, 1) for this purpose and these three indices.
    pub fn roll(self, about: DrawPurpose, first: usize, second: usize, third: usize) -> f64 {
        let parts = [about as usize, first, second, third];
        // Mixing part by part makes (1, 2) and (2, 1) differ.
        let mixed = parts.into_iter().fold(self.seed, |state, part| {
            mix_bits(state.wrapping_add(STEP).wrapping_add(part as u64))
        });
        // 53 bits are the precision of an `f64`.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number below `count`.
    pub fn pick(self, about: DrawPurpose, first: usize, count: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a small count"
        )]
        let picked = (self.roll(about, first, 0, 0) * count as f64) as usize;
        // Rounding could reach `count`.
        picked.min(count.saturating_sub(1))
    }
}

/// Ids of a simulation.
#[derive(Debug)]
pub struct SimulationIds {
    state: u64,
}

impl SimulationIds {
    /// Creates an id source; equal seeds give equal ids.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn step(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix_bits(self.state)
    }
}

impl IdSource for SimulationIds {
    fn random(&mut self) -> u128 {
        u128::from(self.step()) << 64 | u128::from(self.step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_spread_evenly_and_repeat() {
        let dice = SeededDice::new(3);
        let count = 20_000;
        let low = (0..count).filter(|n| dice.roll(DrawPurpose::Look, *n, 1, 2) < 0.3);
        let share = low.count() as f64 / count as f64;
        assert!((share - 0.3).abs() < 0.01, "{share}");
        assert!((0..1000).all(|n| dice.pick(DrawPurpose::Area, n, 6) < 6));
        let again = SeededDice::new(3).roll(DrawPurpose::Look, 5, 1, 2);
        assert_eq!(
            again.to_bits(),
            dice.roll(DrawPurpose::Look, 5, 1, 2).to_bits()
        );
        assert_ne!(
            again.to_bits(),
            dice.roll(DrawPurpose::Area, 5, 1, 2).to_bits()
        );
    }
}
