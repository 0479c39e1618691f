//! Ids of tenants, and the roles of callers.

use std::fmt;
use std::str::FromStr;

use ken_core::values::actor::{Actor, ActorRole};
use uuid::Uuid;

/// Id of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrganizationId(pub Uuid);

/// Id of a workspace, the hub's counterpart of one repository's ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceId(pub Uuid);

/// Role of a caller. Each role includes the permissions of the roles before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Another organization: reads publications for peers, and nothing else.
    Peer,
    /// Searches and reads.
    Reader,
    /// Adds entries and gives feedback. Never approves and never acts for a person.
    Agent,
    /// A person who writes: decides in their own name, and pushes events of others that decide
    /// nothing.
    Member,
    /// Reviews: releases quarantined events, approves, and vouches for decisions of programs.
    Curator,
    /// Creates workspaces and tokens, and reads the audit log.
    Admin,
}

/// Error for an unknown role name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid role; use peer, reader, agent, member, curator or admin")]
pub struct RoleError(String);

impl Role {
    /// All roles, weakest first.
    pub const ALL: [Self; 6] = [
        Self::Peer,
        Self::Reader,
        Self::Agent,
        Self::Member,
        Self::Curator,
        Self::Admin,
    ];

    /// Returns the role's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Reader => "reader",
            Self::Agent => "agent",
            Self::Member => "member",
            Self::Curator => "curator",
            Self::Admin => "admin",
        }
    }

    /// Refuses actors that do not fit the role: an agent must not write as a person, a member must
    /// be a person, and a curator must not be an agent.
    ///
    /// Readers write nothing, so any actor may be one. No token acts as a person's MCP client: such
    /// an actor exists only while that person's token is used.
    pub fn check_actor(self, actor: &Actor) -> Result<(), RoleMismatch> {
        if actor.is_client() {
            return Err(RoleMismatch::Client);
        }
        match (self, actor.role()) {
            (Self::Agent, ActorRole::Human) => Err(RoleMismatch::Person),
            (
                Self::Member,
                ActorRole::Agent | ActorRole::Ci | ActorRole::Import | ActorRole::Peer,
            ) => Err(RoleMismatch::Program),
            (Self::Curator | Self::Admin, ActorRole::Agent | ActorRole::Peer) => {
                Err(RoleMismatch::Agent)
            }
            (
                Self::Peer,
                ActorRole::Human | ActorRole::Agent | ActorRole::Ci | ActorRole::Import,
            ) => Err(RoleMismatch::Peer),
            (Self::Peer, ActorRole::Peer)
            | (Self::Reader | Self::Member, ActorRole::Human)
            | (
                Self::Reader | Self::Agent,
                ActorRole::Agent | ActorRole::Ci | ActorRole::Import | ActorRole::Peer,
            )
            | (Self::Curator | Self::Admin, ActorRole::Human | ActorRole::Ci | ActorRole::Import) => {
                Ok(())
            }
        }
    }
}

/// Mismatch of a role and an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleMismatch {
    #[error(
        "a token with the role agent cannot act as a person: name an agent such as agent:ada-laptop, or use the role reader, which cannot write, or member"
    )]
    Person,
    #[error(
        "a token with the role member must act as a person, such as human:ada@example.org: use the role agent for a program"
    )]
    Program,
    #[error("`agent:human:` names the MCP clients of people: a token cannot act as one")]
    Client,
    #[error("a token with the role peer acts as another organization, such as peer:beta")]
    Peer,
    #[error(
        "agents never approve, nor do peers: a curator or admin token must act as a person, a pipeline or an import"
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
