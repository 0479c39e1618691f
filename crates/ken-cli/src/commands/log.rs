//! `ken log`: what happened to an entry, oldest first, with authors.

use super::Session;
use crate::args::IdArgs;
use crate::failure::{Exit, Failure};
use crate::print::event_text::{EventObject, words};
use crate::print::{DIM, styled, visible, wrap};

/// Characters of a time that people read: day and minute.
const MINUTE_CHARS: usize = 16;
const INDENT: &str = "    ";

pub(super) fn run(session: &mut Session<'_>, args: &IdArgs) -> Result<Exit, Failure> {
    let history = session.read(|engine| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.history(id)?)
    })?;
    let width = session.printer.width().saturating_sub(INDENT.len());
    for recorded in &history {
        if session.is_json() {
            session.printer.json(&EventObject::new(recorded))?;
            continue;
        }
        let event = &recorded.event;
        let at = event.at.wall.to_string();
        let at = at.get(..MINUTE_CHARS).unwrap_or(&at).replace('T', " ");
        let id = styled(DIM, event.id);
        session
            .printer
            .line(format_args!("{at}  {}  {id}", event.by))?;
        for line in wrap(&visible(&words(recorded)), width) {
            session.printer.line(format_args!("{INDENT}{line}"))?;
        }
    }
    Ok(Exit::Fine)
}
