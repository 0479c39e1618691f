//! MCP client that sends exactly the bytes a test supplies.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ken_testkit::test_env::TestEnvironment;
use serde_json::{Value, json};

/// Maximum wait for an answer, on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// The protocol revision in which every request identifies its client.
const NEWER_REVISION: &str = "2026-07-28";

/// A server process and the client's end of its pipes.
pub(crate) struct McpTestClient {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    errors: Option<JoinHandle<String>>,
    next: u64,
    meta: Option<Value>,
    /// Counts of answers that no test waited for.
    pub(crate) others: AnswerCounts,
}

/// Counts of answers to requests that no test waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnswerCounts {
    pub(crate) results: usize,
    pub(crate) errors: usize,
}

/// Exit code and stderr of a server.
pub(crate) struct ServerExit {
    pub(crate) exit: Option<i32>,
    pub(crate) stderr: String,
}

impl McpTestClient {
    /// Starts `ken mcp` and performs the handshake as `name`, in the older revision.
    pub(crate) fn older(env: &TestEnvironment, name: &str) -> Self {
        let mut client = Self::start(env.ken().arg("mcp"));
        client.shake_hands(name);
        client
    }

    /// Starts `ken mcp`; every request names `name` as client, in the newer revision.
    pub(crate) fn newer(env: &TestEnvironment, name: &str) -> Self {
        let mut client = Self::start(env.ken().arg("mcp"));
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": NEWER_REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "9"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
        client
    }

    /// Starts a server.
    pub(crate) fn start(ken: &mut Command) -> Self {
        let pipes = ken
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let (sender, from) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // Anything but JSON on stdout is a fault of the server: stdout belongs to the
                // protocol.
                let message = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            to: child.stdin.take(),
            child,
            from,
            errors: Some(errors),
            next: 0,
            meta: None,
            others: AnswerCounts::default(),
        }
    }

    pub(crate) fn shake_hands(&mut self, name: &str) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": name, "version": "9"},
        });
        let answer = self.ask("initialize", params);
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer["result"].clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as a line.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let to = self.to.as_mut().unwrap();
        to.write_all(bytes).unwrap();
        to.write_all(b"\n").unwrap();
        to.flush().unwrap();
    }

    /// Sends a request and waits for its answer; counts and drops other answers.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.next += 1;
        let id = format!("ask-{}", self.next);
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(request.to_string().as_bytes());
        loop {
            let answer = self.from.recv_timeout(ANSWER_TIMEOUT);
            let answer = answer.unwrap_or_else(|e| panic!("{method}: {e}"));
            assert!(answer.is_object(), "no message: {answer}");
            if answer["id"] == json!(id) {
                return answer;
            }
            match answer.get("result") {
                Some(_) => self.others.results += 1,
                None => self.others.errors += 1,
            }
        }
    }

    /// Calls a tool and returns its result.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: impl Into<Value>) -> Value {
        let arguments: Value = arguments.into();
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed, and returns its text.
    #[track_caller]
    pub(crate) fn said(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result_text(&result)
    }

    /// Calls a tool that must refuse, and returns its text.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result_text(&result)
    }

    /// Reads a resource.
    #[track_caller]
    pub(crate) fn read(&mut self, uri: &str) -> String {
        let answer = self.ask("resources/read", json!({"uri": uri}));
        let text = answer["result"]["contents"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{uri}: {answer}")).to_owned()
    }

    /// Requests a prompt.
    #[track_caller]
    pub(crate) fn prompt(&mut self, name: &str, arguments: impl Into<Value>) -> String {
        let arguments: Value = arguments.into();
        let answer = self.ask("prompts/get", json!({"name": name, "arguments": arguments}));
        let text = answer["result"]["messages"][0]["content"]["text"].as_str();
        text.unwrap_or_else(|| panic!("{name}: {answer}"))
            .to_owned()
    }

    /// Closes the client's end and waits for the server to exit.
    pub(crate) fn end(mut self) -> ServerExit {
        drop(self.to.take());
        self.ended()
    }

    /// Waits for the server to exit.
    pub(crate) fn ended(mut self) -> ServerExit {
        let exit = self.child.wait().unwrap().code();
        let stderr = self.errors.take().unwrap().join().unwrap();
        ServerExit { exit, stderr }
    }
}

#[track_caller]
fn result_text(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// Returns the open run in which `agent` takes part.
#[track_caller]
pub(crate) fn open_run(env: &TestEnvironment, agent: &str) -> Value {
    let listed = env.run(["run", "list", "--format", "json"]).success();
    let runs = listed
        .stdout
        .lines()
        .map(|it| serde_json::from_str::<Value>(it).unwrap());
    let mut own = runs.filter(|it| it["agents"][0]["agent"] == agent);
    let run = own.next().unwrap_or_else(|| panic!("{agent}: {listed}"));
    assert_eq!(own.next(), None, "one conversation");
    run
}
