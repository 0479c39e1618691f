//! Runs as objects for programs: open (`ken.run.v1`), ended (`ken.past_run.v1`), closed just now (`ken.run_closed.v1`).

use serde::Serialize;

use crate::event::{Arm, RunClosed};
use crate::id::EntryId;
use crate::run::close::Closing;
use crate::run::written::{Closed, PastRun};
use crate::run::{Agent, Manner, Offer, Run};
use crate::text::{Tag, word};

/// A run that is open, as programs read it.
#[derive(Clone, Debug, Serialize)]
pub struct RunObject<'a> {
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
    agents: Vec<AgentObject>,
}

#[derive(Clone, Debug, Serialize)]
struct AgentObject {
    agent: String,
    witnessed: bool,
    saw: Vec<EntryId>,
    saw_everything: bool,
    withheld: Vec<EntryId>,
    used: Vec<EntryId>,
    findings: usize,
}

/// A run that ended, as programs read it.
#[derive(Clone, Debug, Serialize)]
pub struct PastObject<'a> {
    schema: &'static str,
    at: String,
    by: String,
    #[serde(flatten)]
    closed: &'a RunClosed,
}

/// What closing a run did, as programs read it.
#[derive(Clone, Debug, Serialize)]
pub struct ClosedObject<'a> {
    schema: &'static str,
    run: &'a str,
    outcome: String,
    touched: usize,
    found: Vec<FoundObject>,
    restored: &'a [EntryId],
    archived: &'a [EntryId],
    promoted: Vec<EntryId>,
    gained: &'a [EntryId],
    refused: Vec<RefusedObject<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct FoundObject {
    id: EntryId,
    provenance: String,
}

#[derive(Clone, Debug, Serialize)]
struct RefusedObject<'a> {
    statement: &'a str,
    why: &'a str,
}

impl<'a> RunObject<'a> {
    /// Tells it.
    #[must_use]
    pub fn new(run: &'a Run) -> Self {
        let agents = run.agents.iter().map(|(name, agent)| AgentObject {
            agent: name.to_string(),
            witnessed: run.is_witnessed(name),
            saw: run.sight(name).entries.into_iter().collect(),
            saw_everything: run.sight(name).everything,
            withheld: withheld(agent).collect(),
            used: agent.used.iter().copied().collect(),
            findings: agent.findings.len(),
        });
        Self {
            schema: "ken.run.v1",
            run: &run.id,
            implicit: run.manner == Manner::Implicit,
            witness: word(&run.witness),
            complete: run.is_complete,
            opened: run.opened.to_string(),
            thread: run.thread.as_ref().map(Tag::as_str),
            task: run.task.as_ref().map(ToString::to_string),
            agents: agents.collect(),
        }
    }
}

impl<'a> PastObject<'a> {
    /// Tells it.
    #[must_use]
    pub fn new(run: &'a PastRun) -> Self {
        Self {
            schema: "ken.past_run.v1",
            at: run.at.to_string(),
            by: run.by.to_string(),
            closed: &run.closed,
        }
    }
}

impl<'a> ClosedObject<'a> {
    /// Tells it.
    #[must_use]
    pub fn new(closed: &'a Closed) -> Self {
        let Closing {
            closed: ended,
            effects,
            found,
            restored,
            archived,
            promoted,
        } = &closed.closing;
        let found = found.iter().map(|(id, provenance)| FoundObject {
            id: *id,
            provenance: word(provenance),
        });
        let refused = closed.refused.iter().map(|(finding, why)| RefusedObject {
            statement: finding.statement.as_str(),
            why,
        });
        Self {
            schema: "ken.run_closed.v1",
            run: &closed.run.id,
            outcome: word(&ended.outcome),
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

/// Returns the entries chance kept from an agent.
pub fn withheld(agent: &Agent) -> impl Iterator<Item = EntryId> + '_ {
    let is_kept = |it: &&Offer| it.arm == Arm::Withheld;
    agent.offers.values().filter(is_kept).map(|it| it.entry)
}
