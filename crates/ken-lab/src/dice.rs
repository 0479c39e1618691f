//! Chance that repeats: every draw follows from the seed and from what it is about.
//!
//! A draw does not depend on the draws before it. So two policies that live through the same seed meet the
//! same code changes and the same agents, and differ only by what they do.

use ken_core::id::IdSource;

/// Spreads the bits of a number (the last steps of SplitMix64).
const fn spread(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The distance between two states of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a draw decides; draws about different things do not depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Area,
    Severity,
    Confidence,
    HasAnchor,
    Change,
    ChangedFact,
    CheckSees,
    FalseAlarm,
    Look,
    Relevance,
    IsAlike,
    FoundByOne,
    FoundByAll,
    Outcome,
    Retraction,
}

/// Draws that follow from a seed.
#[derive(Clone, Copy, Debug)]
pub struct Dice {
    seed: u64,
}

impl Dice {
    /// Returns the dice of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed: spread(seed.wrapping_add(STEP)),
        }
    }

    /// Returns a number in [0, 1) for what is decided about these three.
    pub fn roll(self, about: About, first: usize, second: usize, third: usize) -> f64 {
        let parts = [about as usize, first, second, third];
        let mixed = parts.into_iter().fold(self.seed, |state, part| {
            spread(state.wrapping_add(STEP).wrapping_add(part as u64))
        });
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns one of `count` numbers, counted from zero.
    pub fn pick(self, about: About, first: usize, count: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a small count"
        )]
        let picked = (self.roll(about, first, 0, 0) * count as f64) as usize;
        picked.min(count.saturating_sub(1))
    }
}

/// Ids of a life, one after another.
#[derive(Debug)]
pub struct Ids {
    state: u64,
}

impl Ids {
    /// Equal seeds give equal ids.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn step(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        spread(self.state)
    }
}

impl IdSource for Ids {
    fn random(&mut self) -> u128 {
        u128::from(self.step()) << 64 | u128::from(self.step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_spread_evenly_and_repeat() {
        let dice = Dice::new(3);
        let count = 20_000;
        let low = (0..count).filter(|n| dice.roll(About::Look, *n, 1, 2) < 0.3);
        let share = low.count() as f64 / count as f64;
        assert!((share - 0.3).abs() < 0.01, "{share}");
        assert!((0..1000).all(|n| dice.pick(About::Area, n, 6) < 6));
        let again = Dice::new(3).roll(About::Look, 5, 1, 2);
        assert_eq!(again.to_bits(), dice.roll(About::Look, 5, 1, 2).to_bits());
        assert_ne!(again.to_bits(), dice.roll(About::Area, 5, 1, 2).to_bits());
    }
}
