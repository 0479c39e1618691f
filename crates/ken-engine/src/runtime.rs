//! Runtime of the engine: the clock and the random source.

use ken_core::values::id::IdSource;
use ken_core::values::time::Timestamp;

/// Clock and random source.
pub trait Runtime: IdSource + std::fmt::Debug + Send {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The clock and random source of the operating system.
#[derive(Debug, Default)]
pub struct SystemRuntime;

impl Runtime for SystemRuntime {
    fn now(&self) -> Timestamp {
        // A clock set before 1970 yields 0; the hybrid logical clock still orders events.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp::from_millis(since.map_or(0, |d| d.as_millis().try_into().unwrap_or(u64::MAX)))
    }
}

impl IdSource for SystemRuntime {
    fn random(&mut self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has a random source");
        u128::from_be_bytes(bytes)
    }
}

/// A constant clock with a seeded random source, for tests and reproducible recordings.
#[derive(Debug)]
pub struct FixedRuntime {
    now: Timestamp,
    state: u64,
}

impl FixedRuntime {
    /// Creates a runtime with the clock at `now`; equal seeds give equal ids.
    pub fn new(now: Timestamp, seed: u64) -> Self {
        Self { now, state: seed }
    }

    /// Computes one step of SplitMix64, which is good enough for ids in tests with any seed.
    fn step(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Runtime for FixedRuntime {
    fn now(&self) -> Timestamp {
        self.now
    }
}

impl IdSource for FixedRuntime {
    fn random(&mut self) -> u128 {
        u128::from(self.step()) << 64 | u128::from(self.step())
    }
}
