//! `ken self version`: prints the versions of the program and of the ledger format.

use ken_core::decide::SCHEMA_VERSION;
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

#[derive(Serialize)]
struct VersionObject {
    schema: &'static str,
    version: &'static str,
    entry_schema: &'static str,
}

pub(in crate::commands) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let version = env!("CARGO_PKG_VERSION");
    if session.is_json() {
        let entry_schema = SCHEMA_VERSION;
        session.printer.json(&VersionObject {
            schema: "ken.version.v1",
            version,
            entry_schema,
        })?;
    } else {
        session
            .printer
            .line(format_args!("ken {version} (entries {SCHEMA_VERSION})"))?;
    }
    Ok(CommandExit::Fine)
}
