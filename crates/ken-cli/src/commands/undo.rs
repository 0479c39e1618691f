//! `ken undo`: reverses your last change with a further event.

use ken_core::json::describe_event;
use serde::Serialize;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

#[derive(Serialize)]
struct UndoObject {
    schema: &'static str,
    entry: String,
    /// The event that was undone.
    undone: String,
    #[serde(rename = "type")]
    type_name: String,
}

pub(super) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let (undone, entry) = session.write(|engine, by| Ok(engine.undo(by)?))?;
    if session.is_json() {
        session.printer.json(&UndoObject {
            schema: "ken.undo.v1",
            entry: entry.id.to_string(),
            undone: undone.event.id.to_string(),
            type_name: undone.event.body.type_name().to_owned(),
        })?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(entry.id)?;
    session
        .printer
        .talk(format_args!("undid: {}", describe_event(&undone)))?;
    Ok(CommandExit::Fine)
}
