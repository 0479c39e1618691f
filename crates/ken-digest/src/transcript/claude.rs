//! Claude Code transcripts: `user` and `assistant` lines with message blocks, stored or streamed.
//!
//! Prompts to subagents (`isSidechain`) and text inserted by the program (`isMeta`, summaries, text
//! in angle brackets) are not messages of a person.

use serde_json::Value;

use super::{
    ActionKind, ActionOutcome, FileEdit, TranscriptBuilder, result_text, single_added_line,
};

/// Precedes the user's message if the user rejected a tool call.
const REJECTION_REASON: &str = "the user said:";

/// Openings of results of rejected or interrupted tool calls.
const REJECTED_RESULTS: [&str; 5] = [
    "The user doesn't want to",
    "[Request interrupted",
    "Command running in background",
    "Permission to use",
    "<tool_use_error>",
];

/// Openings of user texts that a person did not type.
const NOT_TYPED: [&str; 4] = [
    "<",
    "[Request interrupted",
    "Caveat:",
    "This session is being continued",
];

/// Returns whether a line has the format of Claude Code.
pub(super) fn is_line(value: &Value) -> bool {
    let kind = value["type"].as_str().unwrap_or_default();
    let spoken = matches!(kind, "user" | "assistant" | "human") && value["message"].is_object();
    let known = matches!(
        kind,
        "summary" | "file-history-snapshot" | "queue-operation"
    );
    spoken || known || kind == "system" && value["subtype"].is_string()
}

/// Returns whether a line has no words of the person or the agent. Quotation marks inside of
/// strings are escaped, so these marks occur in the structure of the line only.
pub(super) fn is_silent(line: &[u8]) -> bool {
    let has = |mark: &str| memchr::memmem::find(line, mark.as_bytes()).is_some();
    if has(r#""tool_use_id":"#) {
        return !has(REJECTION_REASON);
    }
    has(r#""type":"tool_use""#) && !has(r#""type":"text""#)
}

/// Adds one line to the transcript.
pub(super) fn read_line(value: &Value, into: &mut TranscriptBuilder) {
    into.session(value["sessionId"].as_str().or(value["session_id"].as_str()));
    into.folder(value["cwd"].as_str());
    let is_subagent =
        value["isSidechain"].as_bool() == Some(true) || value["parent_tool_use_id"].is_string();
    if is_subagent {
        return;
    }
    // A resumed session copies earlier lines with their ids.
    if let Some(name) = value["uuid"].as_str()
        && !into.seen.insert(name.to_owned())
    {
        return;
    }
    let content = &value["message"]["content"];
    match value["type"].as_str() {
        Some("user" | "human") => read_user_content(value, content, into),
        Some("assistant") => read_agent_content(content, into),
        Some(_) | None => {}
    }
}

fn read_user_content(value: &Value, content: &Value, into: &mut TranscriptBuilder) {
    let yes = |name: &str| value[name].as_bool() == Some(true);
    // Claude Code stores its own prompts as user lines with one of these flags.
    let typed = !(yes("isMeta") || yes("isCompactSummary") || yes("isVisibleInTranscriptOnly"));
    match content {
        Value::String(text) if typed => add_typed_text(text, into),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("text") if typed => {
                        add_typed_text(block["text"].as_str().unwrap_or_default(), into);
                    }
                    Some("tool_result") => read_tool_result(block, &value["toolUseResult"], into),
                    Some(_) | None => {}
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

fn add_typed_text(text: &str, into: &mut TranscriptBuilder) {
    let text = strip_reminders(text);
    let text = text.trim();
    if !NOT_TYPED.iter().any(|it| text.starts_with(it)) {
        into.asked(text);
    }
}

/// Strips the reminders the program adds for the model.
fn strip_reminders(text: &str) -> String {
    let (open, close) = ("<system-reminder>", "</system-reminder>");
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(open) {
        out.push_str(before);
        rest = behind.split_once(close).map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

fn read_tool_result(block: &Value, details: &Value, into: &mut TranscriptBuilder) {
    let text = result_text(&block["content"]);
    let call = block["tool_use_id"].as_str();
    let start = text.trim_start();
    let stopped = REJECTED_RESULTS.iter().any(|it| start.starts_with(it))
        || details["interrupted"].as_bool() == Some(true);
    let outcome = match block["is_error"].as_bool() {
        // A rejected call is flagged as an error, but the command itself never failed.
        _ if stopped => ActionOutcome::Unknown,
        Some(true) => ActionOutcome::Failed,
        Some(false) | None => ActionOutcome::Succeeded,
    };
    into.ended(call, outcome, &text);
    // The reason for rejecting a tool call is a user message.
    if let Some((_, reason)) = text.split_once(REJECTION_REASON)
        && stopped
    {
        let reason = reason.split("\n\nNote:").next().unwrap_or_default();
        add_typed_text(reason, into);
    }
}

fn read_agent_content(content: &Value, into: &mut TranscriptBuilder) {
    if let Value::String(text) = content {
        into.told(text);
        return;
    }
    for block in content.as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => into.told(block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => {
                let deed =
                    parse_action(block["name"].as_str().unwrap_or_default(), &block["input"]);
                into.began(block["id"].as_str(), deed);
            }
            Some(_) | None => {}
        }
    }
}

fn parse_action(name: &str, input: &Value) -> ActionKind {
    let path = input["file_path"]
        .as_str()
        .or(input["notebook_path"].as_str());
    match (name, path) {
        ("Bash", _) => {
            ActionKind::Command(input["command"].as_str().unwrap_or_default().to_owned())
        }
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", Some(path)) => {
            let (old, new) = (&input["old_string"], &input["new_string"]);
            let added = match (old.as_str(), new.as_str()) {
                (Some(old), Some(new)) => single_added_line(old, new),
                (Some(_), None) | (None, _) => None,
            };
            let path = path.to_owned();
            ActionKind::Edit(vec![FileEdit { path, added }])
        }
        (other, _) => ActionKind::Other(other.to_owned()),
    }
}
