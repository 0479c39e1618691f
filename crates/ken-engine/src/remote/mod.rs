//! Push and pull: the client side of a hub.
//!
//! Opens no socket: a hub is accessed through [`ken_remote::HubClient`]. Remotes are user
//! configuration of one clone (`ken/remotes.toml` in the git directory), never part of the
//! repository: cloning a repository must not make a user push to an address. The events a hub is
//! known to have are recorded untracked in `.ken/.local/remotes/NAME/`. Losing that record costs
//! one round trip and never an event.
//!
//! Invariant: lines are transferred unchanged in both directions, and pulled lines are parsed,
//! checked and scanned by the guard before they are written.

mod error;
pub(crate) mod file;
pub(crate) mod pull;
pub(crate) mod push;
mod state;

use std::fmt;
use std::str::FromStr;

use ken_remote::HubName;

pub use error::RemoteError;
pub use file::{Remote, TokenLocation, TokenSource, exposed_token_file};
pub use ken_remote::{
    HubAddress, HubAddressError, HubClient, HubError, HubToken, HubTokenError, PlaintextPolicy,
};
pub use pull::{DecisionCounts, PullReport};
pub use push::{PushReport, PushSelection};
pub use state::{RejectedEvent, RejectionKind};

use crate::engine::Engine;
use crate::error::EngineError;
use state::RemoteState;

/// The name of a remote that was added without one.
pub const DEFAULT_NAME: &str = "hub";

/// The name of a remote in this clone; also the name of its state folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteName(HubName);

impl FromStr for RemoteName {
    type Err = RemoteError;

    fn from_str(text: &str) -> Result<Self, RemoteError> {
        let name = text.parse::<HubName>().ok();
        // With a dot, names such as `..` would leave the state folder.
        let name = name.filter(|it| !it.as_str().contains('.'));
        name.map(Self)
            .ok_or_else(|| RemoteError::InvalidName(text.to_owned()))
    }
}

impl fmt::Display for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Receives the number of transferred events and, if known, the total.
pub type ProgressCallback<'p> = &'p mut dyn FnMut(usize, Option<usize>);

/// The state of a remote as recorded in this clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteStatus {
    /// Position in the hub's log up to which events were pulled, in printed form.
    pub cursor: String,
    /// Number of events the hub is known to have.
    pub on_hub: usize,
    /// Number of events a push would send.
    pub to_push: usize,
    /// Events the hub or this clone did not accept, with reasons.
    pub rejected: Vec<RejectedEvent>,
}

/// Returns the recorded state of a remote without a request to the hub.
pub(crate) fn remote_status(engine: &Engine, remote: &Remote) -> Result<RemoteStatus, EngineError> {
    let known = RemoteState::open_read_only(&engine.place, remote)?;
    Ok(RemoteStatus {
        cursor: known.cursor.to_string(),
        on_hub: known.known_len(),
        to_push: push::events_to_push(engine, &known, PushSelection::New)?.len(),
        rejected: known.rejections().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_plain_word() {
        for text in ["hub", "a", "0", "team-2", "x_y"] {
            assert_eq!(text.parse::<RemoteName>().unwrap().to_string(), text);
        }
        let long = "a".repeat(HubName::CHARS_MAX + 1);
        for text in ["", "Hub", "-x", "..", "a/b", "a.b", "ä", &long] {
            assert!(text.parse::<RemoteName>().is_err(), "{text}");
        }
    }
}
