//! Runs: opening, notes and closing. Exposures are recorded before an entry is shown.
//!
//! The notes of an open run are stored on this machine (`store`). Reading commands add to them
//! (`reader`), and findings are matched with known entries (`matching`). Closing a run decides
//! which events follow for the entries it touched (`closing`) and appends them to the ledger, which
//! others can read.

pub(crate) mod alarm;
pub(crate) mod blame;
pub(crate) mod ci;
pub(crate) mod closing;
pub(crate) mod exposure_log;
mod facts;
mod follow_up;
pub(crate) mod handoff;
pub(crate) mod matching;
pub(crate) mod policy;
pub(crate) mod reader;
pub(crate) mod recording;
pub(crate) mod scratch;
pub(crate) mod session;
pub(crate) mod store;

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EntryEffect, RunClosed, RunEffects, RunObserved};
use ken_core::trust::outcome::{self, ObservedRun, RunFacts};
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::exposure::{ExposureSet, shown_days};
use ken_core::trust::run::name::IMPLICIT_PREFIX;
use ken_core::trust::run::opening::{check_finding, opening_notes};
use ken_core::trust::run::{ABANDONED_AFTER_MS, Run, RunFinding, RunNote, RunRecord};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_ledger::LedgerLocation;
use ken_ledger::disk::LockGuard;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::{EngineError, ErrorKind};
use crate::{health, maintenance, validity};
use closing::RunVisibility;
use store::RunStore;

pub use alarm::HarmAlarm;
pub use blame::{BlamedEntry, BlastRadius, RUN_TRAILER, RunBlame, RunJoin};
pub use exposure_log::{ExposureLog, RunElsewhere};
pub use handoff::HandoffPoints;
pub use ken_core::trust::run::closed::{ClosedRun, PastRun};
pub use ken_core::trust::run::existing_claim::RecordOutcome;
pub use ken_core::trust::run::opening::OpenRunRequest;
pub use reader::EntryReader;
pub use scratch::ScratchCopy;

/// Opens a run, after closing abandoned runs.
///
/// Opening a run marks the start of work, so the health report is updated and automatic
/// maintenance runs.
pub(crate) fn open_run(
    engine: &mut Engine,
    request: OpenRunRequest,
    by: &Actor,
) -> Result<Run, EngineError> {
    engine.close_abandoned_runs(by)?;
    let run = create_run(engine, request, by)?;
    // Neither may fail the run, so both return nothing.
    maintenance::run_due_maintenance(engine, by);
    health::report::update_health_report(engine);
    Ok(run)
}

/// Creates a run without maintenance.
pub(super) fn create_run(
    engine: &mut Engine,
    request: OpenRunRequest,
    by: &Actor,
) -> Result<Run, EngineError> {
    let (id, notes) = opening_notes(request, || engine.runtime.random())?;
    // The id becomes a file name, so a secret in it cannot be redacted, only refused.
    engine.guard.admit_text(&Value::from(id.clone()), by)?;
    let notes = notes
        .into_iter()
        .map(|note| admit_note(engine, note, by))
        .collect::<Result<Vec<RunRecord>, EngineError>>()?;
    RunStore::new(&engine.place)?.create(&id, &notes)?;
    engine.run(&id)
}

/// Appends a note to an open run.
pub(crate) fn record_note(
    engine: &mut Engine,
    id: &str,
    note: RunNote,
    by: &Actor,
) -> Result<(), EngineError> {
    let noted = admit_note(engine, note, by)?;
    RunStore::new(&engine.place)?.append(id, &noted)
}

/// Records an agent's finding and the entries that already state it.
pub(crate) fn observe(
    engine: &mut Engine,
    reader: &EntryReader,
    mut finding: RunFinding,
) -> Result<Run, EngineError> {
    let _in = tracing::info_span!("observe").entered();
    check_finding(&finding)?;
    validity::anchoring::fingerprint_anchors(engine, &mut finding.anchors)?;
    let says: BTreeSet<EntryId> = engine.entries_stating(&finding.statement)?;
    let id = reader::run_for_finding(engine, reader)?;
    let note = RunNote::Observed {
        agent: reader.agent.clone(),
        finding: Box::new(finding),
        says,
    };
    engine.record_note(&id, note, &reader.agent)?;
    engine.run(&id)
}

/// Loads an open run.
pub(crate) fn run(engine: &Engine, id: &str) -> Result<Run, EngineError> {
    let notes = RunStore::new(&engine.place)?.read_notes(id)?;
    Run::from_records(notes)
        .ok_or_else(|| EngineError::Usage(format!("the notes of run `{id}` are damaged")))
}

/// Returns all open runs, oldest first.
pub(crate) fn open_runs(engine: &Engine) -> Result<Vec<Run>, EngineError> {
    open_runs_matching(engine, |_| true)
}

/// Returns the open runs that Ken created itself.
fn implicit_runs(engine: &Engine) -> Result<Vec<Run>, EngineError> {
    open_runs_matching(engine, |id| id.starts_with(IMPLICIT_PREFIX))
}

/// Returns the open runs whose ids match, oldest first.
fn open_runs_matching(engine: &Engine, wanted: fn(&str) -> bool) -> Result<Vec<Run>, EngineError> {
    let store = RunStore::new(&engine.place)?;
    let mut runs = Vec::new();
    for id in store.list_open()?.iter().filter(|id| wanted(id)) {
        // A run with damaged notes is skipped: it must not block the others.
        runs.extend(Run::from_records(store.read_notes(id)?));
    }
    runs.sort_by(|a, b| (a.opened, &a.id).cmp(&(b.opened, &b.id)));
    Ok(runs)
}

/// Returns the closed runs in the order they ended, with those that only this machine knows.
pub(crate) fn past_runs(engine: &Engine) -> Result<Vec<PastRun>, EngineError> {
    let ended = engine.index.of_type::<RunClosed>()?;
    let mut past: Vec<PastRun> = ended.iter().filter_map(PastRun::from_event).collect();
    let observed = observed_runs(engine)?;
    let mut facts: BTreeMap<&str, &RunFacts> = BTreeMap::new();
    facts.extend(observed.iter().map(|it| (it.run.as_str(), &it.facts)));
    for run in &mut past {
        run.facts = facts.get(run.closed.run.as_str()).copied().cloned();
    }
    let deferred = RunStore::new(&engine.place)?.deferred_runs()?;
    past.extend(deferred.iter().map(PastRun::from_unrecorded));
    // A stable sort: events of one moment keep the order of the ledger.
    past.sort_by_key(|it| it.at);
    Ok(past)
}

/// Notes the facts of an open run that hooks observed.
pub(crate) fn note_facts(engine: &mut Engine, id: &str, by: &Actor) -> Result<(), EngineError> {
    facts::note_facts(engine, id, by)
}

/// Returns the runs that programs observed, in their order, with those that only this machine
/// knows.
pub(crate) fn observed_runs(engine: &Engine) -> Result<Vec<ObservedRun>, EngineError> {
    let recorded = engine.index.of_type::<RunObserved>()?;
    let mut runs = outcome::observed_runs(&recorded);
    // A session without results counts here before the ledger has it.
    let deferred = RunStore::new(&engine.place)?.deferred_runs()?;
    runs.extend(deferred.into_iter().filter_map(|run| {
        let assigned = run.drawn_entries();
        Some(ObservedRun {
            facts: run.facts?,
            at: run.last,
            run: run.id,
            assigned,
        })
    }));
    runs.sort_by_key(|it| it.at);
    Ok(runs)
}

/// Adds to `entries` the exposures of runs that are open or deferred, as closing them would.
pub(crate) fn add_unrecorded_exposures(
    engine: &Engine,
    entries: &mut [Entry],
) -> Result<(), EngineError> {
    let unrecorded = RunStore::new(&engine.place)?.unrecorded_notes()?;
    let runs: Vec<_> = unrecorded.iter().map(|notes| shown_days(notes)).collect();
    for entry in entries {
        for day in runs.iter().filter_map(|shown| shown.get(&entry.id)) {
            entry.tallies.shown += 1;
            entry.tallies.days.entry(*day).or_default();
        }
    }
    Ok(())
}

/// Returns the effects of a run on entries, from the ledger.
pub(crate) fn run_effects(engine: &Engine, id: &str) -> Result<Vec<EntryEffect>, EngineError> {
    let recorded = engine.index.of_type::<RunEffects>()?;
    let all = recorded
        .iter()
        .filter_map(|it| it.event.get::<RunEffects>());
    let own = all.filter(|it| it.run == id);
    Ok(own.flat_map(|it| it.effects.iter().cloned()).collect())
}

/// Returns the notes of a run with their times; empty if they are not on this machine.
pub(crate) fn run_records(engine: &Engine, id: &str) -> Result<Vec<RunRecord>, EngineError> {
    let store = RunStore::new(&engine.place)?;
    if store.is_open(id)? {
        return store.read_notes(id);
    }
    store.ended_notes(id)
}

/// Returns the notes of an ended run, if they are still on this machine.
pub(crate) fn ended_run(engine: &Engine, id: &str) -> Result<Option<Run>, EngineError> {
    RunStore::new(&engine.place)?.ended_run(id)
}

/// Returns the runs closed within the last `among` events, latest first.
pub(crate) fn recent_runs(engine: &Engine, among: u32) -> Result<Vec<PastRun>, EngineError> {
    let found = engine.index.latest_events_of_type::<RunClosed>(among)?;
    Ok(found.iter().filter_map(PastRun::from_event).collect())
}

/// Returns the exposures of a session in closed runs; `None` if it has none.
pub(crate) fn session_exposure(
    engine: &Engine,
    session: &str,
) -> Result<Option<ExposureSet>, EngineError> {
    let store = RunStore::new(&engine.place)?;
    if store.has_session(session)? {
        Ok(Some(store.session_exposures(session)?))
    } else {
        Ok(None)
    }
}

/// Closes runs without recent notes as abandoned and returns their ids.
pub(crate) fn close_abandoned_runs(
    engine: &mut Engine,
    by: &Actor,
) -> Result<Vec<String>, EngineError> {
    let now = engine.now();
    let mut swept = Vec::new();
    for run in engine.open_runs()? {
        if run.last.plus_millis(ABANDONED_AFTER_MS) < now {
            abandon_run(engine, &run, by)?;
            swept.push(run.id);
        }
    }
    RunStore::new(&engine.place)?.delete_old_sessions(now)?;
    Ok(swept)
}

/// Closes an abandoned run. A run that cannot be closed is deleted, because it would fail every
/// later attempt to open another run.
fn abandon_run(engine: &mut Engine, run: &Run, by: &Actor) -> Result<(), EngineError> {
    // The end was not observed, so unrecorded exposures are possible.
    let seen = RunVisibility::Partial;
    // An agent without an end hook ends every session this way.
    facts::note_facts(engine, &run.id, by)?;
    let has_results = engine.run(&run.id)?.has_results();
    let ended = if has_results {
        let ending = RunEnding::abandoned();
        closing::end_run_observed(engine, &run.id, seen, &ending, by).map(drop)
    } else {
        closing::defer_run(engine, &run.id, seen, by)
    };
    match ended {
        Err(error) if matches!(error.kind(), ErrorKind::User | ErrorKind::Refused) => {
            let store = RunStore::new(&engine.place)?;
            if !store.is_open(&run.id)? {
                // Another process closed it in the meantime.
                return Ok(());
            }
            tracing::warn!(%error, "cannot close an abandoned run; it is discarded");
            store.discard(run)
        }
        other => other,
    }
}

/// Passes a note through the guard, because notes are files too.
fn admit_note(engine: &Engine, note: RunNote, by: &Actor) -> Result<RunRecord, EngineError> {
    let (at, by) = (engine.now(), by.clone());
    Ok(engine.guard.admit_note(RunRecord { at, by, note })?)
}

/// Waits for the lock that serializes closing runs and its consequences.
pub(crate) fn lock_closing(place: &LedgerLocation) -> Result<Option<LockGuard>, EngineError> {
    RunStore::new(place)?.lock()
}
