//! Readers of entries and their exposures.
//!
//! A reader outside any open run gets an implicit run that Ken creates. An implicit run belongs to
//! an agent and its session, independent of processes and time, and confirms nothing.

use ken_core::decide::Proposal;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::SourceRun;
use ken_core::trust::run::holdout;
use ken_core::trust::run::reader::{SHOWN_MAX, unwitnessed_run_notes};
use ken_core::trust::run::{ExposureChannel, HoldoutAssignment, Run, RunMode, RunNote};
use ken_core::values::id::EntryId;
use ken_core::values::text::Tag;
use ken_ledger::layout::KEN_DIR;

use super::store::RunStore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::id_from_file_name;
use crate::runs;

pub use ken_core::trust::run::reader::EntryReader;

/// Records that `reader` is about to be shown `entries`.
///
/// In an explicit run, an exposure that cannot be recorded is an error, so nothing is shown.
pub(crate) fn record_exposures(
    engine: &mut Engine,
    reader: &EntryReader,
    entries: &[EntryId],
    how: ExposureChannel,
) -> Result<(), EngineError> {
    record_reader_note(engine, reader, reader.shown_note(entries, how))
}

/// Records that `reader` read a file. Files outside `.ken` expose no entries.
pub(crate) fn record_file_read(
    engine: &mut Engine,
    reader: &EntryReader,
    path: &str,
) -> Result<(), EngineError> {
    let Some(below) = path
        .strip_prefix(KEN_DIR)
        .map(|it| it.trim_start_matches('/'))
    else {
        return Ok(());
    };
    let name = below.rsplit('/').next().unwrap_or_default();
    match id_from_file_name(name) {
        Some(id) => engine.record_exposures(reader, &[id], ExposureChannel::File),
        // Index files and segments contain many entries.
        None => engine.record_full_exposure(reader, ExposureChannel::File),
    }
}

/// Records that `reader` may have seen every entry.
pub(crate) fn record_full_exposure(
    engine: &mut Engine,
    reader: &EntryReader,
    how: ExposureChannel,
) -> Result<(), EngineError> {
    record_reader_note(engine, reader, reader.saw_everything_note(how))
}

/// Decides at random which of `entries` are withheld from `reader`.
pub(crate) fn assign_holdout<'e>(
    engine: &Engine,
    reader: &EntryReader,
    entries: impl Iterator<Item = &'e Entry>,
) -> Result<Vec<HoldoutAssignment>, EngineError> {
    // The holdout measures runs: without one, an assignment would never be evaluated.
    let run = engine
        .open_run_for(reader)?
        .filter(|_| reader.is_recorded());
    let Some(run) = run else {
        return Ok(Vec::new());
    };
    let policy = engine.review_policy()?;
    Ok(holdout::assign_entries(
        &run,
        &reader.agent,
        policy,
        entries,
    ))
}

/// Records the holdout assignments, and the relevant entries that did not fit the budget.
pub(crate) fn record_offers(
    engine: &mut Engine,
    reader: &EntryReader,
    offers: Vec<HoldoutAssignment>,
    passed: Vec<EntryId>,
) -> Result<(), EngineError> {
    record_reader_note(engine, reader, reader.holdout_note(offers))?;
    match reader.omitted_note(passed) {
        // Implicit runs are not measured, so nothing would use the note.
        Some(note) if open_run_id(engine, reader)?.is_some() => {
            record_reader_note(engine, reader, Some(note))
        }
        Some(_) | None => Ok(()),
    }
}

/// Adds entries as part of the reader's run.
pub(crate) fn add_in_run(
    engine: &mut Engine,
    reader: &EntryReader,
    mut proposals: Vec<Proposal>,
) -> Result<Vec<EntryId>, EngineError> {
    let run = engine.open_run_for(reader)?;
    // `cycle` over the option: every proposal gets the run, or the loop is empty without one.
    for (proposal, run) in proposals.iter_mut().zip(run.iter().cycle()) {
        proposal.thread = proposal.thread.take().or_else(|| run.thread.clone());
        proposal.run = Some(SourceRun {
            id: run.id.clone(),
            outcome: None,
        });
    }
    let entries = engine.add_many(proposals, &reader.agent)?;
    if let Some(run) = run {
        let agent = reader.agent.clone();
        // A note has a maximum size.
        for part in entries.chunks(SHOWN_MAX) {
            let (agent, entries) = (agent.clone(), part.to_vec());
            engine.record_note(&run.id, RunNote::Added { agent, entries }, &reader.agent)?;
        }
    }
    Ok(entries)
}

/// Returns the reader's run, and creates an implicit run if there is none.
pub(crate) fn run_for(engine: &mut Engine, reader: &EntryReader) -> Result<String, EngineError> {
    match open_run_id(engine, reader)? {
        Some(id) => Ok(id),
        None => ensure_implicit_run(engine, reader),
    }
}

/// Returns the run for a finding: the run or session the reader names. A reader that names
/// neither cannot be identified, so its finding goes to an implicit run and confirms nothing.
pub(super) fn run_for_finding(
    engine: &mut Engine,
    reader: &EntryReader,
) -> Result<String, EngineError> {
    if reader.run.is_some() || reader.session.is_some() {
        engine.run_for(reader)
    } else {
        ensure_implicit_run(engine, reader)
    }
}

/// Returns the reader's implicit run, created if needed.
fn ensure_implicit_run(engine: &mut Engine, reader: &EntryReader) -> Result<String, EngineError> {
    let store = RunStore::new(&engine.place)?;
    let id = reader.implicit_run();
    if !store.is_open(&id)? {
        let session = reader.session.as_deref();
        let unchecked =
            unwitnessed_run_notes(&id, RunMode::Implicit, &reader.agent, session).into_iter();
        let notes = unchecked
            .map(|note| runs::admit_note(engine, note, &reader.agent))
            .collect::<Result<Vec<_>, _>>()?;
        store.create_or_join(&id, &notes)?;
    }
    Ok(id)
}

/// Returns the thread of the reader's run.
pub(crate) fn reader_thread(
    engine: &Engine,
    reader: &EntryReader,
) -> Result<Option<Tag>, EngineError> {
    Ok(engine.open_run_for(reader)?.and_then(|run| run.thread))
}

/// Returns the open run the reader names, or else its only open session run.
pub(crate) fn open_run_for(
    engine: &Engine,
    reader: &EntryReader,
) -> Result<Option<Run>, EngineError> {
    let open = open_run_id(engine, reader)?;
    open.map(|id| engine.run(&id)).transpose()
}

/// Returns the id of the reader's run if it is open on this machine.
fn open_run_id(engine: &Engine, reader: &EntryReader) -> Result<Option<String>, EngineError> {
    let Some(id) = reader.named_run() else {
        return engine.only_session_run(&reader.agent);
    };
    Ok(RunStore::new(&engine.place)?.is_open(&id)?.then_some(id))
}

/// Appends a note to the reader's run, if there is a note.
fn record_reader_note(
    engine: &mut Engine,
    reader: &EntryReader,
    note: Option<RunNote>,
) -> Result<(), EngineError> {
    let Some(note) = note else {
        return Ok(());
    };
    let is_open = open_run_id(engine, reader)?.is_some();
    let written = engine
        .run_for(reader)
        .and_then(|id| engine.record_note(&id, note, &reader.agent));
    match written {
        // Implicit runs confirm nothing, and reading must work in a read-only repository.
        Err(_) if !is_open => Ok(()),
        other => other,
    }
}
