//! MCP client for `ken mcp`: calls of one session, one request at a time.
//!
//! Requests that wait in line would be handled in parallel, and the outcome of a case would depend
//! on which comes first.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::check::Answer;
use super::scratch::wait;

/// Longest time that one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

const PROTOCOL_VERSION: &str = "2025-06-18";

/// Calls `tool` once per element of `calls`, and returns the texts of all answers.
///
/// The exit code is 1 if the last call was refused. If the server ends before it answers, the code
/// and the error output are those of the server.
pub(crate) fn call(mut command: Command, tool: &str, calls: &[Value]) -> Result<Answer, String> {
    let pipes = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = pipes
        .spawn()
        .map_err(|error| format!("cannot start `ken mcp`: {error}"))?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    let output = child.stdout.take().ok_or("no standard output")?;
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let answer = talk(&mut input, &lines, tool, calls);
    drop(input);
    let code = wait(&mut child, "ken mcp")?;
    if let Some(answer) = answer {
        return Ok(answer);
    }
    let mut error = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut stderr, &mut error);
    }
    let out = String::new();
    Ok(Answer { code, out, error })
}

/// Returns `None` if the server ended before it answered.
fn talk(
    input: &mut ChildStdin,
    lines: &Receiver<String>,
    tool: &str,
    calls: &[Value],
) -> Option<Answer> {
    let client = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": { "name": "referee", "version": "1" },
    });
    request(input, lines, 1, "initialize", &client)?;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    writeln!(input, "{ready}").ok()?;
    let mut answer = Answer::default();
    for (id, arguments) in (2..).zip(calls) {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = request(input, lines, id, "tools/call", &params)?;
        let is_refused = reply["result"]["isError"] == json!(true) || reply.get("error").is_some();
        answer.code = i32::from(is_refused);
        answer.out.push_str(&text_of(&reply));
    }
    Some(answer)
}

fn request(
    input: &mut ChildStdin,
    lines: &Receiver<String>,
    id: u64,
    method: &str,
    params: &Value,
) -> Option<Value> {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    writeln!(input, "{request}").ok()?;
    loop {
        let line = lines.recv_timeout(ANSWER_LIMIT).ok()?;
        let reply: Value = serde_json::from_str(&line).ok()?;
        if reply["id"] == json!(id) {
            return Some(reply);
        }
    }
}

/// Returns the texts of a tool's answer, or the message of an error.
pub(crate) fn text_of(reply: &Value) -> String {
    let mut text = String::new();
    if let Some(message) = reply["error"]["message"].as_str() {
        text.push_str(message);
        text.push('\n');
    }
    for part in reply["result"]["content"].as_array().into_iter().flatten() {
        if let Some(part) = part["text"].as_str() {
            text.push_str(part);
            text.push('\n');
        }
    }
    text
}
