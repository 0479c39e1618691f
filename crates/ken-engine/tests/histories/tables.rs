//! Single cases: repository types and situations that random histories do not reach.

use ken_core::ledger::event::{Channel, Revised};
use ken_engine::{Engine, EngineError, GitEnv, init, replace::ReplaceError};

use super::git::{START_SECONDS, must_run_git, run_git};
use super::history::{GitHistory, agent, person};
use super::knowing::EntryCommand;
use super::site::{CloneOptions, TestWorktree};

const PLAIN_CLONE: CloneOptions = CloneOptions {
    autocrlf: "false",
    ref_format: "files",
};

/// Checks the invariants that hold after every history.
fn assert_invariants(mut history: GitHistory) {
    let outcome = history.judge();
    assert_eq!(outcome, Ok(()), "{}", history.script.join("\n"));
}

fn assert_nothing_retracted(history: &GitHistory, site: usize) {
    let state = history.worktrees[site].events().unwrap().fold();
    let gone = state
        .entries
        .values()
        .filter(|entry| entry.retracted.is_some());
    assert_eq!(gone.count(), 0, "{}", history.script.join("\n"));
}

#[test]
fn a_sparse_checkout_retracts_nothing_and_loses_nothing() {
    let mut history = GitHistory::alone(9001);
    let root = history.worktrees[0].root.clone();
    let known = history.worktrees[0].events().unwrap().fold().entries.len();
    for left_out in ["!/.ken/entries/", "!/.ken/semantic/", "!/.ken/*/v1/"] {
        must_run_git(
            &root,
            &["sparse-checkout", "set", "--no-cone", "/*", left_out],
        );
        history.add(0).unwrap();
        history.sync(0).unwrap();
        must_run_git(&root, &["sparse-checkout", "disable"]);
        history.sync(0).unwrap();
        history.commit_all(0);
        assert_nothing_retracted(&history, 0);
    }
    let now = history.worktrees[0].events().unwrap().fold().entries.len();
    assert_eq!(now, known + 3);
    assert_invariants(history);
}

#[test]
fn a_shallow_clone_writes_and_never_guesses_who_edited() {
    let mut history = GitHistory::alone(9002);
    let root = history.worktrees[0].root.clone();
    history.reword(0).unwrap();
    history.commit_all(0);
    must_run_git(
        &root,
        &[
            "-c",
            "user.email=other@example.org",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "something else",
        ],
    );
    must_run_git(&root, &["push", "-q", "origin", "HEAD:main"]);
    let shallow = TestWorktree::create_clone_with(
        &history.remote,
        "shallow",
        PLAIN_CLONE,
        &["--no-local", "--depth", "1"],
    );
    history.worktrees.push(shallow);
    history.add(1).unwrap();
    history.sync(1).unwrap();
    for editor in hand_edit_authors(&history, 1) {
        assert_eq!(
            editor,
            "human:c0@example.org",
            "{}",
            history.script.join("\n")
        );
    }
    must_run_git(&history.worktrees[1].root, &["fetch", "-q", "--unshallow"]);
    history.sync(1).unwrap();
    history.touch(1, EntryCommand::Confirm).unwrap();
    assert_eq!(
        hand_edit_authors(&history, 1),
        ["human:c0@example.org"],
        "{}",
        history.script.join("\n")
    );
    assert_invariants(history);
}

/// Returns the authors of hand edits, according to the events of the worktree.
fn hand_edit_authors(history: &GitHistory, site: usize) -> Vec<String> {
    let events = history.worktrees[site].events().unwrap();
    let by_hand = events.events().filter(|it| {
        it.event
            .get::<Revised>()
            .is_some_and(|data| data.channel == Channel::HandEdit)
    });
    by_hand.map(|it| it.event.by.to_string()).collect()
}

#[test]
fn a_submodule_has_a_ledger_of_its_own() {
    let mut history = GitHistory::alone(9003);
    let outer = history.remote.parent().unwrap().join("outer");
    let path = outer.display().to_string();
    must_run_git(
        &history.worktrees[0].root,
        &["init", "-q", "-b", "main", &path],
    );
    let origin = history.remote.display().to_string();
    must_run_git(
        &outer,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            &origin,
            "inner",
        ],
    );
    init::init(&outer, &GitEnv::default()).unwrap();
    let git_dir = outer.join(".git/modules/inner");
    let inner = TestWorktree {
        name: "inner".to_owned(),
        root: outer.join("inner"),
        common: git_dir.clone(),
        git_dir,
        email: "inner@example.org".to_owned(),
    };
    for setting in ["user.email", "user.name"] {
        must_run_git(&inner.root, &["config", setting, "inner@example.org"]);
    }
    history.worktrees.push(inner);
    history.add(1).unwrap();
    history.commit_all(1);
    history.add(1).unwrap();
    history.commit_all(1);
    history.pack(1).unwrap();
    assert!(
        !outer
            .join(".ken/semantic/v1")
            .read_dir()
            .unwrap()
            .any(|_| true)
    );
    assert_invariants(history);
}

#[test]
fn what_a_removed_worktree_had_not_committed_is_recovered_in_the_main_one() {
    let mut history = GitHistory::alone(9004);
    let gone = history.worktrees[0].worktree("gone");
    let path = gone.root.display().to_string();
    history.worktrees.push(gone);
    history.add(1).unwrap();
    history.touch(1, EntryCommand::Revise).unwrap();
    let written = history.acknowledged.len();
    must_run_git(
        &history.worktrees[0].root,
        &["worktree", "remove", "--force", &path],
    );
    history.worktrees.pop();
    assert!(history.worktrees[0].lines().unwrap().len() < written);
    assert_invariants(history);
}

#[test]
fn a_stopped_cherry_pick_is_seen_in_every_ref_format() {
    for ref_format in ["files", "reftable"] {
        let mut history = GitHistory::alone(9005);
        let make = CloneOptions {
            ref_format,
            ..PLAIN_CLONE
        };
        history
            .worktrees
            .push(TestWorktree::cloned(&history.remote, "c1", make));
        let place = history.worktrees[1].clone();
        let file = place.entry_files().remove(0);
        let path = place.ken("entries").join(&file);
        let text = std::fs::read_to_string(&path).unwrap();
        for (branch, word) in [("one", "Keep"), ("two", "Take")] {
            must_run_git(&place.root, &["switch", "-q", "-c", branch, "main"]);
            std::fs::write(&path, text.replace("\nUse ", &format!("\n{word} "))).unwrap();
            must_run_git(&place.root, &["commit", "-qam", branch]);
        }
        let picked = run_git(&place.root, START_SECONDS, &["cherry-pick", "one"]);
        assert!(!picked.ok);
        let before = place.lines().unwrap().len();
        let open =
            |world| Engine::open(&place.root, &GitEnv::default(), Some(person(&place)), world);
        let mut engine = open(Box::new(history.world())).unwrap();
        let packed = engine.pack();
        assert!(
            matches!(packed, Err(EngineError::Replace(ReplaceError::Busy(_)))),
            "{ref_format}: {packed:?}"
        );
        must_run_git(&place.root, &["checkout", "-q", "--ours", "--", "."]);
        must_run_git(&place.root, &["add", "-A"]);
        engine = open(Box::new(history.world())).unwrap();
        engine.sync(ken_engine::sync::BulkDeletion::Refuse).unwrap();
        drop(engine);
        assert_eq!(
            place.lines().unwrap().len(),
            before,
            "{ref_format}: absorbed in the middle"
        );
        must_run_git(&place.root, &["cherry-pick", "--abort"]);
        assert_invariants(history);
    }
}

#[test]
fn many_writers_absorb_one_edit_once() {
    let mut history = GitHistory::alone(9006);
    history.reword(0).unwrap();
    history.add_concurrently(0).unwrap();
    assert_eq!(hand_edit_authors(&history, 0).len(), 1);
    let lines = history.worktrees[0].lines().unwrap();
    let by_hand = lines.iter().filter(|(_, it)| {
        it.event
            .get::<Revised>()
            .is_some_and(|data| data.channel == Channel::HandEdit)
    });
    assert_eq!(by_hand.count(), 1, "{}", history.script.join("\n"));
    assert_invariants(history);
}

#[test]
fn a_blanked_proposal_leaves_neither_its_file_nor_its_name() {
    let mut history = GitHistory::alone(9007);
    let by = agent(&history.worktrees[0]);
    history.ken(0, &by, "confirm", |_| Ok(Vec::new())).unwrap();
    for _ in 0..6 {
        history.blank(0).unwrap();
        history.check_redacted_text(0).unwrap();
        history.commit_all(0);
    }
    assert_invariants(history);
}
