//! Lines of Codex: rollouts with `type` and `payload`, older ones without, and what `codex exec --json` streams.

use serde_json::Value;

use super::{Builder, Deed, Edit, Outcome, text_of};

/// Names of the tool that runs a command.
const SHELLS: [&str; 6] = [
    "shell",
    "shell_command",
    "exec_command",
    "local_shell",
    "container.exec",
    "unified_exec",
];

/// Words before the number a command ended with.
const EXIT_WORDS: [&str; 2] = ["Exit code: ", "Process exited with code "];

/// Returns whether a line is one of Codex'.
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

/// Takes one line in.
pub(super) fn line(value: &Value, into: &mut Builder) {
    let payload = &value["payload"];
    match value["type"].as_str() {
        Some("session_meta") => {
            into.session(payload["id"].as_str());
            into.folder(payload["cwd"].as_str());
        }
        Some("turn_context") => into.folder(payload["cwd"].as_str()),
        Some("response_item") => item(payload, into),
        Some("event_msg") => event(payload, into),
        Some("thread.started") => into.session(value["thread_id"].as_str()),
        Some("item.completed") => streamed(&value["item"], into),
        // Before there were envelopes, the first line named the session and the others were items.
        None if value["id"].is_string() && value["timestamp"].is_string() => {
            into.session(value["id"].as_str());
        }
        Some(_) | None => item(value, into),
    }
}

fn item(item: &Value, into: &mut Builder) {
    let call = item["call_id"].as_str().or(item["id"].as_str());
    match item["type"].as_str() {
        Some("message") => {
            let text = text_of(&item["content"]);
            match item["role"].as_str() {
                Some("user") => asked(&text, into),
                Some("assistant") => into.told(&text),
                Some(_) | None => {}
            }
        }
        Some("function_call") => {
            let name = item["name"].as_str().unwrap_or_default();
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let arguments = serde_json::from_str(arguments).unwrap_or_default();
            into.began(call, deed(name, &arguments));
        }
        Some("custom_tool_call") => {
            let name = item["name"].as_str().unwrap_or_default();
            let input = item["input"].as_str().unwrap_or_default();
            let deed = match name {
                "apply_patch" => Deed::Edit(patched(input)),
                other => Deed::Other(other.to_owned()),
            };
            into.began(call, deed);
        }
        Some("local_shell_call") => {
            let deed = Deed::Command(shell_line(&item["action"]["command"]));
            into.began(call, deed);
        }
        Some("function_call_output" | "custom_tool_call_output" | "local_shell_call_output") => {
            let (outcome, text) = result(&item["output"]);
            into.ended(call, outcome, &text);
        }
        Some(_) | None => {}
    }
}

fn asked(text: &str, into: &mut Builder) {
    let text = text.trim();
    // Instructions and surroundings go to the model in a person's name.
    if !text.starts_with(['<', '#']) {
        into.asked(text);
    }
}

fn event(payload: &Value, into: &mut Builder) {
    let call = payload["call_id"].as_str();
    match payload["type"].as_str() {
        Some("user_message") => asked(payload["message"].as_str().unwrap_or_default(), into),
        Some("agent_message") => into.told(payload["message"].as_str().unwrap_or_default()),
        Some("exec_command_begin") => {
            into.began(call, Deed::Command(shell_line(&payload["command"])));
        }
        Some("exec_command_end") => {
            let names = ["aggregated_output", "formatted_output", "stderr"];
            let text = names
                .iter()
                .find_map(|name| payload[*name].as_str().filter(|it| !it.is_empty()));
            into.ended(
                call,
                by_code(payload["exit_code"].as_i64()),
                text.unwrap_or_default(),
            );
        }
        Some(_) | None => {}
    }
}

/// Takes in what `codex exec --json` tells when something is done.
fn streamed(item: &Value, into: &mut Builder) {
    match item["type"].as_str() {
        Some("agent_message") => into.told(item["text"].as_str().unwrap_or_default()),
        Some("command_execution") => {
            let call = item["id"].as_str();
            into.began(
                call,
                Deed::Command(unwrapped(item["command"].as_str().unwrap_or_default())),
            );
            let output = item["aggregated_output"].as_str().unwrap_or_default();
            into.ended(call, by_code(item["exit_code"].as_i64()), output);
        }
        Some("file_change") => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let edits = changes
                .filter_map(|it| it["path"].as_str())
                .map(|path| Edit {
                    path: path.to_owned(),
                    added: None,
                });
            let call = item["id"].as_str();
            into.began(call, Deed::Edit(edits.collect()));
            let outcome = match item["status"].as_str() {
                Some("completed") => Outcome::Succeeded,
                Some("failed") => Outcome::Failed,
                Some(_) | None => Outcome::Unknown,
            };
            into.ended(call, outcome, "");
        }
        Some(_) | None => {}
    }
}

fn deed(name: &str, arguments: &Value) -> Deed {
    if name == "apply_patch" {
        let patch = arguments["input"].as_str().or(arguments["patch"].as_str());
        return Deed::Edit(patched(patch.unwrap_or_default()));
    }
    if !SHELLS.contains(&name) {
        return Deed::Other(name.to_owned());
    }
    let named = ["command", "cmd"].map(|name| &arguments[name]);
    let command = named.into_iter().find(|it| !it.is_null());
    let line = command.map(shell_line).unwrap_or_default();
    match line.trim_start().starts_with("apply_patch") {
        true => Deed::Edit(patched(&line)),
        false => Deed::Command(line),
    }
}

/// Returns a command as one line for a shell.
fn shell_line(command: &Value) -> String {
    match command {
        Value::String(line) => unwrapped(line),
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

/// Returns what a shell is told in `bash -lc '…'`.
fn unwrapped(line: &str) -> String {
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

/// Returns the files a patch writes, each with the one line it adds where it is one.
fn patched(patch: &str) -> Vec<Edit> {
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
    let edits = edits.into_iter().map(|(path, lines)| Edit {
        path,
        added: (lines.len() == 1).then(|| lines[0].to_owned()),
    });
    edits.collect()
}

/// Returns how a call ended and what came back: as an object, as JSON in a text, or as a text with a heading.
fn result(output: &Value) -> (Outcome, String) {
    let text = text_of(output);
    let parsed: Option<Value> = text
        .starts_with('{')
        .then(|| serde_json::from_str(&text).ok())
        .flatten();
    if let Some(parsed) = parsed.filter(|it| it["output"].is_string()) {
        let code = parsed["metadata"]["exit_code"].as_i64();
        return (
            by_code(code),
            parsed["output"].as_str().unwrap_or_default().to_owned(),
        );
    }
    if let Some(success) = output["success"].as_bool() {
        let outcome = if success {
            Outcome::Succeeded
        } else {
            Outcome::Failed
        };
        return (outcome, text);
    }
    if text.starts_with("Success.") {
        return (Outcome::Succeeded, text);
    }
    let told = text.lines().take(EXIT_LINES_MAX);
    let code = told.filter_map(|line| EXIT_WORDS.iter().find_map(|words| line.strip_prefix(words)));
    let code = code.filter_map(|rest| rest.trim().parse().ok()).next();
    let body = text
        .split_once("Output:\n")
        .map(|(_, body)| body.to_owned());
    (by_code(code), body.unwrap_or(text))
}

/// Lines of a result among which its exit code stands.
const EXIT_LINES_MAX: usize = 8;

fn by_code(code: Option<i64>) -> Outcome {
    match code {
        Some(0) => Outcome::Succeeded,
        Some(_) => Outcome::Failed,
        None => Outcome::Unknown,
    }
}
