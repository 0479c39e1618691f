//! Authors, timing and notices of hand edits.

use std::fs;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use ken_core::decide::Proposal;
use ken_core::ledger::event::BlankReason;
use ken_core::values::anchor::Anchor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Timestamp;
use ken_engine::notice::EngineNotice;
use ken_engine::sync::{BulkDeletion, DELETIONS_MAX};
use ken_engine::{Engine, EngineError, GitEnv, init};
use ken_ledger::disk::LockWait;
use ken_ledger::{Dir as _, RealDir};

use crate::desk::{NO_EDITS, PersonalClone, TwoClones, absorbed_edits, proposal, two_clones};

/// Adds an entry and returns the notices that this produced.
fn add_and_take_notices(desk: &mut PersonalClone) -> Vec<EngineNotice> {
    let mut engine = desk.engine();
    let proposal = proposal("Refunds take two days", &engine);
    let by = engine.actor();
    engine.add(proposal, &by).unwrap();
    engine.take_notices()
}

/// Redacts the event that proposed an entry.
fn redact_proposal(desk: &mut PersonalClone, id: EntryId) {
    let mut engine = desk.engine();
    let event = engine.history(id).unwrap()[0].event.id.to_string();
    let by = engine.actor();
    engine.redact(&event, BlankReason::Secret, &by).unwrap();
}

/// Returns the number of files reported as deleted at once.
fn deleted_file_count(told: &[EngineNotice]) -> Option<usize> {
    told.iter().find_map(|notice| {
        if let EngineNotice::ManyFilesGone { files } = notice {
            Some(files.len())
        } else {
            None
        }
    })
}

/// Returns true if a segment in the worktree contains `text`.
fn is_in_segment(desk: &PersonalClone, text: &str) -> bool {
    let folder = desk.root.join(".ken/semantic/v1");
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut segments = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    segments.any(|path| fs::read_to_string(path).unwrap().contains(text))
}

#[test]
fn an_edit_of_a_file_somebody_else_committed_is_of_the_person_here() {
    let TwoClones {
        mut bob,
        id,
        dir: _dir,
        ..
    } = two_clones();
    bob.replace(id, "is safe", "is safe with a key");
    assert_eq!(bob.sync(), ["Reworded human:bob@x.org"]);
}

#[test]
fn whoever_writes_takes_in_edits_first() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    ada.replace(id, "is safe", "is safe with a key");
    add_and_take_notices(&mut ada);
    assert_eq!(ada.statement(id), "Charging twice is safe with a key");
}

#[test]
fn whoever_writes_blanks_what_came_back_first() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    let before = ada.git(&["rev-parse", "HEAD"]);
    redact_proposal(&mut ada, id);
    assert!(!is_in_segment(&ada, "Charging twice"));
    ada.git(&["checkout", "-q", before.trim(), "--", ".ken/semantic"]);
    assert!(is_in_segment(&ada, "Charging twice"));
    let told = add_and_take_notices(&mut ada);
    assert!(
        told.contains(&EngineNotice::CopiesRedacted { events: 1 }),
        "{told:?}"
    );
    assert!(!is_in_segment(&ada, "Charging twice"));
}

#[test]
fn whoever_writes_is_told_when_many_files_are_gone() {
    let TwoClones {
        mut ada, dir: _dir, ..
    } = two_clones();
    let many = 0..=DELETIONS_MAX;
    let ids: Vec<EntryId> = many.map(|n| ada.add(&format!("Lesson {n}"))).collect();
    assert_eq!(deleted_file_count(&add_and_take_notices(&mut ada)), None);
    ada.commit_all("some more");
    for id in &ids {
        fs::remove_file(ada.file(*id)).unwrap();
    }
    assert_eq!(
        deleted_file_count(&add_and_take_notices(&mut ada)),
        Some(ids.len())
    );
    assert!(ids.iter().all(|id| ada.entry(*id).is_live()));
}

#[test]
fn a_file_that_is_no_entry_is_left_alone_and_named() {
    let TwoClones {
        mut ada, dir: _dir, ..
    } = two_clones();
    fs::write(ada.root.join(".ken/entries/notes.md"), "My notes.\n").unwrap();
    let mut engine = ada.engine();
    engine.sync(BulkDeletion::Refuse).unwrap();
    let told = engine.take_notices();
    let named = |it: &EngineNotice| matches!(it, EngineNotice::FileIgnored { file, .. } if file == "notes.md");
    assert!(told.iter().any(named), "{told:?}");
}

#[test]
fn what_a_file_says_of_ken_s_own_lines_is_put_right_and_confirms_nothing() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    let rendered = ada.text(id);
    ada.replace(id, "status: ", "status: 9");
    assert_eq!(ada.sync(), NO_EDITS);
    assert_eq!(ada.text(id), rendered);
}

#[test]
fn confirming_by_hand_renders_the_current_sources() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    let mut engine = ada.engine();
    let by = engine.actor();
    let evidence = "pr:77001".parse().unwrap();
    engine.cite(id, evidence, &by).unwrap();
    drop(engine);
    assert!(ada.text(id).contains("77001"));
    let before = ada.entry(id).confirmation.last.unwrap();
    ada.replace(
        id,
        &format!("lastConfirmed: {before}"),
        "lastConfirmed: 2026-11-16",
    );
    assert_eq!(ada.sync(), ["Confirmed human:ada@x.org"]);
    let text = ada.text(id);
    assert!(text.contains("lastConfirmed: 2026-11-16") && text.contains("77001"));
}

#[test]
fn a_sync_says_how_many_files_it_rendered() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    let other = ada.add("Refunds take two days");
    ada.commit_only(".ken/semantic");
    ada.push();
    bob.sync();
    bob.pull();
    let mut engine = bob.engine();
    assert_eq!(engine.sync(BulkDeletion::Refuse).unwrap().rendered_files, 1);
    assert_eq!(absorbed_edits(&mut engine), NO_EDITS);
    drop(engine);
    assert!(bob.file(other).exists() && bob.file(id).exists());
    let mut engine = bob.engine();
    assert_eq!(engine.sync(BulkDeletion::Refuse).unwrap().rendered_files, 0);
}

#[test]
fn a_file_that_shows_what_was_blanked_goes_also_where_its_entry_is_unknown() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    let (file, text) = (ada.file(id), ada.text(id));
    redact_proposal(&mut ada, id);
    ada.commit_all("blanked");
    ada.git(&["rm", "-rq", ".ken/semantic"]);
    fs::write(&file, text).unwrap();
    assert_eq!(
        ada.engine()
            .sync(BulkDeletion::Refuse)
            .unwrap()
            .rendered_files,
        1
    );
    assert!(!file.exists());
}

#[test]
fn deleting_the_file_of_an_archived_entry_counts_in_a_clone_that_never_looked() {
    let TwoClones {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = two_clones();
    let mut engine = ada.engine();
    let by = engine.actor();
    engine.archive(id, &by).unwrap();
    drop(engine);
    ada.commit_all("laid aside");
    fs::remove_file(ada.file(id)).unwrap();
    ada.commit_all("gone");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), ["Deleted human:ada@x.org"]);
}

#[test]
fn outside_git_a_file_under_another_name_is_not_missing_either() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut desk = PersonalClone::at(dir.path(), "");
    let id = desk.add("Charging twice is safe");
    desk.sync();
    let path = desk.file(id);
    fs::rename(&path, path.with_file_name("my-favorite.md")).unwrap();
    assert_eq!(desk.sync(), NO_EDITS);
    assert!(desk.entry(id).is_live());
}

#[test]
fn many_files_gone_in_one_commit_ask_first() {
    let TwoClones {
        mut ada,
        mut bob,
        dir: _dir,
        ..
    } = two_clones();
    let many = 0..=DELETIONS_MAX;
    let ids: Vec<EntryId> = many.map(|n| ada.add(&format!("Lesson {n}"))).collect();
    ada.commit_all("some more");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NO_EDITS);
    for id in &ids {
        fs::remove_file(ada.file(*id)).unwrap();
    }
    ada.commit_all("all gone");
    ada.push();
    bob.pull();
    let asked = bob.engine().sync(BulkDeletion::Refuse);
    assert!(matches!(asked, Err(EngineError::BulkDeletion { count, .. }) if count == ids.len()));
    let mut engine = bob.engine();
    engine.sync(BulkDeletion::Allow).unwrap();
    let each = vec!["Deleted human:ada@x.org"; ids.len()];
    assert_eq!(absorbed_edits(&mut engine), each);
}

/// Adds an unknown event id to the `revision` line of an entry file.
fn add_unknown_revision(line: &str) -> String {
    let unknown = EventId::new(Timestamp::default(), 7);
    line.replace(']', &format!(", \"{unknown}\"]"))
}

#[test]
fn an_edit_of_a_wording_that_is_not_all_here_waits() {
    let lacking: [fn(&str) -> String; 2] = [add_unknown_revision, |_| "revision: []".to_owned()];
    for edit in lacking {
        let TwoClones {
            mut ada,
            id,
            dir: _dir,
            ..
        } = two_clones();
        let text = ada.text(id);
        let mut lines = text.lines();
        let revision = lines.find(|it| it.starts_with("revision: ")).unwrap();
        let text = text.replace(revision, &edit(revision));
        let text = text.replace("\nCharging twice is safe\n", "\nCharging is safe\n");
        fs::write(ada.file(id), &text).unwrap();
        assert_eq!(ada.sync(), NO_EDITS);
        assert_eq!(ada.text(id), text, "it must not be rendered away");
    }
}

/// Adds a commit norm as the person of this clone.
fn add_norm(desk: &mut PersonalClone) -> EntryId {
    let mut engine = desk.engine();
    let by = engine.actor();
    let norm = Proposal {
        kind: EntryKind::CommitNorm,
        ..proposal("Commits are small", &engine)
    };
    engine.add(norm, &by).unwrap().id
}

#[test]
fn an_agent_does_not_take_in_an_edit_of_a_norm_that_it_may_have_made() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    let norm = add_norm(&mut ada);
    ada.replace(norm, "are small", "are large");
    ada.replace(id, "is safe", "is safe with a key");
    let mut engine = ada.engine_as(Some("agent:bot".parse().unwrap()));
    engine.sync(BulkDeletion::Refuse).unwrap();
    // An edit of an entry that is not a norm is accepted, with the clone's owner as author.
    assert_eq!(absorbed_edits(&mut engine), ["Reworded human:ada@x.org"]);
    drop(engine);
    assert_eq!(ada.statement(norm), "Commits are small");
    assert_eq!(ada.sync(), ["Reworded human:ada@x.org"]);
    assert_eq!(ada.statement(norm), "Commits are large");
}

#[test]
fn anchors_nobody_touched_keep_what_is_known_of_their_code() {
    let TwoClones {
        mut ada, dir: _dir, ..
    } = two_clones();
    fs::write(ada.root.join("pay.rs"), "fn charge() {}\n").unwrap();
    fs::write(ada.root.join("refund.rs"), "fn refund() -> bool { true }\n").unwrap();
    let mut engine = ada.engine();
    let by = engine.actor();
    let mut anchored = proposal("Charging twice costs twice", &engine);
    let anchor = |at: &str| Anchor {
        at: at.parse().unwrap(),
        fingerprint: None,
    };
    anchored.content.anchors = vec![anchor("pay.rs#charge"), anchor("refund.rs#refund")];
    let id = engine.add(anchored, &by).unwrap().id;
    drop(engine);
    let before = ada.entry(id).content.unwrap().anchors;
    assert!(before.iter().all(|it| it.fingerprint.is_some()));
    assert_ne!(before[0].fingerprint, before[1].fingerprint);
    ada.replace(id, "costs twice", "costs more");
    assert_eq!(ada.sync(), ["Reworded human:ada@x.org"]);
    assert_eq!(ada.entry(id).content.unwrap().anchors, before);
}

/// Syncs on another thread; the receiver gets the number of edits turned into events.
fn sync_on_thread(mut engine: Engine) -> Receiver<usize> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let synced = engine.sync(BulkDeletion::Refuse).unwrap();
        sender.send(synced.edits)
    });
    receiver
}

#[test]
fn edits_are_taken_in_by_one_at_a_time_and_nobody_waits_without_one() {
    let TwoClones {
        mut ada,
        id,
        dir: _dir,
        ..
    } = two_clones();
    ada.sync();
    let ken = RealDir::below(&ada.root, ".ken").unwrap();
    let other = ken.lock(".local/absorb.lock", LockWait::UntilFree).unwrap();
    let nothing_to_do = sync_on_thread(ada.engine());
    let patience = Duration::from_secs(60);
    assert_eq!(nothing_to_do.recv_timeout(patience), Ok(0));
    ada.replace(id, "is safe", "is safe with a key");
    let waiting = sync_on_thread(ada.engine());
    let moment = Duration::from_millis(500);
    assert!(waiting.recv_timeout(moment).is_err(), "it did not wait");
    drop(other);
    assert_eq!(waiting.recv_timeout(patience), Ok(1));
}
