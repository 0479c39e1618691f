//! What the engine may know of the world outside the ledger: the time and fresh randomness.

use ken_core::id::IdSource;
use ken_core::time::Timestamp;

/// The clock and the dice.
pub trait World: IdSource + std::fmt::Debug + Send {
    /// Returns the time now.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock and random source.
#[derive(Debug, Default)]
pub struct SystemWorld;

impl World for SystemWorld {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp::from_millis(since.map_or(0, |d| d.as_millis().try_into().unwrap_or(u64::MAX)))
    }
}

impl IdSource for SystemWorld {
    fn random(&mut self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has a random source");
        u128::from_be_bytes(bytes)
    }
}

/// A world that stands still and rolls known dice, for tests and reproducible recordings.
#[derive(Debug)]
pub struct FixedWorld {
    now: Timestamp,
    state: u64,
}

impl FixedWorld {
    /// Stands at `now`; equal seeds give equal ids.
    pub fn new(now: Timestamp, seed: u64) -> Self {
        Self { now, state: seed }
    }

    /// One step of SplitMix64, which spreads any seed well enough for ids in tests.
    fn step(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl World for FixedWorld {
    fn now(&self) -> Timestamp {
        self.now
    }
}

impl IdSource for FixedWorld {
    fn random(&mut self) -> u128 {
        u128::from(self.step()) << 64 | u128::from(self.step())
    }
}
