//! Throws away what follows from a log, and makes it again.
//!
//! Works through the log and then through the entries, some at a time, so that a long log needs no more memory than a
//! short one.

use ken_core::event::Event;
use ken_core::id::EntryId;
use ken_core::workspace::fold_workspace;

use super::append::blocking;
use super::known::{Histories, OF_WORKSPACE};
use super::project::{Folded, Projection, Was};
use super::settle::parse;
use super::write::LogColumns;
use super::{StoreError, column};
use crate::database::{Database, Tenant};
use crate::identity::{OrganisationId, WorkspaceId};

/// Events read at a time.
const EVENTS_AT_ONCE: i64 = 1_000;

/// Entries folded at a time.
const ENTRIES_AT_ONCE: i64 = 200;

/// A rebuild takes as long as its log is long, and waits for somebody else who rebuilds the same workspace.
const TIMEOUTS: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10min'";

impl Database {
    /// Makes everything that follows from a workspace's log again.
    pub async fn rebuild(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let tenant = self.rebuilding(organisation, workspace).await?;
        Ok(tenant.commit().await?)
    }

    /// Begins a transaction in which everything that follows from the log was made again; whoever commits it keeps that.
    pub async fn rebuilding(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<Tenant, StoreError> {
        let mut tenant = self.log(organisation, workspace).await?;
        tenant.take_time().await?;
        tenant.rebuild().await?;
        Ok(tenant)
    }

    /// Throws away what follows from a workspace's log and keeps the log; whoever reads next brings it back.
    ///
    /// What the whole organisation is shown stays.
    pub async fn evict(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let tenant = self.evicting(organisation, workspace).await?;
        Ok(tenant.commit().await?)
    }

    /// Begins a transaction in which a workspace was evicted; whoever commits it keeps that.
    pub async fn evicting(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<Tenant, StoreError> {
        let mut tenant = Tenant::begin_alone(self, organisation, workspace).await?;
        tenant.lock().await?;
        tenant.clear().await?;
        tenant.set_folded(None).await?;
        Ok(tenant)
    }

    /// Brings an evicted workspace back, unless somebody did meanwhile.
    pub(crate) async fn warm(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        let mut tenant = self.log(organisation, workspace).await?;
        tenant.take_time().await?;
        tenant.lock().await?;
        if !tenant.row().await?.is_warm {
            tenant.rebuild().await?;
        }
        Ok(tenant.commit().await?)
    }
}

impl Tenant {
    /// Makes everything that follows from the log again.
    pub async fn rebuild(&mut self) -> Result<(), StoreError> {
        self.lock().await?;
        let head = self.head().await?;
        self.clear().await?;
        self.hide_all().await?;
        self.rebuild_subjects(head).await?;
        let mut global = Projection::default();
        let mut last = OF_WORKSPACE.to_owned();
        loop {
            let names = self.names_after(&last).await?;
            let Some(end) = names.last() else {
                break;
            };
            last.clone_from(end);
            let histories = self.histories(&names).await?;
            let mut projection = blocking(move || fold_all(&histories)).await?;
            global.global.append(&mut projection.global);
            self.write_made(head, &LogColumns::default(), &projection)
                .await?;
        }
        let mut histories = self.histories(&[OF_WORKSPACE.to_owned()]).await?;
        if let Some(lines) = histories.remove(OF_WORKSPACE) {
            let workspace = blocking(move || {
                let events = lines.iter().map(|(_, line)| parse(line));
                let events: Vec<_> = events.collect::<Result<_, _>>()?;
                Ok(fold_workspace(events.iter().map(|copy| &copy.event)))
            });
            global.workspace = Some(workspace.await?);
        }
        self.write_workspace(&global).await?;
        self.write_global(&global).await?;
        self.set_folded(Some(head)).await
    }

    /// Lets the statements of this transaction take as long as they must.
    async fn take_time(&mut self) -> Result<(), StoreError> {
        sqlx::raw_sql(TIMEOUTS).execute(self.connection()).await?;
        Ok(())
    }

    async fn head(&mut self) -> Result<i64, StoreError> {
        let (organisation, key) = (self.organisation().0, self.key());
        let query = "SELECT head FROM ken.workspaces WHERE organisation_id = $1 AND id = $2";
        let row = sqlx::query(query)
            .bind(organisation)
            .bind(key)
            .fetch_one(self.connection())
            .await?;
        column(&row, 0)
    }

    async fn set_folded(&mut self, folded: Option<i64>) -> Result<(), StoreError> {
        let (organisation, key) = (self.organisation().0, self.key());
        let update = "UPDATE ken.workspaces SET folded = $3 WHERE organisation_id = $1 AND id = $2";
        sqlx::query(update)
            .bind(organisation)
            .bind(key)
            .bind(folded)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    async fn clear(&mut self) -> Result<(), StoreError> {
        let key = self.key();
        for delete in [
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

    /// Notes again which events each entry is folded from.
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
            let columns = blocking(move || {
                let mut columns = LogColumns::default();
                for row in &rows {
                    columns.push_subjects(column(row, 0)?, &parse(column(row, 1)?)?);
                }
                Ok(columns)
            });
            let columns = columns.await?;
            self.write_made(head, &columns, &Projection::default())
                .await?;
        }
    }

    /// Returns the next names of entries.
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

/// Folds entries of which nothing is stored.
fn fold_all(histories: &Histories) -> Result<Projection, StoreError> {
    let mut projection = Projection::default();
    for (name, lines) in histories {
        let id: EntryId = name.parse().map_err(StoreError::damaged)?;
        let events = lines.iter().map(|(_, line)| parse(line));
        let events: Vec<_> = events.collect::<Result<_, _>>()?;
        let events: Vec<&Event> = events.iter().map(|copy| &copy.event).collect();
        projection.take(id, Folded::of(id, &events), Was::New)?;
    }
    Ok(projection)
}
