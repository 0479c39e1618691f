//! `ken health maintain`, `ken entry distill` and `ken capture`: maintenance of the ledger and
//! capturing of entries.

use ken_testkit::test_env::TestEnvironment;
use serde_json::Value;

use crate::cli::support::{
    add_lesson, folder_with_ledger, repository_with_ledger, write_pay_source,
};

const STATEMENT: &str = "A retried payment is charged once because the request carries its key";

fn run_json(env: &TestEnvironment, args: &[&str]) -> Value {
    let args = args.iter().copied().chain(["--format", "json"]);
    env.run(args).success().json()
}

/// Returns true if a service is due.
fn is_due(env: &TestEnvironment, service: &str) -> bool {
    let listed = run_json(env, &["health", "maintain"]);
    let services = listed["services"].as_array().expect("a list").iter();
    let mut found = services.filter(|it| it["service"] == service);
    found.next().expect("a service")["due"] == true
}

/// Adds two entries that are certain duplicates.
fn add_duplicates(env: &TestEnvironment) -> [String; 2] {
    [
        add_lesson(env, STATEMENT),
        add_lesson(env, &format!("{STATEMENT}.")),
    ]
}

fn run_successfully(env: &TestEnvironment) -> ken_testkit::test_env::CommandRun {
    let _ = env.run(["run", "open", "work"]).success();
    let close = ["run", "close", "work", "--outcome", "succeeded"];
    env.run(close).success()
}

#[test]
fn a_service_is_due_once_something_changed_and_a_day_has_passed() {
    let env = folder_with_ledger();
    let _ = add_duplicates(&env);
    assert!(is_due(&env, "dedup") && is_due(&env, "stale_sweep"));
    assert!(!is_due(&env, "confidence_reset"), "only by hand");
    let _ = env.run(["health", "maintain", "dedup"]).success();
    assert!(!is_due(&env, "dedup"));
    let _ = add_lesson(&env, "Refunds are idempotent");
    assert!(!is_due(&env, "dedup"), "no day has passed");
    env.wait_days(1);
    assert!(is_due(&env, "dedup"));
    let _ = env.run(["health", "maintain", "dedup"]).success();
    env.wait_days(2);
    assert!(!is_due(&env, "dedup"), "nothing changed since");
}

#[test]
fn three_services_run_once_per_day_if_something_changed() {
    let env = folder_with_ledger();
    let _ = add_lesson(&env, "Refunds are idempotent");
    let policy = ["health", "maintain", "policy", "--mode", "autonomous"];
    let _ = env.run(policy).success();
    let last = || {
        let listed = run_json(&env, &["health", "maintain"]);
        let of = |service: &str| {
            let services = listed["services"].as_array().expect("a list");
            let found = services.iter().find(|it| it["service"] == service);
            found.expect("a service")["last"].clone()
        };
        ["dedup", "stale_sweep", "contradiction"].map(of)
    };
    let open = |name: &str| env.run(["run", "open", name]).success();
    assert_eq!(last(), [Value::Null, Value::Null, Value::Null]);
    let _ = open("first");
    let first = last();
    assert!(first.iter().all(Value::is_string), "{first:?}");
    // On the same day, and on the next one without a change, nothing runs.
    let _ = add_lesson(&env, "Charges are idempotent");
    let _ = open("second");
    assert_eq!(last(), first);
    env.wait_days(1);
    let _ = open("third");
    let third = last();
    assert!(
        third.iter().zip(&first).all(|(now, then)| now != then),
        "{third:?}"
    );
    env.wait_days(1);
    let _ = open("fourth");
    assert_eq!(last(), third);
    // The end of a run asks, too.
    let _ = add_lesson(&env, "Payouts are paid weekly");
    let close = ["run", "close", "fourth", "--outcome", "succeeded"];
    let _ = env.run(close).success();
    let closed = last();
    assert!(
        closed.iter().zip(&third).all(|(now, then)| now != then),
        "{closed:?}"
    );
}

#[test]
fn dedup_merges_what_is_sure_and_lists_the_rest() {
    let env = folder_with_ledger();
    let [one, other] = add_duplicates(&env);
    insta::assert_snapshot!(env.run(["health", "maintain"]), @"
    exit: 0
    ----- stdout -----
    SERVICE           DUE  LAST   RUNS             PURPOSE
    dedup             due  never  on request       Merge duplicate entries
    stale_sweep       due  never  on request       Mark entries stale that are unused or do not answer…
    contradiction     due  never  on request       Find entries that contradict each other
    confidence_reset  -    never  on request only  Reset the confidence of entries that are stuck
    forage            -    never  on request       Look for documentation about gaps
    ----- stderr -----
    policy suggest: nothing runs automatically
    hint: `ken health maintain dedup` runs the service that is due
    ");
    insta::assert_snapshot!(env.run(["health", "maintain", "service:consolidation:dedup"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2 merged L-h9xr3ac9 into it
        see: ken log L-h9xr3ac9
    ----- stderr -----
    [maintenance:dedup] Merge duplicate entries: changed 1 entry, left 0 to a person
    ");
    let [kept, merged] = [one, other];
    assert_eq!(
        run_json(&env, &["show", &merged])["merged_into"],
        kept.as_str()
    );
    let again = run_json(&env, &["health", "maintain", "dedup"]);
    assert_eq!(again["changed"], serde_json::json!([]));
    assert_eq!(
        again["run"],
        Value::Null,
        "nothing was done, so nothing is told"
    );
}

#[test]
fn a_merge_keeps_the_much_longer_wording_and_all_tags_and_rejects_nothing() {
    let env = folder_with_ledger();
    let add = |statement: &str, tags: [&str; 2]| {
        let args = ["add", "--kind", "learning", "--cite", "pr:1"];
        let args = args.into_iter().chain(["--statement", statement]);
        let args = args.chain(["--tag", tags[0], "--tag", tags[1]]);
        env.run(args).success().line()
    };
    // 28 and 35 characters, and 29 and 31.
    let short = add("Retry the payment call twice", ["pay", "retry"]);
    let long = add("Retry (the) payment call: twice!!!!", ["auth", "pay"]);
    let first = add("Amounts are integers in cents", ["cents", "money"]);
    let again = add("Amounts are integers, in cents!", ["money", "sums"]);
    let _ = env.run(["health", "maintain", "dedup"]).success();
    for (target, source, strategy, statement, tags) in [
        (
            short,
            long,
            "keep_longer",
            "Retry (the) payment call: twice!!!!",
            ["auth", "pay", "retry"],
        ),
        (
            first,
            again,
            "keep_target",
            "Amounts are integers in cents",
            ["cents", "money", "sums"],
        ),
    ] {
        let kept = run_json(&env, &["show", &target]);
        assert_eq!(kept["content"]["statement"], statement);
        assert_eq!(kept["content"]["tags"], serde_json::json!(tags));
        let merged = run_json(&env, &["show", &source]);
        assert_eq!(merged["merged_into"], target.as_str());
        assert_eq!(merged["status"]["value"], "candidate", "not rejected");
        let log = env.run(["log", &source, "--format", "json"]).success();
        let wanted = ["\"type\":\"entry.merged\"", strategy];
        assert!(wanted.iter().all(|it| log.stdout.contains(it)), "{log}");
        assert!(!log.stdout.contains("rejected"), "{log}");
    }
}

#[test]
fn what_a_service_changed_is_a_run_whose_outcome_feeds_confidence() {
    let env = folder_with_ledger();
    let [one, _] = add_duplicates(&env);
    let served = run_json(&env, &["health", "maintain", "dedup"]);
    assert!(
        served["task"]
            .as_str()
            .unwrap()
            .starts_with("[maintenance:dedup] ")
    );
    let run = served["run"].as_str().unwrap();
    let runs = env
        .run(["run", "list", "--format", "json"])
        .success()
        .stdout;
    let closed = runs.lines().find(|it| it.contains(run)).unwrap();
    assert!(
        closed.contains(r#""strategy":"maintenance/dedup""#),
        "{closed}"
    );
    let kept = served["changed"][0]["entry"].as_str().unwrap();
    assert_eq!(kept, one, "the older one stays");
    let days = run_json(&env, &["show", kept])["tallies"]["days"].clone();
    let told = serde_json::json!({"2026-01-02": {"alpha_milli": 1000, "beta_milli": 0}});
    assert_eq!(days, told);
}

#[test]
fn an_entry_that_does_not_answer_five_questions_is_swept() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Color themes are read once, when the window opens.");
    let animals = ["giraffe", "walrus", "heron", "beetle", "otter"];
    for (number, animal) in animals.iter().enumerate() {
        let swept = run_json(&env, &["health", "maintain", "stale_sweep"]);
        assert_eq!(swept["changed"], serde_json::json!([]), "{number} misses");
        let query = format!("does a {animal} ever drink from its window of the lake");
        let found = env.run(["search", &query, "--by", "agent:codex"]).success();
        assert!(
            found.stdout.contains("no relevant entries found"),
            "{found}"
        );
    }
    let swept = env
        .run(["health", "maintain", "stale_sweep"])
        .success()
        .stdout;
    let why = "stale: 5 times it was the top hit without an answer, or marked as unhelpful";
    assert!(swept.contains(&format!("{id} {why}")), "{swept}");
}

#[test]
fn the_stale_sweep_marks_what_nobody_asked_for() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let silent = add_lesson(&env, "Charging twice is safe");
    let anchored = [
        "add",
        "--kind",
        "learning",
        "--cite",
        "pr:1",
        "--anchor",
        "src/pay.rs#refund",
    ];
    let statement = ["--statement", "A refund empties the ledger"];
    let anchored = env
        .run(anchored.into_iter().chain(statement))
        .success()
        .line();
    env.wait_days(90);
    assert_eq!(
        run_json(&env, &["health", "maintain", "stale_sweep"])["changed"],
        serde_json::json!([])
    );
    env.wait_days(1);
    let service = "service:consolidation:stale_sweep";
    let sweep = env.run(["health", "maintain", service]).success();
    assert!(
        sweep
            .stdout
            .contains(&format!("{silent} stale: it was not used for 91 days")),
        "{sweep}"
    );
    assert!(
        sweep
            .stdout
            .contains(&format!("see: ken entry status {silent} candidate")),
        "{sweep}"
    );
    assert_eq!(
        run_json(&env, &["show", &silent])["status"]["value"],
        "stale"
    );
    assert_eq!(
        run_json(&env, &["show", &anchored])["status"]["value"],
        "candidate",
        "the code bears it out"
    );
}

#[test]
fn the_contradiction_service_lists_any_entries_that_are_contrary() {
    let env = folder_with_ledger();
    let sides = [
        ("positive", "Retry at once"),
        ("negative", "Never retry at once"),
    ];
    for (polarity, statement) in sides {
        let add = [
            "add", "--kind", "learning", "--cite", "pr:1", "--tag", "pay",
        ];
        let rest = ["--polarity", polarity, "--statement", statement];
        let _ = env.run(add.into_iter().chain(rest)).success();
    }
    let service = "service:consolidation:contradiction";
    let served = run_json(&env, &["health", "maintain", service]);
    let what = served["left"][0]["what"].as_str().unwrap();
    assert!(what.starts_with("contradict each other ("), "{what}");
    let command = served["left"][0]["command"].as_str().unwrap();
    let words = || command.split(' ').skip(1);
    let choices = env.run(words());
    assert_eq!(choices.exit, 1, "{choices}");
    assert!(choices.stderr.contains("--both"), "{choices}");
    let _ = env.run(words().chain(["--both"])).success();
    let served = run_json(&env, &["health", "maintain", "contradiction"]);
    assert_eq!(served["left"], serde_json::json!([]));
}

#[test]
fn opposites_are_never_proposed_for_a_merge() {
    let env = folder_with_ledger();
    for verb in ["Always", "Never"] {
        let statement = format!("{verb} use tabs for indentation in this project");
        let _ = add_lesson(&env, &statement);
    }
    let served = run_json(&env, &["health", "maintain", "dedup"]);
    assert_eq!(served["left"][0]["what"], "may be opposites", "{served}");
    assert_eq!(served["left"][0]["command"], "ken health duplicates");
    assert_eq!(served["left"].as_array().map(Vec::len), Some(1));
}

#[test]
fn confidence_is_reset_by_hand_and_by_people_only() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    for outcome in ["succeeded", "failed"] {
        for _ in 0..26 {
            let _ = env.run(["run", "open", "work", "--agent", "a"]).success();
            let note = ["run", "note", "work", "--agent", "agent:a", "--used", &id];
            let _ = env.run(note).success();
            let close = ["run", "close", "work", "--outcome", outcome];
            let _ = env.run(close).success();
        }
    }
    let agent = env.run(["health", "maintain", "confidence_reset", "--by", "agent:x"]);
    assert_eq!(agent.exit, 1, "{agent}");
    assert!(agent.stderr.contains("requires a person"), "{agent}");
    let explained = || env.run(["show", "--explain", &id]).success().stdout;
    let stuck = explained();
    assert!(stuck.contains("0.50 after 52 observations"), "{stuck}");
    let service = "service:consolidation:confidence_reset";
    let served = run_json(&env, &["health", "maintain", service]);
    assert_eq!(served["changed"][0]["entry"], id.as_str());
    let shown = env.run(["show", "--explain", &id]).success();
    let prior = "confidence    0.50 after 0 observations (prior)";
    assert!(shown.stdout.contains(prior), "{shown}");
    let reset = explained();
    assert!(
        reset.contains("0.50 after 0 observations (prior)"),
        "{reset}"
    );
    let again = run_json(&env, &["health", "maintain", "confidence_reset"]);
    assert_eq!(again["changed"], serde_json::json!([]));
}

#[test]
fn by_default_nothing_happens_unasked() {
    let env = folder_with_ledger();
    let [one, other] = add_duplicates(&env);
    let closed = run_successfully(&env);
    assert!(!closed.stderr.contains("maintenance"), "{closed}");
    for id in [one, other] {
        assert_eq!(run_json(&env, &["show", &id])["merged_into"], Value::Null);
    }
    assert!(is_due(&env, "dedup"));
}

#[test]
fn auto_notify_does_what_is_listed_and_tells() {
    let env = folder_with_ledger();
    let _ = add_duplicates(&env);
    let stale = add_lesson(&env, "Refunds are idempotent");
    let policy = [
        "health",
        "maintain",
        "policy",
        "--mode",
        "auto_notify",
        "--auto",
        "dedup",
    ];
    insta::assert_snapshot!(env.run(policy), @"
    exit: 0
    ----- stdout -----
    mode                      auto_notify
    auto_actions              dedup
    daily_maintenance_budget  50
    max_maintenance_colonies  3
    ");
    env.wait_days(91);
    let opened = env.run(["run", "open", "work"]).success();
    assert!(opened.stderr.contains("[maintenance:dedup]"), "{opened}");
    assert!(
        !opened.stderr.contains("[maintenance:stale_sweep]"),
        "{opened}"
    );
    assert_eq!(
        run_json(&env, &["show", &stale])["status"]["value"],
        "candidate"
    );
    assert_eq!(env.run(["health", "duplicates"]).success().stdout, "");
}

#[test]
fn autonomy_ends_where_the_budget_does() {
    let env = folder_with_ledger();
    for name in ["Refunds", "Charges", "Invoices"] {
        let _ = add_lesson(&env, &format!("{name} are idempotent"));
    }
    let policy = [
        "health",
        "maintain",
        "policy",
        "--mode",
        "autonomous",
        "--budget",
        "2",
    ];
    let _ = env.run(policy).success();
    env.wait_days(91);
    let opened = env.run(["run", "open", "work"]).success();
    let swept =
        "[maintenance:stale_sweep] Mark entries stale that are unused or do not answer queries";
    assert!(
        opened
            .stderr
            .contains(&format!("{swept}: 2 entries changed")),
        "{opened}"
    );
    let spent = &run_json(&env, &["health", "maintain"])["spent"];
    assert_eq!(*spent, serde_json::json!({"changes": 2, "runs": 1}));
    // The next day has a new budget.
    env.wait_days(1);
    let _ = add_lesson(&env, "Something changed");
    let opened = env.run(["run", "open", "more"]).success();
    assert!(
        opened.stderr.contains(&format!("{swept}: 1 entry changed")),
        "{opened}"
    );
}

#[test]
fn no_more_services_run_within_a_day_than_the_policy_allows() {
    let env = folder_with_ledger();
    let _ = add_duplicates(&env);
    let unused = add_lesson(&env, "Refunds are idempotent");
    let policy = [
        "health",
        "maintain",
        "policy",
        "--mode",
        "autonomous",
        "--max-runs",
        "1",
    ];
    let _ = env.run(policy).success();
    env.wait_days(91);
    let opened = env.run(["run", "open", "work"]).success();
    assert!(opened.stderr.contains("[maintenance:dedup]"), "{opened}");
    let status = || run_json(&env, &["show", &unused])["status"]["value"].clone();
    assert_eq!(status(), "candidate", "one run is all the policy allows");
    assert!(is_due(&env, "stale_sweep"));
    env.wait_days(1);
    let _ = env.run(["run", "open", "more"]).success();
    assert_eq!(status(), "stale");
}

#[test]
fn policies_are_events_and_survive_a_new_index() {
    let env = folder_with_ledger();
    let maintenance = ["health", "maintain", "policy"];
    let runs = ["run", "policy"];
    let _ = env
        .run(maintenance.into_iter().chain(["--max-runs", "1"]))
        .success();
    let _ = env
        .run(runs.into_iter().chain(["--reviews", "3"]))
        .success();
    let lines = ["semantic", "procedural", "episodic"].map(|memory| {
        let folder = format!(".ken/{memory}/v1");
        let read = |name: &String| env.read(&format!("{folder}/{name}"));
        env.names(&folder).iter().map(read).collect::<String>()
    });
    let lines = lines.concat();
    let events: Vec<Value> = lines
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    for key in ["maintenance", "review"] {
        let is_set =
            |it: &&Value| it["type"] == "config.changed" && it["data"]["body"]["key"] == key;
        assert_eq!(events.iter().filter(is_set).count(), 1, "{key}: {lines}");
    }
    std::fs::remove_dir_all(env.root().join(".ken/.index")).unwrap();
    assert_eq!(run_json(&env, &maintenance)["max_maintenance_colonies"], 1);
    assert_eq!(run_json(&env, &runs)["reviews"], 3);
}

#[test]
fn only_people_set_the_policy() {
    let env = folder_with_ledger();
    let set = [
        "health",
        "maintain",
        "policy",
        "--mode",
        "autonomous",
        "--by",
        "agent:x",
    ];
    let refused = env.run(set);
    assert_eq!(refused.exit, 1, "{refused}");
    insta::assert_snapshot!(env.run(["health", "maintain", "policy"]), @"
    exit: 0
    ----- stdout -----
    mode                      suggest
    auto_actions              none
    daily_maintenance_budget  50
    max_maintenance_colonies  3
    ");
    let _ = env
        .run(["health", "maintain", "policy", "--max-runs", "1"])
        .success();
    let set = run_json(&env, &["health", "maintain", "policy"]);
    assert_eq!(set["max_maintenance_colonies"], 1);
    let reset = run_json(&env, &["health", "maintain", "policy", "--reset"]);
    assert_eq!(reset["max_maintenance_colonies"], 3);
}

#[test]
fn an_agent_distills_what_is_used_together_once_the_policy_allows_it() {
    let env = folder_with_ledger();
    let topics = ["locks", "keys", "amounts", "refunds", "receipts"];
    let ids = topics.map(|it| add_lesson(&env, &format!("The ledger of payments keeps its {it}")));
    let work = |outcome: &str, entries: &[String]| {
        let _ = env.run(["run", "open", "work", "--agent", "a"]).success();
        let note = ["run", "note", "work", "--agent", "agent:a"].into_iter();
        let used = entries.iter().flat_map(|id| ["--used", id.as_str()]);
        let _ = env.run(note.chain(used)).success();
        let close = ["run", "close", "work", "--outcome", outcome];
        let _ = env.run(close).success();
    };
    let together = |id: &str| run_json(&env, &["show", id])["tallies"]["together"].clone();
    work("failed", &ids[..2]);
    assert_eq!(together(&ids[0]), Value::Null);
    for weight in [1000, 1050] {
        work("succeeded", &ids);
        for id in &ids {
            let partners = together(id);
            assert_eq!(partners.as_object().unwrap().len(), 4, "{partners}");
            for other in ids.iter().filter(|it| *it != id) {
                let partner = &partners[other.as_str()];
                assert_eq!(partner["weight_milli"], weight, "{id} {other}");
            }
        }
    }
    let query = ["search", "ledger of payments", "--mean"];
    let found = run_json(&env, &query);
    let parts = found["results"][0]["signals"]["parts"].as_array().unwrap();
    let boost = parts
        .iter()
        .find(|it| it["name"] == "cooccurrence")
        .unwrap();
    assert_eq!(boost["weight"], 0.05);
    assert!(boost["adds"].as_f64().unwrap() > 0.02, "{boost}");
    // 1.05 to the power of 23 is more than three.
    for _ in 2..24 {
        work("succeeded", &ids);
    }
    let mut sorted = ids.to_vec();
    sorted.sort();
    let weight = || {
        let groups = run_json(&env, &["entry", "distill"])["candidates"].clone();
        assert_eq!(groups.as_array().unwrap().len(), 1, "{groups}");
        assert_eq!(groups[0]["entries"], serde_json::json!(sorted));
        groups[0]["weight"].as_f64().unwrap()
    };
    assert!((weight() - 3.073).abs() < 1e-9);
    let drift = run_json(&env, &["health", "drift"]);
    assert_eq!(
        drift["distillable"][0]["entries"],
        serde_json::json!(sorted)
    );
    env.wait_days(1);
    assert!((weight() - 3.073 * 0.995).abs() < 1e-9);

    let distill = ["entry", "distill", "--statement", "Payments keep it all"];
    let distill = distill.into_iter().chain(["--sources"]);
    let distill = distill.chain(ids.iter().map(String::as_str));
    let by_agent = distill.chain(["--by", "agent:x", "--format", "json"]);
    let allow = ["health", "maintain", "policy", "--auto", "distillation"];
    assert_eq!(env.run(by_agent.clone()).exit, 1, "nobody allowed it");
    let _ = env.run(allow).success();
    assert_eq!(env.run(by_agent.clone()).exit, 1, "the mode only suggests");
    let allow = allow.into_iter().chain(["--mode", "auto_notify"]);
    let _ = env.run(allow).success();
    let made = env.run(by_agent).success().json();
    assert_eq!(made["content"]["decay"], "stable");
    // With the five of the prior, alpha is thirty.
    let evidence = made["tallies"]["days"].as_object().unwrap();
    let alpha: Vec<&Value> = evidence.values().map(|it| &it["alpha_milli"]).collect();
    assert_eq!(alpha, [25_000]);
}

#[test]
fn a_person_distills_by_command_and_an_agent_needs_leave() {
    let env = folder_with_ledger();
    let one = add_lesson(&env, "Charges carry a key");
    let other = add_lesson(&env, "Refunds carry a key");
    insta::assert_snapshot!(env.run(["entry", "distill"]), @"
    exit: 0
    ----- stderr -----
    no entries are used together often enough to distill them
    ");
    let distill = [
        "entry",
        "distill",
        "--sources",
        &one,
        &other,
        "--statement",
        "Every request about money carries a key",
    ];
    let refused = env.run(distill.into_iter().chain(["--by", "agent:x"]));
    assert_eq!(refused.exit, 1, "{refused}");
    let made = env
        .run(distill.into_iter().chain(["--format", "json"]))
        .success()
        .json();
    assert_eq!(made["content"]["decay"], "stable");
    let id = made["id"].as_str().unwrap();
    let log = env.run(["log", id]).success().stdout;
    assert!(log.contains(&one) && log.contains(&other), "{log}");
    assert_eq!(
        run_json(&env, &["show", &one])["status"]["value"],
        "candidate"
    );
}

#[test]
fn a_solved_problem_becomes_one_sound_entry() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let capture = [
        "capture",
        "--problem",
        "Retried payments were charged twice",
        "--solution",
        "Send the request's key with every retry",
        "--cite",
        "commit:3fce3b5",
        "--anchor",
        "src/pay.rs#refund",
        "--tag",
        "payments",
    ];
    insta::assert_snapshot!(env.run(capture), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    captured as candidate: .ken/entries/L-205zr7j2-retried-payments-were-charged-twice-send.md
    ");
    let known = env.run(capture);
    assert_eq!(known.exit, 1, "{known}");
    assert!(known.stderr.contains("makes the same claim"), "{known}");
    let compound = [
        "knowledge",
        "compound",
        "--problem",
        "The import stopped at a quote",
        "--solution",
        "Fields are read with the csv crate",
    ];
    let made = env.run(compound.into_iter().chain(["--cite", "pr:7"]));
    assert!(made.success().stdout.starts_with("L-"));
    let bare = [
        "capture",
        "--problem",
        "It broke",
        "--solution",
        "It was mended",
    ];
    assert_eq!(env.run(bare).exit, 2, "evidence is needed");
    let other = bare
        .into_iter()
        .chain(["--evidence", "pr:9", "--kind", "bug", "--format", "json"]);
    let entry = env.run(other).success().json();
    assert_eq!(entry["kind"], "bug");
    assert_eq!(entry["content"]["statement"], "It broke. It was mended.");
}

#[test]
fn friction_goes_to_the_ledger_of_the_episodic_memory_with_its_context() {
    let env = folder_with_ledger();
    let context = r#"{"tool":"cargo","code":101}"#;
    let record = [
        "health",
        "friction",
        "record",
        "--type",
        "tool_error",
        "--context",
        context,
    ];
    let _ = env.run(record).success();
    let name = env.names(".ken/episodic/v1").remove(0);
    let line: Value = serde_json::from_str(&env.read(&format!(".ken/episodic/v1/{name}"))).unwrap();
    assert_eq!(line["type"], "entry.proposed");
    let kept = &line["data"]["body"]["content"]["detail"]["context"];
    assert_eq!(*kept, serde_json::json!({"tool": "cargo", "code": 101}));
}
