//! Connections, roles, migrations, and transactions that see one tenant.
//!
//! Nothing reads or writes a tenant's rows outside a [`Tenant`] or an [`OrganisationTx`], but the one statement of
//! [`Database::append_fresh`] that enters by itself: the database shows a transaction only what belongs to the workspace or
//! organisation it was begun for, and nothing to one that was begun for none.
//!
//! Invariant: the role the hub works with neither owns a table nor bypasses a policy; [`Database::connect`] refuses any other.

mod directory;
mod error;
mod migrate;
mod pool;
mod settings;
mod tenant;
mod transaction;
mod warming;

use sqlx::{Connection as _, PgConnection, Row as _};

use crate::identity::{OrganisationId, WorkspaceId};
use crate::store::Retractions;
use crate::world::World;

pub use directory::{Audited, Line, Organisation, OrganisationRow, Quotas, Room, WorkspaceRow};
pub(crate) use directory::{millis, timestamp, without_nul};
pub use error::{DatabaseError, causes};
pub use ken_remote::name::{Name, NameError};
pub use migrate::{MIGRATIONS, Migration};
pub use pool::{Pool, Taken};
pub use settings::Settings;
pub(crate) use tenant::Asking;
pub use tenant::{OrganisationTx, Tenant};
pub(crate) use transaction::{is_dead, is_twice};
use warming::Warming;

/// The role every statement of the hub runs as.
pub const ROLE: &str = "ken_app";

/// The database, by a pool of connections that run as [`ROLE`].
#[derive(Clone, Debug)]
pub struct Database {
    pool: Pool,
    /// Whose clock every transaction is told the time by.
    world: World,
    /// Workspaces this process brings back at the moment.
    warming: Warming,
    /// What is known of retractions, so that nobody goes a way that leads nowhere.
    retractions: Retractions,
    /// The role the address names, where that one could see every tenant.
    overseer: Option<String>,
}

impl Database {
    /// Connects, and refuses a database that is not at this build's version or a role that could see every tenant.
    pub async fn connect(settings: &Settings) -> Result<Self, DatabaseError> {
        let options = settings.options()?;
        // Once by hand: whatever is wrong is said before anybody asks anything.
        let connecting = PgConnection::connect_with(&options);
        let mut first = connecting.await.map_err(DatabaseError::Connect)?;
        let taken = take_role(&mut first).await;
        taken.map_err(DatabaseError::NoRole)?;
        let overseer = check_role(&mut first).await?;
        migrate::check(&mut first).await?;
        let _ = first.close().await;
        let (max, patience) = (settings.connections_max, settings.acquire_timeout);
        let pool = Pool::new(options, max, patience);
        Ok(Self {
            pool,
            world: World::default(),
            warming: Warming::new(settings.connections_max),
            retractions: Retractions::default(),
            overseer,
        })
    }

    /// Returns the same database with another clock.
    #[must_use]
    pub fn in_world(self, world: World) -> Self {
        Self { world, ..self }
    }

    pub(crate) fn retractions(&self) -> &Retractions {
        &self.retractions
    }

    /// Returns the clock and the dice of whatever is done to it.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Brings the schema up to this build's version; returns the names of what was run.
    ///
    /// Takes a connection of its own, as the owner. Whoever comes second waits and finds nothing left to do.
    pub async fn migrate(owner_url: &str) -> Result<Vec<&'static str>, DatabaseError> {
        Self::migrate_to(owner_url, MIGRATIONS.len()).await
    }

    /// Runs the first `count` migrations only; for tests of the others.
    #[doc(hidden)]
    pub async fn migrate_to(
        owner_url: &str,
        count: usize,
    ) -> Result<Vec<&'static str>, DatabaseError> {
        let options = Settings::new(owner_url).owner_options()?;
        let connecting = PgConnection::connect_with(&options);
        let mut connection = connecting.await.map_err(DatabaseError::Connect)?;
        let done = migrate::run(&mut connection, &MIGRATIONS[..count]).await;
        let _ = connection.close().await;
        done
    }

    /// Returns the pool, for questions that belong to no tenant.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Begins a transaction that sees one workspace; entries that were evicted are brought back first.
    pub async fn tenant(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<Tenant, DatabaseError> {
        Tenant::begin_warm(self, organisation, workspace).await
    }

    /// Begins a transaction that sees one workspace's log; of entries it may see none.
    pub async fn log(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<Tenant, DatabaseError> {
        let (tenant, _) = Tenant::begin(self, organisation, workspace).await?;
        Ok(tenant)
    }

    /// Begins a transaction that sees one organisation's workspaces, tokens and global entries.
    pub async fn organisation(&self, id: OrganisationId) -> Result<OrganisationTx, DatabaseError> {
        OrganisationTx::begin(self, id).await
    }

    /// Returns the role the hub logs in as, where nothing but [`ROLE`], taken on every connection, keeps it from seeing
    /// every tenant: a superuser, or one that bypasses policies.
    #[must_use]
    pub fn overseer(&self) -> Option<&str> {
        self.overseer.as_deref()
    }
}

/// Refuses a role that could see every tenant; returns the one that logs in, where that one could.
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
    let query = "SELECT rolname::text FROM pg_roles
         WHERE rolname = session_user AND (rolsuper OR rolbypassrls)";
    Ok(sqlx::query_scalar(query).fetch_optional(connection).await?)
}

/// Makes a new connection run as [`ROLE`].
async fn take_role(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let set = sqlx::AssertSqlSafe(format!("SET ROLE {ROLE}"));
    sqlx::raw_sql(set).execute(connection).await.map(|_| ())
}
