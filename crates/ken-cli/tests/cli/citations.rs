//! Citations are checked against the repository when they are written, and by `ken verify`.

use ken_testkit::test_env::{CommandRun, TestEnvironment};

use super::support::{commit_all, folder_with_ledger, repository_with_ledger};

fn add_citing(env: &TestEnvironment, cite: &str) -> CommandRun {
    let text = "Charging twice is safe: the key is idempotent";
    env.run([
        "add",
        "--kind",
        "learning",
        "--statement",
        text,
        "--cite",
        cite,
    ])
}

#[test]
fn a_commit_or_document_that_does_not_exist_is_refused() {
    let env = repository_with_ledger();
    insta::assert_snapshot!(add_citing(&env, "commit:deadbeef99"), @"
    exit: 1
    ----- stderr -----
    error: `commit:deadbeef99` cannot be cited: no such commit in this repository

    hint: cite a commit (hash, branch, tag or HEAD), a file of this repository, a pull request, a test or a URL: commit:HEAD, doc:docs/adr/7.md, pr:142, test:NAME, doc:https://…
    ");
    insta::assert_snapshot!(add_citing(&env, "doc:docs/none.md"), @"
    exit: 1
    ----- stderr -----
    error: `doc:docs/none.md` cannot be cited: no such file in this repository

    hint: cite a commit (hash, branch, tag or HEAD), a file of this repository, a pull request, a test or a URL: commit:HEAD, doc:docs/adr/7.md, pr:142, test:NAME, doc:https://…
    ");
    assert_eq!(add_citing(&env, "doc:../outside.md").exit, 1);
    assert_eq!(add_citing(&env, "pr:soon").exit, 2);
    let json =
        r#"{"kind":"learning","statement":"Queues are drained","cite":["commit:deadbeef99"]}"#;
    env.write("lessons.jsonl", json);
    assert_eq!(env.run(["add", "--from-jsonl", "lessons.jsonl"]).exit, 1);
    let id = add_citing(&env, "pr:7").success().line();
    assert_eq!(env.run(["entry", "cite", &id, "commit:deadbeef99"]).exit, 1);
    assert_eq!(env.run(["list"]).success().stdout.lines().count(), 2);
}

#[test]
fn symbolic_names_are_stored_as_the_hash_they_mean_now() {
    let env = repository_with_ledger();
    let head = env.git(["rev-parse", "HEAD"]);
    let _ = env.git(["tag", "v1"]);
    for name in ["HEAD", "main", "v1", &head[..5]] {
        let id = add_citing(&env, &format!("commit:{name}")).success().line();
        let shown = env.run(["show", &id, "--format", "json"]).success().json();
        assert_eq!(shown["citations"][0]["evidence_ref"], head[..12], "{name}");
        let _ = env.run(["undo"]).success();
    }
    let id = add_citing(&env, &format!("commit:{}", &head[..8]))
        .success()
        .line();
    let shown = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(shown["citations"][0]["evidence_ref"], head[..8]);
}

#[test]
fn a_document_may_be_new_or_only_in_the_current_commit() {
    let env = repository_with_ledger();
    env.write("docs/new.md", "# New");
    let _ = add_citing(&env, "doc:docs/new.md#new").success();
    commit_all(&env, "document");
    let _ = env.git(["rm", "-q", "--cached", "docs/new.md"]);
    std::fs::remove_file(env.root().join("docs/new.md")).expect("it exists");
    let _ = add_citing(&env, "doc:docs/new.md:1").success();
    let _ = add_citing(&env, "doc:https://example.org/adr/7").success();
}

#[test]
fn outside_git_a_citation_is_accepted_and_said_to_be_unchecked() {
    let env = folder_with_ledger();
    insta::assert_snapshot!(add_citing(&env, "commit:deadbeef99"), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    note: `commit:deadbeef99` was not checked: this folder is not in git
    added as candidate: .ken/entries/L-205zr7j2-charging-twice-is-safe-the-key-is.md
    ");
}

#[test]
fn verify_reports_citations_that_dangle_until_another_source_is_cited() {
    let env = repository_with_ledger();
    env.write("docs/adr.md", "# Decision");
    commit_all(&env, "adr");
    let id = add_citing(&env, "doc:docs/adr.md").success().line();
    let _ = env.git(["rm", "-q", "docs/adr.md"]);
    commit_all(&env, "no adr");
    let run = env.run(["verify"]);
    assert_eq!(run.exit, 0, "a dangling citation is a warning");
    insta::assert_snapshot!(run, @"
    exit: 0
    ----- stdout -----
    warning L-205zr7j2: cites `doc:docs/adr.md`: no such file in this repository; cite another source with `ken entry cite L-205zr7j2 TYPE:REF`: Charging twice is safe: the key is idempotent [knowledge.provenance]
    pass  knowledge.schema
    pass  knowledge.guard
    pass  knowledge.redacted
    warn  knowledge.provenance (1 finding)
    pass  knowledge.links
    pass  knowledge.staleness
    pass  knowledge.contradictions
    pass  episodic.no_backflow
    pass  knowledge.validity
    pass  knowledge.decisions
    passes: 1 entry, 1 event, 1 finding
    ");
    let _ = env.run(["entry", "cite", &id, "commit:HEAD"]).success();
    let run = env.run(["verify"]);
    assert!(!run.stdout.contains("docs/adr.md"), "{}", run.stdout);
}

#[test]
fn a_shallow_clone_does_not_call_a_commit_missing() {
    let env = repository_with_ledger();
    let _ = add_citing(&env, "commit:HEAD").success();
    commit_all(&env, "knowledge");
    let origin = format!("file://{}", env.root().display());
    let _ = env.git(["clone", "-q", "--depth", "1", &origin, "../shallow"]);
    let run = env.run(["-C", "../shallow", "verify", "--by", "ci:build"]);
    assert!(
        run.stdout.contains("knowledge.provenance"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("no such commit"), "{}", run.stdout);
    let _ = env.git(["clone", "-q", &origin, "../whole"]);
    let _ = env.git(["-C", "../whole", "checkout", "-q", "--orphan", "other"]);
    for (key, value) in [("user.email", "ada@example.org"), ("user.name", "Ada")] {
        let _ = env.git(["-C", "../whole", "config", key, value]);
    }
    let _ = env.git(["-C", "../whole", "commit", "-q", "-m", "squashed"]);
    let squashed = format!("file://{}", env.root().join("../whole").display());
    let branch = [
        "clone",
        "-q",
        "--single-branch",
        "-b",
        "other",
        &squashed,
        "../squashed",
    ];
    let _ = env.git(branch);
    let run = env.run(["-C", "../squashed", "verify", "--by", "ci:build"]);
    assert!(run.stdout.contains("no such commit"), "{}", run.stdout);
}
