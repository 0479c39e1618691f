//! A hub as a repository sees it: a port, so that whoever synchronises opens no socket itself.

use crate::wire::{Cursor, Pulled, Pushed};

/// One workspace of a hub.
pub trait Hub {
    /// Offers events, each as the line it is; the answer has one verdict an event, in their order.
    ///
    /// Offering an event again changes nothing: whoever does not know what became of a push repeats it.
    fn push(&mut self, lines: &[&str]) -> Result<Pushed, HubError>;

    /// Asks for at most `limit` events behind a place in the workspace's log.
    fn pull(&mut self, after: Cursor, limit: u32) -> Result<Pulled, HubError>;

    /// Asks whether a place still is one of the workspace's log; it is not where the hub went back to an older backup.
    fn knows(&mut self, place: Cursor) -> Result<bool, HubError> {
        if place == Cursor::default() {
            return Ok(true);
        }
        match self.pull(place, 1) {
            Ok(_) => Ok(true),
            Err(HubError::CursorUnknown { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Why a hub did not do what was asked. Our own words, but for a title it gave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HubError {
    #[error("cannot reach `{host}`: {why}")]
    Unreachable { host: String, why: &'static str },
    #[error("`{host}` does not accept this token")]
    Token { host: String },
    #[error("this token may not do that at `{host}`")]
    Forbidden { host: String },
    #[error("`{host}` has no workspace `{workspace}` for this token")]
    NoWorkspace { host: String, workspace: String },
    #[error("`{host}` does not know this place in its log")]
    CursorUnknown { host: String },
    #[error("`{host}` has too much to do")]
    Busy { host: String },
    #[error("`{host}` takes less at once than was sent")]
    TooLarge { host: String },
    #[error("`{host}` answered with status {status}: {title}")]
    Refused {
        host: String,
        status: u16,
        title: String,
    },
    #[error("`{host}` did not answer as a hub does: {why}")]
    Answer { host: String, why: &'static str },
}

impl HubError {
    /// Returns what to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => {
                "nothing here changed and nothing is lost; try again when the hub can be reached"
            }
            Self::Token { .. } => {
                "ask for a new one (`ken hub token create`) and give it to `ken remote add --token-stdin`, or set KEN_HUB_TOKEN"
            }
            Self::Forbidden { .. } => {
                "sending needs the role agent or more; ask an administrator of the hub for such a token"
            }
            Self::NoWorkspace { .. } => {
                "`ken remote list` shows the address; an administrator makes a workspace with `ken hub workspace add`"
            }
            Self::CursorUnknown { .. } => {
                "the hub was restored from an older backup; `ken sync --remote` starts over"
            }
            Self::Busy { .. } => "wait a little; the next run goes on where this one ended",
            Self::TooLarge { .. } => {
                "its administrator set a limit below the usual one; ask to raise it"
            }
            Self::Refused { .. } => "look at what the hub's log says about it",
            Self::Answer { .. } => {
                "check the address with `ken remote list`; a newer hub may need a newer ken"
            }
        }
    }
}
