//! `ken health`: the state of the knowledge base, and the services that maintain it.

mod confidence;
pub(super) mod contradictions;
mod dependencies;
mod drift;
mod duplicates;
pub(super) mod friction;
pub(super) mod impact;
mod maintain;
pub(super) mod report;
pub(super) mod stats;

use clap::{Args, Subcommand};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_engine::{Engine, EngineError};

use super::{GroupArgs, Session};
use crate::failure::{CommandExit, CommandFailure};

/// `ken health`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ken health                      print the report
  ken health duplicates           list entries that seem to make the same claim
  ken health impact               show the measured effect of entries on outcomes
  ken health maintain dedup       run one maintenance service")]
pub(crate) struct HealthArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HealthCommand>,
}

/// `ken health …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HealthCommand {
    /// Print the health report: findings, recent outcomes, maintenance that is due
    #[command(after_help = "Example:\n  ken health report --format json")]
    Report,
    /// Check every count against its limit, and write a proposal if one is reached
    Review(report::ReviewArgs),
    /// List stale, bloated, contradictory and orphaned groups of entries
    #[command(after_help = "Example:\n  ken health drift")]
    Drift,
    /// List entries that seem to make the same claim
    Duplicates(duplicates::DuplicatesArgs),
    /// List entries that contradict each other
    Contradictions(contradictions::ContradictionsArgs),
    /// Show queries, their results and the outcomes of runs
    Stats(stats::StatsArgs),
    /// Show the measured impact of entries: outcomes with and without them
    Impact(impact::ImpactArgs),
    /// Reset the confidence of an entry
    #[command(subcommand)]
    Confidence(confidence::ConfidenceCommand),
    /// Record and count friction: tool errors, rework, failed validation
    Friction(GroupArgs<friction::FrictionCommand>),
    /// List lessons that begin or end to apply when package versions change
    Dependencies(dependencies::DependenciesArgs),
    /// List maintenance services, run one, or set their policy
    Maintain(maintain::MaintainArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: HealthArgs,
) -> Result<CommandExit, CommandFailure> {
    match args.command {
        None | Some(HealthCommand::Report) => report::report(session),
        Some(HealthCommand::Review(args)) => report::review(session, &args),
        Some(HealthCommand::Drift) => drift::run(session),
        Some(HealthCommand::Duplicates(args)) => duplicates::run(session, &args),
        Some(HealthCommand::Contradictions(args)) => contradictions::run(session, &args),
        Some(HealthCommand::Stats(args)) => stats::run(session, &args),
        Some(HealthCommand::Impact(args)) => impact::run(session, &args),
        Some(HealthCommand::Confidence(command)) => confidence::run(session, command),
        Some(HealthCommand::Friction(args)) => friction::run(session, args.command),
        Some(HealthCommand::Dependencies(args)) => dependencies::run(session, &args),
        Some(HealthCommand::Maintain(args)) => maintain::run(session, args),
    }
}

/// Tells a program that a list was cut, which its objects do not say.
pub(super) fn note_more(
    session: &mut Session<'_>,
    listed: usize,
    total: usize,
) -> Result<CommandExit, CommandFailure> {
    if listed < total {
        let text = format!("listed {listed} of {total}; --limit {total} lists all");
        session.printer.note(&text)?;
    }
    Ok(CommandExit::Fine)
}

/// Records that two entries are neither duplicates nor opposites.
fn dismiss_pair<T>(
    session: &mut Session<'_>,
    one: &str,
    other: &str,
    dismiss: impl FnOnce(&mut Engine, EntryId, EntryId, &Actor) -> Result<T, EngineError>,
) -> Result<CommandExit, CommandFailure> {
    session.write(|engine, by| {
        let (one, other) = (engine.find(one)?.id, engine.find(other)?.id);
        Ok(dismiss(engine, one, other, by)?)
    })?;
    session
        .printer
        .talk("dismissed; the pair is not listed again")?;
    Ok(CommandExit::Fine)
}
