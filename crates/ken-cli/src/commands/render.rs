//! `ken render`: writes every view anew.

use serde::Serialize;

use super::Session;
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::progress::Progress;

#[derive(Serialize)]
struct RenderObject {
    schema: &'static str,
    written: usize,
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let progress = Progress::start(session.printer, "rendering", None);
    let written = session.write(|engine, _| progress.during(|_| Ok(engine.render()?)))?;
    if session.is_json() {
        session.printer.json(&RenderObject {
            schema: "ken.render.v1",
            written,
        })?;
    } else {
        let files = counted(written as u64, "entry file", "entry files");
        session
            .printer
            .talk(format_args!("wrote {files} and the gathering views"))?;
    }
    Ok(Exit::Fine)
}
