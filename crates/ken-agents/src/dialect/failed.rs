//! Detection of failed tool calls: from the hook event, the tool's response or an exit code.
//!
//! Agents without a failure event report failures in the tool's response.

use serde_json::{Map, Value};

use super::hear::{collect_strings, first_member};
use crate::HookEvent;

/// Keys of boolean flags that mark a response as failed.
const ERROR_FLAG_KEYS: &[&str] = &["is_error", "isError"];
/// Keys that hold the exit code of a command.
const EXIT_CODE_KEYS: &[&str] = &[
    "exit_code",
    "exitCode",
    "exit_status",
    "exitStatus",
    "returncode",
    "code",
];
/// Keys that hold a status word.
const STATUS_KEYS: &[&str] = &["resultType", "result_type", "status"];
/// Status words that mean failure.
const FAILURE_STATUSES: &[&str] = &["failure", "failed", "error"];
/// Keys of boolean flags that mark a tool call as interrupted by the user.
const INTERRUPTED_KEYS: &[&str] = &["is_interrupt", "isInterrupt", "interrupted"];

/// Tools that run commands; the text of their response may contain an exit code.
const SHELL_TOOLS: &[&str] = &[
    "bash",
    "shell",
    "run_shell_command",
    "exec_command",
    "local_shell",
    "powershell",
    "terminal",
    "run_terminal_cmd",
    "unified_exec",
];

/// Number of bytes at each end of a text that are searched for an exit code.
const EXIT_CODE_SEARCH_BYTES: usize = 400;

/// The response of a tool call, as reported to a hook.
pub(super) struct ToolReport<'a> {
    pub(super) moment: HookEvent,
    pub(super) all: &'a Map<String, Value>,
    pub(super) tool: &'a str,
    pub(super) answer: Option<&'a Value>,
    pub(super) error: Option<&'a Value>,
    /// All strings of the response, joined.
    pub(super) text: &'a str,
}

/// Returns the error text of a tool call that failed by itself, or `None` if it did not fail.
pub(super) fn detect_failure(result: &ToolReport<'_>) -> Option<String> {
    // A tool call the user stopped or denied says nothing about the code, even if the agent
    // reports it as an error.
    if is_interrupted(result) {
        return None;
    }
    let mut messages = Vec::new();
    if let Some(error) = result.error {
        collect_strings(error, &mut messages);
    }
    let by_event = result.moment == HookEvent::Failure;
    let by_error = messages.iter().any(|it| !it.trim().is_empty());
    let by_response = result.answer.is_some_and(says_failed);
    let by_text = is_shell(result.tool) && has_bad_exit(result.text);
    // Only shells: another tool may print "exit code 1" because the file it read contains it.
    if !(by_event || by_error || by_response || by_text) {
        return None;
    }
    messages.push(result.text.to_owned());
    messages.retain(|it| !it.trim().is_empty());
    Some(messages.join("\n"))
}

/// Returns true if the user interrupted the tool call or denied permission.
fn is_interrupted(result: &ToolReport<'_>) -> bool {
    let interrupted = |all| first_member(all, INTERRUPTED_KEYS).and_then(Value::as_bool);
    let denied = result.all.get("failure_type").and_then(Value::as_str);
    let inner = result.answer.and_then(Value::as_object);
    interrupted(result.all).or_else(|| interrupted(inner?)) == Some(true)
        || denied == Some("permission_denied")
}

/// Returns true if a response reports a failure at its top level or one level below.
fn says_failed(answer: &Value) -> bool {
    let Some(all) = answer.as_object() else {
        return false;
    };
    let inner = all.values().filter_map(Value::as_object);
    std::iter::once(all).chain(inner).any(object_says_failed)
}

fn object_says_failed(all: &Map<String, Value>) -> bool {
    let wrong = first_member(all, ERROR_FLAG_KEYS).and_then(Value::as_bool) == Some(true);
    let unsuccessful = all.get("success").and_then(Value::as_bool) == Some(false);
    let code = first_member(all, EXIT_CODE_KEYS).and_then(Value::as_i64);
    let word = first_member(all, STATUS_KEYS).and_then(Value::as_str);
    // `error: null`, `error: false` and an empty string occur in successful responses.
    let error = all.get("error").is_some_and(|error| match error {
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    });
    wrong
        || unsuccessful
        || error
        || code.is_some_and(|it| it != 0)
        || word.is_some_and(|it| FAILURE_STATUSES.contains(&it))
}

fn is_shell(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    SHELL_TOOLS.contains(&tool.as_str())
}

/// Returns true if `exit code` and a nonzero number occur near the beginning or end of a text.
fn has_bad_exit(text: &str) -> bool {
    // Shell wrappers report the exit code in the first or last line. Output in between may quote
    // the exit codes of other commands.
    let mut head_end = EXIT_CODE_SEARCH_BYTES.min(text.len());
    while !text.is_char_boundary(head_end) {
        head_end -= 1;
    }
    let mut tail_start = text.len().saturating_sub(EXIT_CODE_SEARCH_BYTES);
    while !text.is_char_boundary(tail_start) {
        tail_start += 1;
    }
    [&text[..head_end], &text[tail_start..]]
        .into_iter()
        .any(|part| {
            let lower = part.to_lowercase();
            lower.match_indices("exit code").any(|(at, found)| {
                let rest = lower[at + found.len()..].trim_start_matches([':', ' ', '=']);
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<u32>().is_ok_and(|code| code != 0)
            })
        })
}
