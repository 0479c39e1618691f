//! `ken index`: the derived index, which can always be thrown away.

use serde::Serialize;

use super::Session;
use crate::args::IndexCommand;
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::progress::Progress;

#[derive(Serialize)]
struct IndexObject {
    schema: &'static str,
    events: u64,
}

pub(super) fn run(session: &mut Session<'_>, command: &IndexCommand) -> Result<Exit, Failure> {
    match command {
        IndexCommand::Rebuild => rebuild(session),
    }
}

fn rebuild(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let progress = Progress::start(session.printer, "building the index", None);
    let rebuilt = session.read(|engine| progress.during(|_| Ok(engine.rebuild_index()?)))?;
    let events = rebuilt.events_added as u64;
    if session.is_json() {
        session.printer.json(&IndexObject {
            schema: "ken.index.v1",
            events,
        })?;
    } else {
        let events = counted(events, "event", "events");
        session
            .printer
            .talk(format_args!("built the index from {events}"))?;
    }
    Ok(Exit::Fine)
}
