//! Gemini CLI transcripts: one JSON document, or JSON lines that amend each other.
//!
//! The lines are metadata (`sessionId`, `projectHash`), messages with an id, `$set` (changes of the
//! metadata or of all messages) and `$rewindTo` (removes a message and those behind it). A message
//! whose id occurs again replaces the earlier one, so turns are read at the end.

use serde_json::Value;

use super::{
    ActionKind, ActionOutcome, FileEdit, TranscriptBuilder, rfc3339_value, single_added_line,
};

/// Openings of user texts that a person did not type, and of commands of the program.
const NOT_TYPED: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// Messages in order, each with its line.
#[derive(Debug, Default)]
pub(super) struct GeminiMessages {
    messages: Vec<(usize, Value)>,
    is_subagent: bool,
}

/// Returns whether a line, or a whole document, has the format of Gemini CLI.
pub(super) fn is_line(value: &Value) -> bool {
    let is_metadata = value["sessionId"].is_string() && value["projectHash"].is_string();
    let is_change = value["$set"].is_object() || value["$rewindTo"].is_string();
    is_metadata || is_change || is_message(value)
}

fn is_message(value: &Value) -> bool {
    let is_kind = matches!(
        value["type"].as_str(),
        Some("user" | "gemini" | "info" | "error" | "warning")
    );
    is_kind && value["id"].is_string() && value["timestamp"].is_string()
}

impl GeminiMessages {
    /// Applies one line, or a whole document.
    pub(super) fn read_line(&mut self, value: Value, into: &mut TranscriptBuilder) {
        if let Some(first) = value["$rewindTo"].as_str() {
            // An unknown id removes everything, as in the program itself.
            let place = self.messages.iter().position(|(_, it)| it["id"] == first);
            self.messages.truncate(place.unwrap_or(0));
        } else if is_message(&value) {
            self.add(into.line, value);
        } else {
            let record = if value["$set"].is_object() {
                self.messages
                    .truncate(if value["$set"]["messages"].is_array() {
                        0
                    } else {
                        self.messages.len()
                    });
                &value["$set"]
            } else {
                &value
            };
            into.session(record["sessionId"].as_str());
            self.is_subagent |= record["kind"].as_str() == Some("subagent");
            for message in record["messages"].as_array().into_iter().flatten() {
                self.add(into.line, message.clone());
            }
        }
    }

    fn add(&mut self, line: usize, message: Value) {
        let same = self
            .messages
            .iter_mut()
            .rev()
            .find(|(_, it)| it["id"] == message["id"]);
        match same {
            Some((_, old)) => *old = message,
            None => self.messages.push((line, message)),
        }
    }

    /// Adds the turns of all messages to the transcript.
    pub(super) fn finish(self, into: &mut TranscriptBuilder) {
        // Prompts to subagents are not messages of a person.
        if self.is_subagent {
            return;
        }
        for (line, message) in self.messages {
            into.line = line;
            into.at = rfc3339_value(&message["timestamp"]);
            match message["type"].as_str() {
                Some("user") => {
                    // What the person typed; `content` also has the files it mentions.
                    let shown = part_text(&message["displayContent"]);
                    let text =
                        shown.unwrap_or_else(|| part_text(&message["content"]).unwrap_or_default());
                    if !NOT_TYPED.iter().any(|it| text.trim().starts_with(it)) {
                        into.asked(&text);
                    }
                }
                Some("gemini") => {
                    into.told(&part_text(&message["content"]).unwrap_or_default());
                    for call in message["toolCalls"].as_array().into_iter().flatten() {
                        read_call(call, into);
                    }
                }
                Some(_) | None => {}
            }
        }
    }
}

/// Returns the text of content: a string, a part, or a list of both.
fn part_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Object(part) if part.get("thought").and_then(Value::as_bool) != Some(true) => {
            part.get("text").and_then(Value::as_str).map(str::to_owned)
        }
        Value::Array(parts) => {
            let texts: Vec<String> = parts.iter().filter_map(part_text).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn read_call(call: &Value, into: &mut TranscriptBuilder) {
    let id = call["id"].as_str();
    let name = call["name"].as_str().unwrap_or_default();
    into.began(id, parse_action(name, &call["args"]));
    let outcome = match call["status"].as_str() {
        Some("success") => ActionOutcome::Succeeded,
        Some("error") => ActionOutcome::Failed,
        Some(_) | None => return,
    };
    let responses = call["result"].as_array().into_iter().flatten();
    let texts = responses.filter_map(|it| it["functionResponse"]["response"]["output"].as_str());
    into.ended(id, outcome, &texts.collect::<Vec<_>>().join("\n"));
}

fn parse_action(name: &str, args: &Value) -> ActionKind {
    match (name, args["file_path"].as_str()) {
        ("run_shell_command", _) => {
            ActionKind::Command(args["command"].as_str().unwrap_or_default().to_owned())
        }
        ("replace" | "write_file", Some(path)) => {
            let added = match (args["old_string"].as_str(), args["new_string"].as_str()) {
                (Some(old), Some(new)) => single_added_line(old, new),
                (Some(_), None) | (None, _) => None,
            };
            let path = path.to_owned();
            ActionKind::Edit(vec![FileEdit { path, added }])
        }
        (other, _) => ActionKind::Other(other.to_owned()),
    }
}
