//! Closing a run: gathers the touched entries, decides in the core and appends to the ledger.
//!
//! A session in which nothing was learned must not change a tracked file. Its run is deferred: the
//! notes stay on this machine and are closed with the next run that has results, so that exposures
//! still count.

use std::collections::BTreeMap;

use ken_core::decide;
use ken_core::decide::closing_events::{DraftWithId, closing_drafts, closing_id, proposal_for};
use ken_core::ledger::store::DerivedStore as _;
use ken_core::trust::facts::Validity;
use ken_core::trust::run::accumulation::{AcceptedFinding, accept_findings};
use ken_core::trust::run::closed::{ClosedRun, FindingOutcomes};
use ken_core::trust::run::closing::{
    self, RunClosing, RunEnding, TouchedEntry, collect_touched_entries,
};
use ken_core::trust::run::exposure::ExposureSet;
use ken_core::trust::run::{Run, RunNote, RunRecord};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use tracing::field::Empty;

use super::store::RunStore;
use super::{alarm, follow_up};
use crate::engine::Engine;
use crate::error::{EngineError, ErrorKind};
use crate::{files, health, hooks, maintenance, runs, validity};

/// Observed part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunVisibility {
    Complete,
    /// The end was not observed.
    Partial,
}

/// Closes a run and appends all events that follow from it.
///
/// The decision uses the ledger only. Edits of entry files are synced by the next command that
/// writes entries; an edited file is not rendered before.
pub(crate) fn close_run(
    engine: &mut Engine,
    id: &str,
    ending: &RunEnding,
    by: &Actor,
) -> Result<ClosedRun, EngineError> {
    let span = tracing::info_span!("close_run", touched = Empty, gained = Empty);
    let _in = span.enter();
    let closed = end_run(engine, id, ending, by)?;
    span.record("touched", closed.closing.effects.len());
    span.record("gained", closed.gained.len());
    maintenance::run_due_maintenance(engine, by);
    Ok(closed)
}

/// Closes a run without maintenance.
pub(super) fn end_run(
    engine: &mut Engine,
    id: &str,
    ending: &RunEnding,
    by: &Actor,
) -> Result<ClosedRun, EngineError> {
    end_run_observed(engine, id, RunVisibility::Complete, ending, by)
}

/// Like [`end_run`], for a run whose end may not have been observed.
pub(super) fn end_run_observed(
    engine: &mut Engine,
    id: &str,
    seen: RunVisibility,
    ending: &RunEnding,
    by: &Actor,
) -> Result<ClosedRun, EngineError> {
    let store = RunStore::new(&engine.place)?;
    // Two processes that close a run at the same time would count everything twice.
    let _lock = store.lock()?;
    super::facts::note_facts(engine, id, by)?;
    let mut run = engine.run(id)?;
    match seen {
        RunVisibility::Complete => {}
        RunVisibility::Partial => run.apply(RunNote::Gap),
    }
    // Before this run, so that exposures count in the order they happened.
    record_deferred_runs(engine, &store, by);
    let closed = append_closing(engine, run, ending, by)?;
    store.close(&closed.run)?;
    hooks::session_state::delete_state(&engine.place, id);
    observe_outcomes(engine, &closed.run, by);
    Ok(closed)
}

/// Records what became of earlier runs, and mutes entries that hurt. Neither may fail the run.
fn observe_outcomes(engine: &mut Engine, run: &Run, by: &Actor) {
    // The fate of earlier commits first, because it may be evidence for the alarm.
    let followed = follow_up::record_follow_ups(engine, by);
    let muted = followed.and_then(|()| alarm::mute_harmful(engine, run));
    if let Err(error) = muted {
        tracing::warn!(%error, "cannot evaluate what was observed of runs");
    }
}

/// Ends a run without results: its notes stay on this machine until a run has some.
pub(crate) fn defer_run(
    engine: &Engine,
    id: &str,
    seen: RunVisibility,
    by: &Actor,
) -> Result<(), EngineError> {
    let store = RunStore::new(&engine.place)?;
    let _lock = store.lock()?;
    let run = engine.run(id)?;
    // Names that the ledger will refuse must not wait for it.
    let names = run.agents.keys().map(ToString::to_string);
    engine.guard.admit_text(&names.collect(), by)?;
    match seen {
        RunVisibility::Complete => {}
        RunVisibility::Partial => store.append(id, &RunRecord::gap())?,
    }
    store.defer(&run)
}

/// Closes the deferred runs. One that cannot be closed now stays deferred, and must not prevent
/// the current run from being closed.
fn record_deferred_runs(engine: &mut Engine, store: &RunStore, by: &Actor) {
    let runs = store.deferred_runs().unwrap_or_default();
    for run in runs {
        let written = append_closing(engine, run.clone(), &RunEnding::abandoned(), by)
            .and_then(|closed| store.close_deferred(&closed.run));
        let Err(error) = written else {
            continue;
        };
        tracing::warn!(%error, "cannot record an ended run");
        if matches!(error.kind(), ErrorKind::User | ErrorKind::Refused) {
            // It would be refused every time.
            let _ = store.discard_deferred(&run);
        }
    }
}

/// Decides the effects of a run and appends its events.
fn append_closing(
    engine: &mut Engine,
    mut run: Run,
    ending: &RunEnding,
    by: &Actor,
) -> Result<ClosedRun, EngineError> {
    let last = closing_id(&run);
    // The event exists if a process stopped after the append and before moving the notes.
    let is_written = engine.index.event(last)?.is_some();
    let FindingOutcomes { gained, refused } = if is_written {
        FindingOutcomes::default()
    } else {
        add_gained_entries(engine, &mut run, ending, by)?
    };
    let touched = load_touched_entries(engine, &run)?;
    let mut closing = decide_closing(engine, &run, ending, &touched)?;
    closing.closed.extracted += u32::try_from(gained.len()).unwrap_or(u32::MAX);
    if !is_written {
        let missed = health::misses::miss_drafts(engine)?;
        let all_drafts = closing_drafts(&run, &closing, &touched, missed, engine.now().date())?;
        // The ids are derived from the run, so events of an interrupted attempt are recognized.
        let new_drafts = missing_drafts(engine, all_drafts)?;
        engine.record_with_ids(new_drafts, by)?;
    }
    files::render_due(engine)?;
    Ok(ClosedRun {
        run,
        closing,
        gained,
        refused,
    })
}

/// Returns the drafts that an interrupted attempt did not append.
fn missing_drafts(
    engine: &Engine,
    drafts: Vec<DraftWithId>,
) -> Result<Vec<DraftWithId>, EngineError> {
    let mut new = Vec::with_capacity(drafts.len());
    for (id, draft) in drafts {
        let written = id.map(|id| engine.index.event(id)).transpose()?.flatten();
        new.extend(written.is_none().then_some((id, draft)));
    }
    Ok(new)
}

/// Decides the consequences of a run for the entries it touched.
fn decide_closing(
    engine: &Engine,
    run: &Run,
    ending: &RunEnding,
    touched: &[TouchedEntry],
) -> Result<RunClosing, EngineError> {
    let outside = runs::implicit_runs(engine)?;
    let mut before = BTreeMap::new();
    for agent in run.agents.keys() {
        before.insert(agent, exposure_before(engine, run, agent, &outside)?);
    }
    let before = |agent: &Actor| before.get(agent).cloned().unwrap_or_default();
    let policy = engine.review_policy()?;
    Ok(closing::close_run(
        run,
        ending,
        touched,
        &before,
        policy,
        engine.now(),
    ))
}

/// Loads every entry that the run showed, withheld, used, added or found again.
fn load_touched_entries(engine: &mut Engine, run: &Run) -> Result<Vec<TouchedEntry>, EngineError> {
    let ids = run.touched_entries();
    let mut entries = Vec::with_capacity(ids.len());
    for id in ids {
        entries.extend(engine.index.entry(id)?);
    }
    // Validity is only needed for used entries, where it decides how evidence decays.
    let checked =
        validity::anchoring::validity_of(engine, entries.iter().filter(|it| run.uses(it.id)))?;
    let validity = |id: EntryId| {
        let known = checked.get(&id).copied();
        known.unwrap_or(Validity::Unverifiable)
    };
    Ok(collect_touched_entries(run, entries, validity))
}

/// Returns an agent's exposures before a run: in its session and in implicit runs.
fn exposure_before(
    engine: &Engine,
    run: &Run,
    agent: &Actor,
    outside: &[Run],
) -> Result<ExposureSet, EngineError> {
    let in_session = match run.session_of(agent) {
        Some(session) => RunStore::new(&engine.place)?.session_exposures(session)?,
        None => ExposureSet::default(),
    };
    Ok(run.prior_exposures(agent, in_session, outside))
}

/// Adds entries for new findings, and notes the entries that state the others.
fn add_gained_entries(
    engine: &mut Engine,
    run: &mut Run,
    ending: &RunEnding,
    by: &Actor,
) -> Result<FindingOutcomes, EngineError> {
    for found in run.unmatched_findings() {
        // Another process may have added such an entry since the finding was recorded.
        found.says = engine.entries_stating(&found.finding.statement)?;
    }
    let mut taken = FindingOutcomes::default();
    for gained in accept_findings(run, ending.outcome) {
        match add_gained_entry(engine, &gained, run, ending, by) {
            Ok(id) => taken.gained.push(id),
            Err(
                why @ (EngineError::Refused(_)
                | EngineError::UnsupportedByCode { .. }
                | EngineError::RejectedByGuard(_)
                | EngineError::QualityTooLow { .. }
                | EngineError::TooLarge(_)
                | EngineError::Usage(_)),
            ) => {
                taken.refused.push((gained.finding, why.to_string()));
            }
            Err(other) => return Err(other),
        }
    }
    Ok(taken)
}

/// Adds an entry for a finding, through the guard like every other entry.
fn add_gained_entry(
    engine: &mut Engine,
    gained: &AcceptedFinding,
    run: &Run,
    ending: &RunEnding,
    by: &Actor,
) -> Result<EntryId, EngineError> {
    let now = engine.now();
    let proposed = proposal_for(gained, run, ending, now);
    let proposal = proposed.map_err(|error| EngineError::Usage(format!("{error}")))?;
    // The author is the finder, not the actor that closes the run.
    let finder = gained.found_by.first().unwrap_or(by);
    let id = engine.add_many(vec![proposal], finder)?.remove(0);
    let entry = engine.entry(id)?;
    let drafts = decide::changes_after_gain(&entry, gained, run, ending.outcome, now.date())?;
    engine.record(drafts, by)?;
    Ok(id)
}
