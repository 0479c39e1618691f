//! Runs, for people and for programs.

use std::fmt::Write as _;

use ken_core::id::EntryId;
use ken_core::run::close::Closing;
use ken_core::run::{Agent, Manner, Run};
use ken_core::text::{visible, word};
use ken_engine::runs::{Closed, PastRun};
use serde::Serialize;

use super::counted;

/// A run that is open, as programs read it.
#[derive(Serialize)]
pub(crate) struct RunObject<'a> {
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

#[derive(Serialize)]
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
#[derive(Serialize)]
pub(crate) struct PastObject<'a> {
    schema: &'static str,
    at: String,
    by: String,
    #[serde(flatten)]
    closed: &'a ken_core::event::RunClosed,
}

/// What closing a run did, as programs read it.
#[derive(Serialize)]
pub(crate) struct ClosedObject<'a> {
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

#[derive(Serialize)]
struct FoundObject {
    id: EntryId,
    provenance: String,
}

#[derive(Serialize)]
struct RefusedObject<'a> {
    statement: &'a str,
    why: &'a str,
}

impl<'a> RunObject<'a> {
    pub(crate) fn new(run: &'a Run) -> Self {
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
            thread: run.thread.as_ref().map(ken_core::text::Tag::as_str),
            task: run.task.as_ref().map(ToString::to_string),
            agents: agents.collect(),
        }
    }
}

impl<'a> PastObject<'a> {
    pub(crate) fn new(run: &'a PastRun) -> Self {
        Self {
            schema: "ken.past_run.v1",
            at: run.at.to_string(),
            by: run.by.to_string(),
            closed: &run.closed,
        }
    }
}

impl<'a> ClosedObject<'a> {
    pub(crate) fn new(closed: &'a Closed) -> Self {
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

/// Returns one line about an open run.
pub(crate) fn run_line(run: &Run) -> String {
    let agents = counted(run.agents.len() as u64, "agent", "agents");
    let manner = match run.manner {
        Manner::Explicit => "open",
        Manner::Implicit => "open, made by ken",
    };
    let task = run
        .task
        .as_ref()
        .map(|it| format!("  {}", visible(it.as_str())));
    let (day, id) = (run.opened.date(), &run.id);
    format!(
        "{day}  {id}  {manner}  {agents}{}",
        task.unwrap_or_default()
    )
}

/// Returns one line about a run that ended.
pub(crate) fn past_line(run: &PastRun) -> String {
    let closed = &run.closed;
    let agents = counted(closed.agents.len() as u64, "agent", "agents");
    let quality = closed
        .quality_milli
        .map(|it| format!("  quality {:.2}", f64::from(it) / 1000.0));
    let (day, id, outcome) = (run.at.date(), &closed.run, word(&closed.outcome));
    format!(
        "{day}  {id}  {outcome}  {agents}{}",
        quality.unwrap_or_default()
    )
}

/// Returns an open run: who takes part, what they saw.
pub(crate) fn run_text(run: &Run) -> String {
    let mut text = format!("{}\n", run_line(run));
    let _ = writeln!(
        text,
        "opened by {}, witness: {}",
        run.by,
        word(&run.witness)
    );
    if !run.is_complete {
        let _ = writeln!(text, "something was not written down: it confirms nothing");
    }
    for (name, agent) in &run.agents {
        let watched = match run.is_witnessed(name) {
            true => "watched",
            false => "not watched",
        };
        let sight = run.sight(name);
        let saw = match sight.everything {
            true => "everything".to_owned(),
            false => list(sight.entries),
        };
        let _ = writeln!(text, "\n{name}  {watched}");
        for (what, said) in [
            ("saw", saw),
            ("kept from", list(withheld(agent))),
            ("used", list(agent.used.iter().copied())),
        ] {
            if !said.is_empty() {
                let _ = writeln!(text, "  {what:<10} {said}");
            }
        }
        for found in &agent.findings {
            let _ = writeln!(text, "  found      {}", found.finding.statement.title());
        }
    }
    text
}

fn withheld(agent: &Agent) -> impl Iterator<Item = EntryId> + '_ {
    let is_kept = |it: &&ken_core::run::Offer| it.arm == ken_core::event::Arm::Withheld;
    agent.offers.values().filter(is_kept).map(|it| it.entry)
}

fn list(ids: impl IntoIterator<Item = EntryId>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    ids.join(" ")
}
