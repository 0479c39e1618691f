//! The repository's side of a hub: what is offered, what is taken, what is known of it.
//!
//! Opens no socket: a hub comes in through the port [`ken_remote::Hub`]. Which hubs there are is the user's own
//! configuration of this clone (`ken/remotes.toml` in git's folder), never the repository's: nobody can be made to push
//! by what they cloned. What the hub is known to hold lies untracked in `.ken/.local/remotes/NAME/` and may be lost:
//! that costs one more round and never an event.
//!
//! Invariant: lines travel unchanged in both directions, and what a pull brings is parsed, checked and guarded before
//! it is written.

mod error;
mod file;
mod known;
mod pull;
mod push;

use std::fmt;
use std::str::FromStr;

use ken_remote::Name;

pub use error::RemoteError;
pub use file::{Remote, TokenPlace, TokenSource};
pub use ken_remote::{Address, AddressError, Hub, HubError, Plain, Token, TokenError};
pub use known::{Told, Why};
pub use pull::{Decisions, PullReport};
pub use push::{Again, PushReport};

use crate::engine::Engine;
use crate::error::Error;
use known::Known;

/// The name a remote has where nobody gave it one.
pub const DEFAULT_NAME: &str = "hub";

/// What a remote is called here: it names a folder, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteName(Name);

impl FromStr for RemoteName {
    type Err = RemoteError;

    fn from_str(text: &str) -> Result<Self, RemoteError> {
        let name = text.parse::<Name>().ok();
        // A dot would let it read as another folder, or as none.
        let name = name.filter(|it| !it.as_str().contains('.'));
        name.map(Self)
            .ok_or_else(|| RemoteError::Name(text.to_owned()))
    }
}

impl fmt::Display for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Hears how far a push or pull has come: events done, and of how many where that is known.
pub type Progress<'p> = &'p mut dyn FnMut(usize, Option<usize>);

/// How a clone stands to a remote, as far as it knows without asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How far the hub's log was read, as a cursor is printed.
    pub cursor: String,
    /// Events the hub is known to hold.
    pub held: usize,
    /// Events a push would offer.
    pub waiting: usize,
    /// Events the hub or this clone did not take, with the reasons.
    pub refused: Vec<Told>,
}

impl Engine {
    /// Returns how this clone stands to a remote; asks nobody.
    pub fn remote_standing(&self, remote: &Remote) -> Result<Standing, Error> {
        let known = Known::look(&self.place, remote)?;
        Ok(Standing {
            cursor: known.cursor.to_string(),
            held: known.held_len(),
            waiting: self.to_offer(&known, Again::No)?.len(),
            refused: known.told().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_plain_word() {
        for text in ["hub", "a", "0", "team-2", "x_y"] {
            assert_eq!(text.parse::<RemoteName>().unwrap().to_string(), text);
        }
        let long = "a".repeat(Name::CHARS_MAX + 1);
        for text in ["", "Hub", "-x", "..", "a/b", "a.b", "ä", &long] {
            assert!(text.parse::<RemoteName>().is_err(), "{text}");
        }
    }
}
