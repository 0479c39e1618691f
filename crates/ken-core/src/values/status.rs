//! Status of an entry: `candidate → active → verified`, `stale`, `rejected`.
//!
//! *Archived*, *retracted* and *quarantined* are not statuses: ending one of them gives the old
//! status back.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of an entry.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EntryStatus {
    #[default]
    Candidate,
    Active,
    Verified,
    Stale,
    Rejected,
}

/// A text that is not the name of a status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid status; known: candidate, active, verified, stale, rejected")]
pub struct UnknownStatusError(String);

impl EntryStatus {
    /// Every status, in ascending order of trust, then `stale` and `rejected`.
    pub const ALL: [Self; 5] = [
        Self::Candidate,
        Self::Active,
        Self::Verified,
        Self::Stale,
        Self::Rejected,
    ];

    /// Returns the name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Active => "active",
            Self::Verified => "verified",
            Self::Stale => "stale",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for EntryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EntryStatus {
    type Err = UnknownStatusError;

    fn from_str(text: &str) -> Result<Self, UnknownStatusError> {
        Self::ALL
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or_else(|| UnknownStatusError(text.to_owned()))
    }
}
