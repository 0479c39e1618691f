//! Sign-ins of people in a browser.
//!
//! A sign-in is a row that the hash of a cookie finds. It ends when it is idle or too old, when the
//! person signs out, when the token it was made with ends, when an admin revokes the actor, and
//! when the identity provider no longer knows the person. Ending it deletes the row.
//!
//! Invariant: a sign-in with a refresh token that the provider has not confirmed for
//! [`UNVERIFIED_MAX_MS`] is never [`ProviderCheck::Current`] nor [`ProviderCheck::Due`].
//!
//! A refresh token of the provider is encrypted with a key derived from the cookie: neither the
//! database nor a backup of it can use it.

use std::fmt;

use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use ring::aead;
use sqlx::Row as _;
use uuid::Uuid;

use super::{AuthenticatedCaller, IdentityError, WorkspaceRoles, tokens};
use crate::clock::{new_uuid_at, random_hex_256, random_u128};
use crate::database::audit::{AuditAction, AuditActor};
use crate::database::{HubDatabase, OrganizationTx, millis, timestamp, without_nul};
use crate::ids::{OrganizationId, Role, WorkspaceId};

const MINUTE_MS: u64 = 60 * 1_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Time without a request after which a sign-in ends.
pub const IDLE_MS: u64 = 12 * HOUR_MS;

/// Maximum age of a sign-in.
pub const AGE_MAX_MS: u64 = 7 * 24 * HOUR_MS;

/// Maximum age of a sign-in that the identity provider cannot end, because it gave no refresh
/// token.
pub const UNCHECKED_AGE_MAX_MS: u64 = HOUR_MS;

/// Time after which the identity provider is asked again.
pub const CHECK_INTERVAL_MS: u64 = 5 * MINUTE_MS;

/// Time for which a sign-in lives on while the identity provider does not answer, or answers
/// without an ID token.
pub const UNVERIFIED_MAX_MS: u64 = HOUR_MS;

/// Age at which the time of the last use is written again.
const USED_RESOLUTION_MS: u64 = MINUTE_MS;

/// Maximum sign-ins of one person. The oldest one ends if there are more.
const SIGN_INS_MAX: i64 = 20;

/// Context of the key that encrypts a refresh token.
const SEAL_CONTEXT: &str = "ken-hub 2026-11 refresh token of a sign-in";

/// Context of the key that authenticates forms.
const FORM_CONTEXT: &str = "ken-hub 2026-11 form of a sign-in";

/// Length of the random part of a form token, in hexadecimal digits.
const FORM_NONCE_CHARS: usize = 32;

/// The cookie of a sign-in: 256 random bits. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInSecret(String);

impl SignInSecret {
    /// Generates a secret.
    #[must_use]
    pub fn generate() -> Self {
        Self(random_hex_256())
    }

    /// Parses a cookie; `None` if the format is wrong.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.bytes().all(|it| it.is_ascii_hexdigit());
        (text.len() == 64 && is_hex).then(|| Self(text.to_owned()))
    }

    /// Returns the value of the cookie.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the digest that is stored.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        *blake3::hash(self.0.as_bytes()).as_bytes()
    }

    fn key(&self, context: &str) -> [u8; 32] {
        blake3::derive_key(context, self.0.as_bytes())
    }

    /// Returns a token that only pages of this sign-in have. It differs on every page, so the size
    /// of compressed pages reveals nothing about it.
    #[must_use]
    pub fn form_token(&self) -> String {
        let nonce = format!("{:032x}", random_u128());
        let mac = blake3::keyed_hash(&self.key(FORM_CONTEXT), nonce.as_bytes());
        format!("{nonce}{}", mac.to_hex())
    }

    /// Returns whether a form token belongs to this sign-in.
    #[must_use]
    pub fn is_form_token(&self, text: &str) -> bool {
        let Some((nonce, mac)) = text.split_at_checked(FORM_NONCE_CHARS) else {
            return false;
        };
        let expected = blake3::keyed_hash(&self.key(FORM_CONTEXT), nonce.as_bytes());
        // Comparison of hashes is constant in time.
        blake3::Hash::from_hex(mac).is_ok_and(|sent| sent == expected)
    }

    /// Encrypts a refresh token.
    pub(super) fn seal(&self, text: &str) -> Vec<u8> {
        let nonce = random_u128().to_be_bytes();
        let nonce = <[u8; aead::NONCE_LEN]>::try_from(&nonce[..aead::NONCE_LEN]);
        let nonce = nonce.expect("a nonce is shorter than 16 bytes");
        let mut sealed = text.as_bytes().to_vec();
        let key = self.seal_key();
        let unique = aead::Nonce::assume_unique_for_key(nonce);
        let done = key.seal_in_place_append_tag(unique, aead::Aad::empty(), &mut sealed);
        done.expect("a refresh token is shorter than the cipher's limit");
        [nonce.as_slice(), &sealed].concat()
    }

    /// Decrypts a refresh token; `None` if it was sealed with another cookie.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_at_checked(aead::NONCE_LEN)?;
        let nonce = aead::Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = sealed.to_vec();
        let opened = self.seal_key();
        let opened = opened.open_in_place(nonce, aead::Aad::empty(), &mut bytes);
        String::from_utf8(opened.ok()?.to_vec()).ok()
    }

    fn seal_key(&self) -> aead::LessSafeKey {
        let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, &self.key(SEAL_CONTEXT));
        aead::LessSafeKey::new(key.expect("the key has the cipher's length"))
    }
}

impl fmt::Debug for SignInSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignInSecret(..)")
    }
}

/// A sign-in that a cookie found.
#[derive(Clone, Debug)]
pub struct SignIn {
    pub id: Uuid,
    pub caller: AuthenticatedCaller,
    /// Name of the organization.
    pub organization: String,
    pub used_at: Timestamp,
    /// Whether the identity provider has to confirm the person.
    pub check: ProviderCheck,
    pub checked_at: Timestamp,
    /// The encrypted refresh token, if the provider gave one.
    pub sealed_refresh: Option<Vec<u8>>,
    /// The person at the identity provider; `None` for a sign-in with a token.
    pub provider_subject: Option<String>,
    /// The result of the last action, if no page has shown it yet.
    pub notice: Option<String>,
}

/// Whether the identity provider has to confirm a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderCheck {
    /// The sign-in is valid as it is.
    Current,
    /// The provider should be asked; the sign-in is valid if it does not answer.
    Due,
    /// The provider must confirm the person now, or the sign-in ends.
    Required,
}

impl ProviderCheck {
    /// Determines the check of a sign-in with a refresh token.
    fn at(now: Timestamp, checked_at: Timestamp, verified_at: Timestamp) -> Self {
        if verified_at.millis() + UNVERIFIED_MAX_MS <= now.millis() {
            Self::Required
        } else if checked_at.millis() + CHECK_INTERVAL_MS <= now.millis() {
            Self::Due
        } else {
            Self::Current
        }
    }
}

/// Input for a new sign-in.
#[derive(Clone, Debug)]
pub struct NewSignIn {
    pub caller: AuthenticatedCaller,
    /// What the identity provider said; `None` for a sign-in with a token.
    pub provider: Option<ProviderSession>,
}

/// A session at the identity provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSession {
    pub subject: String,
    pub session: Option<String>,
    pub refresh_token: Option<String>,
}

/// A sign-in in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInRecord {
    pub id: Uuid,
    pub actor: String,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
    pub expires_at: Timestamp,
    pub has_token: bool,
    pub address: Option<String>,
}

/// Creates a sign-in and returns its id.
pub async fn create(
    tx: &mut OrganizationTx,
    secret: &SignInSecret,
    new: &NewSignIn,
) -> Result<Uuid, IdentityError> {
    let (organization, now) = (tx.id().0, tx.now());
    let refresh = new.provider.as_ref();
    let refresh = refresh.and_then(|it| it.refresh_token.as_deref());
    let age_max = if new.provider.is_some() && refresh.is_none() {
        UNCHECKED_AGE_MAX_MS
    } else {
        AGE_MAX_MS
    };
    let caller = &new.caller;
    let actor = caller.actor.to_string();
    delete_old(tx, &actor).await?;
    let id = new_uuid_at(now);
    let workspaces = caller.workspaces.as_ref();
    let workspaces: Option<Vec<Uuid>> = workspaces.map(|ids| ids.iter().map(|it| it.0).collect());
    let provider = new.provider.as_ref();
    let (role_workspaces, role_names) = caller.workspace_roles.columns();
    sqlx::query(
        "INSERT INTO ken.sign_ins (organization_id, id, hash, actor, role, workspaces, token_id,
             provider_subject, provider_session, sealed_refresh, created_at, used_at, expires_at,
             checked_at, verified_at, address, role_workspaces, role_names)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $11, $11, $13, $14, $15)",
    )
    .bind(organization)
    .bind(id)
    .bind(secret.digest().as_slice())
    .bind(actor)
    .bind(caller.role.name())
    .bind(workspaces)
    .bind(caller.token)
    .bind(provider.map(|it| without_nul(&it.subject)))
    .bind(
        provider
            .and_then(|it| it.session.as_deref())
            .map(without_nul),
    )
    .bind(refresh.map(|it| secret.seal(it)))
    .bind(millis(now))
    .bind(millis(now.plus_millis(age_max)))
    .bind(caller.address.map(|it| it.to_string()))
    .bind(role_workspaces)
    .bind(role_names)
    .execute(tx.connection())
    .await?;
    Ok(id)
}

/// Deletes sign-ins that expired, and the oldest ones of a person with too many.
async fn delete_old(tx: &mut OrganizationTx, actor: &str) -> Result<(), IdentityError> {
    let (organization, now) = (tx.id().0, tx.now());
    sqlx::query(
        "DELETE FROM ken.sign_ins WHERE organization_id = $1 AND (expires_at <= $2 OR used_at <= $3
             OR id IN (SELECT id FROM ken.sign_ins WHERE organization_id = $1 AND actor = $4
                 ORDER BY id DESC OFFSET $5))",
    )
    .bind(organization)
    .bind(millis(now))
    .bind(millis(now.minus_millis(IDLE_MS)))
    .bind(actor)
    .bind(SIGN_INS_MAX - 1)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Returns the sign-in of a cookie; `None` if it is unknown or ended.
pub async fn find(
    database: &HubDatabase,
    secret: &SignInSecret,
    now: Timestamp,
) -> Result<Option<SignIn>, IdentityError> {
    // No tenant is known yet. The SQL function shows only the row whose digest is presented.
    let mut lease = database.pool().acquire_live().await?;
    let row = sqlx::query(
        "SELECT organization_id, organization, id, actor, role, workspaces, token_id, used_at,
             checked_at, verified_at, sealed_refresh, notice, provider_subject,
             roles.role_workspaces, roles.role_names
         FROM ken.sign_in_by_hash($1, $2), ken.sign_in_roles($1) AS roles WHERE $2 < expires_at AND $3 < used_at",
    )
    .bind(secret.digest().as_slice())
    .bind(millis(now))
    .bind(millis(now.minus_millis(IDLE_MS)))
    .fetch_optional(lease.connection())
    .await?;
    lease.release();
    let Some(row) = row else {
        return Ok(None);
    };
    let (actor, role): (&str, &str) = (row.try_get(3)?, row.try_get(4)?);
    // A row that cannot be parsed or is inconsistent signs nobody in.
    let (Ok(actor), Ok(role)) = (actor.parse::<Actor>(), role.parse::<Role>()) else {
        return Ok(None);
    };
    let columns = (row.try_get(13)?, row.try_get(14)?);
    let Some(workspace_roles) = WorkspaceRoles::from_columns(columns) else {
        return Ok(None);
    };
    if !actor.is_human() || tokens::check_roles(&actor, role, &workspace_roles).is_err() {
        return Ok(None);
    }
    let workspaces: Option<Vec<Uuid>> = row.try_get(5)?;
    let (checked_at, verified_at) = (timestamp(row.try_get(8)?), timestamp(row.try_get(9)?));
    let sealed_refresh: Option<Vec<u8>> = row.try_get(10)?;
    let sign_in = SignIn {
        organization: row.try_get(1)?,
        id: row.try_get(2)?,
        caller: AuthenticatedCaller {
            organization: OrganizationId(row.try_get(0)?),
            actor,
            role,
            workspace_roles,
            workspaces: workspaces.map(|ids| ids.into_iter().map(WorkspaceId).collect()),
            token: row.try_get(6)?,
            address: None,
        },
        used_at: timestamp(row.try_get(7)?),
        // Without a refresh token the provider cannot be asked, and the sign-in expires early.
        check: if sealed_refresh.is_some() {
            ProviderCheck::at(now, checked_at, verified_at)
        } else {
            ProviderCheck::Current
        },
        checked_at,
        sealed_refresh,
        notice: row.try_get(11)?,
        provider_subject: row.try_get(12)?,
    };
    if sign_in.used_at.millis() + USED_RESOLUTION_MS <= now.millis() {
        note_use(database, &sign_in, now).await?;
    }
    Ok(Some(sign_in))
}

async fn note_use(
    database: &HubDatabase,
    sign_in: &SignIn,
    now: Timestamp,
) -> Result<(), IdentityError> {
    let tx = database.begin_organization(sign_in.caller.organization);
    let mut tx = tx.await?;
    sqlx::query("UPDATE ken.sign_ins SET used_at = $3 WHERE organization_id = $1 AND id = $2")
        .bind(tx.id().0)
        .bind(sign_in.id)
        .bind(millis(now))
        .execute(tx.connection())
        .await?;
    Ok(tx.commit().await?)
}

/// Stores the result of an action until a page shows it; `None` after it was shown.
pub async fn set_notice(
    tx: &mut OrganizationTx,
    id: Uuid,
    notice: Option<&str>,
) -> Result<(), IdentityError> {
    sqlx::query("UPDATE ken.sign_ins SET notice = $3 WHERE organization_id = $1 AND id = $2")
        .bind(tx.id().0)
        .bind(id)
        .bind(notice.map(without_nul))
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Takes the right to ask the identity provider about a sign-in. Of several requests at once, only
/// one gets it: a refresh token may be used once.
pub async fn claim_check(tx: &mut OrganizationTx, sign_in: &SignIn) -> Result<bool, IdentityError> {
    let now = tx.now();
    let claimed = sqlx::query(
        "UPDATE ken.sign_ins SET checked_at = $4
         WHERE organization_id = $1 AND id = $2 AND checked_at = $3",
    )
    .bind(tx.id().0)
    .bind(sign_in.id)
    .bind(millis(sign_in.checked_at))
    .bind(millis(now))
    .execute(tx.connection())
    .await?;
    Ok(claimed.rows_affected() == 1)
}

/// Stores the answer of the identity provider: the next refresh token, and the roles and workspaces
/// of the person if it confirmed them.
///
/// Without a confirmed person, the time of the last confirmation stays.
pub async fn note_checked(
    tx: &mut OrganizationTx,
    (id, secret): (Uuid, &SignInSecret),
    confirmed: Option<&AuthenticatedCaller>,
    refresh_token: Option<&str>,
) -> Result<(), IdentityError> {
    let now = tx.now();
    let columns = confirmed.map(|it| it.workspace_roles.columns());
    let (role_workspaces, role_names) = columns.unwrap_or_default();
    let workspaces = confirmed.and_then(|it| it.workspaces.as_ref());
    let workspaces: Option<Vec<Uuid>> = workspaces.map(|ids| ids.iter().map(|it| it.0).collect());
    sqlx::query(
        "UPDATE ken.sign_ins SET role = coalesce($4, role),
             workspaces = CASE WHEN $4::text IS NULL THEN workspaces ELSE $6 END,
             role_workspaces = CASE WHEN $4::text IS NULL THEN role_workspaces ELSE $7 END,
             role_names = CASE WHEN $4::text IS NULL THEN role_names ELSE $8 END,
             verified_at = CASE WHEN $4::text IS NULL THEN verified_at ELSE $3 END,
             sealed_refresh = coalesce($5, sealed_refresh)
         WHERE organization_id = $1 AND id = $2",
    )
    .bind(tx.id().0)
    .bind(id)
    .bind(millis(now))
    .bind(confirmed.map(|it| it.role.name()))
    .bind(refresh_token.map(|it| secret.seal(it)))
    .bind(workspaces)
    .bind(role_workspaces)
    .bind(role_names)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Ends one sign-in. Returns its actor; `None` if there is none with this id.
pub async fn end(tx: &mut OrganizationTx, id: Uuid) -> Result<Option<String>, IdentityError> {
    let delete = "DELETE FROM ken.sign_ins WHERE organization_id = $1 AND id = $2 RETURNING actor";
    let ended = sqlx::query_scalar(delete)
        .bind(tx.id().0)
        .bind(id)
        .fetch_optional(tx.connection())
        .await?;
    Ok(ended)
}

/// Ends all sign-ins of an actor, and deletes the devices that they confirmed and that have no
/// token yet. Returns the number of sign-ins.
pub async fn end_of_actor(tx: &mut OrganizationTx, actor: &Actor) -> Result<u64, IdentityError> {
    let (organization, actor) = (tx.id().0, actor.to_string());
    let grants =
        "DELETE FROM ken.device_grants WHERE organization_id = $1 AND lower(actor) = lower($2)";
    sqlx::query(grants)
        .bind(organization)
        .bind(&actor)
        .execute(tx.connection())
        .await?;
    let sign_ins =
        "DELETE FROM ken.sign_ins WHERE organization_id = $1 AND lower(actor) = lower($2)";
    let ended = sqlx::query(sign_ins)
        .bind(organization)
        .bind(actor)
        .execute(tx.connection())
        .await?;
    Ok(ended.rows_affected())
}

/// Ends the sign-in of a cookie in its own organization, if there is one. For a browser that signs
/// in again.
pub async fn end_of_secret(
    database: &HubDatabase,
    secret: &SignInSecret,
    now: Timestamp,
) -> Result<(), IdentityError> {
    let Some(old) = find(database, secret, now).await? else {
        return Ok(());
    };
    let mut tx = database.begin_organization(old.caller.organization).await?;
    end(&mut tx, old.id).await?;
    let actor = &old.caller.actor;
    tx.audit(&old.caller, AuditAction::SignedOut, actor).await?;
    Ok(tx.commit().await?)
}

/// Ends the sign-ins that the identity provider names by its session or subject, and records each
/// in the audit log of its organization. Returns how many there were.
pub async fn end_of_provider(
    database: &HubDatabase,
    session: Option<&str>,
    subject: Option<&str>,
) -> Result<u64, IdentityError> {
    let (session, subject) = (session.map(without_nul), subject.map(without_nul));
    let mut lease = database.pool().acquire_live().await?;
    let organizations: Vec<Uuid> =
        sqlx::query_scalar("SELECT * FROM ken.provided_organizations($1, $2)")
            .bind(&session)
            .bind(&subject)
            .fetch_all(lease.connection())
            .await?;
    lease.release();
    let mut ended = 0;
    for organization in organizations {
        let mut tx = database
            .begin_organization(OrganizationId(organization))
            .await?;
        // A session that is named ends alone. An ID token without `sid` began a sign-in without a
        // session, which the subject names.
        let actors: Vec<String> = sqlx::query_scalar(
            "DELETE FROM ken.sign_ins WHERE organization_id = $1 AND (provider_session = $2
                 OR (provider_subject = $3 AND ($2::text IS NULL OR provider_session IS NULL)))
             RETURNING actor",
        )
        .bind(organization)
        .bind(&session)
        .bind(&subject)
        .fetch_all(tx.connection())
        .await?;
        ended += actors.len() as u64;
        for actor in actors {
            let subject = format!("{actor} by the identity provider");
            tx.audit(AuditActor::Hub, AuditAction::SignedOut, &subject)
                .await?;
        }
        tx.commit().await?;
    }
    Ok(ended)
}

/// Returns the sign-ins of an actor, newest first.
pub async fn list(
    tx: &mut OrganizationTx,
    actor: &Actor,
) -> Result<Vec<SignInRecord>, IdentityError> {
    list_page(tx, Some(actor), (None, SIGN_INS_MAX)).await
}

/// Returns up to `limit` sign-ins before the id `before`, newest first: of an actor, or of everyone
/// in the organization.
pub async fn list_page(
    tx: &mut OrganizationTx,
    actor: Option<&Actor>,
    (before, limit): (Option<Uuid>, i64),
) -> Result<Vec<SignInRecord>, IdentityError> {
    let now = tx.now();
    let rows = sqlx::query(
        "SELECT id, created_at, used_at, expires_at, token_id IS NOT NULL, address, actor FROM ken.sign_ins
         WHERE organization_id = $1 AND ($2::text IS NULL OR actor = $2) AND $3 < expires_at
             AND $4 < used_at AND ($5::uuid IS NULL OR id < $5)
         ORDER BY id DESC LIMIT $6",
    )
    .bind(tx.id().0)
    .bind(actor.map(ToString::to_string))
    .bind(millis(now))
    .bind(millis(now.minus_millis(IDLE_MS)))
    .bind(before)
    .bind(limit)
    .fetch_all(tx.connection())
    .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(SignInRecord {
            id: row.try_get(0)?,
            created_at: timestamp(row.try_get(1)?),
            used_at: timestamp(row.try_get(2)?),
            expires_at: timestamp(row.try_get(3)?),
            has_token: row.try_get(4)?,
            address: row.try_get(5)?,
            actor: row.try_get(6)?,
        })
    };
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_opens_with_its_own_cookie_only() {
        let (own, other) = (SignInSecret::generate(), SignInSecret::generate());
        let sealed = own.seal("refresh");
        assert_eq!(own.open(&sealed).as_deref(), Some("refresh"));
        assert_eq!(other.open(&sealed), None);
        assert_eq!(own.open(&sealed[..8]), None);
        assert_ne!(sealed, own.seal("refresh"));
        assert!(!sealed.windows(7).any(|it| it == b"refresh"));
    }

    #[test]
    fn an_unconfirmed_sign_in_is_checked_in_time() {
        let at = |minutes: u64| Timestamp::from_millis(HOUR_MS * 1_000 + minutes * MINUTE_MS);
        for (checked, verified, now, check) in [
            (0, 0, 4, ProviderCheck::Current),
            (0, 0, 5, ProviderCheck::Due),
            (58, 0, 59, ProviderCheck::Current),
            (58, 0, 60, ProviderCheck::Required),
            (60, 0, 60, ProviderCheck::Required),
            (60, 60, 61, ProviderCheck::Current),
        ] {
            assert_eq!(ProviderCheck::at(at(now), at(checked), at(verified)), check);
        }
    }

    #[test]
    fn a_form_token_belongs_to_one_sign_in_and_differs_on_every_page() {
        let (own, other) = (SignInSecret::generate(), SignInSecret::generate());
        let token = own.form_token();
        assert!(own.is_form_token(&token));
        assert!(!other.is_form_token(&token));
        assert_ne!(token, own.form_token());
        let mut changed = token.clone();
        let last = if changed.pop() == Some('0') { '1' } else { '0' };
        changed.push(last);
        for wrong in ["", "0", &token[1..], &changed, own.reveal()] {
            assert!(!own.is_form_token(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_cookie_is_parsed_back_and_printed_nowhere() {
        let secret = SignInSecret::generate();
        assert_eq!(SignInSecret::parse(secret.reveal()).as_ref(), Some(&secret));
        assert_eq!(format!("{secret:?}"), "SignInSecret(..)");
        for wrong in ["", "0", &secret.reveal()[1..], &"g".repeat(64)] {
            assert_eq!(SignInSecret::parse(wrong), None);
        }
    }
}
