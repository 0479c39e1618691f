//! Text of runs.

use std::fmt::Write as _;

use ken_core::json::withheld_entries;
use ken_core::ledger::event::EntryEffect;
use ken_core::trust::run::{Run, RunMode};
use ken_core::values::id::EntryId;
use ken_core::values::text::{enum_label, escape_invisible};
use ken_engine::runs::PastRun;

use super::pluralize;

/// Renders an open run as one line.
pub(crate) fn run_line(run: &Run) -> String {
    let agents = pluralize(run.agents.len() as u64, "agent", "agents");
    let manner = match run.manner {
        RunMode::Explicit => "open",
        RunMode::Implicit => "open, started by ken",
    };
    let task = run
        .task
        .as_ref()
        .map(|it| format!("  {}", escape_invisible(it.as_str())));
    let (day, id) = (run.opened.date(), &run.id);
    format!(
        "{day}  {id}  {manner}  {agents}{}",
        task.unwrap_or_default()
    )
}

/// Renders a finished run as one line.
pub(crate) fn past_run_line(run: &PastRun) -> String {
    let closed = &run.closed;
    let agents = pluralize(closed.agents.len() as u64, "agent", "agents");
    let quality = closed
        .quality_milli
        .map(|it| format!("  quality {:.2}", f64::from(it) / 1000.0));
    let (day, id, outcome) = (run.at.date(), &closed.run, run.outcome_label());
    let facts = run.facts.as_ref().map(|it| format!("  {it}"));
    format!(
        "{day}  {id}  {outcome}  {agents}{}{}",
        quality.unwrap_or_default(),
        facts.unwrap_or_default()
    )
}

/// Renders an open run with its participants and exposures.
pub(crate) fn run_text(run: &Run) -> String {
    format!("{}\n{}", run_line(run), run_details(run))
}

/// Renders an ended run: what its agents were shown, their feedback and the results.
pub(crate) fn past_run_text(
    past: &PastRun,
    notes: Option<&Run>,
    effects: &[EntryEffect],
) -> String {
    let closed = &past.closed;
    let mut text = format!("{}\n", past_run_line(past));
    match notes {
        Some(run) => text.push_str(&run_details(run)),
        // Closed on another machine, or long ago: the ledger has the sums of all agents.
        None => {
            let agents: Vec<String> = closed.agents.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "agents: {}", agents.join(", "));
            let shown = effects.iter().filter(|it| it.shown > 0);
            let shown = join_ids(shown.map(|it| it.entry));
            if !shown.is_empty() {
                let _ = writeln!(text, "  saw        {shown}");
            }
        }
    }
    let added = pluralize(u64::from(closed.extracted), "entry", "entries");
    let _ = writeln!(text, "\nresult: {}, {added} added", past.outcome_label());
    if let Some(facts) = &past.facts {
        let _ = writeln!(text, "observed: {facts}");
    }
    text
}

/// Renders the participants of a run and their exposures.
fn run_details(run: &Run) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "opened by {}, witness: {}",
        run.by,
        enum_label(&run.witness)
    );
    // A missing note may have hidden an exposure, so nothing in the run counts as independent.
    if !run.is_complete {
        let _ = writeln!(
            text,
            "incomplete: an exposure was not recorded, so the run confirms nothing"
        );
    }
    for (name, agent) in &run.agents {
        let witnessed = if run.is_witnessed(name) {
            "witnessed"
        } else {
            "not witnessed"
        };
        let sight = run.exposures(name);
        let saw = if sight.everything {
            "everything".to_owned()
        } else {
            join_ids(sight.entries)
        };
        let _ = writeln!(text, "\n{name}  {witnessed}");
        for (label, ids) in [
            ("saw", saw),
            ("withheld", join_ids(withheld_entries(agent))),
            ("used", join_ids(agent.used.iter().copied())),
            ("added", join_ids(agent.added.iter().copied())),
        ] {
            if !ids.is_empty() {
                let _ = writeln!(text, "  {label:<10} {ids}");
            }
        }
        for (id, verdict) in &agent.feedback {
            let _ = writeln!(text, "  feedback   {id} {}", enum_label(verdict));
        }
        for finding in &agent.findings {
            let _ = writeln!(text, "  found      {}", finding.finding.statement.title());
        }
        for sent in run.conclusions.iter().filter(|it| it.from == *name) {
            let words = escape_invisible(sent.words.as_str());
            let cites = join_ids(sent.cites.iter().copied());
            let _ = writeln!(text, "  concluded  {words} [{cites}]");
        }
    }
    text
}

fn join_ids(ids: impl IntoIterator<Item = EntryId>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    ids.join(" ")
}
