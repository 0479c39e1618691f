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

/// How long an organisation's own rate is remembered: so long a change of it may take to be felt.
pub const RATE_KEPT: Duration = Duration::from_secs(60);

/// How long a request waits for one of its organisation's places.
pub const PLACE_PATIENCE: Duration = Duration::from_secs(5);

/// What is known of a request from outside: whose it is, and that organisation's place, kept from the moment its caller
/// is known until the answer begins.
#[derive(Clone, Debug, Default)]
pub struct Slot(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    organisation: Option<OrganisationId>,
    place: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// Says whose the request is.
    pub fn belongs_to(&self, organisation: OrganisationId) {
        lock(&self.0).organisation = Some(organisation);
    }

    /// Returns whose the request is, once that is known.
    #[must_use]
    pub fn organisation(&self) -> Option<OrganisationId> {
        lock(&self.0).organisation
    }

    /// Keeps a place; the one that was kept is free again.
    pub fn keep(&self, place: OwnedSemaphorePermit) {
        lock(&self.0).place = Some(place);
    }

    /// Gives the place back.
    pub fn free(&self) {
        lock(&self.0).place = None;
    }
}

/// What may be under way in one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Requests that are answered at once; who comes beyond is told to come again.
    pub requests: usize,
    /// Requests of one organisation that are answered at once; who comes beyond waits a little. Fewer than there are
    /// connections to the database, so that one organisation's slow questions leave room for another's.
    pub requests_each: usize,
    /// Seconds a request may take until its answer begins.
    pub request: Duration,
    /// How often an organisation may come.
    pub rate: Rate,
    /// Streams of events that are open at once.
    pub streams: usize,
    /// How long a stream lasts, read or not.
    pub stream: Duration,
    /// Streams of events an organisation may have open at once.
    pub streams_each: usize,
    /// How long nothing may be written on a connection; longer than any request may take.
    pub silence: Duration,
    /// What requests under way are given to finish when the hub ends.
    pub ending: Duration,
}

impl Limits {
    /// Returns these limits for a pool of so many connections: one organisation has at most half of them.
    #[must_use]
    pub fn fitting(self, connections: u32) -> Self {
        let half = (connections / 2).max(1) as usize;
        Self {
            requests_each: self.requests_each.min(half),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 512,
            requests_each: 8,
            request: Duration::from_secs(30),
            rate: Rate {
                per_second: 200.0,
                burst: 1_000.0,
            },
            streams: 256,
            stream: Duration::from_secs(300),
            streams_each: 32,
            silence: super::door::SILENCE_MAX,
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
    places: Mutex<HashMap<OrganisationId, Arc<Semaphore>>>,
    rates: Mutex<HashMap<OrganisationId, (Rate, Instant)>>,
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
            places: Mutex::default(),
            rates: Mutex::default(),
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
        let rate = self.known_rate(organisation).unwrap_or(self.limits.rate);
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

    /// Returns an organisation's own rate, where it was looked up lately.
    #[must_use]
    pub fn known_rate(&self, organisation: OrganisationId) -> Option<Rate> {
        let rates = lock(&self.rates);
        let (rate, at) = rates.get(&organisation)?;
        (at.elapsed() < RATE_KEPT).then_some(*rate)
    }

    /// Remembers an organisation's own rate; the hub's where it has none.
    pub fn remember_rate(&self, organisation: OrganisationId, per_minute: Option<u64>) {
        let own = per_minute.map(|count| Rate {
            per_second: count as f64 / 60.0,
            burst: (count as f64 / 6.0).max(1.0),
        });
        let mut rates = lock(&self.rates);
        if BUCKETS_MAX <= rates.len() {
            rates.clear();
        }
        let rate = own.unwrap_or(self.limits.rate);
        rates.insert(organisation, (rate, Instant::now()));
    }

    /// Waits for one of an organisation's places; gives up after [`PLACE_PATIENCE`].
    pub async fn place(&self, organisation: OrganisationId) -> Option<OwnedSemaphorePermit> {
        let places = {
            let mut places = lock(&self.places);
            if BUCKETS_MAX <= places.len() {
                places.retain(|_, it| 1 < Arc::strong_count(it));
            }
            let all = self.limits.requests_each;
            let own = places.entry(organisation);
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(all))))
        };
        let taken = tokio::time::timeout(PLACE_PATIENCE, places.acquire_owned()).await;
        taken.ok()?.ok()
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
    fn one_organisation_never_has_every_connection() {
        for (connections, each) in [(1, 1), (2, 1), (4, 2), (8, 4), (16, 8), (100, 8)] {
            let limits = Limits::default().fitting(connections);
            assert_eq!(limits.requests_each, each, "{connections} connections");
        }
    }

    #[test]
    fn an_organisation_may_have_a_rate_of_its_own() {
        let load = Load::new(Limits::default());
        load.remember_rate(organisation(1), Some(6));
        assert!(load.take(organisation(1)).is_ok());
        assert!(load.take(organisation(1)).is_err());
        load.remember_rate(organisation(2), None);
        assert!(load.take(organisation(2)).is_ok() && load.take(organisation(2)).is_ok());
    }

    #[tokio::test]
    async fn one_organisation_leaves_places_for_another() {
        let load = Load::new(Limits {
            requests_each: 1,
            ..Limits::default()
        });
        let slot = Slot::default();
        slot.keep(load.place(organisation(1)).await.expect("free"));
        let soon = Duration::from_millis(20);
        let second = tokio::time::timeout(soon, load.place(organisation(1)));
        assert!(second.await.is_err(), "it waits");
        assert!(load.place(organisation(2)).await.is_some());
        slot.free();
        assert!(load.place(organisation(1)).await.is_some());
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
