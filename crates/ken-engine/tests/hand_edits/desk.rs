//! Test clones of one repository, each owned by one person.

use std::path::{Path, PathBuf};
use std::process::Command;

use ken_core::decide::Proposal;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Origin;
use ken_core::values::actor::Actor;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_engine::notice::EngineNotice;
use ken_engine::runtime::FixedRuntime;
use ken_engine::sync::BulkDeletion;
use ken_engine::{Engine, GitEnv, init};

pub(crate) const NO_EDITS: [&str; 0] = [];

/// A clone owned by one person.
pub(crate) struct PersonalClone {
    pub(crate) root: PathBuf,
    email: &'static str,
    seed: u64,
}

impl PersonalClone {
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
        self.engine_as(None)
    }

    pub(crate) fn engine_as(&mut self, actor: Option<Actor>) -> Engine {
        self.seed += 1;
        let now = format!("2026-11-15T11:{:02}:00Z", self.seed % 60)
            .parse()
            .unwrap();
        let world = FixedRuntime::new(now, self.seed * 1000 + self.email.len() as u64);
        Engine::open(&self.root, &GitEnv::default(), actor, Box::new(world)).unwrap()
    }

    pub(crate) fn add(&mut self, statement: &str) -> EntryId {
        let mut engine = self.engine();
        let by = engine.actor();
        let proposal = proposal(statement, &engine);
        engine.add(proposal, &by).unwrap().id
    }

    /// Syncs and returns the edits that became events, as `edit by`, in order.
    pub(crate) fn sync(&mut self) -> Vec<String> {
        let mut engine = self.engine();
        engine.sync(BulkDeletion::Refuse).unwrap();
        absorbed_edits(&mut engine)
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

    /// Replaces text in the body, or in the frontmatter if the body lacks it.
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
    let evidence: CitationSource = "pr:7".parse().unwrap();
    Proposal::new(
        EntryKind::Learning,
        Content::new(statement.parse().unwrap()),
        vec![evidence.cite(&engine.actor(), engine.now())],
        Origin::Human,
    )
}

pub(crate) fn absorbed_edits(engine: &mut Engine) -> Vec<String> {
    let edits = engine
        .take_notices()
        .into_iter()
        .filter_map(|notice| match notice {
            EngineNotice::EditSynced { edit, by, .. } => Some(format!("{edit:?} {by}")),
            EngineNotice::Ledger(_)
            | EngineNotice::FileIgnored { .. }
            | EngineNotice::SyncDeferred { .. }
            | EngineNotice::ManyFilesGone { .. }
            | EngineNotice::CopiesRedacted { .. }
            | EngineNotice::RedactionDeferred { .. }
            | EngineNotice::ConfigInvalid { .. }
            | EngineNotice::IndexInMemory { .. }
            | EngineNotice::CitationUnchecked { .. }
            | EngineNotice::NotSigned { .. }
            | EngineNotice::SelfApproval { .. }
            | EngineNotice::IndexRebuilt
            | EngineNotice::ModelMissing { .. }
            | EngineNotice::ActionRequired { .. }
            | EngineNotice::Maintained { .. }
            | EngineNotice::MaintenanceFailed { .. }
            | EngineNotice::ConflictResolved { .. }
            | EngineNotice::EditsUnrecorded { .. }
            | EngineNotice::StatusReset { .. }
            | EngineNotice::SignersNotCommitted => None,
        });
    edits.collect()
}

pub(crate) fn configure_clone(at: &Path, email: &'static str) -> PersonalClone {
    let desk = PersonalClone::at(at, email);
    desk.git(&["config", "user.email", email]);
    desk.git(&["config", "user.name", email]);
    desk
}

/// A remote, Ada's clone with one committed and pushed entry, and Bob's clone of it.
pub(crate) struct TwoClones {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) ada: PersonalClone,
    pub(crate) bob: PersonalClone,
    pub(crate) id: EntryId,
}

pub(crate) fn two_clones() -> TwoClones {
    let dir = tempfile::tempdir().unwrap();
    let top = PersonalClone::at(dir.path(), "");
    top.git(&["init", "-q", "--bare", "-b", "main", "remote"]);
    top.git(&["clone", "-q", "remote", "ada"]);
    let mut ada = configure_clone(&dir.path().join("ada"), "ada@x.org");
    ada.git(&["switch", "-qc", "main"]);
    init::init(&ada.root, &GitEnv::default()).unwrap();
    let id = ada.add("Charging twice is safe");
    ada.commit_all("knowledge");
    ada.push();
    top.git(&["clone", "-q", "remote", "bob"]);
    let bob = configure_clone(&dir.path().join("bob"), "bob@x.org");
    TwoClones { dir, ada, bob, id }
}
