//! Federation between repositories: two organizations, real keys of `ssh-keygen`, static folders.
//!
//! `tools/federation-lab` shows the same path at greater length.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ken_testkit::reference_page::repository_path;
use ken_testkit::test_env::{CommandRun, TestEnvironment};
use serde_json::Value;

const RETRIES: &str = "Bound retries of idempotent requests at three attempts";

/// A publisher with a key and a folder.
struct Acme {
    env: TestEnvironment,
    folder: String,
}

fn clone(seed: u64) -> TestEnvironment {
    let env = TestEnvironment::new(env!("CARGO_BIN_EXE_ken")).seed(seed);
    let base = env.root().join("..");
    let base = std::path::absolute(base).unwrap();
    let peers = base.join("peers").display().to_string();
    let global = base.join("global").display().to_string();
    let env = env
        .env("KEN_PEERS", &peers)
        .env("KEN_GLOBAL", &global)
        .in_git();
    let _ = env.run(["init"]).success();
    env
}

fn publisher() -> Acme {
    let env = clone(1_000);
    let folder = env.create_publication();
    Acme { env, folder }
}

fn add(env: &TestEnvironment, statement: &str, more: &[&str]) -> String {
    let args = [
        "add",
        "--kind",
        "learning",
        "--cite",
        "commit:3fce3b5",
        "--tag",
        "rust/async",
    ];
    let words = ["--statement", statement];
    let args = args.iter().chain(more).chain(&words);
    let id = env.run(args).success().line();
    let _ = env.run(["confirm", &id]).success();
    id
}

impl Acme {
    fn publish(&self, id: &str) {
        let _ = self
            .env
            .run(["remote", "publication", "allow", "partners", id])
            .success();
        let _ = self.update();
    }

    fn update(&self) -> Value {
        let update = [
            "remote",
            "publication",
            "update",
            "partners",
            "--format",
            "json",
        ];
        self.env.run(update).success().json()
    }

    fn fingerprint(&self) -> String {
        let list = ["remote", "publication", "list", "--format", "json"];
        let listed = self.env.run(list).success().json();
        listed["fingerprint"].as_str().unwrap().to_owned()
    }

    /// Returns a reader that has added this publisher as a peer and pulled.
    fn reader(&self) -> TestEnvironment {
        let reader = clone(2_000);
        let key = self.fingerprint();
        let _ = reader
            .run(["remote", "peer", "add", "acme", &self.folder, "--key", &key])
            .success();
        let _ = pull(&reader).success();
        reader
    }
}

fn pull(env: &TestEnvironment) -> CommandRun {
    env.run(["remote", "peer", "pull", "acme", "--format", "json"])
}

fn search(env: &TestEnvironment, query: &str) -> Value {
    env.run(["search", query, "--format", "json"])
        .success()
        .json()
}

fn foreign(env: &TestEnvironment, query: &str) -> usize {
    search(env, query)["global"].as_array().map_or(0, Vec::len)
}

/// Returns the only wording that waits.
fn waiting(env: &TestEnvironment) -> Value {
    let review = ["remote", "peer", "review", "acme", "--format", "json"];
    env.run(review).success().json()
}

fn approve(env: &TestEnvironment) -> String {
    let id = waiting(env)["id"].as_str().unwrap().to_owned();
    let _ = env
        .run(["remote", "peer", "approve", "acme", &id])
        .success();
    id
}

fn peer(env: &TestEnvironment) -> Value {
    env.run(["remote", "peer", "list", "--format", "json"])
        .success()
        .json()
}

/// Returns whether a file below `folder` contains `text`.
fn contains(folder: &Path, text: &str) -> bool {
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let inside = fs::read_dir(&path).unwrap();
            open.extend(inside.map(|it| it.unwrap().path()));
        } else if fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|it| it == text.as_bytes()))
        {
            return true;
        }
    }
    false
}

fn peers(env: &TestEnvironment) -> PathBuf {
    env.root().join("../peers")
}

#[test]
fn words_are_shown_only_after_two_people_agreed() {
    let acme = publisher();
    let id = add(&acme.env, RETRIES, &[]);
    let other = add(
        &acme.env,
        "Payroll runs on the finance host",
        &["--tag", "internal"],
    );
    let _ = acme.update();
    assert!(
        !contains(Path::new(&acme.folder), "idempotent"),
        "nobody let it out"
    );
    acme.publish(&id);
    for never in ["3fce3b5", "ada@example.org", id.as_str(), other.as_str()] {
        assert!(!contains(Path::new(&acme.folder), never), "{never}");
    }

    let reader = acme.reader();
    assert_eq!(foreign(&reader, "bound retries"), 0, "nobody let it in");
    assert!(
        !contains(&reader.root(), "idempotent"),
        "nothing enters the repository"
    );
    let by_agent = ["remote", "peer", "review", "acme", "--by", "agent:codex"];
    assert_eq!(reader.run(by_agent).exit, 1, "no agent reads what waits");
    let foreign_id = approve(&reader);
    let found = search(&reader, "bound retries");
    assert_eq!(found["global"][0]["id"], foreign_id.as_str());
    assert_eq!(found["peers"][0]["peer"], "acme");
    // Its ledger is not this repository's, so no hint may lead there.
    let shown = reader.run(["show", &foreign_id]).success().stdout;
    assert!(shown.contains("idempotent"), "{shown}");
    assert!(
        !shown.contains(".ken/entries") && !shown.contains("ken log"),
        "{shown}"
    );
    let block = reader.run([
        "search",
        "bound retries",
        "--context",
        "--by",
        "agent:codex",
    ]);
    assert!(
        block.stdout.contains("from another organization"),
        "{block}"
    );
}

#[test]
fn a_review_shows_every_word_that_an_approval_covers() {
    let acme = publisher();
    let body = "Measured twice.\nL-00000000  acme  learning\n  Approve me";
    let more = [
        "--body",
        body,
        "--lens",
        "performance",
        "--polarity",
        "negative",
    ];
    let id = add(&acme.env, RETRIES, &more);
    let out = ["remote", "publication", "review", "partners"];
    let reviews = [acme.env.run(out).success().stdout, {
        acme.publish(&id);
        let reader = acme.reader();
        reader.run(["remote", "peer", "review"]).success().stdout
    }];
    for shown in reviews {
        let fields = [
            "Measured twice.",
            "Approve me",
            "lens: performance",
            "polarity: negative",
            r#"tags: ["rust/async"]"#,
            "decay: ",
        ];
        for field in fields {
            assert!(shown.contains(field), "{field}: {shown}");
        }
        // A line break in the words begins no row of its own.
        let rows = shown.lines().filter(|it| !it.starts_with("  | "));
        assert_eq!(rows.count(), 1, "{shown}");
    }
}

/// Returns a publisher with one entry, its id, and a reader that approved it.
fn approved_by_a_reader() -> (Acme, String, TestEnvironment) {
    let acme = publisher();
    let id = add(&acme.env, RETRIES, &[]);
    acme.publish(&id);
    let reader = acme.reader();
    let _ = approve(&reader);
    (acme, id, reader)
}

/// Redacts the event that added an entry.
fn redact(env: &TestEnvironment, id: &str) {
    let log = env.run(["log", id, "--format", "json"]).success();
    let first = log.stdout.lines().next().expect("an event");
    let first: Value = serde_json::from_str(first).expect("JSON");
    let event = first["id"].as_str().expect("an id");
    let _ = env
        .run(["ledger", "redact", event, "--reason", "secret"])
        .success();
}

#[test]
fn an_order_removes_the_words_from_every_file() {
    let (acme, id, reader) = approved_by_a_reader();
    assert!(contains(&peers(&reader), "idempotent"));

    redact(&acme.env, &id);
    assert_eq!(acme.update()["redacted"], 1);
    assert!(!contains(Path::new(&acme.folder), "idempotent"));
    // Orders are applied in every state of a peer.
    let _ = reader.run(["remote", "peer", "suspend", "acme"]).success();
    assert_eq!(pull(&reader).json()["redacted"], 1);
    assert!(!contains(&peers(&reader), "idempotent"));
}

#[test]
fn what_is_withdrawn_suspended_stale_or_removed_is_not_shown() {
    let (acme, id, reader) = approved_by_a_reader();
    let _ = reader.run(["remote", "peer", "suspend", "acme"]).success();
    assert_eq!(foreign(&reader, "bound retries"), 0);
    let _ = reader.run(["remote", "peer", "resume", "acme"]).success();
    assert_eq!(foreign(&reader, "bound retries"), 1);
    reader.wait_days(20);
    assert_eq!(peer(&reader)["freshness"], "stale");
    assert_eq!(foreign(&reader, "bound retries"), 1);
    reader.wait_days(40);
    assert_eq!(peer(&reader)["freshness"], "lapsed");
    assert_eq!(foreign(&reader, "bound retries"), 0, "it hides itself");
    acme.env.wait_days(60);
    let _ = acme
        .env
        .run(["retract", &id, "--reason", "false"])
        .success();
    assert_eq!(acme.update()["withdrawn"], 1);
    let _ = pull(&reader).success();
    assert_eq!(peer(&reader)["freshness"], "fresh");
    assert_eq!(foreign(&reader, "bound retries"), 0, "it was withdrawn");
    let _ = reader.run(["remote", "peer", "remove", "acme"]).success();
    assert!(!contains(&peers(&reader), "idempotent"));
}

#[test]
fn feedback_and_rejections_move_the_trust_in_a_peer() {
    let acme = publisher();
    let id = add(&acme.env, RETRIES, &[]);
    acme.publish(&id);
    let reader = acme.reader();
    let shown = approve(&reader);
    let trust = |env: &TestEnvironment| peer(env)["trust"].as_f64().unwrap();
    assert!((trust(&reader) - 0.1).abs() < 0.001);
    let agent = ["feedback", &shown, "--helpful", "--by", "agent:codex"];
    assert_eq!(reader.run(agent).exit, 1, "people only");
    for _ in 0..3 {
        let _ = reader.run(["feedback", &shown, "--helpful"]).success();
        reader.wait_days(1);
    }
    assert!((trust(&reader) - 0.562).abs() < 0.002, "{}", trust(&reader));
    let weight = peer(&reader)["weight"].as_f64().unwrap();
    assert!((weight - 0.7 * trust(&reader)).abs() < 1e-9);
    assert!(peer(&reader)["mean"].as_f64().unwrap() >= trust(&reader));
    let before = trust(&reader);
    let _ = reader.run(["feedback", &shown, "--unhelpful"]).success();
    assert!(trust(&reader) < before);
}

#[test]
fn a_contradiction_with_a_peer_is_shown_and_the_better_grounded_side_preferred() {
    let acme = publisher();
    let id = add(&acme.env, "Never retry idempotent requests", &[]);
    acme.publish(&id);
    let reader = acme.reader();
    let _ = approve(&reader);
    let local = add(&reader, "Always retry idempotent requests", &[]);
    let found = search(&reader, "retry idempotent requests");
    let pair = &found["competing_hypotheses"][0];
    assert_eq!(pair["local"], local.as_str(), "{found}");
    assert_eq!(
        pair["preferred"], "undecided",
        "provenance alone does not dominate"
    );
    assert_eq!(found["global"][0]["conflicts"][0], local.as_str());
    let text = reader
        .run(["search", "retry idempotent requests"])
        .success();
    assert!(text.stdout.contains("competes with"), "{text}");
}

#[test]
fn a_lesson_travels_with_its_dependency() {
    let acme = publisher();
    let id = add(
        &acme.env,
        RETRIES,
        &["--depends-on", "pkg:cargo/tokio@>=1.40|<2"],
    );
    acme.publish(&id);
    let reader = acme.reader();
    let _ = approve(&reader);
    assert_eq!(foreign(&reader, "bound retries"), 0, "no lockfile");
    let lock = |version: &str| {
        let package = "[[package]]\nname = \"tokio\"\nsource = \"registry+x\"\n";
        reader.write(
            "Cargo.lock",
            &format!("version = 4\n\n{package}version = \"{version}\"\n"),
        );
    };
    lock("1.39.0");
    let _ = reader.git(["add", "-A"]);
    let _ = reader.git(["commit", "-qm", "old"]);
    assert_eq!(foreign(&reader, "bound retries"), 0);
    lock("1.41.0");
    assert_eq!(foreign(&reader, "bound retries"), 1);
    let report = [
        "health",
        "dependencies",
        "--base",
        "HEAD",
        "--format",
        "json",
    ];
    let begins = reader.run(report).success().json();
    assert_eq!(
        (&begins["transition"], &begins["peer"]),
        (&"begins".into(), &"acme".into())
    );
    let _ = reader.git(["commit", "-qam", "new"]);
    lock("2.1.0");
    let ends = reader.run(report).success().json();
    assert_eq!(ends["transition"], "ends");
    assert_eq!(foreign(&reader, "bound retries"), 0);
}

#[test]
fn a_folder_that_went_back_begins_a_new_epoch_and_forks_nothing() {
    let (acme, _, reader) = approved_by_a_reader();
    let _ = fs::remove_dir_all(&acme.folder);
    assert_eq!(acme.update()["new_epoch"], true);
    let pulled = pull(&reader).success().json();
    assert!(pulled["stopped"].is_null(), "{pulled}");
    assert_eq!(pulled["new"], 0, "the same words are the same line");
    assert_eq!(
        foreign(&reader, "bound retries"),
        1,
        "the approval still counts"
    );
}

#[test]
fn a_redaction_reaches_lines_that_a_restored_folder_lost() {
    let (acme, id, reader) = approved_by_a_reader();
    let _ = fs::remove_dir_all(&acme.folder);
    // The new epoch is signed without the entry, so no file names its line any more.
    let retract = ["retract", &id, "--reason", "obsolete"];
    let _ = acme.env.run(retract).success();
    assert_eq!(acme.update()["new_epoch"], true);
    let _ = pull(&reader).success();
    assert!(contains(&peers(&reader), "idempotent"), "hidden, but there");
    redact(&acme.env, &id);
    assert_eq!(acme.update()["redacted"], 1);
    assert_eq!(pull(&reader).json()["redacted"], 1);
    assert!(!contains(&peers(&reader), "idempotent"));
}

#[test]
fn a_carrier_cannot_change_a_word() {
    let acme = publisher();
    let id = add(&acme.env, RETRIES, &[]);
    acme.publish(&id);
    let reader = clone(3_000);
    let wrong = [
        "remote",
        "peer",
        "add",
        "acme",
        &acme.folder,
        "--key",
        "SHA256:other",
    ];
    assert_eq!(reader.run(wrong).exit, 1);
    let key = acme.fingerprint();
    let _ = reader
        .run(["remote", "peer", "add", "acme", &acme.folder, "--key", &key])
        .success();
    for epoch in fs::read_dir(&acme.folder)
        .unwrap()
        .map(|it| it.unwrap().path())
    {
        if epoch.is_dir() {
            let batch = epoch.join("1.json");
            let text = fs::read_to_string(&batch).unwrap();
            fs::write(&batch, text.replace("three", "thirty")).unwrap();
        }
    }
    let pulled = pull(&reader);
    assert_eq!(pulled.exit, 1, "{pulled}");
    assert!(
        pulled.json()["stopped"]
            .as_str()
            .unwrap()
            .contains("not the publisher's")
    );
    assert!(!contains(&peers(&reader), "thirty"));
    // Whoever carries the files may have done it, so the publisher does not answer for it.
    assert!(peer(&reader)["trust"].as_f64().unwrap() > 0.09);
    assert_eq!(peer(&reader)["state"], "active");
}

#[test]
#[cfg(unix)]
fn no_symbolic_link_of_a_publication_is_followed() {
    let acme = publisher();
    let id = add(&acme.env, RETRIES, &[]);
    acme.publish(&id);
    let reader = clone(3_000);
    let key = acme.fingerprint();
    let _ = reader
        .run(["remote", "peer", "add", "acme", &acme.folder, "--key", &key])
        .success();
    let folders = fs::read_dir(&acme.folder)
        .unwrap()
        .map(|it| it.unwrap().path());
    let epoch = folders.filter(|it| it.is_dir()).last().unwrap();
    let elsewhere = acme.env.root().join("../elsewhere");
    fs::rename(&epoch, &elsewhere).unwrap();
    std::os::unix::fs::symlink(std::path::absolute(&elsewhere).unwrap(), &epoch).unwrap();
    let pulled = pull(&reader);
    assert_ne!(pulled.exit, 0, "{pulled}");
    assert!(!contains(&peers(&reader), "idempotent"));
    fs::remove_file(&epoch).unwrap();
    fs::rename(&elsewhere, &epoch).unwrap();
    assert_eq!(pull(&reader).exit, 0);
    assert!(contains(&peers(&reader), "idempotent"));
}

#[test]
fn nobody_is_a_peer_of_their_own_publication() {
    let acme = publisher();
    let id = add(&acme.env, RETRIES, &[]);
    acme.publish(&id);
    let key = acme.fingerprint();
    let own = ["remote", "peer", "add", "acme", &acme.folder, "--key", &key];
    let _ = acme.env.run(own).success();
    let pulled = pull(&acme.env);
    assert_eq!(pulled.exit, 1, "{pulled}");
    assert!(pulled.stderr.contains("your own publication"), "{pulled}");
    assert_eq!(foreign(&acme.env, "bound retries"), 0);
}

/// Returns the commands of the guide's code blocks, with continued lines joined, per block.
fn guide_blocks(guide: &str) -> Vec<Vec<String>> {
    let mut blocks = Vec::new();
    for block in guide.split("```sh\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        let joined = block.replace("\\\n", " ");
        blocks.push(joined.lines().map(ToOwned::to_owned).collect());
    }
    blocks
}

/// Runs a command of the guide in a shell, as a user types it.
fn shell(env: &TestEnvironment, command: &str) {
    let ken = env.ken();
    let programs = Path::new(env!("CARGO_BIN_EXE_ken")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let variables = ken
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let mut shell = Command::new("sh");
    shell
        .args(["-ec", command])
        .current_dir(env.root())
        .env_clear();
    shell.envs(variables).env("PATH", path).stdin(Stdio::null());
    let done = shell.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command}\n{said}");
}

#[test]
fn the_guide_runs_as_written() {
    let guide = repository_path("docs/guides/share-between-organizations.md");
    let guide = fs::read_to_string(guide).unwrap();
    let blocks = guide_blocks(&guide);
    // The commands after them need hubs: `tools/hub/federation-lab` runs the same.
    let [create, allow, subscribe, at_hubs @ ..] = blocks.as_slice() else {
        panic!("three blocks: {blocks:?}");
    };
    assert_eq!(at_hubs.len(), 3, "{at_hubs:?}");
    let acme = clone(4_000);
    // `ssh-keygen` creates it only in the home of the account, which is not the home of the test.
    fs::create_dir(acme.root().join("../home/.ssh")).unwrap();
    let id = add(&acme, RETRIES, &[]);
    for command in create.iter().chain(allow) {
        shell(&acme, &command.replace("L-7k2f5qm3", &id));
    }
    let listed = acme.run(["remote", "publication", "list", "--format", "json"]);
    let fingerprint = listed.json()["fingerprint"].as_str().unwrap().to_owned();

    // Whoever carries the folder copies it.
    let reader = clone(5_000);
    let _ = reader.git(["add", "-A"]);
    let _ = reader.git(["commit", "-qm", "start"]);
    let carried = reader.root().join("../acme-published");
    let mut copy = Command::new("cp");
    copy.arg("-a")
        .arg(acme.root().join("../published"))
        .arg(&carried);
    assert!(copy.status().unwrap().success());
    let example = subscribe[0].split("--key ").nth(1).unwrap();
    for command in subscribe {
        let waiting = command
            .contains("approve")
            .then(|| waiting(&reader)["id"].clone());
        let id = waiting.as_ref().and_then(Value::as_str).unwrap_or_default();
        let command = command
            .replace("L-7k2f5qm3", id)
            .replace(example, &fingerprint);
        shell(&reader, &command);
    }
    assert_eq!(foreign(&reader, "bound retries"), 1);
    let rows = guide
        .lines()
        .filter(|it| it.starts_with("| ") && it.contains("`ken "));
    let rows: Vec<&str> = rows.filter_map(|it| it.split('`').nth(1)).collect();
    assert_eq!(rows.len(), 4);
    for command in rows {
        shell(&reader, command);
    }
    assert!(
        !contains(&peers(&reader), "idempotent"),
        "the last row removes the peer"
    );
}
