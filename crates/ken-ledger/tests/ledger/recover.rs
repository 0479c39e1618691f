//! Recovery of events that git or a person removed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::sample;
use crate::support::{GitTestRepository, event_lines, ledger_lines, open, run_git};
use ken_ledger::recover::{RecoverScope, RecoveryReport};

fn recover_events(
    repository: &mut GitTestRepository,
    work: &Path,
    scope: RecoverScope,
) -> RecoveryReport {
    open(work)
        .recover(scope, sample::start(), &mut repository.ids)
        .unwrap()
}

fn branch_counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs
        .iter()
        .map(|(branch, n)| ((*branch).to_owned(), *n))
        .collect()
}

#[test]
fn what_reset_and_clean_took_comes_back_once() {
    let mut repository = GitTestRepository::new(&[]);
    let work = repository.work();
    let (a, _) = repository.add();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    let (b, _) = repository.add();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "y"]);
    let (c, _) = repository.add();
    let (d, _) = repository.add();
    repository.git(&["add", "."]);
    repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let (e, _) = repository.add();
    repository.git(&["clean", "-qfdx"]);
    assert_eq!(ledger_lines(&open(&work)), event_lines([&a]));
    let recovered = recover_events(&mut repository, &work, RecoverScope::ThisBranch);
    assert_eq!(recovered.restored, branch_counts(&[("refs/heads/main", 4)]));
    assert_eq!(recovered.segments.len(), 1);
    assert_eq!(
        ledger_lines(&open(&work)),
        event_lines([&a, &b, &c, &d, &e])
    );
    let again = recover_events(&mut repository, &work, RecoverScope::All);
    assert_eq!(again, RecoveryReport::default());
    let (f, _) = repository.add();
    assert_eq!(
        ledger_lines(&open(&work)),
        event_lines([&a, &b, &c, &d, &e, &f])
    );
}

#[test]
fn what_is_on_a_branch_in_a_stash_or_another_worktree_is_not_lost() {
    let mut repository = GitTestRepository::new(&[]);
    let work = repository.work();
    let other = repository.dir.path().join("other");
    repository.git(&["worktree", "add", "-q", other.to_str().unwrap()]);
    repository.add_in(&other);
    repository.add();
    repository.git(&["stash", "-qu"]);
    repository.add();
    repository.git(&["stash", "-qu"]);
    repository.git(&["switch", "-qc", "topic"]);
    repository.add();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    repository.git(&["switch", "-q", "main"]);
    assert_eq!(
        recover_events(&mut repository, &work, RecoverScope::All),
        RecoveryReport::default()
    );
    repository.git(&["stash", "drop", "-q", "stash@{1}"]);
    let recovered = recover_events(&mut repository, &work, RecoverScope::All);
    assert_eq!(recovered.restored, branch_counts(&[("refs/heads/main", 1)]));
}

#[test]
fn what_was_lost_on_a_living_branch_is_left_to_it() {
    let mut repository = GitTestRepository::new(&[]);
    let work = repository.work();
    repository.git(&["switch", "-qc", "topic"]);
    let (a, _) = repository.add();
    repository.git(&["clean", "-qfd"]);
    repository.git(&["switch", "-q", "main"]);
    let left = recover_events(&mut repository, &work, RecoverScope::ThisBranch);
    assert_eq!(left.left, branch_counts(&[("refs/heads/topic", 1)]));
    assert_eq!(left.segments, []);
    repository.git(&["branch", "-qD", "topic"]);
    let recovered = recover_events(&mut repository, &work, RecoverScope::ThisBranch);
    assert_eq!(
        recovered.restored,
        branch_counts(&[("refs/heads/topic", 1)])
    );
    assert_eq!(ledger_lines(&open(&work)), event_lines([&a]));
}

#[test]
fn a_removed_worktree_can_be_recovered_from() {
    for format in [None, Some("--ref-format=reftable")] {
        let mut repository = GitTestRepository::new(format.as_slice());
        let work = repository.work();
        let other = repository.dir.path().join("other");
        repository.git(&["worktree", "add", "-q", other.to_str().unwrap()]);
        let (a, _) = repository.add_in(&other);
        repository.git(&["worktree", "remove", "--force", other.to_str().unwrap()]);
        let recovered = recover_events(&mut repository, &work, RecoverScope::All);
        assert_eq!(
            recovered.restored,
            branch_counts(&[("refs/heads/other", 1)])
        );
        assert_eq!(ledger_lines(&open(&work)), event_lines([&a]));
    }
}

#[test]
fn what_a_pack_in_history_holds_is_not_lost() {
    let mut repository = GitTestRepository::new(&[]);
    let work = repository.work();
    for _ in 0..2 {
        repository.add();
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "x"]);
    }
    open(&work)
        .pack(sample::start(), &mut repository.ids)
        .unwrap();
    repository.git(&["branch", "kept"]);
    repository.git(&["switch", "-q", "--orphan", "empty"]);
    fs::remove_dir_all(work.join(".ken")).unwrap();
    assert_eq!(
        recover_events(&mut repository, &work, RecoverScope::All),
        RecoveryReport::default()
    );
}

#[test]
fn a_blanked_event_comes_back_blanked() {
    let mut repository = GitTestRepository::new(&[]);
    let work = repository.work();
    let (a, _) = repository.add();
    let (b, _) = repository.add();
    let journal = work.join(".git/ken/journal/000001.jsonl");
    let full = fs::read(&journal).unwrap();
    let events = std::collections::BTreeSet::from([a.event.id]);
    open(&work)
        .blank(&events, sample::start(), &mut repository.ids)
        .unwrap();
    // Not even a journal restored from a backup brings the data back.
    fs::write(&journal, full).unwrap();
    run_git(&work, &["clean", "-qfd"]);
    recover_events(&mut repository, &work, RecoverScope::ThisBranch);
    assert_eq!(ledger_lines(&open(&work)), event_lines([&a.redacted(), &b]));
}

#[test]
fn every_cut_of_a_sealed_segment_is_found_and_restored() {
    let mut repository = GitTestRepository::new(&[]);
    let work = repository.work();
    let (_, appended) = repository.add();
    repository.add();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "x"]);
    // Seals the segment and opens another one.
    repository.add();
    let segment = appended.written[0].segment.clone();
    let path = work.join(segment.tree_path());
    let whole = fs::read(&path).unwrap();
    assert_eq!(open(&work).cut_segments(None).unwrap(), []);
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [
        0,
        1,
        first_line - 1,
        first_line,
        first_line + 1,
        whole.len() - 1,
    ] {
        fs::write(&path, &whole[..cut]).unwrap();
        let found = open(&work).cut_segments(None).unwrap();
        // A last line without its newline is complete.
        let kept = [first_line - 1, whole.len() - 1];
        let missing = kept.iter().filter(|end| cut < **end).count() as u64;
        assert_eq!(found.len(), 1, "cut at {cut}");
        assert_eq!(found[0].segment, segment);
        assert_eq!(found[0].missing, missing, "cut at {cut}");
        assert_eq!(found[0].whole_len, whole.len() as u64);
        let recovered = recover_events(&mut repository, &work, RecoverScope::ThisBranch);
        assert_eq!(
            recovered.segments,
            std::slice::from_ref(&segment),
            "cut at {cut}"
        );
        let counted: u64 = recovered.restored.values().sum();
        assert_eq!(counted, missing, "cut at {cut}");
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
        assert_eq!(open(&work).cut_segments(None).unwrap(), []);
    }
}
