//! Session exposures from ended runs, and queries on open runs.

use ken_core::values::time::Timestamp;

use super::{StoreError, column};
use crate::database::{WorkspaceTx, millis, without_nul};

impl WorkspaceTx {
    /// Returns whether a run is open. Takes no lock.
    pub async fn is_run_open(&mut self, id: &str) -> Result<bool, StoreError> {
        let key = self.key();
        let query = "SELECT EXISTS (SELECT FROM ken.runs WHERE workspace_id = $1 AND id = $2 AND closed_at IS NULL)";
        let row = sqlx::query(query)
            .bind(key)
            .bind(without_nul(id))
            .fetch_one(self.connection())
            .await?;
        column(&row, 0)
    }

    /// Deletes an ended run, which frees its name.
    pub async fn forget_ended_run(&mut self, id: &str) -> Result<(), StoreError> {
        let key = self.key();
        let query =
            "DELETE FROM ken.runs WHERE workspace_id = $1 AND id = $2 AND closed_at IS NOT NULL";
        sqlx::query(query)
            .bind(key)
            .bind(without_nul(id))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns the names of up to `limit` open runs opened by one of `by` whose names start with
    /// `beginning`, latest first.
    pub async fn runs_by(
        &mut self,
        by: &[String],
        beginning: &str,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        let key = self.key();
        let query = "SELECT id FROM ken.runs
             WHERE workspace_id = $1 AND closed_at IS NULL AND by = ANY ($2) AND starts_with(id, $3)
             ORDER BY opened_at DESC, id LIMIT $4";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(by)
            .bind(beginning)
            .bind(i64::from(limit))
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Stores the exposures of a session and deletes all exposures older than `before`.
    pub async fn remember_session(
        &mut self,
        session: &[u8],
        seen: &[String],
        at: Timestamp,
        before: Timestamp,
    ) -> Result<(), StoreError> {
        let key = self.key();
        let query = "INSERT INTO ken.sessions (workspace_id, session, entry, seen_at)
             SELECT $1, $2, entry, $4 FROM unnest($3::text[]) AS u (entry)
             ON CONFLICT (workspace_id, session, entry) DO UPDATE SET seen_at = excluded.seen_at";
        sqlx::query(query)
            .bind(key)
            .bind(session)
            .bind(seen)
            .bind(millis(at))
            .execute(self.connection())
            .await?;
        let query = "DELETE FROM ken.sessions WHERE workspace_id = $1 AND seen_at < $2";
        sqlx::query(query)
            .bind(key)
            .bind(millis(before))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns the exposures of a session from ended runs.
    pub async fn session_exposures(&mut self, session: &[u8]) -> Result<Vec<String>, StoreError> {
        let key = self.key();
        let query = "SELECT entry FROM ken.sessions WHERE workspace_id = $1 AND session = $2";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(session)
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Makes the commit of this transaction asynchronous: a crash may lose it. For notes that
    /// confirm nothing.
    pub async fn allow_async_commit(&mut self) -> Result<(), StoreError> {
        let query = "SET LOCAL synchronous_commit TO off";
        sqlx::raw_sql(query).execute(self.connection()).await?;
        Ok(())
    }

    /// Reverts [`Self::allow_async_commit`], because the transaction now also contains events.
    pub async fn require_sync_commit(&mut self) -> Result<(), StoreError> {
        let query = "SET LOCAL synchronous_commit TO DEFAULT";
        sqlx::raw_sql(query).execute(self.connection()).await?;
        Ok(())
    }
}
