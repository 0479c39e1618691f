//! `ken health impact`: compares the outcomes of runs with and without an entry.
//!
//! Only runs in which the holdout decided at random are compared, so the difference is causal.

use clap::Args;
use ken_core::ledger::entry::Entry;
use ken_core::trust::impact::ImpactEstimate;
use ken_core::trust::run::ExposureChannel;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::impact::impact_text;
use crate::print::{pluralize, truncate_columns};

/// `ken health impact`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken health impact\n  ken health impact L-7k2f")]
pub(crate) struct ImpactArgs {
    /// The entry [default: all entries together, and each with measurements]
    pub(crate) id: Option<String>,
}

/// Maximum columns of a title beside a chart.
const TITLE_WIDTH: usize = 60;

#[derive(Serialize)]
struct LiftObject {
    schema: &'static str,
    /// The entry; absent for all entries together.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    impact: ImpactEstimate,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ImpactArgs,
) -> Result<CommandExit, CommandFailure> {
    if let Some(id) = &args.id {
        let entry = session.read_shown(
            ExposureChannel::Show,
            |engine| Ok(engine.find(id)?),
            |entry| vec![entry.id],
        )?;
        let impact = entry.tallies.impact();
        return one(session, Some(&entry), impact);
    }
    let lifts = session.read_shown(
        ExposureChannel::Pull,
        |engine| Ok(engine.impact_report()?),
        |lifts| lifts.entries.iter().map(|(entry, _)| entry.id).collect(),
    )?;
    one(session, None, lifts.all)?;
    if !session.is_json() {
        tell_unmeasured(session)?;
    }
    for (entry, impact) in &lifts.entries {
        one(session, Some(entry), *impact)?;
    }
    if lifts.entries.is_empty() {
        session.printer.hint("to measure impact, open a run with `ken run open` and brief its agents with `ken brief --run RUN`")?;
    }
    Ok(CommandExit::Fine)
}

/// Prints what the comparison leaves out: runs without an outcome, and feedback.
fn tell_unmeasured(session: &mut Session<'_>) -> Result<(), CommandFailure> {
    let (past, feedback) =
        session.read(|engine| Ok((engine.past_runs()?, engine.feedback_counts()?)))?;
    let unknown = past.iter().filter(|it| it.known_outcome().is_none());
    let unknown = unknown.count() as u64;
    if unknown > 0 {
        let ended = pluralize(unknown, "session", "sessions");
        session.printer.line(format_args!(
            "    {ended} ended without a reported outcome, which cannot be compared"
        ))?;
    }
    let (helpful, unhelpful) = (feedback.helpful, feedback.unhelpful);
    if helpful + unhelpful > 0 {
        session.printer.line(format_args!(
            "    feedback: {helpful} helpful, {unhelpful} unhelpful (changes confidence)"
        ))?;
    }
    Ok(())
}

fn one(
    session: &mut Session<'_>,
    entry: Option<&Entry>,
    impact: ImpactEstimate,
) -> Result<CommandExit, CommandFailure> {
    if session.is_json() {
        session.printer.json(&LiftObject {
            schema: "ken.impact.v1",
            id: entry.map(|it| it.id.to_string()),
            impact,
        })?;
        return Ok(CommandExit::Fine);
    }
    let name = match entry {
        Some(entry) => format!(
            "{}  {}",
            entry.id,
            truncate_columns(&entry.title(), TITLE_WIDTH)
        ),
        None => "all entries".to_owned(),
    };
    session.printer.line(name)?;
    session
        .printer
        .line(format_args!("    {}", impact_text(impact)))?;
    Ok(CommandExit::Fine)
}
