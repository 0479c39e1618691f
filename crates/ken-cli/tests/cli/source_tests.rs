//! The three tests of the knowledge store's specification, under their original names.

use serde_json::json;

use crate::cli::support::folder_with_ledger;

#[test]
fn test_semantic_schema_stability() {
    let env = folder_with_ledger();
    let entry = json!({
        "id": "entity.test.001",
        "type": "entity",
        "schema_version": "1.0.0",
        "name": "TestEntity",
        "description": "A test entity",
        "provenance": [{
            "evidence_type": "commit",
            "evidence_ref": "abc123",
            "cited_by": "agent-test",
            "cited_at": 1_700_000_000
        }]
    });
    let entry = entry.to_string();
    let output = env.run([
        "knowledge",
        "add",
        "--type",
        "semantic",
        "--content",
        &entry,
    ]);
    assert_eq!(output.exit, 0, "{output}");

    let read = env.run(["knowledge", "show", "entity.test.001"]);
    assert_eq!(read.json()["id"], "entity.test.001");
}

#[test]
fn test_provenance_required_for_procedural() {
    let env = folder_with_ledger();
    let entry = json!({
        "id": "norm.commit.001",
        "type": "commit_norm",
        "rule": "Use conventional commits",
    });
    let entry = entry.to_string();
    let args = [
        "knowledge",
        "add",
        "--type",
        "procedural",
        "--norm-type",
        "commit",
        "--content",
        &entry,
    ];
    let output = env.run(args);
    assert_eq!(output.exit, 1, "{output}");
    assert!(output.stderr.contains("provenance required"), "{output}");
}

#[test]
fn test_friction_cannot_directly_enter_procedural() {
    let env = folder_with_ledger();
    let record = [
        "health",
        "friction",
        "record",
        "--type",
        "validation_fail",
        "--context",
        r#"{"test":"fail"}"#,
    ];
    let friction = env.run(record).success().line();

    for from in ["episodic/friction", "episodic", "friction", &friction] {
        let output = env.run(["knowledge", "promote", "--from", from, "--to", "procedural"]);
        assert_eq!(output.exit, 1, "{output}");
        assert!(
            output.stderr.contains("directional flow violation"),
            "{output}"
        );
    }
}
