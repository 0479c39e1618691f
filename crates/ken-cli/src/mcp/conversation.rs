//! Who asks, and in which conversation: what one is shown must not count as unseen by it.
//!
//! | the conversation is | where |
//! |---|---|
//! | the run `KEN_RUN` or `--run` names | somebody opened it for the agent |
//! | the session the client or the agent names | `Mcp-Session-Id`, `KEN_SESSION`, `CODEX_THREAD_ID` |
//! | the only one the agent has open here | hooks opened it, and tell us nothing |
//! | one of this process | otherwise |
//!
//! A server sees only what it is asked itself, so a run it opens has no witness and confirms nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ken_agents::Agent;
use ken_core::actor::{Actor, Role};
use ken_core::run::Witness;
use ken_engine::runs::Reader;
use ken_engine::{Engine, Error};
use ken_mcp::Caller;

use crate::failure::Failure;
use crate::world::{Surroundings, session_of, world};

/// Characters of a stranger's name that are kept.
const NAME_CHARS_MAX: usize = 64;

/// The conversations of a process.
#[derive(Debug)]
pub(super) struct Conversations {
    /// Whom somebody named on the command line.
    named: Option<Actor>,
    /// What the conversations of this process are told from others by.
    own: String,
    /// The run each agent was found in, which it stays in for as long as that is open.
    joined: Mutex<BTreeMap<Actor, String>>,
}

impl Conversations {
    pub(super) fn new(surroundings: &Surroundings) -> Result<Self, Failure> {
        Ok(Self {
            named: surroundings.named_agent()?,
            own: format!("mcp-{:032x}", world()?.random()),
            joined: Mutex::default(),
        })
    }

    /// Returns who asks: an agent, whatever the client calls itself.
    pub(super) fn agent_of(&self, caller: &Caller) -> Actor {
        if let Some(named) = &self.named {
            return named.clone();
        }
        let name = match Agent::of_client(&caller.client) {
            Some(agent) => agent.name().to_owned(),
            None => plain(&caller.client),
        };
        Actor::from_claim(Role::Agent, &name)
    }

    /// Returns the conversation of this process, where nobody named the one the reader is in. Another program of the same
    /// agent may have been shown what no hook saw: what is found here must not count as found by that one.
    pub(super) fn apart(&self, reader: &Reader, caller: &Caller) -> Option<&str> {
        let is_named = caller.conversation.is_some() || session_of(&reader.agent).is_some();
        (!is_named).then_some(&self.own)
    }

    /// Returns the agent with the conversation it is in, which is opened if it is not.
    ///
    /// Where none can be opened the answer is given all the same: what is not written down confirms nothing.
    pub(super) fn reader(
        &self,
        engine: &mut Engine,
        run: Option<&str>,
        (agent, caller): (Actor, &Caller),
    ) -> Reader {
        let session = caller.conversation.clone().or_else(|| session_of(&agent));
        let run = match (run, &session) {
            (Some(run), _) => Some(run.to_owned()),
            (None, Some(session)) => {
                let opened = engine.converse(&agent, session, Witness::Nobody);
                opened.ok().map(|run| run.id)
            }
            (None, None) => self.guessed(engine, &agent).ok(),
        };
        Reader {
            agent,
            run,
            session: Some(session.unwrap_or_else(|| self.own.clone())),
        }
    }

    fn guessed(&self, engine: &mut Engine, agent: &Actor) -> Result<String, Error> {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = joined.get(agent)
            && engine.run(run).is_ok()
        {
            return Ok(run.clone());
        }
        let run = match engine.only_conversation_of(agent)? {
            Some(only) => only,
            None => engine.converse(agent, &self.own, Witness::Nobody)?.id,
        };
        joined.insert(agent.clone(), run.clone());
        Ok(run)
    }
}

/// Returns a stranger's name in letters everybody can type.
fn plain(name: &str) -> String {
    let letter = |c: char| match c.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&c) {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    let name: String = name.chars().take(NAME_CHARS_MAX).map(letter).collect();
    name.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(client: &str) -> String {
        let conversations = Conversations {
            named: None,
            own: String::new(),
            joined: Mutex::default(),
        };
        let caller = Caller {
            client: client.to_owned(),
            ..Caller::default()
        };
        conversations.agent_of(&caller).to_string()
    }

    #[test]
    fn whoever_asks_is_an_agent() {
        for (client, name) in [
            ("claude-code", "agent:claude-code"),
            ("codex-mcp-client", "agent:codex"),
            ("human:ada@example.org", "agent:human-ada-example.org"),
            ("My Client\n1.0", "agent:my-client-1.0"),
            ("\u{202e}evil", "agent:evil"),
            ("", "agent:unknown"),
            ("///", "agent:unknown"),
        ] {
            assert_eq!(agent(client), name, "{client:?}");
        }
        let long = agent(&"x".repeat(1_000));
        assert_eq!(long.len(), "agent:".len() + NAME_CHARS_MAX);
    }
}
