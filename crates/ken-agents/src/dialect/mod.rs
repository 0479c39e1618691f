//! Hook protocols of the agents: JSON input ([`parse_hook_input()`]), JSON output
//! ([`render_response()`]).
//!
//! Every field is read under every key that any agent uses, because agents copy and rename each
//! other's fields. Missing, unknown and wrongly typed fields are ignored. Nothing here fails:
//! input that cannot be parsed is treated as absent.
//!
//! Sources and capabilities per agent, as of November 2026:
//!
//! - **Claude Code**. Input: its hooks reference, read in part, and recorded runs of others.
//!   Output: `hookSpecificOutput.additionalContext` at start, prompt, tool, failure and subagent;
//!   `decision: block` with a `reason` at a stop. Users report that strings above 10,000
//!   characters are truncated.
//! - **Codex**. Input: the JSON schemas in its repository; no event for a failed tool, none for
//!   the end of a session. Output: the same fields as Claude Code; its schemas forbid any other.
//! - **Cursor**. Input: its hooks page: `conversation_id`, `tool_output`, `error_message`.
//!   Output: `additional_context` at start and after a tool, `followup_message` at a stop. Its
//!   page states that a prompt hook can only allow or block, and that the hooks of a failed tool
//!   and of a subagent add nothing.
//! - **Copilot**. Input: the hooks reference of its CLI: camel case, `toolResult`, `agentName`.
//!   Output: `additionalContext` for a subagent, `decision: block` at a stop. Responses at start
//!   and prompt are documented as ignored. The hook of a failed tool is read only if it exits
//!   with code 2, which Ken never does.
//! - **Gemini CLI**. Input: its hooks reference: `tool_response` with `llmContent` and `error`.
//!   Output: `hookSpecificOutput.additionalContext` at start, prompt and tool; `decision: deny`
//!   at a stop, whose `reason` is sent as a new prompt.
//! - **opencode**. Input: Ken's own plugin sends the fields of Claude Code, and
//!   `parent_session_id` for a subagent. Output: `context`, which the plugin adds to the model's
//!   context; after a stop, in the next turn.
//! - **Zed**. No hooks.

mod answer;
mod failed;
mod hear;

pub use answer::{CONTEXT_CHARS_MAX, HookResponse, reaches_model, render_response};
pub use hear::{find_session_id, parse_hook_input};

use crate::CodingAgent;

/// Maximum bytes read from a hook's input. Only the output of a tool can make it larger.
pub const INPUT_BYTES_MAX: usize = 4 << 20;

/// Maximum bytes of a name, such as a session id or an agent name.
pub const NAME_BYTES_MAX: usize = 200;

/// Maximum characters used of a prompt or task.
pub const PROMPT_CHARS_MAX: usize = 4_000;

/// Maximum number of strings used of a tool's input.
pub const INPUTS_MAX: usize = 200;

/// Parsed input of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookInput {
    /// The agent's own name of the event.
    pub event: Option<String>,
    /// The session id.
    pub session: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// The reason for a session start.
    pub source: Option<StartReason>,
    /// The user's prompt.
    pub prompt: Option<String>,
    /// Paths of files attached to a prompt.
    pub attached: Vec<String>,
    /// The tool call the event is about.
    pub tool: Option<ToolCall>,
    /// The subagent that runs the hook; `None` for the main agent.
    pub subagent: Option<SubagentInput>,
    /// The agent's last message, at a stop.
    pub last_message: Option<String>,
    /// True if the agent continued because of an earlier stop hook.
    pub is_stopping_again: bool,
}

/// The reason for a session start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartReason {
    Startup,
    Resume,
    Clear,
    /// The context was compacted.
    Compact,
    /// A word not listed here.
    Other,
}

/// A tool call with its input and output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    pub name: String,
    /// Paths of files and folders in the input.
    pub paths: Vec<String>,
    /// The other strings of the input: a command, a pattern; not text to write.
    pub asked: String,
    /// The strings of the output, joined by newlines.
    pub output: String,
    /// The error text of a failed call; `None` if the user interrupted or denied it.
    pub failed: Option<String>,
}

/// An agent started by another agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubagentInput {
    pub id: String,
    /// The agent's type, as in `code-reviewer`.
    pub kind: String,
    /// The task, or an empty string if the input does not contain it.
    pub task: String,
}

/// Returns true if an agent's hooks report everything the agent reads. Only then is it known which
/// files the agent has not seen.
///
/// Claude Code and Gemini CLI report every tool call, and a file named in a prompt is part of the
/// prompt text. Codex reads files with commands and reports every command. The editors Cursor and
/// Copilot may give an open file to the model without a tool call. The subagents of opencode use
/// sessions of their own, and its plugin truncates tool output.
#[must_use]
pub fn sees_every_read(agent: CodingAgent) -> bool {
    match agent {
        CodingAgent::ClaudeCode | CodingAgent::Codex | CodingAgent::Gemini => true,
        CodingAgent::Cursor | CodingAgent::Copilot | CodingAgent::Opencode | CodingAgent::Zed => {
            false
        }
    }
}

impl StartReason {
    fn named(text: &str) -> Self {
        match text {
            // Copilot sends `new`.
            "startup" | "new" => Self::Startup,
            "resume" => Self::Resume,
            "clear" => Self::Clear,
            "compact" | "compress" => Self::Compact,
            _ => Self::Other,
        }
    }
}
