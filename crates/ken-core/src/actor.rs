//! Who did something. The name is a claim until something else proves it.

use std::fmt;
use std::str::FromStr;

use crate::text_form::text_form;

/// Who an event is by: `human:ada@example.org`, `agent:claude-code/7f3a`, `ci:…`, `import:…`, `peer:…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    role: Role,
    name: String,
}

/// What kind of actor it is; only a person may approve, blank or override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Human,
    Agent,
    Ci,
    Import,
    Peer,
}

/// Why a text names no actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActorError {
    #[error("`{0}` names no actor; write human:…, agent:…, ci:…, import:… or peer:…")]
    Role(String),
    #[error("an actor's name has 1 to {max} visible characters and no spaces", max = Actor::NAME_BYTES_MAX)]
    Name,
}

impl Actor {
    /// Bytes a name may have.
    pub const NAME_BYTES_MAX: usize = 128;

    /// Makes an actor, replacing what a name may not contain by `-`.
    ///
    /// For names that come from outside, such as a git author.
    pub fn from_claim(role: Role, name: &str) -> Self {
        let visible = |c: char| {
            if c.is_whitespace() || c.is_control() {
                '-'
            } else {
                c
            }
        };
        let mut name: String = name.trim().chars().map(visible).collect();
        while name.len() > Self::NAME_BYTES_MAX {
            name.pop();
        }
        if name.is_empty() {
            name.push_str("unknown");
        }
        Self { role, name }
    }

    /// Returns what kind of actor it is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the name behind the colon.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the actor claims to be a person.
    pub fn is_human(&self) -> bool {
        self.role == Role::Human
    }

    /// Returns whether `other` is this one or below it: `agent:bot` is also `agent:bot/7f3a`, one of its conversations.
    pub fn covers(&self, other: &Self) -> bool {
        let below = other.name.strip_prefix(&self.name);
        self.role == other.role && below.is_some_and(|it| it.is_empty() || it.starts_with('/'))
    }

    /// Returns the one that stands for all whose names begin alike: `agent:bot` for `agent:bot/7f3a`.
    #[must_use]
    pub fn family(&self) -> Self {
        let name = self.name.split('/').next();
        let name = name.filter(|it| !it.is_empty()).unwrap_or(&self.name);
        Self {
            role: self.role,
            name: name.to_owned(),
        }
    }
}

impl Role {
    const ALL: [Self; 5] = [Self::Human, Self::Agent, Self::Ci, Self::Import, Self::Peer];

    /// Returns the word before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Ci => "ci",
            Self::Import => "import",
            Self::Peer => "peer",
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.role.name(), self.name)
    }
}

impl FromStr for Actor {
    type Err = ActorError;

    fn from_str(text: &str) -> Result<Self, ActorError> {
        let (role, name) = text
            .split_once(':')
            .ok_or_else(|| ActorError::Role(text.to_owned()))?;
        let role = Role::ALL
            .into_iter()
            .find(|known| known.name() == role)
            .ok_or_else(|| ActorError::Role(text.to_owned()))?;
        let hidden = name.chars().any(|c| c.is_whitespace() || c.is_control());
        if name.is_empty() || name.len() > Self::NAME_BYTES_MAX || hidden {
            return Err(ActorError::Name);
        }
        Ok(Self {
            role,
            name: name.to_owned(),
        })
    }
}

text_form!(Actor, "Actor", r"^(human|agent|ci|import|peer):\S{1,128}$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_parse_or_say_why() {
        let ada: Actor = "human:ada@example.org".parse().unwrap();
        assert!(ada.is_human());
        assert_eq!(ada.to_string(), "human:ada@example.org");
        for bad in ["ada", "robot:x", "human:", "human:a b", "agent:\u{7}"] {
            assert!(bad.parse::<Actor>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_actor_covers_itself_and_what_is_below_it() {
        let actor = |text: &str| text.parse::<Actor>().unwrap();
        let bot = actor("agent:bot");
        for (other, covered) in [
            ("agent:bot", true),
            ("agent:bot/7f3a", true),
            ("agent:bot/7f3a/2", true),
            ("agent:bot/", true),
            ("agent:bot2", false),
            ("agent:bo", false),
            ("ci:bot", false),
            ("human:bot/x", false),
            ("agent:other/bot", false),
        ] {
            assert_eq!(bot.covers(&actor(other)), covered, "{other}");
        }
        assert!(!actor("agent:bot/7f3a").covers(&bot));
        assert!(!actor("agent:bot/7").covers(&actor("agent:bot/7f3a")));
        for (text, family) in [
            ("agent:bot", "agent:bot"),
            ("agent:bot/7f3a/2", "agent:bot"),
            ("ci:bot/x", "ci:bot"),
            ("agent:/x", "agent:/x"),
        ] {
            assert_eq!(actor(text).family(), actor(family), "{text}");
        }
    }

    #[test]
    fn a_claimed_name_always_fits() {
        let long = "é ".repeat(200);
        let actor = Actor::from_claim(Role::Human, &long);
        assert_eq!(actor.to_string().parse(), Ok(actor));
        assert_eq!(
            Actor::from_claim(Role::Human, "  ").to_string(),
            "human:unknown"
        );
    }
}
