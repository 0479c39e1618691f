//! A thousand generated secrets through every input channel: none may be stored anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use ken_guard::ScanAxis;
use ken_guard::sample::{RuleSample, samples_of_every_rule};
use ken_testkit::test_env::TestEnvironment;

use super::{entry_file, repository_with_entry};

/// Number of secrets planted.
const CANARIES: usize = 1_000;

/// A shorter secret could occur by chance.
const CANARY_CHARS_MIN: usize = 8;

/// Commands that accept text; `TEXT` stands for it and `ID` for an entry.
const CHANNELS: &[&[&str]] = &[
    &[
        "add",
        "--kind",
        "learning",
        "--statement",
        "TEXT",
        "--cite",
        "pr:1",
    ],
    &[
        "add",
        "--kind",
        "learning",
        "--statement",
        "Fine",
        "--verify",
        "TEXT",
        "--cite",
        "pr:1",
    ],
    &[
        "add",
        "--kind",
        "learning",
        "--statement",
        "Also fine",
        "--cite",
        "test:TEXT",
    ],
    &[
        "add",
        "--kind",
        "commit-norm",
        "--statement",
        "TEXT",
        "--cite",
        "pr:1",
        "--by",
        "agent:x",
    ],
    &[
        "add",
        "--redact",
        "--kind",
        "learning",
        "--statement",
        "TEXT",
        "--cite",
        "pr:1",
    ],
    &[
        "knowledge",
        "add",
        "--type",
        "semantic",
        "--content",
        "{\"type\":\"learning\",\"statement\":\"TEXT\"}",
        "--evidence",
        "pr:1",
    ],
    &["edit", "ID", "--statement", "TEXT"],
    &["edit", "ID", "--note", "TEXT", "--tag", "x"],
    &["entry", "cite", "ID", "test:TEXT"],
    &["entry", "annotate", "ID", "--note", "TEXT"],
    &["guard", "quarantine", "add", "ID", "--reason", "TEXT"],
    &["run", "observe", "--statement", "TEXT", "--by", "agent:y"],
    &[
        "run",
        "observe",
        "--redact",
        "--statement",
        "TEXT",
        "--by",
        "agent:y",
    ],
    &["run", "open", "--task", "TEXT"],
    &[
        "health",
        "friction",
        "record",
        "--type",
        "tool_error",
        "--context",
        "{\"tool\":\"x\",\"output\":\"TEXT\"}",
    ],
    &[
        "guard",
        "quarantine",
        "add",
        "ID",
        "--redact",
        "--reason",
        "TEXT",
    ],
    &["run", "open", "TEXT", "--redact"],
    &["brief", "charges", "--by", "agent:TEXT"],
    &["search", "TEXT"],
    &["brief", "TEXT", "--by", "agent:z"],
    &["show", "TEXT"],
];

#[test]
fn no_byte_of_a_thousand_canaries_is_left_anywhere() {
    let (env, id) = repository_with_entry();
    let mut planted = Vec::new();
    let mut said = String::new();
    for (at, sample) in generate_canaries().into_iter().enumerate() {
        let way = CHANNELS[at % CHANNELS.len()];
        let escaped = serde_json::Value::from(sample.text.clone()).to_string();
        let inside = escaped.trim_matches('"');
        let args = way.iter().map(|arg| {
            let json = arg.starts_with('{');
            let text = if json { inside } else { &sample.text };
            arg.replace("ID", &id).replace("TEXT", text)
        });
        let run = env.run(args.collect::<Vec<_>>());
        said.push_str(&run.stdout);
        said.push_str(&run.stderr);
        planted.push(sample);
    }
    said.push_str(&add_from_jsonl(&env, &planted));
    env.git(["add", "-A"]);
    env.git(["commit", "-qm", "After it all", "--allow-empty"]);
    let seen = read_everything(&env) + &said;
    let mut left: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (at, it) in planted.iter().enumerate() {
        if seen.contains(it.secret()) {
            left.entry(at % CHANNELS.len()).or_default().push(&it.rule);
        }
    }
    assert!(left.is_empty(), "left, by way: {left:?}");
    assert!(
        seen.contains("[REDACTED:"),
        "some were let in without their secret"
    );
}

/// A command that fails for another reason would prove nothing.
#[test]
fn every_way_works_with_harmless_text() {
    let (env, id) = repository_with_entry();
    for (at, way) in CHANNELS.iter().enumerate() {
        let text = format!("Harmless-{at}");
        let args = way
            .iter()
            .map(|arg| arg.replace("ID", &id).replace("TEXT", &text));
        let run = env.run(args.collect::<Vec<_>>());
        let unknown = way[0] == "show";
        assert_eq!(run.exit, i32::from(unknown) * 2, "{way:?}: {run}");
    }
}

#[test]
fn a_hand_edit_with_a_secret_goes_nowhere_else() {
    let (env, id) = repository_with_entry();
    let sample = generate_canaries().swap_remove(3);
    let path = entry_file(&env, &id);
    let text = env
        .read(&path)
        .replace("the customer pays twice", &sample.text);
    env.write(&path, &text);
    let run = env.run(["sync"]);
    assert!(run.stderr.contains("seems to contain a secret"), "{run}");
    let listed = env.run(["search", "--mean", "retried charge needs its key"]);
    let said = format!("{run}{listed}");
    fs::remove_file(env.root().join(&path)).unwrap();
    assert!(!(read_everything(&env) + &said).contains(sample.secret()));
}

#[test]
fn a_secret_that_a_colleague_committed_is_not_taken_over() {
    let (env, id) = repository_with_entry();
    let sample = generate_canaries().swap_remove(5);
    let path = entry_file(&env, &id);
    env.git(["checkout", "-qb", "colleague"]);
    env.write(
        &path,
        &env.read(&path)
            .replace("the customer pays twice", &sample.text),
    );
    env.git(["commit", "-qam", "By hand"]);
    env.git(["checkout", "-q", "main"]);
    env.git(["merge", "-q", "colleague"]);
    let said = ["sync", "list", "verify"]
        .map(|verb| env.run([verb]).to_string())
        .concat();
    // Git and the edited file had it before; nothing that Ken wrote has it.
    let ours = read_files(&env.root().join(".ken"), &|file| !file.ends_with(&path));
    assert!(!(ours + &said).contains(sample.secret()), "{said}");
    assert!(said.contains("this edit cannot be recorded"), "{said}");
}

/// Imports the secrets in files of lines, with and without `--redact`; returns the output.
fn add_from_jsonl(env: &TestEnvironment, planted: &[RuleSample]) -> String {
    let mut said = String::new();
    for (at, chunk) in planted.chunks(planted.len().div_ceil(20)).enumerate() {
        let line = |sample: &RuleSample| {
            let statement = format!("Number {at} says {}", sample.text);
            let line = serde_json::json!({
                "kind": "learning", "statement": statement, "cite": ["pr:1"],
            });
            format!("{line}\n")
        };
        let lines: String = chunk.iter().map(line).collect();
        for extra in [None, Some("--redact")] {
            let args = ["add", "--from-jsonl", "-"].into_iter().chain(extra);
            said.push_str(&env.run_with(&lines, args.collect::<Vec<_>>()).to_string());
        }
    }
    said
}

fn generate_canaries() -> Vec<RuleSample> {
    let mut canaries = Vec::with_capacity(CANARIES);
    for seed in 0.. {
        let secrets = samples_of_every_rule(seed * 31 + 7)
            .into_iter()
            .filter(|it| {
                let secret = matches!(it.axis, ScanAxis::Credential | ScanAxis::CredentialLeakage);
                // A secret detected only by its entropy is searched for in code alone.
                secret && it.rule != "high-entropy-string" && it.secret().len() >= CANARY_CHARS_MIN
            });
        canaries.extend(secrets.take(CANARIES - canaries.len()));
        if canaries.len() == CANARIES {
            break;
        }
    }
    canaries
}

/// Returns the content of all files below the repository and the user's home, with git objects
/// unpacked.
fn read_everything(env: &TestEnvironment) -> String {
    let root = env.root();
    let mut all = read_files(&root, &|_| true);
    all.push_str(&read_files(
        &root.parent().expect("a folder above").join("home"),
        &|_| true,
    ));
    let objects = Command::new("git")
        .args(["cat-file", "--batch", "--batch-all-objects"])
        .current_dir(&root)
        .output()
        .expect("git runs");
    assert!(objects.status.success());
    all.push_str(&String::from_utf8_lossy(&objects.stdout));
    all
}

fn read_files(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> String {
    let mut all = String::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return all;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.push_str(&read_files(&path, wanted));
        } else if wanted(&path) {
            all.push_str(&String::from_utf8_lossy(
                &fs::read(&path).unwrap_or_default(),
            ));
        }
    }
    all
}
