//! Test environment of the store: a separate database, an organization, and a blocking store.

use std::sync::Arc;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::store::{DerivedStore, EntryFilter, EventDelta};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId};
use ken_hub::database::{DatabaseSettings, EventPusher, HubDatabase, MIGRATIONS, WorkspaceTx};
use ken_hub::ids::{OrganizationId, WorkspaceId};
use ken_hub::store::{AppendReceipt, FastAppendOptions, StoreError};
use ken_testkit::postgres::{self, PostgresServer};
use tokio::runtime::{Builder, Runtime};

/// A migrated database with one organization.
pub(crate) struct StoreTestEnvironment {
    pub(crate) runtime: Runtime,
    pub(crate) database: HubDatabase,
    pub(crate) organization: OrganizationId,
    /// Last, so that connections are closed before the database is dropped.
    pub(crate) bare: postgres::TestDatabase,
}

/// Returns a pusher without a token.
pub(crate) fn pusher(actor: &str) -> EventPusher {
    let actor = actor.to_owned();
    EventPusher { actor, token: None }
}

/// One workspace with a blocking interface.
#[derive(Clone)]
pub(crate) struct BlockingWorkspace {
    pub(crate) world: Arc<StoreTestEnvironment>,
    pub(crate) workspace: WorkspaceId,
}

impl StoreTestEnvironment {
    pub(crate) fn new() -> Arc<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let key: String = MIGRATIONS.iter().map(|it| it.sql).collect();
        let bare = PostgresServer::shared().create_database_from(&key, |url| {
            runtime.block_on(HubDatabase::migrate(url)).unwrap();
        });
        let settings = DatabaseSettings::new(bare.url());
        let database = runtime.block_on(HubDatabase::connect(&settings)).unwrap();
        let name = "acme".parse().unwrap();
        let made = runtime.block_on(database.create_organization(&name));
        Arc::new(Self {
            organization: made.unwrap().unwrap(),
            runtime,
            database,
            bare,
        })
    }

    pub(crate) fn workspace(self: &Arc<Self>, name: &str) -> BlockingWorkspace {
        let workspace = self.runtime.block_on(async {
            let mut organization = self
                .database
                .begin_organization(self.organization)
                .await
                .unwrap();
            let name = name.parse().unwrap();
            let made = organization.create_workspace(&name).await.unwrap();
            organization.commit().await.unwrap();
            made.unwrap()
        });
        BlockingWorkspace {
            world: Arc::clone(self),
            workspace,
        }
    }
}

impl Drop for StoreTestEnvironment {
    fn drop(&mut self) {
        self.runtime.block_on(self.database.pool().close());
    }
}

impl BlockingWorkspace {
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.world.runtime.block_on(work)
    }

    pub(crate) async fn tenant(&self) -> WorkspaceTx {
        let organization = self.world.organization;
        let begun = self
            .world
            .database
            .begin_workspace(organization, self.workspace);
        begun.await.unwrap()
    }

    /// Runs one query or change in its own transaction.
    pub(crate) fn ask<T>(
        &self,
        ask: impl AsyncFnOnce(&mut WorkspaceTx) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.wait(async {
            let mut tenant = self.tenant().await;
            let answer = ask(&mut tenant).await?;
            tenant.commit().await?;
            Ok(answer)
        })
    }

    /// Tries the fast append without options; returns `None` if the events are not eligible.
    pub(crate) async fn append_fresh(&self, copies: Vec<RecordedEvent>) -> Option<AppendReceipt> {
        let (database, organization) = (&self.world.database, self.world.organization);
        let short = database.fast_append(
            organization,
            self.workspace,
            copies,
            FastAppendOptions::default(),
        );
        short.await.unwrap()
    }

    /// Appends like a push: fast if possible, otherwise regular.
    pub(crate) async fn append(&self, copies: Vec<RecordedEvent>) -> AppendReceipt {
        if let Some(appended) = self.append_fresh(copies.clone()).await {
            return appended;
        }
        let mut tenant = self.tenant().await;
        let appended = tenant.append(copies).await.unwrap();
        tenant.commit().await.unwrap();
        appended
    }

    pub(crate) fn rebuild(&self) {
        let (database, organization) = (&self.world.database, self.world.organization);
        self.wait(database.rebuild(organization, self.workspace))
            .unwrap();
    }

    pub(crate) fn evict(&self) {
        let (database, organization) = (&self.world.database, self.world.organization);
        self.wait(database.evict(organization, self.workspace))
            .unwrap();
    }
}

impl DerivedStore for BlockingWorkspace {
    type Error = StoreError;

    fn apply(&mut self, delta: EventDelta<'_>) -> Result<(), StoreError> {
        self.ask(async |tenant| tenant.apply(delta).await).map(drop)
    }

    fn entry(&self, id: EntryId) -> Result<Option<Entry>, StoreError> {
        self.ask(async |tenant| tenant.entry(id).await)
    }

    fn event(&self, id: EventId) -> Result<Option<RecordedEvent>, StoreError> {
        self.ask(async |tenant| tenant.event(id).await)
    }

    fn history(&self, id: EntryId) -> Result<Vec<RecordedEvent>, StoreError> {
        self.ask(async |tenant| tenant.history(id).await)
    }

    fn find(&self, beginning: &str) -> Result<Vec<EntryId>, StoreError> {
        self.ask(async |tenant| tenant.find_ids(beginning).await)
    }

    fn list(&self, filter: &EntryFilter) -> Result<Vec<Entry>, StoreError> {
        self.ask(async |tenant| tenant.list(filter, None, None).await)
    }

    fn tombstones(&self) -> Result<Vec<Entry>, StoreError> {
        self.ask(async |tenant| tenant.tombstones().await)
    }

    fn workspace(&self) -> Result<WorkspaceState, StoreError> {
        self.ask(async |tenant| tenant.workspace_state().await)
    }

    fn latest(&self, limit: Hlc) -> Result<Option<Hlc>, StoreError> {
        self.ask(async |tenant| tenant.latest_clock(limit).await)
    }

    fn state(&self) -> Result<LedgerState, StoreError> {
        self.ask(async |tenant| tenant.state().await)
    }
}
