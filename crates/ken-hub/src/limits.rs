//! Load limits of a process: concurrent requests, request rate, event streams, work per body.
//!
//! Every limit of an organization has a smaller counterpart per token, so that one token cannot
//! use up the share of its organization. Each process counts for itself: with three processes
//! behind a load balancer, an organization can send three times as many requests.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ken_mcp::http::{RateLimit, TokenBucket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use uuid::Uuid;

use crate::ids::OrganizationId;

/// Maximum number of organizations and tokens with a bucket. Full buckets are dropped first, which
/// loses nothing.
const BUCKETS_MAX: usize = 10_000;

/// Time an organization's own rate stays cached, and so the delay until a change takes effect.
pub const RATE_TTL: Duration = Duration::from_secs(60);

/// Maximum time a request waits for a permit of its token or organization.
pub const PERMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a body, after decompression, that count as one request against the rate.
pub const BYTES_PER_REQUEST: usize = 64 << 10;

/// Bits of an IPv6 address that identify a client's network.
const IPV6_NETWORK_BITS: u32 = 64;

/// Share of an organization's limit that one token may use, as numerator and denominator.
const TOKEN_SHARE: (usize, usize) = (3, 4);

/// State of a request that the outer middleware shares with authentication: the organization, and
/// its permit, held until the response starts.
#[derive(Clone, Debug, Default)]
pub struct RequestSlot(Arc<Mutex<RequestSlotState>>);

/// Contents of a [`RequestSlot`].
#[derive(Debug, Default)]
struct RequestSlotState {
    organization: Option<OrganizationId>,
    token: Option<Uuid>,
    permit: Option<StagePermit>,
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

    /// Sets the token of the request.
    pub fn set_token(&self, token: Option<Uuid>) {
        lock(&self.0).token = token;
    }

    /// Returns the id of the caller's token, if it has one.
    #[must_use]
    pub fn token(&self) -> Option<Uuid> {
        lock(&self.0).token
    }

    /// Holds a permit, and releases the one held before.
    pub fn hold(&self, place: StagePermit) {
        lock(&self.0).permit = Some(place);
    }

    /// Releases the permit.
    pub fn release(&self) {
        lock(&self.0).permit = None;
    }
}

/// Identifies a caller for its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallerKey {
    pub organization: OrganizationId,
    /// Digest of what stays the same for the caller: a token's secret, or an actor.
    pub digest: [u8; 16],
}

/// Whose limit is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitScope {
    Token(CallerKey),
    Organization(OrganizationId),
}

/// Phase of a request with its own number of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestStage {
    /// The body arrives. A slow sender occupies only such a place.
    Reading,
    /// The handler runs and may use a database connection.
    Running,
    /// An expensive search runs.
    ExpensiveSearch,
}

/// Permit for a stage of a request, of the token and of its organization; released on drop.
#[derive(Debug)]
pub struct StagePermit {
    _token: OwnedSemaphorePermit,
    _organization: OwnedSemaphorePermit,
}

/// Load limits of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HubLimits {
    /// Concurrent requests. Further ones are rejected with `Retry-After`.
    pub requests: usize,
    /// Concurrent requests per organization. Further ones wait for a short time. Less than the
    /// number of database connections, so slow queries of one organization do not block others.
    pub requests_per_organization: usize,
    /// Concurrent searches per organization with many words, paths or filters.
    pub expensive_searches_per_organization: usize,
    /// Bodies per organization that are being received. Bounds the memory they take.
    pub bodies_per_organization: usize,
    /// Maximum time from the request until its response starts.
    pub request_timeout: Duration,
    /// Maximum time from the first byte of a request until its head is complete.
    pub head_timeout: Duration,
    /// Time that a body may take in addition to its size at
    /// [`Self::body_bytes_per_second`].
    pub body_grace: Duration,
    /// Minimum rate at which a body arrives.
    pub body_bytes_per_second: u32,
    /// Request rate per organization.
    pub rate: RateLimit,
    /// Rate per client address of requests without a caller that write a row or reach the identity
    /// provider: sign-ins, and devices that ask for a token.
    pub anonymous_rate: RateLimit,
    /// Open event streams.
    pub streams: usize,
    /// Lifetime of an event stream, read or not.
    pub stream_lifetime: Duration,
    /// Open event streams per organization.
    pub streams_per_organization: usize,
    /// Open connections. Further clients wait in the accept queue.
    pub connections: usize,
    /// Open connections per address of a client; an IPv6 network of 64 bits counts as one.
    pub connections_per_address: usize,
    /// Maximum time without a write on a connection. Longer than the request timeout.
    pub idle_timeout: Duration,
    /// Time for requests in flight to complete at shutdown.
    pub shutdown_grace: Duration,
}

impl HubLimits {
    /// Default number of connections per address of a client.
    pub const CONNECTIONS_PER_ADDRESS: u32 = 256;

    /// Limits one organization to at most half of the database connections.
    #[must_use]
    pub fn for_connections(self, connections: u32) -> Self {
        let half = (connections / 2).max(1) as usize;
        Self {
            requests_per_organization: self.requests_per_organization.min(half),
            ..self
        }
    }

    /// Returns the number of places of a stage for a token or an organization.
    fn places(&self, scope: LimitScope, stage: RequestStage) -> usize {
        let all = match stage {
            RequestStage::Reading => self.bodies_per_organization,
            RequestStage::Running => self.requests_per_organization,
            RequestStage::ExpensiveSearch => self.expensive_searches_per_organization,
        };
        match scope {
            LimitScope::Organization(_) => all,
            LimitScope::Token(_) => token_share(all),
        }
    }
}

impl Default for HubLimits {
    fn default() -> Self {
        Self {
            // More than connections: most requests wait for the database, and a queue is cheap.
            requests: 512,
            requests_per_organization: 8,
            expensive_searches_per_organization: 1,
            bodies_per_organization: 16,
            request_timeout: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            body_grace: Duration::from_secs(10),
            body_bytes_per_second: 16 << 10,
            rate: RateLimit {
                per_second: 200.0,
                burst: 1_000.0,
            },
            // A whole office may share one address and sign in at the same hour.
            anonymous_rate: RateLimit {
                per_second: 2.0,
                burst: 50.0,
            },
            streams: 256,
            stream_lifetime: Duration::from_secs(300),
            streams_per_organization: 32,
            connections: 4_096,
            connections_per_address: Self::CONNECTIONS_PER_ADDRESS as usize,
            idle_timeout: Duration::from_secs(90),
            shutdown_grace: Duration::from_secs(20),
        }
    }
}

/// Returns a token's share of `places`, at least one.
fn token_share(places: usize) -> usize {
    (places * TOKEN_SHARE.0 / TOKEN_SHARE.1).max(1)
}

/// Returns a token's share of a rate. A burst is at least one, or no request would ever pass.
fn token_rate(rate: RateLimit) -> RateLimit {
    let share = TOKEN_SHARE.0 as f64 / TOKEN_SHARE.1 as f64;
    RateLimit {
        per_second: rate.per_second * share,
        burst: (rate.burst * share).max(1.0),
    }
}

/// Enforces the load limits of this process.
#[derive(Debug)]
pub struct LoadLimiter {
    limits: HubLimits,
    started_at: Instant,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// One permit per body that is parsed off the runtime threads at the same time.
    parsers: Arc<Semaphore>,
    buckets: Mutex<HashMap<LimitScope, TokenBucket>>,
    /// Requests without a caller, by the client's address.
    anonymous: Mutex<HashMap<Option<IpAddr>, TokenBucket>>,
    open_streams: Mutex<HashMap<LimitScope, usize>>,
    permits: Mutex<HashMap<(LimitScope, RequestStage), Arc<Semaphore>>>,
    rates: Mutex<HashMap<OrganizationId, (RateLimit, Instant)>>,
}

/// Permit for an event stream, released on drop.
#[derive(Debug)]
pub struct StreamPermit {
    limiter: Arc<LoadLimiter>,
    caller: CallerKey,
    _permit: OwnedSemaphorePermit,
}

/// An exceeded limit: whose it is, and how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    pub scope: LimitScope,
    pub wait: Duration,
}

impl CallerKey {
    /// Returns the limits that a request of the caller counts against, the narrower one first.
    fn scopes(self) -> [LimitScope; 2] {
        [
            LimitScope::Token(self),
            LimitScope::Organization(self.organization),
        ]
    }
}

impl LoadLimiter {
    /// Creates a limiter without any load.
    #[must_use]
    pub fn new(limits: HubLimits) -> Self {
        // Half of the processors: the other half keeps answering while large bodies are parsed.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            limits,
            started_at: Instant::now(),
            requests: Arc::new(Semaphore::new(limits.requests)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            parsers: Arc::new(Semaphore::new((processors / 2).max(1))),
            buckets: Mutex::default(),
            anonymous: Mutex::default(),
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

    /// Waits for a permit to parse a large body.
    pub async fn acquire_parser(&self) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.parsers).acquire_owned().await;
        permit.expect("the semaphore is never closed")
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.limits
            .requests
            .saturating_sub(self.requests.available_permits())
    }

    /// Counts a request against the rates of the caller and of its organization.
    pub fn consume_rate(&self, caller: CallerKey) -> Result<(), LimitExceeded> {
        let now = self.started_at.elapsed();
        for scope in caller.scopes() {
            let rate = self.rate_of(scope);
            self.with_bucket(scope, rate, |bucket| bucket.take(rate, now))
                .map_err(|wait| LimitExceeded { scope, wait })?;
        }
        Ok(())
    }

    /// Counts the decompressed bytes of a body against the same rates. The first body always
    /// passes; it is paid for by the requests that follow.
    pub fn charge_bytes(&self, caller: CallerKey, bytes: usize) {
        let now = self.started_at.elapsed();
        // The request itself was counted before its body was read.
        let cost = (bytes / BYTES_PER_REQUEST) as f64;
        for scope in caller.scopes() {
            let rate = self.rate_of(scope);
            self.with_bucket(scope, rate, |bucket| bucket.charge(rate, now, cost));
        }
    }

    fn rate_of(&self, scope: LimitScope) -> RateLimit {
        let of = |organization| self.cached_rate(organization).unwrap_or(self.limits.rate);
        match scope {
            LimitScope::Organization(organization) => of(organization),
            LimitScope::Token(caller) => token_rate(of(caller.organization)),
        }
    }

    fn with_bucket<T>(
        &self,
        scope: LimitScope,
        rate: RateLimit,
        change: impl FnOnce(&mut TokenBucket) -> T,
    ) -> T {
        let now = self.started_at.elapsed();
        let mut buckets = lock(&self.buckets);
        change(bucket_of(&mut buckets, scope, rate, now))
    }

    /// Counts a request without a caller against the rate of its client; returns the time to wait
    /// if it is exceeded.
    pub fn consume_anonymous_rate(&self, address: Option<IpAddr>) -> Result<(), Duration> {
        let (rate, now) = (self.limits.anonymous_rate, self.started_at.elapsed());
        let client = address.map(client_network);
        bucket_of(&mut lock(&self.anonymous), client, rate, now).take(rate, now)
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

    /// Waits for a place in a stage, of the caller and of its organization, for at most
    /// [`PERMIT_TIMEOUT`].
    pub async fn acquire_stage(
        &self,
        caller: CallerKey,
        stage: RequestStage,
    ) -> Result<StagePermit, LimitExceeded> {
        // The token's place first: a token with too many requests waits for its own, and its
        // requests do not queue for the places of the organization.
        let [token, organization] = caller.scopes();
        let until = tokio::time::Instant::now() + PERMIT_TIMEOUT;
        Ok(StagePermit {
            _token: self.acquire_place(token, stage, until).await?,
            _organization: self.acquire_place(organization, stage, until).await?,
        })
    }

    async fn acquire_place(
        &self,
        scope: LimitScope,
        stage: RequestStage,
        until: tokio::time::Instant,
    ) -> Result<OwnedSemaphorePermit, LimitExceeded> {
        // The block ends the lock: a mutex guard must not be held across an await.
        let semaphore = {
            let mut places = lock(&self.permits);
            if places.len() >= BUCKETS_MAX {
                // Permits and waiters hold a reference, so a count of 1 means that none are in use.
                places.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            }
            let permits = self.limits.places(scope, stage);
            let own = places.entry((scope, stage));
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(permits))))
        };
        let acquired = tokio::time::timeout_at(until, semaphore.acquire_owned()).await;
        let wait = Duration::from_secs(1);
        acquired
            .ok()
            .and_then(Result::ok)
            .ok_or(LimitExceeded { scope, wait })
    }

    /// Acquires a permit for an event stream of a caller, without waiting.
    #[must_use]
    pub fn acquire_stream(self: &Arc<Self>, caller: CallerKey) -> Option<StreamPermit> {
        let permit = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        let mut streaming = lock(&self.open_streams);
        let all = self.limits.streams_per_organization;
        let is_free = |scope: &LimitScope| {
            let max = match scope {
                LimitScope::Token(_) => token_share(all),
                LimitScope::Organization(_) => all,
            };
            streaming.get(scope).copied().unwrap_or_default() < max
        };
        if !caller.scopes().iter().all(is_free) {
            return None;
        }
        for scope in caller.scopes() {
            *streaming.entry(scope).or_default() += 1;
        }
        Some(StreamPermit {
            limiter: Arc::clone(self),
            caller,
            _permit: permit,
        })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streaming = lock(&self.limiter.open_streams);
        for scope in self.caller.scopes() {
            if let Some(open) = streaming.get_mut(&scope) {
                *open = open.saturating_sub(1);
                // Otherwise the map would grow by every caller that ever opened a stream.
                if *open == 0 {
                    streaming.remove(&scope);
                }
            }
        }
    }
}

/// Returns the bucket of `key`, which is full if there was none.
fn bucket_of<K: Eq + Hash>(
    buckets: &mut HashMap<K, TokenBucket>,
    key: K,
    rate: RateLimit,
    now: Duration,
) -> &mut TokenBucket {
    if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(&key) {
        // A full bucket is equal to a new one, so dropping it forgets nothing.
        buckets.retain(|_, bucket| !bucket.is_full(rate, now));
    }
    let bucket = buckets.entry(key);
    bucket.or_insert_with(|| TokenBucket::new(rate))
}

/// Returns the address that a client is counted under.
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        // Any client has a whole network to choose addresses from.
        IpAddr::V6(address) => {
            let network = address.to_bits() & !(u128::MAX >> IPV6_NETWORK_BITS);
            Ipv6Addr::from_bits(network).into()
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

    fn caller(organization: u128, token: u8) -> CallerKey {
        CallerKey {
            organization: OrganizationId(Uuid::from_u128(organization)),
            digest: [token; 16],
        }
    }

    fn limiter(limits: HubLimits) -> Arc<LoadLimiter> {
        Arc::new(LoadLimiter::new(limits))
    }

    fn slow_rate(burst: f64) -> HubLimits {
        HubLimits {
            rate: RateLimit {
                per_second: 0.001,
                burst,
            },
            ..HubLimits::default()
        }
    }

    #[test]
    fn one_organizations_rate_is_not_anothers() {
        let load = limiter(slow_rate(2.0));
        assert!(load.consume_rate(caller(1, 1)).is_ok());
        assert!(load.consume_rate(caller(1, 2)).is_ok());
        let refused = load.consume_rate(caller(1, 3)).expect_err("used up");
        assert!(matches!(refused.scope, LimitScope::Organization(_)));
        assert!(load.consume_rate(caller(2, 1)).is_ok());
    }

    #[test]
    fn one_token_leaves_a_part_of_the_rate_to_the_others() {
        let load = limiter(slow_rate(8.0));
        for _ in 0..6 {
            assert!(load.consume_rate(caller(1, 1)).is_ok());
        }
        let refused = load.consume_rate(caller(1, 1)).expect_err("its share");
        assert!(matches!(refused.scope, LimitScope::Token(_)));
        for _ in 0..2 {
            assert!(load.consume_rate(caller(1, 2)).is_ok());
        }
    }

    #[test]
    fn one_client_is_one_address_or_one_network() {
        for (address, client) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ] {
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(client_network(address).to_string(), client);
        }
    }

    #[test]
    fn one_address_does_not_use_up_the_rate_of_another() {
        let load = limiter(HubLimits {
            anonymous_rate: RateLimit {
                per_second: 0.001,
                burst: 1.0,
            },
            ..HubLimits::default()
        });
        let address = |text: &str| text.parse().ok();
        assert!(load.consume_anonymous_rate(address("192.0.2.1")).is_ok());
        assert!(load.consume_anonymous_rate(address("192.0.2.1")).is_err());
        assert!(load.consume_anonymous_rate(address("192.0.2.2")).is_ok());
    }

    #[test]
    fn a_large_body_counts_as_many_requests() {
        let load = limiter(slow_rate(100.0));
        assert!(load.consume_rate(caller(1, 1)).is_ok());
        load.charge_bytes(caller(1, 1), 8 << 20);
        let refused = load.consume_rate(caller(1, 1)).expect_err("in debt");
        assert!(matches!(refused.scope, LimitScope::Token(_)));
        // Small bodies cost nothing beyond their request.
        assert!(load.consume_rate(caller(2, 1)).is_ok());
        load.charge_bytes(caller(2, 1), BYTES_PER_REQUEST - 1);
        assert!(load.consume_rate(caller(2, 1)).is_ok());
    }

    #[test]
    fn streams_are_counted_for_each_and_for_all_and_given_back() {
        let load = limiter(HubLimits {
            streams: 5,
            streams_per_organization: 4,
            ..HubLimits::default()
        });
        let first = load.acquire_stream(caller(1, 1)).expect("free");
        let _second = load.acquire_stream(caller(1, 1)).expect("free");
        let _third = load.acquire_stream(caller(1, 1)).expect("free");
        assert!(
            load.acquire_stream(caller(1, 1)).is_none(),
            "the token's share is used"
        );
        let _other = load.acquire_stream(caller(1, 2)).expect("free");
        assert!(
            load.acquire_stream(caller(1, 2)).is_none(),
            "the organization's share is used"
        );
        let _foreign = load.acquire_stream(caller(2, 1)).expect("free");
        assert!(load.acquire_stream(caller(3, 1)).is_none(), "all are used");
        drop(first);
        assert!(load.acquire_stream(caller(1, 1)).is_some());
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
        let load = limiter(HubLimits::default());
        let (slow, usual) = (caller(1, 1), caller(2, 1));
        load.cache_rate(slow.organization, Some(6));
        assert!(load.consume_rate(slow).is_ok());
        assert!(load.consume_rate(slow).is_err());
        load.cache_rate(usual.organization, None);
        assert!(load.consume_rate(usual).is_ok() && load.consume_rate(usual).is_ok());
    }

    #[tokio::test]
    async fn one_organization_leaves_places_for_another() {
        let load = limiter(HubLimits {
            requests_per_organization: 1,
            ..HubLimits::default()
        });
        let slot = RequestSlot::default();
        let running = RequestStage::Running;
        slot.hold(
            load.acquire_stage(caller(1, 1), running)
                .await
                .expect("free"),
        );
        let soon = Duration::from_millis(20);
        let second = tokio::time::timeout(soon, load.acquire_stage(caller(1, 2), running));
        assert!(second.await.is_err(), "it waits");
        assert!(load.acquire_stage(caller(2, 1), running).await.is_ok());
        slot.release();
        assert!(load.acquire_stage(caller(1, 2), running).await.is_ok());
    }

    #[tokio::test]
    async fn one_token_leaves_places_to_its_organization() {
        let load = limiter(HubLimits::default());
        for stage in [RequestStage::Reading, RequestStage::Running] {
            let share = load.limits().places(LimitScope::Token(caller(1, 1)), stage);
            let mut held = Vec::new();
            for _ in 0..share {
                held.push(load.acquire_stage(caller(1, 1), stage).await.expect("free"));
            }
            let soon = Duration::from_millis(20);
            let more = tokio::time::timeout(soon, load.acquire_stage(caller(1, 1), stage));
            assert!(more.await.is_err(), "{stage:?}: it waits");
            assert!(load.acquire_stage(caller(1, 2), stage).await.is_ok());
        }
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
