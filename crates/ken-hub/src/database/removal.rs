//! Removal, renaming, restoration and erasure of workspaces and organizations.
//!
//! A removed workspace or organization is hidden by row-level security at once, so every request
//! finds it missing. Its data stays for [`GRACE_DAYS`], in which it can be restored, and is then
//! erased from every table but the audit log, which is only added to. A name stays taken as long:
//! an old address must never lead to another workspace.

use std::fmt;

use ken_core::values::time::{DAY_MS, Timestamp};
use sqlx::Row as _;
use uuid::Uuid;

use super::audit::{AuditAction, AuditActor};
use super::directory::{WORKSPACE_COLUMNS, name, workspace_row};
use super::{
    AdvisoryLock, DatabaseError, HubDatabase, HubName, OrganizationTx, WorkspaceRow,
    is_unique_violation, millis, timestamp,
};
use crate::ids::{OrganizationId, WorkspaceId};

/// Days in which a removed workspace or organization can be restored, and in which the former name
/// of a renamed workspace is not given to another.
pub const GRACE_DAYS: u64 = 30;

/// Rows of each table that one transaction of an erasure deletes.
const ERASED_ROWS: i64 = 5_000;

/// A removed workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedWorkspace {
    pub workspace: WorkspaceRow,
    pub removed_at: Timestamp,
    /// Time from which it is erased.
    pub erase_at: Timestamp,
}

/// A removed organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedOrganization {
    pub id: OrganizationId,
    pub name: HubName,
    /// Time from which it is erased.
    pub erase_at: Timestamp,
}

/// Why a workspace cannot have a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameTaken {
    #[error("a workspace `{0}` already exists; use it or choose another name")]
    Exists(HubName),
    #[error(
        "the name `{0}` belongs to a workspace that was removed and will be erased at {1}; restore or purge it, or choose another name"
    )]
    Removed(HubName, Timestamp),
    #[error(
        "the name `{former}` belonged to the workspace `{now}` and is not free before {until}; choose another name"
    )]
    Renamed {
        former: HubName,
        now: HubName,
        until: Timestamp,
    },
}

/// A workspace or an organization that was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasedTenant {
    Workspace(OrganizationId, WorkspaceId),
    Organization(OrganizationId),
}

impl fmt::Display for ErasedTenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace(organization, workspace) => {
                write!(
                    f,
                    "workspace {} of organization {}",
                    workspace.0, organization.0
                )
            }
            Self::Organization(organization) => write!(f, "organization {}", organization.0),
        }
    }
}

/// Returns the time from which something removed at `now` is erased.
fn erasure_time(now: Timestamp) -> Timestamp {
    now.plus_millis(GRACE_DAYS * DAY_MS)
}

impl OrganizationTx {
    /// Makes removed workspaces, and a removed organization, visible to the rest of this
    /// transaction, or hides them again.
    async fn show_removed(&mut self, shown: bool) -> Result<(), DatabaseError> {
        let value = if shown { "on" } else { "" };
        sqlx::query("SELECT set_config('ken.removed', $1, true)")
            .bind(value)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Removes a workspace: it is missing from now on, also for transactions that began before.
    pub async fn remove_workspace(
        &mut self,
        by: AuditActor<'_>,
        workspace: &WorkspaceRow,
    ) -> Result<RemovedWorkspace, DatabaseError> {
        let (organization, now) = (self.id(), self.now());
        let erase_at = erasure_time(now);
        // Waits for transactions on the workspace and keeps new ones out, like an eviction.
        AdvisoryLock::Workspace
            .take(self.connection(), workspace.id.0)
            .await?;
        self.show_removed(true).await?;
        // Without `folded` the first read after a restoration rebuilds and publishes its entries.
        let removed = sqlx::query(
            "UPDATE ken.workspaces SET removed_at = $3, erase_at = $4, folded = NULL
             WHERE organization_id = $1 AND id = $2 AND removed_at IS NULL",
        )
        .bind(organization.0)
        .bind(workspace.id.0)
        .bind(millis(now))
        .bind(millis(erase_at))
        .execute(self.connection())
        .await?;
        self.show_removed(false).await?;
        if removed.rows_affected() == 0 {
            return Err(DatabaseError::NoWorkspace);
        }
        // Other workspaces no longer see what it published.
        sqlx::query(
            "DELETE FROM ken.global_entries WHERE organization_id = $1 AND workspace_id = $2",
        )
        .bind(organization.0)
        .bind(workspace.id.0)
        .execute(self.connection())
        .await?;
        self.forget_answers().await?;
        self.audit(by, AuditAction::WorkspaceRemoved, subject(workspace))
            .await?;
        Ok(RemovedWorkspace {
            workspace: WorkspaceRow {
                is_warm: false,
                ..workspace.clone()
            },
            removed_at: now,
            erase_at,
        })
    }

    /// Deletes the responses that are kept for idempotency keys: they may quote what was removed.
    async fn forget_answers(&mut self) -> Result<(), DatabaseError> {
        let id = self.id();
        sqlx::query("SELECT ken.forget_answers($1)")
            .bind(id.0)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns the organization's removed workspaces that are not erased yet, sorted by name.
    pub async fn removed_workspaces(&mut self) -> Result<Vec<RemovedWorkspace>, DatabaseError> {
        let id = self.id();
        self.show_removed(true).await?;
        let query = format!(
            "SELECT {WORKSPACE_COLUMNS}, removed_at, erase_at FROM ken.workspaces
             WHERE organization_id = $1 AND removed_at IS NOT NULL ORDER BY name"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(id.0)
            .fetch_all(self.connection())
            .await?;
        self.show_removed(false).await?;
        let removed = rows.iter().map(|row| {
            Ok(RemovedWorkspace {
                workspace: workspace_row(row)?,
                removed_at: timestamp(row.try_get("removed_at")?),
                erase_at: timestamp(row.try_get("erase_at")?),
            })
        });
        removed.collect()
    }

    /// Returns the removed workspace with that name or id.
    pub async fn removed_workspace(
        &mut self,
        named: &str,
    ) -> Result<Option<RemovedWorkspace>, DatabaseError> {
        let id = Uuid::try_parse(named).ok();
        let removed = self.removed_workspaces().await?;
        let is_it = |it: &RemovedWorkspace| {
            it.workspace.name.as_str() == named || Some(it.workspace.id.0) == id
        };
        Ok(removed.into_iter().find(is_it))
    }

    /// Restores a removed workspace. Returns whether its grace period has not ended.
    pub async fn restore_workspace(
        &mut self,
        by: AuditActor<'_>,
        removed: &RemovedWorkspace,
    ) -> Result<bool, DatabaseError> {
        let update = "UPDATE ken.workspaces SET removed_at = NULL, erase_at = NULL
             WHERE organization_id = $1 AND id = $2 AND removed_at IS NOT NULL AND $3 < erase_at";
        self.change_removed(removed, update, (by, AuditAction::WorkspaceRestored))
            .await
    }

    /// Ends the grace period of a removed workspace now. Returns whether it was still removed.
    pub async fn purge_workspace(
        &mut self,
        by: AuditActor<'_>,
        removed: &RemovedWorkspace,
    ) -> Result<bool, DatabaseError> {
        if self.is_held(Some(removed.workspace.id.0)).await? {
            return Err(DatabaseError::OnHold);
        }
        let update = "UPDATE ken.workspaces SET erase_at = least(erase_at, $3)
             WHERE organization_id = $1 AND id = $2 AND removed_at IS NOT NULL";
        self.change_removed(removed, update, (by, AuditAction::WorkspacePurged))
            .await
    }

    /// Runs an update of a removed workspace with the time, and records it if it had an effect.
    async fn change_removed(
        &mut self,
        removed: &RemovedWorkspace,
        update: &'static str,
        (by, act): (AuditActor<'_>, AuditAction),
    ) -> Result<bool, DatabaseError> {
        let (organization, now) = (self.id(), self.now());
        self.show_removed(true).await?;
        let changed = sqlx::query(update)
            .bind(organization.0)
            .bind(removed.workspace.id.0)
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        self.show_removed(false).await?;
        if changed.rows_affected() == 0 {
            return Ok(false);
        }
        self.audit(by, act, subject(&removed.workspace)).await?;
        Ok(true)
    }

    /// Renames a workspace. Its id and its tokens stay, and its former name leads to a hint.
    pub async fn rename_workspace(
        &mut self,
        by: AuditActor<'_>,
        workspace: &WorkspaceRow,
        to: &HubName,
    ) -> Result<Result<(), NameTaken>, DatabaseError> {
        if Uuid::try_parse(to.as_str()).is_ok() {
            return Err(DatabaseError::NameIsId);
        }
        if workspace.name == *to {
            return Ok(Ok(()));
        }
        self.lock_organization().await?;
        match self.name_taken(to).await? {
            // A workspace may have its own former name again.
            Some(NameTaken::Renamed { now, .. }) if now == workspace.name => {}
            Some(taken) => return Ok(Err(taken)),
            None => {}
        }
        let (organization, now) = (self.id(), self.now());
        let rename = "UPDATE ken.workspaces SET name = $3 WHERE organization_id = $1 AND id = $2";
        sqlx::query(rename)
            .bind(organization.0)
            .bind(workspace.id.0)
            .bind(to.as_str())
            .execute(self.connection())
            .await?;
        let expired = now.millis().saturating_sub(GRACE_DAYS * DAY_MS);
        sqlx::query(
            "DELETE FROM ken.former_names
             WHERE organization_id = $1 AND (name = $2 OR renamed_at <= $3)",
        )
        .bind(organization.0)
        .bind(to.as_str())
        .bind(millis(Timestamp::from_millis(expired)))
        .execute(self.connection())
        .await?;
        sqlx::query(
            "INSERT INTO ken.former_names (organization_id, name, workspace_id, renamed_at)
             VALUES ($1, $2, $3, $4)",
        )
        .bind(organization.0)
        .bind(workspace.name.as_str())
        .bind(workspace.id.0)
        .bind(millis(now))
        .execute(self.connection())
        .await?;
        let subject = format!("{} to {to}", subject(workspace));
        self.audit(by, AuditAction::WorkspaceRenamed, subject)
            .await?;
        Ok(Ok(()))
    }

    /// Returns the workspace that had this name before, if a rename gave it up recently.
    pub async fn renamed_workspace(
        &mut self,
        former: &str,
    ) -> Result<Option<(WorkspaceId, HubName)>, DatabaseError> {
        Ok(self
            .former_name(former)
            .await?
            .map(|(id, name, _)| (id, name)))
    }

    /// Returns the workspace that had this name before, its name, and when the name becomes free.
    async fn former_name(
        &mut self,
        former: &str,
    ) -> Result<Option<(WorkspaceId, HubName, Timestamp)>, DatabaseError> {
        let (organization, now) = (self.id(), self.now());
        let query = "SELECT w.id, w.name, f.renamed_at FROM ken.former_names f
             JOIN ken.workspaces w ON w.organization_id = f.organization_id AND w.id = f.workspace_id
             WHERE f.organization_id = $1 AND f.name = $2";
        let row = sqlx::query(query)
            .bind(organization.0)
            .bind(former)
            .fetch_optional(self.connection())
            .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let until = erasure_time(timestamp(row.try_get(2)?));
        let found = (WorkspaceId(row.try_get(0)?), name(&row, 1)?, until);
        Ok(Some(found).filter(|_| now < until))
    }

    /// Returns why a workspace cannot have a name, if it cannot.
    pub async fn name_taken(
        &mut self,
        wanted: &HubName,
    ) -> Result<Option<NameTaken>, DatabaseError> {
        if self.workspace(wanted.as_str()).await?.is_some() {
            return Ok(Some(NameTaken::Exists(wanted.clone())));
        }
        if let Some(removed) = self.removed_workspace(wanted.as_str()).await? {
            return Ok(Some(NameTaken::Removed(wanted.clone(), removed.erase_at)));
        }
        let former = self.former_name(wanted.as_str()).await?;
        Ok(former.map(|(_, now, until)| NameTaken::Renamed {
            former: wanted.clone(),
            now,
            until,
        }))
    }

    /// Locks the organization's row, so that names and quotas are checked one request at a time.
    async fn lock_organization(&mut self) -> Result<(), DatabaseError> {
        let id = self.id();
        sqlx::query("SELECT FROM ken.organizations WHERE id = $1 FOR NO KEY UPDATE")
            .bind(id.0)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns the number of workspaces, with those that are removed and not erased yet.
    pub(super) async fn count_workspaces(&mut self) -> Result<u64, DatabaseError> {
        let id = self.id();
        self.show_removed(true).await?;
        let query = "SELECT count(*) FROM ken.workspaces WHERE organization_id = $1";
        let count: i64 = sqlx::query_scalar(query)
            .bind(id.0)
            .fetch_one(self.connection())
            .await?;
        self.show_removed(false).await?;
        Ok(count.unsigned_abs())
    }

    /// Removes the organization: its tokens and workspaces are unknown from now on.
    pub async fn remove_organization(
        &mut self,
        by: AuditActor<'_>,
        name: &HubName,
    ) -> Result<RemovedOrganization, DatabaseError> {
        let (id, now) = (self.id(), self.now());
        let erase_at = erasure_time(now);
        self.audit(by, AuditAction::OrganizationRemoved, name)
            .await?;
        self.show_removed(true).await?;
        sqlx::query("UPDATE ken.organizations SET removed_at = $2, erase_at = $3 WHERE id = $1")
            .bind(id.0)
            .bind(millis(now))
            .bind(millis(erase_at))
            .execute(self.connection())
            .await?;
        let name = name.clone();
        Ok(RemovedOrganization { id, name, erase_at })
    }

    /// Renames the organization; `false` if another one has that name.
    pub async fn rename_organization(
        &mut self,
        by: AuditActor<'_>,
        from: &HubName,
        to: &HubName,
    ) -> Result<bool, DatabaseError> {
        let id = self.id();
        let subject = format!("{from} to {to}");
        self.audit(by, AuditAction::OrganizationRenamed, subject)
            .await?;
        let renamed = sqlx::query("UPDATE ken.organizations SET name = $2 WHERE id = $1")
            .bind(id.0)
            .bind(to.as_str())
            .execute(self.connection())
            .await;
        match renamed {
            Ok(_) => Ok(true),
            Err(error) if is_unique_violation(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Restores the removed organization. Returns whether its grace period has not ended.
    pub async fn restore_organization(
        &mut self,
        by: AuditActor<'_>,
        name: &HubName,
    ) -> Result<bool, DatabaseError> {
        let (id, now) = (self.id(), self.now());
        self.show_removed(true).await?;
        let restored = sqlx::query(
            "UPDATE ken.organizations SET removed_at = NULL, erase_at = NULL
             WHERE id = $1 AND $2 < erase_at",
        )
        .bind(id.0)
        .bind(millis(now))
        .execute(self.connection())
        .await?;
        if restored.rows_affected() == 0 {
            return Ok(false);
        }
        self.audit(by, AuditAction::OrganizationRestored, name)
            .await?;
        Ok(true)
    }

    /// Ends the grace period of the removed organization now.
    pub async fn purge_organization(
        &mut self,
        by: AuditActor<'_>,
        name: &HubName,
    ) -> Result<(), DatabaseError> {
        let (id, now) = (self.id(), self.now());
        if self.is_held(None).await? {
            return Err(DatabaseError::OnHold);
        }
        self.show_removed(true).await?;
        sqlx::query("UPDATE ken.organizations SET erase_at = least(erase_at, $2) WHERE id = $1")
            .bind(id.0)
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        self.audit(by, AuditAction::OrganizationPurged, name).await
    }
}

impl HubDatabase {
    /// Finds a removed organization by name.
    pub async fn removed_organization(
        &self,
        wanted: &HubName,
    ) -> Result<Option<RemovedOrganization>, DatabaseError> {
        // No organization has this id; the function finds one by its name.
        let mut tx = self.begin_organization(OrganizationId(Uuid::nil())).await?;
        tx.show_removed(true).await?;
        let id: Option<Uuid> = sqlx::query_scalar("SELECT ken.organization_named($1)")
            .bind(wanted.as_str())
            .fetch_one(tx.connection())
            .await?;
        tx.rollback().await?;
        let Some(id) = id else {
            return Ok(None);
        };
        let mut tx = self.begin_organization(OrganizationId(id)).await?;
        tx.show_removed(true).await?;
        let query = "SELECT erase_at FROM ken.organizations WHERE id = $1";
        let erase_at: Option<Option<i64>> = sqlx::query_scalar(query)
            .bind(id)
            .fetch_optional(tx.connection())
            .await?;
        tx.rollback().await?;
        Ok(erase_at.flatten().map(|at| RemovedOrganization {
            id: OrganizationId(id),
            name: wanted.clone(),
            erase_at: timestamp(at),
        }))
    }

    /// Erases every workspace and organization whose grace period has ended, and returns them.
    ///
    /// One that another process erases at the moment is left to it.
    pub async fn erase_due(&self, by: AuditActor<'_>) -> Result<Vec<ErasedTenant>, DatabaseError> {
        let now = self.clock().now();
        let mut lease = self.pool().acquire_live().await?;
        let due: Vec<(Uuid, Option<Uuid>)> =
            sqlx::query_as("SELECT organization_id, workspace_id FROM ken.due_erasures($1)")
                .bind(millis(now))
                .fetch_all(lease.connection())
                .await?;
        lease.release();
        let mut erased = Vec::new();
        // Workspaces come first: an organization is erased when it has none.
        for (organization, workspace) in due {
            let organization = OrganizationId(organization);
            match workspace.map(WorkspaceId) {
                Some(workspace) => {
                    if self.erase_workspace(by, organization, workspace).await? {
                        erased.push(ErasedTenant::Workspace(organization, workspace));
                    }
                }
                None => {
                    if self.erase_organization(by, organization).await? {
                        erased.push(ErasedTenant::Organization(organization));
                    }
                }
            }
        }
        Ok(erased)
    }

    async fn erase_workspace(
        &self,
        by: AuditActor<'_>,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<bool, DatabaseError> {
        // Several short transactions: one for a large workspace would outlast every timeout.
        loop {
            let mut tx = self.begin_organization(organization).await?;
            let now = millis(tx.now());
            let deleted: Option<i64> =
                sqlx::query_scalar("SELECT ken.erase_workspace($1, $2, $3, $4)")
                    .bind(organization.0)
                    .bind(workspace.0)
                    .bind(now)
                    .bind(ERASED_ROWS)
                    .fetch_one(tx.connection())
                    .await?;
            match deleted {
                None => return Ok(false),
                Some(0) => {
                    tx.audit(by, AuditAction::WorkspaceErased, workspace.0)
                        .await?;
                    tx.commit().await?;
                    return Ok(true);
                }
                Some(_) => tx.commit().await?,
            }
        }
    }

    async fn erase_organization(
        &self,
        by: AuditActor<'_>,
        organization: OrganizationId,
    ) -> Result<bool, DatabaseError> {
        let mut tx = self.begin_organization(organization).await?;
        let now = millis(tx.now());
        let erased: bool = sqlx::query_scalar("SELECT ken.erase_organization($1, $2)")
            .bind(organization.0)
            .bind(now)
            .fetch_one(tx.connection())
            .await?;
        if erased {
            tx.audit(by, AuditAction::OrganizationErased, organization.0)
                .await?;
            tx.commit().await?;
        }
        Ok(erased)
    }
}

/// Formats a workspace for the audit log: its name may be given to another one later.
fn subject(workspace: &WorkspaceRow) -> String {
    format!("{} ({})", workspace.id.0, workspace.name)
}
