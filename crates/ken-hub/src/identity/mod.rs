//! Authentication and roles of callers.
//!
//! A caller authenticates with a token of the hub ([`tokens`]) or with an access token of an issuer
//! the operator trusts.

pub mod accounts;
mod oidc;
pub mod people;
mod secret;
pub mod sign_ins;
pub mod tokens;
mod workspace_roles;

use std::net::IpAddr;

use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::time::Timestamp;
use uuid::Uuid;

use crate::config::{OidcClient, OidcSettings};
use crate::database::audit::AuditActor;
use crate::database::{DatabaseError, EventPusher, HubDatabase, HubName};
use crate::ids::{OrganizationId, Role, WorkspaceId};
use oidc::{ClaimedIdentity, OidcIssuer, TokenVerdict};

pub(crate) use oidc::{CodeVerdict, ProvidedPerson, RefreshVerdict, RefreshedPerson};
pub use oidc::{IssuerKeysError, SignInFlow};
pub use secret::{PREFIX, TokenSecret};
pub use workspace_roles::WorkspaceRoles;

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedCaller {
    pub organization: OrganizationId,
    /// The actor in whose name events are written.
    pub actor: Actor,
    /// Its role in the organization, or in the workspace of an operation.
    pub role: Role,
    /// Stronger roles in single workspaces.
    pub workspace_roles: WorkspaceRoles,
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

    /// Returns the caller with its role in a workspace.
    #[must_use]
    pub fn in_workspace(mut self, workspace: WorkspaceId) -> Self {
        self.role = self.workspace_roles.role_in(workspace, self.role);
        self
    }

    /// Returns whether the caller may access a workspace of its organization.
    #[must_use]
    pub fn may_enter(&self, workspace: WorkspaceId) -> bool {
        // For another organization there are no workspaces, whatever asks for them.
        if self.workspace_roles.role_in(workspace, self.role) <= Role::Peer {
            return false;
        }
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

    /// Returns the issuer and the client with which people sign in, if there are any.
    pub(crate) fn sign_in_client(&self) -> Option<(&OidcIssuer, &OidcClient)> {
        let issuer = self.issuer.as_ref()?;
        Some((issuer, issuer.settings.client.as_ref()?))
    }

    /// Returns the organization that a claim names; `None` if there is none of that name.
    pub(crate) async fn claimed_organization(
        &self,
        database: &HubDatabase,
        claimed: &str,
    ) -> Result<Option<OrganizationId>, IdentityError> {
        // An invalid name cannot belong to an organization, so it is a refusal and not an error.
        Ok(match claimed.parse::<HubName>() {
            Ok(name) => database.organization_named(&name).await?,
            Err(_) => None,
        })
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
        let caller = self.resolve_identity(database, &claimed).await?;
        Ok(caller.ok_or(AuthRefusal::NoRole))
    }

    /// Returns the caller that an issuer vouches for; `None` if the organization is not known here,
    /// the account is blocked, or every role is one of an unknown workspace.
    pub(crate) async fn resolve_identity(
        &self,
        database: &HubDatabase,
        claimed: &ClaimedIdentity,
    ) -> Result<Option<AuthenticatedCaller>, IdentityError> {
        let organization = self.claimed_organization(database, &claimed.organization);
        let Some(organization) = organization.await? else {
            return Ok(None);
        };
        let mut tx = database.begin_organization(organization).await?;
        // A person with the role reader acts as an agent of the same name, so the block of the
        // person has to stop both.
        let person = Actor::from_subject(ActorRole::Human, claimed.actor.name()).ok();
        for actor in person.iter().chain([&claimed.actor]) {
            if accounts::is_blocked(&mut tx, actor).await? {
                return Ok(None);
            }
        }
        let actor = people::stored_subject(&mut tx, &claimed.actor).await?;
        // The id can be blocked although the subject is not known any more.
        if actor != claimed.actor && accounts::is_blocked(&mut tx, &actor).await? {
            return Ok(None);
        }
        let mut workspace_roles = WorkspaceRoles::default();
        for (name, role) in &claimed.workspace_roles {
            // Settings may name a workspace that only another organization has.
            if let Some(workspace) = tx.workspace(name).await? {
                workspace_roles.add(workspace.id, *role);
            }
        }
        tx.commit().await?;
        // Without a role in the organization, only these workspaces exist for the caller.
        let workspaces: Option<Vec<WorkspaceId>> = claimed
            .is_restricted
            .then(|| workspace_roles.iter().map(|(id, _)| id).collect());
        if workspaces.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        Ok(Some(AuthenticatedCaller {
            organization,
            actor,
            role: claimed.role,
            workspace_roles,
            workspaces,
            token: None,
            address: None,
        }))
    }
}
