//! `ken log`: prints the events of an entry with their authors, oldest first, or the exposures of
//! entries to agents, newest first.

use clap::Args;
use ken_core::json::{EventJson, ExposureJson};
use ken_core::trust::run::ExposureChannel;
use ken_engine::Engine;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::event_text::event_text;
use crate::print::exposure_text::{elsewhere_line, exposure_line};
use crate::print::pluralize;

/// Exposures listed by default.
const EXPOSURES_LISTED: usize = 50;

/// `ken log`.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    #[arg(required_unless_present = "shown")]
    pub(crate) id: Option<String>,
    /// Also show events that count its use: effects of runs, feedback and missed searches. JSON
    /// output always has them
    #[arg(long, conflicts_with = "shown")]
    pub(crate) all: bool,
    /// List the agents that were shown the entry, or any entry: when, how, and in which run.
    /// Entries that were withheld by chance or omitted for lack of room are listed too. Ken has the
    /// notes of the latest runs on this machine
    #[arg(long)]
    pub(crate) shown: bool,
    /// Maximum number of exposures listed
    #[arg(long, value_name = "N", requires = "shown", default_value_t = EXPOSURES_LISTED)]
    pub(crate) limit: usize,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &LogArgs,
) -> Result<CommandExit, CommandFailure> {
    match &args.id {
        Some(id) if !args.shown => print_events(session, id, args.all),
        id => print_exposures(session, id.as_deref(), args.limit),
    }
}

fn print_events(
    session: &mut Session<'_>,
    wanted: &str,
    all: bool,
) -> Result<CommandExit, CommandFailure> {
    let ask = |engine: &mut Engine| {
        let id = engine.find(wanted)?.id;
        let history = engine.history(id)?;
        let names = history.iter().map(|it| engine.person_name(&it.event.by));
        let names: Vec<Option<String>> = names.collect();
        Ok((id, history, names))
    };
    let (id, history, names) =
        session.read_shown(ExposureChannel::Show, ask, |(id, ..)| vec![*id])?;
    if session.is_json() {
        for recorded in &history {
            session.printer.json(&EventJson::new(recorded))?;
        }
        return Ok(CommandExit::Fine);
    }
    let width = session.printer.width();
    let mut hidden = 0;
    for (recorded, name) in history.iter().zip(&names) {
        if recorded.event.body.is_usage() && !all {
            hidden += 1;
        } else {
            let text = event_text(recorded, name.as_deref(), width);
            session.printer.text(text)?;
        }
    }
    if hidden > 0 {
        let events = pluralize(hidden, "event", "events");
        session.printer.hint(format_args!(
            "{events} about its use not shown; run `ken log {id} --all` to show them"
        ))?;
    }
    Ok(CommandExit::Fine)
}

/// Prints exposures. They name entries without their text, so that reading them is not an exposure.
fn print_exposures(
    session: &mut Session<'_>,
    wanted: Option<&str>,
    limit: usize,
) -> Result<CommandExit, CommandFailure> {
    let log = session.read(|engine| {
        let id = wanted
            .map(|it| engine.find(it))
            .transpose()?
            .map(|it| it.id);
        Ok(engine.exposure_log(id, limit)?)
    })?;
    if session.is_json() {
        for record in &log.records {
            session.printer.json(&ExposureJson::new(record))?;
        }
        return Ok(CommandExit::Fine);
    }
    for record in &log.records {
        session.printer.line(exposure_line(record))?;
    }
    for run in &log.elsewhere {
        session.printer.line(elsewhere_line(run))?;
    }
    if log.records.is_empty() && log.elsewhere.is_empty() {
        session
            .printer
            .talk("no exposures are recorded on this machine")?;
    }
    if log.left_off > 0 {
        session.printer.hint(format_args!(
            "{} older not shown; use `--limit N` to list more",
            log.left_off
        ))?;
    }
    Ok(CommandExit::Fine)
}
