//! `ken mcp --http` as a child process: it requires a token and listens on loopback only. The tests
//! of ken-mcp cover the HTTP gate itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::mcp::client::open_run;
use crate::mcp::{McpTestEnvironment, test_environment};

struct McpHttpServer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
    address: String,
}

impl McpHttpServer {
    fn start(ken: &mut Command) -> Self {
        let ken = ken
            .args(["mcp", "--http", "127.0.0.1:0"])
            .stderr(Stdio::piped());
        let mut child = ken.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines.next().unwrap().unwrap();
        let address = said.strip_prefix("listening on http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        Self {
            child,
            lines,
            address,
        }
    }

    fn post(&self, token: &str, body: &serde_json::Value) -> String {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ken_search\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn an_http_server_answers_whoever_has_the_token() {
    let McpTestEnvironment { env, lesson, .. } = test_environment();
    let token = "0123456789abcdef0123456789abcdef";
    let server = McpHttpServer::start(env.ken().env("KEN_MCP_TOKEN", token));
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "ken_search",
        "arguments": {"query": "split a refused charge"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "cursor", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let answer = server.post(token, &ask);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(&lesson), "{answer}");
    let answer = server.post("0123456789abcdef0123456789abcdee", &ask);
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(!answer.contains(&lesson), "{answer}");
    server.end();
    let run = open_run(&env, "agent:cursor");
    assert_eq!(run["agents"][0]["saw"], json!([lesson]));
}

#[test]
fn without_a_token_one_is_made_up_and_told() {
    let McpTestEnvironment { env, .. } = test_environment();
    let mut server = McpHttpServer::start(&mut env.ken());
    let said = server.lines.next().unwrap().unwrap();
    let token = said.strip_prefix("token: ").unwrap();
    assert_eq!(token.len(), 64);
    server.end();
    let weak = env.run(["self", "version"]).success();
    assert!(!weak.stdout.contains(token));
}

#[test]
fn other_machines_are_listened_to_only_by_name() {
    let McpTestEnvironment { env, .. } = test_environment();
    let refused = env.run(["mcp", "--http", "0.0.0.0:0"]);
    assert_eq!(refused.exit, 2, "{refused}");
    assert!(refused.stderr.contains("--allow-host"), "{refused}");
    let mut weak = env.ken();
    let weak = weak
        .args(["mcp", "--http", "127.0.0.1:0"])
        .env("KEN_MCP_TOKEN", "guess");
    let weak = weak.output().unwrap();
    assert_eq!(weak.status.code(), Some(2));
    let said = String::from_utf8_lossy(&weak.stderr).into_owned();
    assert!(
        said.contains("KEN_MCP_TOKEN") && !said.contains("guess"),
        "{said}"
    );
}
