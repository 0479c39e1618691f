//! `ken version`: of the program and of what it writes.

use ken_core::decide::SCHEMA_VERSION;
use serde::Serialize;

use super::Session;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct VersionObject {
    schema: &'static str,
    version: &'static str,
    entry_schema: &'static str,
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
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
    Ok(Exit::Fine)
}
