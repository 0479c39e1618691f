//! Clock of the gateway: the current time and waiting, replaceable in tests.

use std::fmt::Debug;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Source of time for rates, budgets and `Retry-After`.
pub trait FetchClock: Debug + Send + Sync {
    /// Returns milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// Waits.
    fn sleep(&self, time: Duration);
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFetchClock;

impl FetchClock for SystemFetchClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.map_or(0, |it| it.as_millis());
        u64::try_from(millis).unwrap_or(u64::MAX)
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }
}
