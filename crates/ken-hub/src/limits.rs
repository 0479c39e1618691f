//! Load limits of a process: concurrent requests, request rate per organization, event streams.
//!
//! Each process counts for itself: with three processes behind a load balancer, an organization can
//! send three times as many requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ken_mcp::http::{RateLimit, TokenBucket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ids::OrganizationId;

/// Maximum number of organizations with a bucket. Full buckets are dropped first, which loses
/// nothing.
const BUCKETS_MAX: usize = 10_000;

/// Time an organization's own rate stays cached, and so the delay until a change takes effect.
pub const RATE_TTL: Duration = Duration::from_secs(60);

/// Maximum time a request waits for a permit of its organization.
pub const PERMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// State of a request that the outer middleware shares with authentication: the organization, and
/// its permit, held from authentication until the response starts.
#[derive(Clone, Debug, Default)]
pub struct RequestSlot(Arc<Mutex<RequestSlotState>>);

/// Contents of a [`RequestSlot`].
#[derive(Debug, Default)]
struct RequestSlotState {
    organization: Option<OrganizationId>,
    permit: Option<OwnedSemaphorePermit>,
}

impl RequestSlot {
    /// Sets the organization of the request.
    pub fn set_organization(&self, organization: OrganizationId) {
        lock(&self.0).organization = Some(organization);
    }

    /// Returns the organization of the request, if it was authenticated.
    #[must_use]
    pub fn organization(&self) -> Option<OrganizationId> {
        lock(&self.0).organization
    }

    /// Holds a permit, and releases the one held before.
    pub fn hold(&self, place: OwnedSemaphorePermit) {
        lock(&self.0).permit = Some(place);
    }

    /// Releases the permit.
    pub fn release(&self) {
        lock(&self.0).permit = None;
    }
}

/// Load limits of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HubLimits {
    /// Concurrent requests. Further ones are rejected with `Retry-After`.
    pub requests: usize,
    /// Concurrent requests per organization. Further ones wait for a short time. Less than the
    /// number of database connections, so slow queries of one organization do not block others.
    pub requests_per_organization: usize,
    /// Maximum time from the request until its response starts.
    pub request_timeout: Duration,
    /// Request rate per organization.
    pub rate: RateLimit,
    /// Open event streams.
    pub streams: usize,
    /// Lifetime of an event stream, read or not.
    pub stream_lifetime: Duration,
    /// Open event streams per organization.
    pub streams_per_organization: usize,
    /// Maximum time without a write on a connection. Longer than the request timeout.
    pub idle_timeout: Duration,
    /// Time for requests in flight to complete at shutdown.
    pub shutdown_grace: Duration,
}

impl HubLimits {
    /// Limits one organization to at most half of the database connections.
    #[must_use]
    pub fn for_connections(self, connections: u32) -> Self {
        let half = (connections / 2).max(1) as usize;
        Self {
            requests_per_organization: self.requests_per_organization.min(half),
            ..self
        }
    }
}

impl Default for HubLimits {
    fn default() -> Self {
        Self {
            // More than connections: most requests wait for the database, and a queue is cheap.
            requests: 512,
            requests_per_organization: 8,
            request_timeout: Duration::from_secs(30),
            rate: RateLimit {
                per_second: 200.0,
                burst: 1_000.0,
            },
            streams: 256,
            stream_lifetime: Duration::from_secs(300),
            streams_per_organization: 32,
            idle_timeout: Duration::from_secs(90),
            shutdown_grace: Duration::from_secs(20),
        }
    }
}

/// Enforces the load limits of this process.
#[derive(Debug)]
pub struct LoadLimiter {
    limits: HubLimits,
    started_at: Instant,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    buckets: Mutex<HashMap<OrganizationId, TokenBucket>>,
    open_streams: Mutex<HashMap<OrganizationId, usize>>,
    permits: Mutex<HashMap<OrganizationId, Arc<Semaphore>>>,
    rates: Mutex<HashMap<OrganizationId, (RateLimit, Instant)>>,
}

/// Permit for an event stream, released on drop.
#[derive(Debug)]
pub struct StreamPermit {
    limiter: Arc<LoadLimiter>,
    organization: OrganizationId,
    _permit: OwnedSemaphorePermit,
}

impl LoadLimiter {
    /// Creates a limiter without any load.
    #[must_use]
    pub fn new(limits: HubLimits) -> Self {
        Self {
            limits,
            started_at: Instant::now(),
            requests: Arc::new(Semaphore::new(limits.requests)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            buckets: Mutex::default(),
            open_streams: Mutex::default(),
            permits: Mutex::default(),
            rates: Mutex::default(),
        }
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> &HubLimits {
        &self.limits
    }

    /// Acquires a permit for a request, without waiting.
    #[must_use]
    pub fn acquire_request(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.requests).try_acquire_owned().ok()
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.limits
            .requests
            .saturating_sub(self.requests.available_permits())
    }

    /// Counts a request against an organization's rate. Returns the time to wait if it is exceeded.
    pub fn consume_rate(&self, organization: OrganizationId) -> Result<(), Duration> {
        let rate = self.cached_rate(organization).unwrap_or(self.limits.rate);
        let now = self.started_at.elapsed();
        let mut buckets = lock(&self.buckets);
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(&organization) {
            // A full bucket is equal to a new one, so dropping it forgets nothing.
            buckets.retain(|_, bucket| !bucket.is_full(rate, now));
        }
        let bucket = buckets
            .entry(organization)
            .or_insert_with(|| TokenBucket::new(rate));
        bucket.take(rate, now)
    }

    /// Returns an organization's rate if it is cached.
    #[must_use]
    pub fn cached_rate(&self, organization: OrganizationId) -> Option<RateLimit> {
        let rates = lock(&self.rates);
        let (rate, at) = rates.get(&organization)?;
        (at.elapsed() < RATE_TTL).then_some(*rate)
    }

    /// Caches an organization's own rate, or the default rate if it has none.
    pub fn cache_rate(&self, organization: OrganizationId, per_minute: Option<u64>) {
        let own = per_minute.map(|count| RateLimit {
            per_second: count as f64 / 60.0,
            // Ten seconds' worth, and at least one, or no request would ever pass.
            burst: (count as f64 / 6.0).max(1.0),
        });
        let mut rates = lock(&self.rates);
        if rates.len() >= BUCKETS_MAX {
            rates.clear();
        }
        let rate = own.unwrap_or(self.limits.rate);
        rates.insert(organization, (rate, Instant::now()));
    }

    /// Waits for a permit of an organization, for at most [`PERMIT_TIMEOUT`].
    pub async fn acquire_organization(
        &self,
        organization: OrganizationId,
    ) -> Option<OwnedSemaphorePermit> {
        // The block ends the lock: a mutex guard must not be held across an await.
        let semaphore = {
            let mut places = lock(&self.permits);
            if places.len() >= BUCKETS_MAX {
                // Permits and waiters hold a reference, so a count of 1 means that none are in use.
                places.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            }
            let permits = self.limits.requests_per_organization;
            let own = places.entry(organization);
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(permits))))
        };
        let acquired = tokio::time::timeout(PERMIT_TIMEOUT, semaphore.acquire_owned()).await;
        acquired.ok()?.ok()
    }

    /// Acquires a permit for an event stream of an organization, without waiting.
    #[must_use]
    pub fn acquire_stream(self: &Arc<Self>, organization: OrganizationId) -> Option<StreamPermit> {
        let permit = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        let mut streaming = lock(&self.open_streams);
        let open = streaming.entry(organization).or_default();
        if *open >= self.limits.streams_per_organization {
            return None;
        }
        *open += 1;
        Some(StreamPermit {
            limiter: Arc::clone(self),
            organization,
            _permit: permit,
        })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streaming = lock(&self.limiter.open_streams);
        if let Some(open) = streaming.get_mut(&self.organization) {
            *open = open.saturating_sub(1);
            // Otherwise the map would grow by every organization that ever opened a stream.
            if *open == 0 {
                streaming.remove(&self.organization);
            }
        }
    }
}

/// Locks a mutex and ignores poison: no critical section here leaves a value half-updated.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn organization(n: u128) -> OrganizationId {
        OrganizationId(Uuid::from_u128(n))
    }

    #[test]
    fn one_organizations_rate_is_not_anothers() {
        let rate = RateLimit {
            per_second: 0.001,
            burst: 2.0,
        };
        let load = LoadLimiter::new(HubLimits {
            rate,
            ..HubLimits::default()
        });
        assert!(
            load.consume_rate(organization(1)).is_ok()
                && load.consume_rate(organization(1)).is_ok()
        );
        assert!(load.consume_rate(organization(1)).is_err());
        assert!(load.consume_rate(organization(2)).is_ok());
    }

    #[test]
    fn streams_are_counted_for_each_and_for_all_and_given_back() {
        let load = Arc::new(LoadLimiter::new(HubLimits {
            streams: 3,
            streams_per_organization: 2,
            ..HubLimits::default()
        }));
        let first = load.acquire_stream(organization(1)).expect("free");
        let _second = load.acquire_stream(organization(1)).expect("free");
        assert!(
            load.acquire_stream(organization(1)).is_none(),
            "its share is used"
        );
        let _third = load.acquire_stream(organization(2)).expect("free");
        assert!(
            load.acquire_stream(organization(3)).is_none(),
            "all are used"
        );
        drop(first);
        assert!(load.acquire_stream(organization(1)).is_some());
    }

    #[test]
    fn one_organization_never_has_every_connection() {
        for (connections, each) in [(1, 1), (2, 1), (4, 2), (8, 4), (16, 8), (100, 8)] {
            let limits = HubLimits::default().for_connections(connections);
            assert_eq!(
                limits.requests_per_organization, each,
                "{connections} connections"
            );
        }
    }

    #[test]
    fn an_organization_may_have_a_rate_of_its_own() {
        let load = LoadLimiter::new(HubLimits::default());
        load.cache_rate(organization(1), Some(6));
        assert!(load.consume_rate(organization(1)).is_ok());
        assert!(load.consume_rate(organization(1)).is_err());
        load.cache_rate(organization(2), None);
        assert!(
            load.consume_rate(organization(2)).is_ok()
                && load.consume_rate(organization(2)).is_ok()
        );
    }

    #[tokio::test]
    async fn one_organization_leaves_places_for_another() {
        let load = LoadLimiter::new(HubLimits {
            requests_per_organization: 1,
            ..HubLimits::default()
        });
        let slot = RequestSlot::default();
        slot.hold(
            load.acquire_organization(organization(1))
                .await
                .expect("free"),
        );
        let soon = Duration::from_millis(20);
        let second = tokio::time::timeout(soon, load.acquire_organization(organization(1)));
        assert!(second.await.is_err(), "it waits");
        assert!(load.acquire_organization(organization(2)).await.is_some());
        slot.release();
        assert!(load.acquire_organization(organization(1)).await.is_some());
    }

    #[test]
    fn requests_beyond_the_limit_find_no_place() {
        let load = LoadLimiter::new(HubLimits {
            requests: 1,
            ..HubLimits::default()
        });
        let place = load.acquire_request().expect("free");
        assert!(load.acquire_request().is_none());
        assert_eq!(load.in_flight(), 1);
        drop(place);
        assert!(load.acquire_request().is_some());
    }
}
