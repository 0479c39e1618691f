//! Commands that change an entry, in text and JSON.

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};

#[test]
fn revise_words_fields_anew_and_clears_them() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let args = [
        "edit",
        &id,
        "--statement",
        "Charging twice is safe while the key is kept",
        "--tag",
        "pay",
        "--note",
        "after the incident",
    ];
    insta::assert_snapshot!(env.run(args), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    edited statement, tags
    ");
    insta::assert_snapshot!(env.run(["edit", &id, "--clear", "tag"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    edited tags
    ");
    insta::assert_snapshot!(env.run(["edit", &id]), @"
    exit: 2
    ----- stderr -----
    error: no change was given

    hint: add --statement, --tag or another field, or --editor; `ken edit --help` lists them
    ");
    let run = env
        .run(["edit", &id, "--lens", "security", "--format", "json"])
        .success();
    assert_eq!(run.json()["content"]["lens"], "security");
    assert_eq!(run.json()["content"].get("tags"), None);
}

#[test]
fn evidence_is_only_ever_added() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["entry", "cite", &id, "pr:7", "doc:docs/pay.md"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    note: `doc:docs/pay.md` was not checked: this folder is not in git
    cited; the entry has 3 citations
    ");
    insta::assert_snapshot!(env.run(["undo"]), @"
    exit: 1
    ----- stderr -----
    error: a citation (provenance is append-only) cannot be undone

    hint: `ken undo --list` lists your steps; `ken undo STEP` undoes one of them
    ");
    let run = env
        .run(["entry", "cite", &id, "test:ci/9", "--format", "json"])
        .success();
    assert_eq!(run.json()["citations"].as_array().map(Vec::len), Some(4));
}

#[test]
fn confirm_tells_a_person_from_an_agent_that_has_seen_the_entry() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    env.wait_days(10);
    insta::assert_snapshot!(env.run(["confirm", &id, "--by", "agent:x"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    recorded as primed: an agent that was shown an entry cannot confirm it; last confirmed 2026-01-02
    ");
    insta::assert_snapshot!(env.run(["confirm", &id]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    confirmed; last confirmed 2026-01-12
    ");
    let names = env.names(".ken/entries");
    let name = names.iter().find(|it| it.starts_with(&id)).expect("a file");
    let file = env.read(&format!(".ken/entries/{name}"));
    assert!(file.contains("lastConfirmed: 2026-01-12\n"), "{file}");
    let run = env
        .run(["confirm", &id, "--on", "2026-01-05", "--format", "json"])
        .success();
    assert_eq!(run.json()["confirmation"]["last"], "2026-01-12");
    assert_eq!(run.json()["confirmation"]["manual"], 2);
}

#[test]
fn status_moves_on_the_ladder_and_only_a_person_verifies() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["entry", "status", &id, "active", "--note", "two reviews"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    status set to active
    ");
    insta::assert_snapshot!(env.run(["entry", "status", &id, "verified", "--by", "agent:x"]), @"
    exit: 1
    ----- stderr -----
    error: setting the status `verified` requires a person; agent:x is not one

    hint: ask a person to run this command
    ");
    insta::assert_snapshot!(env.run(["entry", "status", &id, "active"]), @"
    exit: 1
    ----- stderr -----
    error: nothing would change
    ");
    let run = env
        .run(["entry", "status", &id, "verified", "--format", "json"])
        .success();
    assert_eq!(run.json()["status"]["value"], "verified");
}

#[test]
fn retract_and_restore_are_there_and_back() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["retract", &id, "--reason", "obsolete"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    retracted as obsolete
    ");
    insta::assert_snapshot!(env.run(["retract", &id]), @"
    exit: 1
    ----- stderr -----
    error: L-205zr7j2 is already retracted

    hint: `ken restore L-205zr7j2` restores it
    ");
    insta::assert_snapshot!(env.run(["list", "--retracted"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND      STATUS     CONFIRMED  TITLE                   LABELS
    L-205zr7j2  learning  candidate  not yet    Charging twice is safe  retracted (obsolete)
    ----- stderr -----
    1 entry
    ");
    insta::assert_snapshot!(env.run(["restore", &id, "--note", "still used"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    restored with status candidate
    ");
    insta::assert_snapshot!(env.run(["restore", &id]), @"
    exit: 1
    ----- stderr -----
    error: L-205zr7j2 is not archived, retracted, merged or superseded
    ");
    let run = env.run(["retract", &id, "--format", "json"]).success();
    assert_eq!(run.json()["retracted"]["reason"], "unwanted");
}

#[test]
fn one_entry_is_archived_and_found_on_its_shelf() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["archive", &id]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    archived; `ken restore L-205zr7j2` restores it
    ");
    insta::assert_snapshot!(env.run(["archive", &id]), @"
    exit: 1
    ----- stderr -----
    error: L-205zr7j2 is already archived

    hint: `ken restore L-205zr7j2` restores it
    ");
    insta::assert_snapshot!(env.run(["list", "--archived"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND      STATUS     CONFIRMED  TITLE                   LABELS
    L-205zr7j2  learning  candidate  not yet    Charging twice is safe  archived
    ----- stderr -----
    1 entry
    ");
}

#[test]
fn archiving_changes_no_confidence() {
    let env = folder_with_ledger();
    let add = [
        "add",
        "Charging twice is safe",
        "--cite",
        "pr:1",
        "--decay",
        "permanent",
    ];
    let id = env.run(add).success().line();
    for _ in 0..8 {
        let _ = env.run(["feedback", &id, "--helpful"]).success();
        env.wait_days(1);
    }
    env.wait_days(50);
    let confidence = || {
        let text = env.run(["show", "--explain", &id]).success().stdout;
        let line = text.lines().find(|it| it.starts_with("confidence"));
        line.expect("a line").to_owned()
    };
    let before = confidence();
    assert!(before.contains("0.64 after 4 observations"), "{before}");
    let _ = env.run(["archive", &id]).success();
    assert_eq!(confidence(), before);
    env.wait_days(30);
    let later = confidence();
    assert!(later.contains("0.50 after 0 observations"), "{later}");
    let _ = env.run(["restore", &id]).success();
    assert_eq!(confidence(), before, "nothing was lost");
}

#[test]
fn each_class_fades_at_its_own_speed() {
    let env = folder_with_ledger();
    let ids = ["ephemeral", "stable", "permanent"].map(|class| {
        let statement = format!("Evidence of the class {class} fades");
        let add = ["add", &statement, "--cite", "pr:1", "--decay", class];
        env.run(add).success().line()
    });
    for _ in 0..10 {
        for id in &ids {
            let _ = env.run(["feedback", id, "--helpful"]).success();
        }
        env.wait_days(1);
    }
    env.wait_days(139);
    for (id, wanted) in ids.iter().zip([
        "0.51 after 0 observations",
        "0.60 after 2 observations",
        "0.67 after 5 observations",
    ]) {
        let shown = env.run(["show", "--explain", id]).success().stdout;
        assert!(shown.contains(wanted), "{shown}");
    }
}

#[test]
fn confidence_fades_when_it_is_read_and_nothing_is_stored() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    for _ in 0..4 {
        let _ = env.run(["feedback", &id, "--helpful"]).success();
        env.wait_days(1);
    }
    let confidence = || {
        let text = env.run(["show", "--explain", &id]).success().stdout;
        let line = text.lines().find(|it| it.starts_with("confidence"));
        line.expect("a line").to_owned()
    };
    let stored = || {
        let shown = env.run(["show", &id, "--format", "json"]).success().json();
        let folder = std::fs::read_dir(env.root().join(".ken/entries")).expect("entries");
        let files = folder.map(|file| std::fs::read(file.expect("a file").path()).expect("text"));
        (shown["tallies"].clone(), files.collect::<Vec<_>>())
    };
    let (before, entry) = (confidence(), stored());
    assert!(before.contains("0.58 after 2 observations"), "{before}");
    assert_eq!(entry.0["days"].as_object().expect("days").len(), 4);
    env.wait_days(180);
    let after = confidence();
    assert!(after.contains("0.50 after 0 observations"), "{after}");
    assert_eq!(stored(), entry);
}

#[test]
fn archive_older_than_days_archives_what_nobody_confirmed() {
    let env = folder_with_ledger();
    let old = add_lesson(&env, "Charging twice is safe");
    let kept = add_lesson(&env, "Refunds are asynchronous");
    env.wait_days(91);
    let _ = env.run(["confirm", &kept]).success();
    let none = env.run(["archive", "--older-than", "91", "--format", "json"]);
    assert_eq!(none.success().json()["archived"], serde_json::json!([]));
    insta::assert_snapshot!(env.run(["knowledge", "archive", "--older-than", "90"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    archived 1 entry not confirmed for 90 days
    ");
    insta::assert_snapshot!(env.run(["archive", "--older-than", "90", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.archive.v1","older_than_days":90,"archived":[]}
    "#);
    let shown = env.run(["show", &old, "--format", "json"]).success();
    assert_eq!(shown.json()["archived"]["because"], "age");
    assert_eq!(
        shown.json()["provenance"][0]["evidence_ref"],
        "3fce3b5",
        "provenance is preserved"
    );
    insta::assert_snapshot!(env.run(["archive"]), @"
    exit: 2
    ----- stderr -----
    error: the following required arguments were not provided:
      <ID|--older-than <DAYS>|--thread <THREAD>>

    Usage: ken archive <ID|--older-than <DAYS>|--thread <THREAD>>

    For more information, try '--help'.
    ");
}

#[test]
fn link_says_how_two_entries_stand_to_each_other() {
    let env = folder_with_ledger();
    let a = add_lesson(&env, "Charging twice is safe");
    let b = add_lesson(&env, "Refunds are asynchronous");
    insta::assert_snapshot!(env.run(["entry", "link", &a, &b, "--rel", "refines"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    linked: L-205zr7j2 refines L-h9xr3ac9
    ");
    insta::assert_snapshot!(env.run(["entry", "link", &a, &b, "--rel", "refines"]), @"
    exit: 1
    ----- stderr -----
    error: nothing would change
    ");
    insta::assert_snapshot!(env.run(["entry", "link", &a, &a]), @"
    exit: 1
    ----- stderr -----
    error: an entry cannot be linked to itself
    ");
    let run = env
        .run(["entry", "link", &b, &a, "--format", "json"])
        .success();
    assert_eq!(run.json()["links"][0]["rel"], "relates_to");
}

#[test]
fn a_tag_is_added_removed_or_replaced_explicitly() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let tags = |args: &[&str]| {
        let edit = ["edit", &id, "--format", "json"];
        let run = env.run(edit.iter().chain(args)).success();
        run.json()["content"]["tags"].to_string()
    };
    assert_eq!(tags(&["--tag", "pay"]), r#"["pay"]"#);
    assert_eq!(tags(&["--tag", "auth"]), r#"["auth","pay"]"#);
    assert_eq!(tags(&["--untag", "auth"]), r#"["pay"]"#);
    assert_eq!(tags(&["--clear", "tag", "--tag", "key"]), r#"["key"]"#);
}

#[test]
fn repeated_feedback_of_a_person_counts_once_per_day() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let unhelpful = || {
        let _ = env.run(["feedback", &id, "--unhelpful"]).success();
        let shown = env.run(["show", &id, "--format", "json"]).success().json();
        shown["tallies"]["unhelpful"].as_u64()
    };
    assert_eq!(
        (unhelpful(), unhelpful(), unhelpful()),
        (Some(1), Some(1), Some(1))
    );
    env.wait_days(1);
    assert_eq!(unhelpful(), Some(2));
    insta::assert_snapshot!(env.run(["feedback", &id, "--unhelpful"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    already recorded: the same feedback counts once per day and once per run
    ");
}

#[test]
fn confirming_an_entry_whose_code_changed_names_reanchor() {
    let env = folder_with_ledger();
    super::support::write_pay_source(&env);
    let args = [
        "add",
        "--kind",
        "learning",
        "--cite",
        "pr:9",
        "--anchor",
        "src/pay.rs#refund",
    ];
    let id = env
        .run(
            args.into_iter()
                .chain(["--statement", "A refund empties the ledger"]),
        )
        .success()
        .line();
    env.write(
        "src/pay.rs",
        &super::support::PAY_SOURCE.replace("ledger.total = 0;", "ledger.total -= 1;"),
    );
    insta::assert_snapshot!(env.run(["confirm", &id]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    note: the code of L-205zr7j2 changed since its anchors were recorded, and `ken verify` keeps reporting it; `ken entry reanchor L-205zr7j2 --keep --cite TYPE:REF` records the current code
    confirmed; last confirmed 2026-01-02
    ");
    let keep = ["entry", "reanchor", &id, "--keep", "--cite", "pr:10"];
    let _ = env.run(keep).success();
    let run = env.run(["confirm", &id]).success();
    assert!(!run.stderr.contains("reanchor"), "{}", run.stderr);
}

#[test]
fn an_entry_is_edited_in_its_file_and_the_edit_recorded() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    env.write(
        "editor.sh",
        "sed -i 's/Charging twice is safe/Charging thrice is safe/' \"$1\"",
    );
    let env = env.env("EDITOR", "sh editor.sh");
    insta::assert_snapshot!(env.run(["edit", &id, "--editor"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    note: human:ada edited L-205zr7j2 in its file
    edited in its file
    ");
    let shown = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(shown["statement"], "Charging thrice is safe");
    let again = env.run(["edit", &id, "--editor"]).success();
    assert!(again.stderr.contains("nothing changed"), "{}", again.stderr);
    let env = env.env("VISUAL", "false");
    assert_eq!(env.run(["edit", &id, "--editor"]).exit, 2);
}

#[test]
fn undo_takes_back_ones_own_last_change() {
    let env = folder_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let _ = env.run(["confirm", &id]).success();
    let _ = env
        .run(["edit", &id, "--tag", "theirs", "--by", "human:other"])
        .success();
    insta::assert_snapshot!(env.run(["undo"]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2
    ----- stderr -----
    undid: confirmed on 2026-01-02 (manual)
    ");
    insta::assert_snapshot!(env.run(["undo", "--by", "human:other", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.undo.v1","entry":"L-205zr7j2","undone":"01KDYARJX8FB5A8X66D95SHC1G","type":"entry.revised","entries":["L-205zr7j2"],"events":1,"kept":[]}
    "#);
    insta::assert_snapshot!(env.run(["undo", "--by", "agent:nobody"]), @"
    exit: 2
    ----- stderr -----
    error: agent:nobody has no step to undo
    ");
    insta::assert_snapshot!(env.run(["log", &id]), @"
    exit: 0
    ----- stdout -----
    2026-01-02 03:05  human:ada  01KDYAMXQ8EV7BZJ26205ZR7J2
        proposed: Charging twice is safe
    2026-01-02 03:06  human:ada  01KDYAPRA8FZPV6HKFH9XR3AC9
        confirmed on 2026-01-02 (manual)
    2026-01-02 03:07  human:other  01KDYARJX8FB5A8X66D95SHC1G
        edited tags
    2026-01-02 03:08  human:ada  01KDYATDG8EDD815SH9P9SEDQR
        withdrew a confirmation
    2026-01-02 03:09  human:other  01KDYAW838E00B4GCXP8WN3QWS
        edited tags
    ");
}

#[test]
fn log_names_every_author() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let _ = env
        .run([
            "entry",
            "cite",
            &id,
            "pr:7",
            "--by",
            "agent:claude-code/7f3a",
        ])
        .success();
    let _ = env.run(["retract", &id, "--reason", "duplicate"]).success();
    insta::assert_snapshot!(env.run(["log", &id]), @"
    exit: 0
    ----- stdout -----
    2026-01-02 03:05  human:ada@example.org  01KDYAMXQ8EV7BZJ26205ZR7J2
        proposed: Charging twice is safe
    2026-01-02 03:06  agent:claude-code/7f3a  01KDYAPRA8FZPV6HKFH9XR3AC9
        cited pr:7
    2026-01-02 03:07  human:ada@example.org  01KDYARJX8FB5A8X66D95SHC1G
        retracted as duplicate
    ");
    insta::assert_snapshot!(env.run(["log", &id, "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.event.v1","id":"01KDYAMXQ8EV7BZJ26205ZR7J2","at":"2026-01-02T03:05:05.000Z/0000/zyfxk4","by":"human:ada@example.org","type":"entry.proposed","about":["L-205zr7j2"],"data":{"admission":{"rules":"ken-guard/5","scan":"safe","verdict":"admitted"},"body":{"citations":[{"cited_at":1767323105,"cited_by":"human:ada@example.org","evidence_ref":"3fce3b5","evidence_type":"commit"}],"content":{"decay":"ephemeral","statement":"Charging twice is safe"},"kind":"learning","origin":"human","schema_version":"1.0.0","scope":"workspace","status":"candidate"},"salt":"2frh3bafrqzcmnhf1wpdxwfcnk"}}
    {"schema":"ken.event.v1","id":"01KDYAPRA8FZPV6HKFH9XR3AC9","at":"2026-01-02T03:06:05.000Z/0000/zyfxk4","by":"agent:claude-code/7f3a","type":"entry.cited","about":["L-205zr7j2"],"data":{"admission":{"rules":"ken-guard/5","scan":"safe","verdict":"admitted"},"body":{"citation":{"cited_at":1767323165,"cited_by":"agent:claude-code/7f3a","evidence_ref":"7","evidence_type":"pr"}},"salt":"4wxfmadm2gvm0h59v4zdkaqjef"}}
    {"schema":"ken.event.v1","id":"01KDYARJX8FB5A8X66D95SHC1G","at":"2026-01-02T03:07:05.000Z/0000/zyfxk4","by":"human:ada@example.org","type":"entry.retracted","about":["L-205zr7j2"],"data":{"admission":{"rules":"ken-guard/5","scan":"safe","verdict":"admitted"},"body":{"channel":"command","reason":"duplicate"},"salt":"6vxwczs3kvghfqvs7b1gkf7y4y"}}
    "#);
}

#[test]
fn concurrent_wordings_are_both_shown() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    let _ = env.git(["checkout", "-q", "-b", "topic"]);
    let _ = env
        .run([
            "edit",
            &id,
            "--statement",
            "Charging twice is safe with a key",
        ])
        .success();
    commit_all(&env, "topic wording");
    let _ = env.git(["checkout", "-q", "main"]);
    let other = [
        "edit",
        &id,
        "--statement",
        "Charging twice is safe for a day",
        "--by",
        "human:bob",
    ];
    let _ = env.run(other).success();
    commit_all(&env, "main wording");
    let _ = env.git(["merge", "-q", "-X", "ours", "topic"]);
    insta::assert_snapshot!(env.run(["list"]), @"
    exit: 0
    ----- stdout -----
    ID          KIND      STATUS     CONFIRMED  TITLE                             LABELS
    L-205zr7j2  learning  candidate  not yet    Charging twice is safe for a day  2 versions
    ----- stderr -----
    1 entry
    ");
    insta::assert_snapshot!(env.run(["inbox"]), @"
    exit: 0
    ----- stdout -----
    1 concurrent edit (ken show ID, ken edit ID)
    L-205zr7j2  Charging twice is safe for a day
    ");
    insta::assert_snapshot!(env.run(["show", &id]), @"
    exit: 0
    ----- stdout -----
    L-205zr7j2  learning  candidate  2 versions

    Charging twice is safe for a day

    Edited concurrently:
      shown  human:bob on 2026-01-02 (01KDYARJX8FB5A8X66D95SHC1G)
             Charging twice is safe for a day
      other  human:ada@example.org on 2026-01-02 (01KDYAPRA8FZPV6HKFH9XR3AC9)
             Charging twice is safe with a key
      `ken edit L-205zr7j2` resolves it

    anchors    none
    decay      ephemeral
    cites      commit:3fce3b5 (human:ada@example.org, 2026-01-02)
    confirmed  not yet; added 2026-01-02
    added      2026-01-02 by human:ada@example.org, workspace scope
    history    3 events, the last on 2026-01-02: `ken log L-205zr7j2`
    file       .ken/entries/L-205zr7j2-charging-twice-is-safe.md
    confidence 0.50 (evidence of use: none yet)
    ");
}

#[test]
fn an_agent_cannot_change_any_field_of_what_a_person_wrote() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Refunds are booked before the receipt is printed.");
    for change in [
        ["--tag", "money"],
        ["--verify", "make refunds"],
        ["--statement", "Refunds are booked after the receipt."],
    ] {
        let args = ["edit", &id, change[0], change[1], "--by", "agent:codex"];
        let run = env.run(args);
        assert_eq!(run.exit, 1, "{run}");
        assert!(
            run.stderr.contains("a person wrote or verified it"),
            "{run}"
        );
        assert!(run.stderr.contains("ken add"), "{run}");
    }
    // It changes its own entries, until a person confirms one.
    let own = env.run([
        "add",
        "--kind",
        "learning",
        "--statement",
        "Queues are drained before a deployment starts.",
        "--cite",
        "commit:3fce3b5",
        "--by",
        "agent:codex",
    ]);
    let own = own.success().line();
    let _ = env
        .run(["edit", &own, "--tag", "queues", "--by", "agent:codex"])
        .success();
    let _ = env.run(["confirm", &own]).success();
    let run = env.run(["edit", &own, "--tag", "money", "--by", "agent:codex"]);
    assert_eq!(run.exit, 1, "{run}");
    let _ = env.run(["edit", &id, "--tag", "money"]).success();
}

#[test]
fn an_agent_cannot_take_what_a_person_wrote_out_of_use() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Refunds are booked before the receipt is printed.");
    let own = env.run([
        "add",
        "Queues are drained before a deployment starts.",
        "--by",
        "agent:codex",
    ]);
    let own = own.success().line();
    for command in [
        vec!["retract", &id, "--reason", "false"],
        vec!["archive", &id],
        vec!["entry", "status", &id, "rejected"],
        vec!["entry", "status", &id, "stale"],
        vec!["entry", "merge", &id, "--into", &own],
        vec!["entry", "supersede", &id, &own],
    ] {
        let mut args = command.clone();
        args.extend(["--by", "agent:codex"]);
        let run = env.run(args);
        assert_eq!(run.exit, 1, "{command:?}: {run}");
        assert!(
            run.stderr.contains("a person wrote or verified it"),
            "{command:?}: {run}"
        );
    }
    let _ = env.run(["retract", &id, "--reason", "false"]).success();
    let run = env.run(["restore", &id, "--by", "agent:codex"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(run.stderr.contains("requires a person"), "{run}");
    // Its own decisions are its own to undo.
    for command in ["archive", "restore"] {
        let _ = env.run([command, &own, "--by", "agent:codex"]).success();
    }
    let _ = env.run(["restore", &id]).success();
}

#[test]
fn an_agent_cannot_edit_an_entry_into_a_retracted_claim() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Refunds are booked before the receipt is printed.");
    let _ = env.run(["retract", &id, "--reason", "false"]).success();
    let own = env.run([
        "add",
        "Queues are drained before a deployment starts.",
        "--by",
        "agent:codex",
    ]);
    let own = own.success().line();
    for statement in [
        "Refunds are booked before the receipt is printed.",
        "Ｒｅｆｕｎｄｓ are booked before the receipt is printed.",
        "Refunds \u{430}re b\u{43e}oked before the receipt is printed.",
    ] {
        let args = [
            "edit",
            &own,
            "--statement",
            statement,
            "--by",
            "agent:codex",
        ];
        let run = env.run(args);
        assert_eq!(run.exit, 1, "{statement}: {run}");
        assert!(run.stderr.contains("was retracted as false"), "{run}");
    }
}

#[test]
fn an_amended_decision_is_named_linked_and_never_shown_as_current() {
    let env = repository_with_ledger();
    env.write("src/pay.rs", "fn charge_customer() {}\n");
    commit_all(&env, "feat: pay");
    let decide = |text: &str, more: &[&str]| {
        let mut args = vec!["add", text, "--kind", "decision"];
        args.extend(["--anchor", "src/pay.rs#charge_customer"]);
        args.extend(more);
        env.run(args).success()
    };
    let old = decide("Refunds need the approval of finance", &[]).line();
    let told = decide("A chargeback above ten euros goes to legal", &[]);
    let hint = format!("run `ken entry supersede {old} {}`", told.line());
    assert!(told.stderr.contains(&hint), "{told}");
    let new = decide(
        "Refunds below ten euros need no approval",
        &["--supersedes", &old],
    )
    .line();

    let file = env.names(".ken/entries");
    let file = file.iter().find(|it| it.starts_with(&old)).unwrap();
    for _ in 0..2 {
        let text = env.read(&format!(".ken/entries/{file}"));
        assert!(text.contains(&format!("superseded_by: {new}")), "{text}");
        let _ = env.run(["sync"]).success();
    }
    let found = env
        .run(["search", "refunds approval charge_customer"])
        .success();
    assert!(
        found.stdout.contains(&new) && !found.stdout.contains(&old),
        "{found}"
    );
    let shown = env.run(["show", &old]).success();
    assert!(
        shown.stdout.contains(&format!("superseded by {new}")),
        "{shown}"
    );
}

#[test]
fn an_agent_does_not_supersede_what_a_person_decided() {
    let env = repository_with_ledger();
    let old = add_lesson(&env, "Refunds need the approval of finance");
    let claim = [
        "--by",
        "agent:a",
        "add",
        "Refunds need no approval",
        "--cite",
        "pr:1",
    ];
    let run = env.run(claim.into_iter().chain(["--supersedes", &old]));
    assert_ne!(run.exit, 0, "{run}");
    assert_eq!(
        env.run(["list"]).success().stdout.matches("L-").count(),
        1,
        "nothing was added"
    );
}
