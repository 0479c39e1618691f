//! Errors of the use cases.

use ken_core::decide::Refusal;
use ken_core::trust::run::opening::RunInputError;
use ken_core::values::id::EntryId;
use ken_guard::WriteRejection;

use crate::blocking::BlockingTaskError;
use crate::config::QuotaExceeded;
use crate::database::DatabaseError;
use crate::ids::Role;
use crate::store::StoreError;

/// Error of a use case. A refusal is a normal outcome, not a malfunction.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The caller's role is too low.
    #[error("{what} requires the role {needs}; your role is {has}")]
    Forbidden {
        what: &'static str,
        needs: Role,
        has: Role,
    },
    /// The request concerns an agent the caller may not act for.
    #[error("your token does not permit {what}; use a token of that agent or of a curator")]
    NotPermittedForAgent { what: &'static str },
    /// The workspace exceeds its quota.
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    /// Only people may do this.
    #[error("{what} requires a person; the actor of your token is a program")]
    PersonNeeded { what: &'static str },
    /// A rule of the ledger refuses the change.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The rules about pushed events refuse an event that the hub drafted for the caller.
    #[error("{0}")]
    SubmissionRefused(String),
    /// The guard rejected the content.
    #[error(transparent)]
    GuardRejected(#[from] WriteRejection),
    /// The request is invalid.
    #[error("{0}")]
    InvalidRequest(String),
    #[error("there is no {what} `{wanted}`")]
    NotFound { what: &'static str, wanted: String },
    #[error("`{wanted}` is a prefix of several ids")]
    Ambiguous {
        wanted: String,
        candidates: Vec<EntryId>,
    },
    /// The request conflicts with the current state.
    #[error("{0}")]
    Conflict(String),
    /// The entry is quarantined; only curators may see it.
    #[error("{0} is quarantined until a person reviews it: {where_}", where_ = super::ENTRY_QUARANTINE_HINT)]
    Quarantined(EntryId),
    #[error(transparent)]
    BrokenOff(#[from] BlockingTaskError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl ServiceError {
    /// Builds an error about an invalid request from its reason.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "errors are handed over by `map_err`"
    )]
    pub fn invalid_request(why: impl ToString) -> Self {
        Self::InvalidRequest(why.to_string())
    }
}

impl From<RunInputError> for ServiceError {
    fn from(error: RunInputError) -> Self {
        Self::invalid_request(error)
    }
}
