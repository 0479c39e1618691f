//! `ken log`: prints the events of an entry with their authors, oldest first.

use clap::Args;
use ken_core::json::EventJson;
use ken_core::trust::run::ExposureChannel;
use ken_engine::Engine;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::event_text::event_text;
use crate::print::pluralize;

/// `ken log`.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// Also show events that count its use: effects of runs, feedback and missed searches. JSON
    /// output always has them
    #[arg(long)]
    pub(crate) all: bool,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &LogArgs,
) -> Result<CommandExit, CommandFailure> {
    let ask = |engine: &mut Engine| {
        let id = engine.find(&args.id)?.id;
        Ok((id, engine.history(id)?))
    };
    let (id, history) = session.read_shown(ExposureChannel::Show, ask, |(id, _)| vec![*id])?;
    if session.is_json() {
        for recorded in &history {
            session.printer.json(&EventJson::new(recorded))?;
        }
        return Ok(CommandExit::Fine);
    }
    let width = session.printer.width();
    let mut hidden = 0;
    for recorded in &history {
        if recorded.event.body.is_usage() && !args.all {
            hidden += 1;
        } else {
            session.printer.text(event_text(recorded, width))?;
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
