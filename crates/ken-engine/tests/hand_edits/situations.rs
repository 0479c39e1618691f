//! The situations of hand editing, one by one, with the event that each produces.

use ken_core::ledger::event::{Channel, RetractReason, Retracted};
use ken_core::values::id::EntryId;
use ken_engine::sync::BulkDeletion;
use ken_engine::verify::VerifyScope;
use ken_engine::{EngineError, GitEnv, init};

use crate::desk::{
    NO_EDITS, PersonalClone, TwoClones, absorbed_edits, configure_clone, two_clones,
};

#[test]
fn an_uncommitted_rewording_becomes_one_event_of_the_person_here() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    ada.replace(id, "is safe", "is safe with a key");
    assert_eq!(ada.sync(), ["Reworded human:ada@x.org"]);
    assert_eq!(ada.sync(), NO_EDITS);
    assert_eq!(ada.statement(id), "Charging twice is safe with a key");
    ada.commit_all("reword");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NO_EDITS);
    assert_eq!(
        bob.events(id),
        [
            "entry.proposed human:ada@x.org",
            "entry.revised human:ada@x.org"
        ]
    );
}

#[test]
fn a_committed_rewording_is_the_same_event_in_every_clone() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    ada.replace(id, "is safe", "is safe with a key");
    ada.commit_all("reword without ken");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), ["Reworded human:ada@x.org"]);
    assert_eq!(ada.sync(), ["Reworded human:ada@x.org"]);
    assert_eq!(ada.line(id, 1), bob.line(id, 1));
    bob.commit_all("bob's ledger");
    bob.push();
    ada.commit_all("ada's ledger");
    ada.pull();
    assert_eq!(
        ada.events(id),
        [
            "entry.proposed human:ada@x.org",
            "entry.revised human:ada@x.org"
        ]
    );
    assert_eq!(ada.sync(), NO_EDITS);
}

#[test]
fn setting_last_confirmed_confirms_once() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    let before = ada.entry(id).confirmation.last.unwrap();
    ada.replace(
        id,
        &format!("lastConfirmed: {before}"),
        "lastConfirmed: 2026-11-16",
    );
    ada.commit_all("confirm");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), ["Confirmed human:ada@x.org"]);
    assert_eq!(ada.sync(), ["Confirmed human:ada@x.org"]);
    assert_eq!(ada.sync(), NO_EDITS);
    assert_eq!(ada.text(id), bob.text(id));
    let confirmed = bob.entry(id).confirmation;
    assert_eq!(
        (confirmed.last.unwrap().to_string(), confirmed.manual),
        ("2026-11-16".into(), 1)
    );
    assert_eq!(bob.sync(), NO_EDITS);
}

#[test]
fn a_confirmation_dated_in_the_future_is_left_alone() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    let before = ada.entry(id).confirmation;
    let shown = format!("lastConfirmed: {}", before.last.unwrap());
    ada.replace(id, &shown, "lastConfirmed: 2099-01-01");
    assert_eq!(ada.sync(), NO_EDITS);
    assert_eq!(ada.entry(id).confirmation, before);
    assert!(ada.text(id).contains("2099-01-01"));
}

#[test]
fn deleting_a_file_retracts_with_a_tombstone() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    std::fs::remove_file(ada.file(id)).unwrap();
    assert_eq!(ada.sync(), ["Deleted human:ada@x.org"]);
    assert_eq!(ada.sync(), NO_EDITS);
    let entry = ada.entry(id);
    assert_eq!(
        entry.retracted.as_ref().unwrap().reason,
        RetractReason::Unwanted
    );
    assert!(entry.is_tombstone() && !ada.file(id).exists());
    ada.commit_all("gone");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NO_EDITS);
    assert!(bob.entry(id).retracted.is_some() && !bob.file(id).exists());
}

#[test]
fn a_committed_deletion_is_the_same_retraction_in_every_clone() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    // Bob syncs before, so that his clone has seen the file.
    assert_eq!(bob.sync(), NO_EDITS);
    let path = ada.file(id);
    ada.git(&["rm", "-q", path.to_str().unwrap()]);
    ada.git(&["commit", "-qm", "gone"]);
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), ["Deleted human:ada@x.org"]);
    assert_eq!(ada.sync(), ["Deleted human:ada@x.org"]);
    assert_eq!(ada.line(id, 1), bob.line(id, 1));
    let retraction = ada.engine().history(id).unwrap().remove(1).event;
    assert_eq!(
        retraction.get::<Retracted>().unwrap().channel,
        Channel::HandEdit
    );
}

#[test]
fn a_restored_entry_can_be_deleted_again() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    for _ in 0..2 {
        std::fs::remove_file(ada.file(id)).unwrap();
        assert_eq!(ada.sync(), ["Deleted human:ada@x.org"]);
        let mut engine = ada.engine();
        let by = engine.actor();
        engine.restore(id, None, &by).unwrap();
        drop(engine);
        assert!(ada.file(id).exists());
    }
}

#[test]
fn a_file_committed_without_its_segment_waits_for_its_events() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    ada.replace(id, "is safe", "is safe with a key");
    ada.sync();
    ada.commit_only(".ken/entries");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NO_EDITS);
    assert!(
        bob.text(id).contains("with a key"),
        "an edit on its way must not be rendered away"
    );
    assert_eq!(bob.events(id), ["entry.proposed human:ada@x.org"]);
    ada.commit_all("the segment");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NO_EDITS);
    assert_eq!(bob.statement(id), "Charging twice is safe with a key");
    assert_eq!(bob.events(id).len(), 2);
}

#[test]
fn a_segment_committed_without_its_file_renders_the_file() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    ada.replace(id, "is safe", "is safe with a key");
    ada.sync();
    ada.commit_only(".ken/semantic");
    ada.push();
    bob.sync();
    bob.pull();
    assert_eq!(bob.sync(), NO_EDITS);
    assert!(bob.text(id).contains("with a key"));
}

#[test]
fn a_fresh_clone_without_views_retracts_nothing() {
    let TwoClones { mut ada, dir, .. } = two_clones();
    let ids = [ada.add("One"), ada.add("Two"), ada.add("Three")];
    ada.commit_only(".ken/semantic");
    ada.push();
    let top = PersonalClone::at(dir.path(), "");
    top.git(&["clone", "-q", "remote", "eve"]);
    let mut eve = configure_clone(&dir.path().join("eve"), "eve@x.org");
    assert_eq!(eve.sync(), NO_EDITS);
    for id in ids {
        assert!(eve.entry(id).is_live() && eve.file(id).exists());
    }
}

#[test]
fn nothing_is_absorbed_while_conflict_markers_stand_or_a_rebase_runs() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    ada.replace(id, "is safe", "is very safe");
    ada.commit_all("ada");
    ada.push();
    bob.replace(id, "is safe", "is quite safe");
    bob.commit_all("bob");
    let (clean, _) = bob.try_git(&["pull", "-q", "--rebase", "origin", "main"]);
    assert!(!clean, "both worded the entry anew");
    assert_eq!(bob.sync(), NO_EDITS);
    bob.git(&["rebase", "--abort"]);
    let (clean, _) = bob.try_git(&["merge", "-q", "origin/main"]);
    assert!(!clean);
    assert_eq!(bob.sync(), NO_EDITS);
    // Committed conflict markers are not an edit either.
    bob.commit_all("markers and all");
    assert_eq!(bob.sync(), NO_EDITS);
    assert_eq!(bob.events(id), ["entry.proposed human:ada@x.org"]);
}

#[test]
fn an_edit_merged_from_a_colleague_is_the_colleagues() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    ada.replace(id, "is safe", "is safe with a key");
    ada.commit_all("reword");
    ada.push();
    bob.add("Something else");
    bob.commit_all("bob's own");
    bob.pull();
    assert_eq!(bob.sync(), ["Reworded human:ada@x.org"]);
}

#[test]
fn resolving_a_merge_by_hand_settles_both_wordings() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    ada.replace(id, "is safe", "is very safe");
    ada.sync();
    ada.commit_all("ada");
    ada.push();
    bob.replace(id, "is safe", "is quite safe");
    bob.sync();
    bob.commit_all("bob");
    let ours = bob.text(id);
    let (clean, _) = bob.try_git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]);
    assert!(!clean);
    std::fs::write(bob.file(id), ours.replace("quite safe", "very, quite safe")).unwrap();
    bob.commit_all("merge");
    assert_eq!(bob.sync(), ["Reworded human:bob@x.org"]);
    assert!(bob.statement(id).contains("very, quite safe"));
    let entry = bob.entry(id);
    assert_eq!((entry.revision.len(), entry.concurrent.len()), (1, 0));
}

#[test]
fn many_files_gone_at_once_ask_first() {
    let TwoClones {
        mut ada, dir: _dir, ..
    } = two_clones();
    let ids: Vec<EntryId> = (0..4)
        .map(|n| ada.add(&format!("Lesson number {n}")))
        .collect();
    ada.commit_all("four more");
    for id in &ids {
        std::fs::remove_file(ada.file(*id)).unwrap();
    }
    let mut engine = ada.engine();
    let asked = engine.sync(BulkDeletion::Refuse);
    assert!(matches!(
        asked,
        Err(EngineError::BulkDeletion { count: 4, .. })
    ));
    drop(engine);
    assert!(ids.iter().all(|id| ada.entry(*id).is_live()));
    let mut engine = ada.engine();
    engine.sync(BulkDeletion::Allow).unwrap();
    assert_eq!(absorbed_edits(&mut engine).len(), 4);
}

#[test]
fn a_sparse_checkout_deletes_nothing() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    ada.sync();
    ada.git(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "/*",
        "!/.ken/entries/",
    ]);
    assert!(!ada.file(id).exists());
    assert_eq!(ada.sync(), NO_EDITS);
    assert!(ada.entry(id).is_live());
}

#[test]
fn a_file_under_another_name_is_not_missing() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    ada.sync();
    let path = ada.file(id);
    std::fs::rename(&path, path.with_file_name("my-favorite.md")).unwrap();
    assert_eq!(ada.sync(), NO_EDITS);
    assert_eq!(ada.sync(), NO_EDITS);
    assert!(ada.entry(id).is_live());
}

#[test]
fn a_secret_in_an_edit_is_left_in_the_file_and_fails_verify() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    let token = ["ghp", "_", "q7Zr2Lx9Vb4Kd8Wm1T", "n6Ys3Pf5Hg0JcAeUoR"].concat();
    ada.replace(id, "is safe", &format!("is safe with {token}"));
    assert_eq!(ada.sync(), NO_EDITS);
    let verified = ada
        .engine()
        .verify(VerifyScope::Everything, &mut |_, _| ())
        .unwrap();
    assert!(!verified.passes());
    assert!(!format!("{verified:?}").contains(&token));
    assert_eq!(ada.events(id).len(), 1);
}

#[test]
fn outside_git_edits_belong_to_whoever_runs_ken() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut desk = PersonalClone::at(dir.path(), "");
    let id = desk.add("Charging twice is safe");
    desk.replace(id, "is safe", "is safe with a key");
    assert_eq!(desk.sync(), ["Reworded human:unknown"]);
    std::fs::remove_file(desk.file(id)).unwrap();
    assert_eq!(desk.sync(), ["Deleted human:unknown"]);
}
