//! Two clones, one hub.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ken_remote::{Address, Client, Plain, Token};
use ken_testkit::build::Scribe;
use ken_testkit::hub_story::hub_story;
use ken_testkit::test_env::TestEnv;

use crate::site::{KEN, Site, add, lines, merge_in, state_hash};

/// Bytes of one record of the file that says what the hub holds.
const RECORD_BYTES: u64 = 24;

#[test]
fn it_tells_the_same_story_as_the_hub_other_tests_have_in_memory() {
    let site = Site::new();
    let token = site.token("curator", "human:ada@example.org");
    let address = Address::parse(&site.url(), Plain::Loopback).unwrap();
    let hub = Client::open(&address, Token::parse(&token).unwrap());
    hub_story(&mut hub.unwrap());
}

#[test]
fn two_clones_exchange_what_they_learned() {
    let site = Site::new();
    let (one, other) = (site.clone(1), site.clone(2));
    let lesson = add(&one, "Charging twice is safe: the key makes it one charge.");
    add(&other, "The nightly job locks the ledger for a minute.");
    insta::assert_snapshot!(one.run(["push"]), @r"
    exit: 0
    ----- stderr -----
    sent 1 event to `hub`: 1 new to it
    ");
    insta::assert_snapshot!(other.run(["sync", "--remote"]), @r"
    exit: 0
    ----- stderr -----
    recorded 0 hand edits; entry files are in step
    1 event is new here
    sent 1 event to `hub`: 1 new to it
    ");
    insta::assert_snapshot!(one.run(["pull"]), @r"
    exit: 0
    ----- stderr -----
    1 event is new here
    ");
    assert_eq!(lines(&one), lines(&other));
    let shown = other.run(["show", &lesson]).success();
    assert!(shown.stdout.contains("Charging twice"), "{shown}");
    assert_eq!(other.names(".ken/entries").len(), 2);
    insta::assert_snapshot!(one.run(["push"]), @r"
    exit: 0
    ----- stderr -----
    `hub` has everything
    ");
    insta::assert_snapshot!(one.run(["pull"]), @r"
    exit: 0
    ----- stderr -----
    nothing new at `hub`
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
    let site = Site::new();
    let (one, other) = (site.clone(1), site.clone(2));
    let mut scribe = Scribe::new(9);
    let copies: Vec<_> = (0..4_500)
        .map(|n| {
            scribe
                .propose(&format!(
                    "Shard {n} of the ledger is read only after midnight"
                ))
                .1
        })
        .collect();
    merge_in(&one, &copies);
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
    // What was answered is not offered again; what the answer did not reach any more was known.
    assert_eq!(count("admitted") + count("known"), 4_500 - known);
    assert_eq!(site.events(), 4_500);
    let pulled = other.run(["pull", "--format", "json"]).success().json();
    assert_eq!(pulled["new"], 4_500);
    assert_eq!(lines(&one), lines(&other));
    assert_eq!(state_hash(&one), state_hash(&other));
}

#[test]
fn offline_everything_stays_as_it_was() {
    let mut site = Site::new();
    let one = site.clone(1);
    add(&one, "Charging twice is safe: the key makes it one charge.");
    let before = lines(&one);
    site.stop();
    let hub = format!("http://127.0.0.1:{}", site.port);
    insta::assert_snapshot!(one.run(["push"]).to_string().replace(&hub, "HUB"), @r"
    exit: 2
    ----- stderr -----
    error: cannot reach `HUB`: nobody listens there

    hint: nothing here changed and nothing is lost; try again when the hub can be reached
    ");
    assert_eq!(one.run(["pull"]).exit, 2);
    assert_eq!(one.run(["sync", "--remote"]).exit, 2);
    assert_eq!(lines(&one), before);
    // Whoever looks the installation over learns how it stands, offline.
    let doctor = one.run(["doctor"]).success();
    let line = format!("ok       remote         `hub` at {hub}: 1 event to send\n");
    assert!(doctor.stdout.contains(&line), "{doctor}");
    site.start();
    assert_eq!(one.run(["push"]).exit, 0);
    assert_eq!(site.events(), 1);
}

#[test]
fn a_wait_is_said_before_it_begins_with_its_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hub = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let env = TestEnv::new(KEN).in_git();
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
    let detail = "the database does not answer just now; come again shortly";
    let problem = format!(r#"{{"type":"/problems/unavailable","detail":"{detail}"}}"#);
    answer("503 X", "retry-after: 1\r\n", &problem);
    answer("200 OK", "", r#"{"events":[],"cursor":"0","more":false}"#);
    let output = pull.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        format!(
            "note: `{hub}` cannot answer just now: {detail}; trying again in 1 s\nnothing new at `hub`\n"
        )
    );
}
