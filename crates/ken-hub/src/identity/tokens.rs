//! The hub's own tokens: made by an admin, shown once, kept as a digest, ended by time or by an admin.

use std::fmt;

use ken_core::actor::{Actor, Role as ActorRole};
use ken_core::time::{DAY_MS, Timestamp};
use uuid::Uuid;

use super::{Caller, IdentityError, Misfit, OrganisationId, Role, Secret, WorkspaceId};
use crate::database::{Database, DatabaseError, OrganisationTx, millis, timestamp};
use crate::serve::settings::Beyond;
use crate::world::uuid_at;

/// Characters a token's name may have.
pub const NAME_CHARS_MAX: usize = 128;

/// Workspaces a token may name.
pub const WORKSPACES_MAX: usize = 1_000;

/// Days a token may last.
pub const DAYS_MAX: u16 = 366;

/// Days a token lasts where nothing is said.
pub const DAYS: u16 = 90;

/// A token that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// What people call it; the actor without.
    pub name: Option<String>,
    pub role: Role,
    /// In whose name it acts; without, a reader or an agent is an agent of the token's name.
    pub actor: Option<Actor>,
    /// Names or ids of the workspaces it reaches; every one without.
    pub workspaces: Option<Vec<String>>,
    pub days: u16,
}

/// Why a token was not made.
#[derive(Debug, thiserror::Error)]
pub enum NewTokenError {
    #[error("a token's name has 1 to {NAME_CHARS_MAX} visible characters")]
    Name,
    #[error("a token lasts from 1 to {DAYS_MAX} days")]
    Days,
    #[error(
        "say in whose name a curator or admin acts: an actor such as human:ada@example.org or ci:main"
    )]
    NoActor,
    #[error(transparent)]
    Misfit(#[from] Misfit),
    #[error("a token names 1 to {WORKSPACES_MAX} workspaces, or none at all to reach every one")]
    Workspaces,
    #[error("the organisation has no workspace `{0}`")]
    NoWorkspace(String),
    #[error(transparent)]
    Beyond(#[from] Beyond),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

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
    let mut taken = database.pool().take_alive().await?;
    let found: Option<Found> = sqlx::query_as(
        "SELECT organisation_id, actor, role, workspaces FROM ken.token_by_hash($1)
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR $2 < expires_at)",
    )
    .bind(secret.digest().as_slice())
    .bind(millis(now))
    .fetch_optional(taken.connection())
    .await?;
    taken.give_back();
    Ok(found.and_then(|(organisation, actor, role, workspaces)| {
        // Rows that were written by hand may say anything; what cannot be read or be so proves nobody.
        let (actor, role): (Actor, Role) = (actor.parse().ok()?, role.parse().ok()?);
        role.fits(&actor).ok()?;
        Some(Caller {
            organisation: OrganisationId(organisation),
            actor,
            role,
            workspaces: workspaces.map(|these| these.into_iter().map(WorkspaceId).collect()),
        })
    }))
}

/// Makes a token, where the organisation has fewer than `max` that open a door: the only way one comes to be.
pub async fn make(
    tx: &mut OrganisationTx,
    new: NewToken,
    max: u64,
) -> Result<(Token, Secret), NewTokenError> {
    if !(1..=DAYS_MAX).contains(&new.days) {
        return Err(NewTokenError::Days);
    }
    let name = match (new.name, &new.actor) {
        (Some(name), _) => checked_name(&name)?,
        (None, Some(actor)) => actor.to_string(),
        (None, None) => return Err(NewTokenError::Name),
    };
    let actor = acting(new.actor, &name, new.role)?;
    let workspaces = match new.workspaces {
        None => None,
        Some(named) => Some(find(tx, &named).await?),
    };
    let now = tx.now();
    Beyond::check("tokens", live(tx, now).await? + 1, max)?;
    let token = Token {
        id: uuid_at(now),
        name,
        actor,
        role: new.role,
        workspaces,
        created_at: now,
        expires_at: Some(now.plus_millis(u64::from(new.days) * DAY_MS)),
        revoked_at: None,
    };
    let secret = Secret::generate();
    create(tx, &token, &secret).await?;
    Ok((token, secret))
}

fn checked_name(name: &str) -> Result<String, NewTokenError> {
    let name = name.trim();
    let count = name.chars().count();
    if count == 0 || NAME_CHARS_MAX < count || name.chars().any(char::is_control) {
        return Err(NewTokenError::Name);
    }
    Ok(name.to_owned())
}

/// Decides in whose name a token acts: an agent's must never read as a person's, nor the other way round.
fn acting(named: Option<Actor>, name: &str, role: Role) -> Result<Actor, NewTokenError> {
    let actor = match (named, role) {
        (Some(actor), _) => actor,
        (None, Role::Reader | Role::Agent) => Actor::from_claim(ActorRole::Agent, name),
        (None, Role::Curator | Role::Admin) => return Err(NewTokenError::NoActor),
    };
    role.fits(&actor)?;
    Ok(actor)
}

async fn find(
    tx: &mut OrganisationTx,
    named: &[String],
) -> Result<Vec<WorkspaceId>, NewTokenError> {
    if named.is_empty() || WORKSPACES_MAX < named.len() {
        return Err(NewTokenError::Workspaces);
    }
    let mut found = Vec::with_capacity(named.len());
    for name in named {
        let row = tx.workspace(name).await?;
        let row = row.ok_or_else(|| NewTokenError::NoWorkspace(name.clone()))?;
        if !found.contains(&row.id) {
            found.push(row.id);
        }
    }
    Ok(found)
}

/// Keeps a token under the digest of its secret, whatever it is.
///
/// For [`make`], and for tests of tokens nobody may make.
#[doc(hidden)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_never_persons_and_curators_never_agents() {
        let cases = [
            (None, Role::Agent, Some("agent:night-build")),
            (None, Role::Curator, None),
            (Some("human:ada"), Role::Agent, None),
            (Some("human:ada"), Role::Reader, Some("human:ada")),
            (Some("human:ada"), Role::Curator, Some("human:ada")),
            (Some("agent:x"), Role::Curator, None),
            (Some("agent:x"), Role::Admin, None),
            (Some("ci:main"), Role::Curator, Some("ci:main")),
        ];
        for (named, role, made) in cases {
            let actor = named.map(|it| it.parse().expect("an actor"));
            let found = acting(actor, "night build", role).ok();
            let found = found.map(|it| it.to_string());
            assert_eq!(found.as_deref(), made, "{named:?} {role}");
        }
    }
}
