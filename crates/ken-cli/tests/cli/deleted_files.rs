//! `ken sync` after a person deleted the file of an entry.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, commit_all, repository_with_ledger};

fn delete_entry_file(env: &TestEnvironment, id: &str) {
    let names = env.names(".ken/entries");
    let name = names.into_iter().find(|name| name.starts_with(id));
    let path = format!(".ken/entries/{}", name.expect("its file"));
    std::fs::remove_file(env.root().join(path)).expect("the file can be deleted");
}

#[test]
fn a_deleted_file_that_was_never_committed_leaves_its_entry_and_says_what_to_do() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    delete_entry_file(&env, &id);
    insta::assert_snapshot!(env.run(["sync"]), @"
    exit: 0
    ----- stderr -----
    recorded 0 hand edits
    note: .ken/entries/L-205zr7j2-charging-twice-is-safe.md was deleted before it was committed, so L-205zr7j2 is unchanged
    hint: `ken retract L-205zr7j2` retracts the entry; `ken ledger render` writes its file again
    ");
    let answer = env.run(["sync", "--format", "json"]).success().json();
    assert_eq!(answer["missing_uncommitted"], serde_json::json!([id]));
    let _ = env.run(["ledger", "render"]).success();
    assert!(
        env.names(".ken/entries")
            .iter()
            .any(|it| it.starts_with(&id))
    );
}

#[test]
fn a_deleted_file_that_was_committed_retracts_its_entry() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    delete_entry_file(&env, &id);
    let answer = env.run(["sync", "--format", "json"]).success().json();
    assert_eq!(answer["absorbed"], 1);
    assert_eq!(answer["missing_uncommitted"], serde_json::json!([]));
}
