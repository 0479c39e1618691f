//! Two clones, one hub.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ken_testkit::build::Scribe;

use crate::site::{Site, add, lines, merge_in, state_hash};

/// Bytes of one record of the file that says what the hub holds.
const RECORD_BYTES: u64 = 24;

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
    insta::assert_snapshot!(one.run(["push"]), @r"
    exit: 2
    ----- stderr -----
    error: cannot reach `127.0.0.1`: nobody listens there

    hint: nothing here changed and nothing is lost; try again when the hub can be reached
    ");
    assert_eq!(one.run(["pull"]).exit, 2);
    assert_eq!(one.run(["sync", "--remote"]).exit, 2);
    assert_eq!(lines(&one), before);
    site.start();
    assert_eq!(one.run(["push"]).exit, 0);
    assert_eq!(site.events(), 1);
}
