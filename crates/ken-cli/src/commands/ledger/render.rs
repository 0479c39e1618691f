//! `ken ledger render`: writes every entry file and view again.

use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;

#[derive(Serialize)]
struct RenderObject {
    schema: &'static str,
    written: usize,
}

pub(in crate::commands) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "rendering", None);
    let written = session.maintain(|engine| progress.during(|_| Ok(engine.render_all()?)))?;
    if session.is_json() {
        session.printer.json(&RenderObject {
            schema: "ken.render.v1",
            written,
        })?;
    } else {
        let files = pluralize(written as u64, "entry file", "entry files");
        session
            .printer
            .talk(format_args!("wrote {files} and the views"))?;
    }
    Ok(CommandExit::Fine)
}
