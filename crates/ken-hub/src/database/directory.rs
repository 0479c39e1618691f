//! Which organisations and workspaces there are, and who did what to them.

use std::fmt;

use ken_core::time::Timestamp;
use ken_remote::name::{Name, NameError};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use super::{Database, DatabaseError, OrganisationTx, Settings, Tenant};
use crate::identity::audit::{Act, Who};
use crate::identity::{OrganisationId, Role, WorkspaceId};
use crate::serve::settings::Beyond;
use crate::world::uuid_at;

/// An organisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organisation {
    pub id: OrganisationId,
    pub name: Name,
    pub quotas: Quotas,
}

/// What an organisation may use; the hub's own defaults hold where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    pub workspaces_max: Option<u64>,
    /// Events of one workspace.
    pub events_max: Option<u64>,
    /// Bytes of one workspace's events.
    pub bytes_max: Option<u64>,
    pub requests_per_minute: Option<u64>,
}

/// As the audit log has it: what the organisation's row says, the hub's defaults where it says nothing.
impl fmt::Display for Quotas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("workspaces", self.workspaces_max),
            ("events", self.events_max),
            ("bytes", self.bytes_max),
            ("requests-per-minute", self.requests_per_minute),
        ];
        let said = all.map(|(what, max)| match max {
            Some(max) => format!("{what} {max}"),
            None => format!("{what} default"),
        });
        f.write_str(&said.join(", "))
    }
}

/// A workspace, and how much it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRow {
    pub organisation: OrganisationId,
    pub id: WorkspaceId,
    pub name: Name,
    pub created_at: Timestamp,
    /// The place of the last event in the log.
    pub head: u64,
    pub events: u64,
    /// Bytes of the events' lines.
    pub bytes: u64,
    pub appended_at: Option<Timestamp>,
    /// Whether its entries are there; those of a cold workspace were evicted.
    pub is_warm: bool,
}

/// How much a workspace holds, and how much its organisation's own row lets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub events: u64,
    /// Bytes of the events' lines.
    pub bytes: u64,
    pub events_max: Option<u64>,
    pub bytes_max: Option<u64>,
}

/// An organisation as whoever owns the database sees it: its name and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrganisationRow {
    pub id: OrganisationId,
    pub name: Name,
    pub created_at: Timestamp,
    pub workspaces: u64,
    pub events: u64,
}

/// One line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    pub id: Uuid,
    pub at: Timestamp,
    pub by: String,
    pub role: String,
    pub act: String,
    pub subject: String,
}

const WORKSPACE_COLUMNS: &str =
    "organisation_id, id, name, created_at, head, events, bytes, appended_at, folded IS NOT NULL";

impl Database {
    /// Returns every organisation, by name. Only the owner of the tables may see which there are, so it connects as that.
    pub async fn organisations(owner_url: &str) -> Result<Vec<OrganisationRow>, DatabaseError> {
        let options = Settings::new(owner_url).owner_options()?;
        let connecting = PgConnection::connect_with(&options);
        let mut connection = connecting.await.map_err(DatabaseError::Connect)?;
        let query =
            "SELECT o.id, o.name, o.created_at, count(w.id), coalesce(sum(w.events), 0)::bigint
             FROM ken.organisations o LEFT JOIN ken.workspaces w ON w.organisation_id = o.id
             GROUP BY o.id ORDER BY o.name";
        let rows = sqlx::query(query).fetch_all(&mut connection).await?;
        let _ = connection.close().await;
        let read = |row: &PgRow| {
            let count = |at: usize| row.try_get::<i64, _>(at).map(i64::unsigned_abs);
            Ok(OrganisationRow {
                id: OrganisationId(row.try_get(0)?),
                name: name(row, 1)?,
                created_at: timestamp(row.try_get(2)?),
                workspaces: count(3)?,
                events: count(4)?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Finds the organisation of that name, before anybody is proven to belong to it.
    pub async fn organisation_named(
        &self,
        name: &Name,
    ) -> Result<Option<OrganisationId>, DatabaseError> {
        let mut taken = self.pool().take_alive().await?;
        let found: Option<Uuid> = sqlx::query_scalar("SELECT ken.organisation_named($1)")
            .bind(name.as_str())
            .fetch_one(taken.connection())
            .await?;
        taken.give_back();
        Ok(found.map(OrganisationId))
    }

    /// Makes an organisation; returns nothing if there is one of that name.
    pub async fn create_organisation(
        &self,
        name: &Name,
    ) -> Result<Option<OrganisationId>, DatabaseError> {
        let id = OrganisationId(self.world().uuid());
        let mut transaction = self.organisation(id).await?;
        let now = transaction.now();
        let made = sqlx::query(
            "INSERT INTO ken.organisations (id, name, created_at) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(id.0)
        .bind(name.as_str())
        .bind(millis(now))
        .execute(transaction.connection())
        .await?;
        transaction.commit().await?;
        Ok((made.rows_affected() == 1).then_some(id))
    }
}

impl OrganisationTx {
    /// Returns the organisation, if there is one.
    pub async fn organisation(&mut self) -> Result<Option<Organisation>, DatabaseError> {
        let query = "SELECT name, workspaces_max, events_max, bytes_max, requests_per_minute
                     FROM ken.organisations WHERE id = $1";
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
        Ok(Some(Organisation {
            id,
            name: name(&row, 0)?,
            quotas: Quotas {
                workspaces_max: quota(1)?,
                events_max: quota(2)?,
                bytes_max: quota(3)?,
                requests_per_minute: quota(4)?,
            },
        }))
    }

    /// Sets what the organisation may use.
    pub async fn set_quotas(&mut self, quotas: Quotas) -> Result<(), DatabaseError> {
        let id = self.id();
        let signed = |it: Option<u64>| it.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        sqlx::query(
            "UPDATE ken.organisations SET workspaces_max = $2, events_max = $3, bytes_max = $4,
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

    /// Refuses one more workspace where the organisation has as many as it may: `max`, where its row says nothing else.
    ///
    /// Takes the organisation's row, so that two cannot both take the last place.
    pub async fn room_for_workspace(
        &mut self,
        max: u64,
    ) -> Result<Result<(), Beyond>, DatabaseError> {
        let id = self.id();
        let query = "SELECT workspaces_max FROM ken.organisations WHERE id = $1 FOR NO KEY UPDATE";
        let own: Option<(Option<i64>,)> = sqlx::query_as(query)
            .bind(id.0)
            .fetch_optional(self.connection())
            .await?;
        let query = "SELECT count(*) FROM ken.workspaces WHERE organisation_id = $1";
        let count: i64 = sqlx::query_scalar(query)
            .bind(id.0)
            .fetch_one(self.connection())
            .await?;
        let own = own.and_then(|(max,)| max).map(i64::unsigned_abs);
        let wanted = count.unsigned_abs() + 1;
        Ok(Beyond::check("workspaces", wanted, own.unwrap_or(max)))
    }

    /// Makes a workspace; returns nothing if there is one of that name.
    ///
    /// A name that reads as an id would stand for two workspaces, and is [refused](DatabaseError::NameIsId).
    pub async fn create_workspace(
        &mut self,
        name: &Name,
    ) -> Result<Option<WorkspaceId>, DatabaseError> {
        if Uuid::try_parse(name.as_str()).is_ok() {
            return Err(DatabaseError::NameIsId);
        }
        let (organisation, now) = (self.id(), self.now());
        let id = WorkspaceId(uuid_at(now));
        let made = sqlx::query(
            "INSERT INTO ken.workspaces (organisation_id, id, name, created_at)
             VALUES ($1, $2, $3, $4) ON CONFLICT (organisation_id, name) DO NOTHING",
        )
        .bind(organisation.0)
        .bind(id.0)
        .bind(name.as_str())
        .bind(millis(now))
        .execute(self.connection())
        .await?;
        Ok((made.rows_affected() == 1).then_some(id))
    }

    /// Returns the organisation's workspace of that name or with that id.
    pub async fn workspace(&mut self, named: &str) -> Result<Option<WorkspaceRow>, DatabaseError> {
        let id = Uuid::try_parse(named).ok();
        let query = format!(
            "SELECT {WORKSPACE_COLUMNS} FROM ken.workspaces
             WHERE organisation_id = $1 AND (name = $2 OR id = $3) ORDER BY name = $2 DESC LIMIT 1"
        );
        let organisation = self.id();
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(organisation.0)
            .bind(without_nul(named))
            .bind(id)
            .fetch_optional(self.connection())
            .await?;
        row.as_ref().map(workspace_row).transpose()
    }

    /// Returns up to `limit` workspaces whose names come after `after`, by name.
    pub async fn workspaces(
        &mut self,
        after: Option<&Name>,
        limit: u32,
    ) -> Result<Vec<WorkspaceRow>, DatabaseError> {
        let query = format!(
            "SELECT {WORKSPACE_COLUMNS} FROM ken.workspaces
             WHERE organisation_id = $1 AND $2 < name ORDER BY name LIMIT $3"
        );
        let organisation = self.id();
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(organisation.0)
            .bind(after.map_or("", Name::as_str))
            .bind(i64::from(limit))
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(workspace_row).collect()
    }

    /// Notes an act that concerns no single workspace.
    pub async fn audit(
        &mut self,
        by: impl Into<Who<'_>>,
        act: Act,
        subject: impl fmt::Display,
    ) -> Result<(), DatabaseError> {
        let (key, now) = (self.id().0, self.now());
        let line = Line::of(by.into(), act, &subject);
        line.write(self.connection(), key, now).await
    }

    /// Returns up to `limit` acts before `before` that concern no single workspace, the latest first.
    pub async fn audited(
        &mut self,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<Audited>, DatabaseError> {
        let key = self.id().0;
        audited(self.connection(), key, before, limit).await
    }
}

impl Tenant {
    /// Returns the workspace and how much it holds.
    pub async fn row(&mut self) -> Result<WorkspaceRow, DatabaseError> {
        let (organisation, workspace) = (self.organisation(), self.workspace_id());
        let query = format!(
            "SELECT {WORKSPACE_COLUMNS} FROM ken.workspaces WHERE organisation_id = $1 AND id = $2"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(organisation.0)
            .bind(workspace.0)
            .fetch_one(self.connection())
            .await?;
        workspace_row(&row)
    }

    /// Returns how many entries follow from the workspace's log.
    pub async fn count_entries(&mut self) -> Result<u64, DatabaseError> {
        let key = self.key();
        let query = "SELECT count(*) FROM ken.entries WHERE workspace_id = $1";
        let count: i64 = sqlx::query_scalar(query)
            .bind(key)
            .fetch_one(self.reading())
            .await?;
        Ok(count.unsigned_abs())
    }

    /// Returns how much the workspace holds, and how much its organisation's row lets it.
    pub async fn room(&mut self) -> Result<Room, DatabaseError> {
        let query = "SELECT w.events, w.bytes, o.events_max, o.bytes_max FROM ken.workspaces w
             JOIN ken.organisations o ON o.id = w.organisation_id
             WHERE w.organisation_id = $1 AND w.id = $2";
        let (organisation, workspace) = (self.organisation(), self.workspace_id());
        let (events, bytes, events_max, bytes_max): (i64, i64, Option<i64>, Option<i64>) =
            sqlx::query_as(query)
                .bind(organisation.0)
                .bind(workspace.0)
                .fetch_one(self.reading())
                .await?;
        Ok(Room {
            events: events.unsigned_abs(),
            bytes: bytes.unsigned_abs(),
            events_max: events_max.map(i64::unsigned_abs),
            bytes_max: bytes_max.map(i64::unsigned_abs),
        })
    }

    /// Notes an act that concerns this workspace.
    pub async fn audit(
        &mut self,
        by: impl Into<Who<'_>>,
        act: Act,
        subject: impl fmt::Display,
    ) -> Result<(), DatabaseError> {
        let (key, now) = (self.key(), self.now());
        let line = Line::of(by.into(), act, &subject);
        line.write(self.connection(), key, now).await
    }

    /// Returns up to `limit` acts before `before` that concern this workspace, the latest first.
    pub async fn audited(
        &mut self,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<Audited>, DatabaseError> {
        let key = self.key();
        audited(self.connection(), key, before, limit).await
    }
}

/// A line of the audit log that is to be written.
#[derive(Clone, Debug)]
pub struct Line {
    pub(crate) by: String,
    pub(crate) role: Role,
    pub(crate) act: Act,
    pub(crate) subject: String,
}

impl Line {
    /// Says that somebody did something to `subject`.
    pub fn of(who: Who<'_>, act: Act, subject: &dyn fmt::Display) -> Self {
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
            .bind(uuid_at(now))
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

async fn audited(
    connection: &mut PgConnection,
    key: Uuid,
    before: Option<Uuid>,
    limit: u32,
) -> Result<Vec<Audited>, DatabaseError> {
    let query = "SELECT id, at, by, role, act, subject FROM ken.audit
                 WHERE workspace_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    let rows = sqlx::query(query)
        .bind(key)
        .bind(before.unwrap_or(Uuid::max()))
        .bind(i64::from(limit))
        .fetch_all(connection)
        .await?;
    let mut acts = Vec::with_capacity(rows.len());
    for row in rows {
        acts.push(Audited {
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

fn workspace_row(row: &PgRow) -> Result<WorkspaceRow, DatabaseError> {
    let count = |at: usize| -> Result<u64, DatabaseError> {
        Ok(row.try_get::<i64, _>(at)?.cast_unsigned())
    };
    Ok(WorkspaceRow {
        organisation: OrganisationId(row.try_get(0)?),
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

fn name(row: &PgRow, at: usize) -> Result<Name, DatabaseError> {
    let text: String = row.try_get(at)?;
    text.parse()
        .map_err(|error: NameError| DatabaseError::Damaged(error.to_string()))
}

/// Returns a time as it stands in a row.
pub(crate) fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

/// Reads a time back.
pub(crate) fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// Returns `text` as PostgreSQL takes it: no text there has the character with the number 0.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
