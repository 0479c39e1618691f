//! Directory of organizations and workspaces.

use ken_core::values::time::Timestamp;
use ken_remote::name::{HubName, HubNameError};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use super::{
    DatabaseError, DatabaseSettings, HubDatabase, OrganizationTx, WorkspaceTx, millis, timestamp,
    without_nul,
};
use crate::clock::new_uuid_at;
use crate::config::{OrganizationQuotas, QuotaExceeded, WorkspaceUsage};
use crate::ids::{OrganizationId, WorkspaceId};

/// An organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    pub id: OrganizationId,
    pub name: HubName,
    pub quotas: OrganizationQuotas,
}

/// A workspace and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRow {
    pub organization: OrganizationId,
    pub id: WorkspaceId,
    pub name: HubName,
    pub created_at: Timestamp,
    /// Position of the last event in the log.
    pub head: u64,
    pub events: u64,
    /// Size of the events' lines in bytes.
    pub bytes: u64,
    pub appended_at: Option<Timestamp>,
    /// True if its projections exist; false after an eviction.
    pub is_warm: bool,
}

/// An organization's name and size, as the owner of the database sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrganizationRow {
    pub id: OrganizationId,
    pub name: HubName,
    pub created_at: Timestamp,
    pub workspaces: u64,
    pub events: u64,
    /// Time from which it is erased, if it was removed.
    pub erase_at: Option<Timestamp>,
}

/// Columns of a [`WorkspaceRow`], in the order that [`workspace_row`] reads them.
pub(super) const WORKSPACE_COLUMNS: &str =
    "organization_id, id, name, created_at, head, events, bytes, appended_at, folded IS NOT NULL";

impl HubDatabase {
    /// Returns all organizations, sorted by name. Connects as the owner of the tables, the only
    /// role that may list them.
    pub async fn organizations(owner_url: &str) -> Result<Vec<OrganizationRow>, DatabaseError> {
        let options = DatabaseSettings::new(owner_url).owner_options()?;
        let connecting = PgConnection::connect_with(&options);
        let mut connection = connecting.await.map_err(DatabaseError::Connect)?;
        let query =
            "SELECT o.id, o.name, o.created_at, count(w.id), coalesce(sum(w.events), 0)::bigint, o.erase_at
             FROM ken.organizations o LEFT JOIN ken.workspaces w
                 ON w.organization_id = o.id AND w.removed_at IS NULL
             GROUP BY o.id ORDER BY o.name";
        let rows = sqlx::query(query).fetch_all(&mut connection).await?;
        let _ = connection.close().await;
        let read = |row: &PgRow| {
            let count = |at: usize| row.try_get::<i64, _>(at).map(i64::unsigned_abs);
            Ok(OrganizationRow {
                id: OrganizationId(row.try_get(0)?),
                name: name(row, 1)?,
                created_at: timestamp(row.try_get(2)?),
                workspaces: count(3)?,
                events: count(4)?,
                erase_at: row.try_get::<Option<i64>, _>(5)?.map(timestamp),
            })
        };
        rows.iter().map(read).collect()
    }

    /// Finds an organization by name, before the caller is known to belong to it.
    pub async fn organization_named(
        &self,
        name: &HubName,
    ) -> Result<Option<OrganizationId>, DatabaseError> {
        let mut lease = self.pool().acquire_live().await?;
        let found: Option<Uuid> = sqlx::query_scalar("SELECT ken.organization_named($1)")
            .bind(name.as_str())
            .fetch_one(lease.connection())
            .await?;
        lease.release();
        Ok(found.map(OrganizationId))
    }

    /// Creates an organization; `None` if there is one of that name.
    pub async fn create_organization(
        &self,
        name: &HubName,
    ) -> Result<Option<OrganizationId>, DatabaseError> {
        let id = OrganizationId(self.clock().new_uuid());
        // The transaction is begun for an organization that does not exist yet: row-level security
        // only admits rows of its own tenant.
        let mut transaction = self.begin_organization(id).await?;
        let now = transaction.now();
        let inserted = sqlx::query(
            "INSERT INTO ken.organizations (id, name, created_at) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(id.0)
        .bind(name.as_str())
        .bind(millis(now))
        .execute(transaction.connection())
        .await?;
        transaction.commit().await?;
        Ok((inserted.rows_affected() == 1).then_some(id))
    }
}

impl OrganizationTx {
    /// Returns the organization's signers, in the format of OpenSSH's `allowed_signers`.
    pub async fn signers(&mut self) -> Result<Option<String>, DatabaseError> {
        let id = self.id();
        let query = "SELECT signers FROM ken.organizations WHERE id = $1";
        let row = sqlx::query(query)
            .bind(id.0)
            .fetch_optional(self.connection())
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.flatten())
    }

    /// Sets the organization's signers; `None` removes them.
    pub async fn set_signers(&mut self, signers: Option<&str>) -> Result<(), DatabaseError> {
        let id = self.id();
        sqlx::query("UPDATE ken.organizations SET signers = $2 WHERE id = $1")
            .bind(id.0)
            .bind(signers.map(without_nul))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns the organization; `None` if it does not exist.
    pub async fn organization(&mut self) -> Result<Option<Organization>, DatabaseError> {
        let query = "SELECT name, workspaces_max, events_max, bytes_max, requests_per_minute
                     FROM ken.organizations WHERE id = $1";
        let id = self.id();
        let row = sqlx::query(query)
            .bind(id.0)
            .fetch_optional(self.connection())
            .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let quota = |at: usize| -> Result<Option<u64>, DatabaseError> {
            Ok(row.try_get::<Option<i64>, _>(at)?.map(i64::cast_unsigned))
        };
        Ok(Some(Organization {
            id,
            name: name(&row, 0)?,
            quotas: OrganizationQuotas {
                workspaces_max: quota(1)?,
                events_max: quota(2)?,
                bytes_max: quota(3)?,
                requests_per_minute: quota(4)?,
            },
        }))
    }

    /// Sets the organization's quotas.
    pub async fn set_quotas(&mut self, quotas: OrganizationQuotas) -> Result<(), DatabaseError> {
        let id = self.id();
        // Saturating instead of failing: a quota beyond `i64::MAX` cannot be reached.
        let signed = |it: Option<u64>| it.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        sqlx::query(
            "UPDATE ken.organizations SET workspaces_max = $2, events_max = $3, bytes_max = $4,
                 requests_per_minute = $5 WHERE id = $1",
        )
        .bind(id.0)
        .bind(signed(quotas.workspaces_max))
        .bind(signed(quotas.events_max))
        .bind(signed(quotas.bytes_max))
        .bind(signed(quotas.requests_per_minute))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Refuses another workspace if the organization has reached its quota: its own, or `max`.
    ///
    /// Locks the organization's row, so that two requests cannot both use the last slot.
    pub async fn check_workspace_quota(
        &mut self,
        max: u64,
    ) -> Result<Result<(), QuotaExceeded>, DatabaseError> {
        let id = self.id();
        let query = "SELECT workspaces_max FROM ken.organizations WHERE id = $1 FOR NO KEY UPDATE";
        let row: Option<(Option<i64>,)> = sqlx::query_as(query)
            .bind(id.0)
            .fetch_optional(self.connection())
            .await?;
        // Removed ones count until they are erased, or removing would make room for more data.
        let wanted = self.count_workspaces().await? + 1;
        let override_max = row.and_then(|(max,)| max).map(i64::unsigned_abs);
        Ok(QuotaExceeded::check(
            "workspaces",
            wanted,
            override_max.unwrap_or(max),
        ))
    }

    /// Creates a workspace; `None` if the [name is taken](Self::name_taken).
    ///
    /// A name that is a valid id would be ambiguous and is [refused](DatabaseError::NameIsId).
    pub async fn create_workspace(
        &mut self,
        name: &HubName,
    ) -> Result<Option<WorkspaceId>, DatabaseError> {
        if Uuid::try_parse(name.as_str()).is_ok() {
            return Err(DatabaseError::NameIsId);
        }
        if self.renamed_workspace(name.as_str()).await?.is_some() {
            return Ok(None);
        }
        let (organization, now) = (self.id(), self.now());
        let id = WorkspaceId(new_uuid_at(now));
        let inserted = sqlx::query(
            "INSERT INTO ken.workspaces (organization_id, id, name, created_at)
             VALUES ($1, $2, $3, $4) ON CONFLICT (organization_id, name) DO NOTHING",
        )
        .bind(organization.0)
        .bind(id.0)
        .bind(name.as_str())
        .bind(millis(now))
        .execute(self.connection())
        .await?;
        Ok((inserted.rows_affected() == 1).then_some(id))
    }

    /// Returns the organization's workspace with that name or id.
    pub async fn workspace(&mut self, named: &str) -> Result<Option<WorkspaceRow>, DatabaseError> {
        // A match by name takes precedence over a match by id.
        let id = Uuid::try_parse(named).ok();
        let query = format!(
            "SELECT {WORKSPACE_COLUMNS} FROM ken.workspaces
             WHERE organization_id = $1 AND (name = $2 OR id = $3) ORDER BY name = $2 DESC LIMIT 1"
        );
        let organization = self.id();
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(organization.0)
            .bind(without_nul(named))
            .bind(id)
            .fetch_optional(self.connection())
            .await?;
        row.as_ref().map(workspace_row).transpose()
    }

    /// Returns up to `limit` workspaces after the name `after`, sorted by name.
    pub async fn workspaces(
        &mut self,
        after: Option<&HubName>,
        limit: u32,
    ) -> Result<Vec<WorkspaceRow>, DatabaseError> {
        let query = format!(
            "SELECT {WORKSPACE_COLUMNS} FROM ken.workspaces
             WHERE organization_id = $1 AND $2 < name ORDER BY name LIMIT $3"
        );
        let organization = self.id();
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(organization.0)
            .bind(after.map_or("", HubName::as_str))
            .bind(i64::from(limit))
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(workspace_row).collect()
    }
}

impl WorkspaceTx {
    /// Returns the workspace and its size.
    pub async fn workspace_row(&mut self) -> Result<WorkspaceRow, DatabaseError> {
        let (organization, workspace) = (self.organization(), self.workspace_id());
        let query = format!(
            "SELECT {WORKSPACE_COLUMNS} FROM ken.workspaces WHERE organization_id = $1 AND id = $2"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(organization.0)
            .bind(workspace.0)
            .fetch_one(self.connection())
            .await?;
        workspace_row(&row)
    }

    /// Returns the number of the workspace's entries.
    pub async fn count_entries(&mut self) -> Result<u64, DatabaseError> {
        let key = self.key();
        let query = "SELECT count(*) FROM ken.entries WHERE workspace_id = $1";
        let count: i64 = sqlx::query_scalar(query)
            .bind(key)
            .fetch_one(self.read_connection())
            .await?;
        Ok(count.unsigned_abs())
    }

    /// Returns the workspace's usage and the limits of its organization's row.
    pub async fn workspace_usage(&mut self) -> Result<WorkspaceUsage, DatabaseError> {
        let query = "SELECT w.events, w.bytes, ken.waiting_bytes(w.id), o.events_max, o.bytes_max
             FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id
             WHERE w.organization_id = $1 AND w.id = $2";
        let (organization, workspace) = (self.organization(), self.workspace_id());
        type UsageRow = (i64, i64, i64, Option<i64>, Option<i64>);
        let (events, bytes, waiting, events_max, bytes_max): UsageRow = sqlx::query_as(query)
            .bind(organization.0)
            .bind(workspace.0)
            .fetch_one(self.read_connection())
            .await?;
        Ok(WorkspaceUsage {
            events: events.unsigned_abs(),
            bytes: bytes.unsigned_abs(),
            waiting_bytes: waiting.unsigned_abs(),
            events_max: events_max.map(i64::unsigned_abs),
            bytes_max: bytes_max.map(i64::unsigned_abs),
        })
    }
}

pub(super) fn workspace_row(row: &PgRow) -> Result<WorkspaceRow, DatabaseError> {
    let count = |at: usize| -> Result<u64, DatabaseError> {
        Ok(row.try_get::<i64, _>(at)?.cast_unsigned())
    };
    Ok(WorkspaceRow {
        organization: OrganizationId(row.try_get(0)?),
        id: WorkspaceId(row.try_get(1)?),
        name: name(row, 2)?,
        created_at: timestamp(row.try_get(3)?),
        head: count(4)?,
        events: count(5)?,
        bytes: count(6)?,
        appended_at: row.try_get::<Option<i64>, _>(7)?.map(timestamp),
        is_warm: row.try_get(8)?,
    })
}

pub(super) fn name(row: &PgRow, at: usize) -> Result<HubName, DatabaseError> {
    let text: String = row.try_get(at)?;
    text.parse()
        .map_err(|error: HubNameError| DatabaseError::Damaged(error.to_string()))
}
