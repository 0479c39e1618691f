//! The installation: whether its database was restored from a backup.
//!
//! A backup contains tokens that were revoked after it was made. So a hub refuses the tokens of a
//! restored database until an operator accepts it. It recognizes such a database by three signs:
//!
//! - The server or the database is another one than the last hub noted, as after a restored dump.
//! - The last hub did not end in order and has not been heard of for [`SILENCE_MAX`], as in a copy
//!   of the data directory of a running server.
//! - A running hub finds an older note than it wrote itself.

use std::time::Duration;

use ken_core::values::time::Timestamp;

use super::audit::{AuditAction, AuditActor};
use super::{DatabaseError, HubDatabase, millis, timestamp};

/// Longest time without a sign of a hub that did not end in order. After a longer one the database
/// counts as restored.
pub const SILENCE_MAX: Duration = Duration::from_secs(15 * 60);

/// Longest time since the last sign of a hub that runs.
const IN_USE_WITHIN: Duration = Duration::from_secs(2 * 60);

/// State of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceState {
    /// Time of the last sign of a hub, with this one.
    pub alive_at: Timestamp,
    /// When the database was found to be restored, unless the operator accepted it since.
    pub restored_at: Option<Timestamp>,
}

/// What a process knows about the installation when it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceCheck {
    /// An operator's command, which is no sign of a hub. It judges by the place and not by silence:
    /// a machine whose clock is ahead would shut out everybody with a command that only reads.
    Command,
    /// An operator accepts a restored database.
    Accept,
    /// A hub starts.
    Start,
    /// A hub runs; it has seen this time of the last sign.
    Running(Timestamp),
}

/// Notes a sign of life, and the restoration if there is one. The parameters are: now, the longest
/// silence, the last time the process saw, whether silence is no sign, and whether it is a hub.
const NOTE: &str = "WITH here AS (
        SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || oid::text AS place
        FROM pg_database WHERE datname = current_database()
    ), old AS (SELECT * FROM ken.instance FOR UPDATE), found AS (
        SELECT here.place, (old.place <> here.place OR old.alive_at < $3::bigint
            OR (NOT $4 AND NOT old.stopped AND old.alive_at < $1 - $2)) IS TRUE AS is_restored
        FROM here, old
    )
    UPDATE ken.instance i SET place = found.place,
        alive_at = CASE WHEN $5 OR is_restored THEN greatest(old.alive_at, $1) ELSE old.alive_at END,
        stopped = NOT $5 AND (is_restored OR old.stopped),
        restored_at = CASE WHEN is_restored THEN $1 ELSE old.restored_at END
    FROM found, old RETURNING coalesce(i.alive_at, $1), i.restored_at";

impl HubDatabase {
    /// Notes that a hub runs, and returns whether the database was restored.
    pub async fn note_alive(&self, check: InstanceCheck) -> Result<InstanceState, DatabaseError> {
        let seen = match check {
            InstanceCheck::Command | InstanceCheck::Accept | InstanceCheck::Start => None,
            InstanceCheck::Running(seen) => Some(seen),
        };
        let silence = i64::try_from(SILENCE_MAX.as_millis()).unwrap_or(i64::MAX);
        let mut lease = self.pool().acquire_live().await?;
        let (alive_at, restored_at): (i64, Option<i64>) = sqlx::query_as(NOTE)
            .bind(millis(self.clock().now()))
            .bind(silence)
            .bind(seen.map(millis))
            .bind(seen.is_some() || check == InstanceCheck::Command)
            .bind(!matches!(
                check,
                InstanceCheck::Command | InstanceCheck::Accept
            ))
            .fetch_one(lease.connection())
            .await?;
        lease.release();
        Ok(InstanceState {
            alive_at: timestamp(alive_at),
            restored_at: restored_at.map(timestamp),
        })
    }

    /// Notes that a hub ended in order.
    pub async fn note_stopped(&self) -> Result<(), DatabaseError> {
        self.run_instance("UPDATE ken.instance SET stopped = true")
            .await
    }

    /// Accepts a restored database, and keeps or refuses the tokens that were issued before.
    /// Returns false and changes nothing if a hub runs on the database and did not find it
    /// restored: this is a hub in use, whose tokens would all end.
    pub async fn accept_restore(
        &self,
        by: AuditActor<'_>,
        keeps_tokens: bool,
    ) -> Result<bool, DatabaseError> {
        // Also notes where the database is now: it may not have been noticed yet.
        let state = self.note_alive(InstanceCheck::Accept).await?;
        let now = millis(self.clock().now());
        let is_found = state.restored_at.is_some();
        if !keeps_tokens && !is_found && self.is_in_use(now).await? {
            return Ok(false);
        }
        // What was recorded between the backup and now is missing, so each log says where. First,
        // so that a command that fails can be repeated.
        let subject = if keeps_tokens {
            "tokens kept"
        } else {
            "tokens ended"
        };
        for organization in self.audited_organizations().await? {
            let mut tx = self.begin_organization(organization).await?;
            tx.audit(by, AuditAction::RestoreAccepted, subject).await?;
            tx.commit().await?;
        }
        // Tokens issued after the restoration was noticed are valid, and stay so. A process whose
        // clock is ahead may have noticed it in the future, in which no token is issued.
        let tokens_from = if keeps_tokens {
            "tokens_from".to_owned()
        } else {
            format!("coalesce(restored_at, {now})")
        };
        let accept = format!(
            "UPDATE ken.instance SET restored_at = NULL, alive_at = least(alive_at, {now}),
                 tokens_from = least({tokens_from}, {now})"
        );
        self.run_instance(&accept).await?;
        Ok(true)
    }

    async fn is_in_use(&self, now: i64) -> Result<bool, DatabaseError> {
        let within = i64::try_from(IN_USE_WITHIN.as_millis()).unwrap_or(i64::MAX);
        let mut lease = self.pool().acquire_live().await?;
        let query = "SELECT coalesce(NOT stopped AND $1 - $2 <= alive_at, false) FROM ken.instance";
        let is_in_use: bool = sqlx::query_scalar(query)
            .bind(now)
            .bind(within)
            .fetch_one(lease.connection())
            .await?;
        lease.release();
        Ok(is_in_use)
    }

    /// Deletes the kept answers of every organization that have expired.
    pub async fn clear_expired_answers(&self) -> Result<(), DatabaseError> {
        let now = millis(self.clock().now());
        self.run_instance(&format!("SELECT ken.clear_expired_answers({now})"))
            .await
    }

    /// Returns the number of quarantined events and of open runs in all workspaces.
    pub async fn count_waiting(&self) -> Result<(u64, u64), DatabaseError> {
        let mut lease = self.pool().acquire_live().await?;
        let (events, runs): (i64, i64) =
            sqlx::query_as("SELECT quarantined_events, open_runs FROM ken.count_waiting()")
                .fetch_one(lease.connection())
                .await?;
        lease.release();
        Ok((events.unsigned_abs(), runs.unsigned_abs()))
    }

    /// Runs a statement that belongs to no tenant and whose text is safe.
    async fn run_instance(&self, statement: &str) -> Result<(), DatabaseError> {
        let mut lease = self.pool().acquire_live().await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
            .execute(lease.connection())
            .await?;
        lease.release();
        Ok(())
    }
}
