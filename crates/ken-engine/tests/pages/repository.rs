//! A git repository with a ledger, whose engine the tests call directly.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use ken_core::decide::Proposal;
use ken_core::ledger::event::Origin;
use ken_core::values::actor::Actor;
use ken_core::values::anchor::CodeLocation;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_engine::runtime::FixedRuntime;
use ken_engine::{Engine, GitEnv, init};
use tempfile::TempDir;

/// A repository in a temporary folder.
pub(crate) struct Repository {
    folder: TempDir,
    pub(crate) by: Actor,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self {
            folder: tempfile::tempdir().unwrap(),
            by: "human:ada@example.org".parse().unwrap(),
        };
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["config", "user.email", "ada@example.org"]);
        repository.git(&["config", "user.name", "Ada"]);
        init::init(repository.root(), &GitEnv::default()).unwrap();
        repository
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Opens an engine. Its clock is ahead of the files, so that their metadata identifies them.
    pub(crate) fn engine(&self) -> Engine {
        let now = SystemTime::now() + Duration::from_secs(60);
        let millis = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let now = ken_core::values::time::Timestamp::from_millis(
            u64::try_from(millis.as_millis()).unwrap(),
        );
        let world = FixedRuntime::new(now, 7);
        Engine::open(self.root(), &GitEnv::default(), None, Box::new(world)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git")
            .args(args)
            .current_dir(self.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "git {args:?}: {error}");
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Adds a learning with anchors.
    pub(crate) fn learn(&self, engine: &mut Engine, statement: &str, anchors: &[&str]) -> EntryId {
        self.add(engine, EntryKind::Learning, statement, |content| {
            let anchors = anchors.iter().map(|it| it.parse::<CodeLocation>().unwrap());
            content.anchors = anchors.map(Into::into).collect();
        })
    }

    /// Adds an entry whose content `edit` completes.
    pub(crate) fn add(
        &self,
        engine: &mut Engine,
        kind: EntryKind,
        statement: &str,
        edit: impl FnOnce(&mut Content),
    ) -> EntryId {
        let mut content = Content::new(statement.parse().unwrap());
        edit(&mut content);
        let evidence: CitationSource = "pr:142".parse().unwrap();
        let citations = vec![evidence.cite(&self.by, engine.now())];
        let proposal = Proposal::new(kind, content, citations, Origin::Human);
        engine.add(proposal, &self.by).unwrap().id
    }
}
