//! `ken undo`: takes back one's own last change, by a further one.

use serde::Serialize;

use super::Session;
use crate::failure::{Exit, Failure};
use ken_core::object::words;

#[derive(Serialize)]
struct UndoObject {
    schema: &'static str,
    entry: String,
    /// The event that was taken back.
    undone: String,
    #[serde(rename = "type")]
    type_name: String,
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let (undone, entry) = session.write(|engine, by| Ok(engine.undo(by)?))?;
    if session.is_json() {
        session.printer.json(&UndoObject {
            schema: "ken.undo.v1",
            entry: entry.id.to_string(),
            undone: undone.event.id.to_string(),
            type_name: undone.event.body.type_name().to_owned(),
        })?;
        return Ok(Exit::Fine);
    }
    session.printer.line(entry.id)?;
    session
        .printer
        .talk(format_args!("took back: {}", words(&undone)))?;
    Ok(Exit::Fine)
}
