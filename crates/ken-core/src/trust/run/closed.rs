//! Closed runs: the result of closing one, and past runs read from the ledger.

use std::collections::BTreeSet;

use super::closing::{RunClosing, RunEnding, close_run};
use super::exposure::ExposureSet;
use super::name::{IMPLICIT_PREFIX, SESSION_PREFIX};
use super::{Run, RunFinding};
use crate::ledger::entry::Entry;
use crate::ledger::event::{Outcome, RecordedEvent, RunClosed};
use crate::trust::outcome::RunFacts;
use crate::trust::review::ReviewPolicy;
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::text::enum_label;
use crate::values::time::Timestamp;

/// Label of a session that ended: its hooks see the end, and nobody reported an outcome.
pub const OUTCOME_UNKNOWN: &str = "ended (outcome unknown)";

/// Label of a session that ended and of which hooks observed what came of it.
pub const OUTCOME_OBSERVED: &str = "ended";

/// The result of closing a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedRun {
    pub run: Run,
    pub closing: RunClosing,
    /// Entries created from findings.
    pub gained: Vec<EntryId>,
    /// Refused findings with the reason.
    pub refused: Vec<(RunFinding, String)>,
}

/// The entries created from findings, and the refused findings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindingOutcomes {
    pub gained: Vec<EntryId>,
    pub refused: Vec<(RunFinding, String)>,
}

/// A closed run, read from the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRun {
    pub closed: RunClosed,
    pub at: Timestamp,
    pub by: Actor,
    /// What programs observed of it.
    pub facts: Option<RunFacts>,
}

impl PastRun {
    /// Returns the run that an event closes; `None` for other events.
    pub fn from_event(recorded: &RecordedEvent) -> Option<Self> {
        let closed = recorded.event.get::<RunClosed>()?.clone();
        Some(Self {
            closed,
            at: recorded.event.at.wall,
            by: recorded.event.by.clone(),
            facts: None,
        })
    }

    /// Returns the view of a run that ended without results and has no event yet.
    pub fn from_unrecorded(run: &Run) -> Self {
        let before = |_: &Actor| ExposureSet::default();
        let policy = ReviewPolicy::default();
        let ending = RunEnding::abandoned();
        let mut closed = close_run(run, &ending, &[], &before, policy, run.last).closed;
        let shown = run.agents.values().flat_map(|it| it.shown.keys());
        let shown: BTreeSet<&EntryId> = shown.collect();
        closed.accessed = u32::try_from(shown.len()).unwrap_or(u32::MAX);
        Self {
            closed,
            at: run.last,
            by: run.by.clone(),
            facts: run.facts.clone(),
        }
    }

    /// Returns the outcome, unless the run is a session that ended without one.
    pub fn known_outcome(&self) -> Option<Outcome> {
        known_outcome(&self.closed.run, self.closed.outcome)
    }

    /// Returns the label of the outcome.
    pub fn outcome_label(&self) -> String {
        let observed = self.facts.as_ref().map(|_| OUTCOME_OBSERVED);
        let unknown = observed.unwrap_or(OUTCOME_UNKNOWN);
        self.known_outcome()
            .map_or_else(|| unknown.to_owned(), |it| enum_label(&it))
    }
}

/// Returns the outcome of a run, unless it is a session that ended without one.
///
/// The ledger has no word for that, so sessions are stored as abandoned. Only a run that somebody
/// opened on purpose can be abandoned.
pub fn known_outcome(run: &str, outcome: Outcome) -> Option<Outcome> {
    let is_session = run.starts_with(SESSION_PREFIX) || run.starts_with(IMPLICIT_PREFIX);
    let is_unknown = is_session && outcome == Outcome::Abandoned;
    (!is_unknown).then_some(outcome)
}

/// Returns an entry with all entries that make the same claim: merged, superseding and linked
/// entries, and entries that matched the same finding.
pub fn entries_with_same_claim(run: &Run, entry: &Entry) -> BTreeSet<EntryId> {
    let mut same = BTreeSet::from([entry.id]);
    same.extend(&entry.merged_from);
    same.extend(entry.merged_into);
    same.extend(entry.superseded_by);
    same.extend(entry.links.iter().map(|link| link.to));
    let findings = run.agents.values().flat_map(|agent| &agent.findings);
    for found in findings.filter(|it| it.says.contains(&entry.id)) {
        same.extend(&found.says);
    }
    same
}
