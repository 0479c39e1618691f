//! The clock and the dice of a hub process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ken_core::id::{EventId, IdSource, NodeId};
use ken_core::time::Timestamp;
use uuid::Uuid;

/// The clock and the dice; a clone shows the same time.
#[derive(Clone, Debug)]
pub struct World {
    node: NodeId,
    /// Where the clock stands, for tests; the machine's own without.
    stands_at: Option<Arc<AtomicU64>>,
}

impl Default for World {
    /// The machine's clock, and a node id nobody else has.
    fn default() -> Self {
        Self {
            node: NodeId::new(random()),
            stands_at: None,
        }
    }
}

impl World {
    /// A clock that stands at `now` until it is [set](Self::set).
    #[must_use]
    pub fn standing_at(now: Timestamp) -> Self {
        Self {
            stands_at: Some(Arc::new(AtomicU64::new(now.millis()))),
            ..Self::default()
        }
    }

    /// Sets a clock that stands; does nothing to one that runs.
    pub fn set(&self, now: Timestamp) {
        if let Some(at) = &self.stands_at {
            at.store(now.millis(), Ordering::Relaxed);
        }
    }

    /// Returns the time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.stands_at {
            Some(at) => Timestamp::from_millis(at.load(Ordering::Relaxed)),
            None => now(),
        }
    }

    /// Returns the node in whose name this process stamps events.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Makes an id of time and chance (version 7).
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        uuid_at(self.now())
    }
}

impl IdSource for World {
    fn random(&mut self) -> u128 {
        random()
    }
}

/// Makes an id of the machine's time and chance (version 7), for who knows no world.
pub(crate) fn uuid() -> Uuid {
    uuid_at(now())
}

/// Returns 128 bits nobody else has.
pub(crate) fn random() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has a random source");
    u128::from_be_bytes(bytes)
}

/// Returns the time of this machine, for who knows no world.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp::from_millis(since.map_or(0, |it| it.as_millis().try_into().unwrap_or(u64::MAX)))
}

/// Makes an id of a time and chance (version 7).
pub(crate) fn uuid_at(at: Timestamp) -> Uuid {
    // Event ids are version 7 already.
    Uuid::from_bytes(EventId::new(at, random()).to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_and_differ() {
        let world = World::standing_at(Timestamp::from_millis(1_800_000_000_000));
        let (a, b) = (world.uuid(), world.uuid());
        assert_ne!(a, b);
        assert_eq!(a.get_version_num(), 7);
        world.set(Timestamp::from_millis(1_800_000_000_001));
        assert!(a < world.uuid());
    }
}
