//! Walks the entry folder for files that changed since they were last in step.

use std::collections::BTreeSet;

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use ken_core::store::{Filter, Shelf, Store as _};
use ken_ledger::{Dir as _, DiskError, RealDir};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{ENTRIES_DIR, Seen, id_of, read_text};
use crate::view::document::{self, Reading, ReadingError};

/// What a walk found.
#[derive(Debug)]
pub(super) struct Scan {
    pub edited: Vec<Edited>,
    pub unreadable: Vec<(String, String)>,
    /// Entries that should have a file and have none.
    pub missing: Vec<(String, Entry)>,
    /// A file with conflict markers, if there is one.
    pub conflicted: Option<String>,
    pub seen: Seen,
}

/// A file that is not as it was last seen; whether by a person's hand is still open.
#[derive(Debug)]
pub(super) struct Edited {
    pub file: String,
    pub reading: Reading,
}

impl Scan {
    /// Returns whether something may have to become an event.
    pub(super) fn found_work(&self) -> bool {
        !self.missing.is_empty() || self.edited.iter().any(Edited::is_edit)
    }
}

impl Edited {
    /// Returns whether somebody changed wording or machine lines since Ken rendered the file.
    pub(super) fn is_edit(&self) -> bool {
        let reworded = !self.reading.is_rendered();
        reworded || !self.reading.machine_is_rendered
    }
}

/// Walks the folder. Files that look as they did when last in step are not opened.
pub(super) fn scan(engine: &Engine, dir: &RealDir) -> Result<Scan, Error> {
    let known = Seen::load(dir);
    let first_look = known.is_none();
    let mut scan = Scan {
        edited: Vec::new(),
        unreadable: Vec::new(),
        missing: Vec::new(),
        conflicted: None,
        seen: known.unwrap_or_default(),
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
            open(dir, &file, &mut scan, &mut ids)?;
            scan.seen.note(&file, &stat);
        }
        present.insert(file);
    }
    scan.missing = missing(engine, &scan.seen, first_look, &present, &ids)?;
    Ok(scan)
}

fn open(
    dir: &RealDir,
    file: &str,
    scan: &mut Scan,
    ids: &mut BTreeSet<EntryId>,
) -> Result<(), Error> {
    let text = read_text(dir, &format!("{ENTRIES_DIR}/{file}"))?.unwrap_or_default();
    match document::read(&text) {
        Ok(reading) => {
            ids.insert(reading.id);
            scan.edited.push(Edited {
                file: file.to_owned(),
                reading,
            });
        }
        Err(ReadingError::ConflictMarkers) => scan.conflicted = Some(file.to_owned()),
        Err(error) => scan.unreadable.push((file.to_owned(), error.to_string())),
    }
    Ok(())
}

/// Returns live entries whose file was there and is not, under no other name either.
///
/// At the first look nothing was seen before, so every entry of this branch is asked about.
fn missing(
    engine: &Engine,
    seen: &Seen,
    first_look: bool,
    present: &BTreeSet<String>,
    ids: &BTreeSet<EntryId>,
) -> Result<Vec<(String, Entry)>, Error> {
    let expected: Vec<Entry> = if first_look {
        engine.index.list(&Filter {
            shelf: Shelf::All,
            ..Filter::default()
        })?
    } else {
        let gone = seen.names().filter(|name| !present.contains(*name));
        let mut entries = Vec::new();
        for id in gone.filter_map(id_of) {
            entries.extend(engine.index.entry(id)?);
        }
        entries
    };
    let absent = |entry: &Entry| {
        let name = entry.file_name()?;
        let gone = !present.contains(&name) && !ids.contains(&entry.id);
        (gone && entry.retracted.is_none()).then_some(name)
    };
    Ok(expected
        .into_iter()
        .filter_map(|entry| Some((absent(&entry)?, entry)))
        .collect())
}
