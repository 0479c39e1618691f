//! Entry files are current: each command renders what it changed, reading and checking write
//! nothing, and conflicts are resolved from the merged ledger.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ken_testkit::test_env::{CommandRun, TestEnvironment};

use crate::cli::support::{add_lesson, commit_all, repository_with_ledger, write_pay_source};

/// Returns the text of every entry file.
fn entry_files(env: &TestEnvironment) -> BTreeMap<String, String> {
    let names = env.names(".ken/entries").into_iter();
    let text = |name: &String| env.read(&format!(".ken/entries/{name}"));
    names.map(|name| (name.clone(), text(&name))).collect()
}

fn entry_path(env: &TestEnvironment, id: &str) -> String {
    let mut names = env.names(".ken/entries").into_iter();
    let name = names.find(|name| name.starts_with(id)).expect("its file");
    format!(".ken/entries/{name}")
}

/// Returns a repository with a committed lesson, its id and the path of its file.
fn repository_with_lesson() -> (TestEnvironment, String, String) {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "a lesson");
    let path = entry_path(&env, &id);
    (env, id, path)
}

/// Returns the bytes of everything below `.ken` that git tracks.
fn tracked_bytes(env: &TestEnvironment) -> BTreeMap<String, Vec<u8>> {
    fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for item in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (item.path(), item.file_name());
            let is_local = [".local", ".index"].iter().any(|it| name == *it);
            if path.is_dir() && !is_local {
                collect(root, &path, files);
            } else if path.is_file() {
                let below = path.strip_prefix(root).expect("below the root");
                let bytes = fs::read(&path).expect("a file");
                files.insert(below.display().to_string(), bytes);
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(&env.root(), &env.root().join(".ken"), &mut files);
    files
}

/// Runs a command, then checks that neither a sync nor a fresh rendering changes a file.
fn check_rendered_at_once(env: &TestEnvironment, args: &[&str]) {
    env.wait_days(1);
    let _ = env.run(args).success();
    let files = entry_files(env);
    let synced = env.run(["sync", "--format", "json"]).success().json();
    assert_eq!(synced["rendered"], 0, "sync after {args:?}: {synced}");
    let _ = env.run(["ledger", "render"]).success();
    for (name, text) in entry_files(env) {
        let before = files.get(&name).map_or("", String::as_str);
        assert_eq!(before, text, "{name} after {args:?}");
    }
}

/// Commands that change entries `a` to `f`, in an order in which each has something to do.
fn writing_commands([a, b, c, d, e, f]: [&str; 6]) -> Vec<Vec<&str>> {
    let statement = "Charging twice is safe while the key is kept";
    let anchor = "src/pay.rs#Ledger::charge";
    let summary = "Keys and totals belong together";
    let finding = "Amounts are in minor units";
    let norm = ["--statement", "Sign every tag", "--cite", "pr:9"];
    vec![
        ["add", "--kind", "commit-norm"]
            .into_iter()
            .chain(norm)
            .collect(),
        vec!["edit", a, "--statement", statement],
        vec!["edit", a, "--tag", "pay", "--anchor", anchor],
        vec!["undo"],
        vec!["confirm", a],
        vec!["entry", "cite", a, "pr:77"],
        vec!["entry", "status", a, "active"],
        vec!["entry", "status", a, "verified"],
        vec!["entry", "link", a, c],
        vec!["entry", "pin", a],
        vec!["entry", "annotate", a, "--note", "ask Bob"],
        vec!["entry", "merge", b, "--into", a],
        vec!["entry", "supersede", d, c],
        vec!["archive", e],
        vec!["restore", e],
        vec!["retract", e],
        vec!["restore", e],
        vec!["feedback", c, "--helpful"],
        vec!["guard", "quarantine", "add", f, "--reason", "odd"],
        vec!["guard", "quarantine", "release", f, "--reason", "fine"],
        vec![
            "entry",
            "distill",
            "--sources",
            a,
            c,
            "--statement",
            summary,
        ],
        vec![
            "run",
            "open",
            "r-1",
            "--agent",
            "one",
            "--witness",
            "orchestrator",
        ],
        vec![
            "run",
            "observe",
            "--statement",
            finding,
            "--by",
            "agent:one",
            "--run",
            "r-1",
        ],
        vec!["run", "close", "r-1", "--outcome", "succeeded"],
        vec!["health", "maintain", "stale_sweep"],
        vec!["health", "maintain", "dedup"],
        vec!["guard", "revoke", "--author", "agent:one"],
        vec!["import"],
    ]
}

#[test]
fn every_writing_command_renders_what_it_changed() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let ids = [
        "Charging twice is safe with a key",
        "Charging two times is safe with a key",
        "Refunds reset the total of the ledger",
        "The ledger is not shared between threads",
        "Amounts are in minor units",
        "Keys expire after a day",
    ]
    .map(|statement| add_lesson(&env, statement));
    commit_all(&env, "lessons");
    for args in writing_commands(ids.each_ref().map(String::as_str)) {
        check_rendered_at_once(&env, &args);
    }
}

#[test]
fn a_file_shows_status_citations_and_what_replaced_its_entry() {
    let env = repository_with_ledger();
    let one = add_lesson(&env, "Charging twice is safe");
    let two = add_lesson(&env, "Charging two times is safe");
    let three = add_lesson(&env, "Charging needs a key");
    let shows = |id: &str, line: &str| {
        let text = env.read(&entry_path(&env, id));
        assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
    };
    let _ = env.run(["entry", "status", &one, "active"]).success();
    shows(&one, "status: active");
    let _ = env.run(["entry", "cite", &one, "pr:77"]).success();
    shows(&one, "  - resource: \"pr:77\"");
    let _ = env.run(["entry", "merge", &two, "--into", &one]).success();
    shows(&two, &format!("merged_into: {one}"));
    let _ = env.run(["entry", "supersede", &one, &three]).success();
    shows(&one, &format!("superseded_by: {three}"));
    let index = env.read(".ken/index.md");
    assert!(index.contains(&three) && !index.contains(&one), "{index}");
    let newer = env
        .run(["show", &three, "--format", "json"])
        .success()
        .json();
    let link = &newer["links"][0];
    assert_eq!(
        (&link["rel"], &link["to"]),
        (&"supersedes".into(), &one.as_str().into())
    );
    let _ = env.run(["archive", &three]).success();
    shows(&three, "archived: yes");
}

#[test]
fn reading_commands_tell_about_edits_and_write_nothing() {
    let (env, id, path) = repository_with_lesson();
    let edited = env
        .read(&path)
        .replace("\nCharging twice is safe\n", "\nCharging is safe\n");
    env.write(&path, &edited);
    let before = tracked_bytes(&env);
    for args in [vec!["show", &id], vec!["list"], vec!["search", "charging"]] {
        let run = env.run(args);
        let note =
            "note: 1 edit of entry files not recorded yet, so not shown here; run `ken sync`";
        assert!(run.stderr.contains(note), "{run}");
    }
    assert_eq!(tracked_bytes(&env), before);
    let _ = env.run(["sync"]).success();
    let run = env.run(["show", &id]);
    assert!(
        run.stderr.is_empty() && run.stdout.contains("Charging is safe"),
        "{run}"
    );
}

#[test]
fn an_edit_that_the_guard_refuses_fails_the_sync() {
    let (env, _, path) = repository_with_lesson();
    let token = ["ghp", "_", "q7Zr2Lx9Vb4Kd8Wm1T", "n6Ys3Pf5Hg0JcAeUoR"].concat();
    let edited = env
        .read(&path)
        .replace("is safe\n", &format!("is safe with {token}\n"));
    env.write(&path, &edited);
    let run = env.run(["sync"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(
        run.stderr
            .contains("recorded 0 hand edits; 1 edit was not recorded"),
        "{run}"
    );
    assert!(!run.stderr.contains("up to date"), "{run}");
    assert_eq!(env.read(&path), edited, "the edit stays in the file");
}

#[test]
fn a_source_added_by_hand_is_neither_lost_nor_silently_kept() {
    let (env, id, path) = repository_with_lesson();
    let source = "  - resource: \"commit:3fce3b5\"\n";
    let edited = env
        .read(&path)
        .replace(source, &format!("{source}  - resource: \"pr:9\"\n"));
    env.write(&path, &edited);
    let run = env.run(["sync"]);
    assert_eq!(run.exit, 1, "{run}");
    assert!(
        run.stderr
            .contains(&format!("run `ken entry cite {id} pr:9`")),
        "{run}"
    );
    assert_eq!(env.read(&path), edited);
    let _ = env.run(["entry", "cite", &id, "pr:9"]).success();
    let run = env.run(["sync"]).success();
    assert!(run.stderr.contains("entry files are up to date"), "{run}");
}

#[test]
fn a_status_set_by_hand_is_reset_and_not_silently() {
    let (env, id, path) = repository_with_lesson();
    let rendered = env.read(&path);
    env.write(
        &path,
        &rendered.replace("status: candidate", "status: verified"),
    );
    let run = env.run(["sync"]).success();
    let fix = format!("run `ken entry status {id} verified` to set it");
    assert!(run.stderr.contains(&fix), "{run}");
    assert_eq!(env.read(&path), rendered);
}

/// Verifies in three ways and checks that nothing tracked changed; returns the run with all output
/// and the quiet one.
fn check_verify_writes_nothing(env: &TestEnvironment, state: &str) -> (CommandRun, CommandRun) {
    let before = tracked_bytes(env);
    let run = env.run(["verify"]);
    let quiet = env.run(["verify", "-q"]);
    let based = env.run(["verify", "--base", "main"]);
    assert_eq!(tracked_bytes(env), before, "{state}");
    assert!(
        [0, 1].contains(&run.exit) && [0, 1].contains(&based.exit),
        "{run}{based}"
    );
    assert_eq!(quiet.exit, run.exit);
    (run, quiet)
}

#[test]
fn verify_judges_edits_and_writes_nothing() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "lesson");
    let (run, quiet) = check_verify_writes_nothing(&env, "as committed");
    assert!(
        run.exit == 0 && quiet.stdout.is_empty() && quiet.stderr.is_empty(),
        "{quiet}"
    );

    let path = entry_path(&env, &id);
    let rendered = env.read(&path);
    env.write(
        &path,
        &rendered.replace("\nCharging twice is safe\n", "\nCharging is safe\n"),
    );
    let (run, _) = check_verify_writes_nothing(&env, "an edit");
    let note = "1 edit of entry files checked as if recorded; run `ken sync` to record";
    assert!(run.exit == 0 && run.stderr.contains(note), "{run}");

    env.write(
        &path,
        &rendered.replace("tags: []", "tags: [\"Not A Tag\"]"),
    );
    let (run, quiet) = check_verify_writes_nothing(&env, "an edit that cannot be read");
    assert!(
        run.exit == 1 && quiet.stdout.lines().count() == 1,
        "{quiet}"
    );

    let marked = format!("{rendered}<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n");
    env.write(&path, &marked);
    let (run, _) = check_verify_writes_nothing(&env, "conflict markers");
    assert!(
        run.exit == 1 && run.stdout.contains("contains conflict markers"),
        "{run}"
    );

    fs::remove_file(env.root().join(&path)).unwrap();
    let (run, _) = check_verify_writes_nothing(&env, "a deleted file");
    assert!(run.exit == 0 && run.stderr.contains(note), "{run}");
}

#[test]
fn verify_reports_moved_code_and_sync_follows_it() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let id = add_lesson(&env, "Refunds reset the total");
    let anchored = ["edit", &id, "--anchor", "src/pay.rs#refund"];
    let _ = env.run(anchored).success();
    commit_all(&env, "lesson");
    fs::rename(
        env.root().join("src/pay.rs"),
        env.root().join("src/bill.rs"),
    )
    .unwrap();
    let (run, _) = check_verify_writes_nothing(&env, "a renamed file");
    assert!(run.stdout.contains("moved"), "{run}");
    assert!(
        run.stderr
            .contains("`ken sync` updates the anchors of moved code"),
        "{run}"
    );
    let run = env.run(["sync"]).success();
    assert!(
        run.stderr
            .contains("updated the anchors of 1 entry whose code moved"),
        "{run}"
    );
    let shown = env.run(["show", &id]).success();
    assert!(shown.stdout.contains("src/bill.rs#refund"), "{shown}");
    let (run, _) = check_verify_writes_nothing(&env, "followed");
    assert!(!run.stdout.contains("moved"), "{run}");
}

/// Lets two branches do something to one entry and merges them; returns whether git succeeded.
fn merge_branches(
    env: &TestEnvironment,
    ours: impl Fn(&TestEnvironment),
    theirs: impl Fn(&TestEnvironment),
) -> bool {
    commit_all(env, "base");
    let _ = env.git(["switch", "-q", "-c", "theirs"]);
    theirs(env);
    commit_all(env, "theirs");
    let _ = env.git(["switch", "-q", "main"]);
    ours(env);
    commit_all(env, "ours");
    env.git_succeeds(["merge", "-q", "theirs"])
}

#[test]
fn a_conflict_of_two_wordings_is_rendered_from_the_merged_ledger() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let reword = |text: &'static str| {
        let id = id.clone();
        move |env: &TestEnvironment| {
            let _ = env.run(["edit", &id, "--statement", text]).success();
        }
    };
    let merged = merge_branches(
        &env,
        reword("Charging twice is safe with a key"),
        reword("Charging twice is safe within a day"),
    );
    assert!(!merged, "git stops at the conflict");
    let path = entry_path(&env, &id);
    let run = env.run(["verify"]);
    assert!(
        run.stdout
            .contains("contains conflict markers; run `ken sync`"),
        "{run}"
    );
    let run = env.run(["sync"]).success();
    assert!(
        run.stderr
            .contains(&format!("resolved the conflict in {path}")),
        "{run}"
    );
    assert!(!env.read(&path).contains("<<<<<<<"));
    commit_all(&env, "merged");
    let run = env.run(["sync"]).success();
    assert!(
        run.stderr
            .contains(&format!("{id} has concurrent versions")),
        "{run}"
    );
    let shown = env.run(["show", &id]).success();
    for wording in ["with a key", "within a day"] {
        assert!(shown.stdout.contains(wording), "{shown}");
    }
    let _ = env
        .run(["edit", &id, "--statement", "Charging twice is safe"])
        .success();
    let run = env.run(["sync"]).success();
    assert!(!run.stderr.contains("concurrent"), "{run}");
}

#[test]
fn a_conflict_with_an_unrecorded_edit_is_left_to_the_person() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let by_hand = |text: &'static str| {
        let id = id.clone();
        move |env: &TestEnvironment| {
            let path = entry_path(env, &id);
            let edited = env.read(&path).replace("\nCharging twice is safe\n", text);
            env.write(&path, &edited);
        }
    };
    let merged = merge_branches(
        &env,
        by_hand("\nCharge once\n"),
        by_hand("\nNever charge\n"),
    );
    assert!(!merged, "git stops at the conflict");
    let path = entry_path(&env, &id);
    let conflicted = env.read(&path);
    let _ = env.run(["sync"]);
    assert_eq!(env.read(&path), conflicted, "an edit is never lost");
    // The person takes one side.
    let _ = env.git(["checkout", "-q", "--theirs", "--", &path]);
    commit_all(&env, "merged");
    let run = env.run(["sync"]).success();
    assert!(run.stderr.contains("recorded 1 hand edit"), "{run}");
    let shown = env.run(["show", &id]).success();
    assert!(shown.stdout.contains("Never charge"), "{shown}");
}

#[test]
fn taking_one_side_of_recorded_wordings_keeps_both_in_the_ledger() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    let reword = |text: &'static str| {
        let id = id.clone();
        move |env: &TestEnvironment| {
            let _ = env.run(["edit", &id, "--statement", text]).success();
        }
    };
    let merged = merge_branches(&env, reword("Charge once"), reword("Never charge"));
    assert!(!merged, "git stops at the conflict");
    let path = entry_path(&env, &id);
    let _ = env.git(["checkout", "-q", "--ours", "--", &path]);
    commit_all(&env, "merged");
    let run = env.run(["sync"]).success();
    assert!(
        run.stderr
            .contains(&format!("{id} has concurrent versions")),
        "{run}"
    );
    let shown = env.run(["show", &id]).success();
    assert!(
        shown.stdout.contains("Charge once") && shown.stdout.contains("Never charge"),
        "{shown}"
    );
}

#[test]
fn two_branches_that_follow_the_same_move_write_one_event() {
    let env = repository_with_ledger();
    write_pay_source(&env);
    let id = add_lesson(&env, "Refunds reset the total");
    let anchored = ["edit", &id, "--anchor", "src/pay.rs#refund"];
    let _ = env.run(anchored).success();
    commit_all(&env, "lesson");
    let _ = env.git(["mv", "src/pay.rs", "src/bill.rs"]);
    let follow = |env: &TestEnvironment| {
        let run = env.run(["sync"]).success();
        assert!(
            run.stderr.contains("updated the anchors of 1 entry"),
            "{run}"
        );
    };
    assert!(merge_branches(&env, follow, follow), "nothing conflicts");
    let run = env.run(["sync"]).success();
    assert!(!run.stderr.contains("concurrent"), "{run}");
    let log = env.run(["log", &id]).success().stdout;
    assert_eq!(log.matches("reanchored").count(), 1, "{log}");
}

#[test]
fn a_file_that_cannot_be_read_is_reported_until_it_is_corrected() {
    let (env, _, path) = repository_with_lesson();
    let text = env.read(&path);
    env.write(
        &path,
        &text.replacen("schema_version:", "schema_version: [", 1),
    );
    for _ in 0..2 {
        let synced = env.run(["sync"]);
        assert_eq!(synced.exit, 1, "{synced}");
        assert!(synced.stderr.contains("was not recorded"), "{synced}");
        let doctor = env.run(["doctor"]);
        assert!(
            !doctor
                .stdout
                .contains("every edit of an entry file is recorded"),
            "{doctor}"
        );
    }
    env.write(&path, &text);
    let _ = env.run(["sync"]).success();
}

#[test]
fn edits_beside_a_source_that_no_event_cites_wait_until_it_is_cited() {
    let (env, id, path) = repository_with_lesson();
    let text = env.read(&path);
    let more = text.replace("sources:\n", "sources:\n  - resource: \"pr:777\"\n");
    assert_ne!(more, text);
    for wording in ["Charging thrice is safe", "Charging four times is safe"] {
        env.write(&path, &more.replace("Charging twice is safe", wording));
        let synced = env.run(["sync"]);
        assert_eq!(synced.exit, 1, "{synced}");
        assert!(
            synced.stderr.contains("no event cites its source"),
            "{synced}"
        );
    }
    let _ = env.run(["entry", "cite", &id, "pr:777"]).success();
    let _ = env.run(["sync"]).success();
    let shown = env.run(["show", &id]).success();
    assert!(
        shown.stdout.contains("Charging four times is safe"),
        "{shown}"
    );
    assert!(!shown.stdout.contains("concurrently"), "{shown}");
}

#[test]
fn files_that_were_never_written_are_written_by_sync() {
    let env = repository_with_ledger();
    let first = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "a lesson");
    let second = add_lesson(&env, "Refunds need a key");
    // As if the process had been killed before it wrote the file and its records.
    for known in [true, false] {
        fs::remove_file(env.root().join(entry_path(&env, &second))).unwrap();
        let seen = env.root().join(".ken/.local/views-seen");
        let text = fs::read_to_string(&seen).unwrap_or_default();
        if known {
            let kept = text.lines().filter(|line| !line.contains(&second));
            let kept: Vec<&str> = kept.collect();
            fs::write(&seen, kept.join("\n") + "\n").unwrap();
        } else {
            let _ = fs::remove_file(&seen);
        }
        let synced = env.run(["sync"]).success();
        assert!(!synced.stderr.contains("was deleted"), "{synced}");
        assert!(env.root().join(entry_path(&env, &second)).exists());
    }
    assert!(env.root().join(entry_path(&env, &first)).exists());
}
