//! Retention rules and legal holds of an organization.
//!
//! A hold beats both retention and erasure: the functions of the database that erase check it, and
//! so does whatever applies a rule. It does not stop a redaction, which every clone carries out for
//! itself.

use std::fmt;
use std::str::FromStr;

use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;
use uuid::Uuid;

use super::audit::{AuditAction, AuditActor};
use super::{
    AdvisoryLock, DatabaseError, OrganizationTx, WorkspaceTx, millis, timestamp, without_nul,
};

/// What a retention rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetentionKind {
    /// Archived and retracted entries of a kind, since they are out of use.
    Entries(EntryKind),
    /// Ended runs with their notes.
    Runs,
    /// Quarantined events that nobody decided on.
    Quarantine,
}

/// A kind that no rule can be about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `runs`, `quarantine` or a kind of entry, such as `learning`; not `{0}`")]
pub struct RetentionKindError(String);

/// A retention rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionRule {
    /// Id of the workspace, or of the organization for all of them.
    pub scope: Uuid,
    pub kind: RetentionKind,
    pub days: u32,
}

/// A legal hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegalHold {
    pub id: Uuid,
    /// Id of the workspace, or of the organization for all of them.
    pub scope: Uuid,
    pub reason: String,
    pub placed_by: String,
    pub placed_at: Timestamp,
    pub released: Option<(String, Timestamp)>,
}

impl fmt::Display for RetentionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries(kind) => f.write_str(kind.name()),
            Self::Runs => f.write_str("runs"),
            Self::Quarantine => f.write_str("quarantine"),
        }
    }
}

impl FromStr for RetentionKind {
    type Err = RetentionKindError;

    fn from_str(text: &str) -> Result<Self, RetentionKindError> {
        match text {
            "runs" => Ok(Self::Runs),
            "quarantine" => Ok(Self::Quarantine),
            kind => match kind.parse() {
                Ok(kind) => Ok(Self::Entries(kind)),
                Err(_) => Err(RetentionKindError(kind.to_owned())),
            },
        }
    }
}

impl OrganizationTx {
    /// Sets the days of a rule, or removes it.
    pub async fn set_retention(
        &mut self,
        by: AuditActor<'_>,
        (scope, kind): (Uuid, RetentionKind),
        days: Option<u32>,
    ) -> Result<(), DatabaseError> {
        let id = self.id().0;
        let subject = match days {
            None => {
                let delete = "DELETE FROM ken.retention
                     WHERE organization_id = $1 AND scope = $2 AND kind = $3";
                sqlx::query(delete)
                    .bind(id)
                    .bind(scope)
                    .bind(kind.to_string())
                    .execute(self.connection())
                    .await?;
                format!("{scope} {kind}: none")
            }
            Some(days) => {
                let upsert = "INSERT INTO ken.retention VALUES ($1, $2, $3, $4)
                     ON CONFLICT (organization_id, scope, kind) DO UPDATE SET days = excluded.days";
                sqlx::query(upsert)
                    .bind(id)
                    .bind(scope)
                    .bind(kind.to_string())
                    .bind(i32::try_from(days).unwrap_or(i32::MAX))
                    .execute(self.connection())
                    .await?;
                format!("{scope} {kind}: {days} days")
            }
        };
        self.audit(by, AuditAction::RetentionChanged, subject).await
    }

    /// Returns the rules of the organization. A rule of a kind that this build does not know is
    /// left to a newer one.
    pub async fn retention_rules(&mut self) -> Result<Vec<RetentionRule>, DatabaseError> {
        let query = "SELECT scope, kind, days FROM ken.retention
             WHERE organization_id = $1 ORDER BY scope, kind";
        let found: Vec<(Uuid, String, i32)> = sqlx::query_as(query)
            .bind(self.id().0)
            .fetch_all(self.connection())
            .await?;
        let rule = |(scope, kind, days): (Uuid, String, i32)| {
            let kind = kind.parse().ok()?;
            Some(RetentionRule {
                scope,
                kind,
                days: days.unsigned_abs(),
            })
        };
        Ok(found.into_iter().filter_map(rule).collect())
    }

    /// Places a hold and returns its id. Waits for an erasure of the workspace that is under way.
    pub async fn place_hold(
        &mut self,
        by: AuditActor<'_>,
        scope: Uuid,
        reason: &str,
    ) -> Result<Uuid, DatabaseError> {
        let (organization, now) = (self.id().0, self.now());
        let id = crate::clock::new_uuid_at(now);
        // The erasure of a workspace takes the same lock before it asks for holds. So each of its
        // steps either sees this hold or has ended before it is placed.
        // The erasure of a person holds the organization's lock; shared, because holds of two
        // workspaces do not concern each other.
        if scope != organization {
            AdvisoryLock::Holds
                .share(self.connection(), organization)
                .await?;
        }
        AdvisoryLock::Holds.take(self.connection(), scope).await?;
        let insert =
            "INSERT INTO ken.holds (organization_id, id, scope, reason, placed_by, placed_at)
             VALUES ($1, $2, $3, $4, $5, $6)";
        sqlx::query(insert)
            .bind(organization)
            .bind(id)
            .bind(scope)
            .bind(without_nul(reason))
            .bind(by.to_string())
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        let subject = format!("{id} of {scope}");
        self.audit(by, AuditAction::HoldPlaced, subject).await?;
        Ok(id)
    }

    /// Releases a hold. Returns whether it was there and not released before.
    pub async fn release_hold(
        &mut self,
        by: AuditActor<'_>,
        id: Uuid,
    ) -> Result<bool, DatabaseError> {
        let (organization, now) = (self.id().0, self.now());
        let update = "UPDATE ken.holds SET released_by = $3, released_at = $4
             WHERE organization_id = $1 AND id = $2 AND released_at IS NULL";
        let released = sqlx::query(update)
            .bind(organization)
            .bind(id)
            .bind(by.to_string())
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        if released.rows_affected() == 0 {
            return Ok(false);
        }
        self.audit(by, AuditAction::HoldReleased, id).await?;
        Ok(true)
    }

    /// Returns all holds of the organization, released ones included, oldest first.
    pub async fn holds(&mut self) -> Result<Vec<LegalHold>, DatabaseError> {
        let query = "SELECT id, scope, reason, placed_by, placed_at, released_by, released_at
             FROM ken.holds WHERE organization_id = $1 ORDER BY placed_at, id";
        type Row = (Uuid, Uuid, String, String, i64, Option<String>, Option<i64>);
        let found: Vec<Row> = sqlx::query_as(query)
            .bind(self.id().0)
            .fetch_all(self.connection())
            .await?;
        let hold =
            |(id, scope, reason, placed_by, placed_at, released_by, released_at): Row| LegalHold {
                id,
                scope,
                reason,
                placed_by,
                placed_at: timestamp(placed_at),
                released: released_by.zip(released_at.map(timestamp)),
            };
        Ok(found.into_iter().map(hold).collect())
    }

    /// Returns whether a hold keeps a workspace; without one, anything of the organization.
    pub async fn is_held(&mut self, workspace: Option<Uuid>) -> Result<bool, DatabaseError> {
        let query = sqlx::query_scalar("SELECT ken.is_held($1, $2)");
        let bound = query.bind(self.id().0).bind(workspace);
        Ok(bound.fetch_one(self.connection()).await?)
    }
}

impl WorkspaceTx {
    /// Waits for whoever places or ends a hold of this workspace, and returns whether one keeps it.
    pub async fn is_held(&mut self) -> Result<bool, DatabaseError> {
        let (organization, workspace) = (self.organization().0, self.key());
        // Both, because a hold is placed on either. The organization always comes first: with one
        // order, two transactions cannot wait for each other.
        for of in [organization, workspace] {
            AdvisoryLock::Holds.take(self.connection(), of).await?;
        }
        let query = sqlx::query_scalar("SELECT ken.is_held($1, $2)");
        let bound = query.bind(organization).bind(workspace);
        Ok(bound.fetch_one(self.connection()).await?)
    }

    /// Deletes runs that ended before a time, with their notes, and returns how many.
    pub async fn delete_runs_before(&mut self, before: Timestamp) -> Result<u64, DatabaseError> {
        // An open run has no `closed_at`, which is not less than any time, so it stays.
        let delete = "DELETE FROM ken.runs WHERE workspace_id = $1 AND closed_at < $2";
        self.delete_before(delete, before).await
    }

    /// Deletes events that were quarantined before a time, and returns how many.
    pub async fn delete_quarantined_before(
        &mut self,
        before: Timestamp,
    ) -> Result<u64, DatabaseError> {
        let delete = "DELETE FROM ken.held WHERE workspace_id = $1 AND at < $2";
        self.delete_before(delete, before).await
    }

    async fn delete_before(
        &mut self,
        delete: &'static str,
        before: Timestamp,
    ) -> Result<u64, DatabaseError> {
        let key = self.key();
        let deleted = sqlx::query(delete)
            .bind(key)
            .bind(millis(before))
            .execute(self.connection())
            .await?;
        Ok(deleted.rows_affected())
    }
}
