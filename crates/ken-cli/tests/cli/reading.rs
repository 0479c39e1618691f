//! `ken list` and `ken show`.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{
    PAY_SOURCE, add_lesson, add_norm, commit_all, folder_with_ledger, repository_with_ledger,
    write_pay_source,
};

fn ledger_with_entries() -> TestEnvironment {
    let env = folder_with_ledger();
    let add = |args: &[&str]| {
        let _ = env
            .run(["add"].iter().chain(args).chain(&["--cite", "pr:1"]))
            .success();
    };
    add(&[
        "--kind",
        "learning",
        "--statement",
        "Charging twice is safe",
        "--tag",
        "pay/charge",
    ]);
    add(&[
        "--kind",
        "bug",
        "--statement",
        "Refunds of zero are sent",
        "--tag",
        "pay/refund",
        "--lens",
        "correctness",
    ]);
    add(&[
        "--kind",
        "commit-norm",
        "--statement",
        "Use conventional commits. They make the changelog.",
    ]);
    add(&[
        "--kind",
        "anti-pattern",
        "--lens",
        "security",
        "--tag",
        "auth",
        "--tag",
        "logging",
        "--statement",
        "Never write the session cookie into a log, a trace or a crash report, because those leave the building and are read by people",
    ]);
    env
}

#[test]
fn list_lines_up_and_keeps_long_titles_for_programs() {
    insta::assert_snapshot!(ledger_with_entries().run(["list"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND          STATUS     CONFIRMED  TITLE                                                                                                 TAGS
    L-9p9sedqr  anti-pattern  candidate  not yet    Never write the session cookie into a log, a trace or a crash report, because those leave the build…  auth, logging
    N-d95shc1g  commit-norm   candidate  not yet    Use conventional commits
    L-h9xr3ac9  bug           candidate  not yet    Refunds of zero are sent                                                                              pay/refund
    L-205zr7j2  learning      candidate  not yet    Charging twice is safe                                                                                pay/charge
    ----- stderr -----
    4 entries
    ");
}

#[test]
fn list_filters_by_kind_tag_lens_memory_and_status() {
    let env = ledger_with_entries();
    let ids = |args: &[&str]| {
        let run = env.run(["list"].iter().chain(args)).success();
        run.stdout
            .lines()
            .skip(1)
            .map(|line| line[12..].trim_start().to_owned())
            .collect::<Vec<_>>()
            .len()
    };
    assert_eq!(ids(&["--kind", "bug"]), 1);
    assert_eq!(ids(&["--tag", "pay"]), 2);
    assert_eq!(ids(&["--tag", "pay/refund"]), 1);
    assert_eq!(ids(&["--lens", "security"]), 1);
    assert_eq!(ids(&["--memory", "procedural"]), 1);
    assert_eq!(ids(&["--status", "candidate"]), 4);
    assert_eq!(ids(&["--limit", "3"]), 3);
    insta::assert_snapshot!(env.run(["list", "--status", "verified"]), @"
    exit: 0
    ----- stderr -----
    no entries
    hint: `ken list --all` includes archived and retracted entries; `ken add --help` shows how to add one
    ");
    insta::assert_snapshot!(env.run(["list", "--limit", "1"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND          STATUS     CONFIRMED  TITLE                                                                                                 TAGS
    L-9p9sedqr  anti-pattern  candidate  not yet    Never write the session cookie into a log, a trace or a crash report, because those leave the build…  auth, logging
    ----- stderr -----
    1 entry; --limit may hide more
    ");
    insta::assert_snapshot!(env.run(["list", "--all", "--archived"]), @"
    exit: 2
    ----- stderr -----
    error: the argument '--all' cannot be used with '--archived'

    Usage: ken list --all [WORD]...

    For more information, try '--help'.
    ");
}

#[test]
fn list_answers_programs_one_entry_a_line() {
    let run = ledger_with_entries()
        .run(["list", "--format", "json", "--memory", "semantic"])
        .success();
    let lines: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line["schema"] == "ken.entry.v1"));
    assert_eq!(lines[2]["statement"], "Charging twice is safe");
}

#[test]
fn any_unambiguous_beginning_names_an_entry_and_brackets_are_fine() {
    let env = folder_with_ledger();
    let a = add_lesson(&env, "Charging twice is safe");
    let b = add_lesson(&env, "Refunds are asynchronous");
    for wanted in [
        a.as_str(),
        &a[..5],
        &a[2..6],
        &format!("[{a}]"),
        &a.to_uppercase(),
    ] {
        let run = env.run(["show", wanted, "--format", "json"]).success();
        assert_eq!(run.json()["id"], a.as_str(), "{wanted}");
    }
    assert_ne!(a, b);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    use std::process::Stdio;

    let env = ledger_with_entries();
    let mut child = env.ken();
    child
        .args(["list"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("error"), "{stderr}");
}

#[test]
fn color_comes_only_when_asked_for() {
    let env = ledger_with_entries();
    assert!(!env.run(["list"]).stdout.contains('\u{1b}'));
    assert!(
        env.run(["list", "--color", "always"])
            .stdout
            .contains('\u{1b}')
    );
    assert!(
        !env.run(["list", "--color", "never"])
            .stdout
            .contains('\u{1b}')
    );
}

#[test]
fn list_finds_words_and_sorts() {
    let env = ledger_with_entries();
    let kinds = |args: &[&str]| {
        let listed = env.run(["list", "--json"].iter().chain(args)).success();
        let kind = |line: &str| {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            entry["kind"].as_str().unwrap().to_owned()
        };
        listed.stdout.lines().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&["COOKIE", "crash"]), ["anti-pattern"]);
    assert_eq!(kinds(&["pay/", "--limit", "1"]), ["bug"]);
    assert_eq!(kinds(&["cookie", "refund"]), [""; 0]);
    let sorted = kinds(&["--sort", "title", "--limit", "2"]);
    assert_eq!(sorted, ["learning", "anti-pattern"]);
    let last = env.run(["list", "zero", "--json"]).json();
    let _ = env.run(["confirm", last["id"].as_str().unwrap()]).success();
    assert_eq!(kinds(&["--sort", "confirmed", "--limit", "1"]), ["bug"]);
    let listed = env.run(["list", "--sort", "confirmed"]).success().stdout;
    let mut lines = listed.lines().skip(1);
    assert!(lines.next().unwrap().contains("2026-01-02"), "{listed}");
    assert!(lines.all(|line| line.contains("not yet")), "{listed}");
}

#[test]
fn entries_whose_code_changed_are_listed_as_stale() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let norm = add_norm(&env, "Charge once per key", "src/pay.rs#Ledger::charge");
    let kept = add_norm(&env, "Refund everything", "src/pay.rs#refund");
    let marked = add_lesson(&env, "Retries are logged");
    let _ = env.run(["entry", "status", &marked, "stale"]).success();
    commit_all(&env, "norms");
    env.write(
        "src/pay.rs",
        &PAY_SOURCE.replace("return false", "return true"),
    );
    let listed = env.run(["list", "--status", "stale"]).success().stdout;
    assert!(
        listed.contains(&norm) && listed.contains("code changed"),
        "{listed}"
    );
    assert!(
        listed.contains(&marked) && !listed.contains(&kept),
        "{listed}"
    );
    let json = env.run([
        "list",
        "--status",
        "stale",
        "--kind",
        "commit-norm",
        "--json",
    ]);
    assert_eq!(json.json()["validity"], "changed");
    let inbox = env.run(["inbox"]).success().stdout;
    assert!(
        inbox.contains("2 stale entries") && inbox.contains(&norm),
        "{inbox}"
    );
    let health = env.run(["health"]).success().stdout;
    assert!(health.contains("do: ken list --status stale"), "{health}");
}

#[test]
fn show_tells_what_feedback_did_to_the_confidence() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Retry once after a timeout");
    let line = |env: &TestEnvironment| {
        let shown = env.run(["show", &id]).success().stdout;
        let line = shown.lines().find(|it| it.starts_with("confidence"));
        line.unwrap().to_owned()
    };
    assert_eq!(line(&env), "confidence 0.50 (evidence of use: none yet)");
    let _ = env.run(["feedback", &id, "--helpful"]).success();
    assert_eq!(
        line(&env),
        "confidence 0.52 (evidence of use: 0.5 for, 0.0 against)"
    );
}
