//! `ken archive`: one entry, or all that nobody confirmed for long.

use serde::Serialize;

use super::Session;
use crate::args::ArchiveArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

#[derive(Serialize)]
struct ArchivedObject {
    schema: &'static str,
    older_than_days: u32,
    archived: Vec<String>,
}

pub(super) fn run(session: &mut Session<'_>, args: &ArchiveArgs) -> Result<Exit, Failure> {
    if let Some(days) = args.older_than {
        return older_than(session, days);
    }
    let wanted = args.id.as_deref().unwrap_or_default();
    let entry = session.write(|engine, by| {
        let id = engine.find(wanted)?.id;
        Ok(engine.archive(id, by)?)
    })?;
    let id = entry.id;
    session.written(
        &entry,
        format_args!("archived; `ken restore {id}` brings it back"),
    )
}

fn older_than(session: &mut Session<'_>, days: u32) -> Result<Exit, Failure> {
    let ids = session.write(|engine, by| Ok(engine.archive_older_than(days, by)?))?;
    let archived: Vec<String> = ids.iter().map(ToString::to_string).collect();
    if session.is_json() {
        let object = ArchivedObject {
            schema: "ken.archive.v1",
            older_than_days: days,
            archived,
        };
        session.printer.json(&object)?;
        return Ok(Exit::Fine);
    }
    for id in &archived {
        session.printer.line(id)?;
    }
    let count = counted(ids.len() as u64, "entry", "entries");
    session.printer.talk(format_args!(
        "archived {count} that nobody confirmed for {days} days"
    ))?;
    Ok(Exit::Fine)
}
