//! `ken list` and `ken show`.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, folder_with_ledger};

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
fn list_lines_up_and_shortens_long_titles() {
    insta::assert_snapshot!(ledger_with_entries().run(["list"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND          STATUS     CONFIRMED   TITLE                                 TAGS
    L-9p9sedqr  anti-pattern  candidate  2026-01-02  Never write the session cookie into…  auth, logging
    N-d95shc1g  commit-norm   candidate  2026-01-02  Use conventional commits
    L-h9xr3ac9  bug           candidate  2026-01-02  Refunds of zero are sent              pay/refund
    L-205zr7j2  learning      candidate  2026-01-02  Charging twice is safe                pay/charge
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
    ID          KIND          STATUS     CONFIRMED   TITLE                                 TAGS
    L-9p9sedqr  anti-pattern  candidate  2026-01-02  Never write the session cookie into…  auth, logging
    ----- stderr -----
    1 entry; --limit may hide more
    ");
    insta::assert_snapshot!(env.run(["list", "--all", "--archived"]), @"
    exit: 2
    ----- stderr -----
    error: the argument '--all' cannot be used with '--archived'

    Usage: ken list --all

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
