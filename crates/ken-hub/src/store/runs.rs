//! Open runs and their notes, which closing a run turns into events.

use ken_core::values::time::Timestamp;
use sqlx::postgres::PgRow;

use super::{StoreError, column};
use crate::database::{WorkspaceTx, millis, timestamp, without_nul};

/// A stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub id: String,
    pub by: String,
    pub opened_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

impl WorkspaceTx {
    /// Inserts a run. Returns false if there is one of that name.
    pub async fn insert_run(&mut self, id: &str, by: &str) -> Result<bool, StoreError> {
        let (key, now) = (self.key(), self.now());
        let made =
            sqlx::query("INSERT INTO ken.runs (workspace_id, id, by, opened_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING")
                .bind(key)
                .bind(without_nul(id))
                .bind(without_nul(by))
                .bind(millis(now))
                .execute(self.connection())
                .await?;
        Ok(made.rows_affected() == 1)
    }

    /// Returns up to `limit` open runs whose names do not start with `but`, oldest first.
    pub async fn open_runs(&mut self, but: &str, limit: u32) -> Result<Vec<RunRow>, StoreError> {
        let key = self.key();
        let query = "SELECT id, by, opened_at, closed_at FROM ken.runs
             WHERE workspace_id = $1 AND closed_at IS NULL AND NOT starts_with(id, $2) ORDER BY opened_at, id LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(but)
            .bind(i64::from(limit))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(run_from_row).collect()
    }

    /// Returns the number of open runs whose names start with none of the prefixes, in total and of
    /// `by`.
    pub async fn count_open_runs(
        &mut self,
        by: &str,
        prefixes: [&str; 2],
    ) -> Result<(u64, u64), StoreError> {
        let key = self.key();
        let query = "SELECT count(*), count(*) FILTER (WHERE by = $2) FROM ken.runs
             WHERE workspace_id = $1 AND closed_at IS NULL AND NOT (starts_with(id, $3) OR starts_with(id, $4))";
        let row = sqlx::query(query)
            .bind(key)
            .bind(without_nul(by))
            .bind(prefixes[0])
            .bind(prefixes[1])
            .fetch_one(self.read_connection())
            .await?;
        let (all, own): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
        Ok((all.unsigned_abs(), own.unsigned_abs()))
    }

    /// Returns the names of up to `limit` open runs without notes since `before`, longest inactive
    /// first.
    pub async fn silent_runs(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        let key = self.key();
        let query = "SELECT id FROM ken.runs
             WHERE workspace_id = $1 AND closed_at IS NULL AND coalesce(noted_at, opened_at) < $2
             ORDER BY coalesce(noted_at, opened_at), id LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(millis(before))
            .bind(i64::from(limit))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Returns the names of up to `limit` open runs, of `by` or of everybody, that start with one
    /// of the prefixes, excluding the `kept` most recently used ones.
    pub async fn excess_run_ids(
        &mut self,
        by: Option<&str>,
        beginnings: [&str; 2],
        (kept, limit): (u32, u32),
    ) -> Result<Vec<String>, StoreError> {
        let key = self.key();
        let query = "SELECT id FROM ken.runs
             WHERE workspace_id = $1 AND closed_at IS NULL AND ($2::text IS NULL OR by = $2) AND (starts_with(id, $3) OR starts_with(id, $4))
             ORDER BY coalesce(noted_at, opened_at) DESC, id OFFSET $5 LIMIT $6";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(by.map(without_nul))
            .bind(beginnings[0])
            .bind(beginnings[1])
            .bind(i64::from(kept))
            .bind(i64::from(limit))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Appends notes to a run. Returns the number of its notes and their bytes, or `None` if it is
    /// not open.
    pub async fn append_run_notes(
        &mut self,
        id: &str,
        notes: &[String],
    ) -> Result<Option<(i64, i64)>, StoreError> {
        let (key, now) = (self.key(), self.now());
        let notes: Vec<String> = notes.iter().map(|note| without_nul(note)).collect();
        let bytes: usize = notes.iter().map(String::len).sum();
        // The update locks the run's row, so concurrent transactions number their notes one after
        // the other. Runs from before these columns are counted once.
        let query = "UPDATE ken.runs r SET noted_at = greatest(noted_at, $3),
                 notes = coalesce(notes, (SELECT count(*) FROM ken.run_notes n
                     WHERE n.workspace_id = $1 AND n.run = $2)) + $4,
                 bytes = coalesce(bytes, (SELECT coalesce(sum(octet_length(note)), 0)::bigint FROM ken.run_notes n
                     WHERE n.workspace_id = $1 AND n.run = $2)) + $5
             WHERE workspace_id = $1 AND id = $2 AND closed_at IS NULL RETURNING notes, bytes";
        let size = sqlx::query(query)
            .bind(key)
            .bind(without_nul(id))
            .bind(millis(now))
            .bind(i64::try_from(notes.len()).unwrap_or(i64::MAX))
            .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
            .fetch_optional(self.connection())
            .await?;
        let Some(size) = size else {
            return Ok(None);
        };
        sqlx::query(
            "INSERT INTO ken.run_notes (workspace_id, run, n, note)
             SELECT $1, $2, (SELECT coalesce(max(n), 0) FROM ken.run_notes WHERE workspace_id = $1 AND run = $2) + ord, note
             FROM unnest($3::text[]) WITH ORDINALITY AS u (note, ord)",
        )
        .bind(key)
        .bind(without_nul(id))
        .bind(notes)
        .execute(self.connection())
        .await?;
        Ok(Some((column(&size, 0)?, column(&size, 1)?)))
    }

    /// Returns the notes of a run in order.
    pub async fn run_notes(&mut self, id: &str) -> Result<Vec<String>, StoreError> {
        let key = self.key();
        let query =
            "SELECT note FROM ken.run_notes WHERE workspace_id = $1 AND run = $2 ORDER BY n";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(without_nul(id))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Returns the names of up to `limit` open runs whose notes contain a text, latest first.
    pub async fn runs_noting(&mut self, text: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let key = self.key();
        let query = "SELECT r.id FROM ken.runs r WHERE r.workspace_id = $1 AND r.closed_at IS NULL
                 AND EXISTS (SELECT FROM ken.run_notes n
                     WHERE n.workspace_id = $1 AND n.run = r.id AND strpos(n.note, $2) > 0)
             ORDER BY coalesce(r.noted_at, r.opened_at) DESC, r.id LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(without_nul(text))
            .bind(i64::from(limit))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Deletes an open run with its notes, whose result is in the log by now. Returns false if it
    /// is not open.
    pub async fn delete_open_run(&mut self, id: &str) -> Result<bool, StoreError> {
        let key = self.key();
        let query =
            "DELETE FROM ken.runs WHERE workspace_id = $1 AND id = $2 AND closed_at IS NULL";
        let closed = sqlx::query(query)
            .bind(key)
            .bind(without_nul(id))
            .execute(self.connection())
            .await?;
        Ok(closed.rows_affected() == 1)
    }

    /// Sets the savepoint that [`Self::rollback_to_savepoint`] returns to.
    pub(crate) async fn set_savepoint(&mut self) -> Result<(), StoreError> {
        sqlx::raw_sql("SAVEPOINT mark")
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Rolls back to the point of [`Self::set_savepoint`].
    pub(crate) async fn rollback_to_savepoint(&mut self) -> Result<(), StoreError> {
        let query = "ROLLBACK TO SAVEPOINT mark";
        sqlx::raw_sql(query).execute(self.connection()).await?;
        Ok(())
    }
}

fn run_from_row(row: &PgRow) -> Result<RunRow, StoreError> {
    Ok(RunRow {
        id: column(row, 0)?,
        by: column(row, 1)?,
        opened_at: timestamp(column(row, 2)?),
        closed_at: column::<Option<i64>>(row, 3)?.map(timestamp),
    })
}
