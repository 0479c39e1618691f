//! `ken health`: how knowledge fares, and whether that calls for anything.

use anstyle::Style;
use ken_core::health::history::Advice;
use ken_core::health::thresholds::Thresholds;
use ken_core::health::{Insight, Severity};
use ken_core::text::word;
use ken_engine::health::{HEALTH_FILE, Report, Review};

use super::Session;
use crate::args::{HealthCommand, ReviewArgs};
use crate::failure::{Exit, Failure};
use crate::print::{BAD, DIM, WARN, counted, styled, visible};

pub(super) fn run(session: &mut Session<'_>, command: HealthCommand) -> Result<Exit, Failure> {
    match command {
        HealthCommand::Report => report(session),
        HealthCommand::Review(args) => review(session, &args),
    }
}

fn report(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let report = session.read(|engine| Ok(engine.health_report()?))?;
    if session.is_json() {
        session.printer.json(&report)?;
        return Ok(Exit::Fine);
    }
    for insight in &report.insights {
        one(session, insight)?;
    }
    advise(session, "escalate", BAD, &report.escalations)?;
    advise(session, "recommend", DIM, &report.recommendations)?;
    for state in report.maintenance.services.iter().filter(|it| it.due) {
        let advice = Advice {
            what: state.task.clone(),
            command: state.command.clone(),
        };
        advise(session, "due", DIM, &[advice])?;
    }
    close(session, &report)?;
    Ok(Exit::Fine)
}

fn one(session: &mut Session<'_>, insight: &Insight) -> Result<(), Failure> {
    let style = match insight.severity {
        Severity::ActionRequired => BAD,
        Severity::Attention => WARN,
        Severity::Info => Style::new(),
    };
    let head = styled(style, word(&insight.severity));
    let what = visible(&insight.what);
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
    all: &[Advice],
) -> Result<(), Failure> {
    for advice in all {
        let what = visible(&advice.what);
        let head = styled(style, head);
        session.printer.line(format_args!("{head}  {what}"))?;
        act(session, "do", &advice.command)?;
    }
    Ok(())
}

fn act(session: &mut Session<'_>, verb: &str, command: &str) -> Result<(), Failure> {
    let command = visible(command);
    session.printer.line(format_args!("    {verb}: {command}"))
}

/// Says what it was told from, and where it lies.
fn close(session: &mut Session<'_>, report: &Report) -> Result<(), Failure> {
    if report.insights.is_empty() {
        session.printer.line("All rules are content.")?;
    }
    let entries: u64 = report.entries.values().sum();
    let entries = counted(entries, "entry", "entries");
    let runs = counted(report.outcomes.runs, "run", "runs");
    let succeeded = report.outcomes.succeeded;
    session.printer.talk(format_args!(
        "{entries} in use; {runs} ended lately, {succeeded} of them well; written to .ken/{HEALTH_FILE}"
    ))
}

fn review(session: &mut Session<'_>, args: &ReviewArgs) -> Result<Exit, Failure> {
    let thresholds = match args.thresholds.as_ref().and_then(Option::as_ref) {
        None => Thresholds::default(),
        Some(path) => {
            let place = session.surroundings.start.join(path);
            let text = std::fs::read_to_string(place).map_err(|error| {
                Failure::io(format_args!("cannot read `{}`", path.display()), &error)
            })?;
            Thresholds::from_json(&text).map_err(|error| {
                Failure::usage(error)
                    .at(path.display())
                    .with_hint("`ken health review --format json` names every limit under `counts`")
            })?
        }
    };
    let review = session.read(|engine| Ok(engine.health_review(&thresholds)?))?;
    if session.is_json() {
        session.printer.json(&review)?;
        return Ok(Exit::Fine);
    }
    print_review(session, &review)?;
    Ok(Exit::Fine)
}

fn print_review(session: &mut Session<'_>, review: &Review) -> Result<(), Failure> {
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
            .talk(format_args!("a proposal was written to {file}")),
        None => session
            .printer
            .talk("no limit is reached; nothing is proposed"),
    }
}
