//! Conflicts that git leaves in entry files, resolved from the merged ledger.
//!
//! Segments never conflict, so in the middle of a merge the ledger already has the events of both
//! sides. If both versions of a file are as Ken rendered them, the markers contain nothing that is
//! not an event, and the file is rendered again. An edit that is not an event yet stays for the
//! person who merges.

use std::sync::Arc;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::DerivedStore as _;
use ken_ledger::RealDir;

use super::scan::scan_entry_files;
use super::write_entry_file;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{self, ENTRIES_DIR, read_text};
use crate::notice::EngineNotice;
use crate::view::entry_file;

/// Renders entry files whose conflict contains no unrecorded edit.
pub(super) fn resolve_rendered_conflicts(engine: &mut Engine) -> Result<(), EngineError> {
    let dir = Arc::clone(&engine.ken);
    for file in scan_entry_files(engine, &dir)?.conflicted {
        let Some(entry) = recorded_conflict(engine, &dir, &file)? else {
            continue;
        };
        let mut seen = files::take_seen(engine, &dir);
        write_entry_file(&dir, &file, &entry, &mut seen)?;
        engine.views.seen = Some(seen);
        let entry = entry.id;
        engine
            .notices
            .push(EngineNotice::ConflictResolved { entry, file });
    }
    Ok(())
}

/// Returns the entry of a conflicted file if the ledger has everything that both sides show.
fn recorded_conflict(
    engine: &Engine,
    dir: &RealDir,
    file: &str,
) -> Result<Option<Entry>, EngineError> {
    let path = format!("{ENTRIES_DIR}/{file}");
    let text = read_text(dir, &path)?.unwrap_or_default();
    if !entry_file::has_conflict_markers(&text) {
        return Ok(None);
    }
    let mut entry: Option<Entry> = None;
    for side in entry_file::conflict_sides(&text) {
        let Ok(reading) = entry_file::parse(&side) else {
            return Ok(None);
        };
        let Some(found) = engine.index.entry(reading.id)? else {
            return Ok(None);
        };
        let same = entry.as_ref().is_none_or(|it| it.id == found.id);
        if !same || !files::may_replace(engine, &found, &reading)? {
            return Ok(None);
        }
        entry = Some(found);
    }
    Ok(entry)
}
