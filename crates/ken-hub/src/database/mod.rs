//! Connections, roles, migrations, and transactions that see one tenant.
//!
//! Nothing reads or writes a tenant's rows outside a [`Tenant`] or an [`OrganisationTx`]: the database shows a transaction
//! only what belongs to the workspace or organisation it was begun for, and nothing to one that was begun for none.
//!
//! Invariant: the role the hub works with neither owns a table nor bypasses a policy; [`Database::connect`] refuses any other.

mod directory;
mod migrate;
mod settings;
mod tenant;
mod transaction;
mod warming;

use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgConnection, PgPool, Row as _};

use crate::identity::{OrganisationId, WorkspaceId};
use crate::world::World;

pub use directory::{Audited, Name, NameError, Organisation, Quotas, WorkspaceRow};
pub(crate) use directory::{millis, timestamp, without_nul};
pub use migrate::{MIGRATIONS, Migration};
pub use settings::Settings;
pub use tenant::{OrganisationTx, Tenant};
use warming::Warming;

/// The role every statement of the hub runs as.
pub const ROLE: &str = "ken_app";

/// The database, by a pool of connections that run as [`ROLE`].
#[derive(Clone, Debug)]
pub struct Database {
    pool: PgPool,
    /// Whose clock every transaction is told the time by.
    world: World,
    /// Workspaces this process brings back at the moment.
    warming: Warming,
}

/// Why the database could not be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("the database's address cannot be read: begin it with postgres://")]
    Address(#[source] sqlx::Error),
    #[error("cannot connect to the database")]
    Connect(#[source] sqlx::Error),
    #[error("the database answered with an error")]
    Query(#[from] sqlx::Error),
    #[error(
        "role `{role}` is not held back by row-level security ({why}): connect as a role that may `SET ROLE {ROLE}`"
    )]
    Role { role: String, why: &'static str },
    #[error(
        "cannot become role `{ROLE}`: run `ken hub migrate` first, then `GRANT {ROLE} TO` the role the hub connects as"
    )]
    NoRole(#[source] sqlx::Error),
    #[error("the database is at version {found}, this hub needs {wanted}: run `ken hub migrate`")]
    Behind { found: i32, wanted: i32 },
    #[error("the database is at version {found}, this hub knows up to {known}: upgrade the hub")]
    Ahead { found: i32, known: i32 },
    #[error(
        "migration `{name}` was run with another text than this build has: the build is not the one it claims to be, or a file was edited"
    )]
    Edited { name: &'static str },
    #[error("migration `{name}` failed; nothing of it was kept")]
    Migration {
        name: &'static str,
        source: sqlx::Error,
    },
    #[error(
        "the connection was lost while the change was being kept: whether it was is not known, so send it again"
    )]
    Uncertain(#[source] sqlx::Error),
    #[error("the organisation has no such workspace")]
    NoWorkspace,
    #[error("the workspace was put away and is being brought back: ask again shortly")]
    Warming,
    #[error("cannot bring back the entries of a workspace that was evicted")]
    Rebuild(#[source] Box<crate::store::StoreError>),
    #[error("what is stored cannot be read: {0}")]
    Damaged(String),
}

impl Database {
    /// Connects, and refuses a database that is not at this build's version or a role that could see every tenant.
    pub async fn connect(settings: &Settings) -> Result<Self, DatabaseError> {
        let options = settings.options()?;
        // Once by hand: a pool only says that it waited in vain.
        let connecting = PgConnection::connect_with(&options);
        let mut first = connecting.await.map_err(DatabaseError::Connect)?;
        let taken = take_role(&mut first).await;
        taken.map_err(DatabaseError::NoRole)?;
        let _ = first.close().await;
        let pool = PgPoolOptions::new()
            .max_connections(settings.connections_max)
            .acquire_timeout(settings.acquire_timeout)
            // Every transaction is begun anew where its connection turns out to be dead.
            .test_before_acquire(false)
            .after_connect(|connection, _| Box::pin(take_role(connection)))
            .connect_with(options)
            .await
            .map_err(DatabaseError::Connect)?;
        let database = Self {
            pool,
            world: World::default(),
            warming: Warming::default(),
        };
        database.check_role().await?;
        migrate::check(&database.pool).await?;
        Ok(database)
    }

    /// Returns the same database with another clock.
    #[must_use]
    pub fn in_world(self, world: World) -> Self {
        Self { world, ..self }
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
    pub fn pool(&self) -> &PgPool {
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

    async fn check_role(&self) -> Result<(), DatabaseError> {
        let query = "SELECT rolname::text, rolsuper, rolbypassrls, EXISTS (
                SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE nspname = 'ken' AND relowner = pg_roles.oid)
             FROM pg_roles WHERE rolname = current_user";
        let row = sqlx::query(query).fetch_one(&self.pool).await?;
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
        Ok(())
    }
}

/// Makes a new connection run as [`ROLE`].
async fn take_role(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let set = "SET ROLE ken_app";
    sqlx::raw_sql(set).execute(connection).await.map(|_| ())
}
