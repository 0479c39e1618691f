//! The audit log: who did what, per organization and per workspace.
//!
//! Records contain no text of entries: a subject is an id or a name, and a token is named with its
//! role and actor.

use std::fmt;

use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::{DatabaseError, OrganizationTx, WorkspaceTx, millis, timestamp, without_nul};
use crate::clock::new_uuid_at;
use crate::ids::Role;

/// Actor of an audit record.
#[derive(Clone, Copy, Debug)]
pub enum AuditActor<'a> {
    Caller {
        actor: &'a Actor,
        role: Role,
    },
    /// The operator, who has access to the database.
    Operator,
}

impl AuditActor<'_> {
    /// Returns the actor's role.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Caller { role, .. } => role,
            Self::Operator => Role::Admin,
        }
    }
}

impl fmt::Display for AuditActor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller { actor, .. } => actor.fmt(f),
            Self::Operator => f.write_str("operator"),
        }
    }
}

/// Action of an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditAction {
    OrganizationCreated,
    QuotaChanged,
    WorkspaceCreated,
    WorkspaceEvicted,
    WorkspaceRebuilt,
    TokenCreated,
    TokenRevoked,
    EventsPushed,
    QuarantinedEventReleased,
    QuarantinedEventDiscarded,
    EntryApproved,
    EntryRejected,
    QuarantinedEntryReleased,
    QuarantinedEntryDiscarded,
}

/// A record of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    pub id: Uuid,
    pub at: Timestamp,
    pub by: String,
    pub role: String,
    pub act: String,
    pub subject: String,
}

/// A record to add to the audit log.
#[derive(Clone, Debug)]
pub struct NewAuditRecord {
    pub(crate) by: String,
    pub(crate) role: Role,
    pub(crate) act: AuditAction,
    pub(crate) subject: String,
}

impl AuditAction {
    /// Returns the action's name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        // Names are stored in the database, so they stay the same when the API renames a concept.
        match self {
            Self::OrganizationCreated => "organization.created",
            Self::QuotaChanged => "quota.changed",
            Self::WorkspaceCreated => "workspace.created",
            Self::WorkspaceEvicted => "workspace.evicted",
            Self::WorkspaceRebuilt => "workspace.rebuilt",
            Self::TokenCreated => "token.created",
            Self::TokenRevoked => "token.revoked",
            Self::EventsPushed => "events.pushed",
            Self::QuarantinedEventReleased => "held.released",
            Self::QuarantinedEventDiscarded => "held.discarded",
            Self::EntryApproved => "entry.approved",
            Self::EntryRejected => "entry.rejected",
            Self::QuarantinedEntryReleased => "quarantine.lifted",
            Self::QuarantinedEntryDiscarded => "quarantine.discarded",
        }
    }
}

impl NewAuditRecord {
    /// Returns the record of an action on `subject`.
    pub fn new(who: AuditActor<'_>, act: AuditAction, subject: &dyn fmt::Display) -> Self {
        Self {
            by: who.to_string(),
            role: who.role(),
            act,
            subject: subject.to_string(),
        }
    }

    async fn write(
        self,
        connection: &mut PgConnection,
        key: Uuid,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        sqlx::query("INSERT INTO ken.audit VALUES ($1, $2, $3, $4, $5, $6, $7)")
            .bind(key)
            .bind(new_uuid_at(now))
            .bind(millis(now))
            .bind(without_nul(&self.by))
            .bind(self.role.name())
            .bind(self.act.name())
            .bind(without_nul(&self.subject))
            .execute(connection)
            .await?;
        Ok(())
    }
}

impl OrganizationTx {
    /// Adds a record about the organization to the audit log.
    pub async fn audit(
        &mut self,
        by: impl Into<AuditActor<'_>>,
        act: AuditAction,
        subject: impl fmt::Display,
    ) -> Result<(), DatabaseError> {
        let (key, now) = (self.id().0, self.now());
        let line = NewAuditRecord::new(by.into(), act, &subject);
        line.write(self.connection(), key, now).await
    }

    /// Returns up to `limit` audit records about the organization before `before`, latest first.
    pub async fn list_audit_records(
        &mut self,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, DatabaseError> {
        let key = self.id().0;
        list_audit_records(self.connection(), key, before, limit).await
    }
}

impl WorkspaceTx {
    /// Adds a record about this workspace to the audit log.
    pub async fn audit(
        &mut self,
        by: impl Into<AuditActor<'_>>,
        act: AuditAction,
        subject: impl fmt::Display,
    ) -> Result<(), DatabaseError> {
        let (key, now) = (self.key(), self.now());
        let line = NewAuditRecord::new(by.into(), act, &subject);
        line.write(self.connection(), key, now).await
    }

    /// Returns up to `limit` audit records about this workspace before `before`, latest first.
    pub async fn list_audit_records(
        &mut self,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, DatabaseError> {
        let key = self.key();
        list_audit_records(self.connection(), key, before, limit).await
    }
}

async fn list_audit_records(
    connection: &mut PgConnection,
    key: Uuid,
    before: Option<Uuid>,
    limit: u32,
) -> Result<Vec<AuditRecord>, DatabaseError> {
    let query = "SELECT id, at, by, role, act, subject FROM ken.audit
                 WHERE workspace_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    let rows = sqlx::query(query)
        .bind(key)
        // Record ids are UUIDs of version 7, so their order is the order of time.
        .bind(before.unwrap_or(Uuid::max()))
        .bind(i64::from(limit))
        .fetch_all(connection)
        .await?;
    let mut acts = Vec::with_capacity(rows.len());
    for row in rows {
        acts.push(AuditRecord {
            id: row.try_get(0)?,
            at: timestamp(row.try_get(1)?),
            by: row.try_get(2)?,
            role: row.try_get(3)?,
            act: row.try_get(4)?,
            subject: row.try_get(5)?,
        });
    }
    Ok(acts)
}
