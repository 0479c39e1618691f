//! Knowledge that reaches further: from a thread to the workspace, to the global ledger, to another memory.

use ken_testkit::test_env::{Run, TestEnv};

use crate::support::{commit, lesson, plain, repository};

/// Adds a lesson of the thread `billing` and returns its id.
fn of_thread(env: &TestEnv, statement: &str) -> String {
    let args = ["add", "--kind", "learning", "--cite", "pr:1", "--scope"];
    let args = args.into_iter().chain(["thread", "--thread", "billing"]);
    env.run(args.chain(["--statement", statement]))
        .success()
        .line()
}

/// Records friction and returns its id.
fn friction(env: &TestEnv) -> String {
    let args = ["friction", "record", "--type", "validation_fail"];
    let args = args.into_iter().chain(["--context", r#"{"test":"fail"}"#]);
    env.run(args.chain(["--by", "agent:codex"]))
        .success()
        .line()
}

/// Puts a norm forward from `source` as `by`.
fn put_forward(env: &TestEnv, source: &str, by: &str) -> Run {
    let args = ["promote", source, "--to", "procedural", "--as"];
    let args = args.into_iter().chain(["commit-norm", "--statement"]);
    env.run(args.chain(["Run the formatter before committing.", "--by", by]))
}

fn json(env: &TestEnv, args: &[&str]) -> serde_json::Value {
    let args = args.iter().copied().chain(["--format", "json"]);
    env.run(args).success().json()
}

fn ids(found: &serde_json::Value) -> Vec<String> {
    let found = found.as_array().into_iter().flatten();
    found
        .map(|it| it["id"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn scp_07_scp_08_scp_10_a_threads_lesson_is_promoted_once_it_has_proven_itself() {
    let env = plain();
    let id = of_thread(&env, "Amounts of money are integers in cents");
    insta::assert_snapshot!(env.run(["promote", &id, "--to", "workspace"]), @"
    exit: 1
    ----- stderr -----
    error: L-205zr7j2 is not promoted: it has not proven itself: nobody found it again, and its confidence is 0.50 (outcomes alone need 0.55)

    hint: `--anyway` promotes it all the same; only a person may say so
    ");
    let signal = |env: &TestEnv| {
        let args = ["search", "money in cents", "--thread", "billing"];
        let found = json(env, &args);
        let parts = found["results"][0]["signals"]["parts"].clone();
        let parts = parts.as_array().cloned().unwrap_or_default();
        let thread = parts.into_iter().find(|it| it["name"] == "thread");
        thread.expect("a signal")["adds"]
            .as_f64()
            .expect("a number")
    };
    assert!((signal(&env) - 0.07).abs() < 1e-9, "SCP-04");
    let _ = env.run(["confirm", &id]).success();
    insta::assert_snapshot!(env.run(["promote", &id, "--to", "workspace"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    promoted: it is for the whole workspace now
    ");
    assert!(signal(&env).abs() < 1e-9, "SCP-08: no bonus any more");
    let again = env.run(["promote", &id, "--to", "workspace"]);
    assert_eq!(again.exit, 1, "{again}");
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("billing (promoted)"), "{shown}");
    assert!(shown.contains("workspace scope"), "{shown}");
    let log = env.run(["log", &id]).stdout;
    assert!(log.contains("promoted: workspace scope"), "{log}");
}

#[test]
fn scp_06_by_default_a_thread_is_a_bonus_and_strict_keeps_entries_to_it() {
    let env = plain();
    let id = of_thread(&env, "Amounts of money are integers in cents");
    let found = |args: &[&str]| {
        let query = ["search", "money in cents"];
        let args: Vec<&str> = query.iter().chain(args).copied().collect();
        json(&env, &args)
    };
    assert_eq!(ids(&found(&[])["results"]), [id.as_str()], "boost");
    let strict = "schema = \"ken.config.v1\"\n[search]\nthread_visibility = \"strict\"\n";
    env.write(".ken/config.toml", strict);
    assert!(ids(&found(&[])["results"]).is_empty());
    assert_eq!(found(&[])["withheld"][0]["why"], "other_thread");
    assert!(ids(&found(&["--thread", "other"])["results"]).is_empty());
    assert_eq!(
        ids(&found(&["--thread", "billing"])["results"]),
        [id.as_str()]
    );
    let _ = env
        .run(["promote", &id, "--to", "workspace", "--anyway"])
        .success();
    assert_eq!(
        ids(&found(&[])["results"]),
        [id.as_str()],
        "SCP-05: everybody's"
    );
}

#[test]
fn scp_06_whoever_works_in_a_run_of_the_thread_is_in_it() {
    let env = plain();
    let id = of_thread(&env, "Amounts of money are integers in cents");
    let strict = "schema = \"ken.config.v1\"\n[search]\nthread_visibility = \"strict\"\n";
    env.write(".ken/config.toml", strict);
    let run = ["run", "open", "r1", "--thread", "billing"];
    let _ = env.run(run).success();
    let asks = ["search", "money in cents", "--by", "agent:codex"];
    assert!(ids(&json(&env, &asks)["results"]).is_empty());
    let inside: Vec<&str> = asks.into_iter().chain(["--run", "r1"]).collect();
    assert_eq!(ids(&json(&env, &inside)["results"]), [id.as_str()]);
}

#[test]
fn scp_09_archiving_a_thread_names_what_is_worth_keeping() {
    let env = plain();
    let kept = of_thread(&env, "Amounts of money are integers in cents");
    let _ = of_thread(&env, "The importer is slow on Mondays");
    let _ = env.run(["confirm", &kept]).success();
    let run = env.run(["archive", "--thread", "billing"]).success();
    assert!(run.stderr.contains("1 of them has proven useful"), "{run}");
    assert!(run.stderr.contains(&kept), "{run}");
}

#[test]
fn scp_10_agents_do_not_override_and_nobody_overrides_a_contradiction() {
    let env = plain();
    let id = of_thread(&env, "Amounts of money are integers in cents");
    let by_agent = ["promote", &id, "--to", "workspace", "--anyway"];
    let run = env.run(by_agent.into_iter().chain(["--by", "agent:codex"]));
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("for a person to decide"), "{run}");
    let other = lesson(&env, "Amounts of money are floating point numbers");
    let _ = env
        .run(["link", &id, &other, "--rel", "contradicts"])
        .success();
    let run = env.run(["promote", &id, "--to", "workspace", "--anyway"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("a contradiction with"), "{run}");
}

#[test]
fn gat_10_cli_11_no_direct_way_leads_out_of_episodic_memory() {
    let env = plain();
    let source = friction(&env);
    for args in [
        [
            "promote",
            "--from",
            "episodic/friction",
            "--to",
            "procedural",
        ]
        .as_slice(),
        ["promote", "--from", "episodic/friction", "--to", "semantic"].as_slice(),
        ["promote", &source, "--to", "procedural"].as_slice(),
        ["promote", &source, "--to", "semantic"].as_slice(),
        ["promote", &source, "--to", "workspace"].as_slice(),
        ["promote", &source, "--to", "global", "--anyway"].as_slice(),
    ] {
        let run = env.run(args.iter().copied());
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stderr.contains("directional flow violation"), "{run}");
    }
    insta::assert_snapshot!(env.run(["promote", "--from", "semantic", "--to", "procedural"]), @"
    exit: 2
    ----- stderr -----
    error: all of semantic at once is not promoted to procedural

    hint: name the entries: `ken promote ENTRY --to procedural --as KIND`
    ");
}

#[test]
fn gat_09_friction_becomes_a_norm_by_an_artifact_and_somebody_elses_approval() {
    let env = plain();
    let source = friction(&env);
    let forward = put_forward(&env, &source, "agent:codex");
    insta::assert_snapshot!(forward, @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9
    ----- stderr -----
    put forward; nobody is shown it until a person other than you approves: .ken/.local/promotions/N-h9xr3ac9.json
    hint: `ken approve N-h9xr3ac9` approves it
    ");
    let id = forward.line();
    let artifact = env.read(&format!(".ken/.local/promotions/{id}.json"));
    let read: serde_json::Value = serde_json::from_str(&artifact).expect("JSON");
    assert_eq!(read["sources"][0], source.as_str());
    assert_eq!(
        read["content"]["statement"],
        "Run the formatter before committing."
    );
    let told = |env: &TestEnv| env.run(["brief", "format"]).stdout;
    assert!(!told(&env).contains(&id), "nobody is shown it");
    insta::assert_snapshot!(env.run(["approve"]), @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9  commit-norm  by agent:codex, from F-205zr7j2
      Run the formatter before committing
    ----- stderr -----
    1 entry waits for an approval
    hint: `ken approve ID --show` prints what is approved, `ken approve ID` approves it, `ken retract ID` takes it back
    ");
    for by in ["agent:codex", "agent:claude-code", "ci:main"] {
        let run = env.run(["approve", &id, "--by", by]);
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stderr.contains("approving is for a person"), "{run}");
    }
    let lift = env.run(["quarantine", "lift", &id, "--reason", "fine"]);
    assert_eq!(lift.exit, 1, "{lift}");
    assert!(lift.stderr.contains("needs an approval"), "{lift}");
    insta::assert_snapshot!(env.run(["approve", &id, "--by", "human:bob@example.org"]), @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9
    ----- stderr -----
    approved: whoever it concerns is shown it from now on
    ");
    assert!(told(&env).contains(&id), "{}", told(&env));
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("by human:bob@example.org"), "{shown}");
    assert!(shown.contains(&format!("made from  {source}")), "{shown}");
    let log = env.run(["log", &id]).stdout;
    assert!(log.contains("approved: artifact b3:"), "{log}");
    assert_eq!(
        json(&env, &["show", &id])["links"][0]["to"],
        source.as_str()
    );
    insta::assert_snapshot!(env.run(["approve"]), @"
    exit: 0
    ----- stderr -----
    0 entries wait for an approval
    ");
}

#[test]
fn gat_09_nobody_approves_their_own_words() {
    let env = plain();
    let source = friction(&env);
    let id = put_forward(&env, &source, "human:ada@example.org").line();
    insta::assert_snapshot!(env.run(["approve", &id, "--by", "human:ada@example.org"]), @"
    exit: 1
    ----- stderr -----
    error: human:ada@example.org worded N-h9xr3ac9; somebody else must approve it

    hint: ask somebody else to run `ken approve N-h9xr3ac9`
    ");
    let _ = env
        .run(["approve", &id, "--by", "human:bob@example.org"])
        .success();
    let reword = ["revise", &id, "--statement", "Never run the formatter."];
    let _ = env
        .run(reword.into_iter().chain(["--by", "human:bob@example.org"]))
        .success();
    let waits = env.run(["approve"]).stdout;
    assert!(waits.contains(&id), "a new wording waits again: {waits}");
    let run = env.run(["approve", &id, "--by", "human:bob@example.org"]);
    assert_eq!(run.exit, 1, "{run}");
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("not as it reads now"), "{shown}");
}

#[test]
fn gat_09_c16_a_lesson_becomes_a_norm_the_same_way() {
    let env = plain();
    let source = lesson(&env, "Commits without a test are reverted within a week.");
    let args = [
        "promote",
        &source,
        "--to",
        "procedural",
        "--as",
        "pr-expectation",
    ];
    let id = env.run(args).success().line();
    let found = json(&env, &["show", &id]);
    assert_eq!(
        found["statement"],
        "Commits without a test are reverted within a week."
    );
    assert_eq!(found["created"]["promoted_from"][0], source.as_str());
    assert_eq!(
        found["citations"].as_array().map(Vec::len),
        Some(2),
        "its own and its source"
    );
    let wrong = ["promote", &source, "--to", "procedural", "--as", "learning"];
    let wrong = env.run(wrong);
    assert_eq!(wrong.exit, 2, "{wrong}");
}

#[test]
fn an_artifact_that_was_altered_is_refused() {
    let env = plain();
    let source = friction(&env);
    let id = put_forward(&env, &source, "agent:codex").line();
    let path = format!(".ken/.local/promotions/{id}.json");
    env.write(&path, &env.read(&path).replace("formatter", "deleter"));
    let run = env.run(["approve", &id, "--by", "human:bob@example.org"]);
    insta::assert_snapshot!(run, @"
    exit: 1
    ----- stderr -----
    error: the artifact of N-h9xr3ac9 says something else than the ledger

    hint: read it again: `ken approve N-h9xr3ac9 --show` prints it; sign that
    ");
    env.write(
        "mine.json",
        &env.run(["approve", &id, "--show"]).success().stdout,
    );
    let args = ["approve", &id, "--artifact", "mine.json", "--by"];
    let _ = env
        .run(args.into_iter().chain(["human:bob@example.org"]))
        .success();
}

#[test]
fn approvals_from_a_fork_are_refused() {
    let env = repository();
    let source = friction(&env);
    let id = put_forward(&env, &source, "agent:codex").line();
    commit(&env, "put forward");
    let _ = env.git(["checkout", "-q", "-b", "fork"]);
    let _ = env.run(["approve", &id]).success();
    commit(&env, "from outside");
    let base = env.git(["rev-parse", "fork~1"]);
    let args = ["verify", "--base", base.trim(), "--head", "fork"];
    let run = env.run(args.into_iter().chain(["--from-fork"]));
    assert_eq!(run.exit, 1, "{run}");
    assert!(
        run.stdout.contains("may not bring `approval.granted`"),
        "{run}"
    );
}
