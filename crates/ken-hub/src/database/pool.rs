//! Connections to the database; the one given back last is taken first.
//!
//! A pool of our own. The library's asks the server for a sign of life whenever a connection comes back, one round trip in
//! five of an append, and hands out the one that waited longest, whose plans no cache remembers.
//!
//! Invariant: a connection that is dropped without being given back is closed; nobody finds one in the middle of something.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::store::PREPARE;

/// How long nobody needs a connection before it is closed.
const IDLE_MAX: Duration = Duration::from_secs(10 * 60);

/// How old a connection becomes: what a server process gathers in its caches is never given back otherwise.
const AGE_MAX: Duration = Duration::from_secs(30 * 60);

/// How long ago a connection was last used for it to be believed in without asking.
const BELIEVED: Duration = Duration::from_secs(1);

/// The connections of one process.
#[derive(Clone, Debug)]
pub struct Pool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: PgConnectOptions,
    max: u32,
    /// How long to wait for a place.
    patience: Duration,
    /// As many as there may be connections.
    places: Arc<Semaphore>,
    idle: Mutex<VecDeque<Open>>,
}

#[derive(Debug)]
struct Open {
    connection: PgConnection,
    /// Whether what is asked most stands ready on it.
    is_ready: bool,
    since: Instant,
    used: Instant,
}

/// A connection nobody else has; closed unless it is [given back](Self::give_back).
#[derive(Debug)]
pub struct Taken {
    open: Open,
    pool: Pool,
    /// Falls last, when the connection is back or gone.
    _place: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(options: PgConnectOptions, max: u32, patience: Duration) -> Self {
        let inner = Inner {
            options,
            max,
            patience,
            places: Arc::new(Semaphore::new(max as usize)),
            idle: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Takes a connection, which may have died while nobody used it.
    pub(super) async fn take(&self) -> Result<Taken, sqlx::Error> {
        let place = Arc::clone(&self.inner.places).acquire_owned();
        let place = tokio::time::timeout(self.inner.patience, place).await;
        let place = place.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let place = place.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.idle().pop_back();
        let open = match idle.filter(|it| it.since.elapsed() < AGE_MAX) {
            Some(open) => open,
            None => self.connect().await?,
        };
        Ok(Taken {
            open,
            pool: self.clone(),
            _place: place,
        })
    }

    /// Takes a connection that lives, for a question outside any transaction.
    pub async fn take_alive(&self) -> Result<Taken, sqlx::Error> {
        loop {
            let mut taken = self.take().await?;
            let is_believed = taken.open.used.elapsed() < BELIEVED;
            if is_believed || taken.connection().ping().await.is_ok() {
                return Ok(taken);
            }
        }
    }

    /// Asks the server for a sign of life.
    pub(crate) async fn check(&self) -> Result<(), sqlx::Error> {
        let mut taken = self.take_alive().await?;
        taken.connection().ping().await?;
        taken.give_back();
        Ok(())
    }

    async fn connect(&self) -> Result<Open, sqlx::Error> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(&self.inner.options).await?;
            super::take_role(&mut connection).await?;
            Ok::<_, sqlx::Error>(connection)
        };
        let connected = tokio::time::timeout(self.inner.patience, connecting).await;
        let now = Instant::now();
        Ok(Open {
            connection: connected.map_err(|_| sqlx::Error::PoolTimedOut)??,
            is_ready: false,
            since: now,
            used: now,
        })
    }

    /// Returns how many connections are in use, and how many wait for somebody who needs them.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let free = self.inner.places.available_permits();
        (
            (self.inner.max as usize).saturating_sub(free),
            self.idle().len(),
        )
    }

    /// Lets everybody end who has a connection, and nobody begin; then closes all.
    pub async fn close(&self) {
        if let Ok(all) = self.inner.places.acquire_many(self.inner.max).await {
            all.forget();
        }
        self.inner.places.close();
        let idle = std::mem::take(&mut *self.idle());
        for open in idle {
            let _ = open.connection.close().await;
        }
    }

    /// Returns whether nobody can begin any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.places.is_closed()
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<Open>> {
        self.inner
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Returns the connection; no tenant is set, so it sees nobody's rows.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.open.connection
    }

    /// Makes ready what is asked most, once. Not when it connects: who asks for something else need not wait for the tables of it.
    pub(super) async fn make_ready(&mut self) -> Result<(), sqlx::Error> {
        if !self.open.is_ready {
            sqlx::raw_sql(PREPARE).execute(self.connection()).await?;
            self.open.is_ready = true;
        }
        Ok(())
    }

    /// Gives the connection back; only who knows that it is in the middle of nothing may.
    pub fn give_back(self) {
        let mut open = self.open;
        open.used = Instant::now();
        let mut idle = self.pool.idle();
        idle.push_back(open);
        // Those that are never needed gather at the front, one of them goes at a time.
        if idle.front().is_some_and(|it| IDLE_MAX < it.used.elapsed()) {
            idle.pop_front();
        }
    }

    /// Says goodbye to the server.
    pub(super) async fn close(self) {
        let _ = self.open.connection.close().await;
    }
}
