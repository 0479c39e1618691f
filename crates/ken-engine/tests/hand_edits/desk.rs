//! People at their clones of one repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use ken_core::actor::Actor;
use ken_core::citation::Evidence;
use ken_core::content::Content;
use ken_core::decide::Proposal;
use ken_core::entry::Entry;
use ken_core::event::Origin;
use ken_core::id::EntryId;
use ken_core::kind::Kind;
use ken_engine::notice::Notice;
use ken_engine::sync::BulkDeletion;
use ken_engine::world::FixedWorld;
use ken_engine::{Engine, GitEnv, init};

pub(crate) const NOTHING: [&str; 0] = [];

/// A clone of one person.
pub(crate) struct Desk {
    pub(crate) root: PathBuf,
    email: &'static str,
    seed: u64,
}

impl Desk {
    pub(crate) fn at(root: &Path, email: &'static str) -> Self {
        Self {
            root: root.to_owned(),
            email,
            seed: 0,
        }
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let (fine, text) = self.try_git(args);
        assert!(fine, "git {args:?}: {text}");
        text
    }

    pub(crate) fn try_git(&self, args: &[&str]) -> (bool, String) {
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

    pub(crate) fn engine(&mut self) -> Engine {
        self.engine_of(None)
    }

    pub(crate) fn engine_of(&mut self, actor: Option<Actor>) -> Engine {
        self.seed += 1;
        let now = format!("2026-11-15T11:{:02}:00Z", self.seed % 60)
            .parse()
            .unwrap();
        let world = FixedWorld::new(now, self.seed * 1000 + self.email.len() as u64);
        Engine::open(&self.root, &GitEnv::default(), actor, Box::new(world)).unwrap()
    }

    pub(crate) fn add(&mut self, statement: &str) -> EntryId {
        let mut engine = self.engine();
        let by = engine.actor();
        let proposal = proposal(statement, &engine);
        engine.add(proposal, &by).unwrap().id
    }

    /// Syncs; returns what was absorbed as `edit by`, in order.
    pub(crate) fn sync(&mut self) -> Vec<String> {
        let mut engine = self.engine();
        engine.sync(BulkDeletion::Ask).unwrap();
        absorbed(&mut engine)
    }

    pub(crate) fn entry(&mut self, id: EntryId) -> Entry {
        self.engine().entry(id).unwrap()
    }

    pub(crate) fn statement(&mut self, id: EntryId) -> String {
        self.entry(id).content.unwrap().statement.to_string()
    }

    pub(crate) fn events(&mut self, id: EntryId) -> Vec<String> {
        let history = self.engine().history(id).unwrap();
        history
            .iter()
            .map(|it| format!("{} {}", it.event.body.type_name(), it.event.by))
            .collect()
    }

    pub(crate) fn line(&mut self, id: EntryId, place: usize) -> String {
        self.engine().history(id).unwrap()[place].line().to_owned()
    }

    pub(crate) fn file(&mut self, id: EntryId) -> PathBuf {
        let name = self.entry(id).file_name().unwrap();
        self.root.join(".ken/entries").join(name)
    }

    pub(crate) fn text(&mut self, id: EntryId) -> String {
        std::fs::read_to_string(self.file(id)).unwrap()
    }

    /// Replaces text in the body, or in the frontmatter if the body has no such text.
    pub(crate) fn replace(&mut self, id: EntryId, from: &str, to: &str) {
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

    pub(crate) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    pub(crate) fn commit_only(&self, path: &str) {
        self.git(&["add", path]);
        self.git(&["commit", "-qm", "a part"]);
    }

    pub(crate) fn push(&self) {
        self.git(&["push", "-q", "origin", "HEAD:main"]);
    }

    pub(crate) fn pull(&self) {
        self.git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]);
    }
}

pub(crate) fn proposal(statement: &str, engine: &Engine) -> Proposal {
    let evidence: Evidence = "commit:3fce3b5".parse().unwrap();
    Proposal::new(
        Kind::Learning,
        Content::new(statement.parse().unwrap()),
        vec![evidence.cite(&engine.actor(), engine.now())],
        Origin::Human,
    )
}

pub(crate) fn absorbed(engine: &mut Engine) -> Vec<String> {
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

pub(crate) fn desk(at: &Path, email: &'static str) -> Desk {
    let desk = Desk::at(at, email);
    desk.git(&["config", "user.email", email]);
    desk.git(&["config", "user.name", email]);
    desk
}

/// A remote, Ada's clone with one committed and pushed entry, and Bob's clone of it.
pub(crate) struct Office {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) ada: Desk,
    pub(crate) bob: Desk,
    pub(crate) id: EntryId,
}

pub(crate) fn office() -> Office {
    let dir = tempfile::tempdir().unwrap();
    let top = Desk::at(dir.path(), "");
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
