//! Actors: the authors of events.
//!
//! An actor's name is a claim. Nothing in this crate authenticates it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::values::text::escape_invisible;
use crate::values::text_form::text_form;

/// The author of an event, such as `human:ada@example.org`, `agent:claude-code/7f3a` or
/// `ci:github`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    role: ActorRole,
    name: String,
}

/// The class of an actor. Only a human may approve, redact or override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActorRole {
    Human,
    Agent,
    Ci,
    Import,
    Peer,
}

/// The reason a text is not a valid actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActorError {
    #[error("`{0}` is not a valid actor; write human:…, agent:…, ci:…, import:… or peer:…")]
    Role(String),
    #[error("an actor's name has 1 to {max} visible characters and no spaces", max = Actor::NAME_BYTES_MAX)]
    Name,
}

impl Actor {
    /// Maximum length of a name in bytes.
    pub const NAME_BYTES_MAX: usize = 128;

    /// Creates an actor from an untrusted name, such as a git author.
    ///
    /// Whitespace and control characters become `-`; the name is truncated to
    /// [`Self::NAME_BYTES_MAX`].
    pub fn from_claim(role: ActorRole, name: &str) -> Self {
        let visible = |c: char| {
            if c.is_whitespace() || c.is_control() {
                '-'
            } else {
                c
            }
        };
        let mut name: String = name.trim().chars().map(visible).collect();
        // `pop` removes whole characters, so the cut never splits a UTF-8 sequence as `truncate`
        // could.
        while name.len() > Self::NAME_BYTES_MAX {
            name.pop();
        }
        // The parser rejects an empty name, so the result must not have one.
        if name.is_empty() {
            name.push_str("unknown");
        }
        Self { role, name }
    }

    /// Creates an actor from the subject that an identity provider asserts.
    ///
    /// The subject identifies somebody, so nothing is trimmed, replaced or cut: two subjects must
    /// never become one actor. The exception is case: an e-mail address is folded to lower case,
    /// because providers and git spell the same address differently.
    pub fn from_subject(role: ActorRole, subject: &str) -> Result<Self, ActorError> {
        let is_hidden = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
        if escape_invisible(subject) != subject || subject.chars().any(is_hidden) {
            return Err(ActorError::Name);
        }
        format!("{}:{}", role.name(), fold_address(subject)).parse()
    }

    /// Returns whether both are the same person: equal names, where the case of an e-mail address
    /// does not matter.
    pub fn is_same_person(&self, other: &Self) -> bool {
        self.role == other.role && fold_address(&self.name) == fold_address(&other.name)
    }

    /// Returns the role, the word before the colon.
    pub fn role(&self) -> ActorRole {
        self.role
    }

    /// Returns the name after the colon.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the actor claims to be a human.
    pub fn is_human(&self) -> bool {
        self.role == ActorRole::Human
    }

    /// Returns whether `other` is this actor or one of its sessions: `agent:bot` covers
    /// `agent:bot/7f3a`.
    pub fn covers(&self, other: &Self) -> bool {
        // The `/` keeps `agent:bot` from covering the unrelated `agent:bot2`.
        let suffix = other.name.strip_prefix(&self.name);
        self.role == other.role
            && suffix.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the agent that `client` is while it uses the token of this person:
    /// `agent:human:ada@example.org/claude-code`.
    #[must_use]
    pub fn client(&self, client: &str) -> Self {
        Self::from_claim(ActorRole::Agent, &format!("{self}/{client}"))
    }

    /// Returns whether the actor is a client of a person ([`Self::client`]), whoever that is.
    pub fn is_client(&self) -> bool {
        let person = self.name.strip_prefix(ActorRole::Human.name());
        self.role == ActorRole::Agent && person.is_some_and(|rest| rest.starts_with(':'))
    }

    /// Returns whether the actor is a person or the MCP client of one: nobody else speaks for it.
    pub fn acts_for_person(&self) -> bool {
        self.is_human() || self.is_client()
    }

    /// Returns whether the actor is a client of `person`.
    pub fn is_client_of(&self, person: &Self) -> bool {
        let rest = self.name.strip_prefix(&person.to_string());
        person.is_human() && self.is_client() && rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the actor without its session: `agent:bot` for `agent:bot/7f3a`.
    #[must_use]
    pub fn without_session(&self) -> Self {
        let base = self.name.split('/').next();
        // `agent:/x` has an empty first part, which is not a valid name; keep such a name whole.
        let name = base.filter(|part| !part.is_empty()).unwrap_or(&self.name);
        Self {
            role: self.role,
            name: name.to_owned(),
        }
    }
}

/// Folds the case of a name that is an e-mail address. Other names may differ by case only.
fn fold_address(name: &str) -> Cow<'_, str> {
    if name.contains('@') {
        name.to_lowercase().into()
    } else {
        name.into()
    }
}

impl ActorRole {
    const ALL: [Self; 5] = [Self::Human, Self::Agent, Self::Ci, Self::Import, Self::Peer];

    /// Returns the word before the colon, as written in events.
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
        let role = ActorRole::ALL
            .into_iter()
            .find(|known| known.name() == role)
            .ok_or_else(|| ActorError::Role(text.to_owned()))?;
        // Control characters in a name could rewrite a terminal that prints the author.
        let has_hidden = name.chars().any(|c| c.is_whitespace() || c.is_control());
        if name.is_empty() || name.len() > Self::NAME_BYTES_MAX || has_hidden {
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
            assert_eq!(actor(text).without_session(), actor(family), "{text}");
        }
    }

    #[test]
    fn a_subject_is_refused_rather_than_repaired() {
        let subject = |text: &str| {
            let actor = Actor::from_subject(ActorRole::Human, text);
            actor.map(|it| it.to_string()).ok()
        };
        for (text, actor) in [
            ("ada@example.org", Some("human:ada@example.org")),
            ("Ada@Example.ORG", Some("human:ada@example.org")),
            ("u-17", Some("human:u-17")),
            ("U-17", Some("human:U-17")),
            ("", None),
            (" ada@example.org ", None),
            ("ada@example.org\n", None),
            ("ada\u{200b}@example.org", None),
            ("ada\u{200d}@example.org", None),
            ("ada\u{7}@example.org", None),
        ] {
            assert_eq!(subject(text).as_deref(), actor, "{text:?}");
        }
        let long = "a".repeat(Actor::NAME_BYTES_MAX);
        assert!(subject(&long).is_some() && subject(&format!("{long}a")).is_none());
    }

    #[test]
    fn the_case_of_an_address_makes_no_other_person() {
        let actor = |text: &str| text.parse::<Actor>().unwrap();
        for (one, other, same) in [
            ("human:Ada@acme.example", "human:ada@Acme.example", true),
            ("human:ada@acme.example", "human:eve@acme.example", false),
            ("human:ada@acme.example", "agent:ada@acme.example", false),
            ("human:U-17", "human:u-17", false),
        ] {
            assert_eq!(actor(one).is_same_person(&actor(other)), same, "{one}");
        }
    }

    #[test]
    fn a_client_belongs_to_one_person_and_no_agent_covers_it() {
        let actor = |text: &str| text.parse::<Actor>().unwrap();
        let ada = actor("human:ada@example.org");
        let client = ada.client("claude-code");
        assert_eq!(
            client.to_string(),
            "agent:human:ada@example.org/claude-code"
        );
        assert!(client.is_client() && client.is_client_of(&ada));
        assert!(!client.is_client_of(&actor("human:ada@example.or")));
        assert!(!actor("agent:claude-code/ada@example.org").is_client_of(&ada));
        for other in [
            "agent:claude-code",
            "agent:ada@example.org",
            "human:ada@example.org",
            "agent:humans",
        ] {
            let other = actor(other);
            assert!(!other.covers(&client) && !other.is_client(), "{other}");
        }
        // The one agent that covers it is a client itself, which no token may be.
        assert!(actor("agent:human:ada@example.org").is_client());
    }

    #[test]
    fn a_claimed_name_always_fits() {
        let long = "é ".repeat(200);
        let actor = Actor::from_claim(ActorRole::Human, &long);
        assert_eq!(actor.to_string().parse(), Ok(actor));
        assert_eq!(
            Actor::from_claim(ActorRole::Human, "  ").to_string(),
            "human:unknown"
        );
    }
}
