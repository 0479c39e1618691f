//! Eight agents on one repository through eight servers: no event is lost, and no lock error
//! surfaces.

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};

use crate::mcp::client::McpTestClient;
use crate::mcp::{McpTestEnvironment, test_environment};

const AGENTS: usize = 8;
/// Calls per agent.
const CALLS: usize = 250;
/// Of every ten calls, one records an entry and one gives feedback.
const RECORDS_EVERY: usize = 10;

const WORDS: [&str; 40] = [
    "cache",
    "queue",
    "ledger",
    "invoice",
    "refund",
    "socket",
    "worker",
    "shard",
    "cursor",
    "token",
    "parser",
    "lexer",
    "gateway",
    "router",
    "session",
    "cookie",
    "migration",
    "index",
    "replica",
    "snapshot",
    "journal",
    "segment",
    "bucket",
    "cluster",
    "scheduler",
    "watchdog",
    "compiler",
    "linker",
    "fixture",
    "snapshotter",
    "adapter",
    "proxy",
    "tenant",
    "voucher",
    "carrier",
    "parcel",
    "warehouse",
    "courier",
    "receipt",
    "auction",
];
const VERBS: [&str; 12] = [
    "drains",
    "locks",
    "splits",
    "rebuilds",
    "ignores",
    "duplicates",
    "truncates",
    "retries",
    "buffers",
    "rejects",
    "rotates",
    "flushes",
];

/// Results of one agent's calls.
#[derive(Debug, Default)]
struct AgentResults {
    recorded: Vec<String>,
    noted: usize,
    feedback: usize,
    errors: Vec<String>,
}

fn statement(agent: usize, turn: usize) -> String {
    let word = |n: usize| WORDS[(agent * 7 + turn * n) % WORDS.len()];
    let (one, two, three) = (word(3), word(11), word(17));
    let verb = VERBS[(agent * 5 + turn) % VERBS.len()];
    let late = VERBS[(agent + turn * 7) % VERBS.len()];
    format!("The {one} {verb} every {two} of agent {agent} while the {three} {late} step {turn}.")
}

fn run_agent(mut client: McpTestClient, agent: usize, lesson: &str) -> AgentResults {
    let mut done = AgentResults::default();
    let mut last = lesson.to_owned();
    for turn in 0..CALLS {
        let (tool, ask) = match turn % RECORDS_EVERY {
            0 => (
                "ken_add",
                json!({"statement": statement(agent, turn), "cites": [format!("test:t{turn}")], "anchors": ["src/pay.rs"], "format": "json"}),
            ),
            1 | 4 | 7 => ("ken_show", json!({"id": last, "format": "json"})),
            2 => (
                "ken_feedback",
                json!({"id": last, "helpful": turn % 20 == 2, "format": "json"}),
            ),
            _ => (
                "ken_search",
                json!({"query": statement(agent, turn), "limit": 3}),
            ),
        };
        let result = client.call(tool, ask);
        if result["isError"] != false {
            done.errors.push(format!("{tool}: {result}"));
        }
        let object: &Value = &result["structuredContent"];
        match (tool, object["outcome"].as_str()) {
            ("ken_add", Some("recorded")) => {
                last = object["id"].as_str().unwrap().to_owned();
                done.recorded.push(last.clone());
            }
            ("ken_add", Some("noted")) => done.noted += 1,
            ("ken_feedback", _) => done.feedback += 1,
            _ => {}
        }
    }
    let ended = client.end();
    if ended.exit != Some(0) || !ended.stderr.is_empty() {
        done.errors.push(ended.stderr);
    }
    done
}

#[test]
fn eight_servers_share_a_repository_and_lose_nothing() {
    let McpTestEnvironment { env, lesson, .. } = test_environment();
    let clients: Vec<McpTestClient> = (0..AGENTS)
        .map(|agent| {
            let mut ken = env.ken();
            // Own clocks and seeds, as on a real machine.
            let ken = ken.arg("mcp").env_remove("KEN_NOW").env_remove("KEN_SEED");
            let mut client = McpTestClient::start(ken);
            client.shake_hands(&format!("agent-{agent}"));
            client
        })
        .collect();
    let done: Vec<AgentResults> = thread::scope(|scope| {
        let lesson = lesson.as_str();
        let works: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(agent, client)| scope.spawn(move || run_agent(client, agent, lesson)))
            .collect();
        works.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let errors: Vec<&String> = done.iter().flat_map(|it| &it.errors).collect();
    assert_eq!(errors, Vec::<&String>::new());
    let recorded: BTreeSet<&String> = done.iter().flat_map(|it| &it.recorded).collect();
    let acknowledged: usize = done.iter().map(|it| it.recorded.len()).sum();
    let noted: usize = done.iter().map(|it| it.noted).sum();
    assert_eq!(recorded.len(), acknowledged, "no id twice");
    assert_eq!(acknowledged + noted, AGENTS * CALLS / RECORDS_EVERY);
    assert!(
        noted < acknowledged,
        "{noted} of them say what another says"
    );

    let real = |args: &[&str]| {
        let mut ken = env.ken();
        let ken = ken.args(args).env_remove("KEN_NOW").env_remove("KEN_SEED");
        let out = ken.output().unwrap();
        let (said, errors) = (
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr),
        );
        assert_eq!(out.status.code(), Some(0), "{args:?}: {said}{errors}");
        said.into_owned()
    };
    let listed = real(&["list", "--all", "--format", "json"]);
    let listed: Vec<Value> = listed
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let there: BTreeSet<String> = listed
        .iter()
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    let lost: Vec<_> = recorded.iter().filter(|it| !there.contains(**it)).collect();
    assert_eq!(lost, Vec::<&&String>::new());
    assert_eq!(
        there.len(),
        acknowledged + 2,
        "and nothing else but the shop's own"
    );
    real(&["ledger", "check"]);
    real(&["verify"]);
    real(&["doctor"]);
}

#[test]
fn the_same_finding_told_at_once_becomes_one_entry() {
    const ROUNDS: usize = 6;
    let McpTestEnvironment { env, .. } = test_environment();
    let start = || {
        let mut ken = env.ken();
        let ken = ken.arg("mcp").env_remove("KEN_NOW").env_remove("KEN_SEED");
        let mut client = McpTestClient::start(ken);
        client.shake_hands("codex");
        client
    };
    let mut clients: Vec<McpTestClient> = (0..4).map(|_| start()).collect();
    for round in 0..ROUNDS {
        let said = statement(round, round);
        let ask = json!({"statement": said, "cites": ["test:t1"], "format": "json"});
        let add = |client: &mut McpTestClient| {
            let result = client.call("ken_add", ask.clone());
            let id = result["structuredContent"]["id"].as_str();
            id.map(str::to_owned)
        };
        let ids: BTreeSet<String> = thread::scope(|scope| {
            let calls = clients.iter_mut().map(|it| scope.spawn(|| add(it)));
            let calls: Vec<_> = calls.collect();
            let ids = calls.into_iter().map(|it| it.join().unwrap());
            ids.flatten().collect()
        });
        assert_eq!(ids.len(), 1, "round {round}: {ids:?}");
    }
    for client in clients {
        client.end();
    }
}
