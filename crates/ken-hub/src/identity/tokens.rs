//! Tokens of the hub: issued by an admin, shown once, stored as a digest, ended by expiry or
//! revocation.

use std::fmt;

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::{DAY_MS, Timestamp};
use uuid::Uuid;

use super::workspace_roles::RoleColumns;
use super::{AuthenticatedCaller, IdentityError, TokenSecret, WorkspaceRoles, accounts};
use crate::clock::new_uuid_at;
use crate::config::QuotaExceeded;
use crate::database::{
    AdvisoryLock, DatabaseError, HubDatabase, OrganizationTx, millis, timestamp,
};
use crate::ids::{OrganizationId, Role, RoleMismatch, WorkspaceId};

/// Maximum length of a token's name in characters.
pub const NAME_CHARS_MAX: usize = 128;

/// Maximum number of workspaces a token may be limited to.
pub const WORKSPACES_MAX: usize = 1_000;

/// Maximum lifetime of a token in days.
pub const DAYS_MAX: u16 = 366;

/// Default lifetime of a token in days.
pub const DAYS: u16 = 90;

/// Signs in the name of a person with a token: those of addresses and of issuers' subjects.
const PERSON_NAME_SIGNS: &str = "._%+-@'|=";

const HOUR_MS: u64 = DAY_MS / 24;

/// Default time in hours in which a rotated token stays valid beside its successor.
pub const OVERLAP_HOURS: u16 = 24;

/// Maximum time in hours in which a rotated token stays valid.
pub const OVERLAP_HOURS_MAX: u16 = 168;

/// Age at which the time of a token's last use is written again. Not on every request: that would
/// make every read a write.
const USED_RESOLUTION_MS: u64 = HOUR_MS;

/// Input for issuing a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSpec {
    /// Display name; defaults to the actor.
    pub name: Option<String>,
    pub role: Role,
    /// The actor it acts as; readers and agents default to an agent with the token's name.
    pub actor: Option<Actor>,
    /// Names or ids of the workspaces it may access; `None` means all.
    pub workspaces: Option<Vec<String>>,
    /// Stronger roles in single workspaces, by name or id.
    pub workspace_roles: Vec<(String, Role)>,
    pub days: u16,
}

/// Error of issuing a token.
#[derive(Debug, thiserror::Error)]
pub enum IssueTokenError {
    #[error("a token name must have 1 to {NAME_CHARS_MAX} visible characters")]
    Name,
    #[error("a token must expire in 1 to {DAYS_MAX} days")]
    Days,
    #[error("a member, curator or admin token needs an actor, such as human:ada@example.org")]
    NoActor,
    #[error("the name of an actor must not contain invisible characters")]
    Actor,
    #[error(
        "the name of a person must consist of ASCII letters, digits and the signs {PERSON_NAME_SIGNS}, so that none looks like another"
    )]
    PersonName,
    #[error(transparent)]
    RoleMismatch(#[from] RoleMismatch),
    #[error("name 1 to {WORKSPACES_MAX} workspaces, or none for access to all workspaces")]
    Workspaces,
    #[error("the organization has no workspace `{0}`")]
    NoWorkspace(String),
    #[error("the role admin concerns the whole organization, not a workspace")]
    WorkspaceAdmin,
    #[error("the account `{0}` is blocked; unblock it first")]
    Blocked(Actor),
    #[error(transparent)]
    QuotaExceeded(#[from] QuotaExceeded),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Error of rotating a token.
#[derive(Debug, thiserror::Error)]
pub enum RotateTokenError {
    #[error("the organization has no such token")]
    NoToken,
    #[error("the token is expired or revoked; create a new one")]
    Ended,
    #[error("a rotated token stays valid for at most {OVERLAP_HOURS_MAX} hours")]
    Overlap,
    #[error(transparent)]
    QuotaExceeded(#[from] QuotaExceeded),
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    pub id: Uuid,
    /// Display name.
    pub name: String,
    pub actor: Actor,
    pub role: Role,
    /// Stronger roles in single workspaces.
    pub workspace_roles: WorkspaceRoles,
    /// The workspaces it may access; `None` means all of its organization.
    pub workspaces: Option<Vec<WorkspaceId>>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// Time of its last use, up to an hour too early.
    pub used_at: Option<Timestamp>,
}

impl TokenRecord {
    /// Returns whether the token is neither expired nor revoked.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }
}

/// Formats a token for the audit log: id, role and actor.
impl fmt::Display for TokenRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.id, self.role, self.actor)?;
        if !self.workspace_roles.is_empty() {
            write!(f, ", {}", self.workspace_roles)?;
        }
        Ok(())
    }
}

/// A row of `ken.tokens`, in the order of [`COLUMNS`].
type TokenRow = (
    Uuid,
    String,
    String,
    String,
    Option<Vec<Uuid>>,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<Vec<Uuid>>,
    Option<Vec<String>>,
);

/// Columns of a [`TokenRow`].
const COLUMNS: &str = "id, name, actor, role, workspaces, created_at, expires_at, revoked_at, used_at, role_workspaces, role_names";

/// Returns the caller that a secret authenticates; `None` if the token is unknown, expired or
/// revoked.
pub async fn authenticate_secret(
    database: &HubDatabase,
    secret: &TokenSecret,
    now: Timestamp,
) -> Result<Option<AuthenticatedCaller>, IdentityError> {
    type CallerRow = (
        Uuid,
        Uuid,
        String,
        String,
        Option<Vec<Uuid>>,
        Option<i64>,
        Option<Vec<Uuid>>,
        Option<Vec<String>>,
    );
    // No tenant is known yet. The SQL function shows only the row whose digest is presented.
    let mut lease = database.pool().acquire_live().await?;
    let found: Option<CallerRow> = sqlx::query_as(
        "SELECT organization_id, id, actor, role, workspaces, used_at, role_workspaces, role_names
         FROM ken.token_by_hash($1)
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR $2 < expires_at)",
    )
    .bind(secret.digest().as_slice())
    .bind(millis(now))
    .fetch_optional(lease.connection())
    .await?;
    lease.release();
    let Some((organization, token, actor, role, workspaces, used_at, at, names)) = found else {
        return Ok(None);
    };
    // Rows edited by hand may contain anything. A row that cannot be parsed or is inconsistent
    // authenticates no one.
    let (Ok(actor), Ok(role)) = (actor.parse::<Actor>(), role.parse::<Role>()) else {
        return Ok(None);
    };
    let Some(workspace_roles) = WorkspaceRoles::from_columns((at, names)) else {
        return Ok(None);
    };
    if check_roles(&actor, role, &workspace_roles).is_err() {
        return Ok(None);
    }
    let organization = OrganizationId(organization);
    let due = now.millis().saturating_sub(USED_RESOLUTION_MS);
    if used_at.is_none_or(|at| timestamp(at).millis() <= due) {
        // The caller is authenticated whether or not this can be noted.
        if let Err(error) = note_use(database, organization, token, now).await {
            tracing::warn!(%error, "the use of a token was not noted");
        }
    }
    Ok(Some(AuthenticatedCaller {
        organization,
        actor,
        role,
        workspace_roles,
        workspaces: workspaces.map(|ids| ids.into_iter().map(WorkspaceId).collect()),
        token: Some(token),
        address: None,
    }))
}

/// Notes that a token was used, unless another request has within the resolution.
async fn note_use(
    database: &HubDatabase,
    organization: OrganizationId,
    token: Uuid,
    now: Timestamp,
) -> Result<(), IdentityError> {
    let mut tx = database.begin_organization(organization).await?;
    sqlx::query(
        "UPDATE ken.tokens SET used_at = $3
         WHERE organization_id = $1 AND id = $2 AND (used_at IS NULL OR used_at <= $4)",
    )
    .bind(organization.0)
    .bind(token)
    .bind(millis(now))
    .bind(millis(now) - USED_RESOLUTION_MS.cast_signed())
    .execute(tx.connection())
    .await?;
    Ok(tx.commit().await?)
}

/// Issues a token if the organization has fewer than `max` live ones. This is the only way to
/// create tokens.
pub async fn issue(
    tx: &mut OrganizationTx,
    new: TokenSpec,
    max: u64,
) -> Result<(TokenRecord, TokenSecret), IssueTokenError> {
    if !(1..=DAYS_MAX).contains(&new.days) {
        return Err(IssueTokenError::Days);
    }
    let name = match (new.name, &new.actor) {
        (Some(name), _) => checked_name(&name)?,
        (None, Some(actor)) => actor.to_string(),
        (None, None) => return Err(IssueTokenError::Name),
    };
    let actor = resolve_actor(new.actor, &name, new.role)?;
    let mut workspaces = match new.workspaces {
        None => None,
        Some(named) => Some(resolve_workspaces(tx, &named).await?),
    };
    let workspace_roles = resolve_roles(tx, &new.workspace_roles).await?;
    check_roles(&actor, new.role, &workspace_roles)?;
    if let Some(allowed) = &mut workspaces {
        let others = workspace_roles.iter().map(|(id, _)| id);
        let others: Vec<WorkspaceId> = others.filter(|id| !allowed.contains(id)).collect();
        allowed.extend(others);
    }
    lock(tx).await?;
    if accounts::is_blocked(tx, &actor).await? {
        return Err(IssueTokenError::Blocked(actor));
    }
    let now = tx.now();
    QuotaExceeded::check("tokens", count_live(tx, now).await? + 1, max)?;
    let token = TokenRecord {
        id: new_uuid_at(now),
        name,
        actor,
        role: new.role,
        workspace_roles,
        workspaces,
        created_at: now,
        expires_at: Some(now.plus_millis(u64::from(new.days) * DAY_MS)),
        revoked_at: None,
        used_at: None,
    };
    let secret = TokenSecret::generate();
    insert(tx, &token, &secret).await?;
    Ok((token, secret))
}

/// A rotated token: the old one with its new end, and its successor.
#[derive(Debug)]
pub struct RotatedToken {
    pub old: TokenRecord,
    pub new: TokenRecord,
    pub secret: TokenSecret,
}

/// Formats a rotation for the audit log.
impl fmt::Display for RotatedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} replaced by {}", self.old.id, self.new)
    }
}

/// Issues a successor of a token with the same name, actor, role, workspaces and lifetime. The old
/// one ends after `overlap_hours`; 0 revokes it at once.
pub async fn rotate(
    tx: &mut OrganizationTx,
    id: Uuid,
    overlap_hours: u16,
    max: u64,
) -> Result<RotatedToken, RotateTokenError> {
    if overlap_hours > OVERLAP_HOURS_MAX {
        return Err(RotateTokenError::Overlap);
    }
    lock(tx).await?;
    let now = tx.now();
    let old = find(tx, id).await?.ok_or(RotateTokenError::NoToken)?;
    if !old.is_live(now) {
        return Err(RotateTokenError::Ended);
    }
    // A token without an end was not issued by this hub; its successor gets the default.
    let lifetime_ms = old.expires_at.map_or(u64::from(DAYS) * DAY_MS, |at| {
        at.millis().saturating_sub(old.created_at.millis())
    });
    let ended = match overlap_hours {
        0 => revoke(tx, id, now).await?,
        hours => {
            let end = now.plus_millis(u64::from(hours) * HOUR_MS);
            expire_at(tx, id, end).await?
        }
    };
    QuotaExceeded::check("tokens", count_live(tx, now).await? + 1, max)?;
    let new = TokenRecord {
        id: new_uuid_at(now),
        created_at: now,
        expires_at: Some(now.plus_millis(lifetime_ms)),
        revoked_at: None,
        used_at: None,
        ..old
    };
    let secret = TokenSecret::generate();
    insert(tx, &new, &secret).await?;
    let old = ended.ok_or(RotateTokenError::NoToken)?;
    Ok(RotatedToken { old, new, secret })
}

fn checked_name(name: &str) -> Result<String, IssueTokenError> {
    let name = name.trim();
    let count = name.chars().count();
    if count == 0 || count > NAME_CHARS_MAX || name.chars().any(char::is_control) {
        return Err(IssueTokenError::Name);
    }
    Ok(name.to_owned())
}

/// Determines the actor of a token: an agent must never look like a person, nor a person like an
/// agent.
fn resolve_actor(named: Option<Actor>, name: &str, role: Role) -> Result<Actor, IssueTokenError> {
    let actor = match (named, role) {
        (Some(actor), _) => actor,
        (None, Role::Peer) => Actor::from_claim(ActorRole::Peer, name),
        (None, Role::Reader | Role::Agent) => Actor::from_claim(ActorRole::Agent, name),
        (None, Role::Member | Role::Curator | Role::Admin) => return Err(IssueTokenError::NoActor),
    };
    role.check_actor(&actor)?;
    // A name that cannot be told from another by its looks would be somebody else.
    if Actor::from_subject(actor.role(), actor.name()).is_err() {
        return Err(IssueTokenError::Actor);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PERSON_NAME_SIGNS.contains(c);
    if actor.is_human() && !actor.name().chars().all(is_plain) {
        return Err(IssueTokenError::PersonName);
    }
    Ok(actor)
}

async fn resolve_workspaces(
    tx: &mut OrganizationTx,
    named: &[String],
) -> Result<Vec<WorkspaceId>, IssueTokenError> {
    // An empty list would be a token without any access; `None` is the way to grant all.
    if named.is_empty() || named.len() > WORKSPACES_MAX {
        return Err(IssueTokenError::Workspaces);
    }
    let mut found = Vec::with_capacity(named.len());
    for name in named {
        let row = tx.workspace(name).await?;
        let row = row.ok_or_else(|| IssueTokenError::NoWorkspace(name.clone()))?;
        if !found.contains(&row.id) {
            found.push(row.id);
        }
    }
    Ok(found)
}

async fn resolve_roles(
    tx: &mut OrganizationTx,
    named: &[(String, Role)],
) -> Result<WorkspaceRoles, IssueTokenError> {
    if named.len() > WORKSPACES_MAX {
        return Err(IssueTokenError::Workspaces);
    }
    let mut roles = WorkspaceRoles::default();
    for (name, role) in named {
        if *role == Role::Admin {
            return Err(IssueTokenError::WorkspaceAdmin);
        }
        let row = tx.workspace(name).await?;
        let row = row.ok_or_else(|| IssueTokenError::NoWorkspace(name.clone()))?;
        roles.add(row.id, *role);
    }
    Ok(roles)
}

/// Refuses an actor that does not fit one of its roles.
pub(super) fn check_roles(
    actor: &Actor,
    role: Role,
    workspace_roles: &WorkspaceRoles,
) -> Result<(), RoleMismatch> {
    role.check_actor(actor)?;
    let mut others = workspace_roles.iter();
    others.try_for_each(|(_, role)| role.check_actor(actor))
}

/// Inserts a token under the digest of its secret, without checks.
///
/// For [`issue`], and for tests of tokens that may not be issued.
#[doc(hidden)]
pub async fn insert(
    tx: &mut OrganizationTx,
    token: &TokenRecord,
    secret: &TokenSecret,
) -> Result<(), IdentityError> {
    let workspaces: Option<Vec<Uuid>> = token
        .workspaces
        .as_ref()
        .map(|ids| ids.iter().map(|it| it.0).collect());
    let (role_workspaces, role_names): RoleColumns = token.workspace_roles.columns();
    sqlx::query(
        "INSERT INTO ken.tokens
         (organization_id, id, hash, name, actor, role, workspaces, created_at, expires_at,
             role_workspaces, role_names)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
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
    .bind(role_workspaces)
    .bind(role_names)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Returns an organization's tokens after `after`, in the order they were issued.
pub async fn list(
    tx: &mut OrganizationTx,
    after: Option<Uuid>,
    limit: u32,
) -> Result<Vec<TokenRecord>, IdentityError> {
    let rows: Vec<TokenRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM ken.tokens WHERE organization_id = $1 AND ($2::uuid IS NULL OR $2 < id)
         ORDER BY id LIMIT $3"
    )))
    .bind(tx.id().0)
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(tx.connection())
    .await?;
    Ok(rows.into_iter().filter_map(token_from_row).collect())
}

/// Revokes a token; one that is already revoked keeps its time. Returns it, or `None` if it does
/// not exist.
pub async fn revoke(
    tx: &mut OrganizationTx,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<TokenRecord>, IdentityError> {
    let row: Option<TokenRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "UPDATE ken.tokens SET revoked_at = coalesce(revoked_at, $3)
         WHERE organization_id = $1 AND id = $2 RETURNING {COLUMNS}"
    )))
    .bind(tx.id().0)
    .bind(id)
    .bind(millis(now))
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.and_then(token_from_row))
}

/// Returns a token; `None` if the organization has none with this id.
async fn find(tx: &mut OrganizationTx, id: Uuid) -> Result<Option<TokenRecord>, IdentityError> {
    let row: Option<TokenRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM ken.tokens WHERE organization_id = $1 AND id = $2 FOR UPDATE"
    )))
    .bind(tx.id().0)
    .bind(id)
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.and_then(token_from_row))
}

/// Returns the time at which a token expires, if it has one.
pub async fn expiry(tx: &mut OrganizationTx, id: Uuid) -> Result<Option<Timestamp>, IdentityError> {
    Ok(find(tx, id).await?.and_then(|it| it.expires_at))
}

/// Lets changes of an organization's tokens happen one after the other, until the transaction ends:
/// a token that is issued while its actor's tokens are revoked would stay.
pub(crate) async fn lock(tx: &mut OrganizationTx) -> Result<(), IdentityError> {
    let organization = tx.id().0;
    AdvisoryLock::Tokens
        .take(tx.connection(), organization)
        .await?;
    Ok(())
}

/// Returns whether the token that a caller authenticated with is still valid, with changes of
/// tokens locked. An issuer's access token has no row.
pub async fn is_still_valid(
    tx: &mut OrganizationTx,
    caller: &AuthenticatedCaller,
) -> Result<bool, IdentityError> {
    lock(tx).await?;
    let Some(id) = caller.token else {
        return Ok(true);
    };
    let now = tx.now();
    Ok(find(tx, id).await?.is_some_and(|it| it.is_live(now)))
}

/// Lets a token expire at `end`, unless it expires earlier.
async fn expire_at(
    tx: &mut OrganizationTx,
    id: Uuid,
    end: Timestamp,
) -> Result<Option<TokenRecord>, IdentityError> {
    let row: Option<TokenRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "UPDATE ken.tokens SET expires_at = least(expires_at, $3)
         WHERE organization_id = $1 AND id = $2 RETURNING {COLUMNS}"
    )))
    .bind(tx.id().0)
    .bind(id)
    .bind(millis(end))
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.and_then(token_from_row))
}

/// Revokes all live tokens of an actor in whatever case its name was typed, ends its sign-ins and
/// device confirmations, and returns the tokens.
pub async fn revoke_actor(
    tx: &mut OrganizationTx,
    actor: &Actor,
    now: Timestamp,
) -> Result<Vec<TokenRecord>, IdentityError> {
    lock(tx).await?;
    let rows: Vec<TokenRow> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "UPDATE ken.tokens SET revoked_at = $3 WHERE organization_id = $1 AND lower(actor) = lower($2)
             AND revoked_at IS NULL AND (expires_at IS NULL OR $3 < expires_at)
         RETURNING {COLUMNS}"
    )))
    .bind(tx.id().0)
    .bind(actor.to_string())
    .bind(millis(now))
    .fetch_all(tx.connection())
    .await?;
    super::sign_ins::end_of_actor(tx, actor).await?;
    Ok(rows.into_iter().filter_map(token_from_row).collect())
}

/// Returns the number of an organization's tokens that are neither expired nor revoked.
pub async fn count_live(tx: &mut OrganizationTx, now: Timestamp) -> Result<u64, IdentityError> {
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM ken.tokens
         WHERE organization_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR $2 < expires_at)",
    )
    .bind(tx.id().0)
    .bind(millis(now))
    .fetch_one(tx.connection())
    .await?;
    Ok(count.unsigned_abs())
}

fn token_from_row(row: TokenRow) -> Option<TokenRecord> {
    let (id, name, actor, role, workspaces, created, expires, revoked, used, at, names) = row;
    Some(TokenRecord {
        id,
        name,
        actor: actor.parse().ok()?,
        role: role.parse().ok()?,
        workspace_roles: WorkspaceRoles::from_columns((at, names))?,
        workspaces: workspaces.map(|ids| ids.into_iter().map(WorkspaceId).collect()),
        created_at: timestamp(created),
        expires_at: expires.map(timestamp),
        revoked_at: revoked.map(timestamp),
        used_at: used.map(timestamp),
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
            (Some("human:ada"), Role::Member, Some("human:ada")),
            (Some("agent:x"), Role::Member, None),
            (Some("ci:main"), Role::Member, None),
            (None, Role::Member, None),
            (Some("agent:human:ada/claude-code"), Role::Agent, None),
            (Some("agent:human:ada"), Role::Reader, None),
            (Some("agent:x"), Role::Curator, None),
            (Some("agent:x"), Role::Admin, None),
            (Some("ci:main"), Role::Curator, Some("ci:main")),
            (Some("human:ada\u{200b}"), Role::Curator, None),
        ];
        for (named, role, made) in cases {
            let actor = named.map(|it| it.parse().expect("an actor"));
            let found = resolve_actor(actor, "night build", role).ok();
            let found = found.map(|it| it.to_string());
            assert_eq!(found.as_deref(), made, "{named:?} {role}");
        }
    }
}
