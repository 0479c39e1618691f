//! Database access: connections, roles, migrations and transactions confined to one tenant.
//!
//! A tenant's rows are only accessible inside a [`WorkspaceTx`] or an [`OrganizationTx`]: row-level
//! security shows a transaction only the workspace or organization it was begun for, and nothing by
//! default. The exception is `HubDatabase::fast_append`, a single statement that enters the
//! workspace itself.
//!
//! Invariant: the hub's role neither owns a table nor bypasses row-level security;
//! [`HubDatabase::connect`] refuses any other.

pub mod audit;
pub mod audit_chain;
pub mod audit_checkpoints;
pub mod audit_delivery;
mod columns;
mod directory;
mod error;
mod index_tasks;
mod instance;
mod locks;
mod migrate;
mod pool;
mod readiness;
mod rebuild_queue;
mod removal;
pub mod retention;
mod retraction_cache;
mod settings;
mod tenant;
mod transaction;

use sqlx::{Connection as _, PgConnection, Row as _};

use crate::clock::HubClock;
use crate::ids::{OrganizationId, WorkspaceId};

pub(crate) use columns::{event_id, event_uuid, millis, timestamp, without_nul};
pub use directory::{Organization, OrganizationRow, WorkspaceRow};
pub use error::{DatabaseError, causes};
use index_tasks::IndexTasks;
pub use instance::{InstanceCheck, InstanceState, SILENCE_MAX};
pub use ken_remote::name::{HubName, HubNameError};
pub(crate) use locks::AdvisoryLock;
use migrate::SchemaState;
pub use migrate::{MIGRATIONS, Migration};
pub use pool::{ConnectionPool, LeasedConnection};
pub use readiness::ReadinessProbe;
use rebuild_queue::RebuildQueue;
pub use removal::{ErasedTenant, GRACE_DAYS, NameTaken, RemovedOrganization, RemovedWorkspace};
use retraction_cache::RetractionCache;
pub use settings::DatabaseSettings;
pub(crate) use tenant::{EagerQuery, ProjectionState};
pub use tenant::{EventPusher, OrganizationTx, WorkspaceTx};
pub(crate) use transaction::{is_connection_lost, is_unique_violation};

/// The role that executes every statement of the hub.
pub const ROLE: &str = "ken_app";

/// Handle of the hub's database: a pool of connections that run as [`ROLE`].
#[derive(Clone, Debug)]
pub struct HubDatabase {
    pool: ConnectionPool,
    /// Clock of all transactions.
    clock: HubClock,
    /// Workspaces that this process is rebuilding.
    rebuilds: RebuildQueue,
    /// Workspaces that this process is indexing.
    indexing: IndexTasks,
    /// Workspaces with retractions, where the fast append of proposals cannot succeed.
    retractions: RetractionCache,
    /// The login role of the URL, if it could see every tenant.
    privileged_login: Option<String>,
    /// The version of the schema, if it is newer than this build's.
    newer_schema: Option<i32>,
}

impl HubDatabase {
    /// Connects, and refuses a database that this build cannot serve or a role that could see every
    /// tenant.
    pub async fn connect(settings: &DatabaseSettings) -> Result<Self, DatabaseError> {
        let options = settings.options()?;
        // One connection outside the pool, so that configuration errors appear at startup and not
        // with the first request.
        let connecting = PgConnection::connect_with(&options);
        let mut first = connecting.await.map_err(DatabaseError::Connect)?;
        let role_set = take_role(&mut first).await;
        role_set.map_err(DatabaseError::NoRole)?;
        let overseer = check_role(&mut first).await?;
        let schema = migrate::ensure_compatible(&mut first).await?;
        let _ = first.close().await;
        let (max, timeout) = (settings.connections_max, settings.acquire_timeout);
        let pool = ConnectionPool::new(options, max, timeout);
        Ok(Self {
            pool,
            clock: HubClock::default(),
            rebuilds: RebuildQueue::new(settings.connections_max),
            indexing: IndexTasks::default(),
            retractions: RetractionCache::default(),
            privileged_login: overseer,
            newer_schema: match schema {
                SchemaState::Current => None,
                SchemaState::Newer(version) => Some(version),
            },
        })
    }

    /// Returns the same database with another clock.
    #[must_use]
    pub fn with_clock(self, clock: HubClock) -> Self {
        Self { clock, ..self }
    }

    pub(crate) fn indexing(&self) -> &IndexTasks {
        &self.indexing
    }

    pub(crate) fn rebuilds(&self) -> &RebuildQueue {
        &self.rebuilds
    }

    pub(crate) fn retractions(&self) -> &RetractionCache {
        &self.retractions
    }

    /// Returns the clock and random source of the database.
    #[must_use]
    pub fn clock(&self) -> &HubClock {
        &self.clock
    }

    /// Migrates the schema to this build's version. Returns the names of the executed migrations.
    ///
    /// Uses its own connection as the owner of the tables. A concurrent migration waits and then
    /// finds nothing to do.
    pub async fn migrate(owner_url: &str) -> Result<Vec<&'static str>, DatabaseError> {
        Self::migrate_to(owner_url, MIGRATIONS.len()).await
    }

    /// Runs only the first `count` migrations; for tests of the others.
    #[doc(hidden)]
    pub async fn migrate_to(
        owner_url: &str,
        count: usize,
    ) -> Result<Vec<&'static str>, DatabaseError> {
        let mut connection = Self::connect_owner(owner_url).await?;
        let done = migrate::run(&mut connection, &MIGRATIONS[..count]).await;
        let _ = connection.close().await;
        done
    }

    /// Connects outside the pool, without timeouts and without switching to [`ROLE`].
    pub(crate) async fn connect_owner(url: &str) -> Result<PgConnection, DatabaseError> {
        let options = DatabaseSettings::new(url).owner_options()?;
        let connecting = PgConnection::connect_with(&options);
        connecting.await.map_err(DatabaseError::Connect)
    }

    /// Returns the names of the executed migrations, oldest first. Refuses a database with edited
    /// ones, or without any. It may be older than this build: a backup comes before an upgrade.
    pub(crate) async fn executed_migrations(
        connection: &mut PgConnection,
    ) -> Result<Vec<String>, DatabaseError> {
        migrate::ensure_known(connection).await?;
        let query = "SELECT name FROM ken.migrations ORDER BY version";
        Ok(sqlx::query_scalar(query).fetch_all(connection).await?)
    }

    /// Returns the migrations of this build that have not been executed on a database.
    pub async fn pending_migrations(url: &str) -> Result<&'static [Migration], DatabaseError> {
        let mut connection = Self::connect_owner(url).await?;
        let pending = migrate::pending(&mut connection).await;
        let _ = connection.close().await;
        pending
    }

    /// Returns the schema version of the database if it is newer than this build's.
    #[must_use]
    pub fn newer_schema(&self) -> Option<i32> {
        self.newer_schema
    }

    /// Returns the connection pool, for queries that belong to no tenant.
    #[must_use]
    pub fn pool(&self) -> &ConnectionPool {
        &self.pool
    }

    /// Begins a transaction on one workspace's log. Its projections may be missing.
    pub async fn begin_log(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<WorkspaceTx, DatabaseError> {
        let (tx, _) = WorkspaceTx::begin(self, organization, workspace).await?;
        Ok(tx)
    }

    /// Begins a transaction on one organization's workspaces, tokens and published entries.
    pub async fn begin_organization(
        &self,
        id: OrganizationId,
    ) -> Result<OrganizationTx, DatabaseError> {
        OrganizationTx::begin(self, id).await
    }

    /// Returns the hub's login role if only the switch to [`ROLE`], made on every connection, keeps
    /// it from seeing every tenant: a superuser, or a role that bypasses row-level security.
    #[must_use]
    pub fn privileged_login(&self) -> Option<&str> {
        self.privileged_login.as_deref()
    }
}

/// Refuses a current role that could see every tenant. Returns the login role if it could.
async fn check_role(connection: &mut PgConnection) -> Result<Option<String>, DatabaseError> {
    let query = "SELECT rolname::text, rolsuper, rolbypassrls, EXISTS (
            SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = 'ken' AND relowner = pg_roles.oid)
         FROM pg_roles WHERE rolname = current_user";
    let row = sqlx::query(query).fetch_one(&mut *connection).await?;
    let role: String = row.try_get(0)?;
    let reasons = [
        "it is a superuser",
        "it has BYPASSRLS",
        "it owns the tables",
    ];
    for (at, why) in reasons.into_iter().enumerate() {
        if row.try_get(at + 1)? {
            return Err(DatabaseError::Role { role, why });
        }
    }
    // The login role may be privileged: statements run as the current role. The operator is only
    // warned about it.
    let query = "SELECT rolname::text FROM pg_roles
         WHERE rolname = session_user AND (rolsuper OR rolbypassrls)";
    Ok(sqlx::query_scalar(query).fetch_optional(connection).await?)
}

/// Switches a new connection to [`ROLE`].
async fn take_role(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let set = sqlx::AssertSqlSafe(format!("SET ROLE {ROLE}"));
    sqlx::raw_sql(set).execute(connection).await.map(|_| ())
}
