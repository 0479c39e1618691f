//! `ken log`: what happened to an entry, oldest first, with authors.

use super::Session;
use crate::args::IdArgs;
use crate::failure::{Exit, Failure};
use crate::print::event_text::{EventObject, event_text};

pub(super) fn run(session: &mut Session<'_>, args: &IdArgs) -> Result<Exit, Failure> {
    let history = session.read(|engine| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.history(id)?)
    })?;
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
