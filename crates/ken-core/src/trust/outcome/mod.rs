//! Outcomes of runs that programs observed: corrections by a person, tests, commits, CI.
//!
//! No participant reports them. Hooks count what happens in a session, the git history says what
//! became of its commits, and a CI job records its result. [`RunFacts`] are the facts of a run;
//! [`observed_runs`] folds the events of a ledger, and [`effect`] measures from them whether
//! entries help. [`step`] recognizes tests and commits among the calls of an agent's tools.

pub mod effect;
pub mod step;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ledger::event::{CheckResult, RecordedEvent, RunAssignment, RunObserved, RunObserver};
use crate::values::time::{DAY_MS, Timestamp};

/// Days after which a commit that was not reverted counts as kept.
pub const REVERT_DAYS: u64 = 14;

/// Milliseconds of [`REVERT_DAYS`].
pub const REVERT_MS: u64 = REVERT_DAYS * DAY_MS;

/// Maximum number of assignments in the event of a run: a ledger line has at most 64 KiB.
pub const ASSIGNED_MAX: usize = 256;

/// Maximum number of commits in the event of a run.
pub const COMMITS_MAX: usize = 100;

/// Digits of the commit ids in events.
pub const COMMIT_DIGITS: usize = 12;

/// What programs observed of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// Messages of a person after the task.
    pub prompts: u32,
    /// Messages of a person that corrected the agent; `None` if no hook observed the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrections: Option<u32>,
    /// Number of times tests were run.
    pub test_runs: u32,
    /// The first of these that passed, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_passed_at: Option<u32>,
    /// Abbreviated ids of the commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<bool>,
    /// Whether a commit was reverted within [`REVERT_DAYS`]; `None` until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci: Option<CheckResult>,
}

/// A run with its facts and the arms that chance assigned in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedRun {
    pub run: String,
    /// When it was first observed.
    pub at: Timestamp,
    pub facts: RunFacts,
    pub assigned: Vec<RunAssignment>,
}

/// A quantity of a run of which less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMeasure {
    /// Corrections by a person.
    Corrections,
    /// Test runs that failed before the first one that passed.
    FailedTests,
    /// 1 if the commits were reverted or their checks failed in CI.
    Setbacks,
}

impl RunMeasure {
    pub const ALL: [Self; 3] = [Self::Corrections, Self::FailedTests, Self::Setbacks];

    /// Returns the label of the measure.
    pub fn label(self) -> &'static str {
        match self {
            Self::Corrections => "corrections",
            Self::FailedTests => "failed test runs",
            Self::Setbacks => "reverted or failed in CI",
        }
    }
}

impl RunFacts {
    /// Returns whether the run did work that others can see: it ran tests, made commits or was
    /// corrected.
    pub fn shows_work(&self) -> bool {
        self.test_runs > 0 || !self.commits.is_empty() || self.corrections.is_some_and(|it| it > 0)
    }

    /// Returns a measure; `None` if the run does not have it.
    pub fn measure(&self, measure: RunMeasure) -> Option<u32> {
        match measure {
            RunMeasure::Corrections => self.corrections,
            RunMeasure::FailedTests => {
                let failed = self
                    .tests_passed_at
                    .map_or(self.test_runs, |at| at.max(1) - 1);
                (self.test_runs > 0).then_some(failed)
            }
            RunMeasure::Setbacks => {
                let failed = self.ci.map(|it| it == CheckResult::Failed);
                match (self.reverted, failed) {
                    (None, None) => None,
                    (reverted, failed) => {
                        Some(u32::from(reverted == Some(true) || failed == Some(true)))
                    }
                }
            }
        }
    }

    /// Returns what one event says.
    pub fn from_event(event: &RunObserved) -> Self {
        let mut facts = Self::default();
        facts.add(event);
        facts
    }

    /// Adds what an event says. Later events win, except that a failure stays one.
    fn add(&mut self, event: &RunObserved) {
        let RunObserved {
            run: _,
            observer: _,
            prompts,
            corrections,
            test_runs,
            tests_passed_at,
            commits,
            merged,
            reverted,
            ci,
            assigned: _,
        } = event;
        self.prompts = prompts.unwrap_or(self.prompts);
        self.corrections = corrections.or(self.corrections);
        self.test_runs = test_runs.unwrap_or(self.test_runs);
        self.tests_passed_at = tests_passed_at.or(self.tests_passed_at);
        for commit in commits {
            if !self.commits.contains(commit) {
                self.commits.push(commit.clone());
            }
        }
        self.merged = merged.or(self.merged);
        self.reverted = reverted.or(self.reverted);
        // A run may have several commits; one that fails is enough.
        self.ci = match (self.ci, *ci) {
            (Some(CheckResult::Failed), _) | (_, Some(CheckResult::Failed)) => {
                Some(CheckResult::Failed)
            }
            (known, new) => new.or(known),
        };
    }

    /// Returns the event that records what hooks saw of a run.
    pub fn to_event(&self, run: &str, assigned: Vec<RunAssignment>) -> RunObserved {
        let mut assigned = assigned;
        assigned.truncate(ASSIGNED_MAX);
        let mut commits = self.commits.clone();
        commits.truncate(COMMITS_MAX);
        RunObserved {
            run: Some(run.to_owned()),
            observer: RunObserver::Hooks,
            prompts: Some(self.prompts),
            corrections: self.corrections,
            test_runs: Some(self.test_runs),
            tests_passed_at: self.tests_passed_at,
            commits,
            merged: None,
            reverted: None,
            ci: None,
            assigned,
        }
    }
}

/// Describes the facts in a few words, such as `1 correction, tests passed at attempt 2`.
impl fmt::Display for RunFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize, word: &str| {
            let end = if count == 1 { "" } else { "s" };
            format!("{count} {word}{end}")
        };
        let mut parts = Vec::new();
        if let Some(corrections) = self.corrections {
            parts.push(plural(corrections as usize, "correction"));
        }
        match (self.tests_passed_at, self.test_runs) {
            (Some(at), _) => parts.push(format!("tests passed at attempt {at}")),
            (None, 0) => {}
            (None, runs) => parts.push(format!("tests failed {}", plural(runs as usize, "time"))),
        }
        if !self.commits.is_empty() {
            parts.push(plural(self.commits.len(), "commit"));
        }
        if self.merged == Some(true) {
            parts.push("merged".to_owned());
        }
        if self.reverted == Some(true) {
            parts.push("reverted".to_owned());
        }
        match self.ci {
            Some(CheckResult::Passed) => parts.push("CI passed".to_owned()),
            Some(CheckResult::Failed) => parts.push("CI failed".to_owned()),
            None => {}
        }
        f.write_str(&parts.join(", "))
    }
}

/// Folds the events of a ledger, in canonical order. Events of CI, which name commits only, are
/// joined to the runs that made these commits.
pub fn observed_runs(events: &[RecordedEvent]) -> Vec<ObservedRun> {
    let mut events: Vec<_> = events
        .iter()
        .filter_map(|it| Some((it.event.order(), it.event.get::<RunObserved>()?)))
        .collect();
    events.sort_by_key(|(order, _)| *order);
    let mut runs: Vec<ObservedRun> = Vec::new();
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for ((at, _), data) in &events {
        let Some(name) = data.run.as_deref() else {
            continue;
        };
        let place = *by_name.entry(name).or_insert_with(|| {
            runs.push(ObservedRun {
                run: name.to_owned(),
                at: at.wall,
                facts: RunFacts::default(),
                assigned: Vec::new(),
            });
            runs.len() - 1
        });
        let run = &mut runs[place];
        run.facts.add(data);
        // Chance decided once; a second list would count the same draws twice.
        if run.assigned.is_empty() {
            run.assigned.clone_from(&data.assigned);
        }
    }
    let mut by_commit: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for (place, run) in runs.iter().enumerate() {
        for commit in &run.facts.commits {
            let known = by_commit.entry(commit_key(commit)).or_default();
            known.push((commit.clone(), place));
        }
    }
    for (_, data) in events.iter().filter(|(_, it)| it.run.is_none()) {
        let made = |id: &String| {
            let known = by_commit.get(&commit_key(id)).into_iter().flatten();
            let same = known.filter(|(commit, _)| step::is_same_commit(commit, id));
            same.map(|(_, place)| *place).collect::<Vec<_>>()
        };
        let mut places: Vec<usize> = data.commits.iter().flat_map(made).collect();
        places.sort_unstable();
        places.dedup();
        // The commits of the event are those of the whole change, of which the run made some.
        let result = RunObserved {
            commits: Vec::new(),
            ..(*data).clone()
        };
        for place in places {
            runs[place].facts.add(&result);
        }
    }
    runs
}

/// Returns the first digits of a commit id, which all of its abbreviations have.
fn commit_key(id: &str) -> String {
    id.chars().take(step::COMMIT_DIGITS_MIN).collect()
}

/// Returns a commit id with [`COMMIT_DIGITS`] digits.
pub fn short_commit(id: &str) -> String {
    id.chars().take(COMMIT_DIGITS).collect()
}

/// Returns the assignments of an agent's offers that chance decided.
pub fn assignments(
    offers: impl Iterator<Item = super::run::HoldoutAssignment>,
) -> Vec<RunAssignment> {
    let drawn = offers.filter(|it| (1..1000).contains(&it.propensity_milli));
    let mut assigned: Vec<RunAssignment> = drawn
        .map(|it| RunAssignment {
            entry: it.entry,
            arm: it.arm,
            propensity_milli: it.propensity_milli,
        })
        .collect();
    assigned.sort_by_key(|it| it.entry);
    assigned
}
