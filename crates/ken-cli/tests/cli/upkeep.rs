//! Commands that inspect and repair the ledger and its files.

use crate::cli::support::{add_lesson, commit_all, folder_with_ledger, repository_with_ledger};

#[test]
fn doctor_looks_the_installation_over() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["doctor"]), @"
    exit: 0
    ----- stdout -----
    ok       ledger         1 event in 1 file
    ok       segments       1 segment
    ok       blanked        no redacted data in the tree
    ok       readable       this version of Ken knows every event type
    ok       gitattributes  line endings are preserved
    ok       config         every key of .ken/config.toml is valid
    ok       edits          every edit of an entry file is recorded
    ok       identity       you are human:ada@example.org
    ok       shared         git shares the ledger
    ok       recoverable    no event was lost
    ok       history        git has the whole history
    ");
    insta::assert_snapshot!(env.run(["doctor", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.doctor.v1","checks":[{"name":"ledger","status":"ok","message":"1 event in 1 file"},{"name":"segments","status":"ok","message":"1 segment"},{"name":"blanked","status":"ok","message":"no redacted data in the tree"},{"name":"readable","status":"ok","message":"this version of Ken knows every event type"},{"name":"gitattributes","status":"ok","message":"line endings are preserved"},{"name":"config","status":"ok","message":"every key of .ken/config.toml is valid"},{"name":"edits","status":"ok","message":"every edit of an entry file is recorded"},{"name":"identity","status":"ok","message":"you are human:ada@example.org"},{"name":"shared","status":"ok","message":"git shares the ledger"},{"name":"recoverable","status":"ok","message":"no event was lost"},{"name":"history","status":"ok","message":"git has the whole history"}]}
    "#);
    std::fs::remove_file(env.root().join(".gitattributes")).unwrap();
    insta::assert_snapshot!(env.run(["doctor"]), @"
    exit: 0
    ----- stdout -----
    ok       ledger         1 event in 1 file
    ok       segments       1 segment
    ok       blanked        no redacted data in the tree
    ok       readable       this version of Ken knows every event type
    warning  gitattributes  .gitattributes lacks Ken's lines
                            do: ken init
    ok       config         every key of .ken/config.toml is valid
    ok       edits          every edit of an entry file is recorded
    ok       identity       you are human:ada@example.org
    ok       shared         git shares the ledger
    ok       recoverable    no event was lost
    ok       history        git has the whole history
    ");
}

#[test]
fn the_index_is_rebuilt_from_the_ledger() {
    let env = folder_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["ledger", "index", "rebuild"]), @"
    exit: 0
    ----- stderr -----
    built the index from 1 event
    ");
    insta::assert_snapshot!(env.run(["ledger", "index", "rebuild", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.index.v1","events":1}
    "#);
}

#[test]
fn the_ledger_is_checked_and_shown() {
    let env = folder_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["ledger", "check"]), @"
    exit: 0
    ----- stderr -----
    checked 1 event in 1 file: 0 findings
    ");
    insta::assert_snapshot!(env.run(["ledger", "check", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.check.v1","segments":1,"events":1,"findings":[]}
    "#);
    let name = env.names(".ken/semantic/v1").remove(0);
    let path = format!(".ken/semantic/v1/{name}");
    assert_eq!(
        env.run(["ledger", "cat", &path]).success().stdout,
        env.read(&path)
    );
    insta::assert_snapshot!(env.run(["ledger", "cat", "README.md"]), @"
    exit: 2
    ----- stderr -----
    error: `README.md` is not a segment such as semantic/v1/2026-11-14t22-51-k3f9w2.jsonl
    ");
}

#[test]
fn packing_makes_one_file_and_a_commit() {
    let env = repository_with_ledger();
    for i in 1..=3 {
        let _ = add_lesson(&env, &format!("Lesson number {i}"));
        commit_all(&env, "lesson");
    }
    insta::assert_snapshot!(env.run(["ledger", "pack"]), @"
    exit: 0
    ----- stdout -----
    .ken/semantic/v1/2026-01-02t03-08-9sedqr.pack
    ----- stderr -----
    packed 3 events of 3 segments, in a separate commit
    ");
    assert_eq!(env.git(["status", "--porcelain"]), "");
    insta::assert_snapshot!(env.run(["ledger", "pack"]), @"
    exit: 0
    ----- stderr -----
    nothing to pack: packing needs several committed segments
    ");
    insta::assert_snapshot!(env.run(["ledger", "pack", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.replacement.v1","added":[],"removed":[],"events":0,"redacted":0,"committed":false,"commits_in_history":null}
    "#);
    assert_eq!(env.run(["list"]).success().stdout.lines().count(), 4);
}

#[test]
fn render_writes_missing_files_again() {
    let env = folder_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    insta::assert_snapshot!(env.run(["ledger", "render"]), @"
    exit: 0
    ----- stderr -----
    wrote 0 entry files and the views
    ");
    insta::assert_snapshot!(env.run(["ledger", "render", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.render.v1","written":0}
    "#);
}

#[test]
fn recover_brings_back_what_a_reset_took() {
    let env = repository_with_ledger();
    insta::assert_snapshot!(env.run(["ledger", "recover"]), @"
    exit: 0
    ----- stderr -----
    no events are missing
    ");
    let id = add_lesson(&env, "Charging twice is safe");
    let _ = env.git(["add", "-A"]);
    let _ = env.git(["reset", "-q", "--hard"]);
    assert_eq!(env.run(["list"]).success().stdout, "");
    insta::assert_snapshot!(env.run(["ledger", "recover"]), @"
    exit: 0
    ----- stdout -----
    .ken/semantic/v1/2026-01-02t03-08-9sedqr.jsonl
    ----- stderr -----
    recovered 1 event written on main
    ");
    let _ = env.run(["show", &id]).success();
    insta::assert_snapshot!(env.run(["ledger", "recover", "--all", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.recovery.v1","segments":[],"restored":{},"left":{}}
    "#);
}

#[test]
fn blank_removes_an_events_data_and_says_how_far_history_holds_it() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "The customer Jane Roe pays late");
    commit_all(&env, "lesson");
    let shown = env.run(["show", &id, "--format", "json"]).success().json();
    let event = shown["created"]["event"].as_str().unwrap().to_owned();
    let blank = ["ledger", "redact", &event, "--reason", "personal"];
    insta::assert_snapshot!(env.run(blank.into_iter().chain(["--by", "agent:x"])), @"
    exit: 1
    ----- stderr -----
    error: redacting an event requires a person; agent:x is not one

    hint: ask a person to run this command
    ");
    insta::assert_snapshot!(env.run(blank), @r#"
    exit: 0
    ----- stdout -----
    01KDYAMXQ8EV7BZJ26205ZR7J2
    ----- stderr -----
    redacted in the worktree, the journal, the index and the views (1 file replaced)
    committed the replaced segments; commit the entry files as well: git add .ken && git commit
    git's history still contains the data in 2 commits; anyone with a clone can read it
    hint: to remove the data from the history too, commit everything and rewrite it:
      git filter-repo --invert-paths --path .ken/semantic/v1/2026-01-02t03-05-v07sc3.jsonl --path .ken/entries/L-205zr7j2-the-customer-jane-roe-pays-late.md
      ken ledger render
      git add .ken && git commit -m "entry files"
      git push --force --all
    Then everyone else clones again.
    "#);
    insta::assert_snapshot!(env.run(blank), @"
    exit: 1
    ----- stderr -----
    error: event 01KDYAMXQ8EV7BZJ26205ZR7J2 is already redacted
    ");
    insta::assert_snapshot!(env.run(["log", &id]), @"
    exit: 0
    ----- stdout -----
    2026-01-02 03:05  human:ada@example.org  01KDYAMXQ8EV7BZJ26205ZR7J2
        entry.proposed, its data was redacted
    2026-01-02 03:08  human:ada@example.org  01KDYATDG8EDD815SH9P9SEDQR
        redacted event 01KDYAMXQ8EV7BZJ26205ZR7J2 (personal)
    ");
    insta::assert_snapshot!(env.run(["ledger", "redact", "01ABC", "--reason", "secret"]), @"
    exit: 2
    ----- stderr -----
    error: no event has the id `01ABC`

    hint: `ken log ID` lists the events of an entry
    ");
}
