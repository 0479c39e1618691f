//! What each agent's configuration calls Ken's server and Ken's hooks.

use super::What;
use super::json::{Json, list, object, text};
use super::members::{Entry, HOOK};
use crate::{Agent, Moment};

/// The name Ken's server has in every configuration.
pub(super) const NAME: &str = "ken";
/// Seconds an agent waits for a hook; Ken answers within a twentieth of one.
const WAIT_S: u64 = 10;

/// Returns the entry that starts Ken's server, below the names that lead to it.
pub(super) fn server(agent: Agent) -> Entry {
    let (above, value) = match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::Cursor | Agent::Copilot | Agent::Gemini => {
            ("mcpServers", command())
        }
        Agent::Opencode => ("mcp", local()),
        Agent::Zed => ("context_servers", command()),
    };
    Entry {
        what: What::Server,
        path: vec![above],
        key: Some(NAME),
        value,
    }
}

fn command() -> Json {
    object([("command", text(NAME)), ("args", list([text("mcp")]))])
}

fn local() -> Json {
    object([
        ("type", text("local")),
        ("command", list([text(NAME), text("mcp")])),
        ("enabled", Json::Bool(true)),
    ])
}

/// Returns the entries that run Ken's hooks, one for every moment the agent has a hook for.
pub(super) fn hooks(agent: Agent) -> Vec<Entry> {
    let known = Moment::ALL.into_iter().filter_map(|moment| {
        let event = hook_event(agent, moment)?;
        Some(Entry {
            what: What::Hooks,
            path: vec!["hooks", event],
            key: None,
            value: hook(agent, moment)?,
        })
    });
    known.collect()
}

/// Returns the event a hook is written under; `None` where the agent knows no such event.
fn hook_event(agent: Agent, moment: Moment) -> Option<&'static str> {
    match (agent, moment) {
        // Its tool event comes for tools that failed, too.
        (Agent::Codex, Moment::Failure) => None,
        (_, moment) => agent.event(moment),
    }
}

/// Returns what is written under an event.
fn hook(agent: Agent, moment: Moment) -> Option<Json> {
    let (name, moment_name) = (agent.name(), moment.name());
    let run = text(format!("{HOOK}{name} {moment_name}"));
    let group = |handler: Json| object([("hooks", list([handler]))]);
    let kind = || text("command");
    match agent {
        Agent::ClaudeCode => {
            let mut handler = vec![
                ("type", kind()),
                ("command", run),
                ("timeout", Json::Number(WAIT_S)),
            ];
            if moment == Moment::End {
                // Nobody waits for what is written down about a conversation that is over.
                handler.push(("async", Json::Bool(true)));
            }
            Some(group(members(handler)))
        }
        Agent::Codex => Some(group(object([
            ("type", kind()),
            ("command", run),
            ("timeout", Json::Number(WAIT_S)),
        ]))),
        Agent::Cursor => Some(object([
            ("command", run),
            ("timeout", Json::Number(WAIT_S)),
        ])),
        Agent::Copilot => Some(object([
            ("type", kind()),
            ("bash", run.clone()),
            ("powershell", run),
            ("timeoutSec", Json::Number(WAIT_S)),
        ])),
        Agent::Gemini => Some(group(object([
            ("name", text(format!("ken-{moment_name}"))),
            ("type", kind()),
            ("command", run),
            // It counts in milliseconds.
            ("timeout", Json::Number(WAIT_S * 1000)),
        ]))),
        Agent::Opencode | Agent::Zed => None,
    }
}

fn members(members: Vec<(&str, Json)>) -> Json {
    let members = members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Json::Object(members.collect())
}
