//! `ken ledger export`, and conformance of entry files to the Open Knowledge Format.

use std::fs;

use okf::{Bundle, Document, validate_bundle};

use crate::cli::support::{add_lesson, folder_with_ledger, write_pay_source};

#[test]
fn jsonl_and_markdown_go_to_stdout_without_evidence() {
    let env = folder_with_ledger();
    write_pay_source(&env);
    let args = [
        "add",
        "--kind",
        "learning",
        "--statement",
        "Charging twice is safe",
        "--anchor",
        "src/pay.rs",
        "--cite",
        "pr:1",
        "--tag",
        "pay",
    ];
    let _ = env.run(args).success();
    insta::assert_snapshot!(env.run(["ledger", "export", "--form", "markdown"]), @"
    exit: 0
    ----- stdout -----
    ## [L-205zr7j2] Charging twice is safe

    Charging twice is safe

    - kind: learning, status: candidate
    - tags: pay
    - source: pr:1 (human:ada)
    ");
    let run = env.run(["ledger", "export"]).success();
    assert!(!run.stdout.contains("src/pay.rs"), "{run}");
    assert_eq!(
        ken_core::ledger::canonical::check(run.stdout.trim_end()).err(),
        None
    );
    insta::assert_snapshot!(env.run(["ledger", "export", "--form", "okf"]), @"
    exit: 2
    ----- stderr -----
    error: an OKF bundle is a folder of files

    hint: add --out DIR
    ");
    insta::assert_snapshot!(env.run(["ledger", "export", "--form", "markdown", "--out", "out"]), @"
    exit: 0
    ----- stdout -----
    knowledge.md
    ----- stderr -----
    wrote 1 file; anchors are not exported
    ");
    assert!(env.read("out/knowledge.md").starts_with("## [L-"));
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
    insta::assert_snapshot!(env.run(["ledger", "export", "--form", "okf", "--out", "bundle", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.export.v1","files":["L-205zr7j2-charging-twice-is-safe.md","L-9p9sedqr-the-linter-is-wrong-here.md","L-d95shc1g-gr-e-z-hlt.md","L-h9xr3ac9-say-no-never-or.md"]}
    "#);
    for folder in ["bundle", ".ken/entries"] {
        for name in env.names(folder) {
            let text = env.read(&format!("{folder}/{name}"));
            Document::parse(&text).unwrap().validate().unwrap();
        }
        let bundle = Bundle::load(env.root().join(folder)).unwrap();
        assert_eq!(bundle.len(), 4);
        let report = validate_bundle(&bundle);
        assert!(report.is_conformant(), "{folder}: {report:#?}");
    }
    assert_eq!(fs::read_dir(env.root().join("bundle")).unwrap().count(), 4);
}
