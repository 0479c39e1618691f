//! Hostile and broken MCP clients: the server answers valid requests, ignores the rest and keeps
//! running.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::client::McpTestClient;
use crate::mcp::test_environment;

/// Mutated requests sent to one process.
const MUTATIONS: usize = 10_000;
/// Mutations between two requests that must be answered.
const MUTATIONS_BETWEEN_CHECKS: usize = 250;
/// Bytes beyond the maximum line length.
const TOO_LONG: usize = (4 << 20) + 100;
/// Maximum time for a server to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn lines_that_are_no_messages_change_nothing() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "claude-code");
    let deep = "[".repeat(200_000);
    let nested = |by: usize| {
        let (open, close) = ("{\"a\":".repeat(by), "}".repeat(by));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ken_search","arguments":{{"query":{open}1{close}}}}}}}"#
        )
    };
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ken_search","arguments":{{"query":"{}"}}}}}}"#,
        "x".repeat(TOO_LONG)
    );
    let broken: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\0\0\0".to_vec(),
        b"\xff\xfe\xfd".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ken_show\",\"arguments\":{\"id\":\"\xc3\x28\"}}}".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"{}".to_vec(),
        b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}".to_vec(),
        deep.into_bytes(),
        nested(100).into_bytes(),
        nested(5_000).into_bytes(),
        long.into_bytes(),
    ];
    for line in broken {
        client.send(&line);
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    }
    let found = client.said("ken_search", json!({"query": "split a refused charge"}));
    assert!(found.contains(&shop.lesson), "{found}");
    let ended = client.end();
    assert_eq!((ended.exit, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn no_path_id_or_uri_leads_out_of_the_repository() {
    let shop = test_environment();
    shop.env.write("../home/secret.txt", "outside");
    #[cfg(unix)]
    std::os::unix::fs::symlink(shop.env.root().join("../home"), shop.env.root().join("out"))
        .unwrap();
    let mut client = McpTestClient::older(&shop.env, "claude-code");
    let outside = [
        "../../etc/passwd",
        "/etc/passwd",
        "src/../../home/secret.txt",
        "..",
        "src/pay.rs\u{0}.txt",
        "..\u{5c}..\u{5c}x\n",
    ];
    for path in outside {
        for (tool, ask) in [
            ("ken_search", json!({"query": "a", "paths": [path]})),
            ("ken_check", json!({"paths": [path]})),
        ] {
            let told = client.refused(tool, ask);
            assert!(!told.contains("root:"), "{path:?}: {told}");
        }
        let anchored = json!({"statement": "It is so.", "cites": ["pr:1"], "anchors": [path]});
        let _ = client.refused("ken_add", anchored);
    }
    // A symlink below the root is a path like any other, but its target is never read.
    for anchor in [
        "out/secret.txt",
        "out/secret.txt:1-1",
        ".git/config",
        ".ken/VERSION",
    ] {
        let ask = json!({"statement": "The secret lies outside of it.", "cites": ["pr:1"], "anchors": [anchor]});
        let told = client.call("ken_add", ask);
        assert!(!told.to_string().contains("outside\\n"), "{anchor}: {told}");
        #[cfg(unix)]
        if anchor.starts_with("out") {
            assert_eq!(told["isError"], true, "{anchor}: {told}");
        }
    }
    let _ = shop.env.run(["ledger", "check"]).success();
    let ended = client.end();
    assert_eq!((ended.exit, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn no_id_or_uri_leads_anywhere() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "claude-code");
    for id in [
        "../../etc/passwd",
        "ken://entry/../x",
        "%",
        "L-%",
        "' OR 1=1 --",
        "\u{0}",
        "L-\u{0}",
        "[",
        "ken://entry/",
    ] {
        for tool in ["ken_show", "ken_feedback"] {
            let told = client.refused(tool, json!({"id": id, "helpful": true}));
            assert!(!told.is_empty(), "{tool} {id:?}");
        }
    }
    let _ = client.said(
        "ken_show",
        json!({"id": format!("ken://entry/{}", shop.lesson)}),
    );
    for uri in [
        "ken://entry/../x",
        "ken://entry/%2e%2e",
        "ken://briefing/../..",
        "file:///etc/passwd",
        "ken://\u{0}",
        "ken://entry/L-\n",
    ] {
        let answer = client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32002, "{uri:?}: {answer}");
    }
    let _ = shop.env.run(["ledger", "check"]).success();
    let ended = client.end();
    assert_eq!((ended.exit, ended.stderr.as_str()), (Some(0), ""));
}

/// Pseudo-random generator (splitmix64) with a fixed seed.
struct MessageMutator(u64);

impl MessageMutator {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % below as u64).unwrap()
    }

    /// Changes one value or member of a message that stays JSON.
    fn mutate_json(&mut self, value: &mut Value) {
        if self.roll(8) == 0 {
            *value = self.strange();
        } else if let Some(members) = value.as_object_mut().filter(|it| !it.is_empty()) {
            let at = self.roll(members.len());
            let name = members.keys().nth(at).unwrap().clone();
            match self.roll(6) {
                0 => drop(members.remove(&name)),
                1 => {
                    let member = members.remove(&name).unwrap();
                    members.insert(name.chars().rev().collect(), member);
                }
                _ => self.mutate_json(&mut members[&name]),
            }
        } else if let Some(items) = value.as_array_mut().filter(|it| !it.is_empty()) {
            let at = self.roll(items.len());
            self.mutate_json(&mut items[at]);
        } else {
            *value = self.strange();
        }
    }

    /// Returns an unexpected value.
    fn strange(&mut self) -> Value {
        match self.roll(12) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(1e308),
            5 => json!(""),
            6 => json!("../../etc/passwd"),
            7 => json!("\u{0}\u{202e}\u{1f980}"),
            8 => json!("x".repeat(20_000)),
            9 => json!(["ken_show", {"id": []}]),
            10 => json!({"a": {"b": {"c": [[[[]]]]}}}),
            _ => json!("ken://entry/L"),
        }
    }

    /// Changes one or several bytes of a line.
    fn mutate(&mut self, line: &mut Vec<u8>) {
        for _ in 0..=self.roll(2) {
            if line.is_empty() {
                line.push(b'{');
            }
            let at = self.roll(line.len());
            let byte = u8::try_from(self.roll(256)).unwrap();
            match self.roll(7) {
                0 => line[at] ^= 1 << self.roll(8),
                1 => line[at] = byte,
                2 => line.insert(at, byte),
                3 => {
                    line.remove(at);
                }
                4 => line.truncate(at),
                5 => {
                    let part: Vec<u8> = line[at..].to_vec();
                    line.extend(part);
                }
                _ => {
                    let other = self.roll(line.len());
                    line.swap(at, other);
                }
            }
        }
        line.retain(|byte| *byte != b'\n');
        line.truncate(4_096);
    }
}

type RequestTemplates = Vec<(&'static str, Value)>;

/// Returns cheap requests, and requests that open the ledger.
fn requests(lesson: &str) -> (RequestTemplates, RequestTemplates) {
    let cheap = vec![
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "x"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        (
            "prompts/get",
            json!({"name": "research", "arguments": {"task": "x"}}),
        ),
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        ),
        (
            "server/discover",
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}}),
        ),
        ("notifications/cancelled", json!({"requestId": "x"})),
        ("subscriptions/listen", json!({"notifications": {}})),
        ("tasks/get", json!({"taskId": "x"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "research"}, "argument": {"name": "task", "value": "x"}}),
        ),
        ("logging/setLevel", json!({"level": "debug"})),
    ];
    let dear = vec![
        (
            "tools/call",
            json!({"name": "ken_search", "arguments": {"query": "split a charge", "paths": ["src/pay.rs"], "limit": 3}}),
        ),
        (
            "tools/call",
            json!({"name": "ken_show", "arguments": {"id": lesson, "history": true}}),
        ),
        (
            "tools/call",
            json!({"name": "ken_add", "arguments": {"statement": "Charges are split.", "cites": ["pr:1"], "anchors": ["src/pay.rs"]}}),
        ),
        (
            "tools/call",
            json!({"name": "ken_feedback", "arguments": {"id": lesson, "helpful": true}}),
        ),
        (
            "resources/read",
            json!({"uri": format!("ken://entry/{}", lesson)}),
        ),
    ];
    (cheap, dear)
}

#[test]
fn ten_thousand_mutations_of_requests_leave_the_server_and_the_ledger_sound() {
    let shop = test_environment();
    let mut client = McpTestClient::older(&shop.env, "claude-code");
    let (cheap, dear) = requests(&shop.lesson);
    let mut dice = MessageMutator(8);
    for turn in 0..MUTATIONS {
        // Requests that open the ledger are slow, so only one in twelve does.
        let of = if dice.roll(12) == 0 { &dear } else { &cheap };
        let (method, params) = &of[dice.roll(of.len())];
        let mut request = json!({"jsonrpc": "2.0", "id": turn, "method": method, "params": params});
        if dice.roll(2) == 0 {
            dice.mutate_json(&mut request);
            client.send(request.to_string().as_bytes());
        } else {
            let mut line = request.to_string().into_bytes();
            dice.mutate(&mut line);
            client.send(&line);
        }
        if turn % MUTATIONS_BETWEEN_CHECKS == 0 {
            let listed = client.ask("tools/list", json!({}));
            assert_eq!(
                listed["result"]["tools"].as_array().unwrap().len(),
                5,
                "after {turn}"
            );
        }
    }
    let found = client.said("ken_search", json!({"query": "split a refused charge"}));
    assert!(found.contains(&shop.lesson), "{found}");
    // Enough mutations were still requests, valid and invalid.
    let others = client.others;
    println!("{others:?}");
    assert!(others.results > 300 && others.errors > 300, "{others:?}");
    let ended = client.end();
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let _ = shop.env.run(["ledger", "check"]).success();
    let _ = shop.env.run(["verify"]).success();
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_cleanly() {
    for signal in ["-TERM", "-INT"] {
        let shop = test_environment();
        let mut client = McpTestClient::older(&shop.env, "claude-code");
        let _ = client.said("ken_search", json!({"query": "split a refused charge"}));
        let pid = client.pid().to_string();
        let begun = Instant::now();
        let sent = std::process::Command::new("kill")
            .args([signal, &pid])
            .status();
        assert!(sent.unwrap().success());
        let ended = client.ended();
        assert_eq!(
            (ended.exit, ended.stderr.as_str()),
            (Some(0), ""),
            "{signal}"
        );
        assert!(begun.elapsed() < EXIT_TIMEOUT, "{signal}");
    }
}
