//! Whose contributions are meant: one author's, or everything of an origin.

use std::fmt;
use std::str::FromStr;

use crate::actor::{Actor, ActorError, Role};
use crate::entry::Entry;
use crate::event::Origin;
use crate::text_form::text_form;

/// The word before an origin's name.
const ORIGIN: &str = "origin";

/// An author, such as `peer:other`, or an origin, written `origin:web`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Author(Actor),
    Origin(Origin),
}

/// Why a text names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("`{0}` is no origin; write human, agent, ci, import, peer or web")]
    Origin(String),
    #[error(transparent)]
    Actor(#[from] ActorError),
}

impl Origin {
    /// Every origin, the most trusted first.
    pub const BY_TRUST: [Self; 6] = [
        Self::Human,
        Self::Ci,
        Self::Agent,
        Self::Import,
        Self::Peer,
        Self::Web,
    ];

    /// Returns the word used in events.
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

    /// Returns where text of `actor` comes from.
    pub fn of(actor: &Actor) -> Self {
        match actor.role() {
            Role::Human => Self::Human,
            Role::Agent => Self::Agent,
            Role::Ci => Self::Ci,
            Role::Import => Self::Import,
            Role::Peer => Self::Peer,
        }
    }

    /// Returns whether entries of it come from outside this workspace.
    pub fn is_foreign(self) -> bool {
        match self {
            Self::Peer | Self::Web => true,
            Self::Human | Self::Agent | Self::Ci | Self::Import => false,
        }
    }

    /// Returns the less trusted of two: what is made from several things is worth no more than the worst of them.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        let rank = |it: Self| Self::BY_TRUST.iter().position(|known| *known == it);
        if rank(self) < rank(other) {
            other
        } else {
            self
        }
    }
}

impl Source {
    /// Returns whether an entry comes from here: of an author also what its conversations wrote, `agent:bot/7f3a` for
    /// `agent:bot`.
    pub fn made(&self, entry: &Entry) -> bool {
        entry.created.as_ref().is_some_and(|created| match self {
            Self::Author(author) => author.covers(&created.by),
            Self::Origin(origin) => created.origin == *origin,
        })
    }
}

impl FromStr for Origin {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let known = Self::BY_TRUST.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| SourceError::Origin(text.to_owned()))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Author(actor) => actor.fmt(f),
            Self::Origin(origin) => write!(f, "{ORIGIN}:{}", origin.name()),
        }
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once(':') {
            Some((ORIGIN, name)) => Ok(Self::Origin(name.parse()?)),
            Some(_) | None => Ok(Self::Author(text.parse()?)),
        }
    }
}

text_form!(
    Source,
    "Source",
    r"^((human|agent|ci|import|peer):\S{1,128}|origin:(human|agent|ci|import|peer|web))$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_read_back_as_written() {
        for text in ["peer:other", "origin:web", "agent:x/7f"] {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
        for bad in ["origin:moon", "web", "origin:"] {
            assert!(bad.parse::<Source>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_least_trusted_of_two_is_the_same_either_way() {
        for a in Origin::BY_TRUST {
            assert_eq!(a.least(a), a);
            for b in Origin::BY_TRUST {
                assert_eq!(a.least(b), b.least(a));
                assert_eq!(a.least(Origin::Web), Origin::Web);
            }
        }
        assert_eq!(Origin::Human.least(Origin::Agent), Origin::Agent);
        assert_eq!(Origin::Ci.least(Origin::Agent), Origin::Agent);
    }
}
