//! Hook input: parses the JSON an agent sends to its hook.

use serde_json::{Map, Value};

use super::failed::{self, ToolReport};
use super::{
    HookInput, INPUTS_MAX, NAME_BYTES_MAX, PROMPT_CHARS_MAX, StartReason, SubagentInput, ToolCall,
};
use crate::HookEvent;

// Each list holds the keys of one field, in order of preference. Agents copy each other's hook
// formats and rename keys, so every spelling is accepted from every agent.
const EVENT_KEYS: &[&str] = &["hook_event_name", "hookEventName", "event"];
const SESSION_KEYS: &[&str] = &[
    "session_id",
    "sessionId",
    "sessionID",
    "conversation_id",
    "conversationId",
    "session",
];
const CWD_KEYS: &[&str] = &["cwd", "directory", "worktree"];
const SOURCE_KEYS: &[&str] = &["source", "trigger"];
const PROMPT_KEYS: &[&str] = &["prompt", "initial_prompt", "initialPrompt"];
const TOOL_NAME_KEYS: &[&str] = &["tool_name", "toolName", "tool"];
const TOOL_INPUT_KEYS: &[&str] = &["tool_input", "toolArgs", "tool_args", "input", "args"];
const TOOL_OUTPUT_KEYS: &[&str] = &[
    "tool_response",
    "tool_output",
    "toolResult",
    "tool_result",
    "output",
    "result",
];
const ERROR_KEYS: &[&str] = &["error", "error_message", "errorMessage"];
const AGENT_ID_KEYS: &[&str] = &["agent_id", "agentId", "subagent_id"];
const AGENT_KIND_KEYS: &[&str] = &[
    "agent_type",
    "agentType",
    "subagent_type",
    "agentName",
    "agent_name",
];
const TASK_KEYS: &[&str] = &["task", "agentDescription", "agent_description"];
/// Keys of the agent's last message.
const LAST_MESSAGE_KEYS: &[&str] = &["last_assistant_message", "prompt_response"];

/// Keys of the flag that a stop hook already kept the agent going.
const REPEATED_STOP_KEYS: &[&str] = &["stop_hook_active", "stopHookActive"];
const PARENT_SESSION_KEYS: &[&str] = &["parent_conversation_id", "parent_session_id"];

/// Keys of a tool's input that hold file and folder paths.
const PATH_KEYS: &[&str] = &[
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

/// Keys of a tool's input that hold text to write. They say nothing about the files it reads.
const WRITTEN_TEXT_KEYS: &[&str] = &[
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

/// Parses the hook input of an event; returns `None` if it is not a JSON object.
#[must_use]
pub fn parse_hook_input(event: HookEvent, input: &[u8]) -> Option<HookInput> {
    // Lossy decoding: invalid bytes in the output of a tool must not discard the whole input.
    let text = String::from_utf8_lossy(input);
    let Ok(Value::Object(all)) = serde_json::from_str(&text) else {
        return None;
    };
    let subagent = parse_subagent(event, &all);
    // Cursor and opencode name the session that started the subagent.
    let parent = first_name(&all, PARENT_SESSION_KEYS).filter(|_| subagent.is_some());
    Some(HookInput {
        event: first_name(&all, EVENT_KEYS),
        session: parent.or_else(|| first_name(&all, SESSION_KEYS)),
        cwd: first_string(&all, CWD_KEYS).or_else(|| first_of(&all, "workspace_roots")),
        source: first_string(&all, SOURCE_KEYS).map(|it| StartReason::named(&it)),
        prompt: first_string(&all, PROMPT_KEYS),
        attached: parse_attachments(&all),
        tool: parse_tool_call(event, &all),
        subagent,
        last_message: first_string(&all, LAST_MESSAGE_KEYS),
        is_stopping_again: is_stopping_again(&all),
    })
}

/// Finds the session id in an input that is not valid JSON, for example because it was truncated.
#[must_use]
pub fn find_session_id(input: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(input);
    let found = SESSION_KEYS.iter().find_map(|key| {
        let (_, rest) = text.split_once(&format!("\"{key}\""))?;
        let after_colon = rest.trim_start().strip_prefix(':')?.trim_start();
        let (value, _) = after_colon.strip_prefix('"')?.split_once('"')?;
        // An escape sequence would need a JSON parser; session ids contain none.
        (!value.is_empty() && !value.contains('\\')).then(|| value.to_owned())
    });
    found.map(|it| truncate_name(&it))
}

fn parse_subagent(event: HookEvent, all: &Map<String, Value>) -> Option<SubagentInput> {
    let kind = first_name(all, AGENT_KIND_KEYS).unwrap_or_default();
    let given_id = first_name(all, AGENT_ID_KEYS);
    // Copilot sends the name of a subagent but no id.
    let kind_as_id = || (event == HookEvent::Subagent && !kind.is_empty()).then(|| kind.clone());
    // A subagent of opencode runs in a session of its own.
    let session_as_id =
        || first_name(all, PARENT_SESSION_KEYS).and_then(|_| first_name(all, SESSION_KEYS));
    let id = given_id.or_else(kind_as_id).or_else(session_as_id);
    Some(SubagentInput {
        id: id?,
        kind,
        task: truncate_chars(
            &first_string(all, TASK_KEYS).unwrap_or_default(),
            PROMPT_CHARS_MAX,
        ),
    })
}

fn parse_tool_call(event: HookEvent, all: &Map<String, Value>) -> Option<ToolCall> {
    let input = first_member(all, TOOL_INPUT_KEYS).map(parse_nested_json);
    let output = first_member(all, TOOL_OUTPUT_KEYS).map(parse_nested_json);
    let error = first_member(all, ERROR_KEYS);
    let tool = first_name(all, TOOL_NAME_KEYS);
    if tool.is_none() && input.is_none() && output.is_none() && error.is_none() {
        return None;
    }
    let mut input_texts = ToolInputStrings::default();
    if let Some(input) = &input {
        input_texts.take("", input);
    }
    let mut texts = Vec::new();
    if let Some(output) = &output {
        collect_strings(output, &mut texts);
    }
    let name = tool.unwrap_or_default();
    let output_text = texts.join("\n");
    let failed = failed::detect_failure(&ToolReport {
        moment: event,
        all,
        tool: &name,
        answer: output.as_ref(),
        error,
        text: &output_text,
    });
    Some(ToolCall {
        name,
        paths: input_texts.paths,
        asked: input_texts.rest.join("\n"),
        output: output_text,
        failed,
    })
}

/// Strings of a tool's input, split into paths and everything else.
#[derive(Default)]
struct ToolInputStrings {
    paths: Vec<String>,
    rest: Vec<String>,
}

impl ToolInputStrings {
    fn take(&mut self, key: &str, value: &Value) {
        if self.paths.len() + self.rest.len() >= INPUTS_MAX || WRITTEN_TEXT_KEYS.contains(&key) {
            return;
        }
        match value {
            Value::String(text) if PATH_KEYS.contains(&key) => self.paths.push(text.clone()),
            Value::String(text) => self.rest.push(text.clone()),
            // The items of an array inherit its key: `paths: ["a", "b"]` holds two paths.
            Value::Array(items) => items.iter().for_each(|item| self.take(key, item)),
            Value::Object(members) => members.iter().for_each(|(key, it)| self.take(key, it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Collects every string in `value`.
pub(super) fn collect_strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, texts)),
        Value::Object(members) => members.values().for_each(|it| collect_strings(it, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Parses a string that itself contains JSON: Cursor and Copilot encode tool inputs and outputs so.
fn parse_nested_json(value: &Value) -> Value {
    let Value::String(text) = value else {
        return value.clone();
    };
    let looks = text.starts_with('{') || text.starts_with('[');
    let inner = looks.then(|| serde_json::from_str(text).ok()).flatten();
    inner.unwrap_or_else(|| value.clone())
}

fn is_stopping_again(all: &Map<String, Value>) -> bool {
    let again = first_member(all, REPEATED_STOP_KEYS).and_then(Value::as_bool);
    let loops = all.get("loop_count").and_then(Value::as_u64);
    // Cursor counts the follow-up messages of its stop hooks instead of sending a flag.
    again.unwrap_or(false) || loops.is_some_and(|it| it > 0)
}

fn parse_attachments(all: &Map<String, Value>) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(attachments) = all.get("attachments") {
        collect_strings(attachments, &mut texts);
    }
    texts.truncate(INPUTS_MAX);
    texts
}

pub(super) fn first_member<'a>(all: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let mut present = names.iter().filter_map(|name| all.get(*name));
    present.find(|it| !it.is_null())
}

fn first_string(all: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let present = names.iter().filter_map(|name| all.get(*name)?.as_str());
    let mut nonempty = present.filter(|it| !it.trim().is_empty());
    nonempty.next().map(ToOwned::to_owned)
}

fn first_of(all: &Map<String, Value>, key: &str) -> Option<String> {
    let first = all.get(key)?.as_array()?.first()?.as_str()?;
    (!first.is_empty()).then(|| first.to_owned())
}

fn first_name(all: &Map<String, Value>, names: &[&str]) -> Option<String> {
    first_string(all, names).map(|it| truncate_name(&it))
}

/// Trims a name and truncates it to [`NAME_BYTES_MAX`] bytes.
fn truncate_name(text: &str) -> String {
    let mut text = text.trim().to_owned();
    // `pop` removes whole characters, so the result stays valid UTF-8.
    while text.len() > NAME_BYTES_MAX {
        text.pop();
    }
    text
}

fn truncate_chars(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
