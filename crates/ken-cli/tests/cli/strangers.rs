//! Pull requests from forks: one test per refused change.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, commit_all, repository_with_ledger};

/// Applies `change` on a branch as a fork would, and returns the verdict and output of the gate.
fn verify_fork(change: impl FnOnce(&TestEnvironment)) -> (bool, String) {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "The members know this.");
    commit_all(&env, "known");
    let _ = env.git(["checkout", "-q", "-b", "fork"]);
    change(&env);
    commit_all(&env, "from outside");
    let base = env.git(["rev-parse", "fork~1"]);
    let args = [
        "verify",
        "--base",
        base.trim(),
        "--head",
        "fork",
        "--from-fork",
    ];
    let run = env.run(args.into_iter().chain(["--format", "json"]));
    (run.exit == 0, run.json()["findings"].to_string())
}

#[test]
fn a_new_entry_is_let_through_to_be_read() {
    let (passes, findings) = verify_fork(|env| {
        let _ = add_lesson(env, "An outsider knows that, too.");
    });
    assert!(passes, "{findings}");
    assert!(
        findings.contains("review it before you merge"),
        "{findings}"
    );
}

#[test]
fn a_segment_that_was_there_is_not_touched() {
    let (passes, findings) = verify_fork(|env| {
        let folder = ".ken/semantic/v1";
        let name = env
            .names(folder)
            .into_iter()
            .find(|it| it.ends_with(".jsonl"));
        let path = format!("{folder}/{}", name.expect("a segment"));
        let text = env.read(&path);
        env.write(&path, &format!("{text}{text}"));
    });
    assert!(!passes);
    assert!(
        findings.contains("may only add segments, not change them"),
        "{findings}"
    );
}

#[test]
fn an_event_that_is_gone_is_told_whoever_took_it() {
    let (passes, findings) = verify_fork(|env| {
        let _ = env.git(["rm", "-rq", ".ken/semantic"]);
    });
    assert!(!passes);
    assert!(
        findings.contains("is missing; run `ken ledger recover` to restore it"),
        "{findings}"
    );
}

#[test]
fn configuration_is_not_theirs() {
    let (passes, findings) = verify_fork(|env| {
        env.write(
            ".ken/config.toml",
            "schema = \"ken.config.v1\"\nfacts = [\"trusted\"]\n",
        );
    });
    assert!(!passes);
    assert!(findings.contains("may not change this file"), "{findings}");
}

#[test]
fn policy_events_are_refused() {
    for (args, kind) in [
        (
            ["entry", "status", "L", "verified"].as_slice(),
            "entry.status_changed",
        ),
        (
            [
                "config",
                "weights",
                "set",
                "semantic=1",
                "thompson=0",
                "freshness=0",
                "status=0",
                "thread=0",
                "cooccurrence=0",
            ]
            .as_slice(),
            "config.changed",
        ),
    ] {
        let (passes, findings) = verify_fork(|env| {
            let _ = env.run(args.iter().copied()).success();
        });
        assert!(!passes, "{args:?}");
        let told = format!("may not add `{kind}` events");
        assert!(findings.contains(&told), "{findings}");
    }
}

#[test]
fn blanking_is_refused() {
    let (passes, findings) = verify_fork(|env| {
        let event = env.run(["list", "--format", "json"]).json()["created"]["event"].clone();
        let event = event.as_str().expect("an event").to_owned();
        let _ = env
            .run(["ledger", "redact", &event, "--reason", "secret"])
            .success();
    });
    assert!(!passes);
    assert!(findings.contains("event.blanked"), "{findings}");
}

#[test]
fn nobody_speaks_for_somebody_else() {
    let (passes, findings) = verify_fork(|env| {
        let args = [
            "add",
            "--kind",
            "learning",
            "--cite",
            "pr:1",
            "--by",
            "human:boss@example.org",
            "--statement",
            "The boss says so.",
        ];
        let _ = env.run(args).success();
    });
    assert!(!passes);
    assert!(findings.contains("who did not commit it"), "{findings}");
}
