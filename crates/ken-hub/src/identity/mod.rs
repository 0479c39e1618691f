//! Who calls, and what they may do.
//!
//! A caller is proven by a token of the hub's own ([`tokens`]) or by an access token of an issuer the operator trusts.
//! What callers did to the hub itself stands in the [`audit`] log.

pub mod audit;
mod oidc;
mod secret;
pub mod tokens;

use std::fmt;
use std::str::FromStr;

use ken_core::actor::{Actor, Role as ActorRole};
use ken_core::time::Timestamp;
use uuid::Uuid;

use crate::database::{Database, DatabaseError, Name};
use crate::serve::settings::Oidc;
use oidc::{Issuer, Worth};

pub use oidc::KeysError;
pub use secret::{PREFIX, Secret};

/// Names an organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrganisationId(pub Uuid);

/// Names a workspace: what one repository's ledger is at the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceId(pub Uuid);

/// What a caller may do, each what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Searches and reads.
    Reader,
    /// Records what it found and whether entries helped; never approves and never speaks for a person.
    Agent,
    /// Speaks for people: sends any event, releases what was held, approves.
    Curator,
    /// Makes workspaces and tokens, sees the audit log.
    Admin,
}

/// Who calls, once that is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub organisation: OrganisationId,
    /// In whose name events are written.
    pub actor: Actor,
    pub role: Role,
    /// The workspaces it may enter; every one of its organisation without.
    pub workspaces: Option<Vec<WorkspaceId>>,
}

/// A word that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role; there are reader, agent, curator and admin")]
pub struct RoleError(String);

/// Proves callers.
#[derive(Debug, Default)]
pub struct Identity {
    issuer: Option<Issuer>,
}

/// Why nobody was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such token, or it is expired or revoked; which of these is not told.
    Unknown,
    /// It is genuine and gives no role or organisation here.
    NoRole,
}

/// Why it cannot be told who calls.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("cannot look up who calls")]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Keys(#[from] KeysError),
}

impl Role {
    /// Every role, the weakest first.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Agent, Self::Curator, Self::Admin];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Agent => "agent",
            Self::Curator => "curator",
            Self::Admin => "admin",
        }
    }

    /// Refuses a name in which who has this role would write as a person without being one, or approve as an agent.
    ///
    /// Readers write nothing, so a person may be one.
    pub fn fits(self, actor: &Actor) -> Result<(), Misfit> {
        match (self, actor.role()) {
            (Self::Agent, ActorRole::Human) => Err(Misfit::Person),
            (Self::Curator | Self::Admin, ActorRole::Agent) => Err(Misfit::Agent),
            (Self::Reader, ActorRole::Human)
            | (
                Self::Reader | Self::Agent,
                ActorRole::Agent | ActorRole::Ci | ActorRole::Import | ActorRole::Peer,
            )
            | (
                Self::Curator | Self::Admin,
                ActorRole::Human | ActorRole::Ci | ActorRole::Import | ActorRole::Peer,
            ) => Ok(()),
        }
    }
}

/// Why nobody may be given a role in an actor's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error(
        "agents write in no person's name: name an agent such as agent:ada-laptop, or make the role reader, which writes nothing"
    )]
    Person,
    #[error(
        "agents never approve: a curator or admin acts in the name of a person, a pipeline or an import"
    )]
    Agent,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| RoleError(text.to_owned()))
    }
}

impl Caller {
    /// Returns whether the caller may enter a workspace of its organisation.
    #[must_use]
    pub fn may_enter(&self, workspace: WorkspaceId) -> bool {
        let named = self.workspaces.as_ref();
        named.is_none_or(|these| these.contains(&workspace))
    }
}

impl Identity {
    /// Takes the hub's own tokens, and those of an issuer where there is one.
    pub fn new(oidc: Option<Oidc>) -> Result<Self, KeysError> {
        let issuer = oidc.map(Issuer::new).transpose()?;
        Ok(Self { issuer })
    }

    /// Says who shows `shown`.
    pub async fn prove(
        &self,
        database: &Database,
        shown: &str,
        now: Timestamp,
    ) -> Result<Result<Caller, Refused>, IdentityError> {
        if let Some(secret) = Secret::parse(shown) {
            let found = tokens::by_secret(database, &secret, now).await?;
            return Ok(found.ok_or(Refused::Unknown));
        }
        let Some(issuer) = &self.issuer else {
            return Ok(Err(Refused::Unknown));
        };
        let claimed = match issuer.prove(shown, now).await? {
            Worth::Nothing => return Ok(Err(Refused::Unknown)),
            Worth::NoRole => return Ok(Err(Refused::NoRole)),
            Worth::Proven(claimed) => claimed,
        };
        // What is no name is nobody's.
        let organisation = match claimed.organisation.parse::<Name>() {
            Ok(name) => database.organisation_named(&name).await?,
            Err(_) => None,
        };
        Ok(organisation
            .ok_or(Refused::NoRole)
            .map(|organisation| Caller {
                organisation,
                actor: claimed.actor,
                role: claimed.role,
                workspaces: None,
            }))
    }
}
