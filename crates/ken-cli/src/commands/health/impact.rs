//! `ken health impact`: compares the outcomes of runs with and without an entry, both those that
//! were reported and those that hooks, git and CI observed.
//!
//! Only runs in which the holdout decided at random are compared, so the difference is causal.

use clap::Args;
use ken_core::ledger::entry::Entry;
use ken_core::trust::impact::ImpactEstimate;
use ken_core::trust::run::ExposureChannel;
use ken_engine::impact::ObservedEffect;
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
    /// From the outcomes that were reported.
    impact: ImpactEstimate,
    /// From what hooks, git and CI observed; absent if chance decided about it in no such run.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<ObservedEffect>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ImpactArgs,
) -> Result<CommandExit, CommandFailure> {
    let mut effects = session.read(|engine| Ok(engine.effect_report()?))?;
    if let Some(id) = &args.id {
        let entry = session.read_shown(
            ExposureChannel::Show,
            |engine| Ok(engine.find(id)?),
            |entry| vec![entry.id],
        )?;
        let measured = (entry.tallies.impact(), effects.entries.remove(&entry.id));
        return one(session, Some(&entry), measured);
    }
    let lifts = session.read_shown(
        ExposureChannel::Pull,
        |engine| Ok(engine.impact_report()?),
        |lifts| lifts.entries.iter().map(|(entry, _)| entry.id).collect(),
    )?;
    // Without hooks the lines about observations would only be noise.
    let all = (effects.observed > 0).then_some(effects.all);
    one(session, None, (lifts.all, all))?;
    if !session.is_json() {
        tell_unmeasured(session)?;
    }
    let is_empty = lifts.entries.is_empty() && effects.entries.is_empty();
    for (entry, impact) in &lifts.entries {
        let observed = effects.entries.remove(&entry.id);
        one(session, Some(entry), (*impact, observed))?;
    }
    // Entries that only observed sessions tried.
    for (id, observed) in effects.entries {
        let found = session.read_shown(
            ExposureChannel::Pull,
            |engine| Ok(engine.entry(id).ok()),
            |entry| entry.iter().map(|it| it.id).collect(),
        )?;
        if let Some(entry) = found {
            let impact = entry.tallies.impact();
            one(session, Some(&entry), (impact, Some(observed)))?;
        }
    }
    if is_empty {
        session.printer.hint("hooks measure by themselves once agents work with them (`ken setup`); a program that starts agents opens a run with `ken run open` and briefs them with `ken brief --run RUN`")?;
    }
    Ok(CommandExit::Fine)
}

/// Prints what the comparison leaves out: runs of which nobody knows an outcome, and feedback.
fn tell_unmeasured(session: &mut Session<'_>) -> Result<(), CommandFailure> {
    let (past, feedback) =
        session.read(|engine| Ok((engine.past_runs()?, engine.feedback_counts()?)))?;
    let unknown = past
        .iter()
        .filter(|it| it.known_outcome().is_none() && it.facts.is_none());
    let unknown = unknown.count() as u64;
    if unknown > 0 {
        let ended = pluralize(unknown, "session", "sessions");
        session.printer.line(format_args!(
            "    {ended} ended without a reported or observed outcome, which cannot be compared"
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

/// Returns the JSON document of the impact of one entry, or of all.
pub(crate) fn impact_object(
    entry: Option<&Entry>,
    impact: ImpactEstimate,
    observed: Option<ObservedEffect>,
) -> impl Serialize + use<> {
    LiftObject {
        schema: "ken.impact.v1",
        id: entry.map(|it| it.id.to_string()),
        impact,
        observed,
    }
}

fn one(
    session: &mut Session<'_>,
    entry: Option<&Entry>,
    (impact, observed): (ImpactEstimate, Option<ObservedEffect>),
) -> Result<CommandExit, CommandFailure> {
    if session.is_json() {
        let object = impact_object(entry, impact, observed);
        session.printer.json(&object)?;
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
    for line in observed.iter().flat_map(|it| it.to_lines(entry.is_none())) {
        session.printer.line(format_args!("    {line}"))?;
    }
    Ok(CommandExit::Fine)
}
