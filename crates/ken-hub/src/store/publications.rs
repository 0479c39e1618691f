//! Publications of an organization: policy, signed manifests and published lines.
//!
//! A batch is put together from its signed manifest and its lines when it is read. So a redaction
//! changes one row, and no stored file contains the words.

use std::fmt;
use std::str::FromStr;

use ken_core::federation::{ExportPolicy, ManifestRow, PublicationBatch, SignedManifest};
use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::EventId;
use ken_core::values::text::Tag;
use ken_core::values::time::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{StoreError, column, uuids};
use crate::database::{
    DatabaseError, HubDatabase, OrganizationTx, WorkspaceTx, event_id, event_uuid, millis,
    timestamp,
};
use crate::ids::{OrganizationId, WorkspaceId};

/// Who may read a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicationAudience {
    /// All readers who know the address.
    Public,
    /// Tokens of the organization, the role `peer` included.
    Peers,
}

/// A text that is not an audience.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid audience; use public or peers")]
pub struct AudienceError(String);

/// A publication.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicationRow {
    pub name: Tag,
    pub publisher: String,
    /// Public key in OpenSSH format.
    pub key: String,
    pub policy: ExportPolicy,
    pub audience: PublicationAudience,
    pub created_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    /// Epoch and number of the newest batch.
    pub head: Option<(u64, u64)>,
}

/// A published line with what it came from.
#[derive(Clone, Debug)]
pub struct PublishedLine {
    pub copy: RecordedEvent,
    pub workspace: WorkspaceId,
    pub sources: Vec<EventId>,
}

impl PublicationAudience {
    /// Returns the name of the audience.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Peers => "peers",
        }
    }
}

impl fmt::Display for PublicationAudience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PublicationAudience {
    type Err = AudienceError;

    fn from_str(text: &str) -> Result<Self, AudienceError> {
        let all = [Self::Public, Self::Peers].into_iter();
        let found = all.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| AudienceError(text.to_owned()))
    }
}

/// Columns of a publication.
const COLUMNS: &str =
    "name, publisher, key, policy, audience, created_at, closed_at, epoch, number";

impl HubDatabase {
    /// Returns the organization and audience of a publication by its address, before the reader is
    /// known.
    pub async fn publication_at(
        &self,
        publisher: &str,
        name: &str,
    ) -> Result<Option<(OrganizationId, PublicationAudience)>, StoreError> {
        let mut lease = self.pool().acquire_live().await?;
        let query = "SELECT organization_id, audience FROM ken.enter_publication($1, $2)";
        let found: Option<(Uuid, String)> = sqlx::query_as(query)
            .bind(publisher)
            .bind(name)
            .fetch_optional(lease.connection())
            .await?;
        // The function's settings end with its statement: the connection enters no tenant.
        lease.release();
        let Some((organization, audience)) = found else {
            return Ok(None);
        };
        let audience = audience.parse().map_err(StoreError::damaged)?;
        Ok(Some((OrganizationId(organization), audience)))
    }
}

impl OrganizationTx {
    /// Adds a publication; returns false if the name or the address is taken.
    pub async fn insert_publication(&mut self, row: &PublicationRow) -> Result<bool, StoreError> {
        let (id, now) = (self.id().0, millis(self.now()));
        let policy = serde_json::to_string(&row.policy).map_err(StoreError::damaged)?;
        let inserted = sqlx::query(
            "INSERT INTO ken.publications (organization_id, name, publisher, key, policy, audience, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        )
        .bind(id)
        .bind(row.name.as_str())
        .bind(&row.publisher)
        .bind(&row.key)
        .bind(policy)
        .bind(row.audience.name())
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(inserted.rows_affected() == 1)
    }

    /// Returns the publications, by name.
    pub async fn publications(&mut self) -> Result<Vec<PublicationRow>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM ken.publications WHERE organization_id = $1 ORDER BY name"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(self.id().0)
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(publication_from_row).collect()
    }

    /// Returns a publication; others that ask for it with `locks` wait until this transaction ends.
    pub async fn publication(
        &mut self,
        name: &str,
        locks: bool,
    ) -> Result<Option<PublicationRow>, StoreError> {
        let lock = if locks { "FOR UPDATE" } else { "" };
        let query = format!(
            "SELECT {COLUMNS} FROM ken.publications WHERE organization_id = $1 AND name = $2 {lock}"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(self.id().0)
            .bind(name)
            .fetch_optional(self.connection())
            .await?;
        row.as_ref().map(publication_from_row).transpose()
    }

    /// Marks a publication as closed.
    pub async fn close_publication(&mut self, name: &str) -> Result<(), StoreError> {
        let (id, now) = (self.id().0, millis(self.now()));
        sqlx::query(
            "UPDATE ken.publications SET closed_at = $3 WHERE organization_id = $1 AND name = $2",
        )
        .bind(id)
        .bind(name)
        .bind(now)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Returns one signed manifest.
    pub async fn signed_manifest(
        &mut self,
        name: &str,
        (epoch, number): (u64, u64),
    ) -> Result<Option<SignedManifest>, StoreError> {
        let query = "SELECT signed FROM ken.publication_batches
             WHERE organization_id = $1 AND publication = $2 AND epoch = $3 AND number = $4";
        let row = sqlx::query(query)
            .bind(self.id().0)
            .bind(name)
            .bind(signed(epoch))
            .bind(signed(number))
            .fetch_optional(self.connection())
            .await?;
        row.map(|row| parse_manifest(column(&row, 0)?)).transpose()
    }

    /// Returns the manifests with orders of every epoch, oldest first, each as JSON.
    pub async fn order_manifests(&mut self, name: &str) -> Result<Vec<String>, StoreError> {
        let query = "SELECT signed FROM ken.publication_batches
             WHERE organization_id = $1 AND publication = $2 AND has_orders ORDER BY epoch, number";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(name)
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// Returns a batch of the current epoch, with the words of its lines unless they were redacted.
    pub async fn publication_batch(
        &mut self,
        name: &str,
        place: (u64, u64),
        with_words: bool,
    ) -> Result<Option<PublicationBatch>, StoreError> {
        let Some(found) = self.signed_manifest(name, place).await? else {
            return Ok(None);
        };
        let ids = found.manifest.rows.iter().filter_map(|row| match row {
            ManifestRow::Add { id, .. } => Some(event_uuid(*id)),
            ManifestRow::Withdraw { .. } | ManifestRow::Redact { .. } => None,
        });
        let ids: Vec<Uuid> = ids.collect();
        let query = "SELECT CASE WHEN $4 THEN coalesce(l.words, l.redacted) ELSE l.redacted END
             FROM unnest($3::uuid[]) WITH ORDINALITY AS u (line, at) JOIN ken.publication_lines l
                 ON l.organization_id = $1 AND l.publication = $2 AND l.line = u.line
             ORDER BY u.at";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(name)
            .bind(ids)
            .bind(with_words)
            .fetch_all(self.connection())
            .await?;
        let lines = rows.iter().map(|row| column(row, 0));
        Ok(Some(PublicationBatch {
            lines: lines.collect::<Result<_, _>>()?,
            manifest: found.manifest,
            signature: found.signature,
        }))
    }

    /// Returns the published lines whose words are gone, since one of their sources was redacted.
    pub async fn wordless_lines(&mut self, name: &str) -> Result<Vec<EventId>, StoreError> {
        let query = "SELECT line FROM ken.publication_lines
             WHERE organization_id = $1 AND publication = $2 AND words IS NULL";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(name)
            .fetch_all(self.connection())
            .await?;
        let ids = rows.iter().map(|row| Ok(event_id(column(row, 0)?)));
        ids.collect()
    }

    /// Stores signed batches and the new lines, and moves the head to the last batch.
    pub async fn insert_batches(
        &mut self,
        name: &str,
        batches: &[SignedManifest],
        lines: &[PublishedLine],
    ) -> Result<(), StoreError> {
        let Some(newest) = batches.last() else {
            return Ok(());
        };
        let id = self.id().0;
        for batch in batches {
            let text = serde_json::to_string(batch).map_err(StoreError::damaged)?;
            sqlx::query("INSERT INTO ken.publication_batches VALUES ($1, $2, $3, $4, $5, $6)")
                .bind(id)
                .bind(name)
                .bind(signed(batch.manifest.epoch))
                .bind(signed(batch.manifest.number))
                .bind(batch.manifest.has_orders())
                .bind(text)
                .execute(self.connection())
                .await?;
        }
        for line in lines {
            // A line that comes back in a new epoch is the same line; one without words stays so.
            sqlx::query(
                "INSERT INTO ken.publication_lines VALUES ($1, $2, $3, $4, $5, $6, $7)
                 ON CONFLICT (organization_id, publication, line) DO UPDATE
                 SET source_workspace = excluded.source_workspace, sources = excluded.sources",
            )
            .bind(id)
            .bind(name)
            .bind(event_uuid(line.copy.event.id))
            .bind(line.workspace.0)
            .bind(uuids(&line.sources))
            .bind(line.copy.line())
            .bind(line.copy.redacted().line())
            .execute(self.connection())
            .await?;
        }
        let head = &newest.manifest;
        sqlx::query(
            "UPDATE ken.publications SET epoch = $3, number = $4
             WHERE organization_id = $1 AND name = $2",
        )
        .bind(id)
        .bind(name)
        .bind(signed(head.epoch))
        .bind(signed(head.number))
        .execute(self.connection())
        .await?;
        // Orders of earlier epochs are never forgotten; everything else was replaced.
        sqlx::query(
            "DELETE FROM ken.publication_batches
             WHERE organization_id = $1 AND publication = $2 AND epoch < $3 AND NOT has_orders",
        )
        .bind(id)
        .bind(name)
        .bind(signed(head.epoch))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Stores manifests with orders of earlier epochs that a restored database had lost.
    pub async fn restore_orders(
        &mut self,
        name: &str,
        orders: &[SignedManifest],
    ) -> Result<(), StoreError> {
        for order in orders {
            let text = serde_json::to_string(order).map_err(StoreError::damaged)?;
            // A place that the database has is the same manifest: a signer signs none twice.
            sqlx::query(
                "INSERT INTO ken.publication_batches VALUES ($1, $2, $3, $4, true, $5)
                 ON CONFLICT DO NOTHING",
            )
            .bind(self.id().0)
            .bind(name)
            .bind(signed(order.manifest.epoch))
            .bind(signed(order.manifest.number))
            .bind(text)
            .execute(self.connection())
            .await?;
        }
        Ok(())
    }

    /// Removes the words of lines.
    pub async fn redact_published(
        &mut self,
        name: &str,
        lines: &[EventId],
    ) -> Result<u64, StoreError> {
        let redacted = sqlx::query(
            "UPDATE ken.publication_lines SET words = NULL
             WHERE organization_id = $1 AND publication = $2 AND line = ANY ($3) AND words IS NOT NULL",
        )
        .bind(self.id().0)
        .bind(name)
        .bind(uuids(lines))
        .execute(self.connection())
        .await?;
        Ok(redacted.rows_affected())
    }

    /// Returns the lines of a publication with words, each with its workspace and sources.
    pub async fn line_sources(
        &mut self,
        name: &str,
    ) -> Result<Vec<(EventId, WorkspaceId, Vec<EventId>)>, StoreError> {
        let query = "SELECT line, source_workspace, sources FROM ken.publication_lines
             WHERE organization_id = $1 AND publication = $2 AND words IS NOT NULL";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(name)
            .fetch_all(self.connection())
            .await?;
        let read = |row: &PgRow| {
            let sources: Vec<Uuid> = column(row, 2)?;
            let sources = sources.into_iter().map(event_id).collect();
            Ok((
                event_id(column(row, 0)?),
                WorkspaceId(column(row, 1)?),
                sources,
            ))
        };
        rows.iter().map(read).collect()
    }
}

impl WorkspaceTx {
    /// Removes the words of published lines that came from redacted events, in the transaction that
    /// redacts them.
    pub(super) async fn redact_published_sources(
        &mut self,
        targets: &[Uuid],
    ) -> Result<(), StoreError> {
        let (organization, key) = (self.organization().0, self.key());
        sqlx::query(
            "UPDATE ken.publication_lines SET words = NULL
             WHERE organization_id = $1 AND source_workspace = $2 AND sources && $3 AND words IS NOT NULL",
        )
        .bind(organization)
        .bind(key)
        .bind(targets)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Returns the entries of this workspace that the whole organization sees, with everything that
    /// is known of them here.
    pub async fn published_entries(
        &mut self,
    ) -> Result<Vec<ken_core::ledger::entry::Entry>, StoreError> {
        let (organization, key) = (self.organization().0, self.key());
        let query = "SELECT e.json FROM ken.entries e JOIN ken.global_entries g
                 ON g.organization_id = $1 AND g.workspace_id = e.workspace_id AND g.entry = e.id
             WHERE e.workspace_id = $2 ORDER BY e.id";
        let rows = sqlx::query(query)
            .bind(organization)
            .bind(key)
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(super::read::entry_from_row).collect()
    }
}

fn publication_from_row(row: &PgRow) -> Result<PublicationRow, StoreError> {
    let policy: &str = column(row, 3)?;
    let audience: &str = column(row, 4)?;
    let head: (Option<i64>, Option<i64>) = (column(row, 7)?, column(row, 8)?);
    let name: &str = column(row, 0)?;
    Ok(PublicationRow {
        name: name.parse().map_err(StoreError::damaged)?,
        publisher: column(row, 1)?,
        key: column(row, 2)?,
        policy: serde_json::from_str(policy).map_err(StoreError::damaged)?,
        audience: audience.parse().map_err(StoreError::damaged)?,
        created_at: timestamp(row.try_get(5).map_err(DatabaseError::from)?),
        closed_at: column::<Option<i64>>(row, 6)?.map(timestamp),
        head: match head {
            (Some(epoch), Some(number)) => Some((epoch.unsigned_abs(), number.unsigned_abs())),
            _ => None,
        },
    })
}

fn parse_manifest(text: &str) -> Result<SignedManifest, StoreError> {
    serde_json::from_str(text).map_err(StoreError::damaged)
}

/// Converts a place to its column value. An epoch is a time in milliseconds.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
