//! `ken run` and `ken run observe`: their output, and the confidence that follows from them.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, folder_with_ledger};

const CLAIM: &str = "A retried payment is charged once because the request carries its key";

/// Returns a ledger with an agent's claim, the claim's id, and an open run with two agents and an
/// orchestrator as witness.
pub(super) fn open_review() -> (TestEnvironment, String) {
    let env = folder_with_ledger();
    let args = [
        "add",
        "--by",
        "agent:author",
        "--kind",
        "learning",
        "--cite",
        "pr:142",
    ];
    let args = args.into_iter().chain(["--statement", CLAIM]);
    let id = env.run(args).success().line();
    let open = ["run", "open", "review-1", "--task", "look at payments"];
    let open = open.into_iter().chain(["--witness", "orchestrator"]);
    let open = open.chain(["--thread", "payments"]);
    let open = open.chain(["--agent", "a,role=reviewer,lens=security", "--agent", "b"]);
    let _ = env.run(open).success();
    (env, id)
}

#[test]
fn a_run_is_opened_noted_shown_and_closed() {
    let (env, id) = open_review();
    let as_a = ["--by", "agent:a", "--run", "review-1"];
    let _ = env
        .run(["show", id.as_str()].into_iter().chain(as_a))
        .success();
    let observe = ["run", "observe", "--statement", CLAIM];
    let observed = env.run(observe.into_iter().chain(as_a));
    insta::assert_snapshot!(observed, @"
    exit: 0
    ----- stdout -----
    review-1
    ----- stderr -----
    recorded; Ken evaluates the finding when the run is closed
    ");
    let as_b = ["--by", "agent:b", "--run", "review-1"];
    let _ = env.run(observe.into_iter().chain(as_b)).success();
    insta::assert_snapshot!(env.run(["run", "show", "review-1"]), @"
    exit: 0
    ----- stdout -----
    2026-01-02  review-1  open  2 agents  look at payments
    opened by human:ada, witness: orchestrator

    agent:a  witnessed
      saw        L-205zr7j2
      found      A retried payment is charged once because the request carries its key

    agent:b  witnessed
      found      A retried payment is charged once because the request carries its key
    ");
    insta::assert_snapshot!(env.run(["run", "close", "review-1", "--outcome", "succeeded", "--quality", "0.9"]), @"
    exit: 0
    ----- stdout -----
    review-1
    ----- stderr -----
    L-205zr7j2 found again, independent
    L-205zr7j2 is now verified
    closed as succeeded; affected 1 entry
    ");
    insta::assert_snapshot!(env.run(["run", "list"]), @"
    exit: 0
    ----- stdout -----
    2026-01-02  review-1  succeeded  2 agents  quality 0.90
    ----- stderr -----
    0 open, 1 closed, 1 of them succeeded
    ");
    insta::assert_snapshot!(env.run(["show", "--explain", id.as_str()]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2  learning  verified

    A retried payment is charged once because the request carries its key

    anchors    none
    decay      ephemeral
    cites      pr:142 (agent:author, 2026-01-02)
    confirmed  2026-01-02 (1 independent); found independently 1 time in 1 chance
    added      2026-01-02 by agent:author, workspace scope
    history    4 events, the last on 2026-01-02: `ken log L-205zr7j2`
    file       .ken/entries/L-205zr7j2-a-retried-payment-is-charged-once.md

    code          no anchors or conditions to check
    found again   1 independent, 0 by a person, 0 primed, 0 unwitnessed
    since then    shown in 0 of 10 runs, 0 of 18 chances to find it independently
    confidence    0.50 after 0 observations (prior)
    impact        not enough runs yet (n = 0)
    belief        0.95, found independently 1 time in 1 chance (not used)
    ");
}

#[test]
fn a_file_says_when_and_how_its_entry_was_found_again() {
    let (env, id) = open_review();
    let lines = || {
        let names = env.names(".ken/entries");
        let name = names.iter().find(|it| it.starts_with(&id)).unwrap();
        let text = env.read(&format!(".ken/entries/{name}"));
        let wanted = |line: &&str| line.starts_with("lastConfirmed") || line.starts_with("prov");
        let lines: Vec<String> = text.lines().filter(wanted).map(str::to_owned).collect();
        lines.join(", ")
    };
    let find = |agent: &str, run: &str| {
        let by = ["--by", agent, "--run", run, "--statement", CLAIM];
        let _ = env.run(["run", "observe"].into_iter().chain(by)).success();
        let close = ["run", "close", run, "--outcome", "succeeded"];
        let _ = env.run(close).success();
    };
    assert_eq!(
        lines(),
        "lastConfirmed: 2026-01-02, provenance: independent"
    );
    env.wait_days(1);
    let primed = ["show", &id, "--by", "agent:a", "--run", "review-1"];
    let _ = env.run(primed).success();
    find("agent:a", "review-1");
    assert_eq!(lines(), "lastConfirmed: 2026-01-02, provenance: primed");
    env.wait_days(1);
    let open = ["run", "open", "review-2", "--witness", "orchestrator"];
    let _ = env.run(open.into_iter().chain(["--agent", "b"])).success();
    find("agent:b", "review-2");
    assert_eq!(
        lines(),
        "lastConfirmed: 2026-01-04, provenance: independent"
    );
}

#[test]
fn what_a_run_is_told_of_another_folder_or_run_is_refused_with_a_way_out() {
    let (env, _) = open_review();
    insta::assert_snapshot!(env.run(["run", "open", "review-1"]), @"
    exit: 2
    ----- stderr -----
    error: run `review-1` is already open
    ");
    insta::assert_snapshot!(env.run(["run", "close", "nobody", "--outcome", "failed"]), @"
    exit: 2
    ----- stderr -----
    error: run `nobody` is not open; run `ken run list` to list open runs
    ");
    insta::assert_snapshot!(env.run(["run", "note", "nobody", "--used", "L-1"]), @"
    exit: 2
    ----- stderr -----
    error: run `nobody` is not open; run `ken run list` to list open runs
    ");
    insta::assert_snapshot!(env.run(["run", "open", "../x"]), @"
    exit: 2
    ----- stderr -----
    error: `../x` is not a valid run name: use letters, digits, `-` and `_`, at most 64
    ");
    insta::assert_snapshot!(env.run(["run", "open", "x", "--agent", "a,color=red"]), @"
    exit: 2
    ----- stderr -----
    error: invalid value 'a,color=red' for '--agent <AGENT>': `color` is not a valid key; use role, lens, session or told-by

    For more information, try '--help'.
    ");
}

#[test]
fn programs_read_runs_as_json() {
    let (env, id) = open_review();
    let note = [
        "run", "note", "--by", "agent:a", "--run", "review-1", "--format", "json",
    ];
    let noted = env.run(
        note.into_iter()
            .chain(["--saw", id.as_str(), "--used", id.as_str()]),
    );
    let noted = noted.success().json();
    assert_eq!(noted["schema"], "ken.run.v1");
    assert_eq!(noted["agents"][0]["used"][0], id.as_str());
    let close = [
        "run",
        "close",
        "review-1",
        "--outcome",
        "succeeded",
        "--format",
        "json",
    ];
    let closed = env.run(close).success().json();
    assert_eq!(closed["schema"], "ken.run_closed.v1");
    assert_eq!(closed["touched"], 1);
    let past = env
        .run(["run", "list", "--format", "json"])
        .success()
        .json();
    assert_eq!(past["schema"], "ken.past_run.v1");
    assert_eq!(past["roles"]["reviewer"], 1);
}

#[test]
fn outcomes_are_told_by_the_events_alone() {
    let (env, _) = open_review();
    let close = [
        "run",
        "close",
        "review-1",
        "--outcome",
        "failed",
        "--rounds",
        "3",
    ];
    let close = close
        .into_iter()
        .chain(["--cost", "0.25", "--strategy", "pairs"]);
    let _ = env.run(close).success();
    for local in [".ken/.index", ".ken/.local"] {
        std::fs::remove_dir_all(env.root().join(local)).expect("local state");
    }
    let past = env
        .run(["run", "list", "--format", "json"])
        .success()
        .json();
    assert_eq!(past["outcome"], "failed");
    assert_eq!(past["rounds"], 3);
    assert_eq!(past["cost_micros"], 250_000);
    assert_eq!(past["strategy"], "pairs");
    assert_eq!(past["thread"], "payments");
    assert_eq!(past["roles"], serde_json::json!({"reviewer": 1}));
    assert_eq!(past["duration_ms"], 60_000);
    // Neither the outcome nor a report about it has an event of its own.
    let _ = env.run(["health", "report"]).success();
    let memories = [".ken/semantic/v1", ".ken/episodic/v1"].map(|memory| {
        let names = env.names(memory).into_iter();
        let texts = names.map(|it| env.read(&format!("{memory}/{it}")));
        texts.collect::<String>()
    });
    let types = memories.iter().flat_map(|it| it.lines()).map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect("an event");
        event["type"].as_str().expect("a type").to_owned()
    });
    let types: Vec<String> = types.collect();
    assert_eq!(types, ["entry.proposed", "run.closed"]);
}

#[test]
fn a_run_ends_in_one_of_three_ways_and_tells_how_long_it_took() {
    let env = folder_with_ledger();
    for outcome in ["succeeded", "failed", "abandoned"] {
        let _ = env.run(["run", "open", outcome, "--agent", "a"]).success();
        let close = ["run", "close", outcome, "--outcome", outcome];
        let _ = env.run(close).success();
    }
    let listed = env.run(["run", "list", "--format", "json"]).success();
    let told = listed.stdout.lines().map(|line| {
        let run: serde_json::Value = serde_json::from_str(line).expect("a run");
        let outcome = run["outcome"].as_str().expect("an outcome").to_owned();
        (outcome, run["duration_ms"].as_u64().expect("a duration"))
    });
    let told: Vec<(String, u64)> = told.collect();
    let wanted = [("succeeded", 60_000), ("failed", 60_000), ("abandoned", 0)];
    let wanted = wanted.map(|(outcome, took)| (outcome.to_owned(), took));
    assert_eq!(told, wanted);
    let listed = env.run(["run", "list"]).success();
    let summary = "0 open, 3 closed, 1 of them succeeded";
    assert!(listed.stderr.contains(summary), "{listed}");
}

#[test]
fn a_closed_run_is_never_changed() {
    let (env, _) = open_review();
    let close = |outcome: &str| env.run(["run", "close", "review-1", "--outcome", outcome]);
    let _ = close("succeeded").success();
    let list = || {
        let listed = env.run(["run", "list", "--format", "json"]);
        listed.success().stdout
    };
    let before = list();
    let again = close("failed");
    assert_eq!(again.exit, 2, "{again}");
    let undone = env.run(["undo"]);
    assert_eq!(undone.exit, 1, "{undone}");
    assert!(undone.stderr.contains("cannot be undone"), "{undone}");
    std::fs::remove_dir_all(env.root().join(".ken/.local")).expect("local state");
    assert_eq!(list(), before);
}

#[test]
fn feedback_counts_for_help_and_not_for_truth() {
    let (env, id) = open_review();
    let by_a = ["--by", "agent:a", "--run", "review-1", id.as_str()];
    let rate = |verdict: &str| env.run(["feedback", verdict].into_iter().chain(by_a));
    insta::assert_snapshot!(rate("--helpful"), @"
    exit: 1
    ----- stderr -----
    error: agent:a was not shown L-205zr7j2; read it in the same run or session before you give feedback
    ");
    let _ = env.run(["show"].into_iter().chain(by_a)).success();
    insta::assert_snapshot!(rate("--helpful"), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    recorded; feedback changes the confidence in the entry and confirms nothing
    ");
    let again = rate("--helpful").success();
    assert!(again.stderr.contains("already recorded"), "{again}");
    let entry = || {
        env.run(["show", id.as_str(), "--format", "json"])
            .success()
            .json()
    };
    let told = serde_json::json!({"2026-01-02": {"alpha_milli": 500, "beta_milli": 0}});
    assert_eq!(entry()["tallies"]["days"], told, "counted once");
    let _ = rate("--unhelpful").success();
    let told = serde_json::json!({"2026-01-02": {"alpha_milli": 500, "beta_milli": 500}});
    assert_eq!(entry()["tallies"]["days"], told);
    assert_eq!(entry()["tallies"]["unhelpful"], 1);
    assert_eq!(entry()["confirmation"]["independent"], 0);
    let log = env.run(["log", id.as_str(), "--all"]).success().stdout;
    assert!(log.contains("rated helpful"), "{log}");
    assert!(log.contains("rated unhelpful"), "{log}");
}

#[test]
fn what_comes_from_a_run_carries_the_thread_of_the_run() {
    let (env, _) = open_review();
    let add = ["add", "Refunds are idempotent", "--cite", "pr:7"];
    let add = add
        .into_iter()
        .chain(["--by", "agent:a", "--run", "review-1"]);
    let id = env.run(add).success().line();
    let shown = env.run(["show", &id]).success().stdout;
    assert!(shown.contains("\nthread     payments\n"), "{shown}");
    let found = "Amounts are integers in cents wherever the ledger adds them up";
    for agent in ["agent:a", "agent:b"] {
        let by = ["--by", agent, "--run", "review-1", "--statement", found];
        let _ = env.run(["run", "observe"].into_iter().chain(by)).success();
    }
    let close = ["run", "close", "review-1", "--outcome", "succeeded"];
    let _ = env.run(close).success();
    let listed = env.run(["list", "--format", "json"]).success().stdout;
    let of_thread = |line: &&str| line.contains(r#""thread":"payments""#);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert_eq!(listed.lines().filter(of_thread).count(), 2, "{listed}");
}

#[test]
fn what_a_failed_run_added_is_kept_and_flagged() {
    for (outcome, is_flagged) in [("failed", true), ("abandoned", true), ("succeeded", false)] {
        let env = folder_with_ledger();
        let _ = env.run(["run", "open", "work", "--agent", "a"]).success();
        let add = [
            "add", CLAIM, "--cite", "pr:1", "--by", "agent:a", "--run", "work",
        ];
        let id = env.run(add).success().line();
        let _ = env
            .run(["run", "close", "work", "--outcome", outcome])
            .success();
        let context = env.run(["search", "--context", CLAIM]).success().stdout;
        assert!(context.contains(&id), "kept: {context}");
        let shown = env.run(["show", &id]).success().stdout;
        for text in [context, shown] {
            assert_eq!(
                text.contains("from a failed run"),
                is_flagged,
                "{outcome}: {text}"
            );
        }
    }
}

#[test]
fn a_conclusion_reaches_the_next_agent_with_its_ids_and_without_the_entry() {
    let (env, id) = open_review();
    let by = |agent: &'static str| ["--by", agent, "--run", "review-1"];
    let says = "Keys make the retry safe, so no lock is needed";
    let note = [
        "run", "note", "--cites", &id, "--says", says, "--to", "agent:b",
    ];
    let _ = env.run(note.into_iter().chain(by("agent:a"))).success();
    let line = format!("agent:a: {says} [{id}]");
    let brief = |agent| env.run(["brief", "bake bread"].into_iter().chain(by(agent)));
    let received = brief("agent:b").success().stdout;
    assert!(
        received.contains(&line) && !received.contains(CLAIM),
        "{received}"
    );
    assert!(
        !brief("agent:c").success().stdout.contains(says),
        "not for it"
    );
    let run = env.run(["run", "show", "review-1"]).success().stdout;
    assert!(
        run.contains(&format!("  concluded  {says} [{id}]")),
        "{run}"
    );
    let run = env.run(["run", "show", "review-1", "--format", "json"]);
    let sent = run.success().json()["conclusions"][0].clone();
    assert_eq!(
        sent,
        serde_json::json!({"from": "agent:a", "to": ["agent:b"], "words": says, "cites": [id]})
    );
}

#[test]
fn a_conclusion_for_everybody_reaches_who_joins_later_and_counts_as_seen() {
    let (env, id) = open_review();
    let by = |agent: &'static str| ["--by", agent, "--run", "review-1"];
    let note = ["run", "note", "--cites", &id, "--says", "Keys make it safe"];
    let _ = env.run(note.into_iter().chain(by("agent:a"))).success();
    let brief = env.run(["brief", "bake bread"].into_iter().chain(by("agent:late")));
    let brief = brief.success().stdout;
    assert!(
        brief.contains(&format!("Keys make it safe [{id}]")),
        "{brief}"
    );
    let run = env.run(["run", "show", "review-1", "--format", "json"]);
    let run = run.success().json();
    let mut agents = run["agents"].as_array().unwrap().iter();
    let late = agents.find(|it| it["agent"] == "agent:late").unwrap();
    assert_eq!(late["saw"], serde_json::json!([id]), "{run}");
}

#[test]
fn only_a_person_resets_and_only_what_is_stuck() {
    let (env, id) = open_review();
    let reset = [
        "health",
        "confidence",
        "reset",
        id.as_str(),
        "--reason",
        "new model",
    ];
    insta::assert_snapshot!(env.run(reset), @"
    exit: 1
    ----- stderr -----
    error: L-205zr7j2 is not stuck: a reset needs 50 observations and a confidence between 0.35 and 0.65
    ");
    let by_agent = reset.into_iter().chain(["--by", "agent:a"]);
    insta::assert_snapshot!(env.run(by_agent), @"
    exit: 1
    ----- stderr -----
    error: resetting confidence requires a person; agent:a is not one

    hint: ask a person to run this command
    ");
}

#[test]
fn the_policy_is_shown_and_set_by_a_person() {
    let env = folder_with_ledger();
    insta::assert_snapshot!(env.run(["run", "policy"]), @"
    exit: 0
    ----- stdout -----
    reviews      10
    chances      18
    blind        on
    rediscovery  observe
    ");
    insta::assert_snapshot!(env.run(["run", "policy", "--reviews", "3", "--blind", "off"]), @"
    exit: 0
    ----- stdout -----
    reviews      3
    chances      18
    blind        off
    rediscovery  observe
    ");
    let json = env.run(["run", "policy", "--rediscovery", "rank", "--format", "json"]);
    let json = json.success().json();
    assert_eq!(
        (&json["rediscovery"], &json["reviews"]),
        (&"rank".into(), &3.into())
    );
    insta::assert_snapshot!(env.run(["run", "policy", "--rediscovery", "always"]), @"
    exit: 2
    ----- stderr -----
    error: invalid value 'always' for '--rediscovery <MODE>'
      [possible values: observe, rank, gate]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(env.run(["run", "policy", "--reset"]), @"
    exit: 0
    ----- stdout -----
    reviews      10
    chances      18
    blind        on
    rediscovery  observe
    ");
    insta::assert_snapshot!(env.run(["run", "policy", "--reviews", "1", "--by", "agent:a"]), @"
    exit: 1
    ----- stderr -----
    error: configuring a workspace requires a person; agent:a is not one

    hint: ask a person to run this command
    ");
    let none = env.run(["run", "policy", "--reviews", "0"]);
    assert_eq!(none.exit, 2);
    assert!(none.stderr.contains("0 is not in 1.."), "{}", none.stderr);
}

#[test]
fn not_enough_runs_is_an_answer() {
    let (env, id) = open_review();
    insta::assert_snapshot!(env.run(["health", "impact"]), @"
    exit: 0
    ----- stdout -----
    all entries
        not enough runs yet (n = 0)
    ----- stderr -----
    hint: hooks measure by themselves once agents work with them (`ken setup`); a program that starts agents opens a run with `ken run open` and briefs them with `ken brief --run RUN`
    ");
    insta::assert_snapshot!(env.run(["health", "impact", id.as_str()]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2  A retried payment is charged once because the request carri…
        not enough runs yet (n = 0)
    ");
}

#[test]
fn a_thread_is_laid_aside_at_once() {
    let env = folder_with_ledger();
    let add = [
        "add", "--kind", "learning", "--cite", "pr:1", "--scope", "thread",
    ];
    let add = add.into_iter().chain(["--thread", "pay"]);
    let _ = env
        .run(add.chain(["--statement", "The bank is down on Sundays"]))
        .success();
    insta::assert_snapshot!(env.run(["archive", "--thread", "pay"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    archived 1 entry of thread pay
    ");
}

#[test]
fn a_run_says_how_many_entries_it_used_and_left() {
    let (env, id) = open_review();
    let as_a = ["--by", "agent:a", "--run", "review-1"];
    let _ = env
        .run(["show", id.as_str()].into_iter().chain(as_a))
        .success();
    let severe = ["run", "observe", "--severity", "9", "--statement"];
    for finding in [
        "The proxy writes cookies to its log",
        "Backups of the till are never tested",
    ] {
        let severe = severe.into_iter().chain([finding]);
        let _ = env.run(severe.chain(as_a)).success();
    }
    let close = ["run", "close", "review-1", "--outcome", "succeeded"];
    let _ = env.run(close).success();
    let past = env
        .run(["run", "list", "--format", "json"])
        .success()
        .json();
    assert_eq!(
        (&past["accessed"], &past["extracted"]),
        (&1.into(), &2.into())
    );
}

#[test]
fn whatever_prints_an_entry_to_an_agent_is_written_down() {
    let env = crate::cli::support::repository_with_ledger();
    crate::cli::support::write_pay_source(&env);
    crate::cli::support::commit_all(&env, "code");
    let add = [
        "add",
        "--by",
        "agent:author",
        "--kind",
        "learning",
        "--cite",
        "pr:1",
    ];
    let add = add
        .into_iter()
        .chain(["--anchor", "src/pay.rs#Ledger::charge"]);
    let id = env.run(add.chain(["--statement", CLAIM])).success().line();
    env.write("src/pay.rs", "pub fn other() {}\n");
    let open = ["run", "open", "r", "--witness", "orchestrator"];
    for (number, command) in [
        vec!["show", &id],
        vec!["log", &id],
        vec!["health", "impact", &id],
        vec!["list"],
        vec!["ledger", "export"],
        vec!["verify"],
        vec!["entry", "reanchor"],
        vec!["search", "--include-stale", "retried payment key"],
    ]
    .into_iter()
    .enumerate()
    {
        let run = format!("r-{number}");
        let open = open
            .into_iter()
            .map(|it| if it == "r" { run.as_str() } else { it });
        let _ = env.run(open.chain(["--agent", "a"])).success();
        let read = command
            .iter()
            .copied()
            .chain(["--by", "agent:a", "--run", &run]);
        let _ = env.run(read);
        let shown = env
            .run(["run", "show", &run, "--format", "json"])
            .success()
            .json();
        let agent = &shown["agents"][0];
        let saw = agent["saw"]
            .as_array()
            .unwrap()
            .contains(&id.as_str().into());
        assert!(
            saw || agent["saw_everything"] == true,
            "{command:?}: {shown}"
        );
    }
}

#[test]
fn closing_the_run_of_another_session_says_so() {
    let env = folder_with_ledger();
    let start = r#"{"session_id":"s1","hook_event_name":"SessionStart"}"#;
    let _ = env.run_with(start, ["hook", "claude-code", "start"]);
    let open = env.run(["run", "list", "--format", "json"]).success();
    assert_eq!(open.stdout.lines().count(), 1, "{open}");
    let close = [
        "run",
        "close",
        "--outcome",
        "succeeded",
        "--by",
        "agent:claude-code",
    ];
    let closed = env.run(close).success();
    assert!(closed.stderr.contains("it belongs to session"), "{closed}");
}

#[test]
fn entries_that_keep_failing_sink_and_stay() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, CLAIM);
    let score = || {
        let found = env.run(["search", CLAIM, "--mean", "--format", "json"]);
        let found = found.success().json();
        found["results"][0]["score"].as_f64().unwrap()
    };
    let before = score();
    for _ in 0..12 {
        let _ = env.run(["run", "open", "work", "--agent", "a"]).success();
        let note = ["run", "note", "work", "--agent", "agent:a", "--used", &id];
        let _ = env.run(note).success();
        let close = [
            "run",
            "close",
            "work",
            "--outcome",
            "failed",
            "--quality",
            "0",
        ];
        let _ = env.run(close).success();
    }
    let found = env.run(["search", CLAIM, "--mean", "--format", "json"]);
    let found = found.success().json();
    let hit = &found["results"][0];
    assert_eq!(hit["id"], id.as_str(), "{found}");
    let parts = hit["signals"]["parts"].as_array().unwrap().iter();
    let thompson = parts.clone().find(|it| it["name"] == "thompson").unwrap();
    let value = thompson["value"].as_f64().unwrap();
    assert!(value < 0.2, "{value}");
    let shown = env.run(["show", "--explain", &id]).success().stdout;
    assert!(shown.contains("confidence    0.18"), "{shown}");
    assert!(score() < before - 0.05, "{} after {before}", score());
}

#[test]
fn a_run_counts_only_if_an_agent_was_shown_the_entry() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, CLAIM);
    let other = add_lesson(&env, "Color themes are read once, when the window opens.");
    let policy = ["run", "policy", "--chances", "0", "--reviews", "2"];
    let _ = env.run(policy).success();
    let archived_after_showing = |shown: &str| {
        let _ = env.run(["run", "open", "work", "--agent", "a"]).success();
        let note = ["run", "note", "work", "--agent", "agent:a", "--saw", shown];
        let _ = env.run(note).success();
        let close = ["run", "close", "work", "--outcome", "succeeded"];
        let _ = env.run(close).success();
        let entry = env.run(["show", &id, "--format", "json"]).success().json();
        entry["archived"]["because"].clone()
    };
    for _ in 0..2 {
        assert_eq!(archived_after_showing(&other), serde_json::Value::Null);
    }
    assert_eq!(archived_after_showing(&id), serde_json::Value::Null);
    assert_eq!(archived_after_showing(&id), "decay");
}

#[test]
fn a_confirmation_starts_the_count_of_silent_runs_anew() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, CLAIM);
    let show = |times: usize| {
        for _ in 0..times {
            let _ = env.run(["run", "open", "work", "--agent", "a"]).success();
            let saw = ["show", &id, "--by", "agent:a", "--run", "work"];
            let _ = env.run(saw).success();
            let close = ["run", "close", "work", "--outcome", "succeeded"];
            let _ = env.run(close).success();
        }
        let entry = env.run(["show", &id, "--format", "json"]).success().json();
        entry["archived"]["because"].clone()
    };
    let strict = ["run", "policy", "--chances", "0"];
    let _ = env.run(strict);
    assert_eq!(show(9), serde_json::Value::Null);
    let _ = env.run(["confirm", &id]).success();
    assert_eq!(show(9), serde_json::Value::Null, "counted anew");
    assert_eq!(show(1), "decay", "the tenth");
    let restored = env.run(["restore", &id]).success();
    assert!(
        restored.stderr.contains(&format!("`ken confirm {id}`")),
        "{restored}"
    );
    let _ = env.run(["run", "policy", "--reviews", "3"]).success();
    let _ = env.run(["confirm", &id]).success();
    assert_eq!(show(2), serde_json::Value::Null);
    assert_eq!(show(1), "decay", "the third, as configured");
}

#[test]
fn the_log_lists_which_agent_was_shown_which_entry() {
    let (env, id) = open_review();
    let as_a = ["--by", "agent:a", "--run", "review-1"];
    let _ = env
        .run(["show", id.as_str()].into_iter().chain(as_a))
        .success();
    let told = env.run(["log", "--shown"]).success().stdout;
    let line = format!("agent:a  {id}  shown on request, run review-1: look at payments");
    assert!(told.contains(&line), "{told}");
    assert_eq!(env.run(["log", &id, "--shown"]).success().stdout, told);
    let json = env
        .run(["log", "--shown", "--format", "json"])
        .success()
        .stdout;
    let object: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(object["schema"], "ken.exposure.v1");
    assert_eq!(object["entry"], id.as_str());
    assert_eq!(
        (&object["decision"], &object["channel"]),
        (&"shown".into(), &"show".into())
    );
    // The notes of the run stay on this machine after it is closed.
    let _ = env
        .run(["run", "close", "review-1", "--outcome", "succeeded"])
        .success();
    let closed = env.run(["log", &id, "--shown"]).success().stdout;
    assert!(closed.contains(&line), "{closed}");
    assert!(
        env.run(["log", "--shown", "--limit", "0"])
            .success()
            .stderr
            .contains("not shown")
    );
    assert_ne!(
        env.run(["log"]).exit,
        0,
        "an entry is required without --shown"
    );
}

#[test]
fn without_runs_no_exposure_is_listed() {
    let env = folder_with_ledger();
    let run = env.run(["log", "--shown"]).success();
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr
            .contains("no exposures are recorded on this machine"),
        "{run}"
    );
}
