//! Test ledgers on real disks: without git, with a simulated git, and with real git.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::sample;
use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::IdSource;
use ken_ledger::git::GitError;
use ken_ledger::{
    AppendReport, Dir, GitEnv, GitView, Ledger, LedgerNotice, LedgerParts, RealDir, Stat, discover,
};

/// Returns true if `KEN_LONG=1` requests the long variants.
pub(crate) fn is_long() -> bool {
    std::env::var_os("KEN_LONG").is_some_and(|value| value == "1")
}

/// Id source that counts instead of drawing, so that every test run is the same.
#[derive(Debug)]
pub(crate) struct CountingIds(pub(crate) u128);

impl IdSource for CountingIds {
    fn random(&mut self) -> u128 {
        self.0 += 1;
        // Spread the bits, so that names and salts differ in all their characters.
        self.0
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

/// A simulated git whose answers change only on request.
#[derive(Debug)]
pub(crate) struct SimulatedGit(pub(crate) Mutex<GitAnswers>);

/// Answers of a [`SimulatedGit`].
#[derive(Clone, Debug)]
pub(crate) struct GitAnswers {
    pub(crate) token: String,
    pub(crate) branch: String,
    pub(crate) index: Option<Stat>,
    pub(crate) listed: Option<BTreeSet<String>>,
}

impl SimulatedGit {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(GitAnswers {
            token: "1".into(),
            branch: "refs/heads/main".into(),
            index: None,
            listed: Some(BTreeSet::new()),
        })))
    }

    pub(crate) fn say(&self, change: impl FnOnce(&mut GitAnswers)) {
        change(&mut self.0.lock().unwrap());
    }

    fn said(&self) -> GitAnswers {
        self.0.lock().unwrap().clone()
    }
}

impl GitView for SimulatedGit {
    fn worktree(&self) -> String {
        ".".into()
    }

    fn head_token(&self) -> String {
        self.said().token
    }

    fn branch(&self) -> String {
        self.said().branch
    }

    fn index_stat(&self) -> Option<Stat> {
        self.said().index
    }

    fn index_paths(&self) -> Result<BTreeSet<String>, GitError> {
        self.said().listed.ok_or(GitError::NotOffered)
    }

    fn head_paths(&self) -> Result<BTreeSet<String>, GitError> {
        Ok(BTreeSet::new())
    }
}

/// A folder with a ledger, with a [`SimulatedGit`] or without git.
pub(crate) struct LedgerSandbox {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) git: Option<Arc<SimulatedGit>>,
    pub(crate) boot: Option<String>,
    pub(crate) ids: CountingIds,
    next: u64,
}

impl LedgerSandbox {
    pub(crate) fn in_git() -> Self {
        Self::with(Some(SimulatedGit::new()))
    }

    pub(crate) fn plain() -> Self {
        Self::with(None)
    }

    fn with(git: Option<Arc<SimulatedGit>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        let boot = Some("first boot".to_owned());
        Self {
            dir,
            git,
            boot,
            ids: CountingIds(0),
            next: 0,
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Opens the ledger as a new process would.
    pub(crate) fn open(&self) -> Ledger {
        let local = if self.git.is_some() {
            ".git/ken"
        } else {
            ".ken/.local"
        };
        let dir = |prefix: &str| -> Arc<dyn Dir> {
            Arc::new(RealDir::below(self.dir.path(), prefix).unwrap())
        };
        Ledger::with_parts(LedgerParts {
            ken: dir(".ken"),
            local: dir(local),
            worktree: dir(local),
            git: self.git.clone().map(|git| git as Arc<dyn GitView>),
            boot: self.boot.clone(),
        })
    }

    /// Appends the next event in a new process.
    pub(crate) fn add(&mut self) -> (RecordedEvent, AppendReport) {
        self.add_to(&self.open())
    }

    pub(crate) fn add_to(&mut self, ledger: &Ledger) -> (RecordedEvent, AppendReport) {
        self.next += 1;
        let event = sample::event(self.next);
        let batch = std::slice::from_ref(&event);
        let appended = ledger
            .append(batch, sample::start(), &mut self.ids)
            .unwrap();
        (event, appended)
    }

    pub(crate) fn segment(&self, appended: &AppendReport) -> PathBuf {
        self.path(".ken").join(appended.segments()[0].path())
    }
}

/// Returns every event's line in a ledger, sorted.
pub(crate) fn ledger_lines(ledger: &Ledger) -> Vec<String> {
    let mut lines = Vec::new();
    for stat in ledger.list().unwrap() {
        let text = ledger.read(&stat.name).unwrap();
        assert_eq!(text.torn(), None);
        lines.extend(text.lines().map(|(_, line)| line.to_owned()));
    }
    lines.sort();
    lines
}

/// Returns the lines of events, sorted.
pub(crate) fn event_lines<'a>(events: impl IntoIterator<Item = &'a RecordedEvent>) -> Vec<String> {
    let mut lines: Vec<_> = events
        .into_iter()
        .map(|event| event.line().to_owned())
        .collect();
    lines.sort();
    lines
}

/// A real git repository.
pub(crate) struct GitTestRepository {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) ids: CountingIds,
    next: u64,
}

impl GitTestRepository {
    pub(crate) fn new(init: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let this = Self {
            dir,
            ids: CountingIds(0),
            next: 0,
        };
        let mut arguments = vec!["init", "-q", "-b", "main"];
        arguments.extend(init);
        arguments.push("work");
        run_git(this.dir.path(), &arguments);
        this.configure_identity(&this.work());
        std::fs::write(this.work().join("README"), "hello\n").unwrap();
        std::fs::create_dir_all(this.work().join(".ken")).unwrap();
        std::fs::write(this.work().join(".ken/.gitignore"), ".local/\n").unwrap();
        std::fs::write(
            this.work().join(".gitattributes"),
            ".ken/**/*.jsonl -text\n",
        )
        .unwrap();
        this.git(&["add", "README", ".gitattributes", ".ken/.gitignore"]);
        this.git(&["commit", "-qm", "first"]);
        this
    }

    pub(crate) fn configure_identity(&self, work: &Path) {
        run_git(work, &["config", "user.name", "Test"]);
        run_git(work, &["config", "user.email", "test@example.org"]);
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        run_git(&self.work(), arguments)
    }

    pub(crate) fn add(&mut self) -> (RecordedEvent, AppendReport) {
        self.add_in(&self.work())
    }

    pub(crate) fn add_in(&mut self, work: &Path) -> (RecordedEvent, AppendReport) {
        self.next += 1;
        let event = sample::event(self.next);
        let batch = std::slice::from_ref(&event);
        let appended = open(work)
            .append(batch, sample::start(), &mut self.ids)
            .unwrap();
        (event, appended)
    }
}

/// Opens the ledger of a worktree as a new process would.
pub(crate) fn open(work: &Path) -> Ledger {
    let place = discover(work, &GitEnv::default())
        .unwrap()
        .expect("a repository");
    Ledger::open(&place).unwrap()
}

/// Runs git and returns its output.
pub(crate) fn run_git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "advice.detachedHead=false",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub(crate) fn has_healed(notices: &[LedgerNotice]) -> bool {
    notices
        .iter()
        .any(|notice| matches!(notice, LedgerNotice::SegmentRepaired { .. }))
}
