//! Closed runs: the result of closing one, and past runs read from the ledger.

use std::collections::BTreeSet;

use super::closing::RunClosing;
use super::{Run, RunFinding};
use crate::ledger::entry::Entry;
use crate::ledger::event::{RecordedEvent, RunClosed};
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::time::Timestamp;

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
}

impl PastRun {
    /// Returns the run that an event closes; `None` for other events.
    pub fn from_event(recorded: &RecordedEvent) -> Option<Self> {
        let closed = recorded.event.get::<RunClosed>()?.clone();
        Some(Self {
            closed,
            at: recorded.event.at.wall,
            by: recorded.event.by.clone(),
        })
    }
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
