//! The status ladder: `candidate → active → verified`, `stale`, `rejected`.
//!
//! *Archived*, *retracted* and *quarantined* are not on it: lifting one gives the old status back.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an entry stands on the ladder.
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
pub enum Status {
    #[default]
    Candidate,
    Active,
    Verified,
    Stale,
    Rejected,
}

/// A text that names no status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a status; known: candidate, active, verified, stale, rejected")]
pub struct UnknownStatus(String);

impl Status {
    /// Every status, in the order of the ladder.
    pub const ALL: [Self; 5] = [
        Self::Candidate,
        Self::Active,
        Self::Verified,
        Self::Stale,
        Self::Rejected,
    ];

    /// Returns the word used in text and JSON.
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

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}
