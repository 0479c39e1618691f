//! Push and pull between two clones and one hub.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ken_remote::{HttpHubClient, HubAddress, HubToken, PlaintextPolicy};
use ken_testkit::build::EventWriter;
use ken_testkit::hub_story::check_hub_conformance;
use ken_testkit::test_env::TestEnvironment;

use crate::site::{
    HubTestEnvironment, KEN, add_entry, ledger_lines, state_hash, write_merged_lines,
};

/// Size of one record in the file that lists the hub's events.
const RECORD_BYTES: u64 = 24;

#[test]
fn it_tells_the_same_story_as_the_hub_other_tests_have_in_memory() {
    let site = HubTestEnvironment::new();
    let token = site.token("curator", "human:ada@example.org");
    let address = HubAddress::parse(&site.url(), PlaintextPolicy::Loopback).unwrap();
    let hub = HttpHubClient::open(&address, HubToken::parse(&token).unwrap());
    check_hub_conformance(&mut hub.unwrap());
}

#[test]
fn two_clones_exchange_what_they_learned() {
    let site = HubTestEnvironment::new();
    let (one, other) = (site.clone(1), site.clone(2));
    let lesson = add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    add_entry(&other, "The nightly job locks the ledger for a minute.");
    insta::assert_snapshot!(one.run(["push"]), @"
    exit: 0
    ----- stderr -----
    pushed 1 event to `hub`: 1 new
    ");
    insta::assert_snapshot!(other.run(["sync", "--remote"]), @"
    exit: 0
    ----- stderr -----
    recorded 0 hand edits; entry files are up to date
    1 new event
    pushed 1 event to `hub`: 1 new
    ");
    insta::assert_snapshot!(one.run(["pull"]), @"
    exit: 0
    ----- stderr -----
    1 new event
    ");
    assert_eq!(ledger_lines(&one), ledger_lines(&other));
    let shown = other.run(["show", &lesson]).success();
    assert!(shown.stdout.contains("Charging twice"), "{shown}");
    assert_eq!(other.names(".ken/entries").len(), 2);
    insta::assert_snapshot!(one.run(["push"]), @"
    exit: 0
    ----- stderr -----
    `hub` is up to date
    ");
    insta::assert_snapshot!(one.run(["pull"]), @"
    exit: 0
    ----- stderr -----
    no new events on `hub`
    ");
    let synced = one
        .run(["sync", "--remote", "--format", "json"])
        .success()
        .json();
    assert_eq!(synced["schema"], "ken.sync.v1");
    assert_eq!(synced["pull"]["schema"], "ken.pull.v1");
    assert_eq!(synced["push"]["admitted"], 0);
}

#[test]
fn a_client_killed_between_batches_goes_on_where_it_was() {
    let site = HubTestEnvironment::new();
    let (one, other) = (site.clone(1), site.clone(2));
    let mut scribe = EventWriter::new(9);
    let copies: Vec<_> = (0..4_500)
        .map(|n| {
            scribe
                .propose(&format!(
                    "Shard {n} of the ledger is read only after midnight"
                ))
                .1
        })
        .collect();
    write_merged_lines(&one, &copies);
    let held = one.root().join(".ken/.local/remotes/hub/held");
    let mut push = one.ken();
    push.arg("push").stdout(Stdio::null()).stderr(Stdio::null());
    let mut push = push.spawn().unwrap();
    let begun = Instant::now();
    let answered = || fs::metadata(&held).map_or(0, |it| it.len() / RECORD_BYTES);
    while answered() < 1_000 {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "no batch was answered"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    push.kill().unwrap();
    push.wait().unwrap();
    let known = answered();
    let pushed = one.run(["push", "--format", "json"]).success().json();
    let count = |name: &str| pushed[name].as_u64().unwrap();
    // Answered events are not sent again; events whose answer was lost are reported as known.
    assert_eq!(count("admitted") + count("known"), 4_500 - known);
    assert_eq!(site.events(), 4_500);
    let pulled = other.run(["pull", "--format", "json"]).success().json();
    assert_eq!(pulled["new"], 4_500);
    assert_eq!(ledger_lines(&one), ledger_lines(&other));
    assert_eq!(state_hash(&one), state_hash(&other));
}

#[test]
fn offline_everything_stays_as_it_was() {
    let mut site = HubTestEnvironment::new();
    let one = site.clone(1);
    add_entry(&one, "Charging twice is safe: the key makes it one charge.");
    let before = ledger_lines(&one);
    site.stop();
    let hub = format!("http://127.0.0.1:{}", site.port);
    insta::assert_snapshot!(one.run(["push"]).to_string().replace(&hub, "HUB"), @"
    exit: 2
    ----- stderr -----
    note: cannot reach `HUB`: connection refused; retrying in 1 s
    note: cannot reach `HUB`: connection refused; retrying in 1 s
    note: cannot reach `HUB`: connection refused; retrying in 2 s
    note: cannot reach `HUB`: connection refused; retrying in 4 s
    error: cannot reach `HUB`: connection refused

    hint: nothing changed and nothing is lost; retry when the hub is reachable
    ");
    assert_eq!(one.run(["pull"]).exit, 2);
    assert_eq!(one.run(["sync", "--remote"]).exit, 2);
    assert_eq!(ledger_lines(&one), before);
    // `ken doctor` reports the state of the remote while offline.
    let doctor = one.run(["doctor"]).success();
    let line = format!("ok       remote         `hub` at {hub}: 1 event to push\n");
    assert!(doctor.stdout.contains(&line), "{doctor}");
    site.start();
    assert_eq!(one.run(["push"]).exit, 0);
    assert_eq!(site.events(), 1);
}

#[test]
fn a_wait_is_said_before_it_begins_with_its_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hub = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let env = TestEnvironment::new(KEN).in_git();
    let _ = env.run(["init"]).success();
    let token = format!("ken_{}", "a".repeat(32));
    let url = format!("{hub}/payments");
    let add = ["remote", "add", &url, "--token-stdin"];
    let _ = env.run_with(&token, add).success();
    let answer = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
        );
        (&stream)
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
    };
    let mut pull = env.ken();
    let pull = pull.arg("pull").stderr(Stdio::piped()).spawn().unwrap();
    let detail = "the database does not respond; retry shortly";
    let problem = format!(r#"{{"type":"/problems/unavailable","detail":"{detail}"}}"#);
    answer("503 X", "retry-after: 1\r\n", &problem);
    answer("200 OK", "", r#"{"events":[],"cursor":"0","more":false}"#);
    let output = pull.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        format!(
            "note: `{hub}` is unavailable: {detail}; retrying in 1 s\nno new events on `hub`\n"
        )
    );
}
