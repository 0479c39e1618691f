//! Says something to an agent in its own dialect, where it listens.

use serde_json::{Value, json};

use super::Heard;
use crate::{Agent, Moment};

/// Characters an agent takes from a hook; Claude Code cuts what is longer, and the others get no more.
pub const CONTEXT_CHARS_MAX: usize = 10_000;

/// Stands where a text was cut.
const CUT: &str = "\n[cut]\n";

/// What is said to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say<'a> {
    /// Something to know.
    Context(&'a str),
    /// Something to do before it stops.
    GoOn(&'a str),
}

/// Returns whether anything said at a moment reaches the model.
#[must_use]
pub fn reaches(agent: Agent, moment: Moment) -> bool {
    let heard = Heard::default();
    let said = match moment {
        Moment::Stop => Say::GoOn(""),
        Moment::Start
        | Moment::Prompt
        | Moment::Tool
        | Moment::Failure
        | Moment::Subagent
        | Moment::End => Say::Context(""),
    };
    value(agent, moment, &heard, said).is_some()
}

/// Writes what is said as the agent reads it; nothing where it would not listen.
#[must_use]
pub fn answer(agent: Agent, moment: Moment, heard: &Heard, said: Say<'_>) -> Option<String> {
    let (Say::Context(text) | Say::GoOn(text)) = said;
    let text = within(text);
    let said = match said {
        Say::Context(_) => Say::Context(&text),
        Say::GoOn(_) => Say::GoOn(&text),
    };
    value(agent, moment, heard, said).map(|it| format!("{it}\n"))
}

fn value(agent: Agent, moment: Moment, heard: &Heard, said: Say<'_>) -> Option<Value> {
    match said {
        Say::Context(text) => context(agent, moment, heard, text),
        Say::GoOn(text) => (moment == Moment::Stop).then(|| go_on(agent, text))?,
    }
}

fn context(agent: Agent, moment: Moment, heard: &Heard, text: &str) -> Option<Value> {
    match (agent, moment) {
        (Agent::Zed, _) | (_, Moment::Stop | Moment::End) => None,
        (
            Agent::ClaudeCode | Agent::Codex,
            Moment::Start | Moment::Prompt | Moment::Tool | Moment::Failure | Moment::Subagent,
        )
        | (Agent::Gemini, Moment::Start | Moment::Prompt | Moment::Tool) => {
            let event = event(agent, moment, heard)?;
            Some(json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
        }
        (Agent::Cursor, Moment::Start | Moment::Tool) => Some(json!({"additional_context": text})),
        (Agent::Copilot, Moment::Subagent) => Some(json!({"additionalContext": text})),
        (
            Agent::Opencode,
            Moment::Start | Moment::Prompt | Moment::Tool | Moment::Failure | Moment::Subagent,
        ) => Some(json!({"context": text})),
        (Agent::Gemini, Moment::Failure | Moment::Subagent)
        | (Agent::Cursor, Moment::Prompt | Moment::Failure | Moment::Subagent)
        | (Agent::Copilot, Moment::Start | Moment::Prompt | Moment::Tool | Moment::Failure) => None,
    }
}

fn go_on(agent: Agent, text: &str) -> Option<Value> {
    match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::Copilot => {
            Some(json!({"decision": "block", "reason": text}))
        }
        Agent::Gemini => Some(json!({"decision": "deny", "reason": text})),
        Agent::Cursor => Some(json!({"followup_message": text})),
        // Its plugin cannot hold the agent back: it tells at the next turn.
        Agent::Opencode => Some(json!({"context": text})),
        Agent::Zed => None,
    }
}

/// Returns what the agent calls the moment: as it says itself, if that is one of its words.
fn event(agent: Agent, moment: Moment, heard: &Heard) -> Option<String> {
    let known = |event: &&String| Moment::ALL.iter().any(|it| agent.event(*it) == Some(event));
    let said = heard.event.as_ref().filter(known);
    said.cloned()
        .or_else(|| agent.event(moment).map(ToOwned::to_owned))
        // An agent that has no event for failures hears of them behind the tool.
        .or_else(|| agent.event(Moment::Tool).map(ToOwned::to_owned))
}

/// Cuts a text to what an agent takes.
fn within(text: &str) -> String {
    if text.chars().count() <= CONTEXT_CHARS_MAX {
        return text.to_owned();
    }
    let kept = CONTEXT_CHARS_MAX - CUT.chars().count();
    let mut cut: String = text.chars().take(kept).collect();
    cut.push_str(CUT);
    cut
}
