//! `ken health`: the report at the start of work, and the review with its limits.

use std::fs;

use ken_testkit::test_env::TestEnvironment;
use serde_json::{Value, json};

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};

const REPORT_PATH: &str = ".ken/.local/health/latest.json";
const PROPOSAL_PATH: &str = ".ken/.local/review/proposal.json";

fn read_report(env: &TestEnvironment) -> Value {
    serde_json::from_str(&env.read(REPORT_PATH)).expect("a report")
}

/// Adds two verified entries with opposite polarity and returns their ids.
fn add_contradiction(env: &TestEnvironment) -> [String; 2] {
    let sides = [
        ("positive", "Retry every payment at once"),
        (
            "negative",
            "Never retry a payment before a minute has passed",
        ),
    ];
    sides.map(|(polarity, statement)| {
        let add = [
            "add", "--kind", "learning", "--cite", "pr:1", "--tag", "pay",
        ];
        let rest = ["--polarity", polarity, "--statement", statement];
        let id = env.run(add.into_iter().chain(rest)).success().line();
        let _ = env.run(["entry", "status", &id, "verified"]).success();
        id
    })
}

fn run_and_close(env: &TestEnvironment, args: &[&str]) {
    let _ = env.run(["run", "open", "work"]).success();
    let close = ["run", "close", "work"].iter().chain(args);
    let _ = env.run(close).success();
}

#[test]
fn the_report_is_printed_and_kept_on_this_machine_only() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["health", "report"]), @"
    exit: 0
    ----- stdout -----
    due  [maintenance:dedup] Merge duplicate entries
        do: ken health maintain dedup
    due  [maintenance:stale_sweep] Mark entries stale that are unused or do not answer queries
        do: ken health maintain stale_sweep
    due  [maintenance:contradiction] Find entries that contradict each other
        do: ken health maintain contradiction
    No rule reports a problem.
    ----- stderr -----
    1 entry in use; 0 runs closed recently, 0 succeeded; written to .ken/.local/health/latest.json
    ");
    assert_eq!(read_report(&env)["schema"], "ken.health_report.v1");
    commit_all(&env, "lesson");
    let told = env.run(["knowledge", "health", "report", "--format", "json"]);
    let told = told.success().json();
    assert_eq!(told, read_report(&env));
    assert_eq!(told["entries"]["candidate"], 1);
    assert_eq!(env.git(["status", "--porcelain"]), "", "git ignores it");
}

#[test]
fn the_report_is_brought_up_when_work_begins_and_only_if_something_changed() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    let _ = env.run(["run", "open", "one"]).success();
    let first = read_report(&env);
    assert_eq!(first["entries"]["candidate"], 1);
    assert!(
        !env.root().join(PROPOSAL_PATH).exists(),
        "the slow loop did not run"
    );
    let _ = env.run(["run", "open", "two"]).success();
    assert_eq!(read_report(&env), first, "nothing changed");
    let _ = add_lesson(&env, "Refunds are idempotent");
    let _ = env.run(["brief", "refunds"]).success();
    assert_eq!(read_report(&env)["entries"]["candidate"], 2);
}

#[test]
fn the_report_names_the_command_that_acts() {
    let env = folder_with_ledger();
    let [one, _] = add_contradiction(&env);
    let opened = env.run(["run", "open", "work"]).success();
    let told = "note: 1 finding requires action; see `ken health report`";
    assert!(opened.stderr.contains(told), "{opened}");
    let _ = env.run(["brief", "payments"]).success();
    assert!(env.root().join(REPORT_PATH).exists());
    assert!(
        !env.root().join(PROPOSAL_PATH).exists(),
        "a limit is reached, and only a review says so"
    );
    let again = env.run(["run", "open", "more"]).success();
    assert!(
        !again.stderr.contains(told),
        "told once for one state: {again}"
    );
    let report = env.run(["health", "report"]).success();
    insta::assert_snapshot!(report, @r#"
    exit: 0
    ----- stdout -----
    action required  contradiction (rule 2)
        two verified entries contradict each other: "Retry every payment at once" / "Never retry a payment before a minute has passed"
        do: ken show L-205zr7j2
        research: ken run open --agent researcher,role=researcher --task '[maintenance:contradiction] Find out which of L-205zr7j2 and L-d95shc1g is true, and when'
    due  [maintenance:dedup] Merge duplicate entries
        do: ken health maintain dedup
    due  [maintenance:stale_sweep] Mark entries stale that are unused or do not answer queries
        do: ken health maintain stale_sweep
    due  [maintenance:contradiction] Find entries that contradict each other
        do: ken health maintain contradiction
    ----- stderr -----
    2 entries in use; 0 runs closed recently, 0 succeeded; written to .ken/.local/health/latest.json
    "#);
    let told = env.run(["health", "report", "--format", "json"]).success();
    let insight = &told.json()["insights"][0];
    assert_eq!(insight["rule"], "contradiction");
    assert_eq!(insight["severity"], "action_required");
    assert_eq!(insight["command"], format!("ken show {one}"));
    // A shell accepts the command exactly as printed.
    let research = insight["research"]["command"].as_str().unwrap();
    let words = research.split_once(" --task ").unwrap();
    let task = words.1.trim_matches('\'');
    let typed = words.0.split(' ').skip(1).chain(["--task", task]);
    let run = env.run(typed).success().line();
    let shown = env.run(["run", "show", &run, "--format", "json"]).success();
    assert_eq!(shown.json()["task"], task);
}

#[test]
fn a_review_writes_a_proposal_only_if_a_limit_is_reached() {
    let env = folder_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["health", "review"]), @"
    exit: 0
    ----- stderr -----
    no limit was reached
    ");
    assert!(!env.root().join(PROPOSAL_PATH).exists());
    let [one, other] = add_contradiction(&env);
    insta::assert_snapshot!(env.run(["health", "review", "--thresholds"]), @"
    exit: 0
    ----- stdout -----
    action required: 1, the limit is 1
        do: ken health report
    contradictions: 1, the limit is 1
        do: ken health maintain contradiction
    ----- stderr -----
    wrote a proposal to .ken/.local/review/proposal.json
    ");
    let proposal: Value = serde_json::from_str(&env.read(PROPOSAL_PATH)).unwrap();
    assert_eq!(proposal["schema"], "ken.health_proposal.v1");
    assert_eq!(proposal["counts"]["contradictions"], 1);
    assert_eq!(proposal["tripped"][0]["threshold"], "action_required");
    for id in [one, other] {
        let _ = env.run(["retract", &id, "--reason", "obsolete"]).success();
    }
    let review = env.run(["health", "review", "--format", "json"]).success();
    assert_eq!(review.json()["tripped"], json!([]));
    assert!(
        !env.root().join(PROPOSAL_PATH).exists(),
        "an old one would mislead"
    );
}

#[test]
fn limits_come_from_a_json_file_and_what_is_not_known_is_refused() {
    let env = folder_with_ledger();
    let _ = env.run([
        "health",
        "friction",
        "record",
        "--type",
        "redo",
        "--context",
        "{}",
    ]);
    fs::write(env.root().join("limits.json"), r#"{"friction_week":1}"#).unwrap();
    let review = ["health", "review", "--thresholds", "limits.json"];
    insta::assert_snapshot!(env.run(review), @"
    exit: 0
    ----- stdout -----
    friction week: 1, the limit is 1
        do: ken health friction report
    ----- stderr -----
    wrote a proposal to .ken/.local/review/proposal.json
    ");
    fs::write(env.root().join("limits.json"), r#"{"frictions":1}"#).unwrap();
    let refused = env.run(review);
    assert_eq!(refused.exit, 2);
    assert!(
        refused.stderr.contains("unknown field `frictions`"),
        "{refused}"
    );
    assert_eq!(
        env.run(["health", "review", "--thresholds", "none.json"])
            .exit,
        2
    );
}

#[test]
fn what_is_decided_later_never_binds_work_that_ended() {
    let env = folder_with_ledger();
    run_and_close(&env, &["--outcome", "succeeded", "--strategy", "pairing"]);
    let before = env
        .run(["run", "list", "--format", "json"])
        .success()
        .stdout;
    // A thread, a policy and a strategy set later apply only to later runs.
    let open = ["run", "open", "later", "--thread", "payments"];
    let _ = env.run(open).success();
    let _ = env
        .run(["health", "maintain", "policy", "--mode", "autonomous"])
        .success();
    let _ = env.run(["run", "policy", "--reviews", "3"]).success();
    let after = env
        .run(["run", "list", "--format", "json"])
        .success()
        .stdout;
    let ended: Vec<&str> = after.lines().filter(|it| it.contains("pairing")).collect();
    assert_eq!(ended, before.lines().collect::<Vec<_>>());
}

#[test]
fn rules_about_work_recommend_and_change_nothing() {
    let env = repository_with_ledger();
    for (outcome, quality, rounds, cost, strategy) in [
        ("failed", "0.1", "10", "2", "slow"),
        ("failed", "0.1", "10", "2", "slow"),
        ("failed", "0.1", "10", "2", "slow"),
        ("succeeded", "0.9", "1", "1", "fast"),
        ("succeeded", "0.9", "1", "1", "fast"),
        ("succeeded", "0.9", "1", "9", "fast"),
    ] {
        let figures = ["--quality", quality, "--rounds", rounds, "--cost", cost];
        let args = ["--outcome", outcome, "--strategy", strategy];
        let args: Vec<&str> = args.into_iter().chain(figures).collect();
        run_and_close(&env, &args);
    }
    let settings = || {
        let weights = env.run(["config", "weights"]).success().stdout;
        let policy = env.run(["health", "maintain", "policy"]).success().stdout;
        let runs = env.run(["run", "policy"]).success().stdout;
        let memories = [".ken/semantic/v1", ".ken/episodic/v1"];
        let lines = memories.map(|memory| {
            let names = env.names(memory).into_iter();
            let texts = names.map(|it| env.read(&format!("{memory}/{it}")));
            texts.collect::<String>()
        });
        (weights, policy, runs, lines)
    };
    let before = settings();
    let fresh = repository_with_ledger();
    let untouched = [
        ["config", "weights"].as_slice(),
        ["health", "maintain", "policy"].as_slice(),
        ["run", "policy"].as_slice(),
    ]
    .map(|args| fresh.run(args.iter().copied()).success().stdout);
    assert_eq!([&before.0, &before.1, &before.2], untouched.each_ref());
    let report = env.run(["health", "report", "--format", "json"]).success();
    let report = report.json();
    let insights = report["insights"].as_array().expect("insights").iter();
    let mut rules: Vec<u64> = insights.filter_map(|it| it["number"].as_u64()).collect();
    rules.sort_unstable();
    rules.dedup();
    for number in [8, 9, 10, 11] {
        assert!(rules.contains(&number), "{number} of {rules:?}: {report}");
    }
    assert_eq!(settings(), before);
}

#[test]
fn outcomes_escalate_in_the_report() {
    let env = folder_with_ledger();
    for _ in 0..3 {
        run_and_close(&env, &["--outcome", "failed"]);
    }
    let report = env.run(["health", "report", "--format", "json"]).success();
    let report = report.json();
    assert_eq!(report["outcomes"]["failed"], 3);
    assert_eq!(
        report["escalations"][0]["what"],
        "the last 3 runs outside any thread failed; a person should investigate"
    );
}

#[test]
fn outcomes_recommend_a_strategy_in_the_report() {
    let env = folder_with_ledger();
    for _ in 0..3 {
        let fast = [
            "--outcome",
            "succeeded",
            "--quality",
            "0.9",
            "--strategy",
            "fast",
        ];
        run_and_close(&env, &fast);
        let slow = [
            "--outcome",
            "succeeded",
            "--quality",
            "0.4",
            "--strategy",
            "slow",
        ];
        run_and_close(&env, &slow);
    }
    let report = env.run(["health", "report", "--format", "json"]).success();
    let advice = &report.json()["recommendations"][0];
    let what = "`fast` has the best outcomes here (quality 0.90): use it first";
    assert_eq!(advice["what"], what, "{advice}");
    assert_eq!(advice["command"], "ken run list");
}

#[test]
fn what_did_not_answer_is_counted_from_events_without_the_words_of_the_question() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe because the key is idempotent");
    let words = "elephants in the zoo";
    let _ = env.run(["search", "--threshold", "none", words]).success();
    let missed = env.run(["search", "--unanswered"]).success().stdout;
    run_and_close(&env, &["--outcome", "succeeded"]);
    let log = env.run(["log", &id, "--all"]).success().stdout;
    let is_told =
        missed.contains(words) && log.contains("was the top hit for a query it does not answer");
    assert!(is_told, "{missed}\n{log}");
    assert!(!log.contains("elephants"), "{log}");
    // The miss is recorded once, and survives the loss of the index.
    run_and_close(&env, &["--outcome", "succeeded"]);
    assert_eq!(env.run(["log", &id, "--all"]).success().stdout, log);
    let _ = env.run(["ledger", "index", "rebuild"]).success();
    assert_eq!(env.run(["log", &id, "--all"]).success().stdout, log);
}

#[test]
fn confidence_that_evidence_does_not_move_is_told() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let work = |outcome: &str| {
        let _ = env.run(["run", "open", "work", "--agent", "a"]).success();
        let note = ["run", "note", "work", "--agent", "agent:a", "--used", &id];
        let _ = env.run(note).success();
        let close = [
            "run",
            "close",
            "work",
            "--outcome",
            outcome,
            "--quality",
            "0.5",
        ];
        let _ = env.run(close).success();
    };
    let told = || {
        let report = env.run(["health", "report", "--format", "json"]);
        let report = report.success().json();
        let all = report["recommendations"].as_array().unwrap().clone();
        all.into_iter().find(|it| {
            it["what"]
                .as_str()
                .unwrap()
                .starts_with("confidence stays near 0.5")
        })
    };
    for _ in 0..9 {
        work("succeeded");
        work("failed");
    }
    work("succeeded");
    assert_eq!(told(), None, "nineteen observations are too few");
    work("failed");
    let advice = told().expect("twenty say something");
    assert!(advice["what"].as_str().unwrap().ends_with(&id), "{advice}");
    assert_eq!(advice["command"], format!("ken show {id} --explain"));
    // A mean of 0.55 is still near; 18 of 32 with the prior are above it.
    work("succeeded");
    work("succeeded");
    assert!(told().is_some(), "17 of 32 is 0.53");
    work("succeeded");
    work("succeeded");
    assert_eq!(told(), None, "19 of 34 is 0.56");
}
