//! The words of the audit log: what callers do to the hub itself.
//!
//! No text of an entry stands in the log: a subject is an id or a name.

/// Something that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
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
    EntryRetracted,
    QuarantineLifted,
}

impl Act {
    /// Returns what it is called in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
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
            Self::EntryRetracted => "entry.retracted",
            Self::QuarantineLifted => "quarantine.lifted",
        }
    }
}
