//! Data of the inbox.

use ken_core::health::HealthInsight;
use ken_core::values::actor::Actor;
use ken_core::values::id::EventId;
use ken_core::values::time::Timestamp;

use super::code::{AnchorState, ConditionState};
use super::entries::EntryRow;
use crate::address::InboxLane;

/// Everything that waits for a decision of a person.
#[derive(Clone, Debug, Default)]
pub struct InboxView {
    /// Number of items per lane; `None` for a lane that is only computed when it is selected.
    pub counts: Vec<(InboxLane, Option<u64>)>,
    /// The items of the selected lanes, most urgent first.
    pub items: Vec<InboxItem>,
    /// Time of the last check of the code.
    pub checked: Option<Timestamp>,
    /// A citation that suits a decision about the code.
    pub suggested_citation: Option<String>,
}

/// One item of the inbox.
#[derive(Clone, Debug)]
pub enum InboxItem {
    Changed(Box<ChangedItem>),
    Quarantined { row: Box<EntryRow>, reason: String },
    Approval(Box<ApprovalItem>),
    Claim(Box<ClaimItem>),
    Contradiction(Box<PairItem>),
    Duplicate(Box<PairItem>),
    Versions(Box<VersionsItem>),
    Health(HealthInsight),
}

/// An entry whose code changed or is gone.
#[derive(Clone, Debug)]
pub struct ChangedItem {
    pub row: EntryRow,
    pub anchors: Vec<AnchorState>,
    pub conditions: Vec<ConditionState>,
}

/// An entry that needs an approval.
#[derive(Clone, Debug)]
pub struct ApprovalItem {
    pub row: EntryRow,
    /// The artifact that the person reads and approves, and its digest.
    pub artifact: String,
    pub digest: String,
    pub authors: Vec<Actor>,
    /// The command that signs the artifact, if approvals must be signed.
    pub signing_command: Option<String>,
}

/// A claim that was extracted from a document, the history or a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimItem {
    pub id: String,
    pub kind: &'static str,
    pub statement: String,
    pub citation: String,
    pub tags: Vec<String>,
    /// What an audit found about it.
    pub findings: Vec<String>,
    /// Where in a transcript it was found.
    pub location: Option<String>,
    /// The conversation that the claim was captured from.
    pub exchange: Option<String>,
    /// The entries and claims that this one amends, and their statements.
    pub supersedes: Vec<(String, String)>,
    /// The entry that amends this claim.
    pub superseded_by: Option<String>,
}

/// Two entries that contradict each other or state the same.
#[derive(Clone, Debug)]
pub struct PairItem {
    pub first: EntryRow,
    pub second: EntryRow,
    /// Why they were paired, in one sentence.
    pub reason: String,
}

/// An entry with concurrent versions of its content.
#[derive(Clone, Debug)]
pub struct VersionsItem {
    pub row: EntryRow,
    /// Event, author and statement; the displayed one first.
    pub versions: Vec<(EventId, Actor, String)>,
}

impl InboxItem {
    /// Returns the lane of the item.
    pub fn lane(&self) -> InboxLane {
        match self {
            Self::Changed(_) => InboxLane::Changed,
            Self::Quarantined { .. } => InboxLane::Quarantined,
            Self::Approval(_) => InboxLane::Approvals,
            Self::Claim(_) => InboxLane::Claims,
            Self::Contradiction(_) => InboxLane::Contradictions,
            Self::Duplicate(_) => InboxLane::Duplicates,
            Self::Versions(_) => InboxLane::Versions,
            Self::Health(_) => InboxLane::Health,
        }
    }
}
