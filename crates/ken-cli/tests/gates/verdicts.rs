//! The list of gates that `ken verify` prints, whether they pass or not.

use crate::gates::{add_entry, commit_all, repository_with_ledger};

#[test]
fn every_gate_is_listed_with_its_verdict_when_all_pass() {
    let env = repository_with_ledger();
    let _ = add_entry(&env, "learning", "Charging twice is safe with a key");
    commit_all(&env, "docs: a lesson");
    insta::assert_snapshot!(env.run(["verify"]), @"
    exit: 0
    ----- stdout -----
    pass  knowledge.schema
    pass  knowledge.guard
    pass  knowledge.redacted
    pass  knowledge.provenance
    pass  knowledge.links
    pass  knowledge.staleness
    pass  knowledge.contradictions
    pass  episodic.no_backflow
    pass  knowledge.validity
    pass  knowledge.decisions
    passes: 1 entry, 1 event, 0 findings
    ");
    let answer = env.run(["verify", "--format", "json"]).success().json();
    let gates = answer["gates"].as_array().expect("gates");
    assert!(!gates.is_empty());
    assert!(
        gates.iter().all(|gate| gate["verdict"] == "pass"),
        "{gates:?}"
    );
}

#[test]
fn a_gate_that_fails_is_listed_as_failed_and_the_others_as_passed() {
    let env = repository_with_ledger();
    for rule in [
        "Always use pnpm to install packages",
        "Never use pnpm to install packages",
    ] {
        let _ = add_entry(&env, "commit-norm", rule);
    }
    let run = env.run(["verify", "--format", "json"]);
    assert_eq!(run.exit, 1);
    let answer = run.json();
    let failed: Vec<_> = answer["gates"]
        .as_array()
        .expect("gates")
        .iter()
        .filter(|gate| gate["verdict"] == "fail")
        .map(|gate| gate["gate"].clone())
        .collect();
    assert_eq!(failed, ["knowledge.contradictions"], "{answer}");
}
