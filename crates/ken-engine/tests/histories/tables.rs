//! Single cases: kinds of repositories and moments that histories do not meet by chance.

use ken_core::event::{Channel, Revised};
use ken_engine::{Engine, Error, GitEnv, init, replace::ReplaceError};

use super::git::{START_SECONDS, git, must};
use super::history::{History, agent, person};
use super::knowing::Verb;
use super::site::{Make, Site};

const PLAIN: Make = Make {
    autocrlf: "false",
    ref_format: "files",
};

/// Ends a case as every history ends.
fn judged(mut history: History) {
    let outcome = history.judge();
    assert_eq!(outcome, Ok(()), "{}", history.script.join("\n"));
}

fn nothing_is_retracted(history: &History, site: usize) {
    let state = history.sites[site].events().unwrap().fold();
    let gone = state
        .entries
        .values()
        .filter(|entry| entry.retracted.is_some());
    assert_eq!(gone.count(), 0, "{}", history.script.join("\n"));
}

#[test]
fn a_sparse_checkout_retracts_nothing_and_loses_nothing() {
    let mut history = History::alone(9001);
    let root = history.sites[0].root.clone();
    let known = history.sites[0].events().unwrap().fold().entries.len();
    for left_out in ["!/.ken/entries/", "!/.ken/semantic/", "!/.ken/*/v1/"] {
        must(
            &root,
            &["sparse-checkout", "set", "--no-cone", "/*", left_out],
        );
        history.add(0).unwrap();
        history.sync(0).unwrap();
        must(&root, &["sparse-checkout", "disable"]);
        history.sync(0).unwrap();
        history.commit_all(0);
        nothing_is_retracted(&history, 0);
    }
    let now = history.sites[0].events().unwrap().fold().entries.len();
    assert_eq!(now, known + 3);
    judged(history);
}

#[test]
fn a_shallow_clone_writes_and_never_guesses_who_edited() {
    let mut history = History::alone(9002);
    let root = history.sites[0].root.clone();
    history.reword(0).unwrap();
    history.commit_all(0);
    must(
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
    must(&root, &["push", "-q", "origin", "HEAD:main"]);
    let shallow = Site::cloned_with(
        &history.remote,
        "shallow",
        PLAIN,
        &["--no-local", "--depth", "1"],
    );
    history.sites.push(shallow);
    history.add(1).unwrap();
    history.sync(1).unwrap();
    for editor in editors(&history, 1) {
        assert_eq!(
            editor,
            "human:c0@example.org",
            "{}",
            history.script.join("\n")
        );
    }
    must(&history.sites[1].root, &["fetch", "-q", "--unshallow"]);
    history.sync(1).unwrap();
    history.touch(1, Verb::Confirm).unwrap();
    assert_eq!(
        editors(&history, 1),
        ["human:c0@example.org"],
        "{}",
        history.script.join("\n")
    );
    judged(history);
}

/// Returns who worded an entry anew by hand, as the site's events say.
fn editors(history: &History, site: usize) -> Vec<String> {
    let events = history.sites[site].events().unwrap();
    let by_hand = events.events().filter(|it| {
        it.event
            .get::<Revised>()
            .is_some_and(|data| data.channel == Channel::HandEdit)
    });
    by_hand.map(|it| it.event.by.to_string()).collect()
}

#[test]
fn a_submodule_has_a_ledger_of_its_own() {
    let mut history = History::alone(9003);
    let outer = history.remote.parent().unwrap().join("outer");
    let path = outer.display().to_string();
    must(&history.sites[0].root, &["init", "-q", "-b", "main", &path]);
    let origin = history.remote.display().to_string();
    must(
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
    let inner = Site {
        name: "inner".to_owned(),
        root: outer.join("inner"),
        common: git_dir.clone(),
        git_dir,
        email: "inner@example.org".to_owned(),
    };
    for setting in ["user.email", "user.name"] {
        must(&inner.root, &["config", setting, "inner@example.org"]);
    }
    history.sites.push(inner);
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
    judged(history);
}

#[test]
fn what_a_removed_worktree_had_not_committed_is_recovered_in_the_main_one() {
    let mut history = History::alone(9004);
    let gone = history.sites[0].worktree("gone");
    let path = gone.root.display().to_string();
    history.sites.push(gone);
    history.add(1).unwrap();
    history.touch(1, Verb::Revise).unwrap();
    let written = history.acknowledged.len();
    must(
        &history.sites[0].root,
        &["worktree", "remove", "--force", &path],
    );
    history.sites.pop();
    assert!(history.sites[0].lines().unwrap().len() < written);
    judged(history);
}

#[test]
fn a_stopped_cherry_pick_is_seen_in_every_ref_format() {
    for ref_format in ["files", "reftable"] {
        let mut history = History::alone(9005);
        let make = Make {
            ref_format,
            ..PLAIN
        };
        history
            .sites
            .push(Site::cloned(&history.remote, "c1", make));
        let place = history.sites[1].clone();
        let file = place.entry_files().remove(0);
        let path = place.ken("entries").join(&file);
        let text = std::fs::read_to_string(&path).unwrap();
        for (branch, word) in [("one", "Keep"), ("two", "Take")] {
            must(&place.root, &["switch", "-q", "-c", branch, "main"]);
            std::fs::write(&path, text.replace("\nUse ", &format!("\n{word} "))).unwrap();
            must(&place.root, &["commit", "-qam", branch]);
        }
        let picked = git(&place.root, START_SECONDS, &["cherry-pick", "one"]);
        assert!(!picked.ok);
        let before = place.lines().unwrap().len();
        let open =
            |world| Engine::open(&place.root, &GitEnv::default(), Some(person(&place)), world);
        let mut engine = open(Box::new(history.world())).unwrap();
        let packed = engine.pack();
        assert!(
            matches!(packed, Err(Error::Replace(ReplaceError::Busy(_)))),
            "{ref_format}: {packed:?}"
        );
        must(&place.root, &["checkout", "-q", "--ours", "--", "."]);
        must(&place.root, &["add", "-A"]);
        engine = open(Box::new(history.world())).unwrap();
        engine.sync(ken_engine::sync::BulkDeletion::Ask).unwrap();
        drop(engine);
        assert_eq!(
            place.lines().unwrap().len(),
            before,
            "{ref_format}: absorbed in the middle"
        );
        must(&place.root, &["cherry-pick", "--abort"]);
        judged(history);
    }
}

#[test]
fn many_writers_absorb_one_edit_once() {
    let mut history = History::alone(9006);
    history.reword(0).unwrap();
    history.crowd(0).unwrap();
    assert_eq!(editors(&history, 0).len(), 1);
    let lines = history.sites[0].lines().unwrap();
    let by_hand = lines.iter().filter(|(_, it)| {
        it.event
            .get::<Revised>()
            .is_some_and(|data| data.channel == Channel::HandEdit)
    });
    assert_eq!(by_hand.count(), 1, "{}", history.script.join("\n"));
    judged(history);
}

#[test]
fn a_blanked_proposal_leaves_neither_its_file_nor_its_name() {
    let mut history = History::alone(9007);
    let by = agent(&history.sites[0]);
    history.ken(0, &by, "confirm", |_| Ok(Vec::new())).unwrap();
    for _ in 0..6 {
        history.blank(0).unwrap();
        history.blanked_text_is_gone(0).unwrap();
        history.commit_all(0);
    }
    judged(history);
}
