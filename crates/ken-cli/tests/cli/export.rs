//! `ken ledger export`, and conformance of entry files to the Open Knowledge Format.

use std::fs;

use ken_testkit::test_env::TestEnvironment;
use okf::{Bundle, Document, validate_bundle};

use crate::cli::support::{add_lesson, folder_with_ledger, write_pay_source};

/// Adds an entry with an anchor, tag, citations and a status.
fn add_anchored(env: &TestEnvironment) -> String {
    write_pay_source(env);
    let args = [
        "add",
        "--kind",
        "learning",
        "--statement",
        "Charging twice is safe",
        "--anchor",
        "src/pay.rs#refund",
        "--cite",
        "pr:1",
        "--tag",
        "pay",
    ];
    env.run(args).success().line()
}

#[test]
fn jsonl_and_markdown_go_to_stdout() {
    let env = folder_with_ledger();
    let _ = add_anchored(&env);
    insta::assert_snapshot!(env.run(["ledger", "export", "--format", "markdown"]), @"
    exit: 0
    ----- stdout -----
    ## [L-205zr7j2] Charging twice is safe

    Charging twice is safe

    - kind: learning, status: candidate
    - tags: pay
    - code: src/pay.rs#refund
    - source: pr:1 (human:ada)
    ");
    let run = env.run(["ledger", "export"]).success();
    assert!(run.stdout.contains("src/pay.rs#refund"), "{run}");
    assert_eq!(
        ken_core::ledger::canonical::check(run.stdout.trim_end()).err(),
        None
    );
    insta::assert_snapshot!(env.run(["ledger", "export", "--format", "markdown", "--out", "out"]), @"
    exit: 2
    ----- stderr -----
    error: --out writes a bundle; Markdown is one text

    hint: `ken ledger export --format markdown` prints one text, for a file of yours
    ");
    insta::assert_snapshot!(env.run(["list", "--format", "markdown"]), @"
    exit: 2
    ----- stderr -----
    error: this command prints text or JSON; `ken verify` also supports sarif, github and markdown, `ken audit` and `ken ledger export` support markdown
    ");
}

#[test]
fn an_export_is_restored_by_import() {
    let env = folder_with_ledger();
    let id = add_anchored(&env);
    let _ = env.run(["entry", "cite", &id, "pr:2"]).success();
    let _ = env.run(["entry", "status", &id, "active"]).success();
    let norm = [
        "add",
        "--kind",
        "commit-norm",
        "--statement",
        "Sign every tag",
    ];
    let _ = env
        .run(norm.into_iter().chain(["--cite", "pr:9"]))
        .success();
    let detail = r#"{"question":"Does it scale?","answer":"It does.","confidence":"conclusive"}"#;
    let spike = [
        "add",
        "--kind",
        "spike",
        "--statement",
        "SQLite is fast enough",
    ];
    let spike = spike
        .into_iter()
        .chain(["--cite", "pr:3", "--detail", detail]);
    let _ = env.run(spike).success();
    let lines = env.run(["ledger", "export", "--all"]).success().stdout;
    let _ = env
        .run(["ledger", "export", "--all", "--out", "bundle"])
        .success();

    for source in ["entries.jsonl", "bundle"] {
        let other = folder_with_ledger();
        other.write("entries.jsonl", &lines);
        for name in env.names("bundle") {
            other.write(
                &format!("bundle/{name}"),
                &env.read(&format!("bundle/{name}")),
            );
        }
        let agent = other.run(["import", source, "--by", "agent:one"]);
        assert_eq!(agent.exit, 1, "an agent cannot bring in decisions: {agent}");
        let run = other.run(["import", source]).success();
        assert!(run.stderr.contains("imported 3 entries"), "{run}");
        assert_eq!(
            other.run(["ledger", "export", "--all"]).success().stdout,
            lines
        );
        for name in env.names(".ken/entries") {
            let path = format!(".ken/entries/{name}");
            assert_eq!(other.read(&path), env.read(&path), "{source}");
        }
        let again = other.run(["import", source]).success();
        assert!(again.stderr.contains("imported 0 entries"), "{again}");
    }
    let hinted = env.run_with(&lines, ["add", "--from-jsonl", "-"]);
    assert!(hinted.stderr.contains("run `ken import FILE`"), "{hinted}");
}

#[test]
fn an_exported_bundle_and_the_entry_files_conform_to_okf() {
    let env = folder_with_ledger();
    for statement in [
        "Charging twice is safe",
        "Say \"no\": never # or ---",
        "Größe zählt: 支払い",
    ] {
        let _ = add_lesson(&env, statement);
    }
    let tagged = [
        "add",
        "--kind",
        "false-positive",
        "--statement",
        "The linter is wrong here",
        "--cite",
        "pr:1",
        "--tag",
        "lint/rust",
        "--verify",
        "cargo clippy",
        "--lens",
        "maintainability",
    ];
    let _ = env.run(tagged).success();
    insta::assert_snapshot!(env.run(["ledger", "export", "--out", "bundle", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.export.v1","files":["L-205zr7j2-charging-twice-is-safe.md","L-9p9sedqr-the-linter-is-wrong-here.md","L-d95shc1g-gr-e-z-hlt.md","L-h9xr3ac9-say-no-never-or.md","events.jsonl"]}
    "#);
    for folder in ["bundle", ".ken/entries"] {
        for name in env.names(folder).iter().filter(|it| it.ends_with(".md")) {
            let text = env.read(&format!("{folder}/{name}"));
            Document::parse(&text).unwrap().validate().unwrap();
        }
        let bundle = Bundle::load(env.root().join(folder)).unwrap();
        assert_eq!(bundle.len(), 4);
        let report = validate_bundle(&bundle);
        assert!(report.is_conformant(), "{folder}: {report:#?}");
    }
    assert_eq!(fs::read_dir(env.root().join("bundle")).unwrap().count(), 5);
}
