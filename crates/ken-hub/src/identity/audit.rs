//! The words of the audit log: what callers do to the hub itself.
//!
//! No text of an entry stands in the log: a subject is an id or a name, a token's with its role and actor.

use std::fmt;

use super::{Caller, Role};

/// Who did something.
#[derive(Clone, Copy, Debug)]
pub enum Who<'a> {
    Caller(&'a Caller),
    /// Whoever has the database at hand.
    Operator,
}

impl Who<'_> {
    /// Returns with which role.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Caller(caller) => caller.role,
            Self::Operator => Role::Admin,
        }
    }
}

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(caller) => caller.actor.fmt(f),
            Self::Operator => f.write_str("operator"),
        }
    }
}

impl<'a> From<&'a Caller> for Who<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self::Caller(caller)
    }
}

/// Something that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    OrganisationCreated,
    QuotaChanged,
    WorkspaceCreated,
    WorkspaceEvicted,
    WorkspaceRebuilt,
    TokenCreated,
    TokenRevoked,
    EventsPushed,
    HeldReleased,
    HeldDiscarded,
    EntryApproved,
    EntryRejected,
    QuarantineLifted,
    QuarantineDiscarded,
}

impl Act {
    /// Returns what it is called in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OrganisationCreated => "organisation.created",
            Self::QuotaChanged => "quota.changed",
            Self::WorkspaceCreated => "workspace.created",
            Self::WorkspaceEvicted => "workspace.evicted",
            Self::WorkspaceRebuilt => "workspace.rebuilt",
            Self::TokenCreated => "token.created",
            Self::TokenRevoked => "token.revoked",
            Self::EventsPushed => "events.pushed",
            Self::HeldReleased => "held.released",
            Self::HeldDiscarded => "held.discarded",
            Self::EntryApproved => "entry.approved",
            Self::EntryRejected => "entry.rejected",
            Self::QuarantineLifted => "quarantine.lifted",
            Self::QuarantineDiscarded => "quarantine.discarded",
        }
    }
}
