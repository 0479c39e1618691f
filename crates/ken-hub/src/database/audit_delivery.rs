//! Positions, attempts and dead letters of the exports of the audit log.
//!
//! Every hub process of an installation has the same exports. A lease decides which one delivers,
//! so a record is delivered once unless a process ends between delivering and noting it.

use std::collections::BTreeMap;
use std::time::Duration;

use ken_core::values::time::Timestamp;
use uuid::Uuid;

use super::{DatabaseError, OrganizationTx, millis, timestamp};

/// Maximum length of an error that is stored, in characters.
const ERROR_CHARS_MAX: usize = 200;

/// An export that this process may deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedExport {
    /// Failed attempts at the next record.
    pub attempts: u32,
    /// Whether nothing was ever delivered.
    pub is_new: bool,
}

/// State of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportState {
    pub name: String,
    pub attempts: u32,
    /// Earliest time of the next attempt, if the last one failed.
    pub next_at: Option<Timestamp>,
    pub last_error: Option<String>,
    pub dead_letters: u64,
}

/// A record that an export gave up on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub chain: Uuid,
    pub number: u64,
    pub at: Timestamp,
    pub error: String,
}

impl OrganizationTx {
    /// Claims an export for a process until `lease` has passed. Returns `None` if another process
    /// has it or its next attempt is later.
    pub async fn claim_export(
        &mut self,
        name: &str,
        process: Uuid,
        lease: Duration,
    ) -> Result<Option<ClaimedExport>, DatabaseError> {
        let (id, now) = (self.id().0, millis(self.now()));
        let insert = "INSERT INTO ken.audit_exports (organization_id, export) VALUES ($1, $2)
             ON CONFLICT DO NOTHING";
        let inserted = sqlx::query(insert)
            .bind(id)
            .bind(name)
            .execute(self.connection())
            .await?;
        // A process extends its own lease with every claim, so a long backlog stays in one place.
        // One statement, so that two processes cannot both find the lease free.
        let claim = "UPDATE ken.audit_exports SET leased_by = $3, leased_until = $4 + $5
             WHERE organization_id = $1 AND export = $2 AND next_at <= $4
                 AND (leased_until < $4 OR leased_by = $3)
             RETURNING attempts";
        let attempts: Option<i32> = sqlx::query_scalar(claim)
            .bind(id)
            .bind(name)
            .bind(process)
            .bind(now)
            .bind(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX))
            .fetch_optional(self.connection())
            .await?;
        Ok(attempts.map(|attempts| ClaimedExport {
            attempts: attempts.unsigned_abs(),
            // From the insert alone: of two processes that claim at once, one inserts the row.
            is_new: inserted.rows_affected() > 0,
        }))
    }

    /// Returns the number of the last delivered record per chain.
    pub async fn audit_positions(
        &mut self,
        export: &str,
    ) -> Result<BTreeMap<Uuid, u64>, DatabaseError> {
        let query = "SELECT chain, number FROM ken.audit_deliveries
             WHERE organization_id = $1 AND export = $2";
        let found: Vec<(Uuid, i64)> = sqlx::query_as(query)
            .bind(self.id().0)
            .bind(export)
            .fetch_all(self.connection())
            .await?;
        let position = |(chain, number): (Uuid, i64)| (chain, number.unsigned_abs());
        Ok(found.into_iter().map(position).collect())
    }

    /// Notes that an export delivered a chain up to a number.
    pub async fn set_audit_position(
        &mut self,
        export: &str,
        chain: Uuid,
        number: u64,
    ) -> Result<(), DatabaseError> {
        let upsert = "INSERT INTO ken.audit_deliveries VALUES ($1, $2, $3, $4)
             ON CONFLICT (organization_id, export, chain) DO UPDATE SET number = excluded.number";
        sqlx::query(upsert)
            .bind(self.id().0)
            .bind(export)
            .bind(chain)
            .bind(i64::try_from(number).unwrap_or(i64::MAX))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Notes the outcome of the last attempt: none failed, or how many and when the next one is.
    pub async fn note_export_attempts(
        &mut self,
        export: &str,
        attempts: u32,
        next_at: Timestamp,
        error: Option<&str>,
    ) -> Result<(), DatabaseError> {
        let update = "UPDATE ken.audit_exports SET attempts = $3, next_at = $4, last_error = $5
             WHERE organization_id = $1 AND export = $2";
        sqlx::query(update)
            .bind(self.id().0)
            .bind(export)
            .bind(i32::try_from(attempts).unwrap_or(i32::MAX))
            .bind(millis(next_at))
            .bind(error.map(shorten))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Notes that an export gave up on a record, or that a repeated attempt failed.
    pub async fn add_dead_letter(
        &mut self,
        export: &str,
        (chain, number): (Uuid, u64),
        error: &str,
    ) -> Result<(), DatabaseError> {
        let now = millis(self.now());
        let upsert = "INSERT INTO ken.audit_dead_letters VALUES ($1, $2, $3, $4, $5, $6, false)
             ON CONFLICT (organization_id, export, chain, number)
             DO UPDATE SET at = excluded.at, error = excluded.error, requeued = false";
        sqlx::query(upsert)
            .bind(self.id().0)
            .bind(export)
            .bind(chain)
            .bind(i64::try_from(number).unwrap_or(i64::MAX))
            .bind(now)
            .bind(shorten(error))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Deletes a dead letter that was delivered after all.
    pub async fn delete_dead_letter(
        &mut self,
        export: &str,
        (chain, number): (Uuid, u64),
    ) -> Result<(), DatabaseError> {
        let delete = "DELETE FROM ken.audit_dead_letters
             WHERE organization_id = $1 AND export = $2 AND chain = $3 AND number = $4";
        sqlx::query(delete)
            .bind(self.id().0)
            .bind(export)
            .bind(chain)
            .bind(i64::try_from(number).unwrap_or(i64::MAX))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns up to `limit` dead letters of an export, oldest first: all, or those to try again.
    pub async fn dead_letters(
        &mut self,
        export: &str,
        only_requeued: bool,
        limit: u32,
    ) -> Result<Vec<DeadLetter>, DatabaseError> {
        let query = "SELECT chain, number, at, error FROM ken.audit_dead_letters
             WHERE organization_id = $1 AND export = $2 AND (requeued OR NOT $3)
             ORDER BY at, chain, number LIMIT $4";
        let found: Vec<(Uuid, i64, i64, String)> = sqlx::query_as(query)
            .bind(self.id().0)
            .bind(export)
            .bind(only_requeued)
            .bind(i64::from(limit))
            .fetch_all(self.connection())
            .await?;
        let letter = |(chain, number, at, error): (Uuid, i64, i64, String)| DeadLetter {
            chain,
            number: number.unsigned_abs(),
            at: timestamp(at),
            error,
        };
        Ok(found.into_iter().map(letter).collect())
    }

    /// Asks for one more attempt at the dead letters of an export, and returns how many there are.
    pub async fn requeue_dead_letters(&mut self, export: &str) -> Result<u64, DatabaseError> {
        let update = "UPDATE ken.audit_dead_letters SET requeued = true
             WHERE organization_id = $1 AND export = $2";
        let updated = sqlx::query(update)
            .bind(self.id().0)
            .bind(export)
            .execute(self.connection())
            .await?;
        Ok(updated.rows_affected())
    }

    /// Returns the exports that ever ran for the organization.
    pub async fn export_states(&mut self) -> Result<Vec<ExportState>, DatabaseError> {
        let query = "SELECT e.export, e.attempts, e.next_at, e.last_error, (
                 SELECT count(*) FROM ken.audit_dead_letters d
                 WHERE d.organization_id = e.organization_id AND d.export = e.export)
             FROM ken.audit_exports e WHERE e.organization_id = $1 ORDER BY 1";
        let found: Vec<(String, i32, i64, Option<String>, i64)> = sqlx::query_as(query)
            .bind(self.id().0)
            .fetch_all(self.connection())
            .await?;
        let state = |(name, attempts, next_at, last_error, dead_letters)| ExportState {
            name,
            attempts: i32::unsigned_abs(attempts),
            next_at: (attempts > 0).then(|| timestamp(next_at)),
            last_error,
            dead_letters: i64::unsigned_abs(dead_letters),
        };
        Ok(found.into_iter().map(state).collect())
    }
}

fn shorten(error: &str) -> String {
    error.chars().take(ERROR_CHARS_MAX).collect()
}
