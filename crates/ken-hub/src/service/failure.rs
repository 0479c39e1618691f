//! Why a use case gave no answer.

use ken_core::decide::Refusal;
use ken_core::id::EntryId;
use ken_guard::Turned;

use crate::away::BrokenOff;
use crate::database::DatabaseError;
use crate::identity::Role;
use crate::serve::settings::Beyond;
use crate::store::StoreError;

/// Why a use case gave no answer. A refusal is a normal one.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The caller's role is too small.
    #[error("{what} needs the role {needs}; yours is {has}")]
    Forbidden {
        what: &'static str,
        needs: Role,
        has: Role,
    },
    /// It is about somebody the caller does not speak for.
    #[error("{what} is not for your token; use one of that agent's, or a curator's")]
    NotYours { what: &'static str },
    /// The workspace holds as much as it may.
    #[error(transparent)]
    Quota(#[from] Beyond),
    /// Only a person may.
    #[error("{what} is for people; your token speaks for a program")]
    PersonNeeded { what: &'static str },
    /// A rule of the ledger says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The guard says no.
    #[error(transparent)]
    Turned(#[from] Turned),
    /// What was asked makes no sense.
    #[error("{0}")]
    Usage(String),
    #[error("there is no {what} `{wanted}`")]
    NotFound { what: &'static str, wanted: String },
    #[error("`{wanted}` is the beginning of several ids")]
    Ambiguous {
        wanted: String,
        candidates: Vec<EntryId>,
    },
    /// It contradicts what is there.
    #[error("{0}")]
    Conflict(String),
    /// Only a person may see it yet.
    #[error("{0} is set apart until a person looked at it: {where_}", where_ = super::SET_APART_WHERE)]
    SetApart(EntryId),
    #[error(transparent)]
    BrokenOff(#[from] BrokenOff),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Failure {
    /// What was asked makes no sense; says why.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "errors are handed over by `map_err`"
    )]
    pub fn usage(why: impl ToString) -> Self {
        Self::Usage(why.to_string())
    }
}
