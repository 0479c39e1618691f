//! Connection pool of the database, last in, first out.
//!
//! Replaces sqlx's pool, which pings the server whenever a connection is released (one of five
//! round trips of an append) and hands out the connection that was idle longest, whose cached plans
//! are cold.
//!
//! Invariant: a connection that is dropped without being released is closed, so no user receives
//! one in the middle of a transaction.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Idle time after which a connection is closed.
const IDLE_MAX: Duration = Duration::from_secs(10 * 60);

/// Maximum age of a connection: a server process never frees the memory of its caches otherwise.
const AGE_MAX: Duration = Duration::from_secs(30 * 60);

/// Idle time up to which a connection is assumed to be alive without a ping.
const ASSUMED_ALIVE: Duration = Duration::from_secs(1);

/// Connection pool of one process.
#[derive(Clone, Debug)]
pub struct ConnectionPool {
    inner: Arc<PoolState>,
}

#[derive(Debug)]
struct PoolState {
    options: PgConnectOptions,
    max: u32,
    /// Maximum wait for a free connection, and for connecting.
    timeout: Duration,
    /// One permit per allowed connection.
    permits: Arc<Semaphore>,
    idle: Mutex<VecDeque<PooledConnection>>,
    /// Connections that were asked for, and the time that was waited for them.
    acquired: AtomicU64,
    waited_micros: AtomicU64,
}

#[derive(Debug)]
struct PooledConnection {
    connection: PgConnection,
    /// Statements that are prepared on it.
    prepared: Vec<&'static str>,
    since: Instant,
    used: Instant,
}

/// An exclusively leased connection; closed unless it is [released](Self::release).
#[derive(Debug)]
pub struct LeasedConnection {
    open: PooledConnection,
    pool: ConnectionPool,
    /// Dropped last, when the connection has been returned or closed.
    _permit: OwnedSemaphorePermit,
}

impl ConnectionPool {
    /// Returns an empty pool; connections are opened on demand.
    pub(super) fn new(options: PgConnectOptions, max: u32, patience: Duration) -> Self {
        let inner = PoolState {
            options,
            max,
            timeout: patience,
            permits: Arc::new(Semaphore::new(max as usize)),
            idle: Mutex::default(),
            acquired: AtomicU64::new(0),
            waited_micros: AtomicU64::new(0),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Acquires a connection, which may have died while idle.
    pub(super) async fn acquire(&self) -> Result<LeasedConnection, sqlx::Error> {
        let began = Instant::now();
        let acquired = self.acquire_untimed().await;
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.inner.acquired.fetch_add(1, Ordering::Relaxed);
        self.inner
            .waited_micros
            .fetch_add(micros, Ordering::Relaxed);
        acquired
    }

    async fn acquire_untimed(&self) -> Result<LeasedConnection, sqlx::Error> {
        let permit = Arc::clone(&self.inner.permits).acquire_owned();
        let acquired = tokio::time::timeout(self.inner.timeout, permit).await;
        let acquired = acquired.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let permit = acquired.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.idle().pop_back();
        let open = match idle.filter(|it| it.since.elapsed() < AGE_MAX) {
            Some(open) => open,
            None => self.connect().await?,
        };
        Ok(LeasedConnection {
            open,
            pool: self.clone(),
            _permit: permit,
        })
    }

    /// Acquires a live connection, for queries outside any transaction.
    pub async fn acquire_live(&self) -> Result<LeasedConnection, sqlx::Error> {
        loop {
            // A dead connection is dropped here, so the loop ends with a new one at the latest when
            // no idle connection is left.
            let mut lease = self.acquire().await?;
            let is_recent = lease.open.used.elapsed() < ASSUMED_ALIVE;
            if is_recent || lease.connection().ping().await.is_ok() {
                return Ok(lease);
            }
        }
    }

    /// Returns the options that connections are opened with.
    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.inner.options
    }

    async fn connect(&self) -> Result<PooledConnection, sqlx::Error> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(&self.inner.options).await?;
            super::take_role(&mut connection).await?;
            Ok::<_, sqlx::Error>(connection)
        };
        let connected = tokio::time::timeout(self.inner.timeout, connecting).await;
        let now = Instant::now();
        Ok(PooledConnection {
            connection: connected.map_err(|_| sqlx::Error::PoolTimedOut)??,
            prepared: Vec::new(),
            since: now,
            used: now,
        })
    }

    /// Returns the number of connections in use and of idle connections.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let free = self.inner.permits.available_permits();
        (
            (self.inner.max as usize).saturating_sub(free),
            self.idle().len(),
        )
    }

    /// Returns how often a connection was asked for, and the time that was waited for them.
    #[must_use]
    pub fn waits(&self) -> (u64, Duration) {
        let micros = self.inner.waited_micros.load(Ordering::Relaxed);
        let acquired = self.inner.acquired.load(Ordering::Relaxed);
        (acquired, Duration::from_micros(micros))
    }

    /// Waits until all connections are released, refuses new requests, and closes the pool.
    pub async fn close(&self) {
        // Holding every permit means that no connection is in use. Forgetting them keeps waiting
        // requests from getting one.
        if let Ok(all) = self.inner.permits.acquire_many(self.inner.max).await {
            all.forget();
        }
        self.inner.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for open in idle {
            let _ = open.connection.close().await;
        }
    }

    /// Returns whether the pool is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.permits.is_closed()
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<PooledConnection>> {
        self.inner
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeasedConnection {
    /// Returns the connection. No tenant is set, so row-level security hides every row.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.open.connection
    }

    /// Executes a `PREPARE` statement, once per connection. Not done when connecting, so that
    /// other queries need not wait for the server to load the tables' metadata.
    pub(super) async fn prepare(&mut self, statement: &'static str) -> Result<(), sqlx::Error> {
        if !self.open.prepared.contains(&statement) {
            sqlx::raw_sql(statement).execute(self.connection()).await?;
            self.open.prepared.push(statement);
        }
        Ok(())
    }

    /// Returns the connection to the pool. The caller must know that no transaction is open on it.
    pub fn release(self) {
        let mut open = self.open;
        open.used = Instant::now();
        let mut idle = self.pool.idle();
        idle.push_back(open);
        // Unused connections collect at the front. One per release is closed, so no background task
        // is needed.
        if idle.front().is_some_and(|it| it.used.elapsed() > IDLE_MAX) {
            idle.pop_front();
        }
    }

    /// Closes the connection gracefully.
    pub(super) async fn close(self) {
        let _ = self.open.connection.close().await;
    }
}
