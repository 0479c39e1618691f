//! Scan of the entry folder for files that changed since the last sync.

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::values::id::EntryId;
use ken_ledger::{Dir as _, DiskError, RealDir};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{ENTRIES_DIR, SeenFiles, id_from_file_name, read_text};
use crate::view::entry_file::{self, EntryFileError, ParsedEntryFile};

/// The result of scanning the entry folder.
#[derive(Debug)]
pub(super) struct EntryFileScan {
    pub changed: Vec<ChangedEntryFile>,
    pub unreadable: Vec<(String, String)>,
    /// Entries whose file is missing.
    pub missing: Vec<(String, Entry)>,
    /// Files with conflict markers.
    pub conflicted: Vec<String>,
    pub seen: SeenFiles,
    /// True if no earlier scan of this clone is known.
    pub is_first: bool,
}

/// A file whose metadata changed since the last sync, not necessarily by a person.
#[derive(Debug)]
pub(super) struct ChangedEntryFile {
    pub file: String,
    pub parsed: ParsedEntryFile,
}

impl EntryFileScan {
    /// Returns true if an edit or deletion may have to become an event.
    pub(super) fn has_edits(&self) -> bool {
        !self.missing.is_empty() || self.changed.iter().any(ChangedEntryFile::is_edited)
    }
}

impl ChangedEntryFile {
    /// Returns true if content or machine lines differ from those Ken rendered.
    pub(super) fn is_edited(&self) -> bool {
        let reworded = !self.parsed.content_is_rendered();
        reworded || !self.parsed.machine_is_rendered
    }
}

/// Scans the entry folder. Files with unchanged metadata are not opened.
pub(super) fn scan_entry_files(
    engine: &Engine,
    dir: &RealDir,
) -> Result<EntryFileScan, EngineError> {
    let known = SeenFiles::load(dir);
    let first_look = known.is_none();
    let mut scan = EntryFileScan {
        changed: Vec::new(),
        unreadable: Vec::new(),
        missing: Vec::new(),
        conflicted: Vec::new(),
        seen: known.unwrap_or_default(),
        is_first: first_look,
    };
    let mut present = BTreeSet::new();
    let mut ids = BTreeSet::new();
    let listing = dir
        .list(ENTRIES_DIR)
        .map_err(DiskError::on("list", ENTRIES_DIR))?;
    for (file, stat) in listing
        .into_iter()
        .filter(|(file, _)| file.ends_with(".md"))
    {
        if !scan.seen.is_unchanged(&file, &stat) {
            if read_entry_file(dir, &file, &mut scan, &mut ids)? {
                scan.seen.record(&file, &stat);
            } else {
                scan.seen.mark_unread(&file);
            }
        }
        present.insert(file);
    }
    scan.missing = missing_entries(engine, &scan.seen, first_look, &present, &ids)?;
    Ok(scan)
}

/// Returns the number of files that changed or disappeared since the last sync, without opening
/// any.
pub(super) fn count_changed_files(dir: &RealDir) -> Result<usize, EngineError> {
    let known = SeenFiles::load(dir).unwrap_or_default();
    let listing = dir
        .list(ENTRIES_DIR)
        .map_err(DiskError::on("list", ENTRIES_DIR))?;
    let files = || listing.iter().filter(|(file, _)| file.ends_with(".md"));
    let changed = files().filter(|(file, stat)| !known.is_unchanged(file, stat));
    let missing = known.names().count().saturating_sub(files().count());
    Ok(changed.count() + missing)
}

/// Reads a file into the scan. Returns whether it could be parsed.
fn read_entry_file(
    dir: &RealDir,
    file: &str,
    scan: &mut EntryFileScan,
    ids: &mut BTreeSet<EntryId>,
) -> Result<bool, EngineError> {
    let text = read_text(dir, &format!("{ENTRIES_DIR}/{file}"))?.unwrap_or_default();
    match entry_file::parse(&text) {
        Ok(reading) => {
            ids.insert(reading.id);
            scan.changed.push(ChangedEntryFile {
                file: file.to_owned(),
                parsed: reading,
            });
            return Ok(true);
        }
        Err(EntryFileError::ConflictMarkers) => scan.conflicted.push(file.to_owned()),
        Err(error) => scan.unreadable.push((file.to_owned(), error.to_string())),
    }
    Ok(false)
}

/// Returns entries that are not retracted and whose file disappeared.
///
/// The first scan of a clone has no record of earlier files, so it expects a file for every entry.
fn missing_entries(
    engine: &Engine,
    seen: &SeenFiles,
    first_look: bool,
    present: &BTreeSet<String>,
    ids: &BTreeSet<EntryId>,
) -> Result<Vec<(String, Entry)>, EngineError> {
    let expected: Vec<Entry> = if first_look {
        engine.index.list(&EntryFilter {
            lifecycle: LifecycleFilter::All,
            ..EntryFilter::default()
        })?
    } else {
        let gone = seen.names().filter(|name| !present.contains(*name));
        let mut entries = Vec::new();
        for id in gone.filter_map(id_from_file_name) {
            entries.extend(engine.index.entry(id)?);
        }
        entries
    };
    let absent = |entry: &Entry| {
        let name = entry.file_name()?;
        // A renamed file still contains the id, so the entry is not missing.
        let gone = !present.contains(&name) && !ids.contains(&entry.id);
        (gone && entry.retracted.is_none()).then_some(name)
    };
    Ok(expected
        .into_iter()
        .filter_map(|entry| Some((absent(&entry)?, entry)))
        .collect())
}
