//! What `ken-bench hub` measures in: a server of its own that keeps its promises, the hub's store,
//! and a twin database with the same tables for the bare side.

use std::path::Path;
use std::str::FromStr as _;
use std::time::Instant;

use ken_core::ledger::event::RecordedEvent;
use ken_hub::database::{DatabaseSettings, HubDatabase, HubName};
use ken_hub::ids::{OrganizationId, WorkspaceId};
use ken_hub::store::FastAppendOptions;
use ken_testkit::postgres::PostgresServer;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Executor as _};

use super::super::fixture::said;
use super::super::measure::{Took, process_cpu};
use super::super::story::Story;
use super::rows::{self, Rows};
use super::server;

/// As much of this machine as a server in earnest would have. `fsync` and `synchronous_commit` stay
/// on.
const OPTIONS: &str = "-c shared_buffers=2GB -c max_wal_size=8GB -c checkpoint_timeout=15min";
const SEED: u64 = 20_260_102;
/// The two databases.
const HUB: &str = "hub";
const TWIN: &str = "bare";

pub(crate) struct World {
    pub(crate) server: PostgresServer,
    pub(crate) hub: HubDatabase,
    /// The same database as its owner, to look at what an append made.
    pub(crate) owner: PgConnection,
    /// The same tables, for bare inserts.
    pub(crate) twin: PgConnection,
    pub(crate) tables: Vec<String>,
    pub(crate) organization: OrganizationId,
    pub(crate) workspaces: Vec<WorkspaceId>,
    story: Story,
    asked: usize,
}

impl World {
    pub(crate) async fn begin() -> Result<Self, String> {
        let server = PostgresServer::start_own_with(OPTIONS);
        server.sql("postgres", &format!("create database {HUB}"));
        HubDatabase::migrate(&server.url(HUB))
            .await
            .map_err(said("cannot migrate"))?;
        // A copy, so that even types have the same numbers in both.
        server.sql(
            "postgres",
            &format!("create database {TWIN} template {HUB}"),
        );
        let settings = DatabaseSettings::new(&server.url(HUB));
        let hub = HubDatabase::connect(&settings)
            .await
            .map_err(said("cannot connect"))?;
        let mut owner = connect(&server.url(HUB)).await?;
        let twin = connect(&server.url(TWIN)).await?;
        let tables = rows::tables(&mut owner)
            .await
            .map_err(said("cannot list the tables"))?;
        let name = HubName::from_str("bench").map_err(said("no name"))?;
        let made = hub
            .create_organization(&name)
            .await
            .map_err(said("cannot make an organization"))?;
        Ok(Self {
            server,
            hub,
            owner,
            twin,
            tables,
            organization: made.ok_or("there is one already")?,
            workspaces: Vec::new(),
            story: Story::lessons(SEED),
            asked: 0,
        })
    }

    /// Makes workspaces; returns the new ones.
    pub(crate) async fn add_workspaces(
        &mut self,
        count: usize,
    ) -> Result<Vec<WorkspaceId>, String> {
        let mut made = Vec::with_capacity(count);
        let of = self.hub.begin_organization(self.organization).await;
        let mut of = of.map_err(said("cannot enter the organization"))?;
        for _ in 0..count {
            let name = format!("w{}", self.workspaces.len() + made.len());
            let name = HubName::from_str(&name).map_err(said("no name"))?;
            let id = of
                .create_workspace(&name)
                .await
                .map_err(said("cannot make a workspace"))?;
            made.push(id.ok_or("there is one already")?);
        }
        of.commit().await.map_err(said("cannot make workspaces"))?;
        self.workspaces.extend(&made);
        Ok(made)
    }

    /// Returns the next `count` lessons and the questions they answer.
    pub(crate) fn lessons(&mut self, count: usize) -> (Vec<RecordedEvent>, Vec<String>) {
        let lessons = (0..count).map(|_| self.story.tell().1).collect();
        let questions = self.story.queries()[self.asked..].to_vec();
        self.asked += questions.len();
        (lessons, questions)
    }

    /// Appends one batch as the hub does, in one transaction.
    pub(crate) async fn append(
        &self,
        workspace: WorkspaceId,
        batch: Vec<RecordedEvent>,
    ) -> Result<(), String> {
        append(&self.hub, self.organization, workspace, batch).await
    }

    /// Returns every row an append made in these workspaces, by table; what has none is left out.
    pub(crate) async fn rows_of(&mut self, workspace: WorkspaceId) -> Result<Vec<Rows>, String> {
        let mut all = Vec::new();
        for table in &self.tables {
            let rows = Rows::fetch(&mut self.owner, table, workspace.0).await;
            let rows = rows.map_err(said("cannot read what an append made"))?;
            if rows.len() > 0 {
                all.push(rows);
            }
        }
        Ok(all)
    }

    /// Times work of this process and of the server.
    pub(crate) async fn timed<T>(&self, work: impl Future<Output = T>) -> (T, Took) {
        timed(self.server.data(), work).await
    }

    /// Lets the server do what it would have done meanwhile, had the load taken a year.
    pub(crate) async fn settle(&mut self) -> Result<(), String> {
        for statement in ["vacuum (analyze)", "checkpoint"] {
            let done = self.owner.execute(statement).await;
            done.map_err(said("cannot settle"))?;
        }
        Ok(())
    }

    pub(crate) fn url(&self) -> String {
        self.server.url(HUB)
    }

    pub(crate) fn twin_url(&self) -> String {
        self.server.url(TWIN)
    }
}

/// Appends one batch as the hub does, in one transaction.
pub(crate) async fn append(
    hub: &HubDatabase,
    organization: OrganizationId,
    workspace: WorkspaceId,
    batch: Vec<RecordedEvent>,
) -> Result<(), String> {
    let short = hub.fast_append(
        organization,
        workspace,
        batch.clone(),
        FastAppendOptions::default(),
    );
    if short.await.map_err(said("cannot append"))?.is_some() {
        return Ok(());
    }
    let tenant = hub.begin_append(organization, workspace, &batch).await;
    let mut tenant = tenant.map_err(said("cannot enter a workspace"))?;
    tenant.append(batch).await.map_err(said("cannot append"))?;
    tenant.commit().await.map_err(said("cannot commit"))
}

/// Inserts rows in one transaction, a statement a table.
pub(crate) async fn insert(db: &mut PgConnection, rows: &[Rows]) -> Result<(), String> {
    let failed = |error: sqlx::Error| said("cannot insert")(error);
    db.execute("begin").await.map_err(failed)?;
    for rows in rows {
        rows.insert(db).await.map_err(failed)?;
    }
    db.execute("commit").await.map_err(failed)?;
    Ok(())
}

pub(crate) async fn connect(url: &str) -> Result<PgConnection, String> {
    let options = PgConnectOptions::from_str(url).map_err(said("no address"))?;
    options.connect().await.map_err(said("cannot connect"))
}

/// Times work of this process and of the server whose data lie in `data`.
pub(crate) async fn timed<T>(data: &Path, work: impl Future<Output = T>) -> (T, Took) {
    let cpu = || process_cpu() + server::cpu(data);
    let (before, began) = (cpu(), Instant::now());
    let done = work.await;
    let wall = began.elapsed();
    let cpu = cpu().saturating_sub(before);
    (done, Took { wall, cpu })
}
