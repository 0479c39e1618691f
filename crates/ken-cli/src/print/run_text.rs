//! Runs, for people and for programs.

use std::fmt::Write as _;

use ken_core::id::EntryId;
use ken_core::object::withheld;
use ken_core::run::{Manner, Run};
use ken_core::text::{visible, word};
use ken_engine::runs::PastRun;

use super::counted;

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

fn list(ids: impl IntoIterator<Item = EntryId>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    ids.join(" ")
}
