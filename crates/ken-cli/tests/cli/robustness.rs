//! Damaged and unusual repositories: cut segments, broken configuration, an index that cannot be
//! written, a bare repository.

use std::fs;
use std::path::PathBuf;

use ken_testkit::test_env::TestEnvironment;

use crate::cli::support::{add_lesson, commit_all, empty_folder, repository_with_ledger};

/// Returns a repository with a sealed, committed segment of two events, its path and their ids.
fn repository_with_sealed_segment() -> (TestEnvironment, PathBuf, [String; 2]) {
    let env = repository_with_ledger();
    let first = add_lesson(&env, "Charging twice is safe");
    let second = add_lesson(&env, "Refunds need a key");
    commit_all(&env, "two lessons");
    let name = env.names(".ken/semantic/v1").remove(0);
    // A write on the new commit seals the segment and opens another one.
    let _ = add_lesson(&env, "Totals are in cents");
    commit_all(&env, "a third lesson");
    let _ = env.run(["list"]).success();
    let path = env.root().join(".ken/semantic/v1").join(name);
    (env, path, [first, second])
}

/// Bytes that are cut off the end of a file, given the length of its last line.
type Cut = (&'static str, fn(usize) -> usize);

const CUTS: [Cut; 4] = [
    ("the newline and a byte", |_| 2),
    ("forty bytes", |_| 40),
    ("all but a byte of the last line", |line| line - 1),
    ("exactly the last line", |line| line),
];

#[test]
fn a_cut_segment_is_reported_by_every_reader_and_restored_from_the_journal() {
    for (what, cut) in CUTS {
        let (env, path, [first, second]) = repository_with_sealed_segment();
        let whole = fs::read(&path).unwrap();
        let last = whole
            .split_inclusive(|byte| *byte == b'\n')
            .next_back()
            .unwrap();
        fs::write(&path, &whole[..whole.len() - cut(last.len())]).unwrap();
        let shown = path.strip_prefix(env.root()).unwrap().display().to_string();
        let told = format!(
            "note: {shown} is cut short: 1 event is missing; `ken ledger recover` restores it\n"
        );
        for command in [
            &["list"][..],
            &["search", "charging"],
            &["show", &first],
            &["brief", "x"],
        ] {
            let run = env.run(command).success();
            assert!(run.stderr.contains(&told), "{what}: {command:?}: {run}");
        }
        // A new index has not seen the whole file, but the journal has.
        fs::remove_dir_all(env.root().join(".ken/.index")).unwrap();
        for _ in 0..2 {
            let run = env.run(["list"]).success();
            assert!(run.stderr.contains(&told), "{what}, new index: {run}");
        }
        let doctor = env.run(["doctor"]);
        assert_eq!(doctor.exit, 1, "{what}: {doctor}");
        let line = format!("error    ledger         {shown} is cut short: 1 event missing");
        assert!(doctor.stdout.contains(&line), "{what}: {doctor}");
        assert_eq!(env.run(["ledger", "check"]).exit, 3, "{what}");
        let recovered = env.run(["ledger", "recover"]).success();
        assert!(
            recovered
                .stderr
                .contains("recovered 1 event written on main"),
            "{recovered}"
        );
        assert!(
            !recovered.stderr.contains("cut short"),
            "{what}: {recovered}"
        );
        assert_eq!(fs::read(&path).unwrap(), whole, "{what}");
        let listed = env.run(["list"]).success();
        assert!(listed.stdout.contains(&second), "{what}: {listed}");
        assert_eq!(listed.stderr, "3 entries\n", "{what}");
        assert_eq!(env.run(["doctor"]).exit, 0, "{what}");
        let again = env.run(["ledger", "recover"]).success();
        assert!(again.stderr.contains("no events are missing"), "{again}");
    }
}

#[test]
fn without_a_journal_git_restores_a_cut_segment() {
    for (what, cut) in CUTS {
        let (env, path, _) = repository_with_sealed_segment();
        // Another clone has no journal.
        fs::remove_dir_all(env.root().join(".git/ken")).unwrap();
        let _ = env.run(["list"]).success();
        let whole = fs::read(&path).unwrap();
        let last = whole
            .split_inclusive(|byte| *byte == b'\n')
            .next_back()
            .unwrap();
        fs::write(&path, &whole[..whole.len() - cut(last.len())]).unwrap();
        let shown = path.strip_prefix(env.root()).unwrap().display().to_string();
        let fix = format!("`git checkout -- {shown}` restores a committed file");
        let listed = env.run(["list"]).success();
        assert!(listed.stderr.contains(&fix), "{what}: {listed}");
        let recovered = env.run(["ledger", "recover"]).success();
        assert!(recovered.stderr.contains(&fix), "{what}: {recovered}");
        assert!(
            !recovered.stderr.contains("no events are missing"),
            "{what}: {recovered}"
        );
        let doctor = env.run(["doctor"]);
        assert_eq!(doctor.exit, 1, "{what}: {doctor}");
        assert!(
            doctor
                .stdout
                .contains(&format!("do: git checkout -- {shown}")),
            "{doctor}"
        );
        let _ = env.git(["checkout", "--", &shown]);
        let listed = env.run(["list"]).success();
        assert_eq!(listed.stderr, "3 entries\n", "{what}");
    }
}

#[test]
fn a_broken_configuration_is_named_with_its_line_and_reading_goes_on() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    for (text, why) in [
        (
            "schema = \"ken.config.v1\"\nfacts = [\n",
            "line 2: unclosed array",
        ),
        ("\n\nshout = true\n", "line 3: unknown field `shout`"),
        (
            "[surfacing]\nreviewer = \"shout\"\n",
            "line 2: unknown variant `shout`",
        ),
    ] {
        env.write(".ken/config.toml", text);
        let told = format!("`.ken/config.toml` {why}");
        for command in [
            &["list"][..],
            &["search", "charging"],
            &["show", &id],
            &["brief", "x"],
        ] {
            let run = env.run(command).success();
            assert!(run.stderr.contains(&told), "{command:?}: {run}");
            assert!(run.stderr.contains("the defaults apply"), "{run}");
        }
        let doctor = env.run(["doctor"]);
        assert_eq!(doctor.exit, 1, "{doctor}");
        assert!(
            doctor
                .stdout
                .contains(&format!("error    config         {told}")),
            "{doctor}"
        );
        let verified = env.run(["verify"]);
        assert_ne!(verified.exit, 0);
        assert!(verified.stderr.contains(&told), "{verified}");
    }
}

#[test]
fn readers_work_where_the_index_cannot_be_written() {
    let env = repository_with_ledger();
    let id = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "a lesson");
    // A folder in place of the database, because root may write to read-only files.
    fs::remove_dir_all(env.root().join(".ken/.index")).unwrap();
    fs::create_dir_all(env.root().join(".ken/.index/knowledge.db/x")).unwrap();
    fs::remove_dir_all(env.root().join(".ken/.local")).unwrap();
    fs::write(env.root().join(".ken/.local"), "").unwrap();
    for command in [
        &["list"][..],
        &["search", "charging"],
        &["show", &id],
        &["brief", "charging"],
        &["verify"],
        &["health"],
    ] {
        let run = env.run(command).success();
        assert!(
            run.stderr
                .contains("note: cannot write the index in .ken/.index"),
            "{run}"
        );
        if !["verify", "health"].contains(&command[0]) {
            assert!(
                run.stdout.contains("Charging twice is safe"),
                "{command:?}: {run}"
            );
        }
    }
}

#[test]
fn a_bare_repository_is_refused() {
    let env = empty_folder();
    let _ = env.git(["init", "-q", "--bare", "."]);
    let run = env.run(["init"]);
    assert_eq!(run.exit, 2, "{run}");
    assert!(run.stderr.contains("is a bare repository"), "{run}");
    assert!(!env.root().join(".ken").exists());
}

#[test]
fn doctor_names_edits_lost_events_and_a_shallow_clone() {
    let env = repository_with_ledger();
    let _ = add_lesson(&env, "Charging twice is safe");
    commit_all(&env, "a lesson");
    let _ = add_lesson(&env, "Refunds need a key");
    let _ = env.git(["reset", "-q", "--hard"]);
    let _ = env.git(["clean", "-qfd"]);
    let name = env.names(".ken/entries").remove(0);
    let file = format!(".ken/entries/{name}");
    env.write(&file, &env.read(&file).replace("twice", "thrice"));
    fs::write(
        env.root().join(".git/shallow"),
        env.git(["rev-parse", "HEAD"]),
    )
    .unwrap();
    let doctor = env.run(["doctor"]);
    insta::assert_snapshot!(doctor, @"
    exit: 0
    ----- stdout -----
    ok       ledger         1 event in 1 file
    ok       segments       1 segment
    ok       blanked        no redacted data in the tree
    ok       readable       this version of Ken knows every event type
    ok       gitattributes  line endings are preserved
    ok       config         every key of .ken/config.toml is valid
    warning  edits          1 entry file was edited or deleted and not recorded
                            do: ken sync
    ok       identity       you are human:ada@example.org
    ok       shared         git shares the ledger
    warning  recoverable    1 event is in the journal, but in no branch or work tree
                            do: ken ledger recover
    warning  history        this is a shallow clone: authors of older edits are unknown
                            do: git fetch --unshallow
    ");
    assert_eq!(
        env.run(["doctor"]).stdout,
        doctor.stdout,
        "doctor changes nothing"
    );
}

#[test]
fn a_group_alone_prints_its_list_or_report() {
    let env = repository_with_ledger();
    let kind = ["--kind", "commit-norm", "--cite", "pr:9"];
    let norm = ["add", "--statement", "Refunds are tested."]
        .into_iter()
        .chain(kind);
    let norm = env.run(norm).success().line();
    for (group, same) in [
        (&["health"][..], &["health", "report"][..]),
        (&["norms"], &["norms", "list"]),
        (&["health", "friction"], &["health", "friction", "report"]),
        (&["guard"], &["guard", "quarantine", "list"]),
        (&["guard", "quarantine"], &["guard", "quarantine", "list"]),
        (&["config", "model"], &["config", "model", "show"]),
        (&["config", "weights"], &["config", "weights", "show"]),
        (&["config", "llm"], &["config", "llm", "show"]),
        (&["remote"], &["remote", "list"]),
        (&["run"], &["run", "list"]),
    ] {
        let (alone, named) = (env.run(group).success(), env.run(same).success());
        assert_eq!(alone.stdout, named.stdout, "{group:?}");
        assert_eq!(alone.stderr, named.stderr, "{group:?}");
    }
    assert!(env.run(["norms"]).stdout.contains(&norm));
    assert!(env.run(["config"]).success().stdout.contains("semantic"));
    for help in [
        &["help"][..],
        &["help", "add"],
        &["help", "health", "duplicates"],
    ] {
        assert!(
            env.run(help).success().stdout.contains("Usage: ken"),
            "{help:?}"
        );
    }
}

#[test]
fn lists_of_pairs_are_limited_and_say_how_many_there_are() {
    let env = repository_with_ledger();
    for tool in ["cargo", "maturin", "poetry"] {
        for verb in ["Always", "Never"] {
            let _ = add_lesson(&env, &format!("{verb} build the wheels with {tool}."));
        }
    }
    let all = env
        .run(["health", "contradictions", "--limit", "1000"])
        .success();
    let total: usize = all.stderr.split(' ').next().unwrap().parse().unwrap();
    assert!(total > 1, "{all}");
    let one = env
        .run(["health", "contradictions", "--limit", "1"])
        .success();
    assert!(
        one.stderr.starts_with(&format!(
            "1 of {total} contradictions; --limit {total} lists all\n"
        )),
        "{one}"
    );
    let json = env
        .run([
            "health",
            "contradictions",
            "--limit",
            "1",
            "--format",
            "json",
        ])
        .success();
    assert_eq!(json.stdout.lines().count(), 1);
    assert!(
        json.stderr.contains(&format!("listed 1 of {total}")),
        "{json}"
    );
    let pairs = env.run(["health", "duplicates", "--limit", "0"]).success();
    assert!(pairs.stdout.is_empty());
    let dedup = env
        .run(["health", "maintain", "dedup", "--limit", "1"])
        .success();
    assert_eq!(
        dedup
            .stdout
            .lines()
            .filter(|it| it.contains("do: "))
            .count(),
        1,
        "{dedup}"
    );
    assert!(dedup.stderr.contains("1 listed; --limit "), "{dedup}");
}

#[cfg(unix)]
#[test]
fn an_anchor_that_cannot_be_read_says_exactly_why() {
    use std::os::unix::fs::symlink;
    let env = repository_with_ledger();
    env.write("real/pay.rs", "fn charge() {}\n");
    fs::create_dir(env.root().join("src")).unwrap();
    symlink("../real/pay.rs", env.root().join("src/pay.rs")).unwrap();
    symlink("/etc", env.root().join("outside")).unwrap();
    fs::write(env.root().join("src/big.bin"), vec![0_u8; 3_000_000]).unwrap();
    fs::write(
        env.root().join("src/latin.py"),
        b"caf\xe9 = 1\ndef f():\n    pass\n",
    )
    .unwrap();
    let add = |anchor: &str| {
        let text = format!("The code in {anchor} is odd");
        let args = ["add", &text, "--cite", "pr:9", "--anchor", anchor];
        env.run(args)
    };
    for (anchor, why) in [
        ("src/none.rs", "the file `src/none.rs` does not exist"),
        (
            "src/pay.rs#charge",
            "`src/pay.rs` is behind a symbolic link, which Ken does not follow; anchor `real/pay.rs` instead",
        ),
        ("outside/passwd", "it leads out of the repository"),
        (
            "src/big.bin",
            "the file has 3000000 bytes, more than 2097152",
        ),
    ] {
        let run = add(anchor);
        assert_ne!(run.exit, 0);
        assert!(run.stderr.contains(why), "{anchor}: {run}");
    }
    let _ = add("real/pay.rs#charge").success();
    let _ = add("src/latin.py#f").success();
}

#[test]
fn a_deleted_segment_is_reported_and_restored_from_git() {
    let (env, path, [first, _]) = repository_with_sealed_segment();
    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let shown = path.strip_prefix(env.root()).unwrap().display().to_string();
    let doctor = env.run(["doctor"]);
    let told = format!("{shown} is deleted: 2 events missing");
    assert!(doctor.stdout.contains(&told), "{doctor}");
    for command in [&["verify"][..], &["ledger", "check"]] {
        let run = env.run(command);
        assert_ne!(run.exit, 0, "{run}");
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(
            all.contains("the file is deleted: 2 of its events"),
            "{run}"
        );
    }
    let recovered = env.run(["ledger", "recover"]).success();
    assert!(recovered.stdout.contains(&shown), "{recovered}");
    assert_eq!(fs::read(&path).unwrap(), whole);
    let _ = env.run(["show", &first]).success();
    let again = env.run(["ledger", "recover"]).success();
    assert!(again.stderr.contains("no events are missing"), "{again}");
}

#[test]
fn a_gitignore_of_the_repository_does_not_keep_the_ledger_out_of_git() {
    let env = empty_folder().in_git();
    env.write(".gitignore", "*.jsonl\n*skills*\n");
    let _ = env.run(["init"]).success();
    let _ = add_lesson(&env, "Agent skills are loaded lazily");
    let tracked = env.git(["status", "--short", "-uall"]);
    assert!(tracked.contains(".jsonl"), "{tracked}");
    assert!(tracked.contains("agent-skills"), "{tracked}");
    assert!(!tracked.contains(".index"), "{tracked}");
    let doctor = env.run(["doctor"]).success();
    assert!(doctor.stdout.contains("git shares the ledger"), "{doctor}");
    // A folder that is ignored as a whole cannot be included from inside.
    env.write(".gitignore", ".*\n");
    let doctor = env.run(["doctor"]);
    assert!(
        doctor.stdout.contains("keeps the ledger out of git"),
        "{doctor}"
    );
    let init = env.run(["init"]).success();
    assert!(
        init.stderr.contains("keeps the ledger out of git"),
        "{init}"
    );
}
