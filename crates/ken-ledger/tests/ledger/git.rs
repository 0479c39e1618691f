//! Sealing with real git, in every kind of repository.

use std::fs;

use crate::support::{GitTestRepository, event_lines, ledger_lines, open, run_git};
use ken_ledger::{GitEnv, LedgerNotice, discover};

/// Returns true if the second of two appends went to another segment.
fn is_sealed_by(
    repository: &mut GitTestRepository,
    between: impl FnOnce(&GitTestRepository),
) -> bool {
    let (_, first) = repository.add();
    between(repository);
    let (_, second) = repository.add();
    first.segments() != second.segments()
}

#[test]
fn nothing_seals_while_git_does_nothing() {
    let mut repository = GitTestRepository::new(&[]);
    assert!(!is_sealed_by(&mut repository, |_| {}));
    assert!(!is_sealed_by(&mut repository, |r| {
        fs::write(r.work().join("README"), "changed\n").unwrap();
        r.git(&["add", "README"]);
        r.git(&["status"]);
    }));
}

#[test]
fn everything_that_shows_a_segment_to_git_seals_it() {
    let steps: [(&str, &[&[&str]]); 9] = [
        ("add", &[&["add", "."]]),
        ("commit", &[&["add", "."], &["commit", "-qm", "x"]]),
        (
            "commit of something else",
            &[&["commit", "-q", "--allow-empty", "-m", "x"]],
        ),
        (
            "amend",
            &[&["commit", "-q", "--amend", "--allow-empty", "-m", "x"]],
        ),
        ("stash", &[&["stash", "-u", "-q"]]),
        (
            "stash and pop",
            &[&["stash", "-u", "-q"], &["stash", "pop", "-q"]],
        ),
        ("switch", &[&["switch", "-qc", "topic"]]),
        (
            "switch and back",
            &[&["switch", "-qc", "topic"], &["switch", "-q", "main"]],
        ),
        ("detach", &[&["checkout", "-q", "--detach"]]),
    ];
    let formats: [&[&str]; 3] = [&[], &["--ref-format=reftable"], &["--object-format=sha256"]];
    for format in formats {
        for (name, commands) in steps {
            let mut repository = GitTestRepository::new(format);
            let sealed = is_sealed_by(&mut repository, |r| {
                for command in commands {
                    r.git(command);
                }
            });
            assert!(sealed, "{name} in {format:?}");
        }
    }
}

#[test]
fn sealing_does_not_need_reflogs() {
    let mut repository = GitTestRepository::new(&[]);
    repository.git(&["config", "core.logAllRefUpdates", "false"]);
    fs::remove_dir_all(repository.work().join(".git/logs")).unwrap();
    repository.git(&["pack-refs", "--all"]);
    assert!(is_sealed_by(&mut repository, |r| {
        r.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }));
    assert!(is_sealed_by(&mut repository, |r| {
        r.git(&["add", "."]);
        r.git(&["commit", "-qm", "x"]);
    }));
}

#[test]
fn a_segment_taken_into_the_stash_comes_back_whole_and_is_not_written_again() {
    let mut repository = GitTestRepository::new(&[]);
    let (a, first) = repository.add();
    repository.git(&["stash", "-u", "-q"]);
    let (b, second) = repository.add();
    repository.git(&["stash", "pop", "-q"]);
    let (c, third) = repository.add();
    assert_ne!(third.segments(), first.segments());
    assert_ne!(third.segments(), second.segments());
    assert_eq!(
        ledger_lines(&open(&repository.work())),
        event_lines([&a, &b, &c])
    );
}

#[test]
fn an_uncommitted_segment_that_comes_along_is_told() {
    let mut repository = GitTestRepository::new(&[]);
    let (_, first) = repository.add();
    repository.git(&["switch", "-qc", "topic"]);
    let (_, second) = repository.add();
    let along = LedgerNotice::SegmentCarriedOver {
        segment: first.segments()[0].clone(),
        written_on: "refs/heads/main".into(),
        now_on: "refs/heads/topic".into(),
        events: 1,
    };
    assert_eq!(second.notices, [along]);
}

#[test]
fn worktrees_share_journal_and_node_but_no_segment() {
    for format in [None, Some("--ref-format=reftable")] {
        let mut repository = GitTestRepository::new(format.as_slice());
        let other = repository.dir.path().join("other");
        repository.git(&["worktree", "add", "-q", other.to_str().unwrap()]);
        let (a, here) = repository.add();
        let (b, there) = repository.add_in(&other);
        let (c, again) = repository.add();
        assert_ne!(here.segments(), there.segments());
        assert_eq!(here.segments(), again.segments());
        assert_eq!(
            ledger_lines(&open(&repository.work())),
            event_lines([&a, &c])
        );
        assert_eq!(ledger_lines(&open(&other)), event_lines([&b]));
        let journal = repository.work().join(".git/ken/journal/000001.jsonl");
        let journal = fs::read_to_string(journal).unwrap();
        let places: Vec<_> = journal
            .lines()
            .map(|record| record.split('\t').take(2).collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "refs/heads/main .",
            "refs/heads/other other",
            "refs/heads/main .",
        ];
        assert_eq!(places, expected);
        let mut node = |work| open(work).node(&mut repository.ids).unwrap();
        assert_eq!(node(&other), node(&repository.dir.path().join("work")));
    }
}

#[test]
fn a_submodule_has_its_own_ledger() {
    let mut outer = GitTestRepository::new(&[]);
    let inner = GitTestRepository::new(&[]);
    let source = inner.work();
    outer.git(&[
        "submodule",
        "--quiet",
        "add",
        source.to_str().unwrap(),
        "sub",
    ]);
    let sub = outer.work().join("sub");
    outer.configure_identity(&sub);
    let (a, first) = outer.add_in(&sub);
    assert_eq!(ledger_lines(&open(&sub)), event_lines([&a]));
    assert!(
        outer
            .work()
            .join(".git/modules/sub/ken/journal/000001.jsonl")
            .exists()
    );
    run_git(&sub, &["add", "."]);
    run_git(&sub, &["commit", "-qm", "x"]);
    let (_, second) = outer.add_in(&sub);
    assert_ne!(first.segments(), second.segments());
}

#[test]
fn a_shallow_clone_and_a_sparse_checkout_can_be_written_to() {
    let mut repository = GitTestRepository::new(&[]);
    repository.add();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    let clone = repository.dir.path().join("clone");
    let from = format!("file://{}", repository.work().display());
    run_git(
        repository.dir.path(),
        &["clone", "-q", "--depth=1", &from, "clone"],
    );
    let (a, _) = repository.add_in(&clone);
    run_git(
        &clone,
        &[
            "sparse-checkout",
            "set",
            "--cone",
            "--sparse-index",
            "nothing",
        ],
    );
    assert_eq!(ledger_lines(&open(&clone)), event_lines([&a]));
    let (b, _) = repository.add_in(&clone);
    assert_eq!(ledger_lines(&open(&clone)), event_lines([&a, &b]));
}

#[test]
fn a_copied_repository_goes_its_own_way() {
    let mut repository = GitTestRepository::new(&[]);
    let (_, first) = repository.add();
    let copy = repository.dir.path().join("copy");
    let status = std::process::Command::new("cp")
        .arg("-a")
        .args([&repository.work(), &copy])
        .status()
        .unwrap();
    assert!(status.success());
    let (_, there) = repository.add_in(&copy);
    let (_, here) = repository.add();
    assert!(there.notices.contains(&LedgerNotice::Copied));
    assert_eq!(here.segments(), first.segments());
    assert_ne!(there.segments(), first.segments());
    let mut node = |work| open(work).node(&mut repository.ids).unwrap();
    assert_ne!(node(&copy), node(&repository.dir.path().join("work")));
}

#[test]
fn a_ledger_git_ignores_works_all_the_same() {
    let mut repository = GitTestRepository::new(&[]);
    fs::write(repository.work().join(".git/info/exclude"), ".ken/\n").unwrap();
    let (a, first) = repository.add();
    repository.git(&["add", "."]);
    let (b, second) = repository.add();
    assert_eq!(first.segments(), second.segments());
    assert_eq!(
        ledger_lines(&open(&repository.work())),
        event_lines([&a, &b])
    );
}

#[test]
fn the_environment_of_a_hook_is_honored() {
    let mut repository = GitTestRepository::new(&[]);
    let other = repository.dir.path().join("other");
    repository.git(&["worktree", "add", "-q", other.to_str().unwrap()]);
    let (a, _) = repository.add_in(&other);
    let env = GitEnv {
        git_dir: Some(repository.work().join(".git/worktrees/other")),
        work_tree: Some(other.clone()),
    };
    let place = discover(repository.dir.path(), &env).unwrap().unwrap();
    assert_eq!(place.root, other);
    let git = place.git.clone().unwrap();
    assert_eq!(git.common_dir, repository.work().join(".git"));
    assert_eq!(
        ledger_lines(&ken_ledger::Ledger::open(&place).unwrap()),
        event_lines([&a])
    );
}
