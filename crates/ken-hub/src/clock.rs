//! Clock and id source of a hub process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ken_core::values::id::{EventId, IdSource, NodeId};
use ken_core::values::time::Timestamp;
use uuid::Uuid;

/// Clock and id source. Clones share a fixed time, so a test can move the clock of a running hub.
#[derive(Clone, Debug)]
pub struct HubClock {
    node: NodeId,
    /// Fixed time in milliseconds, for tests. `None` reads the system clock.
    fixed_millis: Option<Arc<AtomicU64>>,
}

impl Default for HubClock {
    /// Uses the system clock and a random node id.
    fn default() -> Self {
        Self {
            node: NodeId::new(random_u128()),
            fixed_millis: None,
        }
    }
}

impl HubClock {
    /// Creates a clock fixed at `now` until it is [set](Self::set).
    #[must_use]
    pub fn fixed_at(now: Timestamp) -> Self {
        Self {
            fixed_millis: Some(Arc::new(AtomicU64::new(now.millis()))),
            ..Self::default()
        }
    }

    /// Sets a fixed clock. Has no effect on the system clock.
    pub fn set(&self, now: Timestamp) {
        if let Some(at) = &self.fixed_millis {
            at.store(now.millis(), Ordering::Relaxed);
        }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.fixed_millis {
            Some(at) => Timestamp::from_millis(at.load(Ordering::Relaxed)),
            None => system_now(),
        }
    }

    /// Returns the node id of the timestamps this process writes.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Generates a UUID version 7 at this clock's time.
    #[must_use]
    pub fn new_uuid(&self) -> Uuid {
        new_uuid_at(self.now())
    }
}

impl IdSource for HubClock {
    fn random(&mut self) -> u128 {
        random_u128()
    }
}

/// Generates a UUID version 7 from the system clock, for code without a [`HubClock`].
pub(crate) fn new_uuid() -> Uuid {
    new_uuid_at(system_now())
}

/// Returns 128 random bits from the operating system.
pub(crate) fn random_u128() -> u128 {
    let mut bytes = [0; 16];
    // Ids and tokens must be unguessable: without a random source the process must not go on.
    getrandom::fill(&mut bytes).expect("the system has a random source");
    u128::from_be_bytes(bytes)
}

/// Returns 256 random bits as 64 hexadecimal digits.
pub(crate) fn random_hex_256() -> String {
    format!("{:032x}{:032x}", random_u128(), random_u128())
}

/// Returns the system time, for code without a [`HubClock`].
pub(crate) fn system_now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    // A machine clock set before 1970 must not stop the hub: it reads as 0.
    let millis = since_epoch.map_or(0, |since| since.as_millis().try_into().unwrap_or(u64::MAX));
    Timestamp::from_millis(millis)
}

/// Generates a UUID version 7 for the given time.
pub(crate) fn new_uuid_at(at: Timestamp) -> Uuid {
    // `EventId::new` already sets the version 7 and variant bits of a UUID.
    Uuid::from_bytes(EventId::new(at, random_u128()).to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_and_differ() {
        let clock = HubClock::fixed_at(Timestamp::from_millis(1_800_000_000_000));
        let (a, b) = (clock.new_uuid(), clock.new_uuid());
        assert_ne!(a, b);
        assert_eq!(a.get_version_num(), 7);
        clock.set(Timestamp::from_millis(1_800_000_000_001));
        assert!(a < clock.new_uuid());
    }
}
