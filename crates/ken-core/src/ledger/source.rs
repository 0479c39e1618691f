//! Sources of contributions: one author, or everything of one origin.

use std::fmt;
use std::str::FromStr;

use crate::ledger::entry::Entry;
use crate::ledger::event::Origin;
use crate::values::actor::{Actor, ActorError, ActorRole};
use crate::values::text_form::text_form;

/// The word before an origin's name.
const ORIGIN: &str = "origin";

/// An author, such as `peer:other`, or an origin, written `origin:web`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContributionSource {
    Author(Actor),
    Origin(Origin),
}

/// The reason a text is not a valid source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("`{0}` is not a valid origin; write human, agent, ci, import, peer or web")]
    Origin(String),
    #[error(transparent)]
    Actor(#[from] ActorError),
}

impl Origin {
    /// Every origin, most trusted first.
    pub const BY_TRUST: [Self; 6] = [
        Self::Human,
        Self::Ci,
        Self::Agent,
        Self::Import,
        Self::Peer,
        Self::Web,
    ];

    /// Returns the name used in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Ci => "ci",
            Self::Import => "import",
            Self::Peer => "peer",
            Self::Web => "web",
        }
    }

    /// Returns the origin of text written by `actor`.
    pub fn from_actor(actor: &Actor) -> Self {
        match actor.role() {
            ActorRole::Human => Self::Human,
            ActorRole::Agent => Self::Agent,
            ActorRole::Ci => Self::Ci,
            ActorRole::Import => Self::Import,
            ActorRole::Peer => Self::Peer,
        }
    }

    /// Returns whether the origin is outside this workspace.
    pub fn is_foreign(self) -> bool {
        match self {
            Self::Peer | Self::Web => true,
            Self::Human | Self::Agent | Self::Ci | Self::Import => false,
        }
    }

    /// Returns the less trusted of two origins. A combination is only as trusted as its least
    /// trusted part.
    #[must_use]
    pub fn least_trusted(self, other: Self) -> Self {
        let rank = |origin: Self| Self::BY_TRUST.iter().position(|known| *known == origin);
        // A lower position means more trust.
        if rank(self) < rank(other) {
            other
        } else {
            self
        }
    }
}

impl ContributionSource {
    /// Returns whether the entry comes from this source. An author includes its sessions:
    /// `agent:bot` matches `agent:bot/7f3a`.
    pub fn matches_entry(&self, entry: &Entry) -> bool {
        entry.created.as_ref().is_some_and(|created| match self {
            Self::Author(author) => author.covers(&created.by),
            Self::Origin(origin) => created.origin == *origin,
        })
    }
}

impl FromStr for Origin {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let known = Self::BY_TRUST
            .into_iter()
            .find(|origin| origin.name() == text);
        known.ok_or_else(|| SourceError::Origin(text.to_owned()))
    }
}

impl fmt::Display for ContributionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Author(actor) => actor.fmt(f),
            Self::Origin(origin) => write!(f, "{ORIGIN}:{}", origin.name()),
        }
    }
}

impl FromStr for ContributionSource {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once(':') {
            // `origin` is not an actor role, so the two forms cannot be confused.
            Some((ORIGIN, name)) => Ok(Self::Origin(name.parse()?)),
            Some(_) | None => Ok(Self::Author(text.parse()?)),
        }
    }
}

text_form!(
    ContributionSource,
    "Source",
    r"^((human|agent|ci|import|peer):\S{1,128}|origin:(human|agent|ci|import|peer|web))$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_read_back_as_written() {
        for text in ["peer:other", "origin:web", "agent:x/7f"] {
            assert_eq!(
                text.parse::<ContributionSource>().unwrap().to_string(),
                text
            );
        }
        for bad in ["origin:moon", "web", "origin:"] {
            assert!(bad.parse::<ContributionSource>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_least_trusted_of_two_is_the_same_either_way() {
        for a in Origin::BY_TRUST {
            assert_eq!(a.least_trusted(a), a);
            for b in Origin::BY_TRUST {
                assert_eq!(a.least_trusted(b), b.least_trusted(a));
                assert_eq!(a.least_trusted(Origin::Web), Origin::Web);
            }
        }
        assert_eq!(Origin::Human.least_trusted(Origin::Agent), Origin::Agent);
        assert_eq!(Origin::Ci.least_trusted(Origin::Agent), Origin::Agent);
    }
}
