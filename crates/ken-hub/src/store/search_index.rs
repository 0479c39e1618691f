//! Search index of large workspaces: posting lists and a vector graph, filled in batches.
//!
//! An append writes no index. Its entries are compared one by one by every search, as all entries
//! of a small workspace are. A search that had to compare more than [`FRESH_MAX`] starts indexing
//! them in the background.

use super::{StoreError, column};
use crate::database::{HubDatabase, WorkspaceTx};
use crate::ids::{OrganizationId, WorkspaceId};

/// Entries that a search compares one by one. A workspace that never had more has no index, and
/// its searches are exact.
pub const FRESH_MAX: i64 = 2_000;

/// Entries indexed per transaction. A concurrent change of one of them waits for it.
const BATCH: i32 = 2_000;

/// Timeout of the statement that indexes a batch; the graph takes a millisecond or two per entry.
const TIMEOUT: &str = "SET LOCAL statement_timeout = '5min'";

impl HubDatabase {
    /// Indexes all entries of a workspace that are not indexed yet, and returns their number.
    ///
    /// Does nothing if another process is indexing the workspace.
    pub async fn index_workspace(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<u64, StoreError> {
        let mut all = 0;
        loop {
            let mut tx = self.begin_workspace(organization, workspace).await?;
            let count = tx.index_batch().await?;
            tx.commit().await?;
            all += u64::from(count);
            if count == 0 {
                return Ok(all);
            }
        }
    }

    /// Starts indexing in the background if a search compared more than [`FRESH_MAX`] entries.
    pub(super) fn index_if_due(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
        fresh: i64,
    ) {
        if fresh <= FRESH_MAX {
            return;
        }
        let database = self.clone();
        self.indexing().start(workspace, async move {
            // A failure is not lost: the next search finds the same entries and starts again.
            if let Err(error) = database.index_workspace(organization, workspace).await {
                tracing::warn!(%error, "cannot index the entries of a workspace");
            }
        });
    }
}

impl WorkspaceTx {
    /// Indexes one batch of entries and returns their number.
    async fn index_batch(&mut self) -> Result<u32, StoreError> {
        let key = self.key();
        sqlx::raw_sql(TIMEOUT).execute(self.connection()).await?;
        let row = sqlx::query("SELECT ken.index_entries($1, $2)")
            .bind(key)
            .bind(BATCH)
            .fetch_one(self.connection())
            .await?;
        let count: i32 = column(&row, 0)?;
        Ok(count.unsigned_abs())
    }
}
