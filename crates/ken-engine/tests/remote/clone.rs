//! Test clone with a ledger and a remote.

use std::fs;
use std::path::Path;
use std::process::Command;

use ken_core::decide::Proposal;
use ken_core::ledger::event::{Origin, RecordedEvent};
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::EventId;
use ken_core::values::kind::EntryKind;
use ken_engine::remote::{
    HubAddress, PlaintextPolicy, PullReport, PushReport, PushSelection, Remote, TokenSource,
};
use ken_engine::runtime::FixedRuntime;
use ken_engine::{Engine, EngineError, GitEnv, init};
use ken_ledger::layout::{SegmentForm, SegmentName};
use ken_testkit::memory_hub::MemoryHub;
use tempfile::TempDir;

pub(crate) const NOW: &str = "2026-11-15T09:00:00Z";
pub(crate) const URL: &str = "https://hub.example.org/pay";

/// A separate git repository that acts as one clone.
pub(crate) struct RemoteTestClone {
    pub(crate) dir: TempDir,
    seed: std::cell::Cell<u64>,
}

impl RemoteTestClone {
    /// Creates a git repository with an empty ledger.
    pub(crate) fn new(seed: u64) -> Self {
        let clone = Self::bare(seed);
        init::init(clone.dir.path(), &GitEnv::default()).unwrap();
        clone
    }

    fn bare(seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let seed = std::cell::Cell::new(seed << 16);
        let clone = Self { dir, seed };
        clone.git(&["init", "-q", "-b", "main"]);
        clone.git(&["config", "user.email", "ada@example.org"]);
        clone.git(&["config", "user.name", "Ada"]);
        clone
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.root()).args(words);
        git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        let output = git.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "knowledge"]);
    }

    pub(crate) fn engine(&self) -> Engine {
        self.seed.set(self.seed.get() + 1);
        let world = FixedRuntime::new(NOW.parse().unwrap(), self.seed.get());
        let by = Some("human:ada@example.org".parse().unwrap());
        Engine::open(self.root(), &GitEnv::default(), by, Box::new(world)).unwrap()
    }

    /// Adds an entry; returns the id of its event.
    pub(crate) fn add(&self, statement: &str) -> EventId {
        let mut engine = self.engine();
        let before = self.ids();
        let by = "human:ada@example.org".parse().unwrap();
        let evidence: CitationSource = "pr:142".parse().unwrap();
        let content = Content::new(statement.parse().unwrap());
        let citations = vec![evidence.cite(&by, engine.now())];
        let proposal = Proposal::new(EntryKind::Learning, content, citations, Origin::Human);
        engine.add(proposal, &by).unwrap();
        let mut new = self.ids();
        new.retain(|id| !before.contains(id));
        assert_eq!(new.len(), 1);
        new[0]
    }

    /// Writes lines into the worktree as a merge would.
    pub(crate) fn merge_in(&self, copies: &[RecordedEvent]) {
        for copy in copies {
            self.seed.set(self.seed.get() + 1);
            let salt = u128::from(self.seed.get());
            let memory = copy.event.memory();
            let name = SegmentName::new(memory, SegmentForm::Lines, NOW.parse().unwrap(), salt);
            let path = self.root().join(".ken").join(name.path());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{}\n", copy.line())).unwrap();
        }
    }

    /// Returns every line of every segment, sorted.
    pub(crate) fn lines(&self) -> Vec<String> {
        let ledger = ken_ledger::discover(self.root(), &GitEnv::default())
            .unwrap()
            .unwrap();
        let ledger = ken_ledger::Ledger::open(&ledger).unwrap();
        let mut lines = Vec::new();
        for segment in ledger.list().unwrap() {
            let text = ledger.read(&segment.name).unwrap();
            lines.extend(text.lines().map(|(_, line)| line.to_owned()));
        }
        lines.sort();
        lines
    }

    pub(crate) fn line_of(&self, event: EventId) -> String {
        let is = |line: &String| RecordedEvent::parse(line.as_bytes()).unwrap().event.id == event;
        self.lines().into_iter().find(is).unwrap()
    }

    pub(crate) fn ids(&self) -> Vec<EventId> {
        let id = |line: &String| RecordedEvent::parse(line.as_bytes()).unwrap().event.id;
        self.lines().iter().map(id).collect()
    }

    pub(crate) fn state_hash(&self) -> String {
        self.engine().state().unwrap().hash()
    }

    /// Returns the remote, adding it if there is none.
    pub(crate) fn remote(&self) -> Remote {
        let mut engine = self.engine();
        match engine.remote(None) {
            Ok(remote) => remote,
            Err(_) => {
                let address = HubAddress::parse(URL, PlaintextPolicy::Loopback).unwrap();
                let name = "hub".parse().unwrap();
                engine
                    .add_remote(&name, &address, &TokenSource::PerCall)
                    .unwrap()
            }
        }
    }

    pub(crate) fn try_push(
        &self,
        hub: &mut MemoryHub,
        again: PushSelection,
    ) -> Result<PushReport, EngineError> {
        let remote = self.remote();
        self.engine()
            .push_events(&remote, hub, again, &mut |_, _| {})
    }

    pub(crate) fn push(&self, hub: &mut MemoryHub) -> PushReport {
        self.try_push(hub, PushSelection::New).unwrap()
    }

    pub(crate) fn try_pull(&self, hub: &mut MemoryHub) -> Result<PullReport, EngineError> {
        let remote = self.remote();
        self.engine().pull_events(&remote, hub, &mut |_, _| {})
    }

    pub(crate) fn pull(&self, hub: &mut MemoryHub) -> PullReport {
        self.try_pull(hub).unwrap()
    }

    /// Deletes the local state of the remote, as `git clean -x` does.
    pub(crate) fn forget_local(&self) {
        fs::remove_dir_all(self.root().join(".ken/.local/remotes")).unwrap();
    }

    /// Returns whether a file of the remote's local state contains a text.
    pub(crate) fn local_files_contain(&self, text: &str) -> bool {
        let files = fs::read_dir(self.root().join(".ken/.local/remotes/hub")).unwrap();
        let mut files = files.map(|it| fs::read(it.unwrap().path()).unwrap());
        files.any(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    }

    pub(crate) fn hub_events_file(&self) -> std::path::PathBuf {
        self.root().join(".ken/.local/remotes/hub/held")
    }
}
