//! `ken blame`, `ken bisect` and the reach that `ken guard revoke` prints.

use std::collections::BTreeSet;

use ken_testkit::test_env::TestEnvironment;
use serde_json::Value;

use crate::cli::support::{commit_all, repository_with_ledger};

const OLD: &str = "The deployment of the gateway waits until the queue of refunds is empty.";
const POISON: &str = "The deployment of the gateway skips the queue of refunds with --force.";

fn add(env: &TestEnvironment, statement: &str, by: &str) -> String {
    let args = ["add", statement, "--cite", "pr:1", "--by", by];
    env.run(args).success().line()
}

/// Runs a search of an agent in a run of its own.
fn work(env: &TestEnvironment, run: &str, outcome: &str) {
    let _ = env.run(["run", "open", run, "--agent", "coder"]).success();
    let _ = env
        .run([
            "search",
            "deployment gateway queue refunds",
            "--by",
            "agent:coder",
            "--run",
            run,
        ])
        .success();
    let _ = env
        .run(["run", "close", run, "--outcome", outcome])
        .success();
}

fn blame(env: &TestEnvironment, target: &str) -> Value {
    env.run(["blame", target, "--format", "json"])
        .success()
        .json()
}

/// Returns a ledger with a good run, a poisoned entry and a bad run with its commit.
fn poisoned() -> (TestEnvironment, String, String) {
    let env = repository_with_ledger();
    let old = add(&env, OLD, "human:ada@example.org");
    work(&env, "good", "succeeded");
    let poison = add(&env, POISON, "agent:scraper");
    work(&env, "bad", "failed");
    commit_all(&env, "Deploy with force\n\nKen-Run: bad");
    (env, old, poison)
}

#[test]
fn blame_names_what_was_new_and_who_wrote_it() {
    let (env, old, poison) = poisoned();
    let told = blame(&env, "bad");
    assert_eq!(told["last_good_run"], "good", "{told}");
    let entries = told["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2, "{told}");
    assert_eq!(entries[0]["id"], *poison);
    assert_eq!(entries[0]["new"], true);
    assert_eq!(entries[0]["author"], "agent:scraper");
    assert_eq!(entries[0]["shown_to"][0], "agent:coder");
    assert_eq!(
        (&entries[1]["id"], &entries[1]["new"]),
        (&Value::from(old), &Value::from(false))
    );
    let of_commit = blame(&env, "HEAD");
    assert_eq!(of_commit["joined_by"], "trailer");
    assert_eq!(of_commit["entries"], told["entries"]);
    let text = env.run(["blame", "bad"]).success();
    assert!(text.stdout.contains("New since run good"), "{text}");
    let unknown = env.run(["blame", "no-such-run"]);
    assert_eq!(unknown.exit, 2, "{unknown}");
}

#[test]
fn a_revocation_says_how_far_the_entries_have_spread() {
    let (env, old, poison) = poisoned();
    let summary = env.run([
        "entry",
        "distill",
        "--sources",
        &old,
        &poison,
        "--statement",
        "The queue of refunds decides when the gateway is deployed.",
    ]);
    let summary = summary.success().line();
    let head = env.git(["rev-parse", "--short=12", "HEAD"]);
    let args = ["guard", "revoke", "--author", "agent:scraper"];
    let told = env.run(args.into_iter().chain(["--dry-run", "--format", "json"]));
    let told = told.success().json();
    assert_eq!(told["revoked"], false);
    assert_eq!(told["entries"], 1);
    assert_eq!(told["derived"][0], *summary, "{told}");
    assert_eq!(told["runs"], serde_json::json!(["bad"]));
    assert_eq!(told["commits"], serde_json::json!([head.trim()]));
    assert_eq!(told["clones"].as_array().map(Vec::len), Some(1));
    let still = env.run(["search", "deployment gateway force"]).success();
    assert!(still.stdout.contains(&poison), "{still}");
    let done = env.run(args).success();
    assert!(done.stdout.contains("shown in runs: 1 (bad)"), "{done}");
}

#[cfg(unix)]
#[test]
fn bisect_finds_the_entry_that_an_agent_follows() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = repository_with_ledger();
    let mut all = BTreeSet::new();
    for (place, part) in ["cache", "parser", "mailer", "router", "ledger", "worker"]
        .iter()
        .enumerate()
    {
        let statement = format!("The {part} retries {place} times before it gives up.");
        all.insert(add(&env, &statement, "human:ada@example.org"));
    }
    let poison = add(&env, POISON, "agent:scraper");
    commit_all(&env, "feat: code");
    // The agent follows what it finds, and leaves traces that the next run must not see.
    let script = format!(
        "#!/bin/sh\ntest -e trace && exit 125\ntouch trace\nif '{}' search 'deployment gateway refunds' --by agent:coder | grep -q -- --force; then exit 1; fi\n",
        env!("CARGO_BIN_EXE_ken")
    );
    env.write("agent.sh", &script);
    let path = env.root().join("agent.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = env.git(["status", "--porcelain"]);
    let told = env
        .run(["bisect", "--format", "json", "--", "./agent.sh"])
        .success()
        .json();
    assert_eq!(told["found"], *poison, "{told}");
    assert_eq!(told["suspects"], all.len() + 1);
    assert_eq!(env.git(["status", "--porcelain"]), before);
    // An agent that never errs has no entry to find.
    let never = env.run(["bisect", "--", "true"]);
    assert_eq!(never.exit, 1, "{never}");
    assert!(never.stderr.contains("the right thing in all"), "{never}");
    let always = env.run(["bisect", "--", "false"]);
    assert!(always.stderr.contains("not the cause"), "{always}");
}
