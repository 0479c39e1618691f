//! Authority of events: which ones decide, and which entries only a person may change.
//!
//! The author of an event is a claim. A hub therefore asks two questions about every event that it
//! receives: does the event decide something ([`event_authority`]), and does it change what a
//! person wrote or verified ([`changes_protected_content`])? Both depend on events and entries
//! alone, so a repository and a hub give the same answers.

use crate::ledger::entry::Entry;
use crate::ledger::event::{
    ApprovalGranted, ArchiveReason, Confirmed, Event, EventBody, Merged, Origin, Proposed,
    Provenance, Reanchored, Revised, StatusChanged,
};
use crate::values::actor::Actor;
use crate::values::content::EntryScope;
use crate::values::id::EntryId;
use crate::values::status::EntryStatus;

/// Authority that an event needs from its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventAuthority {
    /// Adds text, sources, links, feedback or reports. It decides nothing.
    Contribution,
    /// Follows from runs or from time, not from a judgment of its author.
    Derived,
    /// Decides about entries, such as a retraction. Every person may, in their own name.
    Decision,
    /// Decides about what others may see or trust, such as an approval. Only a curator may, in
    /// their own name.
    Review,
}

impl EventAuthority {
    /// Returns whether the event is a judgment that counts because of its author.
    pub fn decides(self) -> bool {
        match self {
            Self::Contribution | Self::Derived => false,
            Self::Decision | Self::Review => true,
        }
    }
}

/// Protection of an entry's content against changes by others than people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentProtection {
    #[default]
    None,
    /// A person wrote it.
    Written,
    /// It was verified, or a person confirmed or approved it.
    Verified,
}

/// Returns the authority that an event needs.
///
/// The match has no wildcard: a new event type does not compile until its authority is decided.
pub fn event_authority(event: &Event) -> EventAuthority {
    use EventAuthority::{Contribution, Decision, Derived, Review};
    match &event.body {
        EventBody::Proposed(data) => proposal_authority(data),
        EventBody::Revised(_)
        | EventBody::Cited(_)
        | EventBody::Linked(_)
        | EventBody::Reanchored(_)
        | EventBody::ContradictionFlagged(_)
        | EventBody::FeedbackGiven(_)
        | EventBody::RetrievalMissed(_)
        | EventBody::FrictionRecorded(_)
        | EventBody::ForageRequested(_)
        | EventBody::ForageCompleted(_)
        | EventBody::HandoffWritten(_)
        | EventBody::HandoffTaken(_)
        // Nothing is left of its data, so it cannot have an effect.
        | EventBody::Blanked { .. } => Contribution,
        EventBody::RunClosed(_)
        | EventBody::RunEffects(_)
        | EventBody::RunObserved(_)
        | EventBody::KnowledgeDistilled(_)
        // Learned from fetches. It can only make a forager ask less.
        | EventBody::DomainStrategyChanged(_) => Derived,
        EventBody::Confirmed(data) => match data.provenance {
            _ if !data.withdraws.is_empty() => Decision,
            Provenance::Manual => Decision,
            Provenance::Independent | Provenance::Primed | Provenance::Unwitnessed => Derived,
        },
        EventBody::StatusChanged(data) => status_authority(data.to, &event.by),
        EventBody::Archived(data) => match data.because {
            ArchiveReason::Decay | ArchiveReason::Age | ArchiveReason::Thread => Derived,
            ArchiveReason::Manual => Decision,
        },
        EventBody::ScopeChanged(_)
        | EventBody::Restored(_)
        | EventBody::Retracted(_)
        | EventBody::Merged(_)
        | EventBody::Superseded(_)
        | EventBody::OverlaySet(_)
        | EventBody::PairDismissed(_)
        | EventBody::ContradictionResolved(_)
        | EventBody::ConfidenceReset(_) => Decision,
        EventBody::ApprovalGranted(_)
        | EventBody::QuarantineLifted(_)
        | EventBody::EventBlanked(_)
        | EventBody::OriginRevoked(_)
        | EventBody::ConfigChanged(_)
        | EventBody::PeerTrustChanged(_)
        | EventBody::DomainOverridden(_)
        // A newer version may decide anything with it.
        | EventBody::Unknown { .. } => Review,
    }
}

/// A proposal is a candidate for its workspace; one that claims more decides about itself.
fn proposal_authority(data: &Proposed) -> EventAuthority {
    let claims_more = data.status != EntryStatus::Candidate
        || data.scope == EntryScope::Global
        || data.overrides.is_some();
    if claims_more {
        EventAuthority::Decision
    } else {
        EventAuthority::Contribution
    }
}

/// Runs raise and lower the status of entries, too; then the author is a program.
fn status_authority(to: EntryStatus, by: &Actor) -> EventAuthority {
    match to {
        EntryStatus::Verified if by.is_human() => EventAuthority::Decision,
        // Nothing shows that a run verified the entry, so a person has to vouch for it.
        EntryStatus::Verified => EventAuthority::Review,
        EntryStatus::Candidate
        | EntryStatus::Active
        | EntryStatus::Stale
        | EntryStatus::Rejected => {
            if by.is_human() || to == EntryStatus::Rejected {
                EventAuthority::Decision
            } else {
                EventAuthority::Derived
            }
        }
    }
}

/// Returns the protection of an entry's content.
pub fn content_protection(entry: &Entry) -> ContentProtection {
    let is_verified = entry.status.value == EntryStatus::Verified
        || entry.confirmation.manual > 0
        || !entry.approvals.is_empty();
    let origin = entry.created.as_ref().map(|it| it.origin);
    if is_verified {
        ContentProtection::Verified
    } else if origin == Some(Origin::Human) {
        ContentProtection::Written
    } else {
        ContentProtection::None
    }
}

/// Returns the protection that an event adds to the entries it is about.
pub fn added_protection(event: &Event) -> ContentProtection {
    let confirmed = event
        .get::<Confirmed>()
        .filter(|it| it.withdraws.is_empty());
    let is_confirmed = confirmed.is_some_and(|it| it.provenance == Provenance::Manual);
    let status = event.get::<StatusChanged>().map(|it| it.to);
    let is_approved = event.get::<ApprovalGranted>().is_some() && event.by.is_human();
    let origin = event.get::<Proposed>().map(|it| it.origin);
    let is_written = origin == Some(Origin::Human);
    if is_confirmed || is_approved || status == Some(EntryStatus::Verified) {
        ContentProtection::Verified
    } else if is_written {
        ContentProtection::Written
    } else {
        ContentProtection::None
    }
}

/// Returns the entry whose content an event changes; `None` if it changes no existing content.
pub fn changed_content(event: &Event) -> Option<EntryId> {
    if event.get::<Revised>().is_some() || event.get::<Reanchored>().is_some() {
        return event.entries().next();
    }
    let merged = event.get::<Merged>().filter(|it| !it.changes.is_empty());
    merged.map(|it| it.target)
}

/// Returns the origin that an event declares for the content it changes.
pub fn declared_origin(event: &Event) -> Option<Origin> {
    let edited = event.get::<Revised>().and_then(|it| it.origin);
    let moved = event.get::<Reanchored>().and_then(|it| it.origin);
    edited
        .or(moved)
        .or_else(|| event.get::<Merged>().and_then(|it| it.origin))
}

/// Returns whether `by` may not change content with this protection: others than people propose
/// changes to what a person wrote or verified.
pub fn changes_protected_content(protection: ContentProtection, by: &Actor) -> bool {
    protection > ContentProtection::None && !by.is_human()
}
