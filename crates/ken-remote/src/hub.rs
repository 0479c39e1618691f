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

/// Why a hub did not do what was asked, and which hub: its address without the workspace.
///
/// Our own words, and behind them, as `told`, what the hub said itself: short, on one line, empty where it said nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HubError {
    #[error("cannot reach `{hub}`: {why}")]
    Unreachable { hub: String, why: &'static str },
    #[error("`{hub}` does not accept this token{}", said(.told))]
    Token { hub: String, told: String },
    #[error("this token may not do that at `{hub}`{}", said(.told))]
    Forbidden { hub: String, told: String },
    #[error("`{hub}` takes no more{}", said(.told))]
    Quota { hub: String, told: String },
    #[error("`{hub}` has no workspace `{workspace}` for this token")]
    NoWorkspace { hub: String, workspace: String },
    #[error("`{hub}` does not know this place in its log")]
    CursorUnknown { hub: String },
    #[error("`{hub}` was asked too much at once{}", said(.told))]
    Busy { hub: String, told: String },
    #[error("`{hub}` cannot answer just now{}", said(.told))]
    Unavailable { hub: String, told: String },
    #[error("`{hub}` takes less at once than was sent{}", said(.told))]
    TooLarge { hub: String, told: String },
    #[error("`{hub}` answered with status {status}{}", said(.told))]
    Refused {
        hub: String,
        status: u16,
        told: String,
    },
    #[error("`{hub}` did not answer as a hub does: {why}")]
    Answer { hub: String, why: &'static str },
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
            Self::Quota { .. } => {
                "nothing is lost: what it did not take waits here and is offered again with the next push"
            }
            Self::NoWorkspace { .. } => {
                "`ken remote list` shows the address; an administrator makes a workspace with `ken hub workspace add`"
            }
            Self::CursorUnknown { .. } => {
                "the hub was restored from an older backup; `ken sync --remote` starts over"
            }
            Self::Busy { .. } | Self::Unavailable { .. } => {
                "nothing is lost; wait a little, the next run goes on where this one ended"
            }
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

fn said(told: &str) -> String {
    match told {
        "" => String::new(),
        told => format!(": {told}"),
    }
}
