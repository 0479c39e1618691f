//! People as opaque ids: `.ken/people.toml`, export and erasure.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use ken_testkit::test_env::TestEnvironment;
use serde_json::Value;

use super::support::{add_lesson, commit_all, repository_with_ledger};

const ADDRESS: &str = "ada@example.org";
const NAME: &str = "Ada Lovelace";

/// Returns a repository whose only person is listed, and the id.
fn repository_of_ids() -> (TestEnvironment, String) {
    let env = repository_with_ledger();
    let id = env
        .run(["ledger", "person", "add", "--name", NAME])
        .success();
    let id = id.line();
    commit_all(&env, "people");
    (env, id)
}

fn author(env: &TestEnvironment, entry: &str) -> String {
    let shown = env.run(["show", entry, "--format", "json"]).success();
    shown.json()["created"]["by"].as_str().unwrap().to_owned()
}

/// Returns the files below a folder that contain a text, whatever its case.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = file.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else {
            let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
            let text = text.to_lowercase();
            if bytes.windows(text.len()).any(|it| it == text.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

fn lines(run: &str) -> Vec<Value> {
    run.lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect()
}

#[test]
fn without_a_list_events_contain_names_as_before() {
    let env = repository_with_ledger();
    let lesson = add_lesson(&env, "Charging twice is safe");
    assert_eq!(author(&env, &lesson), format!("human:{ADDRESS}"));
    let listed = env.run(["ledger", "person", "list"]).success();
    assert_eq!(listed.stdout, "");
}

#[test]
fn a_listed_person_writes_under_an_id_and_older_events_keep_their_author() {
    let env = repository_with_ledger();
    let before = add_lesson(&env, "Charging twice is safe");
    let id = env
        .run(["ledger", "person", "add", "--name", NAME])
        .success()
        .line();
    let after = add_lesson(&env, "The cache is dropped before the schema changes");
    assert_eq!(author(&env, &before), format!("human:{ADDRESS}"));
    assert_eq!(author(&env, &after), format!("human:{id}"));
    let files = files_with(&env.root().join(".ken/semantic"), ADDRESS);
    assert_eq!(files.len(), 1, "the event from before: {files:?}");
    let by_name = env.run([
        "add",
        "--by",
        "human:Ada@Example.org",
        "--kind",
        "bug",
        "--statement",
        "The importer drops the last line",
        "--cite",
        "commit:3fce3b5",
    ]);
    assert_eq!(
        author(&env, &by_name.success().line()),
        format!("human:{id}")
    );
    let listed = env.run(["ledger", "person", "list"]).success();
    assert_eq!(listed.stdout, format!("{id}  {NAME}  {ADDRESS}\n"));
    let log = env.run(["log", &after]).success().stdout;
    assert!(log.contains(&format!("human:{id} ({NAME})")), "{log}");
}

#[test]
fn an_agent_keeps_its_name_and_lists_nobody() {
    let (env, _) = repository_of_ids();
    let env = env.env("CLAUDECODE", "1");
    let lesson = add_lesson(&env, "Charging twice is safe");
    assert_eq!(author(&env, &lesson), "agent:claude-code");
    for args in [
        &["ledger", "person", "add", "--name", "Eve"][..],
        &["ledger", "person", "export", ADDRESS],
        &["ledger", "person", "forget", ADDRESS, "--yes"],
    ] {
        let refused = env.run(args);
        assert_eq!(refused.exit, 1, "{refused}");
    }
}

#[test]
fn a_person_who_is_not_listed_is_told_to_add_themselves() {
    let (env, _) = repository_of_ids();
    let _ = env.git(["config", "user.email", "eve@example.org"]);
    let refused = env.run([
        "add",
        "--kind",
        "bug",
        "--statement",
        "It breaks on Sundays",
        "--cite",
        "commit:3fce3b5",
    ]);
    assert_ne!(refused.exit, 0, "{refused}");
    assert!(
        refused.stderr.contains("ken ledger person add"),
        "{refused}"
    );
    let id = env
        .run(["ledger", "person", "add", "--name", "Eve"])
        .success()
        .line();
    let lesson = add_lesson(&env, "It breaks on Sundays");
    assert_eq!(author(&env, &lesson), format!("human:{id}"));
    assert_eq!(
        env.run(["ledger", "person", "list"])
            .success()
            .stdout
            .lines()
            .count(),
        2
    );
}

#[test]
fn a_committed_hand_edit_names_its_author_by_id_or_not_at_all() {
    let (env, id) = repository_of_ids();
    let lesson = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    let file = env
        .names(".ken/entries")
        .into_iter()
        .find(|it| it.starts_with(&lesson));
    let path = format!(".ken/entries/{}", file.unwrap());
    for (email, said, stored) in [
        (ADDRESS, "Charging twice is safe with a key", id.as_str()),
        (
            "eve@example.org",
            "Charging twice is safe with one key",
            "unlisted",
        ),
    ] {
        let old = env.read(&path);
        let statement = old
            .lines()
            .find(|it| it.starts_with("Charging twice"))
            .unwrap();
        env.write(
            &path,
            &old.replace(&format!("\n{statement}\n"), &format!("\n{said}\n")),
        );
        let _ = env.git(["config", "user.email", email]);
        commit_all(&env, "edit");
        let _ = env.git(["config", "user.email", ADDRESS]);
        let _ = env.run(["sync"]).success();
        let log = env.run(["log", &lesson]).success().stdout;
        let last = log.lines().rev().find(|it| it.contains("human:")).unwrap();
        assert!(last.contains(&format!("human:{stored} ")), "{log}");
        commit_all(&env, "synced");
    }
    assert_eq!(
        files_with(&env.root().join(".ken/semantic"), "eve@"),
        [] as [PathBuf; 0]
    );
}

#[test]
fn the_gates_accept_an_id_from_a_fork_whose_author_is_listed() {
    let (env, _) = repository_of_ids();
    let _ = env.git(["switch", "-q", "-c", "fork"]);
    let _ = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    let verify = ["verify", "--base", "main", "--head", "fork", "--from-fork"];
    let own = env.run(verify);
    assert!(!own.stdout.contains("did not commit it"), "{own}");
    // The same event in a commit of another person.
    let _ = env.git([
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--author",
        "Eve <eve@example.org>",
    ]);
    let other = env.run(verify);
    assert!(other.stdout.contains("did not commit it"), "{other}");
}

#[test]
fn an_export_has_everything_by_and_about_a_person() {
    let (env, id) = repository_of_ids();
    let own = add_lesson(&env, "Charging twice is safe");
    let _ = env
        .run([
            "add",
            "--by",
            "agent:bot",
            "--kind",
            "bug",
            "--statement",
            "Ask ada lovelace before you change the importer",
            "--cite",
            "commit:3fce3b5",
        ])
        .success();
    let _ = add_lesson(&env, "Something else");
    let _ = env
        .run([
            "add",
            "--by",
            "agent:bot",
            "--kind",
            "bug",
            "--statement",
            "The importer drops the last line",
            "--cite",
            "commit:3fce3b5",
        ])
        .success();
    env.write(
        ".ken/.local/note.jsonl",
        &format!("{{\"by\":\"human:{ADDRESS}\"}}\n{{}}\n"),
    );
    env.write(
        ".ken/allowed_signers",
        &format!("{id} ssh-ed25519 AAAA\neve ssh-ed25519 BBBB\n"),
    );
    for wanted in [ADDRESS, NAME, &id, &format!("human:{id}")] {
        let records = lines(
            &env.run(["ledger", "person", "export", wanted])
                .success()
                .stdout,
        );
        let of = |kind: &str| {
            records
                .iter()
                .filter(|it| it["record"] == kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(of("person")[0]["person"]["id"], id.as_str());
        assert_eq!(of("authored").len(), 2, "{records:?}");
        assert_eq!(of("authored")[0]["event"]["about"][0], own.as_str());
        assert_eq!(of("mentioned").len(), 1);
        assert_eq!(of("local").len(), 1);
        assert_eq!(of("local")[0]["path"], ".local/note.jsonl");
        assert_eq!(of("signer").len(), 1);
    }
}

#[test]
fn forgetting_deletes_every_name_and_says_what_stays() {
    let (env, id) = repository_of_ids();
    let kept = add_lesson(&env, "Charging twice is safe");
    let named = add_lesson(&env, "Only ADA LOVELACE may change the importer");
    let noted = add_lesson(&env, "The cache is dropped first");
    let _ = env.run(["archive", &noted]).success();
    let _ = env
        .run(["restore", &noted, "--note", "as ada@example.org said"])
        .success();
    env.write(
        ".ken/.local/note.jsonl",
        &format!("{{\"by\":\"human:{ADDRESS}\"}}\n"),
    );
    env.write(
        ".ken/allowed_signers",
        &format!("{id} ssh-ed25519 AAAA\neve ssh-ed25519 BBBB\n"),
    );
    commit_all(&env, "lessons");
    let ken = env.root().join(".ken");
    let before = (files_with(&ken, ADDRESS), files_with(&ken, NAME));
    assert!(!before.0.is_empty() && before.1.len() > 2, "{before:?}");

    let trial = env.run(["ledger", "person", "forget", ADDRESS]).success();
    assert!(trial.stdout.contains("would be redacted"), "{trial}");
    assert!(trial.stderr.contains("--yes"), "{trial}");
    assert_eq!((files_with(&ken, ADDRESS), files_with(&ken, NAME)), before);

    let done = env
        .run(["ledger", "person", "forget", ADDRESS, "--yes"])
        .success();
    assert!(
        done.stdout
            .contains("stays in git's history: 1 commit of the list"),
        "{done}"
    );
    assert!(done.stderr.contains("git filter-repo"), "{done}");
    for text in [ADDRESS, NAME, "ada-lovelace"] {
        assert_eq!(files_with(&ken, text), [] as [PathBuf; 0], "{text}");
        let journal = files_with(&env.root().join(".git/ken"), text);
        assert_eq!(journal, [] as [PathBuf; 0], "{text}");
    }
    assert_eq!(env.read(".ken/allowed_signers"), "eve ssh-ed25519 BBBB\n");
    assert_eq!(
        env.read(".ken/.local/note.jsonl"),
        format!("{{\"by\":\"human:{id}\"}}\n")
    );
    // What the person wrote without names stays, by an id without a name.
    assert_eq!(author(&env, &kept), format!("human:{id}"));
    let all = env.run(["list", "--all", "--by", "ci:x"]).success().stdout;
    assert!(all.contains(&kept) && !all.contains(&named), "{all}");
    let _ = env.run(["ledger", "check"]).success();
    let again = env.run([
        "add",
        "--kind",
        "bug",
        "--statement",
        "It breaks on Sundays",
        "--cite",
        "commit:3fce3b5",
    ]);
    assert_ne!(again.exit, 0, "a forgotten person writes no name: {again}");
}

#[test]
fn another_clone_deletes_what_it_pulls_through_git() {
    let (env, _) = repository_of_ids();
    let _ = add_lesson(&env, "Only Ada Lovelace may change the importer");
    commit_all(&env, "lessons");
    let other = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).seed(900);
    let from = env.root();
    let _ = other.git(["clone", "-q", &from.display().to_string(), "."]);
    let _ = other.git(["config", "user.email", "eve@example.org"]);
    let _ = other.run(["list"]).success();
    assert!(!files_with(&other.root().join(".ken"), NAME).is_empty());
    let _ = env
        .run(["ledger", "person", "forget", ADDRESS, "--yes"])
        .success();
    commit_all(&env, "erasure");
    let _ = other.git(["pull", "-q"]);
    let _ = other.run(["sync", "--by", "ci:x"]).success();
    let _ = other.run(["list"]).success();
    for text in [NAME, ADDRESS] {
        let found = files_with(&other.root().join(".ken"), text);
        assert_eq!(found, [] as [PathBuf; 0], "{text}");
    }
}

#[test]
fn forgetting_revives_no_retracted_claim_and_lets_no_revoked_source_in() {
    let (env, id) = repository_of_ids();
    let wrong = add_lesson(&env, "Charging twice is safe");
    let revoked = env.run([
        "add",
        "--by",
        "agent:lovelace-bot",
        "--kind",
        "bug",
        "--statement",
        "The importer drops the last line",
        "--cite",
        "commit:3fce3b5",
    ]);
    let revoked = revoked.success().line();
    let note = "Ada Lovelace found it to be false";
    let _ = env
        .run(["retract", &wrong, "--reason", "false", "--note", note])
        .success();
    let _ = env
        .run(["guard", "revoke", "--author", "agent:lovelace-bot"])
        .success();
    let eve = ["--name", "Eve", "--known-as", "eve@example.org"];
    let _ = env
        .run(["ledger", "person", "add"].into_iter().chain(eve))
        .success();
    let forget = ["ledger", "person", "forget", &id, "--yes"];
    let _ = env
        .run(forget.into_iter().chain(["--also", "lovelace-bot"]))
        .success();
    let listed = env.run(["list", "--all"]).success().stdout;
    assert!(listed.contains(&revoked), "its own text names no person");
    let source = [
        "--author",
        "agent:lovelace-bot",
        "--by",
        "human:eve@example.org",
    ];
    let again = env.run(["guard", "revoke"].into_iter().chain(source));
    assert!(again.stderr.contains("is already revoked"), "{again}");
    let shown = env
        .run(["show", &wrong, "--format", "json"])
        .success()
        .json();
    assert_eq!(shown["retracted"]["reason"], "false");
    let found = files_with(&env.root().join(".ken"), NAME);
    assert_eq!(found, [] as [PathBuf; 0]);
}

#[test]
fn knowledge_that_a_person_added_under_a_name_is_kept_and_counted() {
    let env = repository_with_ledger();
    let lesson = add_lesson(&env, "Charging twice is safe");
    let _ = env
        .run(["ledger", "person", "add", "--name", NAME])
        .success();
    let forget = ["ledger", "person", "forget", ADDRESS, "--yes"];
    let done = env.run(forget).success();
    assert!(done.stdout.contains("stays: 1 event with a name"), "{done}");
    assert_eq!(author(&env, &lesson), format!("human:{ADDRESS}"));
}
