//! Compatibility of an older `ken` with a newer ledger, and the reverse.
//!
//! `fixtures/older` holds the program of a past release; it runs only on its own platform.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use ken_testkit::any_event::seal;
use ken_testkit::test_env::TestEnvironment;
use serde_json::{Value, json};

use super::support::{add_lesson, commit_all, repository_with_ledger};

const OLDER_PROGRAM: &str = "../../fixtures/older/ken-0.1.0-linux-x86_64.gz";
const SALT: &str = "00000000000000000000000000000000";

/// Unpacks the older program next to the folder of `env`.
fn unpack_older_program(env: &TestEnvironment) -> PathBuf {
    let packed = fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(OLDER_PROGRAM)).unwrap();
    let mut program = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut program).unwrap();
    let path = env.root().join("../ken-older");
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Returns the output that both programs must agree on.
fn comparable_output(env: &TestEnvironment, id: &str) -> (Value, Value) {
    let mut shown = env.run(["show", id, "--format", "json"]).success().json();
    // Computed when shown, and added after the release of the older program.
    let _ = shown.as_object_mut().unwrap().remove("rediscovery");
    let listed = env.run(["list", "--all", "--format", "json"]).success();
    let listed = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    (shown, listed.collect())
}

/// Returns an event line about `id` as a newer release might write it.
fn newer_line(id: &str, event: &str, kind: &str, body: &Value) -> String {
    seal(json!({
        "about": [id], "at": "2026-01-02T03:10:00.000Z/0000/00000a", "by": "human:ada@example.org",
        "data": {"body": body, "salt": SALT}, "id": event, "type": kind, "v": 1,
    }))
}

#[test]
fn an_older_ken_reads_a_newer_ledger_and_leaves_alone_what_it_does_not_know() {
    let mut env = repository_with_ledger();
    let older = unpack_older_program(&env);
    let rated = add_lesson(&env, "Charging twice is safe with a key");
    let confirmed = add_lesson(&env, "The cache must be dropped before the schema changes");
    let plain = add_lesson(&env, "Clippy runs with warnings denied in every job");
    let unknown = [
        newer_line(
            &rated,
            "01KDYB00000000000000000001",
            "entry.rated",
            &json!({"stars": 5}),
        ),
        newer_line(
            &confirmed,
            "01KDYB00000000000000000002",
            "entry.confirmed",
            &json!({
                "provenance": "independent", "on": "2026-01-02", "mood": "sure",
            }),
        ),
    ];
    let segment = ".ken/semantic/v1/2026-01-02t03-10-newer1.jsonl";
    env.write(segment, &format!("{}\n{}\n", unknown[0], unknown[1]));
    commit_all(&env, "a newer release was here");
    let newer_says = comparable_output(&env, &plain);

    env.use_binary(older);
    assert_eq!(comparable_output(&env, &plain), newer_says);
    let shown = env.run(["show", &rated]).success();
    assert!(shown.stdout.contains("Charging twice is safe"), "{shown}");
    for id in [&rated, &confirmed] {
        let refused = env.run([
            // The older program has the older name.
            "revise",
            id,
            "--statement",
            "Charging twice is never safe at all",
        ]);
        assert_eq!(refused.exit, 1, "{refused}");
        assert!(refused.stderr.contains("newer"), "{refused}");
    }
    let _ = env.run(["confirm", &plain]).success();
    let _ = env.run(["ledger", "pack"]).success();
    let packs = env.names(".ken/semantic/v1");
    assert!(
        packs.iter().any(|name| name.ends_with(".pack")),
        "{packs:?}"
    );
    let cat = |name: &String| {
        let path = format!(".ken/semantic/v1/{name}");
        env.run(["ledger", "cat", &path]).success().stdout
    };
    let packed: String = packs.iter().map(cat).collect();
    for line in &unknown {
        assert!(packed.contains(line.as_str()), "{line} is not in {packed}");
    }
    let _ = env.run(["ledger", "check"]).success();
}

#[test]
fn a_later_format_beside_this_one_is_left_alone() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe with a key");
    commit_all(&env, "lesson");
    let later = ".ken/semantic/v2/2027-01-01t00-00-aaaaaa.jsonl";
    let text = "{\"v\":2,\"of\":\"another format\"}\n";
    env.write(later, text);
    for args in [
        &["list"][..],
        &["verify"],
        &["sync"],
        &["ledger", "check"],
        &["ledger", "pack"],
    ] {
        let _ = env.run(args).success();
        assert_eq!(env.read(later), text, "{args:?}");
    }
    let listed = env.run(["list"]).success();
    assert!(listed.stdout.contains(&id), "{listed}");
    // A later minor version is read, a later major version is refused.
    env.write(".ken/VERSION", "1.1.0\n");
    let _ = env.run(["list"]).success();
    env.write(".ken/VERSION", "2.0.0\n");
    let refused = env.run(["list"]);
    assert_ne!(refused.exit, 0, "{refused}");
    assert!(refused.stderr.contains("newer version"), "{refused}");
}

#[test]
fn what_an_older_ken_wrote_reads_the_same_today() {
    let mut env = repository_with_ledger();
    let older = unpack_older_program(&env);
    let today = env!("CARGO_BIN_EXE_ken");
    env.use_binary(&older);
    let kept = add_lesson(&env, "Charging twice is safe with a key");
    let gone = add_lesson(&env, "The cache never needs to be dropped by hand");
    let _ = env
        .run([
            // The older program has the older name.
            "revise",
            &kept,
            "--statement",
            "Charging twice is safe with one key",
        ])
        .success();
    let _ = env.run(["confirm", &kept]).success();
    let _ = env.run(["retract", &gone, "--reason", "false"]).success();
    commit_all(&env, "an older release was here");
    let _ = env.run(["ledger", "pack"]).success();
    let older_says = comparable_output(&env, &kept);

    env.use_binary(today);
    assert_eq!(comparable_output(&env, &kept), older_says);
    let _ = env.run(["verify"]).success();
    let added = add_lesson(&env, "Clippy runs with warnings denied in every job");

    env.use_binary(older);
    let shown = env.run(["show", &added]).success();
    assert!(shown.stdout.contains("warnings denied"), "{shown}");
}
