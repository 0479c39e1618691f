//! Codex transcripts: rollouts with `type` and `payload`, older ones without, and the stream of
//! `codex exec --json`.

use serde_json::Value;

use super::{ActionKind, ActionOutcome, FileEdit, TranscriptBuilder, result_text};

/// Names of the shell tool.
const SHELLS: [&str; 6] = [
    "shell",
    "shell_command",
    "exec_command",
    "local_shell",
    "container.exec",
    "unified_exec",
];

/// Text before the exit code of a command.
const EXIT_WORDS: [&str; 2] = ["Exit code: ", "Process exited with code "];

/// Returns whether a line has the format of Codex.
pub(super) fn is_line(value: &Value) -> bool {
    let kind = value["type"].as_str().unwrap_or_default();
    let wrapped = matches!(
        kind,
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
    );
    let streamed = kind == "thread.started" || kind == "turn.started" || kind.starts_with("item.");
    let bare = matches!(
        kind,
        "function_call" | "function_call_output" | "local_shell_call" | "custom_tool_call"
    ) || kind == "message" && value["role"].is_string() && value["content"].is_array();
    wrapped && value["payload"].is_object() || streamed || bare
}

/// Marks of lines without words of the person or the agent. Quotation marks inside of strings are
/// escaped, so the marks occur in the structure of a line only.
const SILENT_MARKS: [&str; 7] = [
    r#""type":"function_call_output""#,
    r#""type":"function_call""#,
    r#""type":"custom_tool_call_output""#,
    r#""type":"custom_tool_call""#,
    r#""type":"exec_command_end""#,
    r#""type":"reasoning""#,
    r#""type":"token_count""#,
];

/// Bytes of a line in which a mark must occur; it is at the start of the payload.
const MARK_BYTES: usize = 256;

/// Returns whether a line has no words of the person or the agent.
pub(super) fn is_silent(line: &[u8]) -> bool {
    let start = &line[..line.len().min(MARK_BYTES)];
    SILENT_MARKS
        .iter()
        .any(|mark| memchr::memmem::find(start, mark.as_bytes()).is_some())
}

/// Adds one line to the transcript.
pub(super) fn read_line(value: &Value, into: &mut TranscriptBuilder) {
    let payload = &value["payload"];
    match value["type"].as_str() {
        Some("session_meta") => {
            into.session(payload["id"].as_str());
            into.folder(payload["cwd"].as_str());
        }
        Some("turn_context") => into.folder(payload["cwd"].as_str()),
        Some("response_item") => read_item(payload, into),
        Some("event_msg") => read_event(payload, into),
        Some("thread.started") => into.session(value["thread_id"].as_str()),
        Some("item.completed") => read_streamed_item(&value["item"], into),
        // Old rollouts have no envelope: the first line has the session id, the others are items.
        None if value["id"].is_string() && value["timestamp"].is_string() => {
            into.session(value["id"].as_str());
        }
        Some(_) | None => read_item(value, into),
    }
}

fn read_item(item: &Value, into: &mut TranscriptBuilder) {
    let call = item["call_id"].as_str().or(item["id"].as_str());
    match item["type"].as_str() {
        Some("message") => {
            let text = result_text(&item["content"]);
            match item["role"].as_str() {
                Some("user") => add_typed_text(&text, into),
                Some("assistant") => into.told(&text),
                Some(_) | None => {}
            }
        }
        Some("function_call") => {
            let name = item["name"].as_str().unwrap_or_default();
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let arguments = serde_json::from_str(arguments).unwrap_or_default();
            into.began(call, parse_action(name, &arguments));
        }
        Some("custom_tool_call") => {
            let name = item["name"].as_str().unwrap_or_default();
            let input = item["input"].as_str().unwrap_or_default();
            let deed = match name {
                "apply_patch" => ActionKind::Edit(parse_patch(input)),
                other => ActionKind::Other(other.to_owned()),
            };
            into.began(call, deed);
        }
        Some("local_shell_call") => {
            let deed = ActionKind::Command(shell_line(&item["action"]["command"]));
            into.began(call, deed);
        }
        Some("function_call_output" | "custom_tool_call_output" | "local_shell_call_output") => {
            let (outcome, text) = parse_result(&item["output"]);
            into.ended(call, outcome, &text);
        }
        Some(_) | None => {}
    }
}

fn add_typed_text(text: &str, into: &mut TranscriptBuilder) {
    let text = text.trim();
    // Codex sends instructions and environment to the model as user messages.
    if !text.starts_with(['<', '#']) {
        into.asked(text);
    }
}

fn read_event(payload: &Value, into: &mut TranscriptBuilder) {
    let call = payload["call_id"].as_str();
    match payload["type"].as_str() {
        Some("user_message") => {
            add_typed_text(payload["message"].as_str().unwrap_or_default(), into);
        }
        Some("agent_message") => into.told(payload["message"].as_str().unwrap_or_default()),
        Some("exec_command_begin") => {
            into.began(call, ActionKind::Command(shell_line(&payload["command"])));
        }
        Some("exec_command_end") => {
            let names = ["aggregated_output", "formatted_output", "stderr"];
            let text = names
                .iter()
                .find_map(|name| payload[*name].as_str().filter(|it| !it.is_empty()));
            into.ended(
                call,
                outcome_from_code(payload["exit_code"].as_i64()),
                text.unwrap_or_default(),
            );
        }
        Some(_) | None => {}
    }
}

/// Adds a completed item of `codex exec --json`.
fn read_streamed_item(item: &Value, into: &mut TranscriptBuilder) {
    match item["type"].as_str() {
        Some("agent_message") => into.told(item["text"].as_str().unwrap_or_default()),
        Some("command_execution") => {
            let call = item["id"].as_str();
            into.began(
                call,
                ActionKind::Command(unwrap_shell(item["command"].as_str().unwrap_or_default())),
            );
            let output = item["aggregated_output"].as_str().unwrap_or_default();
            into.ended(call, outcome_from_code(item["exit_code"].as_i64()), output);
        }
        Some("file_change") => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let edits = changes
                .filter_map(|it| it["path"].as_str())
                .map(|path| FileEdit {
                    path: path.to_owned(),
                    added: None,
                });
            let call = item["id"].as_str();
            into.began(call, ActionKind::Edit(edits.collect()));
            let outcome = match item["status"].as_str() {
                Some("completed") => ActionOutcome::Succeeded,
                Some("failed") => ActionOutcome::Failed,
                Some(_) | None => ActionOutcome::Unknown,
            };
            into.ended(call, outcome, "");
        }
        Some(_) | None => {}
    }
}

fn parse_action(name: &str, arguments: &Value) -> ActionKind {
    if name == "apply_patch" {
        let patch = arguments["input"].as_str().or(arguments["patch"].as_str());
        return ActionKind::Edit(parse_patch(patch.unwrap_or_default()));
    }
    if !SHELLS.contains(&name) {
        return ActionKind::Other(name.to_owned());
    }
    let named = ["command", "cmd"].map(|name| &arguments[name]);
    let command = named.into_iter().find(|it| !it.is_null());
    let line = command.map(shell_line).unwrap_or_default();
    // Codex also edits files through a pseudo command of the shell tool.
    if line.trim_start().starts_with("apply_patch") {
        ActionKind::Edit(parse_patch(&line))
    } else {
        ActionKind::Command(line)
    }
}

/// Returns a command as one shell line.
fn shell_line(command: &Value) -> String {
    match command {
        Value::String(line) => unwrap_shell(line),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [shell, flag, line] if is_shell(shell) && flag.starts_with('-') => {
                    (*line).to_owned()
                }
                words => words.join(" "),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Returns the command inside `bash -lc '…'`.
fn unwrap_shell(line: &str) -> String {
    let mut parts = line.splitn(3, ' ');
    let (shell, flag, rest) = (parts.next(), parts.next(), parts.next());
    match (shell, flag, rest) {
        (Some(shell), Some("-lc" | "-c"), Some(rest)) if is_shell(shell) => {
            rest.trim_matches(['\'', '"']).to_owned()
        }
        (_, _, _) => line.to_owned(),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "zsh")
}

/// Returns the files a patch writes, each with its added line if there is exactly one.
fn parse_patch(patch: &str) -> Vec<FileEdit> {
    let mut edits: Vec<(String, Vec<&str>)> = Vec::new();
    for line in patch.lines() {
        let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
        if let Some(path) = marks.iter().find_map(|mark| line.strip_prefix(mark)) {
            edits.push((path.trim().to_owned(), Vec::new()));
        } else if let (Some(added), Some((_, lines))) = (line.strip_prefix('+'), edits.last_mut())
            && !added.trim().is_empty()
        {
            lines.push(added.trim());
        }
    }
    let files = edits.into_iter().map(|(path, lines)| FileEdit {
        path,
        added: (lines.len() == 1).then(|| lines[0].to_owned()),
    });
    files.collect()
}

/// Returns the outcome and output of a call: from an object, from JSON in a string, or from text
/// with a header.
fn parse_result(output: &Value) -> (ActionOutcome, String) {
    let text = result_text(output);
    let parsed: Option<Value> = text
        .starts_with('{')
        .then(|| serde_json::from_str(&text).ok())
        .flatten();
    if let Some(parsed) = parsed.filter(|it| it["output"].is_string()) {
        let code = parsed["metadata"]["exit_code"].as_i64();
        return (
            outcome_from_code(code),
            parsed["output"].as_str().unwrap_or_default().to_owned(),
        );
    }
    if let Some(success) = output["success"].as_bool() {
        let outcome = if success {
            ActionOutcome::Succeeded
        } else {
            ActionOutcome::Failed
        };
        return (outcome, text);
    }
    // `apply_patch` reports success as text, without an exit code.
    if text.starts_with("Success.") {
        return (ActionOutcome::Succeeded, text);
    }
    // Only the header: the output itself may contain such a line.
    let header = text.lines().take(EXIT_LINES_MAX);
    let codes =
        header.filter_map(|line| EXIT_WORDS.iter().find_map(|words| line.strip_prefix(words)));
    let code = codes.filter_map(|rest| rest.trim().parse().ok()).next();
    let body = text
        .split_once("Output:\n")
        .map(|(_, body)| body.to_owned());
    (outcome_from_code(code), body.unwrap_or(text))
}

/// Number of leading lines of a result that may contain the exit code.
const EXIT_LINES_MAX: usize = 8;

fn outcome_from_code(code: Option<i64>) -> ActionOutcome {
    match code {
        Some(0) => ActionOutcome::Succeeded,
        Some(_) => ActionOutcome::Failed,
        None => ActionOutcome::Unknown,
    }
}
