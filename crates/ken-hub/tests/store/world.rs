//! A database of one's own, an organisation in it, and a store that blocks.

use std::sync::Arc;

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId};
use ken_core::state::State;
use ken_core::store::{Delta, Filter, Store};
use ken_core::workspace::Workspace;
use ken_hub::database::{Database, MIGRATIONS, Settings, Tenant};
use ken_hub::identity::{OrganisationId, WorkspaceId};
use ken_hub::store::{Appended, StoreError, Terms};
use ken_testkit::postgres::{self, Postgres};
use tokio::runtime::{Builder, Runtime};

/// A migrated database with one organisation.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) database: Database,
    pub(crate) organisation: OrganisationId,
    /// Last, so that connections are closed when the database is dropped.
    pub(crate) bare: postgres::Database,
}

/// One workspace, asked and told by waiting.
#[derive(Clone)]
pub(crate) struct Blocking {
    pub(crate) world: Arc<World>,
    pub(crate) workspace: WorkspaceId,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let key: String = MIGRATIONS.iter().map(|it| it.sql).collect();
        let bare = Postgres::shared().database_from(&key, |url| {
            runtime.block_on(Database::migrate(url)).unwrap();
        });
        let settings = Settings::new(bare.url());
        let database = runtime.block_on(Database::connect(&settings)).unwrap();
        let name = "acme".parse().unwrap();
        let made = runtime.block_on(database.create_organisation(&name));
        Arc::new(Self {
            organisation: made.unwrap().unwrap(),
            runtime,
            database,
            bare,
        })
    }

    pub(crate) fn workspace(self: &Arc<Self>, name: &str) -> Blocking {
        let workspace = self.runtime.block_on(async {
            let mut organisation = self.database.organisation(self.organisation).await.unwrap();
            let name = name.parse().unwrap();
            let made = organisation.create_workspace(&name).await.unwrap();
            organisation.commit().await.unwrap();
            made.unwrap()
        });
        Blocking {
            world: Arc::clone(self),
            workspace,
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.runtime.block_on(self.database.pool().close());
    }
}

impl Blocking {
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.world.runtime.block_on(work)
    }

    pub(crate) async fn tenant(&self) -> Tenant {
        let organisation = self.world.organisation;
        let begun = self.world.database.tenant(organisation, self.workspace);
        begun.await.unwrap()
    }

    /// Runs one question or change in a transaction of its own.
    pub(crate) fn ask<T>(
        &self,
        ask: impl AsyncFnOnce(&mut Tenant) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.wait(async {
            let mut tenant = self.tenant().await;
            let answer = ask(&mut tenant).await?;
            tenant.commit().await?;
            Ok(answer)
        })
    }

    /// Appends the short way, on no terms; nothing where that does not lead there.
    pub(crate) async fn append_fresh(&self, copies: Vec<Recorded>) -> Option<Appended> {
        let (database, organisation) = (&self.world.database, self.world.organisation);
        let short = database.append_fresh(organisation, self.workspace, copies, Terms::default());
        short.await.unwrap()
    }

    /// Appends as a push is: the short way, or the long.
    pub(crate) async fn append(&self, copies: Vec<Recorded>) -> Appended {
        if let Some(appended) = self.append_fresh(copies.clone()).await {
            return appended;
        }
        let mut tenant = self.tenant().await;
        let appended = tenant.append(copies).await.unwrap();
        tenant.commit().await.unwrap();
        appended
    }

    pub(crate) fn rebuild(&self) {
        let (database, organisation) = (&self.world.database, self.world.organisation);
        self.wait(database.rebuild(organisation, self.workspace))
            .unwrap();
    }

    pub(crate) fn evict(&self) {
        let (database, organisation) = (&self.world.database, self.world.organisation);
        self.wait(database.evict(organisation, self.workspace))
            .unwrap();
    }
}

impl Store for Blocking {
    type Error = StoreError;

    fn apply(&mut self, delta: Delta<'_>) -> Result<(), StoreError> {
        self.ask(async |tenant| tenant.apply(delta).await).map(drop)
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>, StoreError> {
        self.ask(async |tenant| tenant.entry(id).await)
    }

    fn event(&self, id: EventId) -> Result<Option<Recorded>, StoreError> {
        self.ask(async |tenant| tenant.event(id).await)
    }

    fn history(&self, id: EntryId) -> Result<Vec<Recorded>, StoreError> {
        self.ask(async |tenant| tenant.history(id).await)
    }

    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, StoreError> {
        self.ask(async |tenant| tenant.find(beginning).await)
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
        self.ask(async |tenant| tenant.list(filter, None, None).await)
    }

    fn tombstones(&self) -> Result<Vec<Entry>, StoreError> {
        self.ask(async |tenant| tenant.tombstones().await)
    }

    fn workspace(&self) -> Result<Workspace, StoreError> {
        self.ask(async |tenant| tenant.workspace().await)
    }

    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, StoreError> {
        self.ask(async |tenant| tenant.latest(limit).await)
    }

    fn state(&self) -> Result<State, StoreError> {
        self.ask(async |tenant| tenant.state().await)
    }
}
