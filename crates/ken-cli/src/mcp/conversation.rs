//! Sessions of MCP callers. An entry shown in a session must not count as unseen by it.
//!
//! The session of a call is the first of:
//!
//! | session | source |
//! |---|---|
//! | the run named by `KEN_RUN` or `--run` | it was opened for the agent |
//! | the session the client or agent names | `Mcp-Session-Id`, `KEN_SESSION`, `CODEX_THREAD_ID` |
//! | the only session the agent has open here | hooks opened it without informing the server |
//! | a session of this process | otherwise |
//!
//! A server sees only its own calls. A run it opens therefore has no witness and confirms nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ken_agents::CodingAgent;
use ken_core::trust::run::RunWitness;
use ken_core::values::actor::{Actor, ActorRole};
use ken_engine::runs::EntryReader;
use ken_engine::{Engine, EngineError};
use ken_mcp::McpCaller;

use crate::failure::CommandFailure;
use crate::world::{Environment, runtime, session_for};

/// Maximum characters kept of an unknown client's name.
const NAME_CHARS_MAX: usize = 64;

/// The sessions served by this process.
#[derive(Debug)]
pub(super) struct AgentSessions {
    /// The agent named on the command line.
    named: Option<Actor>,
    /// The session id of this process.
    own: String,
    /// The run inferred for each agent; it is kept as long as the run is open.
    joined: Mutex<BTreeMap<Actor, String>>,
}

impl AgentSessions {
    pub(super) fn new(environment: &Environment) -> Result<Self, CommandFailure> {
        Ok(Self {
            named: environment.named_agent()?,
            // 128 random bits: two servers of the same agent must not share a session.
            own: format!("mcp-{:032x}", runtime()?.random()),
            joined: Mutex::default(),
        })
    }

    /// Returns the caller as an agent, regardless of the name the client claims.
    pub(super) fn agent_of(&self, caller: &McpCaller) -> Actor {
        // A client calling itself `human:…` must not gain the rights of a person.
        if let Some(named) = &self.named {
            return named.clone();
        }
        let name = match CodingAgent::from_client_name(&caller.client) {
            Some(agent) => agent.name().to_owned(),
            None => sanitize_name(&caller.client),
        };
        Actor::from_claim(ActorRole::Agent, &name)
    }

    /// Returns the session of this process if the reader's session was not named.
    ///
    /// Another process of the same agent may have been shown entries that no hook reported. A
    /// finding from here must not count as an independent finding of that process.
    pub(super) fn apart(&self, reader: &EntryReader, caller: &McpCaller) -> Option<&str> {
        let is_named = caller.conversation.is_some() || session_for(&reader.agent).is_some();
        (!is_named).then_some(&self.own)
    }

    /// Returns the agent with its session, which is opened if necessary.
    ///
    /// If no session can be opened, the call is answered anyway: without a recorded run, nothing
    /// is confirmed.
    pub(super) fn reader(
        &self,
        engine: &mut Engine,
        run: Option<&str>,
        (agent, caller): (Actor, &McpCaller),
    ) -> EntryReader {
        let session = caller.conversation.clone().or_else(|| session_for(&agent));
        let run = match (run, &session) {
            (Some(run), _) => Some(run.to_owned()),
            (None, Some(session)) => {
                // No witness: the agent may read files that this server never sees.
                let opened = engine.ensure_session_run(&agent, session, RunWitness::Nobody);
                opened.ok().map(|run| run.id)
            }
            (None, None) => self.guessed(engine, &agent).ok(),
        };
        EntryReader {
            agent,
            run,
            session: Some(session.unwrap_or_else(|| self.own.clone())),
        }
    }

    fn guessed(&self, engine: &mut Engine, agent: &Actor) -> Result<String, EngineError> {
        // Once inferred, the run stays: a second session that opens later must not take over the
        // exposures of this one.
        let mut runs = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.get(agent)
            && engine.run(run).is_ok()
        {
            return Ok(run.clone());
        }
        let run = match engine.only_session_run(agent)? {
            Some(only) => only,
            None => {
                engine
                    .ensure_session_run(agent, &self.own, RunWitness::Nobody)?
                    .id
            }
        };
        runs.insert(agent.clone(), run.clone());
        Ok(run)
    }
}

/// Replaces every character of a client's name except ASCII letters, digits, `.`, `_` and `-`.
fn sanitize_name(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&c) {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let mapped: String = name.chars().take(NAME_CHARS_MAX).map(letter).collect();
    mapped.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(client: &str) -> String {
        let sessions = AgentSessions {
            named: None,
            own: String::new(),
            joined: Mutex::default(),
        };
        let caller = McpCaller {
            client: client.to_owned(),
            ..McpCaller::default()
        };
        sessions.agent_of(&caller).to_string()
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
