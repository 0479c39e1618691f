//! Opaque ids of people, for ledgers that contain no names.
//!
//! `human:p-7k2f5qm3w9ab` is an ordinary actor: every reader, older ones included, parses, compares
//! and stores it like a name. Whose id it is stands in one erasable place outside the events.

use std::fmt;
use std::str::FromStr;

use crate::values::actor::{Actor, ActorRole};
use crate::values::base32;
use crate::values::text_form::text_form;

/// The opaque id of a person: `p-` and twelve random base-32 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersonId(u64);

/// The reason a text is not a valid id of a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of a person, such as p-7k2f5qm3w9ab")]
pub struct PersonIdError(String);

impl PersonId {
    const PREFIX: &str = "p-";

    /// Number of random characters. Their 60 bits make a collision unlikely among any number of
    /// people who work together.
    const TAIL_CHARS: usize = 12;

    /// Creates an id from the low 60 bits of `random`. Nothing about the person enters it: a hash
    /// of an address could be found out by hashing known addresses.
    pub fn new(random: u128) -> Self {
        Self((random & ((1 << (5 * Self::TAIL_CHARS)) - 1)) as u64)
    }

    /// Returns the id that an actor is named by; `None` if it is named otherwise.
    pub fn of(actor: &Actor) -> Option<Self> {
        actor.name().parse().ok().filter(|_| actor.is_human())
    }

    /// Returns the actor of this person.
    pub fn actor(self) -> Actor {
        Actor::from_claim(ActorRole::Human, &self.to_string())
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tail = base32::encode::<{ Self::TAIL_CHARS }>(u128::from(self.0));
        let tail = std::str::from_utf8(&tail).expect("base 32 is ASCII");
        write!(f, "{}{tail}", Self::PREFIX)
    }
}

impl FromStr for PersonId {
    type Err = PersonIdError;

    fn from_str(text: &str) -> Result<Self, PersonIdError> {
        let tail = text.strip_prefix(Self::PREFIX);
        let tail = tail.filter(|it| it.len() == Self::TAIL_CHARS);
        let tail = tail.filter(|it| it.bytes().all(base32::is_lower_digit));
        tail.and_then(base32::decode)
            .map(|value| Self(value as u64))
            .ok_or_else(|| PersonIdError(text.to_owned()))
    }
}

text_form!(PersonId, "PersonId", "^p-[0-9a-hjkmnp-tv-z]{12}$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_person_is_an_actor_that_older_readers_parse() {
        let id = PersonId::new(u128::MAX / 3);
        assert_eq!(id.to_string().parse(), Ok(id));
        let actor = id.actor();
        assert_eq!(actor.to_string().parse(), Ok(actor.clone()));
        assert!(actor.is_human());
        assert_eq!(PersonId::of(&actor), Some(id));
    }

    #[test]
    fn other_names_are_no_ids() {
        for text in [
            "human:ada@example.org",
            "human:p-7K2F5QM3W9AB",
            "human:p-7k2f5qm3w9a",
            "human:p-7k2f5qm3w9abc",
            "human:p-7k2f5qm3w9al",
            "human:7k2f5qm3w9ab",
            "agent:p-7k2f5qm3w9ab",
        ] {
            let actor: Actor = text.parse().unwrap();
            assert_eq!(PersonId::of(&actor), None, "{text}");
        }
    }
}
