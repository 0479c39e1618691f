//! `ken inbox`: everything that waits for a person, in one list.

use crate::cli::support::{add_lesson, repository_with_ledger};

#[test]
fn an_empty_inbox_says_so() {
    let env = repository_with_ledger();
    insta::assert_snapshot!(env.run(["inbox"]), @"
    exit: 0
    ----- stderr -----
    the inbox is empty
    ");
    let answer = env.run(["inbox", "--format", "json"]).success().json();
    for list in ["claims", "approvals", "quarantined", "contradictions"] {
        assert_eq!(answer[list], serde_json::json!([]), "{list}");
    }
}

#[test]
fn claims_quarantined_entries_and_contradictions_are_listed_with_their_command() {
    let env = repository_with_ledger();
    env.write(
        "CLAUDE.md",
        "# Rules\n\n- Always run `make check` before you push.\n",
    );
    let _ = env.run(["import", "CLAUDE.md"]).success();
    let quarantined = add_lesson(
        &env,
        "A retried charge needs its key, or the customer pays twice",
    );
    let _ = env
        .run([
            "guard",
            "quarantine",
            "add",
            &quarantined,
            "--reason",
            "not reviewed",
        ])
        .success();
    let _ = add_lesson(&env, "Always use pnpm to install packages");
    let _ = add_lesson(&env, "Never use pnpm to install packages");
    insta::assert_snapshot!(env.run(["inbox"]), @"
    exit: 0
    ----- stdout -----
    1 quarantined entry (ken guard quarantine release ID --reason TEXT)
    L-h9xr3ac9  not reviewed
    1 contradiction (ken inbox resolve ID ID --keep ID)
    alternative: JavaScript package manager: pnpm or not pnpm  new
      L-9p9sedqr  Always use pnpm to install packages
      L-p8wn3qws  Never use pnpm to install packages
    ");
    let answer = env.run(["inbox", "--format", "json"]).success().json();
    assert_eq!(answer["schema"], "ken.inbox.v1");
    assert_eq!(answer["quarantined"][0]["id"], quarantined.as_str());
    assert_eq!(answer["contradictions"].as_array().map(Vec::len), Some(1));
}
