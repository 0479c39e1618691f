//! Interface of a repository to a hub. Synchronization depends on it and opens no socket itself.

use crate::token::HubToken;
use crate::wire::{LogCursor, PullResponse, PushResponse};

/// One workspace of a hub.
pub trait HubClient {
    /// Pushes events as their raw lines; returns one verdict per event, in the same order.
    ///
    /// A push is idempotent, so a push with an unknown result can be repeated.
    fn push(&mut self, lines: &[&str]) -> Result<PushResponse, HubError>;

    /// Pulls at most `limit` events after a cursor of the workspace's log.
    fn pull(&mut self, after: LogCursor, limit: u32) -> Result<PullResponse, HubError>;

    /// Returns the token that requests are sent with, if there is one. What a hub refuses may
    /// depend on it.
    fn token(&self) -> Option<&HubToken> {
        None
    }

    /// Returns true if the workspace's log contains a cursor. It does not after the hub was
    /// restored from an older backup.
    fn knows(&mut self, cursor: LogCursor) -> Result<bool, HubError> {
        // The start of the log exists in every hub, so no request is needed.
        if cursor == LogCursor::default() {
            return Ok(true);
        }
        // The smallest page: only the answer to the cursor matters.
        match self.pull(cursor, 1) {
            Ok(_) => Ok(true),
            Err(HubError::CursorUnknown { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A failed hub request. `hub` is the address without the workspace.
///
/// The message is Ken's own, followed by `told`: the hub's explanation, short, on one line, and
/// empty if the hub gave none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HubError {
    #[error("cannot reach `{hub}`: {why}")]
    Unreachable { hub: String, why: &'static str },
    #[error("`{hub}` does not accept this token{}", said(.told))]
    Token { hub: String, told: String },
    #[error("`{hub}` does not permit this with the given token{}", said(.told))]
    Forbidden { hub: String, told: String },
    #[error("the quota at `{hub}` is exceeded{}", said(.told))]
    Quota { hub: String, told: String },
    #[error("`{hub}` has no workspace `{workspace}` for this token")]
    NoWorkspace { hub: String, workspace: String },
    #[error("`{hub}` has renamed the workspace `{workspace}` to `{now}`")]
    Renamed {
        hub: String,
        workspace: String,
        now: String,
    },
    #[error("the log of `{hub}` does not contain this cursor")]
    CursorUnknown { hub: String },
    #[error("`{hub}` received too many requests{}", said(.told))]
    Busy { hub: String, told: String },
    #[error("`{hub}` is unavailable{}", said(.told))]
    Unavailable { hub: String, told: String },
    #[error("the request is too large for `{hub}`{}", said(.told))]
    TooLarge { hub: String, told: String },
    #[error("`{hub}` answered with status {status}{}", said(.told))]
    Refused {
        hub: String,
        status: u16,
        told: String,
    },
    #[error("unexpected response from `{hub}`: {why}")]
    Answer { hub: String, why: &'static str },
}

impl HubError {
    /// Returns the recommended next step.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => {
                "nothing changed and nothing is lost; retry when the hub is reachable"
            }
            Self::Token { .. } => {
                "ask an administrator for a new token (`ken hub token create`) and pass it to `ken remote add --token-stdin`, or set KEN_HUB_TOKEN"
            }
            Self::Forbidden { .. } => {
                "a push requires the role agent or higher; ask an administrator of the hub for such a token"
            }
            Self::Quota { .. } => "nothing is lost: the next push sends the remaining events again",
            Self::NoWorkspace { .. } => {
                "the address is the hub's URL and the name of the workspace, without the organization (`ken remote list` shows it); an administrator creates a workspace with `ken hub workspace add`"
            }
            Self::Renamed { .. } => {
                "run `ken remote remove NAME`, then `ken remote add NAME URL` with the new name of the workspace; nothing is lost"
            }
            Self::CursorUnknown { .. } => {
                "the hub was restored from an older backup; `ken sync --remote` starts over"
            }
            Self::Busy { .. } | Self::Unavailable { .. } => {
                "nothing is lost; retry later, and the command continues where this one stopped"
            }
            Self::TooLarge { .. } => {
                "the hub has a limit below the default; ask its administrator to raise it"
            }
            Self::Refused { .. } => "the log of the hub has details",
            Self::Answer { .. } => {
                "check the address with `ken remote list`; a newer hub may need a newer ken"
            }
        }
    }
}

fn said(detail: &str) -> String {
    match detail {
        "" => String::new(),
        detail => format!(": {detail}"),
    }
}
