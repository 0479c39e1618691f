//! What people do to entry files by hand, alone and between clones: exactly the right event once,
//! by the right author, in every clone, or none.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::Command;

use ken_core::content::Content;
use ken_core::decide::Proposal;
use ken_core::entry::Entry;
use ken_core::event::{Channel, Origin, RetractReason, Retracted};
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_engine::notice::Notice;
use ken_engine::sync::BulkDeletion;
use ken_engine::verify::Scope;
use ken_engine::world::FixedWorld;
use ken_engine::{Engine, Error, GitEnv, init};

const NOTHING: [&str; 0] = [];

/// A clone of one person.
struct Desk {
    root: PathBuf,
    email: &'static str,
    seed: u64,
}

impl Desk {
    fn git(&self, args: &[&str]) -> String {
        let (fine, text) = self.try_git(args);
        assert!(fine, "git {args:?}: {text}");
        text
    }

    fn try_git(&self, args: &[&str]) -> (bool, String) {
        let date = "2026-11-15T12:00:00Z";
        let out = Command::new("git")
            .arg("-C")
            .arg(&self.root)
            .args([
                "-c",
                "commit.gpgsign=false",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date)
            .env("GIT_EDITOR", "true")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        (out.status.success(), text.into_owned())
    }

    fn engine(&mut self) -> Engine {
        self.seed += 1;
        let now = format!("2026-11-15T11:{:02}:00Z", self.seed % 60)
            .parse()
            .unwrap();
        let world = FixedWorld::new(now, self.seed * 1000 + self.email.len() as u64);
        Engine::open(&self.root, &GitEnv::default(), None, Box::new(world)).unwrap()
    }

    fn add(&mut self, statement: &str) -> EntryId {
        let mut engine = self.engine();
        let (by, now) = (engine.actor(), engine.now());
        let evidence: ken_core::citation::Evidence = "commit:3fce3b5".parse().unwrap();
        let proposal = Proposal::new(
            Kind::Learning,
            Content::new(statement.parse().unwrap()),
            vec![evidence.cite(&by, now)],
            Origin::Human,
        );
        engine.add(proposal, &by).unwrap().id
    }

    /// Syncs; returns what was absorbed as `edit by`, in order.
    fn sync(&mut self) -> Vec<String> {
        let mut engine = self.engine();
        engine.sync(BulkDeletion::Ask).unwrap();
        absorbed(&mut engine)
    }

    fn entry(&mut self, id: EntryId) -> Entry {
        self.engine().entry(id).unwrap()
    }

    fn statement(&mut self, id: EntryId) -> String {
        self.entry(id).content.unwrap().statement.to_string()
    }

    fn events(&mut self, id: EntryId) -> Vec<String> {
        let history = self.engine().history(id).unwrap();
        history
            .iter()
            .map(|it| format!("{} {}", it.event.body.type_name(), it.event.by))
            .collect()
    }

    fn line(&mut self, id: EntryId, place: usize) -> String {
        self.engine().history(id).unwrap()[place].line().to_owned()
    }

    fn file(&mut self, id: EntryId) -> PathBuf {
        let name = self.entry(id).file_name().unwrap();
        self.root.join(".ken/entries").join(name)
    }

    fn text(&mut self, id: EntryId) -> String {
        std::fs::read_to_string(self.file(id)).unwrap()
    }

    /// Replaces text in the body, or in the frontmatter if the body has no such text.
    fn replace(&mut self, id: EntryId, from: &str, to: &str) {
        let text = self.text(id);
        let (front, body) = text.split_at(text.rfind("---\n").unwrap());
        let edited = if body.contains(from) {
            front.to_owned() + &body.replace(from, to)
        } else {
            text.replace(from, to)
        };
        assert_ne!(edited, text, "`{from}` is not in the file");
        std::fs::write(self.file(id), edited).unwrap();
    }

    fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    fn commit_only(&self, path: &str) {
        self.git(&["add", path]);
        self.git(&["commit", "-qm", "a part"]);
    }

    fn push(&self) {
        self.git(&["push", "-q", "origin", "HEAD:main"]);
    }

    fn pull(&self) {
        self.git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]);
    }
}

fn absorbed(engine: &mut Engine) -> Vec<String> {
    let edits = engine
        .take_notices()
        .into_iter()
        .filter_map(|notice| match notice {
            Notice::Absorbed { edit, by, .. } => Some(format!("{edit:?} {by}")),
            Notice::Ledger(_)
            | Notice::LeftAlone { .. }
            | Notice::Waiting { .. }
            | Notice::ManyFilesGone { .. }
            | Notice::Scrubbed { .. }
            | Notice::ScrubWaits { .. }
            | Notice::IndexRebuilt
            | Notice::ModelMissing { .. }
            | Notice::ActionRequired { .. }
            | Notice::Maintained { .. }
            | Notice::MaintenanceFailed { .. }
            | Notice::SignersNotCommitted => None,
        });
    edits.collect()
}

fn desk(at: &Path, email: &'static str) -> Desk {
    let desk = Desk {
        root: at.to_owned(),
        email,
        seed: 0,
    };
    desk.git(&["config", "user.email", email]);
    desk.git(&["config", "user.name", email]);
    desk
}

/// A remote, Ada's clone with one committed and pushed entry, and Bob's clone of it.
struct Office {
    dir: tempfile::TempDir,
    ada: Desk,
    bob: Desk,
    id: EntryId,
}

fn office() -> Office {
    let dir = tempfile::tempdir().unwrap();
    let top = Desk {
        root: dir.path().to_owned(),
        email: "",
        seed: 0,
    };
    top.git(&["init", "-q", "--bare", "-b", "main", "remote"]);
    top.git(&["clone", "-q", "remote", "ada"]);
    let mut ada = desk(&dir.path().join("ada"), "ada@x.org");
    ada.git(&["switch", "-qc", "main"]);
    init::init(&ada.root, &GitEnv::default()).unwrap();
    let id = ada.add("Charging twice is safe");
    ada.commit_all("knowledge");
    ada.push();
    top.git(&["clone", "-q", "remote", "bob"]);
    let bob = desk(&dir.path().join("bob"), "bob@x.org");
    Office { dir, ada, bob, id }
}

#[test]
fn an_uncommitted_rewording_becomes_one_event_of_the_person_here() {
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
    ada.replace(id, "is safe", "is safe with a key");
    assert_eq!(ada.sync(), ["Reworded human:ada@x.org"]);
    assert_eq!(ada.sync(), NOTHING);
    assert_eq!(ada.statement(id), "Charging twice is safe with a key");
    ada.commit_all("reword");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NOTHING);
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
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
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
    assert_eq!(ada.sync(), NOTHING);
}

#[test]
fn man_02_setting_last_confirmed_confirms_once() {
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
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
    assert_eq!(ada.sync(), NOTHING);
    assert_eq!(ada.text(id), bob.text(id));
    let confirmed = bob.entry(id).confirmation;
    assert_eq!(
        (confirmed.last.unwrap().to_string(), confirmed.manual),
        ("2026-11-16".into(), 1)
    );
    assert_eq!(bob.sync(), NOTHING);
}

#[test]
fn a_confirmation_dated_in_the_future_is_left_alone() {
    let Office {
        mut ada,
        id,
        dir: _dir,
        ..
    } = office();
    let before = ada.entry(id).confirmation;
    let shown = format!("lastConfirmed: {}", before.last.unwrap());
    ada.replace(id, &shown, "lastConfirmed: 2099-01-01");
    assert_eq!(ada.sync(), NOTHING);
    assert_eq!(ada.entry(id).confirmation, before);
    assert!(ada.text(id).contains("2099-01-01"));
}

#[test]
fn man_01_deleting_a_file_retracts_with_a_tombstone() {
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
    std::fs::remove_file(ada.file(id)).unwrap();
    assert_eq!(ada.sync(), ["Deleted human:ada@x.org"]);
    assert_eq!(ada.sync(), NOTHING);
    let entry = ada.entry(id);
    assert_eq!(
        entry.retracted.as_ref().unwrap().reason,
        RetractReason::Unwanted
    );
    assert!(entry.is_tombstone() && !ada.file(id).exists());
    ada.commit_all("gone");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NOTHING);
    assert!(bob.entry(id).retracted.is_some() && !bob.file(id).exists());
}

#[test]
fn a_committed_deletion_is_the_same_retraction_in_every_clone() {
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
    // Bob has looked at the tree before, so that his clone has seen the file.
    assert_eq!(bob.sync(), NOTHING);
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
    let Office {
        mut ada,
        id,
        dir: _dir,
        ..
    } = office();
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
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
    ada.replace(id, "is safe", "is safe with a key");
    ada.sync();
    ada.commit_only(".ken/entries");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NOTHING);
    assert!(
        bob.text(id).contains("with a key"),
        "an edit on its way must not be rendered away"
    );
    assert_eq!(bob.events(id), ["entry.proposed human:ada@x.org"]);
    ada.commit_all("the segment");
    ada.push();
    bob.pull();
    assert_eq!(bob.sync(), NOTHING);
    assert_eq!(bob.statement(id), "Charging twice is safe with a key");
    assert_eq!(bob.events(id).len(), 2);
}

#[test]
fn a_segment_committed_without_its_file_renders_the_file() {
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
    ada.replace(id, "is safe", "is safe with a key");
    ada.sync();
    ada.commit_only(".ken/semantic");
    ada.push();
    bob.sync();
    bob.pull();
    assert_eq!(bob.sync(), NOTHING);
    assert!(bob.text(id).contains("with a key"));
}

#[test]
fn a_fresh_clone_without_views_retracts_nothing() {
    let Office { mut ada, dir, .. } = office();
    let ids = [ada.add("One"), ada.add("Two"), ada.add("Three")];
    ada.commit_only(".ken/semantic");
    ada.push();
    let top = Desk {
        root: dir.path().to_owned(),
        email: "",
        seed: 0,
    };
    top.git(&["clone", "-q", "remote", "eve"]);
    let mut eve = desk(&dir.path().join("eve"), "eve@x.org");
    assert_eq!(eve.sync(), NOTHING);
    for id in ids {
        assert!(eve.entry(id).is_live() && eve.file(id).exists());
    }
}

#[test]
fn nothing_is_absorbed_while_conflict_markers_stand_or_a_rebase_runs() {
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
    ada.replace(id, "is safe", "is very safe");
    ada.commit_all("ada");
    ada.push();
    bob.replace(id, "is safe", "is quite safe");
    bob.commit_all("bob");
    let (clean, _) = bob.try_git(&["pull", "-q", "--rebase", "origin", "main"]);
    assert!(!clean, "both worded the entry anew");
    assert_eq!(bob.sync(), NOTHING);
    bob.git(&["rebase", "--abort"]);
    let (clean, _) = bob.try_git(&["merge", "-q", "origin/main"]);
    assert!(!clean);
    assert_eq!(bob.sync(), NOTHING);
    // Committed markers are not text either.
    bob.commit_all("markers and all");
    assert_eq!(bob.sync(), NOTHING);
    assert_eq!(bob.events(id), ["entry.proposed human:ada@x.org"]);
}

#[test]
fn an_edit_merged_from_a_colleague_is_the_colleagues() {
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
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
    let Office {
        mut ada,
        mut bob,
        id,
        dir: _dir,
    } = office();
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
    let Office {
        mut ada, dir: _dir, ..
    } = office();
    let ids: Vec<EntryId> = (0..4)
        .map(|n| ada.add(&format!("Lesson number {n}")))
        .collect();
    ada.commit_all("four more");
    for id in &ids {
        std::fs::remove_file(ada.file(*id)).unwrap();
    }
    let mut engine = ada.engine();
    let asked = engine.sync(BulkDeletion::Ask);
    assert!(matches!(asked, Err(Error::BulkLoss { count: 4, .. })));
    drop(engine);
    assert!(ids.iter().all(|id| ada.entry(*id).is_live()));
    let mut engine = ada.engine();
    engine.sync(BulkDeletion::Meant).unwrap();
    assert_eq!(absorbed(&mut engine).len(), 4);
}

#[test]
fn a_sparse_checkout_deletes_nothing() {
    let Office {
        mut ada,
        id,
        dir: _dir,
        ..
    } = office();
    ada.sync();
    ada.git(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "/*",
        "!/.ken/entries/",
    ]);
    assert!(!ada.file(id).exists());
    assert_eq!(ada.sync(), NOTHING);
    assert!(ada.entry(id).is_live());
}

#[test]
fn a_file_under_another_name_is_not_missing() {
    let Office {
        mut ada,
        id,
        dir: _dir,
        ..
    } = office();
    ada.sync();
    let path = ada.file(id);
    std::fs::rename(&path, path.with_file_name("my-favourite.md")).unwrap();
    assert_eq!(ada.sync(), NOTHING);
    assert_eq!(ada.sync(), NOTHING);
    assert!(ada.entry(id).is_live());
}

#[test]
fn a_secret_in_an_edit_is_left_in_the_file_and_fails_verify() {
    let Office {
        mut ada,
        id,
        dir: _dir,
        ..
    } = office();
    let token = ["ghp", "_", "q7Zr2Lx9Vb4Kd8Wm1T", "n6Ys3Pf5Hg0JcAeUoR"].concat();
    ada.replace(id, "is safe", &format!("is safe with {token}"));
    assert_eq!(ada.sync(), NOTHING);
    let verified = ada
        .engine()
        .verify(
            Scope::Everything,
            &"ci:test".parse().unwrap(),
            &mut |_, _| (),
        )
        .unwrap();
    assert!(!verified.passes());
    assert!(!format!("{verified:?}").contains(&token));
    assert_eq!(ada.events(id).len(), 1);
}

#[test]
fn outside_git_edits_belong_to_whoever_runs_ken() {
    let dir = tempfile::tempdir().unwrap();
    init::init(dir.path(), &GitEnv::default()).unwrap();
    let mut desk = Desk {
        root: dir.path().to_owned(),
        email: "",
        seed: 0,
    };
    let id = desk.add("Charging twice is safe");
    desk.replace(id, "is safe", "is safe with a key");
    assert_eq!(desk.sync(), ["Reworded human:unknown"]);
    std::fs::remove_file(desk.file(id)).unwrap();
    assert_eq!(desk.sync(), ["Deleted human:unknown"]);
}
