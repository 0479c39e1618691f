//! Authentication and roles of callers.
//!
//! A caller authenticates with a token of the hub ([`tokens`]) or with an access token of an issuer
//! the operator trusts.

mod oidc;
mod secret;
pub mod tokens;

use std::net::IpAddr;

use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use uuid::Uuid;

use crate::config::OidcSettings;
use crate::database::audit::AuditActor;
use crate::database::{DatabaseError, EventPusher, HubDatabase, HubName};
use crate::ids::{OrganizationId, Role, WorkspaceId};
use oidc::{OidcIssuer, TokenVerdict};

pub use oidc::IssuerKeysError;
pub use secret::{PREFIX, TokenSecret};

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedCaller {
    pub organization: OrganizationId,
    /// The actor in whose name events are written.
    pub actor: Actor,
    pub role: Role,
    /// The workspaces it may access; `None` means all workspaces of the organization.
    pub workspaces: Option<Vec<WorkspaceId>>,
    /// Id of its token; `None` if an OpenID Connect issuer vouches for it.
    pub token: Option<Uuid>,
    /// Address the request came from, if known.
    pub address: Option<IpAddr>,
}

/// Authenticates callers.
#[derive(Debug, Default)]
pub struct Authenticator {
    issuer: Option<OidcIssuer>,
}

/// Reason why a token was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthRefusal {
    /// The token is unknown, expired or revoked. Which of these is not disclosed.
    InvalidToken,
    /// The token is genuine but grants no role or organization here.
    NoRole,
}

/// Error while authenticating a caller.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("cannot look up the caller")]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Keys(#[from] IssuerKeysError),
}

impl<'a> From<&'a AuthenticatedCaller> for AuditActor<'a> {
    fn from(caller: &'a AuthenticatedCaller) -> Self {
        Self::Caller {
            actor: &caller.actor,
            role: caller.role,
            token: caller.token,
            address: caller.address,
        }
    }
}

impl AuthenticatedCaller {
    /// Returns the caller as the pusher of events.
    #[must_use]
    pub fn pusher(&self) -> EventPusher {
        EventPusher {
            actor: self.actor.to_string(),
            token: self.token,
        }
    }

    /// Returns whether the caller may access a workspace of its organization.
    #[must_use]
    pub fn may_enter(&self, workspace: WorkspaceId) -> bool {
        let allowed = self.workspaces.as_ref();
        allowed.is_none_or(|ids| ids.contains(&workspace))
    }
}

impl Authenticator {
    /// Accepts the hub's own tokens, and access tokens of an issuer if one is configured.
    pub fn new(oidc: Option<OidcSettings>) -> Result<Self, IssuerKeysError> {
        let issuer = oidc.map(OidcIssuer::new).transpose()?;
        Ok(Self { issuer })
    }

    /// Returns how often the issuer's keys could not be fetched.
    #[must_use]
    pub fn key_failures(&self) -> u64 {
        self.issuer.as_ref().map_or(0, OidcIssuer::key_failures)
    }

    /// Authenticates the bearer of a token.
    pub async fn authenticate(
        &self,
        database: &HubDatabase,
        token: &str,
        now: Timestamp,
    ) -> Result<Result<AuthenticatedCaller, AuthRefusal>, IdentityError> {
        // The prefix of the hub's own secrets decides, so they are never sent to an issuer's check.
        if let Some(secret) = TokenSecret::parse(token) {
            let found = tokens::authenticate_secret(database, &secret, now).await?;
            return Ok(found.ok_or(AuthRefusal::InvalidToken));
        }
        let Some(issuer) = &self.issuer else {
            return Ok(Err(AuthRefusal::InvalidToken));
        };
        let claimed = match issuer.verify_token(token, now).await? {
            TokenVerdict::Invalid => return Ok(Err(AuthRefusal::InvalidToken)),
            TokenVerdict::NoRole => return Ok(Err(AuthRefusal::NoRole)),
            TokenVerdict::Verified(claimed) => claimed,
        };
        // An invalid name cannot belong to an organization, so it is a refusal and not an error.
        let organization = match claimed.organization.parse::<HubName>() {
            Ok(name) => database.organization_named(&name).await?,
            Err(_) => None,
        };
        Ok(organization
            .ok_or(AuthRefusal::NoRole)
            .map(|organization| AuthenticatedCaller {
                organization,
                actor: claimed.actor,
                role: claimed.role,
                workspaces: None,
                token: None,
                address: None,
            }))
    }
}
