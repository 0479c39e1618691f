//! A random history: a remote, its clones and worktrees, a clock, and the acknowledged events.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::Timestamp;
use ken_engine::notice::EngineNotice;
use ken_engine::runtime::FixedRuntime;
use ken_engine::{Engine, EngineError, ErrorKind, GitEnv, init};
use tempfile::TempDir;

use super::dice::HistoryRng;
use super::git::{GitOutput, START_SECONDS, must_run_git, run_git};
use super::site::{CloneOptions, TestWorktree};
use super::tally::OperationCounts;

/// `Err` describes the violated invariant.
pub(crate) type HistoryResult = Result<(), String>;

/// An event that a command acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct AcknowledgedEvent {
    pub(crate) at: String,
    pub(crate) lines: BTreeSet<String>,
}

/// State of one history.
pub(crate) struct GitHistory {
    pub(crate) seed: u64,
    pub(crate) dice: HistoryRng,
    pub(crate) worktrees: Vec<TestWorktree>,
    pub(crate) remote: PathBuf,
    /// The operations so far, as a shell script.
    pub(crate) script: Vec<String>,
    pub(crate) acknowledged: BTreeMap<EventId, AcknowledgedEvent>,
    /// For each acknowledged redaction, the unique word of the redacted event, if it has one.
    pub(crate) blanked: BTreeMap<EventId, Option<String>>,
    pub(crate) tally: OperationCounts,
    clock_ms: u64,
    runtimes_created: u64,
    texts: u64,
    /// Deleted together with the history.
    _home: TempDir,
}

impl GitHistory {
    /// Creates a remote with a few entries, two to four clones of it and some worktrees.
    pub(crate) fn new(seed: u64) -> Self {
        let mut history = Self::alone(seed);
        history.add_clones();
        history
    }

    /// Creates a remote with a few entries and one clone of it.
    pub(crate) fn alone(seed: u64) -> Self {
        let home = scratch_dir();
        let mut dice = HistoryRng::new(seed);
        let remote = home.path().join("remote.git");
        let origin = remote.display().to_string();
        must_run_git(
            home.path(),
            &["init", "-q", "--bare", "-b", "main", &origin],
        );
        let first = TestWorktree::cloned(&remote, "c0", any_clone_options(&mut dice));
        init::init(&first.root, &GitEnv::default()).expect("a ledger can be made");
        must_run_git(&first.root, &["add", "-A"]);
        must_run_git(&first.root, &["commit", "-qm", "ken init"]);
        let mut history = Self {
            seed,
            dice,
            worktrees: vec![first],
            remote,
            script: Vec::new(),
            acknowledged: BTreeMap::new(),
            blanked: BTreeMap::new(),
            tally: OperationCounts::default(),
            clock_ms: START_SECONDS * 1000,
            runtimes_created: 0,
            texts: 0,
            _home: home,
        };
        history.write_first_entries();
        history
    }

    /// Writes the entries that all clones start with.
    fn write_first_entries(&mut self) {
        for _ in 0..3 + self.dice.below(3) {
            self.add(0).expect("a new ledger takes entries");
        }
        let root = self.worktrees[0].root.clone();
        must_run_git(&root, &["add", "-A"]);
        must_run_git(&root, &["commit", "-qm", "the first entries"]);
        must_run_git(
            &root,
            &["push", "-q", "origin", "HEAD:main", "HEAD:b1", "HEAD:b2"],
        );
    }

    fn add_clones(&mut self) {
        for n in 1..2 + self.dice.below(3) {
            let make = any_clone_options(&mut self.dice);
            self.note(format!("git clone {make:?} c{n}"));
            let site = TestWorktree::cloned(&self.remote, &format!("c{n}"), make);
            self.worktrees.push(site);
        }
        for n in 0..self.worktrees.len() {
            if self.dice.chance(30) {
                self.note(format!("c{n}$ git worktree add -B w{n} ../w{n}"));
                let worktree = self.worktrees[n].worktree(&format!("w{n}"));
                self.worktrees.push(worktree);
            }
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock_ms)
    }

    /// Advances the clock by seconds to hours, sometimes days.
    pub(crate) fn advance_clock(&mut self) {
        let longest_ms = self
            .dice
            .weighted(&[(20_000, 60), (7_200_000, 30), (172_800_000, 10)]);
        self.clock_ms += 1000 + self.dice.below(longest_ms) as u64;
    }

    /// Returns a new sentence and the word that only this sentence contains.
    pub(crate) fn fresh_text(&mut self) -> (String, String) {
        const WORDS: [&str; 24] = [
            "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "indigo",
            "juniper", "kelp", "lagoon", "meadow", "nectar", "onyx", "pebble", "quartz", "river",
            "saffron", "tundra", "umber", "violet", "willow", "zephyr",
        ];
        self.texts += 1;
        // The final letter keeps one word from being a prefix of another.
        let word = format!("zq{}x{}z", self.seed, self.texts);
        let mut any = || self.dice.pick(&WORDS).expect("there are words");
        let [a, b, c, d, e, f] = std::array::from_fn(|_| any());
        let text = format!("Use {a} {b} before the {c} is {d} and after {e} {f}, says {word}.");
        (text, word)
    }

    /// Runs git in a worktree and records it in the script.
    pub(crate) fn git<S: AsRef<OsStr>>(&mut self, site: usize, arguments: &[S]) -> GitOutput {
        let words: Vec<_> = arguments
            .iter()
            .map(|word| word.as_ref().to_string_lossy().into_owned())
            .collect();
        let answer = run_git(&self.worktrees[site].root, self.clock_ms / 1000, arguments);
        let end = if answer.ok { "" } else { "   # failed: " };
        let why = answer.err.lines().chain(answer.out.lines());
        let why: String = why
            .filter(|_| !answer.ok)
            .take(2)
            .collect::<Vec<_>>()
            .join(" | ");
        let name = self.worktrees[site].name.clone();
        self.note(format!("{name}$ git {}{end}{why}", words.join(" ")));
        answer
    }

    pub(crate) fn note(&mut self, line: String) {
        self.script.push(line);
    }

    /// Returns a fixed clock and id source with an unused seed, at the current time.
    pub(crate) fn world(&mut self) -> FixedRuntime {
        self.runtimes_created += 1;
        let seed = HistoryRng::new(self.seed ^ self.runtimes_created << 32).roll();
        FixedRuntime::new(self.now(), seed)
    }

    /// Runs one ken command in a worktree with a fresh engine; `act` returns the entries it
    /// touched.
    ///
    /// A refusal is a normal result; an error ends the history.
    pub(crate) fn ken(
        &mut self,
        site: usize,
        by: &Actor,
        what: &str,
        act: impl FnOnce(&mut Engine) -> Result<Vec<EntryId>, EngineError>,
    ) -> HistoryResult {
        let world = self.world();
        let place = &self.worktrees[site];
        let name = place.name.clone();
        self.note(format!("{}$ ken {what} --by {by}", place.name));
        let opened = Engine::open(
            &self.worktrees[site].root,
            &GitEnv::default(),
            Some(by.clone()),
            Box::new(world),
        );
        let mut engine =
            opened.map_err(|e| format!("{name}: opening failed: {}", error_chain(&e)))?;
        let result = act(&mut engine);
        let mut touched = BTreeSet::new();
        let mut said = Vec::new();
        for notice in engine.take_notices() {
            if let EngineNotice::EditSynced { entry, .. } = &notice {
                touched.insert(*entry);
            }
            said.push(format!("    # {notice:?}"));
        }
        self.script.extend(said);
        match result {
            Ok(entries) => {
                self.tally.count("ken commands");
                let shown: Vec<String> = entries.iter().map(ToString::to_string).collect();
                self.note(format!("    # {}", shown.join(" ")));
                touched.extend(entries);
            }
            Err(error) => match error.kind() {
                ErrorKind::User | ErrorKind::Refused | ErrorKind::Busy => {
                    self.tally.count("ken refusals");
                    self.note(format!("    # refused: {}", error_chain(&error)));
                }
                ErrorKind::Damaged | ErrorKind::Internal => {
                    return Err(format!(
                        "{name}: `ken {what}` failed: {}",
                        error_chain(&error)
                    ));
                }
            },
        }
        for id in touched {
            self.acknowledge(site, &engine, id)?;
        }
        Ok(())
    }

    /// Records every event of an entry that a command has just acknowledged.
    pub(crate) fn acknowledge(
        &mut self,
        site: usize,
        engine: &Engine,
        id: EntryId,
    ) -> HistoryResult {
        let history = engine.history(id).map_err(|e| error_chain(&e))?;
        for recorded in history {
            let place = &self.worktrees[site].name;
            let at = || format!("{place}, line {} of the script", self.script.len());
            let it = self
                .acknowledged
                .entry(recorded.event.id)
                .or_insert_with(|| AcknowledgedEvent {
                    at: at(),
                    lines: BTreeSet::new(),
                });
            it.lines.insert(recorded.line().to_owned());
        }
        Ok(())
    }
}

fn any_clone_options(dice: &mut HistoryRng) -> CloneOptions {
    CloneOptions {
        autocrlf: dice.pick(&["true", "false", "input"]).expect("three"),
        ref_format: if dice.chance(20) { "reftable" } else { "files" },
    }
}

/// Creates a folder in memory if possible: histories test git, not the disk.
pub(crate) fn scratch_dir() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let in_memory = fs::metadata(&memory).is_ok_and(|found| found.is_dir());
    let made = in_memory
        .then(|| tempfile::tempdir_in(&memory).ok())
        .flatten();
    made.unwrap_or_else(|| tempfile::tempdir().expect("a folder can be made"))
}

/// Returns an error with its causes as text.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Returns the person who owns a worktree.
pub(crate) fn person(site: &TestWorktree) -> Actor {
    format!("human:{}", site.email).parse().expect("an actor")
}

/// Returns the agent that works in a worktree.
pub(crate) fn agent(site: &TestWorktree) -> Actor {
    format!("agent:{}", site.name).parse().expect("an actor")
}
