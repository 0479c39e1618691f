//! Connection settings and timeouts of the database.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;

use super::DatabaseError;
use crate::config::ServeSettings;

/// Maximum wait of a request for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum duration of a statement.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum wait for a row or table lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Idle time after which the server ends an open transaction.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Candidates that the HNSW graph of the organization-wide search keeps: as many as one side of
/// that search takes.
const EF_SEARCH: &str = "200";

/// Entries of all organizations visited in the HNSW graph before a search ends with the results so
/// far.
const SCAN_MAX: &str = "100000";

/// Connection settings and timeouts of the database.
#[derive(Clone)]
pub struct DatabaseSettings {
    /// Starts with `postgres://`. It may contain a password, so it is never printed.
    pub url: String,
    pub connections_max: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    pub lock_timeout: Duration,
    pub idle_timeout: Duration,
}

impl std::fmt::Debug for DatabaseSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("connections_max", &self.connections_max)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}

impl DatabaseSettings {
    /// Default number of connections per process: two per processor of a typical database server.
    pub const CONNECTIONS: u32 = ServeSettings::CONNECTIONS;

    /// Returns the default settings.
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

    /// Returns the options of the hub's own connections, with timeouts and planner settings.
    pub(super) fn options(&self) -> Result<PgConnectOptions, DatabaseError> {
        let limits = [
            ("statement_timeout", self.statement_timeout),
            ("lock_timeout", self.lock_timeout),
            ("idle_in_transaction_session_timeout", self.idle_timeout),
        ];
        let limits = limits.map(|(name, limit)| (name, limit.as_millis().to_string()));
        // Settings of the planner and of vector search. The iterative scan continues until enough
        // entries of the caller's organization are found.
        let search = [
            // Every statement gets its key as a parameter, so a custom plan per execution finds
            // nothing better.
            ("plan_cache_mode", "force_generic_plan"),
            // No query needs a sequential scan, but a plan cached while a table was small would
            // keep using one.
            ("enable_seqscan", "off"),
            // One tenant's few rows are read faster than parallel workers start or code is
            // compiled.
            ("max_parallel_workers_per_gather", "0"),
            ("jit", "off"),
            ("hnsw.ef_search", EF_SEARCH),
            ("hnsw.iterative_scan", "strict_order"),
            ("hnsw.max_scan_tuples", SCAN_MAX),
        ];
        Ok(self.owner_options()?.options(limits).options(search))
    }

    /// Returns the options of the owner's connection, without timeouts: migrations take as long as
    /// they need.
    pub(super) fn owner_options(&self) -> Result<PgConnectOptions, DatabaseError> {
        // sqlx accepts any URL scheme.
        let is_ours = ["postgres://", "postgresql://"]
            .iter()
            .any(|it| self.url.starts_with(it));
        if !is_ours {
            let why = sqlx::Error::Configuration("the scheme is not postgres or postgresql".into());
            return Err(DatabaseError::Address(why));
        }
        let options = PgConnectOptions::from_str(&self.url).map_err(DatabaseError::Address)?;
        Ok(options.application_name("ken-hub"))
    }
}
