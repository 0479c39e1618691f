//! How each agent speaks to its hooks: JSON in ([`hear()`]), JSON out ([`answer()`]).
//!
//! Members are read by every name any agent gives them, because agents borrow from each other and rename; what is
//! missing, of another type or unknown is passed over. Nothing here fails: what cannot be read was not heard.
//!
//! What rests on what, as of November 2026:
//!
//! | agent | members it sends | what of an answer reaches the model |
//! |---|---|---|
//! | Claude Code | its hooks reference, read in part, and recorded runs of others | `hookSpecificOutput.additionalContext` at start, prompt, tool, failure and subagent; `decision: block` with a `reason` at a stop; strings above 10,000 characters are cut (users' reports) |
//! | Codex | the JSON schemas of its hooks, in its repository: no event for a failed tool, none for the end | the same members; its schemas forbid any other |
//! | Cursor | its hooks page: `conversation_id`, `tool_output` and `error_message` | `additional_context` at start and behind a tool, `followup_message` at a stop; its page says that a prompt's hook only lets it pass, and that a failed tool's and a subagent's hook add nothing |
//! | Copilot | its command line's hooks reference: camel case, `toolResult`, `agentName` | `additionalContext` for a subagent, `decision: block` at a stop; start and prompt are documented as ignored, and a failed tool's hook is heard by exit code 2 only, which Ken never ends with |
//! | Gemini CLI | its hooks reference: `tool_response` with `llmContent` and `error` | `hookSpecificOutput.additionalContext` at start, prompt and tool; `decision: deny` at a stop, whose `reason` is sent as a new prompt |
//! | opencode | a plugin of ours: Claude Code's members, and `parent_session_id` for a subagent | `context`, which the plugin adds to what the model is told, at a stop in the next turn |
//! | Zed | no hooks | nothing |

mod answer;
mod failed;
mod hear;

pub use answer::{CONTEXT_CHARS_MAX, Say, answer, reaches};
pub use hear::{hear, session_in};

use crate::Agent;

/// Bytes of a hook's input that are read. More comes only with the output of a tool.
pub const INPUT_BYTES_MAX: usize = 4 << 20;

/// Bytes of a name, such as a session's or an agent's.
pub const NAME_BYTES_MAX: usize = 200;

/// Characters of a prompt or a task that are looked at.
pub const PROMPT_CHARS_MAX: usize = 4_000;

/// Texts of a tool's input that are looked at.
pub const INPUTS_MAX: usize = 200;

/// What an agent told its hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// What the agent calls the moment.
    pub event: Option<String>,
    /// The conversation.
    pub session: Option<String>,
    /// The folder the agent is in.
    pub cwd: Option<String>,
    /// Why a conversation starts.
    pub source: Option<Source>,
    /// What somebody typed.
    pub prompt: Option<String>,
    /// Files that were handed over with a prompt.
    pub attached: Vec<String>,
    /// What a tool was asked and answered.
    pub tool: Option<Tool>,
    /// The agent that another one started; nobody where the main agent speaks.
    pub subagent: Option<Subagent>,
    /// Whether the agent goes on because a hook asked for it already.
    pub is_stopping_again: bool,
}

/// Why a conversation starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Startup,
    Resume,
    Clear,
    /// Its context was condensed.
    Compact,
    /// A word nobody here knows.
    Other,
}

/// What a tool was asked and answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    /// Files and folders it was given by name.
    pub paths: Vec<String>,
    /// What it was asked beside: a command, a pattern; not what it was to write.
    pub asked: String,
    /// The texts of its answer, one after the other.
    pub output: String,
    /// What went wrong, if it failed: not where somebody interrupted or denied it.
    pub failed: Option<String>,
}

/// An agent that another one started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subagent {
    pub id: String,
    /// What kind of agent it is, as in `code-reviewer`.
    pub kind: String,
    /// What it is to do, where that is told.
    pub task: String,
}

/// Returns whether an agent's hooks see everything it reads: only then can somebody say what it has not seen.
///
/// Claude Code and Gemini CLI tell of every tool, and a file that is named in a prompt stands in the prompt; Codex reads
/// files by commands, and tells of every command. Not so the editors: Cursor and Copilot may hand an open file to
/// the model without a tool. opencode's subagents speak under sessions of their own, and its plugin cuts what tools say.
#[must_use]
pub fn sees_every_read(agent: Agent) -> bool {
    match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::Gemini => true,
        Agent::Cursor | Agent::Copilot | Agent::Opencode | Agent::Zed => false,
    }
}

impl Source {
    fn named(text: &str) -> Self {
        match text {
            "startup" | "new" => Self::Startup,
            "resume" => Self::Resume,
            "clear" => Self::Clear,
            "compact" | "compress" => Self::Compact,
            _ => Self::Other,
        }
    }
}
