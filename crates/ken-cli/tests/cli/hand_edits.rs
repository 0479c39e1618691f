//! Edits of entry files, as the command line reports them.

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, commit_all, repository_with_ledger};

fn entry_file(env: &TestEnvironment, id: &str) -> String {
    let name = env
        .names(".ken/entries")
        .into_iter()
        .find(|name| name.starts_with(id))
        .expect("its file");
    format!(".ken/entries/{name}")
}

#[test]
fn an_edited_statement_becomes_an_event() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    let path = entry_file(&env, &id);
    env.write(
        &path,
        &env.read(&path).replace(
            "\nCharging twice is safe\n",
            "\nCharging twice is safe with a key\n",
        ),
    );
    insta::assert_snapshot!(env.run(["sync"]), @"
    exit: 0
    ----- stderr -----
    note: human:ada@example.org edited L-205zr7j2 in its file
    recorded 1 hand edit; entry files are up to date
    ");
    insta::assert_snapshot!(env.run(["sync", "--format", "json"]), @r#"
    exit: 0
    ----- stdout -----
    {"schema":"ken.sync.v1","absorbed":0,"rendered":0,"refused":[],"moved":[],"fingerprinted":[],"concurrent":[],"waiting":false,"missing_uncommitted":[]}
    "#);
    insta::assert_snapshot!(env.run(["log", &id]), @"
    exit: 0
    ----- stdout -----
    2026-01-02 03:05  human:ada@example.org  01KDYAMXQ8EV7BZJ26205ZR7J2
        proposed: Charging twice is safe
    2026-01-02 03:06  human:ada@example.org  01KDYAMXQ8EWBRP2HXCS1P9440
        edited statement: Charging twice is safe with a key
    ");
}

#[test]
fn deleting_the_file_retracts_the_entry() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    std::fs::remove_file(env.root().join(entry_file(&env, &id))).unwrap();
    insta::assert_snapshot!(env.run(["sync"]), @"
    exit: 0
    ----- stderr -----
    note: human:ada@example.org retracted L-205zr7j2 by deleting its file
    recorded 1 hand edit; entry files are up to date
    ");
    let shown = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(shown["retracted"]["reason"], "unwanted");
}

#[test]
fn setting_the_date_confirms_by_hand() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    env.wait_days(30);
    let path = entry_file(&env, &id);
    env.write(
        &path,
        &env.read(&path)
            .replace("lastConfirmed: 2026-01-02", "lastConfirmed: 2026-02-01"),
    );
    insta::assert_snapshot!(env.run(["sync"]), @"
    exit: 0
    ----- stderr -----
    note: human:ada@example.org confirmed L-205zr7j2 in its file
    recorded 1 hand edit; entry files are up to date
    ");
    let shown = env.run(["show", &id, "--format", "json"]).success().json();
    assert_eq!(shown["confirmation"]["last"], "2026-02-01");
    assert_eq!(shown["confirmation"]["manual"], 1);
}

#[test]
fn confirming_by_hand_sets_date_and_provenance() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    let _ = env.run(["confirm", &id, "--by", "agent:x"]).success();
    let path = entry_file(&env, &id);
    let primed = env.read(&path);
    assert!(primed.contains("lastConfirmed: 2026-01-02\nprovenance: primed\n"));
    let edit = |date: &str, provenance: &str| {
        let lines = format!("lastConfirmed: {date}\nprovenance: {provenance}\n");
        let old = "lastConfirmed: 2026-01-02\nprovenance: primed\n";
        env.write(&path, &primed.replace(old, &lines));
        env.run(["sync"])
    };
    // One of the two alone is no confirmation, and nothing is lost in silence.
    env.wait_days(30);
    for (date, provenance, why) in [
        (
            "2026-02-01",
            "primed",
            "sets `provenance: independent`, too",
        ),
        (
            "2026-01-02",
            "independent",
            "sets `lastConfirmed` to today, too",
        ),
        ("2026-02-01", "certain", "must be independent or primed"),
        ("yesterday", "independent", "must be a day such as"),
    ] {
        let run = edit(date, provenance);
        assert_eq!(run.exit, 1, "{date} {provenance}: {run}");
        assert!(run.stderr.contains(why), "{run}");
        assert!(
            env.read(&path)
                .contains(&format!("provenance: {provenance}\n"))
        );
    }
    let _ = edit("2026-02-01", "independent").success();
    let shown = |what: &str| {
        let shown = env.run(["show", &id, "--format", "json"]).success().json();
        shown["confirmation"][what].clone()
    };
    assert_eq!(
        (shown("last"), shown("manual")),
        ("2026-02-01".into(), 1.into())
    );
    // On the day of the date that the file has, the word alone is edited.
    let _ = env.run(["confirm", &id, "--by", "agent:x"]).success();
    let primed = env.read(&path);
    assert!(primed.contains("lastConfirmed: 2026-02-01\nprovenance: primed\n"));
    env.write(
        &path,
        &primed.replace("provenance: primed", "provenance: independent"),
    );
    let run = env.run(["sync"]).success();
    assert!(run.stderr.contains("recorded 1 hand edit"), "{run}");
    assert_eq!(
        (shown("manual"), shown("provenance")),
        (2.into(), "manual".into())
    );
}

#[test]
fn every_file_shows_its_state_in_the_frontmatter() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let text = env.read(&entry_file(&env, &id));
    for line in [
        "status: candidate",
        "lastConfirmed: 2026-01-02",
        "provenance: independent",
        "archived: no",
        // Neither is required, and the file says that it is missing.
        "Evidence: none (cites no code)",
        "Verify: none",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    let _ = env.run(["confirm", &id, "--by", "agent:x"]).success();
    let _ = env.run(["entry", "status", &id, "stale"]).success();
    let _ = env.run(["archive", &id]).success();
    let text = env.read(&entry_file(&env, &id));
    for line in ["status: stale", "provenance: primed", "archived: yes"] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[test]
fn many_files_gone_at_once_are_asked_about() {
    let env = repository_with_ledger();
    for i in 1..=5 {
        let _ = add_lesson(&env, &format!("Lesson number {i}"));
    }
    commit_all(&env, "lessons");
    for name in env.names(".ken/entries") {
        std::fs::remove_file(env.root().join(".ken/entries").join(name)).unwrap();
    }
    let run = env.run(["sync"]);
    insta::assert_snapshot!(run, @"
    exit: 1
    ----- stderr -----
    error: 5 entry files were deleted at once

    hint: run `ken sync --yes` to retract them, or `ken ledger render` to write the files again
    ");
    let run = env.run(["sync", "--yes"]).success();
    assert!(
        run.stderr
            .ends_with("recorded 5 hand edits; entry files are up to date\n"),
        "{run}"
    );
}

#[test]
fn nothing_is_absorbed_while_a_merge_is_under_way() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    let path = entry_file(&env, &id);
    env.write(
        &path,
        &env.read(&path)
            .replace("\nCharging twice is safe\n", "\nCharging is safe\n"),
    );
    env.write(".git/MERGE_HEAD", &env.git(["rev-parse", "HEAD"]));
    insta::assert_snapshot!(env.run(["sync"]), @"
    exit: 0
    ----- stderr -----
    note: edits of entry files were not synced: a merge is in progress; run `ken sync` afterwards
    ");
}
