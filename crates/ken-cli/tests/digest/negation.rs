//! `ken audit` on rules of one list that negate each other.

use ken_testkit::test_env::TestEnvironment;

fn audit_rules(rules: &str) -> serde_json::Value {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).in_git();
    env.write("CLAUDE.md", &format!("# Rules\n\n{rules}"));
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["commit", "-q", "-m", "rules"]);
    env.run(["audit", "--format", "json"]).json()
}

#[test]
fn a_direct_negation_in_one_list_is_a_contradiction() {
    let answer = audit_rules("- Always use pnpm.\n- Never use pnpm.\n");
    assert_eq!(answer["findings"][0]["kind"], "contradiction", "{answer}");
    assert_eq!(
        answer["findings"].as_array().map(Vec::len),
        Some(1),
        "{answer}"
    );
}

#[test]
fn alternatives_of_one_list_are_no_contradiction() {
    let answer =
        audit_rules("- Use tabs for indentation in Makefiles.\n- Use spaces for indentation.\n");
    assert_eq!(answer["findings"], serde_json::json!([]), "{answer}");
}
