//! JSON views of runs: open (`ken.run.v1`), past (`ken.past_run.v1`), just closed
//! (`ken.run_closed.v1`), and their exposures (`ken.exposure.v1`).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ledger::event::{Arm, Feedback, RunClosed};
use crate::trust::outcome::RunFacts;
use crate::trust::run::closed::{ClosedRun, PastRun};
use crate::trust::run::closing::RunClosing;
use crate::trust::run::exposure_log::{ExposureDecision, ExposureRecord};
use crate::trust::run::{AgentActivity, HoldoutAssignment, Run, RunMode, SentConclusion};
use crate::values::id::EntryId;
use crate::values::text::{Tag, enum_label};

/// The JSON view of an open run.
#[derive(Clone, Debug, Serialize)]
pub struct OpenRunJson<'a> {
    schema: &'static str,
    run: &'a str,
    implicit: bool,
    witness: String,
    complete: bool,
    opened: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    agents: Vec<RunAgentJson>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    conclusions: &'a [SentConclusion],
}

#[derive(Clone, Debug, Serialize)]
struct RunAgentJson {
    agent: String,
    witnessed: bool,
    saw: Vec<EntryId>,
    saw_everything: bool,
    withheld: Vec<EntryId>,
    used: Vec<EntryId>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feedback: BTreeMap<EntryId, Feedback>,
    findings: usize,
}

/// The JSON view of a past run.
#[derive(Clone, Debug, Serialize)]
pub struct PastRunJson<'a> {
    schema: &'static str,
    at: String,
    by: String,
    #[serde(flatten)]
    closed: &'a RunClosed,
    /// What hooks, git and CI observed of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<&'a RunFacts>,
    /// Activity of each agent, while the notes of the run are on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    activity: Vec<RunAgentJson>,
}

/// The JSON view of the effects of closing a run.
#[derive(Clone, Debug, Serialize)]
pub struct ClosedRunJson<'a> {
    schema: &'static str,
    run: &'a str,
    outcome: String,
    touched: usize,
    found: Vec<RunConfirmationJson>,
    restored: &'a [EntryId],
    archived: &'a [EntryId],
    promoted: Vec<EntryId>,
    gained: &'a [EntryId],
    refused: Vec<RefusedFindingJson<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct RunConfirmationJson {
    id: EntryId,
    provenance: String,
}

#[derive(Clone, Debug, Serialize)]
struct RefusedFindingJson<'a> {
    statement: &'a str,
    why: &'a str,
}

/// The JSON view of one exposure, or of one that was decided against.
#[derive(Clone, Debug, Serialize)]
pub struct ExposureJson<'a> {
    schema: &'static str,
    at: String,
    run: &'a str,
    agent: String,
    /// Absent if the agent may have seen every entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryId>,
    /// `shown`, `withheld` by chance, or `omitted` for lack of room.
    decision: &'static str,
    /// How the entry reached the agent: `push`, `pull`, `show`, `brief`, `file` or `told`.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    /// Probability with which the entry was withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    /// Whether the agent reported later in this run that it used the entry.
    used: bool,
    /// The task of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
}

impl<'a> ExposureJson<'a> {
    /// Builds the view of one exposure.
    #[must_use]
    pub fn new(record: &'a ExposureRecord) -> Self {
        let (decision, channel, probability) = match record.decision {
            ExposureDecision::Shown(how) => ("shown", Some(enum_label(&how)), None),
            ExposureDecision::Withheld { propensity_milli } => {
                ("withheld", None, Some(f64::from(propensity_milli) / 1000.0))
            }
            ExposureDecision::Omitted => ("omitted", None, None),
        };
        Self {
            schema: "ken.exposure.v1",
            at: record.at.to_string(),
            run: &record.run,
            agent: record.agent.to_string(),
            entry: record.entry,
            decision,
            channel,
            probability,
            used: record.was_used,
            task: record.task.as_ref().map(|it| it.as_str()),
        }
    }
}

impl<'a> OpenRunJson<'a> {
    /// Builds the view of an open run.
    #[must_use]
    pub fn new(run: &'a Run) -> Self {
        Self {
            schema: "ken.run.v1",
            run: &run.id,
            implicit: run.manner == RunMode::Implicit,
            witness: enum_label(&run.witness),
            complete: run.is_complete,
            opened: run.opened.to_string(),
            thread: run.thread.as_ref().map(Tag::as_str),
            task: run.task.as_ref().map(ToString::to_string),
            agents: run_agents(run),
            conclusions: &run.conclusions,
        }
    }
}

/// Builds the views of a run's agents.
fn run_agents(run: &Run) -> Vec<RunAgentJson> {
    let agents = run.agents.iter().map(|(name, agent)| RunAgentJson {
        agent: name.to_string(),
        witnessed: run.is_witnessed(name),
        saw: run.exposures(name).entries.into_iter().collect(),
        saw_everything: run.exposures(name).everything,
        withheld: withheld_entries(agent).collect(),
        used: agent.used.iter().copied().collect(),
        feedback: agent.feedback.clone(),
        findings: agent.findings.len(),
    });
    agents.collect()
}

impl<'a> PastRunJson<'a> {
    /// Builds the view of a past run.
    #[must_use]
    pub fn new(run: &'a PastRun) -> Self {
        Self {
            schema: "ken.past_run.v1",
            at: run.at.to_string(),
            by: run.by.to_string(),
            closed: &run.closed,
            observed: run.facts.as_ref(),
            activity: Vec::new(),
        }
    }

    /// Adds the activity of the agents from the notes of the run.
    #[must_use]
    pub fn with_activity(self, run: &Run) -> Self {
        Self {
            activity: run_agents(run),
            ..self
        }
    }
}

impl<'a> ClosedRunJson<'a> {
    /// Builds the view of a closed run.
    #[must_use]
    pub fn new(closed: &'a ClosedRun) -> Self {
        // Destructured completely, so that a new field must be considered here.
        let RunClosing {
            closed: ended,
            effects,
            found,
            restored,
            archived,
            promoted,
        } = &closed.closing;
        let found = found.iter().map(|(id, provenance)| RunConfirmationJson {
            id: *id,
            provenance: enum_label(provenance),
        });
        let refused = closed
            .refused
            .iter()
            .map(|(finding, why)| RefusedFindingJson {
                statement: finding.statement.as_str(),
                why,
            });
        Self {
            schema: "ken.run_closed.v1",
            run: &closed.run.id,
            outcome: enum_label(&ended.outcome),
            touched: effects.len(),
            found: found.collect(),
            restored,
            archived,
            promoted: promoted.keys().copied().collect(),
            gained: &closed.gained,
            refused: refused.collect(),
        }
    }
}

/// Returns the entries withheld from an agent by the holdout.
pub fn withheld_entries(agent: &AgentActivity) -> impl Iterator<Item = EntryId> + '_ {
    let is_withheld = |offer: &&HoldoutAssignment| offer.arm == Arm::Withheld;
    agent
        .offers
        .values()
        .filter(is_withheld)
        .map(|offer| offer.entry)
}
