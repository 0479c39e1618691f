//! `ken ledger index`: rebuilds the derived search index, which can be deleted at any time.

use clap::Subcommand;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;

/// `ken ledger index …`.
#[derive(Debug, Subcommand)]
pub(crate) enum IndexCommand {
    /// Delete the index and rebuild it from the ledger
    #[command(after_help = "Example:\n  ken ledger index rebuild")]
    Rebuild,
}

#[derive(Serialize)]
struct IndexObject {
    schema: &'static str,
    events: u64,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: &IndexCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        IndexCommand::Rebuild => rebuild(session),
    }
}

fn rebuild(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "building the index", None);
    let rebuilt = session.read(|engine| progress.during(|_| Ok(engine.rebuild_index()?)))?;
    let events = rebuilt.events_added as u64;
    if session.is_json() {
        session.printer.json(&IndexObject {
            schema: "ken.index.v1",
            events,
        })?;
    } else {
        let events = pluralize(events, "event", "events");
        session
            .printer
            .talk(format_args!("built the index from {events}"))?;
    }
    Ok(CommandExit::Fine)
}
