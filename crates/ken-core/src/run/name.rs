//! The names of runs: those somebody gives, and those that follow from who is shown something.

use crate::actor::Actor;

/// How the names of runs begin that Ken makes for whoever reads outside any; nobody else's do.
pub const IMPLICIT: &str = "I-";

/// How the names of runs begin that are conversations.
pub const CONVERSATION: &str = "C-";

/// Bytes a run's name may have.
pub const BYTES_MAX: usize = 64;

/// Hexadecimal digits of an implicit run's name.
const IMPLICIT_DIGITS: usize = 16;

/// Hexadecimal digits of a conversation's name.
const CONVERSATION_DIGITS: usize = 24;

/// Returns whether a run may be called this: letters, digits, `-` and `_`.
pub fn is_name(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=BYTES_MAX).contains(&id.len()) && id.chars().all(is_plain)
}

/// Returns the name of the run that what `agent` reads in `session` belongs to, outside any other.
pub fn implicit(agent: &Actor, session: Option<&str>) -> String {
    named(
        IMPLICIT,
        IMPLICIT_DIGITS,
        agent,
        session.unwrap_or_default(),
    )
}

/// Returns the name of a conversation's run; a session's own name is somebody else's text.
pub fn conversation(agent: &Actor, session: &str) -> String {
    named(CONVERSATION, CONVERSATION_DIGITS, agent, session)
}

fn named(prefix: &str, digits: usize, agent: &Actor, session: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [agent.to_string().as_str(), session] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    format!("{prefix}{}", &hasher.finalize().to_hex()[..digits])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_agent_and_session() {
        let agent: Actor = "agent:a".parse().expect("an actor");
        let one = implicit(&agent, None);
        assert_eq!(one.len(), IMPLICIT.len() + IMPLICIT_DIGITS);
        assert_eq!(one, implicit(&agent, Some("")));
        assert_ne!(one, implicit(&agent, Some("s")));
        let other = conversation(&agent, "s");
        assert!(other.starts_with(CONVERSATION) && is_name(&other));
    }

    #[test]
    fn what_cannot_be_typed_is_no_name() {
        for bad in ["", "../x", "a/b", ".", "a b", "é", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
        assert!(is_name("R-0123_x"));
    }
}
