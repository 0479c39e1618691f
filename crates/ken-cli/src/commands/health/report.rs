//! `ken health report` and `review`: the rules, and the limits that trigger a proposal.

use std::path::PathBuf;

use anstyle::Style;
use clap::{Args, Subcommand};
use ken_core::health::history::OutcomeAdvice;
use ken_core::health::thresholds::HealthThresholds;
use ken_core::health::{HealthInsight, InsightSeverity};
use ken_core::ledger::store::EntryFilter;
use ken_core::values::text::enum_label;
use ken_engine::health::{HEALTH_FILE, HealthReport, HealthReview};

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;
use crate::print::{BAD, DIM, WARN, escape_invisible, pluralize, styled};

/// `ken knowledge health …`.
#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeHealthCommand {
    /// Print the health report
    #[command(after_help = "Example:\n  ken knowledge health report")]
    Report,
    /// Check every count against its limit
    Review(ReviewArgs),
}

/// `ken health review`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken health review --thresholds limits.json")]
pub(crate) struct ReviewArgs {
    /// File with limits as JSON, such as {"contradictions":1}; omitted limits keep their default
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) thresholds: Option<Option<PathBuf>>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: &KnowledgeHealthCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        KnowledgeHealthCommand::Report => report(session),
        KnowledgeHealthCommand::Review(args) => review(session, args),
    }
}

pub(super) fn report(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "checking entries", None);
    let (report, stale) = session.read(move |engine| {
        progress.during(|_| {
            let stale = engine.stale_entries(&EntryFilter::default())?.len();
            Ok((engine.health_report()?, stale))
        })
    })?;
    if session.is_json() {
        session.printer.json(&report)?;
        return Ok(CommandExit::Fine);
    }
    for insight in &report.insights {
        one(session, insight)?;
    }
    if stale > 0 {
        let count = pluralize(stale as u64, "entry is", "entries are");
        let advice = OutcomeAdvice {
            what: format!(
                "{count} stale or no longer {} the code",
                if stale == 1 { "matches" } else { "match" }
            ),
            command: "ken list --status stale".to_owned(),
        };
        advise(session, "attention", WARN, &[advice])?;
    }
    advise(session, "escalate", BAD, &report.escalations)?;
    advise(session, "recommend", DIM, &report.recommendations)?;
    for state in report.maintenance.services.iter().filter(|it| it.due) {
        let advice = OutcomeAdvice {
            what: state.task.clone(),
            command: state.command.clone(),
        };
        advise(session, "due", DIM, &[advice])?;
    }
    close(session, &report)?;
    Ok(CommandExit::Fine)
}

fn one(session: &mut Session<'_>, insight: &HealthInsight) -> Result<(), CommandFailure> {
    let style = match insight.severity {
        InsightSeverity::ActionRequired => BAD,
        InsightSeverity::Attention => WARN,
        InsightSeverity::Info => Style::new(),
    };
    let head = styled(style, enum_label(&insight.severity));
    let what = escape_invisible(&insight.what);
    session.printer.line(format_args!(
        "{head}  {} (rule {})\n    {what}",
        insight.category, insight.number
    ))?;
    if let Some(command) = &insight.command {
        act(session, "do", command)?;
    }
    if let Some(research) = &insight.research {
        act(session, "research", &research.command)?;
    }
    Ok(())
}

fn advise(
    session: &mut Session<'_>,
    head: &str,
    style: Style,
    all: &[OutcomeAdvice],
) -> Result<(), CommandFailure> {
    for advice in all {
        let what = escape_invisible(&advice.what);
        let head = styled(style, head);
        session.printer.line(format_args!("{head}  {what}"))?;
        act(session, "do", &advice.command)?;
    }
    Ok(())
}

fn act(session: &mut Session<'_>, verb: &str, command: &str) -> Result<(), CommandFailure> {
    let command = escape_invisible(command);
    session.printer.line(format_args!("    {verb}: {command}"))
}

/// Prints the summary and the path of the report.
fn close(session: &mut Session<'_>, report: &HealthReport) -> Result<(), CommandFailure> {
    if report.insights.is_empty() {
        session.printer.line("No rule reports a problem.")?;
    }
    let entries: u64 = report.entries.values().sum();
    let entries = pluralize(entries, "entry", "entries");
    let runs = pluralize(report.outcomes.runs, "run", "runs");
    let succeeded = report.outcomes.succeeded;
    let written = if report.is_stored {
        format!("; written to .ken/{HEALTH_FILE}")
    } else {
        String::new()
    };
    session.printer.talk(format_args!(
        "{entries} in use; {runs} closed recently, {succeeded} succeeded{written}"
    ))
}

pub(super) fn review(
    session: &mut Session<'_>,
    args: &ReviewArgs,
) -> Result<CommandExit, CommandFailure> {
    let thresholds = match args.thresholds.as_ref().and_then(Option::as_ref) {
        None => HealthThresholds::default(),
        Some(path) => {
            let place = session.surroundings.start.join(path);
            let text = std::fs::read_to_string(place).map_err(|error| {
                CommandFailure::io(format_args!("cannot read `{}`", path.display()), &error)
            })?;
            HealthThresholds::from_json(&text).map_err(|error| {
                CommandFailure::usage(error)
                    .at(path.display())
                    .with_hint("`ken health review --format json` lists every limit under `counts`")
            })?
        }
    };
    let progress = ProgressIndicator::start(session.printer, "checking entries", None);
    let review =
        session.read(|engine| Ok(progress.during(|_| engine.health_review(&thresholds))?))?;
    if session.is_json() {
        session.printer.json(&review)?;
        return Ok(CommandExit::Fine);
    }
    print_review(session, &review)?;
    Ok(CommandExit::Fine)
}

fn print_review(session: &mut Session<'_>, review: &HealthReview) -> Result<(), CommandFailure> {
    for it in &review.tripped {
        let name = it.threshold.replace('_', " ");
        session.printer.line(format_args!(
            "{name}: {}, the limit is {}\n    do: {}",
            it.found, it.limit, it.command
        ))?;
    }
    match &review.proposal {
        Some(file) => session
            .printer
            .talk(format_args!("wrote a proposal to {file}")),
        None => session.printer.talk("no limit was reached"),
    }
}
