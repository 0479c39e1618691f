//! Data of runs.

use std::collections::BTreeMap;

use ken_core::ledger::event::{EntryEffect, Outcome};
use ken_core::trust::run::closed::PastRun;
use ken_core::trust::run::{Run, RunRecord};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;

/// Ended runs per page.
pub const RUNS_PER_PAGE: u32 = 50;

/// The runs of a list.
#[derive(Clone, Debug, Default)]
pub struct RunListView {
    pub open: Vec<RunSummaryRow>,
    /// Ended runs, newest first.
    pub ended: Vec<RunSummaryRow>,
    /// Number of all ended runs that match.
    pub ended_total: u64,
}

/// One run in a list.
#[derive(Clone, Debug)]
pub struct RunSummaryRow {
    pub id: String,
    pub task: Option<String>,
    pub agents: Vec<Actor>,
    /// The time it was opened or, for an ended run, closed.
    pub at: Timestamp,
    pub last: Timestamp,
    pub state: RunLine,
    pub shown: u64,
    pub withheld: u64,
    pub used: u64,
    pub found: u64,
    pub added: u64,
    pub quality_milli: Option<u16>,
}

/// Whether a run is open, or how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunLine {
    Open,
    /// `None` if the session ended without an outcome.
    Ended(Option<Outcome>),
}

/// One run with everything that is recorded about it.
#[derive(Clone, Debug)]
pub struct RunView {
    pub row: RunSummaryRow,
    /// The folded notes, while they are on this machine.
    pub notes: Option<Run>,
    /// The notes in their order, with times.
    pub records: Vec<RunRecord>,
    pub past: Option<PastRun>,
    pub effects: Vec<EntryEffect>,
    /// Titles of the entries that the run names.
    pub titles: BTreeMap<EntryId, String>,
}

/// The events of one agent in a run.
#[derive(Clone, Debug)]
pub struct AgentColumn<'a> {
    pub agent: &'a Actor,
    pub records: Vec<&'a RunRecord>,
}

impl RunView {
    /// Returns the notes by agent, in the order in which agents appear.
    pub fn columns(&self) -> Vec<AgentColumn<'_>> {
        let mut columns: Vec<AgentColumn<'_>> = Vec::new();
        for record in &self.records {
            let Some(agent) = record.note.agent() else {
                continue;
            };
            match columns.iter_mut().find(|it| it.agent == agent) {
                Some(column) => column.records.push(record),
                None => columns.push(AgentColumn {
                    agent,
                    records: vec![record],
                }),
            }
        }
        columns
    }
}
