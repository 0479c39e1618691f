//! `ken init` and `ken self uninstall`.

use crate::cli::support::{
    add_lesson, add_norm, commit_all, empty_folder, repository_with_ledger, write_pay_source,
};

#[test]
fn init_in_git_shows_what_it_wrote_and_what_to_do_next() {
    let env = empty_folder().in_git();
    insta::assert_snapshot!(env.run(["init"]), @r#"
    exit: 0
    ----- stdout -----
    .ken/VERSION
    .ken/.gitignore
    .ken/config.toml
    .gitattributes
    ----- stderr -----
    Initialized Ken in [root] (4 files created):
    Commit them to share knowledge with everyone who clones; `ken self uninstall` removes them.
    hint: add the first entry: ken add "…" --anchor PATH#SYMBOL --cite TYPE:REF
    "#);
    insta::assert_snapshot!(env.run(["init"]), @"
    exit: 0
    ----- stderr -----
    Ken is already initialized in [root]
    ");
}

#[test]
fn init_outside_git_says_that_knowledge_stays_here() {
    insta::assert_snapshot!(empty_folder().run(["init"]), @r#"
    exit: 0
    ----- stdout -----
    .ken/VERSION
    .ken/.gitignore
    .ken/config.toml
    ----- stderr -----
    Initialized Ken in [root] (3 files created):
    This folder is not in git, so entries stay on this machine. `ken self uninstall` removes the files.
    hint: add the first entry: ken add "…" --anchor PATH#SYMBOL --cite TYPE:REF
    "#);
}

#[test]
fn init_answers_programs() {
    insta::assert_snapshot!(empty_folder().run(["init", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.init.v1","root":"[root]","written":[".ken/VERSION",".ken/.gitignore",".ken/config.toml"],"in_git":false}
    "#);
}

#[test]
fn init_works_from_below_and_with_a_directory() {
    let env = empty_folder().in_git();
    env.write("deep/down/x", "");
    let _ = env.run(["-C", "deep/down", "init"]).success();
    assert!(env.root().join(".ken/VERSION").exists());
    insta::assert_snapshot!(env.run(["-C", "nowhere", "list"]), @"
    exit: 2
    ----- stderr -----
    error: the folder `nowhere` does not exist
    ");
}

#[test]
fn each_memory_has_json_lines_beside_a_database() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let _ = add_lesson(&env, "Charging twice is safe");
    let _ = add_norm(&env, "Sign every tag", "src/pay.rs");
    let friction = ["health", "friction", "record", "--type", "tool_error"];
    let _ = env
        .run(friction.into_iter().chain(["--context", "{}"]))
        .success();
    commit_all(&env, "knowledge");
    let shared = env.git(["ls-files", ".ken"]);
    for memory in ["semantic", "procedural", "episodic"] {
        let names = env.names(&format!(".ken/{memory}/v1"));
        assert_eq!(names.len(), 1, "{memory}: {names:?}");
        let path = format!(".ken/{memory}/v1/{}", names[0]);
        assert!(path.ends_with(".jsonl"), "{path}");
        assert!(shared.lines().any(|it| it == path), "{path} in {shared}");
        let text = env.read(&path);
        assert_eq!(text.lines().count(), 1, "{text}");
        let event: serde_json::Value = serde_json::from_str(&text).expect("a line of JSON");
        assert_eq!(event["type"], "entry.proposed");
    }
    assert!(!shared.contains(".index"), "{shared}");
    let database = std::fs::read(env.root().join(".ken/.index/knowledge.db"));
    assert!(database.expect("a file").starts_with(b"SQLite format 3\0"));
    assert_eq!(env.read(".ken/VERSION"), "1.0.0\n");
    let entries = env.names(".ken/entries");
    assert_eq!(entries.len(), 3, "{entries:?}");
    for name in entries {
        let text = env.read(&format!(".ken/entries/{name}"));
        let version = "schema_version: 1.0.0";
        assert!(text.lines().any(|it| it == version), "{name}: {text}");
    }
    let _ = env.run(["ledger", "check"]).success();
}

#[test]
fn uninstall_of_an_unused_ledger_leaves_no_trace() {
    let env = empty_folder().in_git();
    env.write(".gitattributes", "*.rs text\n");
    let _ = env.run(["init"]).success();
    insta::assert_snapshot!(env.run(["self", "uninstall"]), @"
    exit: 0
    ----- stdout -----
    .gitattributes
    .ken
    .git/ken
    ----- stderr -----
    removed all files of Ken from the repository
    ");
    assert_eq!(env.names("."), [".git", ".gitattributes"]);
    assert_eq!(env.read(".gitattributes"), "*.rs text\n");
}

#[test]
fn uninstall_keeps_knowledge_unless_told_otherwise() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["self", "uninstall"]), @"
    exit: 0
    ----- stdout -----
    .gitattributes
    .ken/.index
    .ken/.local
    .ken/reviewers
    .ken/index.md
    .ken/archive.md
    ----- stderr -----
    the ledger and its entry files stay in .ken, the journal in .git/ken
    hint: `ken self uninstall --delete-knowledge` asks and deletes them; committed files stay in git's history
    ");
    assert_eq!(env.names(".ken/entries").len(), 1);
    let unconfirmed = env.run(["self", "uninstall", "--delete-knowledge"]);
    insta::assert_snapshot!(unconfirmed, @"
    exit: 1
    ----- stderr -----
    error: --delete-knowledge deletes the ledger and every entry file; nothing was removed

    hint: run `ken self uninstall --delete-knowledge --yes`
    ");
    assert_eq!(env.names(".ken/entries").len(), 1);
    let gone = env
        .run([
            "self",
            "uninstall",
            "--delete-knowledge",
            "--yes",
            "--format",
            "json",
        ])
        .success();
    assert_eq!(gone.json()["knowledge_kept"], false);
    assert!(!env.root().join(".ken").exists());
}

#[test]
fn uninstall_names_what_stays_in_the_home() {
    let env = repository_with_ledger();
    // Redacting creates the key of the guard, which all repositories of the user share.
    let secret = ["ghp", "_", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW1xY2"].concat();
    let text = format!("The token {secret} was in the log");
    let _ = env
        .run(["add", &text, "--cite", "pr:1", "--redact"])
        .success();
    let run = env.run(["self", "uninstall", "--delete-knowledge", "--yes"]);
    let run = run.success();
    let kept = "home/.local/share/ken, which your other repositories use too";
    assert!(run.stderr.contains(kept), "{run}");
    let folder = env.root().join("../home/.local/share/ken");
    assert!(folder.is_dir(), "a key that other repositories need stays");
}
