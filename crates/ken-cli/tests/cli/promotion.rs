//! Promotion of entries: from a thread to the workspace, to the global ledger, and to another
//! memory.

use ken_testkit::test_env::{CommandRun, TestEnvironment};

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};

/// Adds a lesson to the thread `billing` and returns its id.
fn add_to_thread(env: &TestEnvironment, statement: &str) -> String {
    let args = ["add", "--kind", "learning", "--cite", "pr:1", "--scope"];
    let args = args.into_iter().chain(["thread", "--thread", "billing"]);
    env.run(args.chain(["--statement", statement]))
        .success()
        .line()
}

/// Records friction and returns its id.
fn record_friction(env: &TestEnvironment) -> String {
    let args = ["health", "friction", "record", "--type", "validation_fail"];
    let args = args.into_iter().chain(["--context", r#"{"test":"fail"}"#]);
    env.run(args.chain(["--by", "agent:codex"]))
        .success()
        .line()
}

/// Proposes a norm derived from `source`, as `by`.
fn propose_norm(env: &TestEnvironment, source: &str, by: &str) -> CommandRun {
    let args = ["entry", "promote", source, "--to", "procedural", "--as"];
    let args = args.into_iter().chain(["commit-norm", "--statement"]);
    env.run(args.chain(["Run the formatter before committing.", "--by", by]))
}

fn run_json(env: &TestEnvironment, args: &[&str]) -> serde_json::Value {
    let args = args.iter().copied().chain(["--format", "json"]);
    env.run(args).success().json()
}

fn result_ids(found: &serde_json::Value) -> Vec<String> {
    let found = found.as_array().into_iter().flatten();
    found
        .map(|it| it["id"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn approving_ones_own_norm_under_another_name_is_noticed() {
    let env = repository_with_ledger();
    let source = add_lesson(&env, "The formatter runs in CI");
    let norm = propose_norm(&env, &source, "human:ada@example.org")
        .success()
        .line();
    let own = env.run(["inbox", "approve", &norm]);
    assert_eq!(own.exit, 1, "{own}");
    let approved = env.run(["inbox", "approve", &norm, "--by", "human:bob"]);
    let approved = approved.success();
    let said = "nothing verifies that human:bob approved it";
    assert!(approved.stderr.contains(said), "{}", approved.stderr);
}

#[test]
fn a_threads_lesson_is_promoted_once_it_has_proven_itself() {
    let env = folder_with_ledger();
    let id = add_to_thread(&env, "Amounts of money are integers in cents");
    insta::assert_snapshot!(env.run(["entry", "promote", &id, "--to", "workspace"]), @"
    exit: 1
    ----- stderr -----
    error: L-205zr7j2 cannot be promoted: it is unproven: it has no independent confirmation, and its confidence is 0.50 (outcomes alone need 0.55)

    hint: a person can promote it with `--anyway`
    ");
    let signal = |env: &TestEnvironment| {
        let args = ["search", "money in cents", "--thread", "billing"];
        let found = run_json(env, &args);
        let parts = found["results"][0]["signals"]["parts"].clone();
        let parts = parts.as_array().cloned().unwrap_or_default();
        let thread = parts.into_iter().find(|it| it["name"] == "thread");
        thread.expect("a signal")["adds"]
            .as_f64()
            .expect("a number")
    };
    assert!((signal(&env) - 0.07).abs() < 1e-9, "SCP-04");
    let _ = env.run(["confirm", &id]).success();
    insta::assert_snapshot!(env.run(["entry", "promote", &id, "--to", "workspace"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    promoted to workspace scope
    ");
    assert!(signal(&env).abs() < 1e-9, "SCP-08: no bonus any more");
    let again = env.run(["entry", "promote", &id, "--to", "workspace"]);
    assert_eq!(again.exit, 1, "{again}");
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("billing (promoted)"), "{shown}");
    assert!(shown.contains("workspace scope"), "{shown}");
    let log = env.run(["log", &id]).stdout;
    assert!(log.contains("promoted: workspace scope"), "{log}");
    let other = add_to_thread(&env, "The bank is down on Sundays");
    let archived = env.run(["archive", "--thread", "billing"]).success();
    assert_eq!(
        archived.line(),
        other,
        "only what the thread kept to itself"
    );
    let found = run_json(&env, &["search", "money in cents"]);
    assert_eq!(result_ids(&found["results"]), [id.as_str()]);
}

#[test]
fn by_default_a_thread_is_a_bonus_and_strict_keeps_entries_to_it() {
    let env = folder_with_ledger();
    let id = add_to_thread(&env, "Amounts of money are integers in cents");
    let found = |args: &[&str]| {
        let query = ["search", "money in cents"];
        let args: Vec<&str> = query.iter().chain(args).copied().collect();
        run_json(&env, &args)
    };
    assert_eq!(result_ids(&found(&[])["results"]), [id.as_str()], "boost");
    let strict = "schema = \"ken.config.v1\"\n[search]\nthread_visibility = \"strict\"\n";
    env.write(".ken/config.toml", strict);
    assert!(result_ids(&found(&[])["results"]).is_empty());
    assert_eq!(found(&[])["withheld"][0]["why"], "other_thread");
    assert!(result_ids(&found(&["--thread", "other"])["results"]).is_empty());
    assert_eq!(
        result_ids(&found(&["--thread", "billing"])["results"]),
        [id.as_str()]
    );
    let _ = env
        .run(["entry", "promote", &id, "--to", "workspace", "--anyway"])
        .success();
    for thread in [&[][..], &["--thread", "billing"], &["--thread", "other"]] {
        let found = found(thread);
        assert_eq!(result_ids(&found["results"]), [id.as_str()], "everybody's");
    }
    let plain = add_lesson(&env, "Parcels are weighed before they leave");
    let scope = &run_json(&env, &["show", &plain])["scope"]["value"];
    assert_eq!(*scope, "workspace");
    for thread in [&[][..], &["--thread", "billing"], &["--thread", "other"]] {
        let query = ["search", "parcels are weighed"].iter().chain(thread);
        let found = run_json(&env, &query.copied().collect::<Vec<&str>>());
        assert_eq!(result_ids(&found["results"]), [plain.as_str()]);
    }
}

#[test]
fn whoever_works_in_a_run_of_the_thread_is_in_it() {
    let env = folder_with_ledger();
    let id = add_to_thread(&env, "Amounts of money are integers in cents");
    let strict = "schema = \"ken.config.v1\"\n[search]\nthread_visibility = \"strict\"\n";
    env.write(".ken/config.toml", strict);
    let run = ["run", "open", "r1", "--thread", "billing"];
    let _ = env.run(run).success();
    let asks = ["search", "money in cents", "--by", "agent:codex"];
    assert!(result_ids(&run_json(&env, &asks)["results"]).is_empty());
    let inside: Vec<&str> = asks.into_iter().chain(["--run", "r1"]).collect();
    assert_eq!(
        result_ids(&run_json(&env, &inside)["results"]),
        [id.as_str()]
    );
}

#[test]
fn archiving_a_thread_names_what_is_worth_keeping() {
    let env = folder_with_ledger();
    let kept = add_to_thread(&env, "Amounts of money are integers in cents");
    let _ = add_to_thread(&env, "The importer is slow on Mondays");
    let _ = env.run(["confirm", &kept]).success();
    let run = env.run(["archive", "--thread", "billing"]).success();
    assert!(run.stderr.contains("1 of them has proven useful"), "{run}");
    let advice = format!(
        "run `ken restore {kept}` and `ken entry promote {kept} --to workspace` to keep it"
    );
    assert!(run.stderr.contains(&advice), "{run}");
    let scope = || run_json(&env, &["show", &kept])["scope"]["value"].clone();
    assert_eq!(scope(), "thread");
    let _ = env.run(["restore", &kept]).success();
    let promote = ["entry", "promote", &kept, "--to", "workspace"];
    let _ = env.run(promote).success();
    assert_eq!(scope(), "workspace");
}

#[test]
fn what_is_unsure_or_about_the_work_itself_is_not_promoted() {
    let env = folder_with_ledger();
    let own = add_to_thread(&env, "In this thread amounts of money are in cents");
    let unsure = add_to_thread(&env, "Refunds are idempotent for every bank");
    for _ in 0..4 {
        let _ = env.run(["feedback", &unsure, "--unhelpful"]).success();
        env.wait_days(1);
    }
    for (id, why) in [
        (
            &own,
            "its statement refers to the work it came from (`this thread`)",
        ),
        (
            &unsure,
            "its confidence is low (0.42; at least 0.50 is needed)",
        ),
    ] {
        let _ = env.run(["confirm", id]).success();
        let run = env.run(["entry", "promote", id, "--to", "workspace"]);
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stderr.contains(why), "{run}");
        let shown = run_json(&env, &["show", id]);
        assert_eq!(shown["scope"]["value"], "thread");
    }
}

#[test]
fn agents_do_not_override_and_nobody_overrides_a_contradiction() {
    let env = folder_with_ledger();
    let id = add_to_thread(&env, "Amounts of money are integers in cents");
    let by_agent = ["entry", "promote", &id, "--to", "workspace", "--anyway"];
    let run = env.run(by_agent.into_iter().chain(["--by", "agent:codex"]));
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("requires a person"), "{run}");
    let other = add_lesson(&env, "Amounts of money are floating point numbers");
    let _ = env
        .run(["entry", "link", &id, &other, "--rel", "contradicts"])
        .success();
    let run = env.run(["entry", "promote", &id, "--to", "workspace", "--anyway"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("its contradiction with"), "{run}");
}

#[test]
fn no_direct_way_leads_out_of_episodic_memory() {
    let env = folder_with_ledger();
    let source = record_friction(&env);
    for args in [
        [
            "entry",
            "promote",
            "--from",
            "episodic/friction",
            "--to",
            "procedural",
        ]
        .as_slice(),
        [
            "entry",
            "promote",
            "--from",
            "episodic/friction",
            "--to",
            "semantic",
        ]
        .as_slice(),
        ["entry", "promote", &source, "--to", "procedural"].as_slice(),
        ["entry", "promote", &source, "--to", "semantic"].as_slice(),
        ["entry", "promote", &source, "--to", "workspace"].as_slice(),
        ["entry", "promote", &source, "--to", "global", "--anyway"].as_slice(),
    ] {
        let run = env.run(args.iter().copied());
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stderr.contains("directional flow violation"), "{run}");
    }
    insta::assert_snapshot!(env.run(["entry", "promote", "--from", "semantic", "--to", "procedural"]), @"
    exit: 2
    ----- stderr -----
    error: cannot promote all of semantic to procedural at once

    hint: name the entries: `ken entry promote ENTRY --to procedural --as KIND --statement TEXT`
    ");
}

#[test]
fn friction_becomes_a_norm_by_an_artifact_and_somebody_elses_approval() {
    let env = folder_with_ledger();
    let source = record_friction(&env);
    let forward = propose_norm(&env, &source, "agent:codex");
    insta::assert_snapshot!(forward, @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9
    ----- stderr -----
    pending: agents do not see it until a person other than you approves it: .ken/.local/promotions/N-h9xr3ac9.json
    hint: `ken inbox approve N-h9xr3ac9` approves it
    ");
    let id = forward.line();
    let artifact = env.read(&format!(".ken/.local/promotions/{id}.json"));
    let read: serde_json::Value = serde_json::from_str(&artifact).expect("JSON");
    assert_eq!(read["sources"][0], source.as_str());
    assert_eq!(
        read["content"]["statement"],
        "Run the formatter before committing."
    );
    let told = |env: &TestEnvironment| env.run(["brief", "format"]).stdout;
    assert!(!told(&env).contains(&id), "nobody is shown it");
    insta::assert_snapshot!(env.run(["inbox", "approve"]), @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9  commit-norm  by agent:codex, from F-205zr7j2
      Run the formatter before committing
    ----- stderr -----
    1 entry needs approval
    hint: `ken inbox approve ID --show` prints the artifact, `ken inbox approve ID` approves it, `ken retract ID` rejects it
    ");
    for by in ["agent:codex", "agent:claude-code", "ci:main"] {
        let run = env.run(["inbox", "approve", &id, "--by", by]);
        assert_eq!(run.exit, 1, "{run}");
        assert!(
            run.stderr.contains("approving an entry requires a person"),
            "{run}"
        );
    }
    let lift = env.run(["guard", "quarantine", "release", &id, "--reason", "fine"]);
    assert_eq!(lift.exit, 1, "{lift}");
    assert!(lift.stderr.contains("needs an approval"), "{lift}");
    insta::assert_snapshot!(env.run(["inbox", "approve", &id, "--by", "human:bob@example.org"]), @"
    exit: 0
    ----- stdout -----
    N-h9xr3ac9
    ----- stderr -----
    approved: agents see it from now on
    ");
    assert!(told(&env).contains(&id), "{}", told(&env));
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("by human:bob@example.org"), "{shown}");
    assert!(shown.contains(&format!("sources    {source}")), "{shown}");
    let log = env.run(["log", &id]).stdout;
    assert!(log.contains("approved: artifact b3:"), "{log}");
    assert_eq!(
        run_json(&env, &["show", &id])["links"][0]["to"],
        source.as_str()
    );
    insta::assert_snapshot!(env.run(["inbox", "approve"]), @"
    exit: 0
    ----- stderr -----
    0 entries need approval
    ");
}

#[test]
fn nobody_approves_their_own_words() {
    let env = folder_with_ledger();
    let source = record_friction(&env);
    let id = propose_norm(&env, &source, "human:ada@example.org").line();
    insta::assert_snapshot!(env.run(["inbox", "approve", &id, "--by", "human:ada@example.org"]), @"
    exit: 1
    ----- stderr -----
    error: human:ada@example.org wrote or recorded N-h9xr3ac9; another person must decide about it

    hint: ask another person to run `ken inbox approve N-h9xr3ac9`
    ");
    let _ = env
        .run(["inbox", "approve", &id, "--by", "human:bob@example.org"])
        .success();
    let reword = ["edit", &id, "--statement", "Never run the formatter."];
    let _ = env
        .run(reword.into_iter().chain(["--by", "human:bob@example.org"]))
        .success();
    let waits = env.run(["inbox", "approve"]).stdout;
    assert!(waits.contains(&id), "a new wording waits again: {waits}");
    let run = env.run(["inbox", "approve", &id, "--by", "human:bob@example.org"]);
    assert_eq!(run.exit, 1, "{run}");
    let shown = env.run(["show", &id]).stdout;
    assert!(shown.contains("not for the current statement"), "{shown}");
}

#[test]
fn a_lesson_becomes_a_norm_the_same_way() {
    let env = folder_with_ledger();
    let source = add_lesson(&env, "Commits without a test are reverted within a week.");
    let args = [
        "entry",
        "promote",
        &source,
        "--to",
        "procedural",
        "--as",
        "pr-expectation",
    ];
    let id = env.run(args).success().line();
    let found = run_json(&env, &["show", &id]);
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
    let wrong = [
        "entry",
        "promote",
        &source,
        "--to",
        "procedural",
        "--as",
        "learning",
    ];
    let wrong = env.run(wrong);
    assert_eq!(wrong.exit, 2, "{wrong}");
}

#[test]
fn an_artifact_that_was_altered_is_refused() {
    let env = folder_with_ledger();
    let source = record_friction(&env);
    let id = propose_norm(&env, &source, "agent:codex").line();
    let path = format!(".ken/.local/promotions/{id}.json");
    env.write(&path, &env.read(&path).replace("formatter", "deleter"));
    let run = env.run(["inbox", "approve", &id, "--by", "human:bob@example.org"]);
    insta::assert_snapshot!(run, @"
    exit: 1
    ----- stderr -----
    error: the artifact of N-h9xr3ac9 differs from the ledger

    hint: run `ken inbox approve N-h9xr3ac9 --show`, review the output and sign it
    ");
    env.write(
        "mine.json",
        &env.run(["inbox", "approve", &id, "--show"])
            .success()
            .stdout,
    );
    let args = ["inbox", "approve", &id, "--artifact", "mine.json", "--by"];
    let _ = env
        .run(args.into_iter().chain(["human:bob@example.org"]))
        .success();
}

#[test]
fn approvals_from_a_fork_are_refused() {
    let env = repository_with_ledger();
    let source = record_friction(&env);
    let id = propose_norm(&env, &source, "agent:codex").line();
    commit_all(&env, "put forward");
    let _ = env.git(["checkout", "-q", "-b", "fork"]);
    let _ = env.run(["inbox", "approve", &id]).success();
    commit_all(&env, "from outside");
    let base = env.git(["rev-parse", "fork~1"]);
    let args = ["verify", "--base", base.trim(), "--head", "fork"];
    let run = env.run(args.into_iter().chain(["--from-fork"]));
    assert_eq!(run.exit, 1, "{run}");
    assert!(
        run.stdout.contains("may not add `approval.granted` events"),
        "{run}"
    );
}
