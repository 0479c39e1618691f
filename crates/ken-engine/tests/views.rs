//! Collected views, which a reviewer reads first: the knowledge file per lens, and the index.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;

use ken_core::decide::Proposal;
use ken_core::ledger::event::Origin;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_engine::runtime::FixedRuntime;
use ken_engine::{Engine, GitEnv, init};

/// Opens the ledger in a plain folder.
fn open_engine(root: &Path, seed: u64) -> Engine {
    let world = FixedRuntime::new("2026-11-15T09:00:00Z".parse().unwrap(), seed);
    Engine::open(root, &GitEnv::default(), None, Box::new(world)).unwrap()
}

fn add_entry(engine: &mut Engine, kind: EntryKind, statement: &str) -> EntryId {
    let by = "agent:reviewer".parse().unwrap();
    let evidence: CitationSource = "pr:142".parse().unwrap();
    let mut content = Content::new(statement.parse().unwrap());
    content.lens = Some("security".parse().unwrap());
    content.tags = ["auth/jwt".parse().unwrap()].into();
    let citations = vec![evidence.cite(&by, engine.now())];
    let proposal = Proposal::new(kind, content, citations, Origin::Agent);
    engine.add(proposal, &by).unwrap().id
}

#[test]
fn each_lens_has_a_knowledge_file_with_three_sections() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open_engine(dir.path(), 1);
    let pattern = add_entry(
        &mut ken,
        EntryKind::Pattern,
        "Tokens are compared in constant time",
    );
    let dismissed = add_entry(
        &mut ken,
        EntryKind::FalsePositive,
        "The unused salt warning is noise",
    );
    let incident = add_entry(
        &mut ken,
        EntryKind::Incident,
        "An expired key let everybody in",
    );
    drop(ken);
    let text = fs::read_to_string(dir.path().join(".ken/reviewers/security/KNOWLEDGE.md")).unwrap();
    let at = |needle: &str| {
        text.find(needle)
            .unwrap_or_else(|| panic!("no `{needle}` in\n{text}"))
    };
    assert!(at("## Patterns Found") < at(&pattern.to_string()));
    assert!(at(&pattern.to_string()) < at("## False Positives to Avoid"));
    assert!(at("## False Positives to Avoid") < at(&dismissed.to_string()));
    assert!(at(&dismissed.to_string()) < at("## Incidents Prevented"));
    assert!(at("## Incidents Prevented") < at(&incident.to_string()));
    // Each line has its date, author and source.
    assert!(text.contains("(2026-11-15, agent:reviewer, pr:142)"));
    for lens in [
        "correctness",
        "performance",
        "maintainability",
        "reliability",
    ] {
        assert!(
            dir.path()
                .join(format!(".ken/reviewers/{lens}/KNOWLEDGE.md"))
                .exists()
        );
    }
}

#[test]
fn the_index_maps_tags_to_files_with_one_line_each() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open_engine(dir.path(), 2);
    let id = add_entry(
        &mut ken,
        EntryKind::Pattern,
        "Tokens are compared in constant time. Always.",
    );
    let file = ken.entry(id).unwrap().file_name().unwrap();
    drop(ken);
    let text = fs::read_to_string(dir.path().join(".ken/index.md")).unwrap();
    let line = format!("- [{id}](entries/{file}) pattern: Tokens are compared in constant time\n");
    assert!(
        text.contains("## auth/jwt\n") && text.contains(&line),
        "{text}"
    );
}

#[test]
fn the_layout_is_lines_an_index_and_a_version() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open_engine(dir.path(), 3);
    add_entry(
        &mut ken,
        EntryKind::Pattern,
        "Tokens are compared in constant time",
    );
    drop(ken);
    let below = |path: &str| dir.path().join(".ken").join(path);
    assert_eq!(fs::read_to_string(below("VERSION")).unwrap(), "1.0.0\n");
    assert!(below(".index/knowledge.db").exists());
    let mut segments = fs::read_dir(below("semantic/v1")).unwrap();
    let name = segments.next().unwrap().unwrap().file_name();
    assert!(name.to_str().unwrap().ends_with(".jsonl") && segments.next().is_none());
}

/// Git applies an edit to the file that it takes for the renamed one.
#[test]
fn git_never_takes_one_entry_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(&dir).args(["-c", "user.name=a"]);
        let output = command.args(["-c", "user.email=a@example.org"]).args(args);
        let output = output.output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut ken = open_engine(dir.path(), 1);
    let gone = add_entry(
        &mut ken,
        EntryKind::Learning,
        "Run the tests with nextest: cargo test runs the doctests too and hangs there",
    );
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    add_entry(
        &mut ken,
        EntryKind::Learning,
        "Keep migrations reversible, a deploy is rolled back within the first hour",
    );
    let entries = fs::read_dir(dir.path().join(".ken/entries")).unwrap();
    for file in entries.map(|entry| entry.unwrap()) {
        if file
            .file_name()
            .into_string()
            .unwrap()
            .starts_with(&gone.to_string())
        {
            fs::remove_file(file.path()).unwrap();
        }
    }
    git(&["add", "."]);
    let changes = git(&[
        "diff",
        "--cached",
        "-M50%",
        "--name-status",
        "--",
        ".ken/entries",
    ]);
    let kinds: Vec<char> = changes
        .lines()
        .filter_map(|line| line.chars().next())
        .collect();
    assert_eq!(kinds, ['A', 'D'], "{changes}");
}
