//! `ken audit` and `ken import`.

use crate::digest::repository_with_documents;

#[test]
fn an_audit_says_what_is_wrong_and_writes_nothing() {
    let env = repository_with_documents();
    insta::assert_snapshot!(env.run(["audit"]), @"
    exit: 1
    ----- stdout -----
    .github/CONTRIBUTING.md  2 claims
    CLAUDE.md  8 claims
         9  broken rule: no `package.json` has a script `check`
            what CI runs: run `npm run check`
        15  dead citation: `src/refund.rs` does not exist
            Refunds are handled by `src/refund.rs`.
        17  broken rule: it requires npm, but `pnpm-lock.yaml` belongs to pnpm
            Use npm install to add packages.
        18  contradiction: contradicts (alternative: indentation: tabs or spaces) .github/CONTRIBUTING.md:5
            Use spaces for indentation.
            Use tabs for indentation.
        19  duplicate: repeats CLAUDE.md:14
            The charge lives in `src/pay.rs`
            The charge lives in `src/pay.rs`.
    ----- stderr -----
    2 documents, 10 claims, 4 valid; 1 dead citation; 2 broken rules; 1 contradiction; 1 duplicate
    hint: `ken import` imports the valid claims; claims with findings are left out until you fix them
    ");
    assert_eq!(env.git(["status", "--porcelain"]), "");
}

#[test]
fn an_audit_answers_programs_and_pull_requests() {
    let env = repository_with_documents();
    let run = env.run(["audit", "--format", "json"]);
    assert_eq!(run.exit, 1);
    let told = run.json();
    assert_eq!(told["schema"], "ken.audit.v1");
    let dead = told["findings"].as_array().unwrap();
    let dead: Vec<_> = dead
        .iter()
        .filter(|it| it["kind"] == "dead_citation")
        .collect();
    assert_eq!(dead.len(), 1);
    assert_eq!(
        (&dead[0]["document"], &dead[0]["line"]),
        (&"CLAUDE.md".into(), &15.into())
    );
    let markdown = env.run(["audit", "--format", "markdown"]).stdout;
    assert!(
        markdown.contains("| CLAUDE.md:15 | dead citation: `src/refund.rs` does not exist |"),
        "{markdown}"
    );
}

#[test]
fn an_audit_may_look_at_some_documents_only() {
    let env = repository_with_documents();
    let told = env
        .run(["audit", ".github", "--format", "json"])
        .success()
        .json();
    assert_eq!(told["documents"].as_array().unwrap().len(), 1);
    let refused = env.run(["audit", "nowhere"]);
    assert_eq!(refused.exit, 2);
    assert!(
        refused
            .stderr
            .contains("`nowhere` is not in this repository"),
        "{refused}"
    );
}

#[test]
fn a_name_that_is_nowhere_in_the_code_is_told() {
    let env = repository_with_documents();
    env.write(
        "AGENTS.md",
        "- `charge_twice` in `src/pay.rs` guards retries.\n- `charge()` in `src/pay.rs` charges.\n",
    );
    let told = env.run(["audit", "AGENTS.md", "--format", "json"]).json();
    let findings = told["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["kind"], "dead_symbol");
    assert_eq!(
        findings[0]["message"],
        "`charge_twice` does not occur in the code"
    );
}

#[test]
fn a_line_nobody_touched_while_its_code_changed_may_be_stale() {
    let env = repository_with_documents();
    for step in 0..3 {
        env.wait_days(1);
        env.write(
            "src/pay.rs",
            &format!("pub fn charge() -> bool {{\n    {step} == 0\n}}\n"),
        );
        let _ = env.git(["commit", "-aqm", "change"]);
    }
    let told = env.run(["audit", "--format", "json"]).json();
    let stale = told["findings"].as_array().unwrap().iter();
    let stale: Vec<_> = stale
        .filter(|it| it["kind"] == "stale")
        .map(|it| it["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        stale[0],
        "`src/pay.rs` changed 3 times since this line was last edited (2026-01-02)"
    );
}

#[test]
fn a_clean_document_passes_and_none_at_all_is_said() {
    let env = repository_with_documents();
    env.write("CLAUDE.md", "- The charge lives in `src/pay.rs`.\n");
    let _ = env.run(["audit", "CLAUDE.md"]).success();
    for file in ["CLAUDE.md", ".github/CONTRIBUTING.md"] {
        std::fs::remove_file(env.root().join(file)).unwrap();
    }
    insta::assert_snapshot!(env.run(["audit"]), @"
    exit: 0
    ----- stderr -----
    no documents with agent instructions found: no CLAUDE.md, AGENTS.md, rules or decisions
    ");
}

#[test]
fn the_first_minute_from_init_to_entries() {
    let env = repository_with_documents();
    let init = env.run(["init"]).success();
    assert!(
        init.stderr
            .contains(".github/CONTRIBUTING.md and 1 more already contain agent instructions"),
        "{init}"
    );
    insta::assert_snapshot!(env.run(["import"]), @"
    exit: 0
    ----- stdout -----
    N-205zr7j2  commit-norm      Commit messages must follow Conventional Commits.
    L-fbzyfxk4  convention       everything: run `npm run build`
    L-pdxwfcnk  learning         The charge lives in `src/pay.rs`.
    L-nvv07sc3  convention       Never log the card number.
    ----- stderr -----
    2 documents, 10 claims, 4 valid; 1 dead citation; 2 broken rules; 1 contradiction; 1 duplicate
    4 entries added; 0 already known, 0 refused
    hint: `ken brief` shows the briefing of an agent; `ken list` lists every entry
    ");
    let again = env.run(["import"]).success();
    assert_eq!(again.stdout, "", "the same documents bring nothing twice");
    let listed = env.run(["list", "--format", "json"]).success().stdout;
    assert!(
        !listed.contains("refund"),
        "what cites a dead file stays out"
    );
    let verified = env.run(["verify"]).success();
    assert!(!verified.stdout.contains("broken"), "{verified}");
}

#[test]
fn what_a_person_imports_is_theirs_and_norms_of_agents_wait() {
    let env = repository_with_documents();
    let _ = env.run(["init"]).success();
    let told = env
        .run(["--by", "agent:claude", "import", "--format", "json"])
        .success()
        .json();
    assert!(!told["entries"].as_array().unwrap().is_empty());
    let held = env.run(["guard", "quarantine", "list"]).success().stdout;
    assert!(held.contains("Conventional Commits"), "{held}");
}

#[test]
fn secrets_in_documents_are_found_and_never_repeated() {
    let env = repository_with_documents();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    env.write(
        "CLAUDE.md",
        &format!("- Use the token `{secret}` to push.\n- Tests live in `src/pay.rs`.\n"),
    );
    let _ = env.run(["init"]).success();
    let run = env.run(["audit"]);
    assert_eq!(run.exit, 1);
    assert!(run.stdout.contains("secret"), "{run}");
    assert!(!run.to_string().contains(&secret));
    let _ = env.run(["import"]).success();
    let all = env
        .run(["list", "--all", "--format", "json"])
        .success()
        .stdout;
    assert!(
        !all.contains(&secret) && all.contains("Tests live"),
        "{all}"
    );
}
