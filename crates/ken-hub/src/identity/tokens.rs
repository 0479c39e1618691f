//! The hub's own tokens: made by an admin, shown once, kept as a digest, ended by time or by an admin.

use std::fmt;

use ken_core::actor::Actor;
use ken_core::time::Timestamp;
use uuid::Uuid;

use super::{Caller, IdentityError, OrganisationId, Role, Secret, WorkspaceId};
use crate::database::{Database, OrganisationTx, millis, timestamp};

/// Characters a token's name may have.
pub const NAME_CHARS_MAX: usize = 128;

/// Workspaces a token may name.
pub const WORKSPACES_MAX: usize = 1_000;

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: Uuid,
    /// What people call it.
    pub name: String,
    pub actor: Actor,
    pub role: Role,
    /// Every workspace of its organisation without.
    pub workspaces: Option<Vec<WorkspaceId>>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// As the audit log names it: by its id, and by what it may do in whose name.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.id, self.role, self.actor)
    }
}

type Row = (
    Uuid,
    String,
    String,
    String,
    Option<Vec<Uuid>>,
    i64,
    Option<i64>,
    Option<i64>,
);

const COLUMNS: &str = "id, name, actor, role, workspaces, created_at, expires_at, revoked_at";

/// Says who shows a secret: nobody, where it is expired or revoked.
pub async fn by_secret(
    database: &Database,
    secret: &Secret,
    now: Timestamp,
) -> Result<Option<Caller>, IdentityError> {
    type Found = (Uuid, String, String, Option<Vec<Uuid>>);
    let found: Option<Found> = sqlx::query_as(
        "SELECT organisation_id, actor, role, workspaces FROM ken.token_by_hash($1)
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR $2 < expires_at)",
    )
    .bind(secret.digest().as_slice())
    .bind(millis(now))
    .fetch_optional(database.pool())
    .await?;
    Ok(found.and_then(|(organisation, actor, role, workspaces)| {
        Some(Caller {
            organisation: OrganisationId(organisation),
            // Rows that were written by hand may say anything; what cannot be read proves nobody.
            actor: actor.parse().ok()?,
            role: role.parse().ok()?,
            workspaces: workspaces.map(|these| these.into_iter().map(WorkspaceId).collect()),
        })
    }))
}

/// Keeps a new token under the digest of its secret.
pub async fn create(
    tx: &mut OrganisationTx,
    token: &Token,
    secret: &Secret,
) -> Result<(), IdentityError> {
    let workspaces: Option<Vec<Uuid>> = token
        .workspaces
        .as_ref()
        .map(|these| these.iter().map(|it| it.0).collect());
    sqlx::query(
        "INSERT INTO ken.tokens
         (organisation_id, id, hash, name, actor, role, workspaces, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(tx.id().0)
    .bind(token.id)
    .bind(secret.digest().as_slice())
    .bind(&token.name)
    .bind(token.actor.to_string())
    .bind(token.role.name())
    .bind(workspaces)
    .bind(millis(token.created_at))
    .bind(token.expires_at.map(millis))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Returns an organisation's tokens behind `after`, in the order they were made.
pub async fn list(
    tx: &mut OrganisationTx,
    after: Option<Uuid>,
    limit: u32,
) -> Result<Vec<Token>, IdentityError> {
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM ken.tokens WHERE organisation_id = $1 AND ($2::uuid IS NULL OR $2 < id)
         ORDER BY id LIMIT $3"
    )))
    .bind(tx.id().0)
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(tx.connection())
    .await?;
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Ends a token now; a token that is ended already stays so. Returns it, or nothing where there is none.
pub async fn revoke(
    tx: &mut OrganisationTx,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<Token>, IdentityError> {
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "UPDATE ken.tokens SET revoked_at = coalesce(revoked_at, $3)
         WHERE organisation_id = $1 AND id = $2 RETURNING {COLUMNS}"
    )))
    .bind(tx.id().0)
    .bind(id)
    .bind(millis(now))
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.and_then(read))
}

/// Returns how many tokens of an organisation still open a door.
pub async fn live(tx: &mut OrganisationTx, now: Timestamp) -> Result<u64, IdentityError> {
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM ken.tokens
         WHERE organisation_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR $2 < expires_at)",
    )
    .bind(tx.id().0)
    .bind(millis(now))
    .fetch_one(tx.connection())
    .await?;
    Ok(count.unsigned_abs())
}

fn read(row: Row) -> Option<Token> {
    let (id, name, actor, role, workspaces, created, expires, revoked) = row;
    Some(Token {
        id,
        name,
        actor: actor.parse().ok()?,
        role: role.parse().ok()?,
        workspaces: workspaces.map(|these| these.into_iter().map(WorkspaceId).collect()),
        created_at: timestamp(created),
        expires_at: expires.map(timestamp),
        revoked_at: revoked.map(timestamp),
    })
}
