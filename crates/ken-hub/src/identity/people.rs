//! People as opaque ids: the one table with their names and the names that an issuer knows them by.
//!
//! A caller whose subject is listed acts under the id, so events, tokens, sessions and the audit
//! log contain no name. Deleting the row leaves an id without a name.

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::person::PersonId;
use ken_core::values::time::Timestamp;
use sqlx::Row as _;

use super::{IdentityError, accounts, sign_ins, tokens};
use crate::clock::random_u128;
use crate::database::{AdvisoryLock, OrganizationTx, millis, timestamp, without_nul};

/// Maximum length of a person's name in characters.
pub const NAME_CHARS_MAX: usize = 200;

/// A person of an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubPerson {
    pub id: PersonId,
    pub name: Option<String>,
    /// Name by which the issuer knows the person.
    pub subject: Option<String>,
    pub created_at: Timestamp,
}

/// Error of listing a person.
#[derive(Debug, thiserror::Error)]
pub enum ListPersonError {
    #[error("a name has 1 to {NAME_CHARS_MAX} characters and no control characters")]
    Name,
    #[error("`{0}` is not a name that an issuer can give")]
    Subject(String),
    #[error("this id or subject is listed already, as {0}")]
    Exists(PersonId),
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// What was deleted with a person's names, beside the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgottenAccount {
    /// Tokens of the id that were revoked.
    pub tokens_revoked: u64,
    /// Tokens in the person's name, which were deleted.
    pub tokens_deleted: u64,
    /// Records of the audit log whose author or subject contains a name. They stay.
    pub audit_records: u64,
}

/// Returns the form of a subject under which it is stored: addresses differ by case only.
fn fold_subject(subject: &str) -> Option<String> {
    let actor = Actor::from_subject(ActorRole::Human, subject).ok()?;
    Some(actor.name().to_owned())
}

/// Lists a person. `id` is the one that a repository's list has.
pub async fn add(
    tx: &mut OrganizationTx,
    id: Option<PersonId>,
    name: Option<&str>,
    subject: Option<&str>,
) -> Result<HubPerson, ListPersonError> {
    let is_valid = |it: &str| {
        !it.trim().is_empty()
            && it.chars().count() <= NAME_CHARS_MAX
            && !it.chars().any(char::is_control)
    };
    if name.is_some_and(|it| !is_valid(it)) {
        return Err(ListPersonError::Name);
    }
    let invalid = |it: &str| ListPersonError::Subject(it.to_owned());
    let subject = subject
        .map(|it| fold_subject(it).ok_or_else(|| invalid(it)))
        .transpose()?;
    let id = id.unwrap_or_else(|| PersonId::new(random_u128()));
    if let Some(existing) = find_existing(tx, id, subject.as_deref()).await? {
        return Err(ListPersonError::Exists(existing));
    }
    insert(tx, id, name, subject.as_deref()).await?;
    Ok(HubPerson {
        id,
        name: name.map(str::to_owned),
        subject,
        created_at: tx.now(),
    })
}

async fn find_existing(
    tx: &mut OrganizationTx,
    id: PersonId,
    subject: Option<&str>,
) -> Result<Option<PersonId>, IdentityError> {
    let all = list(tx).await?;
    let is_same =
        |it: &&HubPerson| it.id == id || (subject.is_some() && it.subject.as_deref() == subject);
    Ok(all.iter().find(is_same).map(|it| it.id))
}

async fn insert(
    tx: &mut OrganizationTx,
    id: PersonId,
    name: Option<&str>,
    subject: Option<&str>,
) -> Result<(), IdentityError> {
    let now = tx.now();
    // Two requests of a person who signs in for the first time list them once.
    let insert = "INSERT INTO ken.people (organization_id, id, name, subject, created_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    sqlx::query(insert)
        .bind(tx.id().0)
        .bind(id.to_string())
        .bind(name.map(without_nul))
        .bind(subject.map(without_nul))
        .bind(millis(now))
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Returns the people of the organization, sorted by id.
pub async fn list(tx: &mut OrganizationTx) -> Result<Vec<HubPerson>, IdentityError> {
    let query = "SELECT id, name, subject, created_at FROM ken.people
         WHERE organization_id = $1 ORDER BY id";
    let rows = sqlx::query(query)
        .bind(tx.id().0)
        .fetch_all(tx.connection())
        .await?;
    let mut people = Vec::with_capacity(rows.len());
    for row in &rows {
        let id: &str = row.try_get(0)?;
        // The table checks the form.
        if let Ok(id) = id.parse() {
            people.push(HubPerson {
                id,
                name: row.try_get(1)?,
                subject: row.try_get(2)?,
                created_at: timestamp(row.try_get(3)?),
            });
        }
    }
    Ok(people)
}

/// Returns whether people who sign in are listed under a new id.
pub async fn lists_new(tx: &mut OrganizationTx) -> Result<bool, IdentityError> {
    let query = "SELECT coalesce(lists_people, false) FROM ken.organizations WHERE id = $1";
    let found: Option<bool> = sqlx::query_scalar(query)
        .bind(tx.id().0)
        .fetch_optional(tx.connection())
        .await?;
    Ok(found.unwrap_or_default())
}

/// Sets whether people who sign in are listed under a new id.
pub async fn set_lists_new(tx: &mut OrganizationTx, lists: bool) -> Result<(), IdentityError> {
    sqlx::query("UPDATE ken.organizations SET lists_people = $2 WHERE id = $1")
        .bind(tx.id().0)
        .bind(lists)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Returns the actor under which an issuer's subject acts: with the id if the person is listed, or
/// if the organization lists who signs in; else unchanged.
///
/// A person with the role reader acts as an agent of the same name and gets the same id. A program
/// without a row keeps its name.
pub(super) async fn stored_subject(
    tx: &mut OrganizationTx,
    claimed: &Actor,
) -> Result<Actor, IdentityError> {
    let Some(subject) = fold_subject(claimed.name()) else {
        return Ok(claimed.clone());
    };
    let mut id = id_of_subject(tx, &subject).await?;
    if id.is_none() && claimed.is_human() && lists_new(tx).await? {
        insert(tx, PersonId::new(random_u128()), None, Some(&subject)).await?;
        id = id_of_subject(tx, &subject).await?;
    }
    Ok(match id {
        None => claimed.clone(),
        Some(id) => Actor::from_claim(claimed.role(), &id.to_string()),
    })
}

async fn id_of_subject(
    tx: &mut OrganizationTx,
    subject: &str,
) -> Result<Option<PersonId>, IdentityError> {
    let query = "SELECT id FROM ken.people WHERE organization_id = $1 AND subject = $2";
    let found: Option<String> = sqlx::query_scalar(query)
        .bind(tx.id().0)
        .bind(subject)
        .fetch_optional(tx.connection())
        .await?;
    Ok(found.and_then(|it| it.parse().ok()))
}

/// Takes the lock under which a hold is placed, and returns whether a hold keeps anything of the
/// organization: its people are named in every workspace.
pub async fn is_held(tx: &mut OrganizationTx) -> Result<bool, IdentityError> {
    let organization = tx.id().0;
    AdvisoryLock::Holds
        .take(tx.connection(), organization)
        .await?;
    Ok(tx.is_held(None).await?)
}

/// Deletes a person's names: the row, sessions and devices, names of tokens and accounts, kept
/// answers. The id is blocked. What was in the person's own name before is deleted, too, except
/// records of the audit log, which are counted.
pub async fn forget(
    tx: &mut OrganizationTx,
    person: &HubPerson,
) -> Result<ForgottenAccount, IdentityError> {
    let (organization, now) = (tx.id().0, tx.now());
    let mut forgotten = ForgottenAccount::default();
    // The id as a person, and as an agent for the role reader; then the same with the subject.
    let roles = [ActorRole::Human, ActorRole::Agent];
    for actor in roles.map(|role| Actor::from_claim(role, &person.id.to_string())) {
        forgotten.tokens_revoked += tokens::revoke_actor(tx, &actor, now).await?.len() as u64;
        accounts::block(tx, &actor).await?;
        // The display name of a token is often that of its holder.
        for update in [
            "UPDATE ken.tokens SET name = $2 WHERE organization_id = $1 AND actor = $2",
            "UPDATE ken.accounts SET description = NULL WHERE organization_id = $1 AND actor = $2",
        ] {
            sqlx::query(update)
                .bind(organization)
                .bind(actor.to_string())
                .execute(tx.connection())
                .await?;
        }
    }
    if let Some(subject) = &person.subject {
        for actor in roles.map(|role| Actor::from_claim(role, subject)) {
            sign_ins::end_of_actor(tx, &actor).await?;
            for (delete, counts) in [
                (
                    "DELETE FROM ken.tokens WHERE organization_id = $1 AND actor = $2",
                    true,
                ),
                (
                    "DELETE FROM ken.accounts WHERE organization_id = $1 AND actor = $2",
                    false,
                ),
                (
                    "UPDATE ken.accounts SET owner = NULL WHERE organization_id = $1 AND owner = $2",
                    false,
                ),
            ] {
                let done = sqlx::query(delete)
                    .bind(organization)
                    .bind(actor.to_string())
                    .execute(tx.connection())
                    .await?;
                forgotten.tokens_deleted += if counts { done.rows_affected() } else { 0 };
            }
        }
    }
    // Answers to repeated requests may contain texts and names.
    sqlx::query("SELECT ken.forget_answers($1)")
        .bind(organization)
        .execute(tx.connection())
        .await?;
    sqlx::query("DELETE FROM ken.people WHERE organization_id = $1 AND id = $2")
        .bind(organization)
        .bind(person.id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(forgotten)
}
