//! Accounts: the actors of an organization, who is responsible for them, and who is blocked.
//!
//! A row exists only for an actor with an owner, a description or a block; the list also shows
//! every actor with a valid token or a sign-in.
//!
//! Invariant: a blocked actor has no valid token and no sign-in, and gets none.

use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use sqlx::Row as _;

use super::tokens::{self, TokenRecord};
use super::{IdentityError, sign_ins};
use crate::database::{OrganizationTx, millis, timestamp, without_nul};

/// Maximum length of an account's description in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 500;

/// An account in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRecord {
    pub actor: Actor,
    /// The person responsible for a program.
    pub owner: Option<Actor>,
    pub description: Option<String>,
    pub blocked_at: Option<Timestamp>,
    /// Valid tokens.
    pub tokens: u64,
    pub sign_ins: u64,
    /// Latest use of a token or sign-in.
    pub used_at: Option<Timestamp>,
    /// True if the owner is blocked: nobody is responsible for the account.
    pub is_orphaned: bool,
}

/// Input for describing an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountDescription {
    pub actor: Actor,
    pub owner: Option<Actor>,
    pub description: Option<String>,
}

/// What ended with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOutcome {
    pub tokens: Vec<TokenRecord>,
    /// Programs that the actor is responsible for; they go on.
    pub owned: Vec<Actor>,
}

/// Error of describing an account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("the owner of an account is a person, such as human:ada@example.org")]
    Owner,
    #[error(
        "a description has at most {DESCRIPTION_CHARS_MAX} characters and no control characters"
    )]
    Description,
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// Creates or replaces the owner and description of an account.
pub async fn describe(
    tx: &mut OrganizationTx,
    account: &AccountDescription,
) -> Result<(), AccountError> {
    if account.owner.as_ref().is_some_and(|it| !it.is_human()) {
        return Err(AccountError::Owner);
    }
    let text = account.description.as_deref().unwrap_or_default();
    if text.chars().count() > DESCRIPTION_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(AccountError::Description);
    }
    let now = tx.now();
    sqlx::query(
        "INSERT INTO ken.accounts (organization_id, actor, owner, description, created_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (organization_id, actor) DO UPDATE
             SET owner = excluded.owner, description = excluded.description",
    )
    .bind(tx.id().0)
    .bind(account.actor.to_string())
    .bind(account.owner.as_ref().map(ToString::to_string))
    .bind(account.description.as_deref().map(without_nul))
    .bind(millis(now))
    .execute(tx.connection())
    .await
    .map_err(IdentityError::from)?;
    Ok(())
}

/// Returns whether an actor is blocked, in whatever case its name was typed: a block that misses an
/// account by a capital letter would look as if it had succeeded.
pub async fn is_blocked(tx: &mut OrganizationTx, actor: &Actor) -> Result<bool, IdentityError> {
    let query = "SELECT EXISTS (SELECT FROM ken.accounts
         WHERE organization_id = $1 AND lower(actor) = lower($2) AND blocked_at IS NOT NULL)";
    Ok(sqlx::query_scalar(query)
        .bind(tx.id().0)
        .bind(actor.to_string())
        .fetch_one(tx.connection())
        .await?)
}

/// Blocks an actor: ends its tokens and sign-ins now, and refuses new ones. Access tokens of an
/// issuer are refused from the next request on.
pub async fn block(tx: &mut OrganizationTx, actor: &Actor) -> Result<BlockOutcome, IdentityError> {
    let now = tx.now();
    // Takes the lock that issuing a token takes: none can be issued in between.
    let revoked = tokens::revoke_actor(tx, actor, now).await?;
    sqlx::query(
        "INSERT INTO ken.accounts (organization_id, actor, created_at, blocked_at)
         VALUES ($1, $2, $3, $3)
         ON CONFLICT (organization_id, actor) DO UPDATE
             SET blocked_at = coalesce(ken.accounts.blocked_at, excluded.blocked_at)",
    )
    .bind(tx.id().0)
    .bind(actor.to_string())
    .bind(millis(now))
    .execute(tx.connection())
    .await?;
    let query = "SELECT actor FROM ken.accounts
         WHERE organization_id = $1 AND lower(owner) = lower($2) AND blocked_at IS NULL ORDER BY actor";
    let owned: Vec<String> = sqlx::query_scalar(query)
        .bind(tx.id().0)
        .bind(actor.to_string())
        .fetch_all(tx.connection())
        .await?;
    Ok(BlockOutcome {
        tokens: revoked,
        owned: owned.iter().filter_map(|it| it.parse().ok()).collect(),
    })
}

/// Lets an actor get tokens and sign in again. Returns whether it was blocked.
pub async fn unblock(tx: &mut OrganizationTx, actor: &Actor) -> Result<bool, IdentityError> {
    let changed = sqlx::query(
        "UPDATE ken.accounts SET blocked_at = NULL
         WHERE organization_id = $1 AND lower(actor) = lower($2) AND blocked_at IS NOT NULL",
    )
    .bind(tx.id().0)
    .bind(actor.to_string())
    .execute(tx.connection())
    .await?;
    Ok(changed.rows_affected() > 0)
}

/// Returns up to `limit` accounts after the actor `after`, sorted by actor.
pub async fn list(
    tx: &mut OrganizationTx,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<AccountRecord>, IdentityError> {
    let now = tx.now();
    let rows = sqlx::query(
        "WITH live AS (
             SELECT actor COLLATE \"C\" AS actor, count(*) AS tokens, 0::bigint AS sign_ins, max(used_at) AS used_at
             FROM ken.tokens WHERE organization_id = $1 AND revoked_at IS NULL
                 AND (expires_at IS NULL OR $2 < expires_at) GROUP BY 1
             UNION ALL
             SELECT actor COLLATE \"C\", 0, count(*), max(used_at) FROM ken.sign_ins
             WHERE organization_id = $1 AND $2 < expires_at AND $5 < used_at GROUP BY 1
             UNION ALL
             SELECT actor, 0, 0, NULL FROM ken.accounts WHERE organization_id = $1
         ), summed AS (
             SELECT actor, sum(tokens)::bigint AS tokens, sum(sign_ins)::bigint AS sign_ins,
                 max(used_at) AS used_at
             FROM live WHERE $3::text IS NULL OR $3 < actor GROUP BY actor ORDER BY actor LIMIT $4
         )
         SELECT s.actor, a.owner, a.description, a.blocked_at, s.tokens, s.sign_ins, s.used_at,
             EXISTS (SELECT FROM ken.accounts o WHERE o.organization_id = $1 AND o.actor = a.owner
                 AND o.blocked_at IS NOT NULL)
         FROM summed s LEFT JOIN ken.accounts a ON a.organization_id = $1 AND a.actor = s.actor
         ORDER BY s.actor",
    )
    .bind(tx.id().0)
    .bind(millis(now))
    .bind(after.map(without_nul))
    .bind(i64::from(limit))
    .bind(millis(now.minus_millis(sign_ins::IDLE_MS)))
    .fetch_all(tx.connection())
    .await?;
    let read = |row: &sqlx::postgres::PgRow| -> Result<Option<AccountRecord>, IdentityError> {
        let (actor, owner): (String, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
        // A row edited by hand may name no actor.
        let Ok(actor) = actor.parse() else {
            return Ok(None);
        };
        Ok(Some(AccountRecord {
            actor,
            owner: owner.and_then(|it| it.parse().ok()),
            description: row.try_get(2)?,
            blocked_at: row.try_get::<Option<i64>, _>(3)?.map(timestamp),
            tokens: row.try_get::<i64, _>(4)?.unsigned_abs(),
            sign_ins: row.try_get::<i64, _>(5)?.unsigned_abs(),
            used_at: row.try_get::<Option<i64>, _>(6)?.map(timestamp),
            is_orphaned: row.try_get(7)?,
        }))
    };
    rows.iter()
        .filter_map(|row| read(row).transpose())
        .collect()
}
