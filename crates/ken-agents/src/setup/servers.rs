//! Configuration entries for Ken's MCP server and hooks, per agent.

use super::PartKind;
use super::json::{JsonText, json_array, json_object, json_string};
use super::members::{DesiredEntry, HOOK_COMMAND_PREFIX};
use crate::{CodingAgent, HookEvent};

/// The key of Ken's server in every configuration.
pub(super) const SERVER_NAME: &str = "ken";
/// Hook timeout in seconds; Ken answers within 50 ms.
const HOOK_TIMEOUT_S: u64 = 10;

/// Returns the entry that starts Ken's MCP server, with the path of its parent object.
pub(super) fn server_entry(agent: CodingAgent) -> DesiredEntry {
    let (above, value) = match agent {
        CodingAgent::ClaudeCode
        | CodingAgent::Codex
        | CodingAgent::Cursor
        | CodingAgent::Copilot
        | CodingAgent::Gemini => ("mcpServers", command_value()),
        CodingAgent::Opencode => ("mcp", opencode_value()),
        CodingAgent::Zed => ("context_servers", command_value()),
    };
    DesiredEntry {
        what: PartKind::Server,
        path: vec![above],
        key: Some(SERVER_NAME),
        value,
    }
}

fn command_value() -> JsonText {
    json_object([
        ("command", json_string(SERVER_NAME)),
        ("args", json_array([json_string("mcp")])),
    ])
}

fn opencode_value() -> JsonText {
    json_object([
        ("type", json_string("local")),
        (
            "command",
            json_array([json_string(SERVER_NAME), json_string("mcp")]),
        ),
        ("enabled", JsonText::Bool(true)),
    ])
}

/// Returns the entries that run Ken's hooks, one per event the agent has a hook for.
pub(super) fn hook_entries(agent: CodingAgent) -> Vec<DesiredEntry> {
    let entries = HookEvent::ALL.into_iter().filter_map(|event| {
        let name = hook_event(agent, event)?;
        Some(DesiredEntry {
            what: PartKind::Hooks,
            path: vec!["hooks", name],
            key: None,
            value: hook_value(agent, event)?,
        })
    });
    entries.collect()
}

/// Returns the name a hook is registered under, or `None` if the agent has no such event.
fn hook_event(agent: CodingAgent, event: HookEvent) -> Option<&'static str> {
    match (agent, event) {
        // The tool event of Codex also reports failed tools.
        (CodingAgent::Codex, HookEvent::Failure) => None,
        (_, event) => agent.event(event),
    }
}

/// Returns the value registered under an event.
fn hook_value(agent: CodingAgent, event: HookEvent) -> Option<JsonText> {
    let (name, event_name) = (agent.name(), event.name());
    let run = json_string(format!("{HOOK_COMMAND_PREFIX}{name} {event_name}"));
    let group = |handler: JsonText| json_object([("hooks", json_array([handler]))]);
    let kind = || json_string("command");
    match agent {
        CodingAgent::ClaudeCode => {
            let mut handler = vec![
                ("type", kind()),
                ("command", run),
                ("timeout", JsonText::Number(HOOK_TIMEOUT_S)),
            ];
            if event == HookEvent::End {
                // The session is over: Claude Code need not wait for its events to be written.
                handler.push(("async", JsonText::Bool(true)));
            }
            Some(group(members(handler)))
        }
        CodingAgent::Codex => Some(group(json_object([
            ("type", kind()),
            ("command", run),
            ("timeout", JsonText::Number(HOOK_TIMEOUT_S)),
        ]))),
        CodingAgent::Cursor => Some(json_object([
            ("command", run),
            ("timeout", JsonText::Number(HOOK_TIMEOUT_S)),
        ])),
        CodingAgent::Copilot => Some(json_object([
            ("type", kind()),
            ("bash", run.clone()),
            ("powershell", run),
            ("timeoutSec", JsonText::Number(HOOK_TIMEOUT_S)),
        ])),
        CodingAgent::Gemini => Some(group(json_object([
            ("name", json_string(format!("ken-{event_name}"))),
            ("type", kind()),
            ("command", run),
            // Gemini CLI takes milliseconds.
            ("timeout", JsonText::Number(HOOK_TIMEOUT_S * 1000)),
        ]))),
        CodingAgent::Opencode | CodingAgent::Zed => None,
    }
}

fn members(members: Vec<(&str, JsonText)>) -> JsonText {
    let owned = members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    JsonText::Object(owned.collect())
}
