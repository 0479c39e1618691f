//! Reads what an agent tells its hook.

use serde_json::{Map, Value};

use super::failed::{self, Told};
use super::{Heard, INPUTS_MAX, NAME_BYTES_MAX, PROMPT_CHARS_MAX, Source, Subagent, Tool};
use crate::Moment;

const EVENT: &[&str] = &["hook_event_name", "hookEventName", "event"];
const SESSION: &[&str] = &[
    "session_id",
    "sessionId",
    "sessionID",
    "conversation_id",
    "conversationId",
    "session",
];
const CWD: &[&str] = &["cwd", "directory", "worktree"];
const SOURCE: &[&str] = &["source", "trigger"];
const PROMPT: &[&str] = &["prompt", "initial_prompt", "initialPrompt"];
const TOOL: &[&str] = &["tool_name", "toolName", "tool"];
const INPUT: &[&str] = &["tool_input", "toolArgs", "tool_args", "input", "args"];
const OUTPUT: &[&str] = &[
    "tool_response",
    "tool_output",
    "toolResult",
    "tool_result",
    "output",
    "result",
];
const ERROR: &[&str] = &["error", "error_message", "errorMessage"];
const AGENT_ID: &[&str] = &["agent_id", "agentId", "subagent_id"];
const AGENT_KIND: &[&str] = &[
    "agent_type",
    "agentType",
    "subagent_type",
    "agentName",
    "agent_name",
];
const TASK: &[&str] = &["task", "agentDescription", "agent_description"];
const AGAIN: &[&str] = &["stop_hook_active", "stopHookActive"];
const PARENT: &[&str] = &["parent_conversation_id", "parent_session_id"];

/// Members of a tool's input that name files and folders.
const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "paths",
    "file",
    "files",
    "notebook_path",
    "absolute_path",
    "dir_path",
    "directory",
    "dir",
    "filename",
    "uri",
];

/// Members of a tool's input that hold what it is to write: nobody reads anything by them.
const WRITTEN: &[&str] = &[
    "content",
    "contents",
    "old_string",
    "new_string",
    "old_str",
    "new_str",
    "file_text",
    "new_source",
    "patch",
    "edits",
    "description",
];

/// Reads what `input` says about a moment; nothing of what is no JSON object.
#[must_use]
pub fn hear(moment: Moment, input: &[u8]) -> Option<Heard> {
    let text = String::from_utf8_lossy(input);
    let Ok(Value::Object(all)) = serde_json::from_str(&text) else {
        return None;
    };
    let subagent = subagent(moment, &all);
    // Cursor and opencode name the conversation a subagent was started from.
    let parent = name(&all, PARENT).filter(|_| subagent.is_some());
    Some(Heard {
        event: name(&all, EVENT),
        session: parent.or_else(|| name(&all, SESSION)),
        cwd: string(&all, CWD).or_else(|| first_of(&all, "workspace_roots")),
        source: string(&all, SOURCE).map(|it| Source::named(&it)),
        prompt: string(&all, PROMPT),
        attached: attached(&all),
        tool: tool(moment, &all),
        subagent,
        is_stopping_again: is_stopping_again(&all),
    })
}

/// Returns the session an input names that cannot be read as a whole, such as one that was cut.
#[must_use]
pub fn session_in(input: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(input);
    let found = SESSION.iter().find_map(|key| {
        let (_, rest) = text.split_once(&format!("\"{key}\""))?;
        let rest = rest.trim_start().strip_prefix(':')?.trim_start();
        let (value, _) = rest.strip_prefix('"')?.split_once('"')?;
        (!value.is_empty() && !value.contains('\\')).then(|| value.to_owned())
    });
    found.map(|it| short(&it))
}

fn subagent(moment: Moment, all: &Map<String, Value>) -> Option<Subagent> {
    let kind = name(all, AGENT_KIND).unwrap_or_default();
    let id = name(all, AGENT_ID);
    // Copilot gives a subagent a name and no id.
    let id = id.or_else(|| (moment == Moment::Subagent && !kind.is_empty()).then(|| kind.clone()));
    // opencode's subagents are conversations of their own.
    let id = id.or_else(|| name(all, PARENT).and_then(|_| name(all, SESSION)));
    Some(Subagent {
        id: id?,
        kind,
        task: head(&string(all, TASK).unwrap_or_default(), PROMPT_CHARS_MAX),
    })
}

fn tool(moment: Moment, all: &Map<String, Value>) -> Option<Tool> {
    let input = member(all, INPUT).map(unwrapped);
    let output = member(all, OUTPUT).map(unwrapped);
    let error = member(all, ERROR);
    let tool = name(all, TOOL);
    if tool.is_none() && input.is_none() && output.is_none() && error.is_none() {
        return None;
    }
    let mut asked = Asked::default();
    if let Some(input) = &input {
        asked.take("", input);
    }
    let mut texts = Vec::new();
    if let Some(output) = &output {
        strings(output, &mut texts);
    }
    let name = tool.unwrap_or_default();
    let output_text = texts.join("\n");
    let failed = failed::failure(&Told {
        moment,
        all,
        tool: &name,
        answer: output.as_ref(),
        error,
        text: &output_text,
    });
    Some(Tool {
        name,
        paths: asked.paths,
        asked: asked.rest.join("\n"),
        output: output_text,
        failed,
    })
}

/// What a tool is asked, gathered.
#[derive(Default)]
struct Asked {
    paths: Vec<String>,
    rest: Vec<String>,
}

impl Asked {
    fn take(&mut self, key: &str, value: &Value) {
        if INPUTS_MAX <= self.paths.len() + self.rest.len() || WRITTEN.contains(&key) {
            return;
        }
        match value {
            Value::String(text) if PATHS.contains(&key) => self.paths.push(text.clone()),
            Value::String(text) => self.rest.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.take(key, item)),
            Value::Object(members) => members.iter().for_each(|(key, it)| self.take(key, it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Collects every text below `value`.
pub(super) fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(members) => members.values().for_each(|it| strings(it, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns what a text that is JSON itself says, as Cursor and Copilot wrap what tools take and give.
fn unwrapped(value: &Value) -> Value {
    let Value::String(text) = value else {
        return value.clone();
    };
    let looks = text.starts_with('{') || text.starts_with('[');
    let inner = looks.then(|| serde_json::from_str(text).ok()).flatten();
    inner.unwrap_or_else(|| value.clone())
}

fn is_stopping_again(all: &Map<String, Value>) -> bool {
    let again = member(all, AGAIN).and_then(Value::as_bool);
    let loops = all.get("loop_count").and_then(Value::as_u64);
    again.unwrap_or(false) || loops.is_some_and(|it| 0 < it)
}

fn attached(all: &Map<String, Value>) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(attachments) = all.get("attachments") {
        strings(attachments, &mut texts);
    }
    texts.truncate(INPUTS_MAX);
    texts
}

pub(super) fn member<'a>(all: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let there = names.iter().filter_map(|name| all.get(*name));
    there.into_iter().find(|it| !it.is_null())
}

fn string(all: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let there = names.iter().filter_map(|name| all.get(*name)?.as_str());
    let mut there = there.filter(|it| !it.trim().is_empty());
    there.next().map(ToOwned::to_owned)
}

fn first_of(all: &Map<String, Value>, key: &str) -> Option<String> {
    let first = all.get(key)?.as_array()?.first()?.as_str()?;
    (!first.is_empty()).then(|| first.to_owned())
}

fn name(all: &Map<String, Value>, names: &[&str]) -> Option<String> {
    string(all, names).map(|it| short(&it))
}

/// Cuts a name to what one may have.
fn short(text: &str) -> String {
    let mut text = text.trim().to_owned();
    while NAME_BYTES_MAX < text.len() {
        text.pop();
    }
    text
}

fn head(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
