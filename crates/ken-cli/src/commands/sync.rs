//! `ken sync`: hand edits become events, and stale files are rendered.

use ken_engine::notice::Notice;
use ken_engine::sync::BulkDeletion;
use serde::Serialize;

use super::Session;
use crate::args::SyncArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

#[derive(Serialize)]
struct SyncObject {
    schema: &'static str,
    absorbed: usize,
    rendered: usize,
    /// Whether git is in the middle of something, so that nothing was looked at.
    waiting: bool,
}

pub(super) fn run(session: &mut Session<'_>, args: &SyncArgs) -> Result<Exit, Failure> {
    let bulk = if args.yes {
        BulkDeletion::Meant
    } else {
        BulkDeletion::Ask
    };
    let (synced, notices) = session.write_quietly(|engine, _| Ok(engine.sync(bulk)?))?;
    let waits = notices
        .iter()
        .any(|notice| matches!(notice, Notice::Waiting { .. }));
    session.printer.notices(&notices)?;
    if session.is_json() {
        session.printer.json(&SyncObject {
            schema: "ken.sync.v1",
            absorbed: synced.absorbed,
            rendered: synced.rendered,
            waiting: waits,
        })?;
    } else if !waits {
        let edits = counted(synced.absorbed as u64, "hand edit", "hand edits");
        session
            .printer
            .talk(format_args!("recorded {edits}; entry files are in step"))?;
    }
    Ok(Exit::Fine)
}
