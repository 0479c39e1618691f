//! Search index of large workspaces: posting lists and a vector graph, filled in batches.
//!
//! An append writes no index. Its entries are compared one by one by every search, as all entries
//! of a small workspace are. A search that had to compare more than [`FRESH_MAX`] starts indexing
//! them in the background.

use std::collections::BTreeSet;

use serde_json::Value;

use super::copies::ResolvedChange;
use super::lexemes::{EntryTextPart, TextSearchVector};
use super::{StoreError, column};
use crate::database::{AdvisoryLock, HubDatabase, WorkspaceTx};
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

/// The texts that redactions take out of the log.
#[derive(Debug, Default)]
pub(super) struct LostTexts(BTreeSet<String>);

impl LostTexts {
    pub(super) fn of(resolved: &ResolvedChange) -> Result<Self, StoreError> {
        let mut lost = Self::default();
        for (before, now) in &resolved.changed {
            if now.is_redacted() && !before.copy.is_redacted() {
                let line: Value =
                    serde_json::from_str(before.copy.line()).map_err(StoreError::damaged)?;
                lost.add(&line["data"]["body"]);
            }
        }
        Ok(lost)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                let _ = self.0.insert(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|it| self.add(it)),
            Value::Object(fields) => fields.values().for_each(|it| self.add(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn words(&self) -> Vec<String> {
        let mut words = TextSearchVector::default();
        for text in &self.0 {
            words.add(text, EntryTextPart::Statement);
        }
        words.into_words()
    }

    /// Returns the texts without what follows a `#`, which in an anchor is no part of the path.
    fn paths(&self) -> Vec<&str> {
        let paths = self.0.iter().filter_map(|it| it.split('#').next());
        paths.collect()
    }
}

impl WorkspaceTx {
    /// Waits until nobody indexes the workspace, and keeps others from it until this transaction
    /// ends.
    pub(super) async fn lock_search_index(&mut self) -> Result<(), StoreError> {
        let key = self.key();
        AdvisoryLock::SearchIndex
            .take(self.connection(), key)
            .await?;
        Ok(())
    }

    /// Removes words and paths from the index that no live entry has any more.
    pub(super) async fn forget_texts(&mut self, lost: &LostTexts) -> Result<(), StoreError> {
        let key = self.key();
        sqlx::query("SELECT ken.forget_words($1, $2, $3)")
            .bind(key)
            .bind(lost.words())
            .bind(lost.paths())
            .execute(self.connection())
            .await?;
        Ok(())
    }

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
