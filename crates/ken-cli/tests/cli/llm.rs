//! `ken set_judge`, `ken health duplicates --set_judge` and `ken capture --llm --add`: the effects
//! of valid and invalid answers.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{
    add_lesson, add_norm, folder_with_ledger, repository_with_ledger, write_pay_source,
};

const STATEMENT: &str = "Retry the payment call twice after a network timeout";
const STATEMENT_REPHRASED: &str = "After a network timeout, retry the payment call twice";

/// Configures a script as the judge; it appends its input to `../asked` and prints `answer`.
fn set_judge(env: &TestEnvironment, answer: &str) {
    let folder = env.root().join("..");
    let asked = folder.join("asked");
    let script = format!("cat >> {}\nprintf '%s' '{answer}'\n", asked.display());
    env.write("../judge.sh", &script);
    let path = folder.join("judge.sh").display().to_string();
    let set = [
        "config",
        "llm",
        "set",
        "command",
        "--timeout",
        "20",
        "--",
        "/bin/sh",
    ];
    let _ = env.run(set.into_iter().chain([path.as_str()])).success();
}

fn judge_input(env: &TestEnvironment) -> String {
    std::fs::read_to_string(env.root().join("../asked")).unwrap_or_default()
}

fn show_json(env: &TestEnvironment, id: &str) -> serde_json::Value {
    env.run(["show", id, "--format", "json"]).success().json()
}

fn log_json(env: &TestEnvironment, id: &str) -> String {
    env.run(["log", id, "--format", "json"]).success().stdout
}

#[test]
fn a_judge_is_shown_set_and_tested() {
    let env = folder_with_ledger();
    insta::assert_snapshot!(env.run(["config", "llm"]), @"
    exit: 0
    ----- stdout -----
    llm        none
    ----- stderr -----
    hint: without an LLM, people decide about the pairs of `ken health duplicates`; `ken config llm set --help` shows how to configure one
    ");
    let set = [
        "config", "llm", "set", "command", "--pass", "SOME_KEY", "--",
    ];
    insta::assert_snapshot!(env.run(set.into_iter().chain(["claude", "-p"])), @"
    exit: 0
    ----- stdout -----
    llm        command
    program    claude -p
    variables  PATH, HOME, SOME_KEY
    timeout    120 s
    ");
    let set = [
        "config",
        "llm",
        "set",
        "anthropic",
        "some-model",
        "--key-env",
        "SOME_KEY",
    ];
    insta::assert_snapshot!(env.run(set.into_iter().chain(["--format", "json"])), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.llm.v1","kind":"anthropic","program":null,"pass":null,"url":"https://api.anthropic.com","model":"some-model","key_variable":"SOME_KEY","timeout_seconds":120}
    "#);
    set_judge(&env, r#"{"ready":true}"#);
    let tested = env.run(["config", "llm", "test"]).success();
    assert_eq!(tested.stdout, "the LLM returned a valid answer\n");
    assert!(tested.stderr.contains("estimated; 1 call"), "{tested}");
    set_judge(&env, "I am ready!");
    let tested = env.run(["config", "llm", "test"]);
    assert_eq!(tested.exit, 2, "{tested}");
    assert!(
        tested
            .stderr
            .contains("does not match the schema: it is not valid JSON")
    );
    let _ = env.run(["config", "llm", "set", "none"]).success();
    insta::assert_snapshot!(env.run(["health", "duplicates", "--llm"]), @"
    exit: 2
    ----- stderr -----
    error: no LLM is configured

    hint: configure one, such as `ken config llm set command -- claude -p`
    ");
}

#[test]
fn a_check_never_asks_the_judge() {
    let env = repository_with_ledger();
    set_judge(&env, r#"{"same":true}"#);
    write_pay_source(&env);
    let _ = add_norm(&env, "Use tabs", "src/pay.rs");
    let _ = add_norm(&env, "Use spaces", "src/pay.rs");
    let first = env.run(["verify"]);
    assert_eq!(first.exit, 1, "{first}");
    assert_eq!(env.run(["verify"]).stdout, first.stdout);
    assert_eq!(judge_input(&env), "");
}

#[test]
fn no_file_of_a_repository_names_a_judge() {
    let env = repository_with_ledger();
    let named = "kind = \"command\"\nprogram = [\"/bin/sh\", \"-c\", \"touch hacked\"]\n";
    for path in [
        "llm.toml",
        ".ken/llm.toml",
        ".ken/.local/llm.toml",
        ".git/ken/llm.toml",
        ".config/ken/llm.toml",
    ] {
        env.write(path, named);
    }
    let shown = env
        .run(["config", "llm", "--format", "json"])
        .success()
        .json();
    assert_eq!(shown["kind"], "none");
    assert_eq!(env.run(["health", "duplicates", "--llm"]).exit, 2);
    let refused = env.run(["config", "llm", "set", "command", "--", "tools/judge"]);
    assert_eq!(refused.exit, 2, "{refused}");
    assert!(refused.stderr.contains("an absolute path"), "{refused}");
}

#[test]
fn a_confirmed_pair_is_merged_by_the_judge_with_what_it_selected() {
    let env = folder_with_ledger();
    let by = ["--by", "agent:a"];
    let add = |statement: &str| {
        let add = ["add", "--kind", "learning", "--cite", "commit:3fce3b5"];
        let add = add.into_iter().chain(by).chain(["--statement", statement]);
        env.run(add).success().line()
    };
    let (one, other) = (add(STATEMENT), add(STATEMENT_REPHRASED));
    let words = "Retry a payment twice when the network timed out.";
    set_judge(
        &env,
        &format!(r#"{{"same":true,"keep":"worded","statement":"{words}"}}"#),
    );
    let run = env.run(["health", "duplicates", "--llm"]).success();
    assert!(
        run.stdout
            .starts_with("merged: same claim with probability "),
        "{run}"
    );
    assert!(
        run.stderr.contains("1 pair: 1 merged, 0 dismissed"),
        "{run}"
    );
    assert!(run.stderr.contains("LLM sh: "), "{run}");
    let (one, other) = (show_json(&env, &one), show_json(&env, &other));
    let (into, from) = if one["merged_into"].is_null() {
        (one, other)
    } else {
        (other, one)
    };
    assert_eq!(from["merged_into"], into["id"]);
    assert_eq!(into["content"]["statement"], words);
    let log = log_json(&env, into["id"].as_str().unwrap());
    assert!(log.contains("llm_selected"), "{log}");
    assert!(log.contains("agent:judge/sh"), "{log}");
}

#[test]
fn what_a_person_wrote_keeps_its_words_whatever_the_judge_would_rather_say() {
    let env = folder_with_ledger();
    let one = add_lesson(&env, STATEMENT);
    let add = [
        "add", "--kind", "learning", "--cite", "pr:1", "--by", "agent:a",
    ];
    let add = add.into_iter().chain(["--statement", STATEMENT_REPHRASED]);
    let other = env.run(add).success().line();
    set_judge(
        &env,
        r#"{"same":true,"keep":"worded","statement":"Retry everything twice."}"#,
    );
    let _ = env.run(["health", "duplicates", "--llm"]).success();
    assert_eq!(show_json(&env, &other)["merged_into"], one.as_str());
    assert_eq!(show_json(&env, &one)["content"]["statement"], STATEMENT);
}

#[test]
fn the_health_report_asks_no_judge_and_says_the_same_again() {
    let env = folder_with_ledger();
    for statement in [STATEMENT, STATEMENT_REPHRASED] {
        let add = [
            "add", "--kind", "learning", "--cite", "pr:1", "--tag", "pay",
        ];
        let add = add.into_iter().chain(["--statement", statement]);
        let _ = env.run(add).success();
    }
    set_judge(&env, r#"{"same":false,"keep":null,"statement":null}"#);
    let report = || {
        let report = env.run(["health", "report", "--format", "json"]);
        let mut report = report.success().json();
        report["at"] = serde_json::Value::Null;
        report
    };
    let first = report();
    assert_eq!(first["insights"][0]["rule"], "merge_opportunity");
    assert_eq!(report(), first);
    let _ = env.run(["health", "review"]).success();
    let _ = env.run(["run", "open", "work"]).success();
    let _ = env.run(["brief", "payments"]).success();
    assert_eq!(judge_input(&env), "");
}

#[test]
fn a_denied_pair_is_dismissed_for_good() {
    let env = folder_with_ledger();
    let (one, other) = (
        add_lesson(&env, STATEMENT),
        add_lesson(&env, STATEMENT_REPHRASED),
    );
    set_judge(&env, r#"{"same":false,"keep":null,"statement":null}"#);
    let run = env.run(["health", "duplicates", "--llm"]).success();
    assert!(run.stdout.starts_with("dismissed: "), "{run}");
    assert_eq!(
        show_json(&env, &one)["merged_into"],
        serde_json::Value::Null
    );
    assert!(log_json(&env, &other).contains("pair.dismissed"));
    let again = env.run(["health", "duplicates", "--llm"]).success();
    assert!(again.stderr.contains("0 pairs"), "{again}");
    assert_eq!(judge_input(&env).matches("ken.llm.question.v1").count(), 1);
}

#[test]
fn an_answer_that_does_not_fit_changes_nothing_and_is_counted() {
    let env = folder_with_ledger();
    let ids = [
        add_lesson(&env, STATEMENT),
        add_lesson(&env, STATEMENT_REPHRASED),
    ];
    let before: Vec<String> = ids.iter().map(|id| log_json(&env, id)).collect();
    for answer in [
        "yes",
        r#"{"same":true}"#,
        r#"{"same":true,"keep":"worded","statement":"A. B. C. D."}"#,
        r#"{"same":true,"keep":"first","by":"human:ada"}"#,
    ] {
        set_judge(&env, answer);
        let run = env.run(["health", "duplicates", "--llm"]);
        assert_eq!(run.exit, 1, "{run}");
        assert!(run.stdout.starts_with("no answer: "), "{run}");
        assert!(run.stderr.contains("1 without an answer"), "{run}");
    }
    // The guard refuses a statement that contains a secret.
    set_judge(
        &env,
        r#"{"same":true,"keep":"worded","statement":"Use postgres://a:hunter2x@db.corp.io/x."}"#,
    );
    let add = [
        "add", "--kind", "learning", "--cite", "pr:1", "--by", "agent:a",
    ];
    let add = |text| add.into_iter().chain(["--statement", text]);
    let plain = "Close the pool in the shutdown hook before the process ends";
    let reworded = "Before the process ends, close the pool in the shutdown hook";
    let _ = env.run(add(plain)).success();
    let _ = env.run(add(reworded)).success();
    let dismiss = ["health", "duplicates", "--dismiss", &ids[0], &ids[1]];
    let _ = env.run(dismiss).success();
    let before_secret = env.run(["list", "--format", "json"]).success().stdout;
    let run = env.run(["health", "duplicates", "--llm"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("1 refused"), "{run}");
    assert_eq!(
        env.run(["list", "--format", "json"]).success().stdout,
        before_secret
    );
    let after: Vec<String> = ids.iter().map(|id| log_json(&env, id)).collect();
    assert!(after[0].contains(before[0].trim_end()), "{}", after[0]);
}

#[test]
fn a_judge_that_is_gone_is_not_asked_about_everything() {
    let env = folder_with_ledger();
    for number in 0..5 {
        let place = ["east", "west", "north", "south", "middle"][number];
        add_lesson(
            &env,
            &format!("The {place} gateway drops idle sockets after a minute"),
        );
    }
    set_judge(&env, "");
    let run = env.run(["health", "duplicates", "--llm"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("3 calls in a row"), "{run}");
    assert_eq!(judge_input(&env).matches("ken.llm.question.v1").count(), 3);
}

#[test]
fn norms_and_what_looks_like_opposites_are_left_to_people() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let norms = [
        add_norm(&env, STATEMENT, "src/pay.rs#refund"),
        add_norm(&env, STATEMENT_REPHRASED, "src/pay.rs#refund"),
    ];
    set_judge(&env, r#"{"same":true,"keep":"first","statement":null}"#);
    let run = env.run(["health", "duplicates", "--llm"]).success();
    assert!(run.stdout.starts_with("left to a person: "), "{run}");
    assert_eq!(judge_input(&env), "");
    assert!(show_json(&env, &norms[0])["merged_into"].is_null());
    assert!(show_json(&env, &norms[1])["merged_into"].is_null());
    let one = add_lesson(&env, "Use `unwrap` in tests of the parser");
    let opposite = add_lesson(&env, "Avoid `unwrap` in tests of the parser");
    let run = env.run(["health", "duplicates", "--llm"]).success();
    assert!(run.stdout.contains("may be opposites"), "{run}");
    assert!(show_json(&env, &one)["merged_into"].is_null());
    assert!(show_json(&env, &opposite)["merged_into"].is_null());
}

#[test]
fn what_is_equal_word_for_word_is_merged_unasked_and_opposites_are_not() {
    let env = folder_with_ledger();
    let one = add_lesson(&env, STATEMENT);
    let same = add_lesson(
        &env,
        "retry the payment call twice, after a network timeout.",
    );
    let _ = add_lesson(&env, STATEMENT_REPHRASED);
    let _ = add_lesson(
        &env,
        "Never retry the payment call twice after a network timeout",
    );
    let run = env.run(["health", "duplicates", "--merge"]).success();
    assert!(run.stdout.starts_with("merged: same claim\n"), "{run}");
    assert!(run.stderr.contains("1 pair merged"), "{run}");
    let merged = [show_json(&env, &one), show_json(&env, &same)];
    let gone = merged.iter().filter(|it| !it["merged_into"].is_null());
    assert_eq!(gone.count(), 1);
    let listed = env.run(["health", "duplicates", "--limit", "1"]).success();
    assert!(listed.stderr.contains("1 of 3 pairs"), "{listed}");
}

#[test]
fn a_transcript_gives_candidates_that_cite_it_and_nothing_it_does_not_say() {
    let env = folder_with_ledger();
    add_lesson(&env, "Color themes are read once, when the window opens");
    let transcript = "agent: the pool leaks unless close is called in the hook\n\
        agent: db is postgres://a:hunter2x@db.corp.io/x\n\
        agent: Color themes are read once, when the window opens\n";
    env.write("../transcript.txt", transcript);
    let claims = r#"{"claims":[
      {"kind":"bug","statement":"Close the pool in the hook, or it leaks.","quote":"the pool leaks unless close is called"},
      {"kind":"learning","statement":"Color themes are read once, when the window opens","quote":"Color themes are read once"},
      {"kind":"decision","statement":"Everything is rewritten in Rust.","quote":"rewrite it in Rust, they said"}]}"#;
    set_judge(&env, claims);
    let dry = env.run([
        "capture",
        "--llm",
        "--add",
        "../transcript.txt",
        "--dry-run",
    ]);
    assert!(
        dry.stdout.starts_with("proposed  bug  Close the pool"),
        "{dry}"
    );
    let run = env
        .run(["capture", "--llm", "--add", "../transcript.txt"])
        .success();
    assert!(
        run.stderr
            .contains("1 candidate added, 1 already known, 1 left out"),
        "{run}"
    );
    assert!(!judge_input(&env).contains("hunter2x"));
    assert!(judge_input(&env).contains("[REDACTED:"));
    let id = run.stdout.split_whitespace().nth(1).unwrap().to_owned();
    let entry = show_json(&env, &id);
    assert_eq!(entry["status"]["value"], "candidate");
    let cited = entry["citations"][0].clone();
    assert_eq!(cited["evidence_type"], "transcript");
    assert_eq!(cited["cited_by"], "agent:judge/sh");
    // A second run finds nothing new.
    let again = env
        .run(["capture", "--llm", "--add", "../transcript.txt"])
        .success();
    assert!(
        again.stderr.contains("0 candidates added, 2 already known"),
        "{again}"
    );
    set_judge(&env, "Here are the claims: none");
    let silent = env.run(["capture", "--llm", "--add", "../transcript.txt"]);
    assert_eq!(silent.exit, 1, "{silent}");
    assert!(silent.stderr.contains("1 part without an answer"));
    let nothing = env.run(["capture", "--llm", "--add", "../no-such-file"]);
    assert_eq!(nothing.exit, 2, "{nothing}");
}
