//! `ken import` of an export: a file of JSON lines, or a bundle with `events.jsonl`.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use ken_engine::export::BUNDLE_EVENTS_FILE;
use serde::Serialize;
use serde_json::Value;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// Maximum bytes of an export, which is read as a whole.
const EXPORT_BYTES_MAX: u64 = 1 << 30;

/// Maximum bytes of the first line, which tells whether a file is an export.
const LINE_BYTES_MAX: u64 = 16 << 20;

#[derive(Serialize)]
struct ExportImportObject {
    schema: &'static str,
    entries: Vec<String>,
    events: usize,
    known: usize,
    refused: Vec<String>,
}

/// Returns the export that the arguments of `ken import` name, if they name one.
pub(super) fn find_export(session: &Session<'_>, paths: &[String]) -> Option<PathBuf> {
    let [path] = paths else { return None };
    let path = session.surroundings.start.join(path);
    if path.is_dir() {
        return Some(path.join(BUNDLE_EVENTS_FILE)).filter(|it| it.is_file());
    }
    Some(path).filter(|path| is_export(path))
}

/// Returns whether the first line of a file is one of an export: other tools write JSON lines too.
fn is_export(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let mut line = String::new();
    let read = BufReader::new(file.take(LINE_BYTES_MAX)).read_line(&mut line);
    let parsed: Option<Value> = read.ok().and_then(|_| serde_json::from_str(&line).ok());
    parsed.is_some_and(|object| object["events"].is_array() && object["created"].is_object())
}

/// Imports the export at `path`.
pub(super) fn run(
    session: &mut Session<'_>,
    path: &PathBuf,
) -> Result<CommandExit, CommandFailure> {
    let shown = path.display();
    let failed = |error| CommandFailure::io(format_args!("cannot read `{shown}`"), &error);
    let bytes = fs::metadata(path).map_err(failed)?.len();
    if bytes > EXPORT_BYTES_MAX {
        let message = format!("`{shown}` has more than {EXPORT_BYTES_MAX} bytes");
        return Err(CommandFailure::usage(message).with_hint("export with a filter"));
    }
    let lines = fs::read_to_string(path).map_err(failed)?;
    let outcome = session.write(|engine, by| Ok(engine.import_export(&lines, by)?))?;
    if session.is_json() {
        session.printer.json(&ExportImportObject {
            schema: "ken.import-export.v1",
            entries: outcome.entries.iter().map(ToString::to_string).collect(),
            events: outcome.events,
            known: outcome.known,
            refused: outcome.refused.iter().map(ToString::to_string).collect(),
        })?;
    } else {
        for id in &outcome.entries {
            session.printer.line(id)?;
        }
        let entries = pluralize(outcome.entries.len() as u64, "entry", "entries");
        let events = pluralize(outcome.events as u64, "event", "events");
        session.printer.talk(format_args!(
            "imported {entries} with {events}; {} already known, {} refused",
            outcome.known,
            outcome.refused.len()
        ))?;
        for (by, count) in &outcome.approvals {
            let count = pluralize(*count as u64, "approval", "approvals");
            session.printer.note(&format!(
                "the export has {count} by {by}, as its file claims"
            ))?;
        }
        for finding in &outcome.refused {
            session.printer.note(&format!("not imported: {finding}"))?;
        }
    }
    Ok(if outcome.refused.is_empty() {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    })
}
