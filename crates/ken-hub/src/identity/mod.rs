//! Who calls, and what they may do.

use std::fmt;
use std::str::FromStr;

use ken_core::actor::Actor;
use uuid::Uuid;

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
