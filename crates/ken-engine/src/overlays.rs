//! Overlays of this clone: pins, mutes and invalidations, kept as events in a local file.
//!
//! They say what one person wants to see, so neither git nor a hub carries them. Overlays that an
//! earlier version wrote to the ledger still count until they are removed. An annotation is text
//! for every reader and stays in the ledger.

use std::collections::BTreeMap;
use std::io;

use ken_core::decide;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Event, Overlay, OverlaySet, RecordedEvent, Switch};
use ken_core::ledger::fold::fold_entry;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::text::Note;
use ken_index::LocalOverlays;
use ken_ledger::layout::LOCAL_DIR;
use ken_ledger::{Dir as _, DiskError, RealDir};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{entries, sync};

/// File with one event per line.
pub(crate) const OVERLAYS_FILE: &str = ".local/overlays.jsonl";

/// Loads the overlays of this clone.
pub(crate) fn load(ken: &RealDir) -> Result<LocalOverlays, EngineError> {
    let bytes = read_lines(ken)?;
    let mut events: BTreeMap<EntryId, Vec<Event>> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        // A process may have died while it wrote a line.
        let Ok(RecordedEvent { event, .. }) = RecordedEvent::parse(line) else {
            continue;
        };
        let Some(id) = event.entries().next() else {
            continue;
        };
        if event.get::<OverlaySet>().is_some() {
            events.entry(id).or_default().push(event);
        }
    }
    let folded = events.iter().filter_map(|(id, events)| {
        let entry = fold_entry(*id, events)?;
        Some((*id, entry.overlays))
    });
    Ok(folded.collect())
}

/// Sets or removes an overlay of an entry, in this clone alone unless it is an annotation.
pub(crate) fn set(
    engine: &mut Engine,
    id: EntryId,
    overlay: Overlay,
    (state, note): (Switch, Option<Note>),
    by: &Actor,
) -> Result<Entry, EngineError> {
    if !is_local(overlay) || is_removed_from_ledger(engine, id, overlay, state)? {
        return entries::apply_decision(engine, id, by, |entry, _| {
            decide::set_annotation(entry, overlay, state, note)
        });
    }
    sync::sync_before_writing(engine)?;
    let entry = engine.entry(id)?;
    let draft = decide::set_annotation(&entry, overlay, state, note)?;
    let events = engine.stamp(vec![(None, draft)], by, &mut |_| {})?;
    append(&engine.ken, &events)?;
    engine.load_overlays()?;
    engine.entry(id)
}

/// Returns whether an overlay concerns this clone alone.
fn is_local(overlay: Overlay) -> bool {
    match overlay {
        Overlay::Pin | Overlay::Mute | Overlay::Invalidate => true,
        Overlay::Annotate => false,
    }
}

/// Returns whether the change removes an overlay that an earlier version wrote to the ledger.
fn is_removed_from_ledger(
    engine: &Engine,
    id: EntryId,
    overlay: Overlay,
    state: Switch,
) -> Result<bool, EngineError> {
    let local = load(&engine.ken)?;
    let is_here = local.get(&id).is_some_and(|it| it.contains_key(&overlay));
    Ok(state == Switch::Off && !is_here && engine.entry(id)?.has_annotation(overlay))
}

fn append(ken: &RealDir, events: &[RecordedEvent]) -> Result<(), EngineError> {
    let made = ken.create_dirs(LOCAL_DIR);
    made.map_err(DiskError::on("create", LOCAL_DIR))?;
    let known = read_lines(ken)?;
    let mut lines = String::new();
    // Ends a line that a dying process left unfinished.
    if known.last().is_some_and(|byte| *byte != b'\n') {
        lines.push('\n');
    }
    for event in events {
        lines.push_str(event.line());
        lines.push('\n');
    }
    let written = match ken.create_new(OVERLAYS_FILE, lines.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            ken.append_durably(OVERLAYS_FILE, lines.as_bytes())
        }
        other => other,
    };
    Ok(written.map_err(DiskError::on("write", OVERLAYS_FILE))?)
}

fn read_lines(ken: &RealDir) -> Result<Vec<u8>, EngineError> {
    match ken.read(OVERLAYS_FILE) {
        // A checkout that cannot be written may have a file instead of the folder.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        read => Ok(read.map_err(DiskError::on("read", OVERLAYS_FILE))?),
    }
}
