//! Packing and redacting with real git.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::sample;
use crate::support::{GitTestRepository, LedgerSandbox, event_lines, ledger_lines, open, run_git};
use ken_core::ledger::event::RecordedEvent;
use ken_ledger::replace::{ReplaceError, ReplaceReport};
use ken_ledger::{LedgerNotice, layout::SegmentForm};

fn pack_ledger(repository: &mut GitTestRepository, work: &Path) -> ReplaceReport {
    open(work)
        .pack(sample::start(), &mut repository.ids)
        .unwrap()
}

fn redact_event(
    repository: &mut GitTestRepository,
    work: &Path,
    event: &RecordedEvent,
) -> ReplaceReport {
    let events = BTreeSet::from([event.event.id]);
    open(work)
        .blank(&events, sample::start(), &mut repository.ids)
        .unwrap()
}

fn commit_all(repository: &GitTestRepository) {
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "knowledge"]);
}

/// Commits `n` events, each in its own segment.
fn commit_events(repository: &mut GitTestRepository, n: usize) -> Vec<RecordedEvent> {
    (0..n)
        .map(|_| {
            let (event, _) = repository.add();
            commit_all(repository);
            event
        })
        .collect()
}

fn commit_count(repository: &GitTestRepository) -> usize {
    repository
        .git(&["rev-list", "--count", "HEAD"])
        .parse()
        .unwrap()
}

#[test]
fn committed_segments_become_one_pack_in_a_commit_of_its_own() {
    let mut repository = GitTestRepository::new(&[]);
    let mut events = commit_events(&mut repository, 3);
    let (loose, _) = repository.add();
    fs::write(repository.work().join("staged"), "x").unwrap();
    repository.git(&["add", "staged"]);
    let before = commit_count(&repository);
    let work = repository.work();
    let replaced = pack_ledger(&mut repository, &work);
    assert_eq!(
        (
            replaced.added.len(),
            replaced.removed.len(),
            replaced.events
        ),
        (1, 3, 3)
    );
    assert!(replaced.committed);
    assert_eq!(
        replaced.commits_in_history,
        Some(4),
        "three that brought them, one that took them"
    );
    assert_eq!(commit_count(&repository), before + 1);
    let shown = repository.git(&[
        "show",
        "--no-renames",
        "--name-status",
        "--format=%s",
        "HEAD",
    ]);
    assert_eq!(shown.lines().next(), Some("ken: pack 3 segments"));
    assert_eq!(
        shown
            .lines()
            .filter(|line| line.starts_with("D\t.ken/semantic"))
            .count(),
        3
    );
    assert_eq!(
        shown
            .lines()
            .filter(|line| line.starts_with("A\t.ken/semantic"))
            .count(),
        1
    );
    assert!(!shown.contains("staged"), "{shown}");
    let status = repository.git(&["status", "--porcelain"]);
    assert!(
        status.contains("A  staged") && !status.contains(".pack"),
        "{status}"
    );
    events.push(loose);
    assert_eq!(ledger_lines(&open(&work)), event_lines(&events));
    assert_eq!(
        pack_ledger(&mut repository, &work),
        ReplaceReport::default(),
        "nothing left to gain"
    );
    assert_eq!(
        open(&work).check().unwrap().findings.len(),
        1,
        "only the version file is missing"
    );
}

#[test]
fn a_segment_whose_removal_is_staged_is_not_packed() {
    let mut repository = GitTestRepository::new(&[]);
    commit_events(&mut repository, 2);
    let (_, appended) = repository.add();
    commit_all(&repository);
    let kept = appended.segments()[0].tree_path();
    repository.git(&["rm", "-q", "--cached", &kept]);
    let work = repository.work();
    assert_eq!(pack_ledger(&mut repository, &work).removed.len(), 2);
    assert!(work.join(&kept).exists());
}

#[test]
fn packing_works_without_an_identity_hooks_or_a_branch() {
    let mut repository = GitTestRepository::new(&[]);
    commit_events(&mut repository, 2);
    let hook = repository.work().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    let status = std::process::Command::new("chmod")
        .arg("+x")
        .arg(&hook)
        .status()
        .unwrap();
    assert!(status.success());
    repository.git(&["config", "--unset", "user.name"]);
    repository.git(&["config", "--unset", "user.email"]);
    repository.git(&["config", "user.useConfigOnly", "true"]);
    repository.git(&["config", "commit.gpgSign", "true"]);
    repository.git(&["checkout", "-q", "--detach"]);
    let work = repository.work();
    assert!(pack_ledger(&mut repository, &work).committed);
}

#[test]
fn replacing_is_refused_while_git_is_in_the_middle_of_something() {
    let mut repository = GitTestRepository::new(&[]);
    commit_events(&mut repository, 2);
    repository.git(&["switch", "-qc", "topic"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    repository.git(&["switch", "-q", "main"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "y"]);
    repository.git(&["merge", "-q", "--no-commit", "--no-ff", "topic"]);
    let result = open(&repository.work()).pack(sample::start(), &mut repository.ids);
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a merge is in progress; finish or abort it first"
    );
    let (event, _) = repository.add();
    let events = BTreeSet::from([event.event.id]);
    let result = open(&repository.work()).blank(&events, sample::start(), &mut repository.ids);
    assert!(matches!(result, Err(ReplaceError::Busy(_))));
}

#[test]
fn packs_of_two_branches_merge_without_conflict() {
    let mut repository = GitTestRepository::new(&[]);
    let mut events = commit_events(&mut repository, 4);
    repository.git(&["switch", "-qc", "topic"]);
    events.extend(commit_events(&mut repository, 2));
    let work = repository.work();
    pack_ledger(&mut repository, &work);
    repository.git(&["switch", "-q", "main"]);
    events.extend(commit_events(&mut repository, 2));
    let victim = events[0].clone();
    pack_ledger(&mut repository, &work);
    redact_event(&mut repository, &work, &victim);
    repository.git(&["merge", "-q", "--no-edit", "topic"]);
    assert_eq!(
        ledger_lines(&open(&work)).len(),
        12,
        "four events are in both packs, one of them twice"
    );
    let scrubbed = open(&work)
        .scrub(sample::start(), &mut repository.ids)
        .unwrap();
    assert_eq!(scrubbed.blanked, 1);
    let ids: BTreeSet<_> = events.iter().map(|event| event.event.id).collect();
    let after: BTreeSet<_> = ledger_lines(&open(&work))
        .iter()
        .map(|line| RecordedEvent::parse(line.as_bytes()).unwrap().event.id)
        .collect();
    assert_eq!(after, ids);
    assert!(
        ledger_lines(&open(&work))
            .iter()
            .all(|line| *line != victim.line())
    );
}

#[test]
fn blanking_leaves_no_copy_in_tree_journal_or_head() {
    let mut repository = GitTestRepository::new(&[]);
    let events = commit_events(&mut repository, 3);
    let work = repository.work();
    let replaced = redact_event(&mut repository, &work, &events[1]);
    assert_eq!(
        (replaced.blanked, replaced.removed.len(), replaced.events),
        (1, 1, 1)
    );
    assert!(replaced.committed);
    assert_eq!(replaced.commits_in_history, Some(2));
    let expected = event_lines([&events[0], &events[1].redacted(), &events[2]]);
    assert_eq!(ledger_lines(&open(&work)), expected);
    let journal = fs::read_to_string(work.join(".git/ken/journal/000001.jsonl")).unwrap();
    assert!(!journal.contains("secret 2 "), "{journal}");
    assert!(journal.contains("secret 1 ") && journal.contains("secret 3 "));
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(
        open(&work).blanked_ids().unwrap(),
        BTreeSet::from([events[1].event.id])
    );
    assert_eq!(
        redact_event(&mut repository, &work, &events[1]),
        ReplaceReport::default()
    );
}

#[test]
fn blanking_what_git_does_not_know_makes_no_commit() {
    let mut repository = GitTestRepository::new(&[]);
    let (event, appended) = repository.add();
    let (kept, _) = repository.add();
    let before = commit_count(&repository);
    let work = repository.work();
    let replaced = redact_event(&mut repository, &work, &event);
    assert!(!replaced.committed);
    assert_eq!(replaced.removed, appended.segments());
    assert_eq!(replaced.commits_in_history, None);
    assert_eq!(commit_count(&repository), before);
    assert_eq!(
        ledger_lines(&open(&work)),
        event_lines([&event.redacted(), &kept])
    );
    let (next, _) = repository.add();
    assert_eq!(
        ledger_lines(&open(&work)),
        event_lines([&event.redacted(), &kept, &next])
    );
}

#[test]
fn what_was_staged_stays_staged_when_it_is_blanked() {
    let mut repository = GitTestRepository::new(&[]);
    let (event, _) = repository.add();
    repository.git(&["add", "."]);
    let work = repository.work();
    assert!(!redact_event(&mut repository, &work, &event).committed);
    let status = repository.git(&["status", "--porcelain"]);
    assert!(
        status.starts_with("A  .ken/semantic") && status.ends_with(".pack"),
        "{status}"
    );
    assert_eq!(status.lines().count(), 1);
}

#[test]
fn a_blanked_copy_that_git_brings_back_is_scrubbed_and_a_retry_is_written_blanked() {
    let mut repository = GitTestRepository::new(&[]);
    let events = commit_events(&mut repository, 1);
    let work = repository.work();
    let before = repository.git(&["rev-parse", "HEAD"]);
    redact_event(&mut repository, &work, &events[0]);
    repository.git(&["checkout", "-q", &before, "--", "."]);
    let ids = BTreeSet::from([events[0].event.id]);
    assert_eq!(open(&work).full_copies(&ids).unwrap().len(), 1);
    let checked = open(&work).check().unwrap();
    assert!(
        checked
            .findings
            .iter()
            .any(|finding| finding.message.contains("was redacted"))
    );
    let scrubbed = open(&work)
        .scrub(sample::start(), &mut repository.ids)
        .unwrap();
    assert_eq!(scrubbed.blanked, 1);
    assert_eq!(open(&work).full_copies(&ids).unwrap(), []);
    open(&work)
        .append(&events, sample::start(), &mut repository.ids)
        .unwrap();
    assert_eq!(open(&work).full_copies(&ids).unwrap(), []);
}

#[test]
fn nothing_to_scrub_asks_nothing_of_git() {
    let mut repository = GitTestRepository::new(&[]);
    let event = commit_events(&mut repository, 1).remove(0);
    let work = repository.work();
    redact_event(&mut repository, &work, &event);
    fs::create_dir(work.join(".git/rebase-merge")).unwrap();
    let scrubbed = open(&work).scrub(sample::start(), &mut repository.ids);
    assert_eq!(scrubbed.unwrap(), ReplaceReport::default());
}

#[test]
fn a_worktree_scrubs_what_another_blanked() {
    let mut repository = GitTestRepository::new(&[]);
    let events = commit_events(&mut repository, 1);
    let other = repository.dir.path().join("other");
    repository.git(&["worktree", "add", "-q", other.to_str().unwrap()]);
    let work = repository.work();
    redact_event(&mut repository, &work, &events[0]);
    let scrubbed = open(&other)
        .scrub(sample::start(), &mut repository.ids)
        .unwrap();
    assert_eq!(scrubbed.blanked, 1);
    assert_eq!(
        ledger_lines(&open(&other)),
        event_lines([&events[0].redacted()])
    );
    run_git(&other, &["merge", "-q", "--no-edit", "main"]);
    assert_eq!(open(&other).check().unwrap().findings.len(), 1);
}

/// Interrupts a pack right before its commit, runs `meanwhile`, and writes again.
fn interrupt_pack(
    meanwhile: impl FnOnce(&GitTestRepository),
) -> (GitTestRepository, Vec<RecordedEvent>, Vec<LedgerNotice>) {
    let mut repository = GitTestRepository::new(&[]);
    let mut events = commit_events(&mut repository, 3);
    let work = repository.work();
    // A leftover git lock permits everything but the commit.
    let result = {
        let ledger = open(&work);
        let lock = work.join(".git/refs/heads/main.lock");
        fs::write(&lock, "").unwrap();
        let result = ledger.pack(sample::start(), &mut repository.ids);
        fs::remove_file(lock).unwrap();
        result
    };
    assert!(
        matches!(result, Err(ReplaceError::Commit { .. })),
        "{result:?}"
    );
    assert_eq!(ledger_lines(&open(&work)), event_lines(&events));
    meanwhile(&repository);
    let (event, appended) = repository.add();
    events.push(event);
    (repository, events, appended.notices)
}

fn assert_only_last_untracked(repository: &GitTestRepository) {
    let status = repository.git(&["status", "--porcelain", "-uall"]);
    assert_eq!(status.lines().count(), 1, "{status}");
    assert!(
        status.starts_with("?? .ken/semantic/v1/") && status.ends_with(".jsonl"),
        "{status}"
    );
}

#[test]
fn an_interrupted_pack_is_completed_by_the_next_writing_command() {
    let (repository, events, notices) = interrupt_pack(|_| {});
    assert!(
        notices.contains(&LedgerNotice::ReplacementCompleted { commit: true }),
        "{notices:?}"
    );
    assert_eq!(
        ledger_lines(&open(&repository.work())),
        event_lines(&events)
    );
    assert_only_last_untracked(&repository);
}

#[test]
fn a_pack_of_which_only_the_removals_were_committed_is_completed() {
    let (repository, events, notices) = interrupt_pack(|repository| {
        repository.git(&["reset", "-q"]);
        repository.git(&["commit", "-qam", "half"]);
    });
    assert!(
        notices.contains(&LedgerNotice::ReplacementCompleted { commit: true }),
        "{notices:?}"
    );
    assert_eq!(
        ledger_lines(&open(&repository.work())),
        event_lines(&events)
    );
    assert_only_last_untracked(&repository);
}

#[test]
fn a_pack_of_which_only_the_addition_was_committed_is_completed() {
    let (repository, events, notices) = interrupt_pack(|repository| {
        repository.git(&["commit", "-qm", "half"]);
    });
    assert!(
        notices.contains(&LedgerNotice::ReplacementCompleted { commit: true }),
        "{notices:?}"
    );
    assert_eq!(
        ledger_lines(&open(&repository.work())),
        event_lines(&events)
    );
    assert_only_last_untracked(&repository);
}

#[test]
fn a_pack_that_git_clean_took_away_before_its_commit_is_undone() {
    let (repository, events, _) = interrupt_pack(|repository| {
        repository.git(&["reset", "-q"]);
        repository.git(&["clean", "-qfd"]);
    });
    assert_eq!(
        ledger_lines(&open(&repository.work())),
        event_lines(&events)
    );
    assert_only_last_untracked(&repository);
}

#[test]
fn a_pack_that_was_stashed_before_its_commit_is_undone() {
    let (repository, events, _) = interrupt_pack(|repository| {
        repository.git(&["stash", "-qu"]);
    });
    assert_eq!(
        ledger_lines(&open(&repository.work())),
        event_lines(&events)
    );
    assert_only_last_untracked(&repository);
}

#[test]
fn outside_git_sealed_segments_are_packed_and_blanked() {
    let mut sandbox = LedgerSandbox::plain();
    let batch: Vec<_> = (10..7500).map(sample::event).collect();
    sandbox
        .open()
        .append(&batch, sample::start(), &mut sandbox.ids)
        .unwrap();
    let (last, appended) = sandbox.add();
    let replaced = sandbox
        .open()
        .pack(sample::start(), &mut sandbox.ids)
        .unwrap();
    assert!(!replaced.committed && replaced.removed.len() >= 2);
    assert!(
        !replaced.removed.contains(&appended.segments()[0]),
        "the open one stays"
    );
    assert_eq!(
        ledger_lines(&sandbox.open()),
        event_lines(batch.iter().chain([&last]))
    );
    let events = BTreeSet::from([last.event.id, batch[3].event.id]);
    sandbox
        .open()
        .blank(&events, sample::start(), &mut sandbox.ids)
        .unwrap();
    assert_eq!(sandbox.open().full_copies(&events).unwrap(), []);
    assert_eq!(ledger_lines(&sandbox.open()).len(), batch.len() + 1);
    assert!(
        sandbox
            .open()
            .list()
            .unwrap()
            .iter()
            .all(|stat| stat.name.form() == SegmentForm::Pack)
    );
}
