//! Names of runs: given by a user, or derived from agent and session.

use crate::values::actor::Actor;

/// Prefix of implicit runs, which Ken creates for reads outside any run.
pub const IMPLICIT_PREFIX: &str = "I-";

/// Prefix of runs that are agent sessions.
pub const SESSION_PREFIX: &str = "C-";

/// Maximum length of a run name, in bytes.
pub const RUN_NAME_BYTES_MAX: usize = 64;

/// Hexadecimal digits of an implicit run's name.
const IMPLICIT_DIGITS: usize = 16;

/// Hexadecimal digits of a session's run name.
const SESSION_DIGITS: usize = 24;

/// Returns whether `id` is a valid run name: ASCII letters, digits, `-` and `_`.
pub fn is_run_name(id: &str) -> bool {
    // Run names become file names, so separators and dots would allow path traversal.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=RUN_NAME_BYTES_MAX).contains(&id.len()) && id.chars().all(is_plain)
}

/// Returns the name of the implicit run for reads of `agent` in `session`.
pub fn implicit_run_name(agent: &Actor, session: Option<&str>) -> String {
    hashed_name(
        IMPLICIT_PREFIX,
        IMPLICIT_DIGITS,
        agent,
        session.unwrap_or_default(),
    )
}

/// Returns the run name of an agent session.
pub fn session_run_name(agent: &Actor, session: &str) -> String {
    hashed_name(SESSION_PREFIX, SESSION_DIGITS, agent, session)
}

fn hashed_name(prefix: &str, digits: usize, agent: &Actor, session: &str) -> String {
    // Session ids are chosen by the agent's vendor and may contain anything; hashing makes them
    // valid.
    let mut hasher = blake3::Hasher::new();
    for part in [agent.to_string().as_str(), session] {
        hasher.update(part.as_bytes());
        // The separator keeps ("ab", "c") and ("a", "bc") apart.
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
        let one = implicit_run_name(&agent, None);
        assert_eq!(one.len(), IMPLICIT_PREFIX.len() + IMPLICIT_DIGITS);
        assert_eq!(one, implicit_run_name(&agent, Some("")));
        assert_ne!(one, implicit_run_name(&agent, Some("s")));
        let other = session_run_name(&agent, "s");
        assert!(other.starts_with(SESSION_PREFIX) && is_run_name(&other));
    }

    #[test]
    fn what_cannot_be_typed_is_no_name() {
        for bad in ["", "../x", "a/b", ".", "a b", "é", &"x".repeat(65)] {
            assert!(!is_run_name(bad), "{bad}");
        }
        assert!(is_run_name("R-0123_x"));
    }
}
