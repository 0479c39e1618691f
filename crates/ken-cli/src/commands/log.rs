//! `ken log`: prints the events of an entry with their authors, oldest first.

use ken_core::json::EventJson;
use ken_core::trust::run::ExposureChannel;
use ken_engine::Engine;

use super::Session;
use crate::args::id::IdArgs;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::event_text::event_text;

pub(super) fn run(session: &mut Session<'_>, args: &IdArgs) -> Result<CommandExit, CommandFailure> {
    let ask = |engine: &mut Engine| {
        let id = engine.find(&args.id)?.id;
        Ok((id, engine.history(id)?))
    };
    let (_, history) = session.read_shown(ExposureChannel::Show, ask, |(id, _)| vec![*id])?;
    let width = session.printer.width();
    for recorded in &history {
        if session.is_json() {
            session.printer.json(&EventJson::new(recorded))?;
        } else {
            session.printer.text(event_text(recorded, width))?;
        }
    }
    Ok(CommandExit::Fine)
}
