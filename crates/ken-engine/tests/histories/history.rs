//! A history: a remote, clones and worktrees of it, a clock, and what was acknowledged so far.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use ken_core::actor::Actor;
use ken_core::id::{EntryId, EventId};
use ken_core::time::Timestamp;
use ken_engine::notice::Notice;
use ken_engine::world::FixedWorld;
use ken_engine::{Engine, Error, GitEnv, Kind, init};
use tempfile::TempDir;

use super::dice::Dice;
use super::git::{Answer, START_SECONDS, git, must};
use super::site::{Make, Site};
use super::tally::Tally;

/// What broke, in one text.
pub(crate) type Outcome = Result<(), String>;

/// An event somebody was told is safe.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) at: String,
    pub(crate) lines: BTreeSet<String>,
}

/// Everything that exists in one history.
pub(crate) struct History {
    pub(crate) seed: u64,
    pub(crate) dice: Dice,
    pub(crate) sites: Vec<Site>,
    pub(crate) remote: PathBuf,
    /// What was done, as a script.
    pub(crate) script: Vec<String>,
    pub(crate) acknowledged: BTreeMap<EventId, Acknowledged>,
    /// The telling word of each event whose blanking was acknowledged, where it has one.
    pub(crate) blanked: BTreeMap<EventId, Option<String>>,
    pub(crate) tally: Tally,
    clock_ms: u64,
    worlds: u64,
    texts: u64,
    /// Goes with the history.
    _home: TempDir,
}

impl History {
    /// Makes a remote with a few entries, two to four clones of it and some worktrees.
    pub(crate) fn new(seed: u64) -> Self {
        let mut history = Self::alone(seed);
        history.let_others_clone();
        history
    }

    /// Makes a remote with a few entries and one clone of it.
    pub(crate) fn alone(seed: u64) -> Self {
        let home = scratch();
        let mut dice = Dice::new(seed);
        let remote = home.path().join("remote.git");
        let origin = remote.display().to_string();
        must(
            home.path(),
            &["init", "-q", "--bare", "-b", "main", &origin],
        );
        let first = Site::cloned(&remote, "c0", any_make(&mut dice));
        init::init(&first.root, &GitEnv::default()).expect("a ledger can be made");
        must(&first.root, &["add", "-A"]);
        must(&first.root, &["commit", "-qm", "ken init"]);
        let mut history = Self {
            seed,
            dice,
            sites: vec![first],
            remote,
            script: Vec::new(),
            acknowledged: BTreeMap::new(),
            blanked: BTreeMap::new(),
            tally: Tally::default(),
            clock_ms: START_SECONDS * 1000,
            worlds: 0,
            texts: 0,
            _home: home,
        };
        history.write_first_entries();
        history
    }

    /// Writes what everybody knows from the beginning.
    fn write_first_entries(&mut self) {
        for _ in 0..3 + self.dice.below(3) {
            self.add(0).expect("a new ledger takes entries");
        }
        let root = self.sites[0].root.clone();
        must(&root, &["add", "-A"]);
        must(&root, &["commit", "-qm", "the first entries"]);
        must(
            &root,
            &["push", "-q", "origin", "HEAD:main", "HEAD:b1", "HEAD:b2"],
        );
    }

    fn let_others_clone(&mut self) {
        for n in 1..2 + self.dice.below(3) {
            let make = any_make(&mut self.dice);
            self.note(format!("git clone {make:?} c{n}"));
            let site = Site::cloned(&self.remote, &format!("c{n}"), make);
            self.sites.push(site);
        }
        for n in 0..self.sites.len() {
            if self.dice.chance(30) {
                self.note(format!("c{n}$ git worktree add -B w{n} ../w{n}"));
                let worktree = self.sites[n].worktree(&format!("w{n}"));
                self.sites.push(worktree);
            }
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock_ms)
    }

    /// Lets seconds to hours pass, now and then days.
    pub(crate) fn let_time_pass(&mut self) {
        let longest_ms = self
            .dice
            .weighted(&[(20_000, 60), (7_200_000, 30), (172_800_000, 10)]);
        self.clock_ms += 1000 + self.dice.below(longest_ms) as u64;
    }

    /// Returns a sentence nobody wrote before and the word only it has.
    pub(crate) fn fresh_text(&mut self) -> (String, String) {
        const WORDS: [&str; 24] = [
            "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "indigo",
            "juniper", "kelp", "lagoon", "meadow", "nectar", "onyx", "pebble", "quartz", "river",
            "saffron", "tundra", "umber", "violet", "willow", "zephyr",
        ];
        self.texts += 1;
        // The last letter keeps one word from being the beginning of another.
        let word = format!("zq{}x{}z", self.seed, self.texts);
        let mut any = || self.dice.pick(&WORDS).expect("there are words");
        let [a, b, c, d, e, f] = std::array::from_fn(|_| any());
        let text = format!("Use {a} {b} before the {c} is {d} and after {e} {f}, says {word}.");
        (text, word)
    }

    /// Runs git at a site and writes it into the script.
    pub(crate) fn git<S: AsRef<OsStr>>(&mut self, site: usize, arguments: &[S]) -> Answer {
        let words: Vec<_> = arguments
            .iter()
            .map(|word| word.as_ref().to_string_lossy().into_owned())
            .collect();
        let answer = git(&self.sites[site].root, self.clock_ms / 1000, arguments);
        let end = if answer.ok { "" } else { "   # failed: " };
        let why = answer.err.lines().chain(answer.out.lines());
        let why: String = why
            .filter(|_| !answer.ok)
            .take(2)
            .collect::<Vec<_>>()
            .join(" | ");
        let name = self.sites[site].name.clone();
        self.note(format!("{name}$ git {}{end}{why}", words.join(" ")));
        answer
    }

    pub(crate) fn note(&mut self, line: String) {
        self.script.push(line);
    }

    /// Returns a world at this moment that nobody has been in.
    pub(crate) fn world(&mut self) -> FixedWorld {
        self.worlds += 1;
        let seed = Dice::new(self.seed ^ self.worlds << 32).roll();
        FixedWorld::new(self.now(), seed)
    }

    /// Runs one ken command at a site in a fresh engine; `act` returns the entries it touched.
    ///
    /// A refusal is a normal answer; a failure ends the history.
    pub(crate) fn ken(
        &mut self,
        site: usize,
        by: &Actor,
        what: &str,
        act: impl FnOnce(&mut Engine) -> Result<Vec<EntryId>, Error>,
    ) -> Outcome {
        let world = self.world();
        let place = &self.sites[site];
        let name = place.name.clone();
        self.note(format!("{}$ ken {what} --by {by}", place.name));
        let opened = Engine::open(
            &self.sites[site].root,
            &GitEnv::default(),
            Some(by.clone()),
            Box::new(world),
        );
        let mut engine = opened.map_err(|e| format!("{name}: opening failed: {}", chain(&e)))?;
        let result = act(&mut engine);
        let mut touched = BTreeSet::new();
        let mut said = Vec::new();
        for notice in engine.take_notices() {
            if let Notice::Absorbed { entry, .. } = &notice {
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
                Kind::User | Kind::Refused | Kind::Busy => {
                    self.tally.count("ken refusals");
                    self.note(format!("    # refused: {}", chain(&error)));
                }
                Kind::Damaged | Kind::Internal => {
                    return Err(format!("{name}: `ken {what}` failed: {}", chain(&error)));
                }
            },
        }
        for id in touched {
            self.acknowledge(site, &engine, id)?;
        }
        Ok(())
    }

    /// Notes down every event of an entry a command has just answered with.
    pub(crate) fn acknowledge(&mut self, site: usize, engine: &Engine, id: EntryId) -> Outcome {
        let history = engine.history(id).map_err(|e| chain(&e))?;
        for recorded in history {
            let place = &self.sites[site].name;
            let at = || format!("{place}, line {} of the script", self.script.len());
            let it = self
                .acknowledged
                .entry(recorded.event.id)
                .or_insert_with(|| Acknowledged {
                    at: at(),
                    lines: BTreeSet::new(),
                });
            it.lines.insert(recorded.line().to_owned());
        }
        Ok(())
    }
}

fn any_make(dice: &mut Dice) -> Make {
    Make {
        autocrlf: dice.pick(&["true", "false", "input"]).expect("three"),
        ref_format: if dice.chance(20) { "reftable" } else { "files" },
    }
}

/// Makes a folder that is not waited for: histories test what git does, not the disk.
pub(crate) fn scratch() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let in_memory = fs::metadata(&memory).is_ok_and(|found| found.is_dir());
    let made = in_memory
        .then(|| tempfile::tempdir_in(&memory).ok())
        .flatten();
    made.unwrap_or_else(|| tempfile::tempdir().expect("a folder can be made"))
}

/// Writes an error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Returns the person at a site.
pub(crate) fn person(site: &Site) -> Actor {
    format!("human:{}", site.email).parse().expect("an actor")
}

/// Returns an agent at a site.
pub(crate) fn agent(site: &Site) -> Actor {
    format!("agent:{}", site.name).parse().expect("an actor")
}
