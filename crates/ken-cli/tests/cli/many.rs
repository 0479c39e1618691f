//! `ken add --from-jsonl`: adding many entries from a file or standard input.

use crate::cli::support::{folder_with_ledger, write_pay_source};

fn jsonl_lines(count: usize) -> String {
    (1..=count)
        .map(|i| {
            format!(
                "{{\"kind\":\"learning\",\"statement\":\"Lesson {i}\",\"cite\":[\"pr:{i}\"]}}\n"
            )
        })
        .collect()
}

#[test]
fn many_entries_come_from_a_file_or_standard_input() {
    let env = folder_with_ledger();
    write_pay_source(&env);
    env.write("lessons.jsonl", concat!(
        r#"{"kind":"learning","statement":"Charging twice is safe","anchors":["src/pay.rs#Ledger::charge"],"verify":["cargo test"],"cite":["commit:3fce3b5"],"tags":["pay"],"depends_on":["file:src/pay.rs"],"lens":"correctness","polarity":"positive","decay":"stable","scope":"workspace","thread":"t1","alias":"pay.twice"}"#,
        "\n\n",
        r#"{"type":"commit_norm","id":"norm.commit.001","rule":"Use conventional commits","provenance":[{"evidence_type":"pr","evidence_ref":"7","cited_by":"reviewer","cited_at":1700000000}]}"#,
    ));
    insta::assert_snapshot!(env.run(["add", "--from-jsonl", "lessons.jsonl"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    N-fbzyfxk4
    ----- stderr -----
    note: `commit:3fce3b5` was not checked: this folder is not in git
    added 2 entries
    ");
    insta::assert_snapshot!(env.run(["show", "pay.twice"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2  learning  candidate

    Charging twice is safe

    anchors    src/pay.rs#Ledger::charge
    verify     1. cargo test
    tags       pay
    conditions file:src/pay.rs
    lens       correctness
    polarity   positive
    decay      stable
    cites      commit:3fce3b5 (human:ada, 2026-01-02)
    confirmed  not yet; added 2026-01-02
    alias      pay.twice
    thread     t1
    added      2026-01-02 by human:ada, workspace scope
    history    1 event, the last on 2026-01-02: `ken log L-205zr7j2`
    file       .ken/entries/L-205zr7j2-charging-twice-is-safe.md
    confidence 0.50 (evidence of use: none yet)
    ");
    let run = env.run_with(
        &jsonl_lines(2),
        [
            "add",
            "--from-jsonl",
            "-",
            "--tag",
            "bulk",
            "--format",
            "json",
        ],
    );
    let run = run.success();
    assert_eq!(run.stdout.lines().count(), 2);
    assert!(
        run.stdout
            .lines()
            .all(|line| line.starts_with(r#"{"schema":"ken.entry.v1","id":"L-"#))
    );
    assert!(
        run.stdout
            .lines()
            .all(|line| line.contains(r#""tags":["bulk"]"#))
    );
}

#[test]
fn a_bad_line_names_its_number_and_nothing_of_its_batch_is_written() {
    let env = folder_with_ledger();
    let good = jsonl_lines(130);
    let bad = good.replacen("\"Lesson 117\"", "17", 1);
    let run = env.run_with(&bad, ["add", "--from-jsonl", "-"]);
    assert_eq!(
        run.stdout.lines().count(),
        100,
        "the first batch is acknowledged"
    );
    assert_eq!(run.exit, 2);
    insta::assert_snapshot!(run.stderr, @"
    error: line 117: invalid type: integer `17`, expected a string

    hint: added 100 entries before this batch; fix the line, then add this batch and the remaining lines
    ");
    assert_eq!(env.run(["list"]).success().stdout.lines().count(), 101);
}

#[test]
fn what_policy_refuses_names_its_line_too() {
    let env = folder_with_ledger();
    let input = jsonl_lines(2) + "{\"kind\":\"learning\",\"statement\":\"No evidence\"}\n";
    insta::assert_snapshot!(env.run_with(&input, ["add", "--from-jsonl", "-"]), @"
    exit: 1
    ----- stderr -----
    error: line 3: provenance required: cite at least one of commit, pr, doc, test, transcript

    hint: added 0 entries before this batch; fix the line, then add this batch and the remaining lines
    ");
    let input = "{\"kind\":\"learning\",\"statment\":\"x\"}";
    let run = env.run_with(input, ["add", "--from-jsonl", "-", "--format", "json"]);
    assert_eq!(run.exit, 2);
    assert!(
        run.stderr.contains("line 1: unknown field `statment`"),
        "{run}"
    );
    insta::assert_snapshot!(env.run(["add", "--from-jsonl", "nowhere.jsonl"]), @"
    exit: 2
    ----- stderr -----
    error: cannot open `nowhere.jsonl`
      because: No such file or directory (os error 2)
    ");
    assert_eq!(env.run(["list"]).success().stdout, "");
}

#[test]
fn what_the_guard_refuses_keeps_its_whole_batch_out() {
    let env = folder_with_ledger();
    let secret = format!("{}{}", "ghp_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2");
    let input = jsonl_lines(3).replacen("Lesson 2", &secret, 1);
    insta::assert_snapshot!(env.run_with(&input, ["add", "--from-jsonl", "-"]), @"
    exit: 1
    ----- stderr -----
    error: lines 1 to 3: the guard refused `statement`: it seems to contain a secret (github token)

    hint: added 0 entries before this batch; fix the line, then add this batch and the remaining lines
    ");
    assert_eq!(env.run(["list"]).success().stdout, "");
}

#[test]
fn a_name_twice_in_one_file_is_refused() {
    let env = folder_with_ledger();
    let line =
        "{\"kind\":\"bug\",\"statement\":\"It breaks\",\"cite\":[\"pr:1\"],\"alias\":\"b.1\"}\n";
    insta::assert_snapshot!(env.run_with(&line.repeat(2), ["add", "--from-jsonl", "-"]), @"
    exit: 1
    ----- stderr -----
    error: line 2: an earlier line already has the alias `b.1`

    hint: added 0 entries before this batch; fix the line, then add this batch and the remaining lines
    ");
}

#[test]
fn a_thousand_entries_are_added_by_one_process() {
    let env = folder_with_ledger();
    let run = env
        .run_with(&jsonl_lines(1000), ["add", "--from-jsonl", "-"])
        .success();
    assert_eq!(run.stdout.lines().count(), 1000);
    assert_eq!(env.names(".ken/entries").len(), 1000);
}
