//! How much may be under way: requests at once, an organisation's rate, streams.
//!
//! Counts are a process's own: with three hubs behind one name an organisation may ask three times as much.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ken_mcp::http::{Bucket, Rate};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::identity::OrganisationId;

/// Organisations whose rate is remembered; the fullest are forgotten first, which costs nobody anything.
const BUCKETS_MAX: usize = 10_000;

/// What may be under way in one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Requests that are answered at once; who comes beyond is told to come again.
    pub requests: usize,
    /// Seconds a request may take until its answer begins.
    pub request: Duration,
    /// How often an organisation may come.
    pub rate: Rate,
    /// Streams of events that are open at once.
    pub streams: usize,
    /// Streams of events an organisation may have open at once.
    pub streams_each: usize,
    /// What requests under way are given to finish when the hub ends.
    pub ending: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 512,
            request: Duration::from_secs(30),
            rate: Rate {
                per_second: 200.0,
                burst: 1_000.0,
            },
            streams: 256,
            streams_each: 32,
            ending: Duration::from_secs(20),
        }
    }
}

/// What is under way in this process.
#[derive(Debug)]
pub struct Load {
    limits: Limits,
    began: Instant,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    buckets: Mutex<HashMap<OrganisationId, Bucket>>,
    streaming: Mutex<HashMap<OrganisationId, usize>>,
}

/// A place for a stream; it is free again when this is dropped.
#[derive(Debug)]
pub struct StreamPlace {
    load: Arc<Load>,
    organisation: OrganisationId,
    _place: OwnedSemaphorePermit,
}

impl Load {
    /// Nothing is under way.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            began: Instant::now(),
            requests: Arc::new(Semaphore::new(limits.requests)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            buckets: Mutex::default(),
            streaming: Mutex::default(),
        }
    }

    /// Returns what may be under way.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes a place for one request, if there is one.
    #[must_use]
    pub fn request(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.requests).try_acquire_owned().ok()
    }

    /// Returns how many requests are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.limits
            .requests
            .saturating_sub(self.requests.available_permits())
    }

    /// Takes one request from an organisation's rate; returns how long to wait where there is none left.
    pub fn take(&self, organisation: OrganisationId) -> Result<(), Duration> {
        let rate = self.limits.rate;
        let now = self.began.elapsed();
        let mut buckets = lock(&self.buckets);
        if BUCKETS_MAX <= buckets.len() && !buckets.contains_key(&organisation) {
            // Whoever may take a whole burst again is as good as new.
            buckets.retain(|_, bucket| !bucket.is_full(rate, now));
        }
        let bucket = buckets
            .entry(organisation)
            .or_insert_with(|| Bucket::new(rate));
        bucket.take(rate, now)
    }

    /// Takes a place for a stream, if there is one for this organisation.
    #[must_use]
    pub fn stream(self: &Arc<Self>, organisation: OrganisationId) -> Option<StreamPlace> {
        let place = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        let mut streaming = lock(&self.streaming);
        let open = streaming.entry(organisation).or_default();
        if self.limits.streams_each <= *open {
            return None;
        }
        *open += 1;
        Some(StreamPlace {
            load: Arc::clone(self),
            organisation,
            _place: place,
        })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut streaming = lock(&self.load.streaming);
        if let Some(open) = streaming.get_mut(&self.organisation) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                streaming.remove(&self.organisation);
            }
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn organisation(n: u128) -> OrganisationId {
        OrganisationId(Uuid::from_u128(n))
    }

    #[test]
    fn one_organisations_rate_is_not_anothers() {
        let rate = Rate {
            per_second: 0.001,
            burst: 2.0,
        };
        let load = Load::new(Limits {
            rate,
            ..Limits::default()
        });
        assert!(load.take(organisation(1)).is_ok() && load.take(organisation(1)).is_ok());
        assert!(load.take(organisation(1)).is_err());
        assert!(load.take(organisation(2)).is_ok());
    }

    #[test]
    fn streams_are_counted_for_each_and_for_all_and_given_back() {
        let load = Arc::new(Load::new(Limits {
            streams: 3,
            streams_each: 2,
            ..Limits::default()
        }));
        let first = load.stream(organisation(1)).expect("free");
        let _second = load.stream(organisation(1)).expect("free");
        assert!(load.stream(organisation(1)).is_none(), "its share is used");
        let _third = load.stream(organisation(2)).expect("free");
        assert!(load.stream(organisation(3)).is_none(), "all are used");
        drop(first);
        assert!(load.stream(organisation(1)).is_some());
    }

    #[test]
    fn requests_beyond_the_limit_find_no_place() {
        let load = Load::new(Limits {
            requests: 1,
            ..Limits::default()
        });
        let place = load.request().expect("free");
        assert!(load.request().is_none());
        assert_eq!(load.under_way(), 1);
        drop(place);
        assert!(load.request().is_some());
    }
}
