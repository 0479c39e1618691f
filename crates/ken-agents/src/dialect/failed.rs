//! Whether a tool did what it should: by the moment, by what its answer says of itself, by an exit code in its text.
//!
//! Agents without an event for failures tell of them in the answer of the tool.

use serde_json::{Map, Value};

use super::hear::{member, strings};
use crate::Moment;

/// Members of an answer whose truth says that it failed.
const WRONG: &[&str] = &["is_error", "isError"];
/// Members that hold how a command ended.
const CODES: &[&str] = &[
    "exit_code",
    "exitCode",
    "exit_status",
    "exitStatus",
    "returncode",
    "code",
];
/// Members that say in a word how it went, and the words for failures.
const WORDS: &[&str] = &["resultType", "result_type", "status"];
const BAD: &[&str] = &["failure", "failed", "error"];
/// Members by which an agent says that a person stopped the tool.
const INTERRUPTED: &[&str] = &["is_interrupt", "isInterrupt", "interrupted"];

/// Tools that run commands; of these the text of the answer may hold how the command ended.
const SHELLS: &[&str] = &[
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

/// Bytes at both ends of a text in which a command's exit code is looked for.
const ENDS_BYTES: usize = 400;

/// What is known about a tool's answer.
pub(super) struct Told<'a> {
    pub(super) moment: Moment,
    pub(super) all: &'a Map<String, Value>,
    pub(super) tool: &'a str,
    pub(super) answer: Option<&'a Value>,
    pub(super) error: Option<&'a Value>,
    /// The texts of the answer.
    pub(super) text: &'a str,
}

/// Returns what went wrong, if the tool failed by itself.
pub(super) fn failure(told: &Told<'_>) -> Option<String> {
    if is_stopped(told) {
        return None;
    }
    let mut said = Vec::new();
    if let Some(error) = told.error {
        strings(error, &mut said);
    }
    let by_moment = told.moment == Moment::Failure;
    let by_error = said.iter().any(|it| !it.trim().is_empty());
    let by_answer = told.answer.is_some_and(says_failed);
    let by_text = is_shell(told.tool) && has_bad_exit(told.text);
    if !(by_moment || by_error || by_answer || by_text) {
        return None;
    }
    said.push(told.text.to_owned());
    said.retain(|it| !it.trim().is_empty());
    Some(said.join("\n"))
}

/// Whether a person stopped the tool or did not let it run.
fn is_stopped(told: &Told<'_>) -> bool {
    let interrupted = |all| member(all, INTERRUPTED).and_then(Value::as_bool);
    let denied = told.all.get("failure_type").and_then(Value::as_str);
    let inner = told.answer.and_then(Value::as_object);
    interrupted(told.all).or_else(|| interrupted(inner?)) == Some(true)
        || denied == Some("permission_denied")
}

/// Whether an answer says of itself, or one level below, that it failed.
fn says_failed(answer: &Value) -> bool {
    let Some(all) = answer.as_object() else {
        return false;
    };
    let inner = all.values().filter_map(Value::as_object);
    std::iter::once(all).chain(inner).any(object_says_failed)
}

fn object_says_failed(all: &Map<String, Value>) -> bool {
    let wrong = member(all, WRONG).and_then(Value::as_bool) == Some(true);
    let unsuccessful = all.get("success").and_then(Value::as_bool) == Some(false);
    let code = member(all, CODES).and_then(Value::as_i64);
    let word = member(all, WORDS).and_then(Value::as_str);
    let error = all.get("error").is_some_and(|it| match it {
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    });
    wrong
        || unsuccessful
        || error
        || code.is_some_and(|it| it != 0)
        || word.is_some_and(|it| BAD.contains(&it))
}

fn is_shell(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    SHELLS.contains(&tool.as_str())
}

/// Whether a text says `exit code` and a number that is not 0, near its beginning or end.
fn has_bad_exit(text: &str) -> bool {
    let mut to = ENDS_BYTES.min(text.len());
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    let mut from = text.len().saturating_sub(ENDS_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    [&text[..to], &text[from..]].into_iter().any(|part| {
        let lower = part.to_lowercase();
        lower.match_indices("exit code").any(|(at, found)| {
            let rest = lower[at + found.len()..].trim_start_matches([':', ' ', '=']);
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().is_ok_and(|code| code != 0)
        })
    })
}
