//! Lines of Claude Code: `user` and `assistant` with a message of blocks, stored or streamed.
//!
//! What another agent was asked (`isSidechain`) and what the program put into a person's mouth (`isMeta`, summaries, texts in
//! angle brackets) is nobody's word.

use serde_json::Value;

use super::{Builder, Deed, Edit, Outcome, one_added, text_of};

/// Stands before a person's words where a tool was not let.
const SAID: &str = "the user said:";

/// Results of tools that were not let, or were stopped.
const STOPPED: [&str; 5] = [
    "The user doesn't want to",
    "[Request interrupted",
    "Command running in background",
    "Permission to use",
    "<tool_use_error>",
];

/// Beginnings of texts a person did not type.
const NOT_TYPED: [&str; 4] = [
    "<",
    "[Request interrupted",
    "Caveat:",
    "This session is being continued",
];

/// Returns whether a line is one of Claude Code's.
pub(super) fn is_line(value: &Value) -> bool {
    let kind = value["type"].as_str().unwrap_or_default();
    let spoken = matches!(kind, "user" | "assistant" | "human") && value["message"].is_object();
    let known = matches!(
        kind,
        "summary" | "file-history-snapshot" | "queue-operation"
    );
    spoken || known || kind == "system" && value["subtype"].is_string()
}

/// Takes one line in.
pub(super) fn line(value: &Value, into: &mut Builder) {
    into.session(value["sessionId"].as_str().or(value["session_id"].as_str()));
    into.folder(value["cwd"].as_str());
    let aside =
        value["isSidechain"].as_bool() == Some(true) || value["parent_tool_use_id"].is_string();
    if aside {
        return;
    }
    if let Some(name) = value["uuid"].as_str()
        && !into.seen.insert(name.to_owned())
    {
        return;
    }
    let content = &value["message"]["content"];
    match value["type"].as_str() {
        Some("user" | "human") => from_user(value, content, into),
        Some("assistant") => from_agent(content, into),
        Some(_) | None => {}
    }
}

fn from_user(value: &Value, content: &Value, into: &mut Builder) {
    let yes = |name: &str| value[name].as_bool() == Some(true);
    let typed = !(yes("isMeta") || yes("isCompactSummary") || yes("isVisibleInTranscriptOnly"));
    match content {
        Value::String(text) if typed => asked(text, into),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("text") if typed => {
                        asked(block["text"].as_str().unwrap_or_default(), into);
                    }
                    Some("tool_result") => result(block, &value["toolUseResult"], into),
                    Some(_) | None => {}
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

fn asked(text: &str, into: &mut Builder) {
    let text = without_reminders(text);
    let text = text.trim();
    if !NOT_TYPED.iter().any(|it| text.starts_with(it)) {
        into.asked(text);
    }
}

/// Returns a text without what the program adds for the model.
fn without_reminders(text: &str) -> String {
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

fn result(block: &Value, told: &Value, into: &mut Builder) {
    let text = text_of(&block["content"]);
    let call = block["tool_use_id"].as_str();
    let start = text.trim_start();
    let stopped = STOPPED.iter().any(|it| start.starts_with(it))
        || told["interrupted"].as_bool() == Some(true);
    let outcome = match block["is_error"].as_bool() {
        _ if stopped => Outcome::Unknown,
        Some(true) => Outcome::Failed,
        Some(false) | None => Outcome::Succeeded,
    };
    into.ended(call, outcome, &text);
    // Why a person did not let a tool run is what they said.
    if let Some((_, said)) = text.split_once(SAID)
        && stopped
    {
        let said = said.split("\n\nNote:").next().unwrap_or_default();
        asked(said, into);
    }
}

fn from_agent(content: &Value, into: &mut Builder) {
    if let Value::String(text) = content {
        into.told(text);
        return;
    }
    for block in content.as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => into.told(block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => {
                let deed = deed(block["name"].as_str().unwrap_or_default(), &block["input"]);
                into.began(block["id"].as_str(), deed);
            }
            Some(_) | None => {}
        }
    }
}

fn deed(name: &str, input: &Value) -> Deed {
    let path = input["file_path"]
        .as_str()
        .or(input["notebook_path"].as_str());
    match (name, path) {
        ("Bash", _) => Deed::Command(input["command"].as_str().unwrap_or_default().to_owned()),
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", Some(path)) => {
            let (old, new) = (&input["old_string"], &input["new_string"]);
            let added = match (old.as_str(), new.as_str()) {
                (Some(old), Some(new)) => one_added(old, new),
                (Some(_), None) | (None, _) => None,
            };
            let path = path.to_owned();
            Deed::Edit(vec![Edit { path, added }])
        }
        (other, _) => Deed::Other(other.to_owned()),
    }
}
