//! Rebuild and eviction of a workspace's projections.
//!
//! Reads the log and then the entries in batches, so memory use does not grow with the log.

use ken_core::ledger::event::Event;
use ken_core::ledger::workspace::fold_workspace;
use ken_core::values::id::EntryId;

use super::append::run_blocking_work;
use super::copies::parse;
use super::preload::{EntryHistories, WORKSPACE_NAME};
use super::project::{FoldedEntry, PriorEntryState, ProjectionUpdate, WorkspaceUpdate};
use super::write::LogColumns;
use super::{StoreError, column};
use crate::database::{DatabaseError, EagerQuery, HubDatabase, ProjectionState, WorkspaceTx};
use crate::ids::{OrganizationId, WorkspaceId};

/// Events per batch.
const EVENTS_AT_ONCE: i64 = 1_000;

/// Entries folded per batch.
const ENTRIES_AT_ONCE: i64 = 200;

/// Attempts to rebuild an evicted workspace for everyone; it may be evicted again in between.
const REBUILDS_MAX: u32 = 2;

/// Timeouts of a rebuild: none per statement, because the duration depends on the log, and a long
/// wait for a concurrent rebuild of the same workspace.
const TIMEOUTS: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10min'";

impl HubDatabase {
    /// Begins a transaction on one workspace. Evicted projections are rebuilt first.
    pub async fn begin_workspace(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<WorkspaceTx, DatabaseError> {
        for _ in 0..REBUILDS_MAX {
            let (tx, state) = WorkspaceTx::begin(self, organization, workspace).await?;
            match state {
                ProjectionState::Warm => return Ok(tx),
                ProjectionState::Cold => tx.rollback().await?,
            }
            let database = self.clone();
            let rebuild = async move { database.rebuild_evicted(organization, workspace).await };
            self.rebuilds().run(workspace, rebuild).await?;
        }
        // The workspace is evicted as often as it is rebuilt. This transaction rebuilds it for
        // itself: its shared lock prevents another eviction.
        let (mut tx, state) = WorkspaceTx::begin(self, organization, workspace).await?;
        if state == ProjectionState::Cold {
            let rebuilt = tx.rebuild().await;
            rebuilt.map_err(|error| DatabaseError::Rebuild(Box::new(error)))?;
        }
        Ok(tx)
    }

    /// Begins a transaction on one workspace with a query in the same message. Evicted projections
    /// are rebuilt first, and then the caller has to send the query itself.
    pub(super) async fn begin_with_query(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
        query: EagerQuery,
    ) -> Result<WorkspaceTx, DatabaseError> {
        match WorkspaceTx::begin_with_query(self, organization, workspace, query).await? {
            Some(tx) => Ok(tx),
            None => self.begin_workspace(organization, workspace).await,
        }
    }

    /// Rebuilds the projections of a workspace.
    pub async fn rebuild(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let tx = self.begin_rebuild(organization, workspace).await?;
        Ok(tx.commit().await?)
    }

    /// Begins a transaction in which the projections have been rebuilt. The caller commits it.
    pub async fn begin_rebuild(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<WorkspaceTx, StoreError> {
        let mut tx = self.begin_log(organization, workspace).await?;
        tx.disable_statement_timeout().await?;
        tx.rebuild().await?;
        Ok(tx)
    }

    /// Deletes a workspace's projections and keeps its log. The next read rebuilds them.
    ///
    /// Entries published to the organization stay.
    pub async fn evict(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let tx = self.begin_eviction(organization, workspace).await?;
        Ok(tx.commit().await?)
    }

    /// Begins a transaction in which the projections have been deleted. The caller commits it.
    pub async fn begin_eviction(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<WorkspaceTx, StoreError> {
        // The exclusive lock waits for readers: they must not see projections disappear in the
        // middle of a transaction.
        let mut tx = WorkspaceTx::begin_exclusive(self, organization, workspace).await?;
        tx.lock().await?;
        tx.delete_projections().await?;
        tx.set_folded(None).await?;
        Ok(tx)
    }

    /// Rebuilds an evicted workspace, unless another process already has.
    pub(crate) async fn rebuild_evicted(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin_log(organization, workspace).await?;
        tx.disable_statement_timeout().await?;
        tx.lock().await?;
        // Checked under the lock: several processes may have waited for it to rebuild the same
        // workspace.
        if !tx.workspace_row().await?.is_warm {
            tx.rebuild().await?;
        }
        Ok(tx.commit().await?)
    }
}

impl WorkspaceTx {
    /// Rebuilds all projections from the log.
    pub async fn rebuild(&mut self) -> Result<(), StoreError> {
        self.lock().await?;
        let head = self.head().await?;
        self.delete_projections().await?;
        self.unpublish_all().await?;
        self.rebuild_subjects(head).await?;
        // Published entries are collected and written last: whether an author is revoked is only
        // known once the workspace state has been folded.
        let mut global = ProjectionUpdate::default();
        let mut last = WORKSPACE_NAME.to_owned();
        loop {
            let names = self.names_after(&last).await?;
            let Some(end) = names.last() else {
                break;
            };
            // Paging by name, not by offset: each batch inserts rows, and a key range stays stable
            // and cheap.
            last.clone_from(end);
            let histories = self.histories(&names).await?;
            let mut projection = run_blocking_work(move || fold_all(&histories)).await?;
            global.published.append(&mut projection.published);
            self.insert_rows(head, &LogColumns::default(), &projection)
                .await?;
        }
        let mut histories = self.histories(&[WORKSPACE_NAME.to_owned()]).await?;
        if let Some(lines) = histories.remove(WORKSPACE_NAME) {
            let workspace = run_blocking_work(move || {
                let events = lines.iter().map(|(_, line)| parse(line));
                let events: Vec<_> = events.collect::<Result<_, _>>()?;
                Ok(fold_workspace(events.iter().map(|copy| &copy.event)))
            });
            global.workspace = WorkspaceUpdate::Folded(workspace.await?);
        }
        self.write_workspace(&global).await?;
        self.write_published(&global).await?;
        self.set_folded(Some(head)).await
    }

    /// Disables the statement timeout of this transaction.
    async fn disable_statement_timeout(&mut self) -> Result<(), StoreError> {
        sqlx::raw_sql(TIMEOUTS).execute(self.connection()).await?;
        Ok(())
    }

    async fn head(&mut self) -> Result<i64, StoreError> {
        let (organization, key) = (self.organization().0, self.key());
        let query = "SELECT head FROM ken.workspaces WHERE organization_id = $1 AND id = $2";
        let row = sqlx::query(query)
            .bind(organization)
            .bind(key)
            .fetch_one(self.connection())
            .await?;
        column(&row, 0)
    }

    async fn set_folded(&mut self, folded: Option<i64>) -> Result<(), StoreError> {
        let (organization, key) = (self.organization().0, self.key());
        let update = "UPDATE ken.workspaces SET folded = $3 WHERE organization_id = $1 AND id = $2";
        sqlx::query(update)
            .bind(organization)
            .bind(key)
            .bind(folded)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    async fn delete_projections(&mut self) -> Result<(), StoreError> {
        let key = self.key();
        // Rows of a batch that is being indexed would survive otherwise.
        self.lock_search_index().await?;
        for delete in [
            "DELETE FROM ken.segments WHERE workspace_id = $1",
            "DELETE FROM ken.postings WHERE workspace_id = $1",
            "DELETE FROM ken.path_places WHERE workspace_id = $1",
            "DELETE FROM ken.subjects WHERE workspace_id = $1",
            "DELETE FROM ken.entries WHERE workspace_id = $1",
            "DELETE FROM ken.searchable WHERE workspace_id = $1",
            "DELETE FROM ken.workspace_states WHERE workspace_id = $1",
        ] {
            sqlx::query(delete)
                .bind(key)
                .execute(self.connection())
                .await?;
        }
        Ok(())
    }

    /// Rebuilds the table that maps entries to their events.
    async fn rebuild_subjects(&mut self, head: i64) -> Result<(), StoreError> {
        let (key, mut after) = (self.key(), 0_i64);
        loop {
            let query = "SELECT seq, line FROM ken.events
                 WHERE workspace_id = $1 AND $2 < seq ORDER BY seq LIMIT $3";
            let rows = sqlx::query(query)
                .bind(key)
                .bind(after)
                .bind(EVENTS_AT_ONCE)
                .fetch_all(self.connection())
                .await?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            after = column(last, 0)?;
            let columns = run_blocking_work(move || {
                let mut columns = LogColumns::default();
                for row in &rows {
                    columns.push_subjects(column(row, 0)?, &parse(column(row, 1)?)?);
                }
                Ok(columns)
            });
            let columns = columns.await?;
            self.insert_rows(head, &columns, &ProjectionUpdate::default())
                .await?;
        }
    }

    /// Returns the next batch of entry names after `last`.
    async fn names_after(&mut self, last: &str) -> Result<Vec<String>, StoreError> {
        let key = self.key();
        let query = "SELECT DISTINCT entry FROM ken.subjects
             WHERE workspace_id = $1 AND $2 < entry ORDER BY entry LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(last)
            .bind(ENTRIES_AT_ONCE)
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }
}

/// Folds entries that have no stored projection.
fn fold_all(histories: &EntryHistories) -> Result<ProjectionUpdate, StoreError> {
    let mut projection = ProjectionUpdate::default();
    for (name, lines) in histories {
        let id: EntryId = name.parse().map_err(StoreError::damaged)?;
        let parsed = lines.iter().map(|(_, line)| parse(line));
        let copies: Vec<_> = parsed.collect::<Result<_, _>>()?;
        let events: Vec<&Event> = copies.iter().map(|copy| &copy.event).collect();
        projection.add_folded(
            id,
            FoldedEntry::from_events(id, &events),
            PriorEntryState::New,
        )?;
    }
    Ok(projection)
}
