//! Where the database is and how long to wait for it.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;

use super::DatabaseError;

/// How long a request waits for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long one statement may take.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait for a row or table somebody else holds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a transaction may be left alone before the server ends it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Entries the graph of the organisation-wide search keeps in hand: as many as one side of that search takes.
const EF_SEARCH: &str = "200";

/// Entries of all organisations the graph is followed through before a search ends with what it found.
const SCAN_MAX: &str = "100000";

/// Where the database is and how long to wait for it.
#[derive(Clone)]
pub struct Settings {
    /// Begins with `postgres://`; may hold a password, so it is never printed.
    pub url: String,
    pub connections_max: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    pub lock_timeout: Duration,
    pub idle_timeout: Duration,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("connections_max", &self.connections_max)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// Connections a process keeps where nothing else is said; two for each processor of a common database server.
    pub const CONNECTIONS: u32 = 16;

    /// Returns what suits most hubs.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            connections_max: Self::CONNECTIONS,
            acquire_timeout: ACQUIRE_TIMEOUT,
            statement_timeout: STATEMENT_TIMEOUT,
            lock_timeout: LOCK_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
        }
    }

    pub(super) fn options(&self) -> Result<PgConnectOptions, DatabaseError> {
        let limits = [
            ("statement_timeout", self.statement_timeout),
            ("lock_timeout", self.lock_timeout),
            ("idle_in_transaction_session_timeout", self.idle_timeout),
        ];
        let limits = limits.map(|(name, limit)| (name, limit.as_millis().to_string()));
        // A search among all organisations' entries goes on until it found enough of the one that asks.
        let search = [
            // Every statement is asked by a key it gets as a parameter: planning it anew finds nothing better.
            ("plan_cache_mode", "force_generic_plan"),
            // Nor is there a table to be read whole: a plan made while it was small must not say so for ever.
            ("enable_seqscan", "off"),
            // And the few rows of one tenant are read before helpers would have been woken, or code been compiled for them.
            ("max_parallel_workers_per_gather", "0"),
            ("jit", "off"),
            ("hnsw.ef_search", EF_SEARCH),
            ("hnsw.iterative_scan", "strict_order"),
            ("hnsw.max_scan_tuples", SCAN_MAX),
        ];
        Ok(self.owner_options()?.options(limits).options(search))
    }

    /// Returns the options of the owner, whose statements may take as long as they must.
    pub(super) fn owner_options(&self) -> Result<PgConnectOptions, DatabaseError> {
        // The driver takes any word before the colon for its own.
        let is_ours = ["postgres://", "postgresql://"]
            .iter()
            .any(|it| self.url.starts_with(it));
        if !is_ours {
            let why = sqlx::Error::Configuration("it begins otherwise".into());
            return Err(DatabaseError::Address(why));
        }
        let options = PgConnectOptions::from_str(&self.url).map_err(DatabaseError::Address)?;
        Ok(options.application_name("ken-hub"))
    }
}
