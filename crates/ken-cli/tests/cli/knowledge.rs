//! `ken knowledge …`, the spelling of commands in knowledge stores, row by row.

use ken_core::ledger::event::{EventBody, FrictionRecorded};
use ken_core::values::content::FrictionType;
use ken_testkit::build::EventWriter;
use serde_json::{Value, json};

use crate::cli::support::{add_lesson, folder_with_ledger, repository_with_ledger};

#[test]
fn add_semantic_takes_evidence_and_content() {
    let env = folder_with_ledger();
    let content =
        r#"{"id":"entity.pay","type":"entity","name":"Payments","description":"Charges cards"}"#;
    let args = [
        "knowledge",
        "add",
        "--type",
        "semantic",
        "--evidence",
        "abc123",
        "--content",
        content,
    ];
    insta::assert_snapshot!(env.run(args), @"
    exit: 0
    ----- stdout -----
    E-205zr7j2
    ----- stderr -----
    note: `commit:abc123` was not checked: this folder is not in git
    added as candidate: .ken/entries/E-205zr7j2-charges-cards.md
    ");
    let shown = env
        .run(["knowledge", "show", "entity.pay"])
        .success()
        .json();
    assert_eq!(shown["provenance"][0]["evidence_type"], "commit");
    assert_eq!(shown["provenance"][0]["evidence_ref"], "abc123");
    assert_eq!(shown["memory"], "semantic");
    assert_eq!(shown["type"], "entity");
    assert_eq!(shown["name"], "Payments");
    assert_eq!(shown["description"], "Charges cards");
    assert_eq!(env.names(".ken/semantic/v1").len(), 1);
    insta::assert_snapshot!(env.run(args), @"
    exit: 1
    ----- stderr -----
    error: `entity.pay` already names E-205zr7j2

    hint: `ken edit E-205zr7j2` edits it, `ken entry cite E-205zr7j2 TYPE:REF` adds a citation
    ");
}

#[test]
fn add_procedural_takes_a_norm_type() {
    let env = folder_with_ledger();
    for (norm, kind) in [
        ("commit", "commit-norm"),
        ("pr", "pr-expectation"),
        ("expectation", "user-expectation"),
        ("risk", "risk-tier"),
    ] {
        let content =
            json!({ "id": format!("norm.{norm}.001"), "rule": format!("Mind the {norm}") });
        let content = content.to_string();
        let args = [
            "knowledge",
            "add",
            "--type",
            "procedural",
            "--norm-type",
            norm,
            "--evidence",
            "pr:142",
            "--content",
            &content,
            "--format",
            "json",
        ];
        let added = env.run(args).success().json();
        assert_eq!(added["kind"], kind);
        assert_eq!(added["rule"], format!("Mind the {norm}"));
        assert_eq!(added["provenance"][0]["evidence_type"], "pr");
        let alias = format!("norm.{norm}.001");
        let show = ["knowledge", "show", &alias, "--format", "json"];
        let shown = env.run(show).success().json();
        assert_eq!(shown["id"], alias.as_str(), "{shown}");
        assert_eq!(shown["type"], kind.replace('-', "_"), "{shown}");
        assert_eq!(shown["rule"], added["rule"]);
    }
    let args = [
        "knowledge",
        "add",
        "--type",
        "procedural",
        "--evidence",
        "a1",
        "--content",
        r#"{"rule":"x"}"#,
    ];
    insta::assert_snapshot!(env.run(args), @"
    exit: 2
    ----- stderr -----
    error: the kind of norm is missing

    hint: add --norm-type commit, pr, expectation or risk
    ");
    let args = [
        "knowledge",
        "add",
        "--type",
        "semantic",
        "--norm-type",
        "commit",
        "--evidence",
        "a1",
        "--content",
        r#"{"rule":"x"}"#,
    ];
    insta::assert_snapshot!(env.run(args), @"
    exit: 2
    ----- stderr -----
    error: a commit-norm belongs to procedural memory, not semantic
    ");
}

#[test]
fn list_semantic_with_a_limit() {
    let env = folder_with_ledger();
    for i in 1..=3 {
        let _ = add_lesson(&env, &format!("Lesson number {i}"));
    }
    let args = ["knowledge", "list", "--type", "semantic", "--limit", "2"];
    insta::assert_snapshot!(env.run(args), @"
    exit: 0
    ----- stdout -----
    ID          KIND      STATUS     CONFIRMED  TITLE
    L-d95shc1g  learning  candidate  not yet    Lesson number 3
    L-h9xr3ac9  learning  candidate  not yet    Lesson number 2
    ----- stderr -----
    2 entries; --limit may hide more
    ");
    let norm = ["add", "--kind", "commit-norm", "--cite", "pr:1"];
    let norm = norm.into_iter().chain(["--statement", "Sign every commit"]);
    let norm = env.run(norm).success().line();
    let all = env
        .run(["knowledge", "list", "--type", "semantic"])
        .success();
    assert_eq!(all.stdout.lines().count(), 4, "{all}");
    assert!(!all.stdout.contains(&norm), "{all}");
}

#[test]
fn list_procedural_by_norm_type() {
    let env = folder_with_ledger();
    for (kind, text) in [
        ("commit-norm", "Use conventional commits"),
        ("pr-expectation", "Small ones"),
    ] {
        let _ = env
            .run(["add", "--kind", kind, "--statement", text, "--cite", "pr:1"])
            .success();
    }
    let args = [
        "knowledge",
        "list",
        "--type",
        "procedural",
        "--norm-type",
        "commit",
    ];
    insta::assert_snapshot!(env.run(args), @"
    exit: 0
    ----- stdout -----
    ID          KIND         STATUS     CONFIRMED  TITLE
    N-205zr7j2  commit-norm  candidate  not yet    Use conventional commits
    ----- stderr -----
    1 entry
    ");
    let _ = add_lesson(&env, "Commits are signed here");
    let all = env
        .run(["knowledge", "list", "--type", "procedural"])
        .success();
    assert_eq!(all.stdout.lines().count(), 3);
}

#[test]
fn show_answers_in_canonical_json() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let run = env.run(["knowledge", "show", &id]).success();
    assert_eq!(
        ken_core::ledger::canonical::check(run.stdout.trim_end()).err(),
        None,
        "{run}"
    );
    assert_eq!(run.json()["id"], id.as_str());
    assert!(
        env.run(["knowledge", "show", &id, "--format", "text"])
            .stdout
            .starts_with(&id)
    );
}

#[test]
fn verify_checks_schema_provenance_and_links() {
    let env = repository_with_ledger();
    let a = add_lesson(&env, "Charging twice is safe");
    let b = add_lesson(&env, "Refunds are asynchronous");
    let _ = env.run(["entry", "link", &a, &b]).success();
    insta::assert_snapshot!(env.run(["knowledge", "verify"]), @"
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
    passes: 2 entries, 3 events, 0 findings
    ");
    insta::assert_snapshot!(env.run(["verify", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.verify.v1","passes":true,"entries":2,"events":3,"gates":[{"gate":"knowledge.schema","verdict":"pass","findings":0},{"gate":"knowledge.guard","verdict":"pass","findings":0},{"gate":"knowledge.redacted","verdict":"pass","findings":0},{"gate":"knowledge.provenance","verdict":"pass","findings":0},{"gate":"knowledge.links","verdict":"pass","findings":0},{"gate":"knowledge.staleness","verdict":"pass","findings":0},{"gate":"knowledge.contradictions","verdict":"pass","findings":0},{"gate":"episodic.no_backflow","verdict":"pass","findings":0},{"gate":"knowledge.validity","verdict":"pass","findings":0},{"gate":"knowledge.decisions","verdict":"pass","findings":0}],"findings":[],"unrecorded_edits":0,"checked":0,"parsed":0,"invalid":[],"invalid_before":[],"moved":[],"unverifiable":[],"norms":[],"brings":[]}
    "#);
}

#[test]
fn verify_fails_on_an_edit_that_cannot_be_read() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    let name = env.names(".ken/entries").remove(0);
    let path = format!(".ken/entries/{name}");
    env.write(
        &path,
        &env.read(&path).replace("tags: []", "tags: [\"Not A Tag\"]"),
    );
    insta::assert_snapshot!(env.run(["verify"]), @"
    exit: 1
    ----- stdout -----
    error .ken/entries/L-205zr7j2-charging-twice-is-safe.md: this edit cannot be recorded: its `tags` cannot be read: tag `Not A Tag`: write lowercase words joined by `/`, such as auth/jwt; correct the file and run `ken sync` [knowledge.schema]
    fail  knowledge.schema (1 finding)
    pass  knowledge.guard
    pass  knowledge.redacted
    pass  knowledge.provenance
    pass  knowledge.links
    pass  knowledge.staleness
    pass  knowledge.contradictions
    pass  episodic.no_backflow
    pass  knowledge.validity
    pass  knowledge.decisions
    fails: 1 entry, 1 event, 1 finding
    ");
}

#[test]
fn friction_record_keeps_type_and_context() {
    let env = folder_with_ledger();
    for (kind, context) in [
        ("tool_error", r#"{"tool":"cargo","exit":101}"#),
        ("redo", r#"["second try"]"#),
        ("validation_fail", r#"{"test":"fail"}"#),
        ("validation_fail", r#"{"test":"fail"}"#),
    ] {
        let _ = env
            .run([
                "health",
                "friction",
                "record",
                "--type",
                kind,
                "--context",
                context,
            ])
            .success();
    }
    insta::assert_snapshot!(env.run(["list"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND      STATUS     CONFIRMED  TITLE
    F-9p9sedqr  friction  candidate  not yet    A validation did not pass: test fail
    F-d95shc1g  friction  candidate  not yet    A validation did not pass: test fail
    F-h9xr3ac9  friction  candidate  not yet    Work was done again
    F-205zr7j2  friction  candidate  not yet    A tool failed: exit 101, tool cargo
    ----- stderr -----
    4 entries
    ");
    let record = [
        "health",
        "friction",
        "record",
        "--type",
        "tool_error",
        "--context",
    ];
    let redo = ["knowledge", "friction", "record", "--type", "redo"];
    let redo = redo
        .into_iter()
        .chain(["--context", r#"["second try"]"#, "--format", "json"]);
    let kept = env.run(redo).success().json();
    let detail = &kept["content"]["detail"];
    assert_eq!(detail["context"], json!(["second try"]));
    assert_eq!(detail["friction"], "redo");
    insta::assert_snapshot!(env.run(record.into_iter().chain(["not json"])), @r#"
    exit: 2
    ----- stderr -----
    error: --context: invalid JSON: expected ident at column 2

    hint: give one JSON value, such as '{"tool":"cargo"}'
    "#);
}

#[test]
fn friction_report_counts_by_type() {
    let env = folder_with_ledger();
    for kind in ["tool_error", "redo", "redo"] {
        let _ = env
            .run([
                "health",
                "friction",
                "record",
                "--type",
                kind,
                "--context",
                "{}",
            ])
            .success();
    }
    insta::assert_snapshot!(env.run(["health", "friction", "report"]), @"
    exit: 0
    ----- stdout -----
    redo                 2
    tool_error           1
    validation_fail      0
    ----- stderr -----
    3 records
    ");
    insta::assert_snapshot!(env.run(["knowledge", "friction", "report", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.friction.v1","total":3,"by_type":{"redo":2,"tool_error":1,"validation_fail":0}}
    "#);
    // An event of a type that earlier versions wrote counts, too.
    let body = EventBody::FrictionRecorded(FrictionRecorded {
        friction: FrictionType::ValidationFail,
        context: json!({}),
    });
    let earlier = EventWriter::new(5).write(Vec::new(), body);
    let segment = ".ken/episodic/v1/2026-01-01t00-00-aaaaaa.jsonl";
    env.write(segment, &format!("{}\n", earlier.line()));
    let report = ["health", "friction", "report", "--format", "json"];
    let counted = env.run(report).success().json();
    assert_eq!(counted["total"], 4);
    assert_eq!(counted["by_type"]["validation_fail"], 1);
}

#[test]
fn what_is_added_reads_back_the_same() {
    let env = folder_with_ledger();
    let given = json!({
        "id": "entity.test.001", "type": "entity", "schema_version": "1.0.0", "name": "TestEntity",
        "description": "A test entity",
        "provenance": [{
            "evidence_type": "commit", "evidence_ref": "abc123", "cited_by": "agent:agent-test",
            "cited_at": 1_700_000_000,
        }],
    });
    let args = [
        "knowledge",
        "add",
        "--type",
        "semantic",
        "--content",
        &given.to_string(),
    ];
    let _ = env.run(args).success();
    let shown = env.run(["knowledge", "show", "entity.test.001"]).success();
    let canonical = ken_core::ledger::canonical::check(shown.stdout.trim_end());
    assert_eq!(canonical.err(), None, "{shown}");
    let read = shown.json();
    for (key, value) in given.as_object().unwrap() {
        assert_eq!(&read[key], value, "{key}");
    }
    let id = read["entry_id"].as_str().unwrap().to_owned();
    assert_eq!(
        env.run(["knowledge", "show", "entity.test.001"]),
        shown,
        "stable"
    );
    let by_id = env.run(["knowledge", "show", &id]).success().json();
    assert_eq!(by_id["id"], id.as_str());
    assert_eq!(by_id["entry_id"], Value::Null);
}

#[test]
fn provenance_inside_the_content_needs_no_evidence_flag() {
    let env = folder_with_ledger();
    let content = json!({
        "id": "norm.commit.001", "type": "commit_norm", "rule": "Use conventional commits",
        "provenance": [{ "evidence_type": "doc", "evidence_ref": "CONTRIBUTING.md", "cited_by": "agent-test" }],
    });
    let content = content.to_string();
    let args = [
        "knowledge",
        "add",
        "--type",
        "procedural",
        "--content",
        &content,
        "--format",
        "json",
    ];
    let added = env.run(args).success().json();
    assert_eq!(added["provenance"][0]["cited_by"], "agent:agent-test");
    assert_eq!(added["provenance"][0]["cited_at"], 1_767_323_105);
    let show = ["knowledge", "show", "norm.commit.001"];
    let shown = env.run(show).success().json();
    assert_eq!(shown["id"], "norm.commit.001");
    assert_eq!(shown["type"], "commit_norm");
    assert_eq!(shown["rule"], "Use conventional commits");
    assert_eq!(shown["provenance"], added["provenance"]);
    let cites_commit = content
        .replace("\"doc\"", "\"commit\"")
        .replace("CONTRIBUTING.md", "abc123");
    let add = ["knowledge", "add", "--type", "procedural", "--content"];
    let in_git = repository_with_ledger();
    let refused = in_git.run(add.into_iter().chain([cites_commit.as_str()]));
    assert_eq!(refused.exit, 1, "{refused}");
    let why = "`commit:abc123` cannot be cited: no such commit";
    assert!(refused.stderr.contains(why), "{refused}");
}

#[test]
fn friction_record_accepts_raw_json_context() {
    let env = folder_with_ledger();
    let context = r#"{"nested":{"list":[1,2.5,null,true],"text":"as it came"}}"#;
    let args = [
        "health",
        "friction",
        "record",
        "--type",
        "tool_error",
        "--context",
        context,
        "--format",
        "json",
    ];
    let added = env.run(args).success().json();
    let expected: Value = serde_json::from_str(context).unwrap();
    assert_eq!(added["content"]["detail"]["context"], expected);
    assert_eq!(added["content"]["detail"]["friction"], "tool_error");
    let under_knowledge = ["knowledge"].into_iter().chain(args.into_iter().skip(1));
    let added = env.run(under_knowledge).success().json();
    assert_eq!(added["content"]["detail"]["context"], expected);
}

#[test]
fn content_with_a_field_nobody_knows_is_refused_rather_than_dropped() {
    let env = folder_with_ledger();
    let args = [
        "knowledge",
        "add",
        "--type",
        "semantic",
        "--evidence",
        "a1",
        "--content",
    ];
    let with = |json: &'static str| env.run(args.into_iter().chain([json]));
    insta::assert_snapshot!(with("{}"), @"
    exit: 2
    ----- stderr -----
    error: the statement is missing

    hint: add --statement TEXT, or statement, rule or description in the JSON
    ");
    insta::assert_snapshot!(with("nonsense"), @"
    exit: 2
    ----- stderr -----
    error: --content: invalid JSON: expected ident at column 2

    hint: `ken add --help` shows the names of all fields
    ");
    insta::assert_snapshot!(with(r#"{"statement":"a","description":"b"}"#), @"
    exit: 2
    ----- stderr -----
    error: statement, rule and description differ

    hint: they name the same field; give only one of them
    ");
    insta::assert_snapshot!(with(r#"{"type":"commit_norm","rule":"a"}"#), @"
    exit: 2
    ----- stderr -----
    error: a commit-norm belongs to procedural memory, not semantic
    ");
    insta::assert_snapshot!(with(r#"{"statement":"a","schema_version":"2.0.0"}"#), @"
    exit: 2
    ----- stderr -----
    error: schema_version 2.0.0 is not supported; this ken writes 1.0.0
    ");
    insta::assert_snapshot!(with(r#"{"statement":"a","name":"b"}"#), @"
    exit: 0
    ----- stdout -----
    E-tzt3rsgw
    ----- stderr -----
    note: `commit:a1` was not checked: this folder is not in git
    added as candidate: .ken/entries/E-tzt3rsgw-a.md
    ");
    assert!(
        with(r#"{"statement":"a","color":"red"}"#)
            .stderr
            .contains("unknown field `color`")
    );
}
