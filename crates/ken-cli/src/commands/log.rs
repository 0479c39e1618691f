//! `ken log`: what happened to an entry, oldest first, with authors.

use ken_core::run::How;
use ken_engine::Engine;

use super::Session;
use crate::args::IdArgs;
use crate::failure::{Exit, Failure};
use crate::print::event_text::event_text;
use ken_core::object::EventObject;

pub(super) fn run(session: &mut Session<'_>, args: &IdArgs) -> Result<Exit, Failure> {
    let ask = |engine: &mut Engine| {
        let id = engine.find(&args.id)?.id;
        Ok((id, engine.history(id)?))
    };
    let (_, history) = session.read_shown(How::Show, ask, |(id, _)| vec![*id])?;
    let width = session.printer.width();
    for recorded in &history {
        if session.is_json() {
            session.printer.json(&EventObject::new(recorded))?;
        } else {
            session.printer.text(event_text(recorded, width))?;
        }
    }
    Ok(Exit::Fine)
}
