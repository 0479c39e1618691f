//! `ken add` with flags.

use crate::cli::support::{
    add_lesson, folder_with_ledger, repository_with_ledger, write_pay_source,
};

const ADD_WITH_ALL_FLAGS: [&str; 25] = [
    "add",
    "--kind",
    "learning",
    "--statement",
    "Charging twice is safe: the key is idempotent",
    "--anchor",
    "src/pay.rs#Ledger::charge",
    "--anchor",
    "src/pay.rs:10-20",
    "--verify",
    "cargo test pay",
    "--cite",
    "commit:3fce3b5",
    "--tag",
    "payments",
    "--depends-on",
    "file:src/pay.rs",
    "--lens",
    "correctness",
    "--polarity",
    "positive",
    "--decay",
    "stable",
    "--thread",
    "t1",
];

#[test]
fn a_norm_needs_a_citation_of_its_own() {
    let env = repository_with_ledger();
    let add = ["add", "Sign every commit", "--kind", "commit-norm"];
    let refused = env.run(add);
    assert_eq!(refused.exit, 1, "{refused}");
    assert!(refused.stderr.contains("provenance required"), "{refused}");
    let _ = env.run(add.into_iter().chain(["--cite", "pr:7"])).success();
    // A lesson may cite the commit at which it was learned.
    let _ = env.run(["add", "Commits are signed here"]).success();
}

#[test]
fn an_agent_cannot_cite_in_the_name_of_a_person() {
    let env = folder_with_ledger();
    let content = r#"{"statement":"Queues are drained first.","kind":"learning","provenance":[
        {"evidence_type":"pr","evidence_ref":"7","cited_by":"human:boss","cited_at":5}]}"#;
    let add = |by: &str| env.run(["add", "--content", content, "--by", by]);
    let refused = add("agent:evil");
    assert_eq!(refused.exit, 2, "{refused}");
    let why = "agent:evil cannot cite in the name of human:boss";
    assert!(refused.stderr.contains(why), "{refused}");
    let _ = add("human:ada").success();
}

#[test]
fn a_claim_can_be_written_in_the_editor() {
    let env = folder_with_ledger();
    env.write(
        "editor.sh",
        "printf 'Queues are drained first.\\n# a comment\\n' > \"$1\"",
    );
    let env = env.env("EDITOR", "sh editor.sh");
    let add = ["add", "--editor", "--cite", "pr:7", "--format", "json"];
    let added = env.run(add).success().json();
    assert_eq!(added["statement"], "Queues are drained first.");
    assert_eq!(added["kind"], "learning");
    // The template alone is an empty text.
    let env = env.env("EDITOR", "true");
    insta::assert_snapshot!(env.run(add), @r#"
    exit: 2
    ----- stderr -----
    {"schema":"ken.error.v1","code":"usage","message":"nothing was recorded: the text is empty","hint":"`ken add \"TEXT\"` adds a claim; `ken add --help` shows other ways"}
    "#);
    assert_eq!(
        env.names(".ken/.local")
            .iter()
            .filter(|it| it.starts_with("ADD"))
            .count(),
        0
    );
    let piped = env.run_with("Queues are drained last.", ["add", "-", "--cite", "pr:7"]);
    let _ = piped.success();
}

#[test]
fn a_long_text_becomes_a_statement_and_a_body() {
    let env = folder_with_ledger();
    let long =
        "Drain queues first. Then stop workers. Then close the store. Otherwise zebras are lost.";
    let added = env
        .run(["add", long, "--cite", "pr:7", "--format", "json"])
        .success()
        .json();
    assert_eq!(
        added["statement"],
        "Drain queues first. Then stop workers. Then close the store."
    );
    assert_eq!(added["content"]["body"], "Otherwise zebras are lost.");
    let id = added["id"].as_str().expect("an id").to_owned();
    let shown = env.run(["show", &id]).success().stdout;
    assert!(shown.contains("Otherwise zebras are lost."), "{shown}");
    // The body is in the entry's file, which parses to the same content.
    let file = added["file"].as_str().expect("a file");
    assert!(
        env.read(file)
            .contains("<!-- body -->\nOtherwise zebras are lost.")
    );
    assert!(
        env.run(["sync"])
            .success()
            .stderr
            .contains("recorded 0 hand edits")
    );
    let found = env.run(["search", "zebras"]).success().stdout;
    assert!(found.contains(&id), "{found}");
    let line = serde_json::json!({"kind": "learning", "statement": long.replace("queues", "pumps"), "cite": ["pr:8"]});
    let run = env.run_with(&line.to_string(), ["add", "--from-jsonl", "-"]);
    let _ = run.success();
    let cleared = env
        .run(["edit", &id, "--clear", "body", "--format", "json"])
        .success()
        .json();
    assert_eq!(cleared["content"].get("body"), None);
}

#[test]
fn entries_of_equal_polarity_are_similar_and_not_contradicting() {
    let env = folder_with_ledger();
    let add = |statement: &str, polarity: &str| {
        let args = ["add", statement, "--cite", "pr:7", "--polarity", polarity];
        env.run(args).success()
    };
    let one = add(
        "Use the repository for database access in handlers",
        "positive",
    )
    .line();
    let two = add(
        "Use the repository for database calls in handlers",
        "positive",
    );
    assert!(!two.stderr.contains("may contradict"), "{two}");
    assert!(two.stderr.contains(&format!("similar to {one}")), "{two}");
}

#[test]
fn a_false_positive_about_the_file_of_a_pattern_is_named() {
    let env = folder_with_ledger();
    env.write("src/pay.rs", "pub fn charge() {}\n");
    let add = |kind: &str, statement: &str| {
        let args = ["add", statement, "--kind", kind, "--cite", "pr:7"];
        let args = args.into_iter().chain(["--anchor", "src/pay.rs"]);
        env.run(args).success()
    };
    let pattern = add("pattern", "Unchecked sums hide an overflow here").line();
    let run = add("false-positive", "The additions in this module never wrap");
    assert!(
        run.stderr.contains(&format!("may contradict {pattern}")),
        "{run}"
    );
}

#[test]
fn similar_and_contradicting_entries_are_named() {
    let env = folder_with_ledger();
    let one = env
        .run(["add", "Always retry a failed charge", "--cite", "pr:7"])
        .success()
        .line();
    insta::assert_snapshot!(env.run(["add", "Retry a failed charge always", "--cite", "pr:8"]), @r#"
    exit: 0
    ----- stdout -----
    L-h9xr3ac9
    ----- stderr -----
    note: similar to L-205zr7j2 ("Always retry a failed charge"); `ken entry merge L-h9xr3ac9 --into L-205zr7j2` merges them, `ken entry supersede L-205zr7j2 L-h9xr3ac9` replaces it, `ken undo` removes the new one
    added as candidate: .ken/entries/L-h9xr3ac9-retry-a-failed-charge-always.md
    "#);
    let run = env
        .run(["add", "Never retry a failed charge", "--cite", "pr:9"])
        .success();
    assert!(
        run.stderr.contains(&format!("may contradict {one}")),
        "{}",
        run.stderr
    );
    // An agent gets ids without text, in JSON and in text.
    let add = [
        "add",
        "Always retry the failed charge",
        "--cite",
        "pr:9",
        "--by",
        "agent:x",
    ];
    let run = env.run(add).success();
    assert!(
        run.stderr.contains(&format!("similar to {one}; ")),
        "{}",
        run.stderr
    );
    let add = [
        "add",
        "A failed charge is always retried",
        "--cite",
        "pr:9",
        "--format",
        "json",
    ];
    let related = env.run(add).success().json()["related"].clone();
    assert!(related.to_string().contains(&one), "{related}");
}

#[test]
fn kinds_and_their_details_can_be_looked_up() {
    let env = folder_with_ledger();
    let help = env.run(["add", "--help"]).success().stdout;
    for line in [
        "spike:",
        "a question that an experiment answered",
        "decision:",
    ] {
        assert!(help.contains(line), "{line} in {help}");
    }
    insta::assert_snapshot!(env.run(["add", "Is it fast?", "--kind", "spike", "--cite", "pr:7"]), @r#"
    exit: 1
    ----- stderr -----
    error: an entry of kind `spike` needs details: question, answer and confidence

    hint: add --detail '{"question":"Is X fast enough?","answer":"Yes, 2 ms","confidence":"conclusive"}' (or "inconclusive")
    "#);
    let detail = r#"{"question":"Is it fast?","answer":"yes","confidence":"high"}"#;
    let spike = [
        "add",
        "It is fast",
        "--kind",
        "spike",
        "--cite",
        "pr:7",
        "--detail",
        detail,
    ];
    insta::assert_snapshot!(env.run(spike), @r#"
    exit: 2
    ----- stderr -----
    error: invalid details for a spike (answer, confidence, of, question): unknown variant `high`, expected `conclusive` or `inconclusive`

    hint: a spike takes --detail '{"question":"Is X fast enough?","answer":"Yes, 2 ms","confidence":"conclusive"}' (or "inconclusive")
    "#);
    let relationship = [
        "add",
        "A uses B",
        "--kind",
        "relationship",
        "--cite",
        "pr:7",
    ];
    insta::assert_snapshot!(env.run(relationship), @r#"
    exit: 1
    ----- stderr -----
    error: an entry of kind `relationship` needs details: from, rel and to

    hint: add --detail '{"from":"E-7k2f","rel":"depends on","to":"E-9d2c"}'; from and to are ids or aliases of entities (`ken list --kind entity`)
    "#);
}

#[test]
fn an_entry_is_added_and_shown_with_everything_it_was_given() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    insta::assert_snapshot!(env.run(ADD_WITH_ALL_FLAGS), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    added as candidate: .ken/entries/L-205zr7j2-charging-twice-is-safe-the-key-is.md
    ");
    insta::assert_snapshot!(env.run(["show", "L"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2  learning  candidate

    Charging twice is safe: the key is idempotent

    anchors    src/pay.rs#Ledger::charge
               src/pay.rs:10-20
    verify     1. cargo test pay
    tags       payments
    conditions file:src/pay.rs
    lens       correctness
    polarity   positive
    decay      stable
    cites      commit:3fce3b5 (human:ada@example.org, 2026-01-02)
    confirmed  not yet; added 2026-01-02
    thread     t1
    added      2026-01-02 by human:ada@example.org, workspace scope
    history    1 event, the last on 2026-01-02: `ken log L-205zr7j2`
    file       .ken/entries/L-205zr7j2-charging-twice-is-safe-the-key-is.md
    confidence 0.50 (evidence of use: none yet)
    ");
}

#[test]
fn add_answers_programs_with_the_whole_entry() {
    let env = folder_with_ledger();
    write_pay_source(&env);
    let run =
        env.run(
            ADD_WITH_ALL_FLAGS
                .into_iter()
                .chain(["--format", "json", "--by", "agent:tester"]),
        );
    insta::assert_snapshot!(run, @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.entry.v1","id":"L-205zr7j2","archived":null,"citations":[{"cited_at":1767323105,"cited_by":"agent:tester","evidence_ref":"3fce3b5","evidence_type":"commit"}],"concurrent":[],"confirmation":{"by":"01KDYAMXQ8EV7BZJ26205ZR7J2","independent":0,"last":"2026-01-02","manual":0,"primed":0,"provenance":"independent","unwitnessed":0},"content":{"decay":"stable","depends_on":["file:src/pay.rs"],"evidence":[{"at":"src/pay.rs#Ledger::charge","fingerprint":"s1:faa5c55d641f45c153d9fa5b9aa201b2"},{"at":"src/pay.rs:10-20","fingerprint":"l1:964a11f3a53fd7cfa2b1554b22d83cde"}],"lens":"correctness","polarity":"positive","statement":"Charging twice is safe: the key is idempotent","tags":["payments"],"verify":["cargo test pay"]},"created":{"at":"2026-01-02T03:05:05.000Z/0000/zyfxk4","by":"agent:tester","event":"01KDYAMXQ8EV7BZJ26205ZR7J2","kind":"learning","origin":"agent","schema_version":"1.0.0","slug":"charging-twice-is-safe-the-key-is","thread":"t1"},"file":".ken/entries/L-205zr7j2-charging-twice-is-safe-the-key-is.md","history":{"blanked":0,"collisions":[],"events":1,"first":"2026-01-02T03:05:05.000Z/0000/zyfxk4","last":"2026-01-02T03:05:05.000Z/0000/zyfxk4","unknown":0},"kind":"learning","links":[],"memory":"semantic","merged_from":[],"merged_into":null,"overlays":{},"provenance":[{"cited_at":1767323105,"cited_by":"agent:tester","evidence_ref":"3fce3b5","evidence_type":"commit"}],"quarantine":[],"retracted":null,"revision":["01KDYAMXQ8EV7BZJ26205ZR7J2"],"schema_version":"1.0.0","scope":{"heads":["01KDYAMXQ8EV7BZJ26205ZR7J2"],"value":"workspace"},"statement":"Charging twice is safe: the key is idempotent","status":{"heads":["01KDYAMXQ8EV7BZJ26205ZR7J2"],"value":"candidate"},"superseded_by":null,"tallies":{"blind":0,"days":{},"reset":null,"shown":0,"unhelpful":0},"type":"learning"}
    ----- stderr -----
    {"schema":"ken.notice.v1","message":"`commit:3fce3b5` was not checked: this folder is not in git"}
    "#);
}

#[test]
fn the_answer_begins_with_schema_and_id() {
    let env = folder_with_ledger();
    write_pay_source(&env);
    let run = env
        .run(ADD_WITH_ALL_FLAGS.into_iter().chain(["--format", "json"]))
        .success();
    assert!(
        run.stdout
            .starts_with(r#"{"schema":"ken.entry.v1","id":"L-"#),
        "{run}"
    );
}

#[test]
fn a_spike_an_entity_and_a_relationship_carry_their_details() {
    let env = folder_with_ledger();
    let cite = ["--cite", "test:bench"];
    let spike = [
        "add",
        "--kind",
        "spike",
        "--statement",
        "SQLite holds 100,000 entries in 40 MB",
        "--detail",
        r#"{"question":"How large?","answer":"40 MB","confidence":"conclusive"}"#,
    ];
    let _ = env.run(spike.into_iter().chain(cite)).success();
    for name in ["Ledger", "Index"] {
        let detail = format!(r#"{{"name":"{name}"}}"#);
        let alias = name.to_lowercase();
        let entity = [
            "add",
            "--kind",
            "entity",
            "--statement",
            "A part of Ken",
            "--detail",
            &detail,
            "--alias",
            &alias,
        ];
        let _ = env.run(entity.into_iter().chain(cite)).success();
    }
    let relationship = [
        "add",
        "--kind",
        "relationship",
        "--statement",
        "The index follows from the ledger",
        "--detail",
        r#"{"from":"index","rel":"follows from","to":"ledger"}"#,
    ];
    let _ = env.run(relationship.into_iter().chain(cite)).success();
    insta::assert_snapshot!(env.run(["list"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND          STATUS     CONFIRMED  TITLE
    R-9p9sedqr  relationship  candidate  not yet    The index follows from the ledger
    E-d95shc1g  entity        candidate  not yet    A part of Ken
    E-h9xr3ac9  entity        candidate  not yet    A part of Ken
    S-205zr7j2  spike         candidate  not yet    SQLite holds 100,000 entries in 40 MB
    ----- stderr -----
    4 entries
    ");
    insta::assert_snapshot!(env.run(["show", "R"]), @r#"
    exit: 0
    ----- stdout -----
    R-9p9sedqr  relationship  candidate

    The index follows from the ledger

    anchors    none
    decay      ephemeral
    details    {"of":"relationship","from":"E-d95shc1g","rel":"follows from","to":"E-h9xr3ac9"}
    cites      test:bench (human:ada, 2026-01-02)
    confirmed  not yet; added 2026-01-02
    added      2026-01-02 by human:ada, workspace scope
    history    1 event, the last on 2026-01-02: `ken log R-9p9sedqr`
    file       .ken/entries/R-9p9sedqr-the-index-follows-from-the-ledger.md
    confidence 0.50 (evidence of use: none yet)
    "#);
}

#[test]
fn both_ends_of_a_relationship_name_it() {
    let env = folder_with_ledger();
    let add = |kind: &str, statement: &str, detail: &str| {
        let args = [
            "add",
            "--kind",
            kind,
            "--cite",
            "pr:1",
            "--statement",
            statement,
        ];
        env.run(args.into_iter().chain(["--detail", detail]))
            .success()
            .line()
    };
    let ledger = add("entity", "The source of truth", r#"{"name":"Ledger"}"#);
    let index = add("entity", "What search reads", r#"{"name":"Index"}"#);
    let detail = format!(r#"{{"from":"{index}","rel":"follows from","to":"{ledger}"}}"#);
    let id = add("relationship", "The index follows from the ledger", &detail);
    for entity in [&index, &ledger] {
        let run = env.run(["show", entity]).success();
        let related = format!("related    {index} follows from {ledger} ({id})\n");
        assert!(run.stdout.contains(&related), "{run}");
        let json = env.run(["show", entity, "--format", "json"]).json();
        let edge =
            serde_json::json!({"id": id, "from": index, "rel": "follows from", "to": ledger});
        assert_eq!(json["relationships"], serde_json::json!([edge]));
    }
    let _ = env.run(["retract", &id]).success();
    let run = env.run(["show", &ledger]).success();
    assert!(!run.stdout.contains("related"), "{run}");
}

#[test]
fn kinds_polarities_and_decay_classes_are_those_listed() {
    let env = folder_with_ledger();
    let add = |flag: &str, value: &str| {
        let statement = format!("A claim about {value}");
        let args = ["add", &statement, flag, value, "--cite", "pr:7"];
        env.run(args.into_iter().chain(["--format", "json"]))
    };
    for kind in ["decision", "convention", "learning", "bug"] {
        let entry = add("--kind", kind).success().json();
        assert_eq!(entry["kind"], kind);
        assert_eq!(entry["memory"], "semantic");
    }
    for (field, value) in [
        ("polarity", "positive"),
        ("polarity", "negative"),
        ("decay", "ephemeral"),
        ("decay", "stable"),
        ("decay", "permanent"),
    ] {
        let entry = add(&format!("--{field}"), value).success().json();
        assert_eq!(entry["content"][field], value);
        let id = entry["id"].as_str().expect("an id");
        let shown = env.run(["show", id]).success().stdout;
        let line = format!("{field:<10} {value}");
        assert!(shown.lines().any(|it| it == line), "{line} in {shown}");
    }
    for (flag, value) in [
        ("--kind", "opinion"),
        ("--polarity", "neutral"),
        ("--decay", "never"),
    ] {
        let refused = add(flag, value);
        assert_eq!(refused.exit, 2, "{refused}");
    }
    let plain = add("--tag", "pay").success().json();
    assert_eq!(plain["content"]["decay"], "ephemeral");
    let id = plain["id"].as_str().expect("an id");
    let edit = ["edit", id, "--polarity", "negative"];
    let edited = env.run(edit.into_iter().chain(["--format", "json"]));
    let edited = edited.success().json();
    assert_eq!(edited["content"]["polarity"], "negative");
    let text = env.read(edited["file"].as_str().expect("a path"));
    assert!(text.contains("\npolarity: negative\n"), "{text}");
}

#[test]
fn each_of_the_five_citation_types_is_kept_with_its_reference() {
    let env = folder_with_ledger();
    let add = |cite: &str| {
        let statement = format!("A claim that cites {cite}");
        let args = ["add", &statement, "--cite", cite, "--format", "json"];
        env.run(args)
    };
    for cite in [
        "commit:3fce3b5",
        "pr:142",
        "doc:docs/a.md",
        "test:ci/17",
        "transcript:ab12",
    ] {
        let entry = add(cite).success().json();
        let citation = &entry["citations"][0];
        let (kind, reference) = cite.split_once(':').expect("a type");
        assert_eq!(citation["evidence_type"], kind);
        assert_eq!(citation["evidence_ref"], reference);
    }
    let refused = add("hearsay:bob");
    assert_eq!(refused.exit, 2, "{refused}");
}

#[test]
fn content_that_breaks_the_schema_leaves_the_ledger_alone() {
    let env = folder_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    let ledger = || {
        let names = env.names(".ken/semantic/v1").into_iter();
        let lines = names.map(|it| env.read(&format!(".ken/semantic/v1/{it}")));
        lines.collect::<String>()
    };
    let before = ledger();
    for content in [
        r#"{"statement":"A claim","cite":["pr:1"],"stars":5}"#,
        r#"{"statement":5,"cite":["pr:1"]}"#,
        r#"{"statement":"A claim","cite":["pr:1"],"tags":["Not A Tag"]}"#,
        r#"{"statement":"A claim","cite":["pr:1"],"decay":"never"}"#,
        r#"{"statement":"A claim","cite":["pr:1"],"kind":"spike"}"#,
        r#"{"statement":"A claim"}"#,
    ] {
        let run = env.run(["add", "--content", content]);
        assert_ne!(run.exit, 0, "{content}: {run}");
        assert_eq!(ledger(), before, "{content}");
    }
}

#[test]
fn quiet_leaves_only_the_answer() {
    let env = folder_with_ledger();
    write_pay_source(&env);
    let run = env
        .run(ADD_WITH_ALL_FLAGS.into_iter().chain(["-q"]))
        .success();
    assert_eq!(run.stderr, "");
    assert_eq!(run.stdout.lines().count(), 1);
}

#[test]
fn text_no_reader_can_see_is_set_apart_until_a_person_lifts_it() {
    let env = folder_with_ledger();
    let hidden = "Charging twice is safe\u{202e}, really";
    let args = [
        "add",
        "--kind",
        "learning",
        "--statement",
        hidden,
        "--cite",
        "pr:1",
    ];
    let added = env.run(args);
    insta::assert_snapshot!(added, @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    note: L-205zr7j2 is quarantined: invisible text (bidi-control) in `statement`; a person can release it with `ken guard quarantine release L-205zr7j2 --reason TEXT`
    added as candidate: .ken/entries/L-205zr7j2-charging-twice-is-safe-really.md
    ");
    let id = added.line();
    insta::assert_snapshot!(env.run(["list"]), @"
    exit: 0
    ----- stderr -----
    no entries
    hint: `ken list --all` includes archived and retracted entries; `ken add --help` shows how to add one
    ");
    insta::assert_snapshot!(env.run(["list", "--all"]), @r"
    exit: 0
    ----- stdout -----
    ID          KIND      STATUS     CONFIRMED  TITLE                                   LABELS
    L-205zr7j2  learning  candidate  not yet    Charging twice is safe\u{202e}, really  quarantined
    ----- stderr -----
    1 entry
    ");
    let lift = [
        "guard",
        "quarantine",
        "release",
        &id,
        "--reason",
        "looked at it",
    ];
    insta::assert_snapshot!(env.run(lift.into_iter().chain(["--by", "agent:x"])), @"
    exit: 1
    ----- stderr -----
    error: releasing an entry from quarantine requires a person; agent:x is not one

    hint: ask a person to run this command
    ");
    insta::assert_snapshot!(env.run(lift), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    released; its status is candidate
    ");
    insta::assert_snapshot!(env.run(lift), @"
    exit: 1
    ----- stderr -----
    error: L-205zr7j2 is not quarantined
    ");
}

#[test]
fn a_claim_retracted_as_false_is_refused_until_a_person_overrides() {
    let env = folder_with_ledger();
    let add = [
        "add",
        "--kind",
        "learning",
        "--statement",
        "Charging twice is safe",
        "--cite",
        "pr:1",
    ];
    let id = env.run(add).success().line();
    let retract = [
        "retract",
        &id,
        "--reason",
        "false",
        "--note",
        "it was charged twice",
    ];
    let _ = env.run(retract).success();
    insta::assert_snapshot!(env.run(add), @"
    exit: 1
    ----- stderr -----
    error: this claim was retracted as false (L-205zr7j2); a person can add it with --override L-205zr7j2

    hint: `ken show L-205zr7j2` shows who retracted it and why
    ");
    let over = ["--override", &id];
    insta::assert_snapshot!(env.run(add.into_iter().chain(over).chain(["--by", "agent:x"])), @"
    exit: 1
    ----- stderr -----
    error: overriding a retraction requires a person; agent:x is not one

    hint: ask a person to run this command
    ");
    insta::assert_snapshot!(env.run(add.into_iter().chain(over)), @"
    exit: 0
    ----- stdout -----
    L-p8wn3qws
    ----- stderr -----
    added as candidate: .ken/entries/L-p8wn3qws-charging-twice-is-safe.md
    ");
}

#[test]
fn plain_text_is_a_learning_that_cites_the_current_commit() {
    let env = repository_with_ledger();
    let id = env
        .run(["add", "Charging twice is safe with a key"])
        .success()
        .line();
    let head = env.git(["rev-parse", "HEAD"]).trim().to_owned();
    let entry = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(entry["created"]["kind"], "learning", "{entry}");
    assert_eq!(entry["citations"][0]["evidence_type"], "commit", "{entry}");
    let cited = entry["citations"][0]["evidence_ref"]
        .as_str()
        .expect("a hash");
    assert!(cited.len() >= 7 && head.starts_with(cited), "{entry}");
    let kind = [
        "add",
        "We keep amounts in cents",
        "--kind",
        "decision",
        "--cite",
        "pr:7",
    ];
    let id = env.run(kind).success().line();
    let entry = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(entry["created"]["kind"], "decision", "{entry}");
    assert_eq!(entry["citations"][0]["evidence_ref"], "7", "{entry}");
}

#[test]
fn plain_text_needs_a_citation_where_there_is_no_commit() {
    let env = folder_with_ledger();
    let run = env.run(["add", "Charging twice is safe with a key"]);
    assert_eq!(env.run(["list"]).success().stdout, "", "nothing is written");
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("provenance required"), "{run}");
}
