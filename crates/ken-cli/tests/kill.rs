//! The `ken_command` binary killed while it writes, compared with a record of acknowledged entries.
//!
//! An add is acknowledged when its id was read from the pipe. 200 kills in the short run, 10,000
//! with `KEN_LONG=1`; no acknowledged entry may be missing afterwards.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const KILLS: u32 = 200;
const LONG_KILLS: u32 = 10_000;
/// Kills between two comparisons.
const KILLS_PER_ROUND: u32 = 25;

fn ken_command(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ken"));
    command.arg("-C").arg(root).args(args);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", root);
    command.env("KEN_ACTOR", "human:ada@example.org");
    command
}

/// Starts an add, kills it after `delay` and returns the id if it was acknowledged.
fn add_and_kill(root: &Path, n: u32, delay: Duration) -> Option<String> {
    let statement = format!("Lesson {n} was learned while somebody pulled the plug");
    let args = [
        "add",
        "--kind",
        "learning",
        "--statement",
        &statement,
        "--cite",
        "pr:7",
    ];
    let mut child = ken_command(root, &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while started.elapsed() < delay && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let _ = child.kill();
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    child.wait().unwrap();
    said.strip_suffix('\n').map(str::to_owned)
}

/// Adds without a kill; returns the id and the duration, over which the kills are then spread.
fn add_without_kill(root: &Path, n: u32) -> (String, Duration) {
    let started = Instant::now();
    let id = add_and_kill(root, n, Duration::from_secs(60)).unwrap();
    (id, started.elapsed())
}

fn listed_ids(root: &Path) -> BTreeSet<String> {
    let out = ken_command(root, &["list", "--all", "--format", "json"])
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let text = String::from_utf8(out.stdout).unwrap();
    let id = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        object["id"].as_str().map(str::to_owned)
    };
    text.lines().filter_map(id).collect()
}

#[test]
fn no_acknowledged_entry_is_lost_to_kill_nine() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert!(
        Command::new("git")
            .args(["init", "-q"])
            .arg(root)
            .status()
            .unwrap()
            .success()
    );
    assert!(
        ken_command(root, &["init"])
            .output()
            .unwrap()
            .status
            .success()
    );
    let mut acknowledged = BTreeSet::new();
    let kills = if ken_testkit::laws::is_long() {
        LONG_KILLS
    } else {
        KILLS
    };
    let mut span = Duration::ZERO;
    for n in 0..kills {
        if n % KILLS_PER_ROUND == 0 {
            let (id, took) = add_without_kill(root, n);
            acknowledged.insert(id);
            span = took.mul_f64(1.2);
        }
        let share = f64::from(n.wrapping_mul(2_654_435_761) >> 16) / 65_536.0;
        acknowledged.extend(add_and_kill(root, n, span.mul_f64(share)));
        if n % KILLS_PER_ROUND == KILLS_PER_ROUND - 1 {
            let missing: Vec<_> = acknowledged
                .difference(&listed_ids(root))
                .cloned()
                .collect();
            assert!(missing.is_empty(), "lost after {n} kills: {missing:?}");
        }
    }
    let check = ken_command(root, &["ledger", "check"]).output().unwrap();
    assert!(
        check.status.success(),
        "{}",
        String::from_utf8_lossy(&check.stdout)
    );
    let shown = acknowledged.len();
    let rounds = kills.div_ceil(KILLS_PER_ROUND) as usize;
    assert!(
        rounds < shown && shown < kills as usize,
        "of {kills} kills some must come too late and some not: {shown}"
    );
    println!("kill: {kills} kills, {shown} entries acknowledged, 0 lost");
}
