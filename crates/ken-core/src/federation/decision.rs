//! What a person decides about the wordings of a peer.

use crate::ledger::event::{Channel, EventBody, RetractReason, Retracted};

/// Maximum number of entries decided about at once.
pub const DECISIONS_MAX: usize = 500;

/// Why a person rejects a wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectReason {
    /// The claim is wrong.
    False,
    /// The claim is of no use here.
    Unwanted,
}

impl RejectReason {
    /// Returns the event with which a person rejects a wording.
    pub fn retraction(self) -> EventBody {
        EventBody::Retracted(Retracted {
            reason: match self {
                Self::False => RetractReason::False,
                Self::Unwanted => RetractReason::Unwanted,
            },
            channel: Channel::Command,
            note: None,
        })
    }
}
