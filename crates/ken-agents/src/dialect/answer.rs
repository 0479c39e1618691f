//! Hook responses: renders text as the JSON an agent reads, where the agent reads any.

use serde_json::{Value, json};

use super::HookInput;
use crate::{CodingAgent, HookEvent};

/// Maximum characters per hook response. Claude Code truncates longer strings; the limit applies
/// to every agent.
pub const CONTEXT_CHARS_MAX: usize = 10_000;

/// Marker appended to a truncated text.
const TRUNCATION_MARKER: &str = "\n[cut]\n";

/// The response of a hook to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookResponse<'a> {
    /// Text added to the model's context.
    Context(&'a str),
    /// An instruction that keeps the agent from stopping.
    Continue(&'a str),
}

/// Returns true if a response to an event reaches the model.
#[must_use]
pub fn reaches_model(agent: CodingAgent, hook_event: HookEvent) -> bool {
    let input = HookInput::default();
    let response = match hook_event {
        HookEvent::Stop => HookResponse::Continue(""),
        HookEvent::Start
        | HookEvent::Prompt
        | HookEvent::Tool
        | HookEvent::Failure
        | HookEvent::Subagent
        | HookEvent::End => HookResponse::Context(""),
    };
    response_json(agent, hook_event, &input, response).is_some()
}

/// Renders a response as the agent's JSON, or returns `None` if the agent would ignore it.
#[must_use]
pub fn render_response(
    agent: CodingAgent,
    hook_event: HookEvent,
    input: &HookInput,
    response: HookResponse<'_>,
) -> Option<String> {
    let (HookResponse::Context(text) | HookResponse::Continue(text)) = response;
    let truncated = truncate_to_limit(text);
    let response = match response {
        HookResponse::Context(_) => HookResponse::Context(&truncated),
        HookResponse::Continue(_) => HookResponse::Continue(&truncated),
    };
    response_json(agent, hook_event, input, response).map(|it| format!("{it}\n"))
}

fn response_json(
    agent: CodingAgent,
    hook_event: HookEvent,
    input: &HookInput,
    response: HookResponse<'_>,
) -> Option<Value> {
    match response {
        HookResponse::Context(text) => context_json(agent, hook_event, input, text),
        HookResponse::Continue(text) => {
            (hook_event == HookEvent::Stop).then(|| continue_json(agent, text))?
        }
    }
}

fn context_json(
    agent: CodingAgent,
    hook_event: HookEvent,
    input: &HookInput,
    text: &str,
) -> Option<Value> {
    // No catch-all arm: the compiler demands a decision for every new agent and event.
    match (agent, hook_event) {
        (CodingAgent::Zed, _) | (_, HookEvent::Stop | HookEvent::End) => None,
        (
            CodingAgent::ClaudeCode | CodingAgent::Codex,
            HookEvent::Start
            | HookEvent::Prompt
            | HookEvent::Tool
            | HookEvent::Failure
            | HookEvent::Subagent,
        )
        | (CodingAgent::Gemini, HookEvent::Start | HookEvent::Prompt | HookEvent::Tool) => {
            let event = hook_event_name(agent, hook_event, input)?;
            Some(json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
        }
        (CodingAgent::Cursor, HookEvent::Start | HookEvent::Tool) => {
            Some(json!({"additional_context": text}))
        }
        (CodingAgent::Copilot, HookEvent::Subagent) => Some(json!({"additionalContext": text})),
        (
            CodingAgent::Opencode,
            HookEvent::Start
            | HookEvent::Prompt
            | HookEvent::Tool
            | HookEvent::Failure
            | HookEvent::Subagent,
        ) => Some(json!({"context": text})),
        (CodingAgent::Gemini, HookEvent::Failure | HookEvent::Subagent)
        | (CodingAgent::Cursor, HookEvent::Prompt | HookEvent::Failure | HookEvent::Subagent)
        | (
            CodingAgent::Copilot,
            HookEvent::Start | HookEvent::Prompt | HookEvent::Tool | HookEvent::Failure,
        ) => None,
    }
}

fn continue_json(agent: CodingAgent, text: &str) -> Option<Value> {
    match agent {
        CodingAgent::ClaudeCode | CodingAgent::Codex | CodingAgent::Copilot => {
            Some(json!({"decision": "block", "reason": text}))
        }
        CodingAgent::Gemini => Some(json!({"decision": "deny", "reason": text})),
        CodingAgent::Cursor => Some(json!({"followup_message": text})),
        // The opencode plugin cannot keep the agent from stopping; it adds the text to the next
        // turn instead.
        CodingAgent::Opencode => Some(json!({"context": text})),
        CodingAgent::Zed => None,
    }
}

/// Returns the `hookEventName` of a response.
///
/// The name the agent sent wins if it is one of the agent's event names.
fn hook_event_name(agent: CodingAgent, hook_event: HookEvent, input: &HookInput) -> Option<String> {
    let known = |event: &&String| {
        HookEvent::ALL
            .iter()
            .any(|it| agent.event(*it) == Some(event))
    };
    let requested = input.event.as_ref().filter(known);
    requested
        .cloned()
        .or_else(|| agent.event(hook_event).map(ToOwned::to_owned))
        // An agent without a failure event reports failures through its tool hook.
        .or_else(|| agent.event(HookEvent::Tool).map(ToOwned::to_owned))
}

/// Truncates a text to [`CONTEXT_CHARS_MAX`] characters.
fn truncate_to_limit(text: &str) -> String {
    if text.chars().count() <= CONTEXT_CHARS_MAX {
        return text.to_owned();
    }
    let kept = CONTEXT_CHARS_MAX - TRUNCATION_MARKER.chars().count();
    let mut cut: String = text.chars().take(kept).collect();
    cut.push_str(TRUNCATION_MARKER);
    cut
}
