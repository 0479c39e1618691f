//! opencode transcripts: one JSON document, as `opencode export` writes it.
//!
//! `{"info": {"id", "directory", …}, "messages": [{"info": {"role", "time"}, "parts": […]}]}`.
//! Parts that the program added for the model (`synthetic`, `ignored`) are not messages of a
//! person. A turn's line is the number of its message, because the document has no lines.

use serde_json::Value;

use super::{
    ActionKind, ActionOutcome, FileEdit, TranscriptBuilder, millis_value, single_added_line,
};

/// Returns whether a document has the format of opencode.
pub(super) fn is_document(value: &Value) -> bool {
    value["info"]["id"].is_string()
        && value["info"]["directory"].is_string()
        && value["messages"].is_array()
}

/// Adds a document to the transcript; returns the number of messages and of those not understood.
pub(super) fn read_document(value: &Value, into: &mut TranscriptBuilder) -> (usize, usize) {
    let info = &value["info"];
    into.session(info["id"].as_str());
    into.folder(info["directory"].as_str());
    let messages = value["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let mut skipped = 0;
    // A session with a parent is the prompt of an agent to its subagent.
    if info["parentID"].is_string() {
        return (messages.len(), skipped);
    }
    for (place, message) in messages.iter().enumerate() {
        into.line = place + 1;
        into.at = millis_value(&message["info"]["time"]["created"]);
        let parts = message["parts"].as_array().into_iter().flatten();
        match message["info"]["role"].as_str() {
            Some("user") => parts.for_each(|it| read_user_part(it, into)),
            // A summary is the program's request to condense the conversation, and its answer.
            Some("assistant") if message["info"]["summary"].as_bool() == Some(true) => {}
            Some("assistant") => parts.for_each(|it| read_agent_part(it, into)),
            Some(_) | None => skipped += 1,
        }
    }
    (messages.len(), skipped)
}

fn read_user_part(part: &Value, into: &mut TranscriptBuilder) {
    let is_inserted = ["synthetic", "ignored"]
        .iter()
        .any(|it| part[*it].as_bool() == Some(true));
    if part["type"].as_str() == Some("text") && !is_inserted {
        into.asked(part["text"].as_str().unwrap_or_default());
    }
}

fn read_agent_part(part: &Value, into: &mut TranscriptBuilder) {
    match part["type"].as_str() {
        Some("text") => into.told(part["text"].as_str().unwrap_or_default()),
        Some("tool") => {
            let (call, state) = (part["callID"].as_str(), &part["state"]);
            let name = part["tool"].as_str().unwrap_or_default();
            into.began(call, parse_action(name, &state["input"]));
            let code = state["metadata"]["exit"].as_i64();
            match state["status"].as_str() {
                Some("completed") => {
                    let outcome = match code {
                        Some(0) | None => ActionOutcome::Succeeded,
                        Some(_) => ActionOutcome::Failed,
                    };
                    let output = state["output"].as_str().unwrap_or_default();
                    into.ended(call, outcome, output);
                }
                Some("error") => {
                    let error = state["error"].as_str().unwrap_or_default();
                    into.ended(call, ActionOutcome::Failed, error);
                }
                Some(_) | None => {}
            }
        }
        Some(_) | None => {}
    }
}

fn parse_action(name: &str, input: &Value) -> ActionKind {
    match (name, input["filePath"].as_str()) {
        ("bash", _) => {
            ActionKind::Command(input["command"].as_str().unwrap_or_default().to_owned())
        }
        ("edit" | "write", Some(path)) => {
            let added = match (input["oldString"].as_str(), input["newString"].as_str()) {
                (Some(old), Some(new)) => single_added_line(old, new),
                (Some(_), None) | (None, _) => None,
            };
            let path = path.to_owned();
            ActionKind::Edit(vec![FileEdit { path, added }])
        }
        (other, _) => ActionKind::Other(other.to_owned()),
    }
}
