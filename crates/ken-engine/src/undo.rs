//! Undo and redo of an author's steps, with compensating events.
//!
//! The steps of an author form a stack: an undo reverses the newest one that is not undone, a redo
//! repeats the one that was undone last. A new change ends the possibility to redo.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use ken_core::decide::{self, Draft, EntryHistory, Refusal, UndoDrafts, is_automatic};
use ken_core::ledger::event::{Event, EventSubject, RecordedEvent};
use ken_core::ledger::step::{Step, StepHistory, StepRole, step_of};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::guard::sources::record_quarantined;
use crate::{entries, files, sync};

/// The reason of a quarantine that an undo restored.
const RELEASE_UNDONE: &str = "its release was undone";

/// A step that was undone or redone.
#[derive(Clone, Debug)]
pub struct UndoneStep {
    pub id: EventId,
    /// The events of the step, in the order they were written.
    pub events: Vec<RecordedEvent>,
    /// The entries that changed.
    pub entries: Vec<EntryId>,
    /// Parts of the step that stay, because they cannot be undone.
    pub kept: Vec<&'static str>,
}

/// Undoes the step of `by` that begins with the event `wanted`, or else the newest one.
pub(crate) fn undo(
    engine: &mut Engine,
    wanted: Option<EventId>,
    by: &Actor,
) -> Result<UndoneStep, EngineError> {
    sync::sync_before_writing(engine)?;
    let mut without_effect = BTreeSet::new();
    loop {
        let step = find_step(engine, by, |step| {
            let is_done = !matches!(step.role, StepRole::Undo(_));
            match wanted {
                Some(id) if id == step.id && !is_done => ControlFlow::Break(None),
                Some(id) => found(id == step.id, step),
                None => found(is_done && !without_effect.contains(&step.id), step),
            }
        })?;
        let step = step.ok_or_else(|| match wanted {
            Some(id) => EngineError::Usage(format!("{by} has no step {id} to undo")),
            None => EngineError::Usage(format!("{by} has no step to undo")),
        })?;
        let id = step.id;
        match reverse(engine, step, StepRole::Undo(id), by) {
            // A step that changed nothing must not end the stack.
            Err(EngineError::Refused(Refusal::NothingChanges)) if wanted.is_none() => {
                without_effect.insert(id);
            }
            undone => return undone,
        }
    }
}

/// Repeats the step of `by` that was undone last.
pub(crate) fn redo(engine: &mut Engine, by: &Actor) -> Result<UndoneStep, EngineError> {
    sync::sync_before_writing(engine)?;
    let step = find_step(engine, by, |step| match step.role {
        StepRole::Undo(_) => ControlFlow::Break(Some(step)),
        StepRole::Redo(_) => ControlFlow::Continue(()),
        // A change after the undo: repeating the older step would mix both.
        StepRole::Change => ControlFlow::Break(None),
    })?;
    let step = step.ok_or_else(|| EngineError::Usage(format!("{by} has no step to redo")))?;
    let id = step.id;
    let mut events = Vec::new();
    engine.index.for_each_event_by(by, &mut |recorded| {
        let is_first = recorded.event.id == id;
        if step_of(&recorded.event) == id {
            events.push(recorded);
        }
        // The first event of a step is its oldest.
        if is_first {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    events.reverse();
    let redone = reverse(engine, step, StepRole::Redo(id), by)?;
    Ok(UndoneStep { events, ..redone })
}

/// Returns the newest `limit` steps of `by` that `ken undo` would undo one by one, newest first.
pub(crate) fn undoable_steps(
    engine: &Engine,
    limit: usize,
    by: &Actor,
) -> Result<Vec<Step>, EngineError> {
    let mut steps = Vec::new();
    find_step(engine, by, |step| {
        if !matches!(step.role, StepRole::Undo(_)) {
            steps.push(step);
        }
        found_enough(steps.len() >= limit)
    })?;
    Ok(steps)
}

fn found(is_it: bool, step: Step) -> ControlFlow<Option<Step>> {
    if is_it {
        ControlFlow::Break(Some(step))
    } else {
        ControlFlow::Continue(())
    }
}

fn found_enough(enough: bool) -> ControlFlow<Option<Step>> {
    if enough {
        ControlFlow::Break(None)
    } else {
        ControlFlow::Continue(())
    }
}

/// Calls `test` with the steps of `by`, newest first, until it breaks; returns its result.
fn find_step(
    engine: &Engine,
    by: &Actor,
    mut test: impl FnMut(Step) -> ControlFlow<Option<Step>>,
) -> Result<Option<Step>, EngineError> {
    let mut history = StepHistory::default();
    let mut result = None;
    engine.index.for_each_event_by(by, &mut |recorded| {
        let step = history.add(recorded);
        let own = step.filter(|step| !step.events.iter().all(|it| is_automatic(&it.event)));
        match own.map(&mut test) {
            Some(ControlFlow::Break(found)) => {
                result = found;
                ControlFlow::Break(())
            }
            Some(ControlFlow::Continue(())) | None => ControlFlow::Continue(()),
        }
    })?;
    Ok(result)
}

/// Appends events that reverse `step`, marked with `role`.
fn reverse(
    engine: &mut Engine,
    step: Step,
    role: StepRole,
    by: &Actor,
) -> Result<UndoneStep, EngineError> {
    let events: Vec<Event> = step.events.iter().map(|it| it.event.clone()).collect();
    let mut known: BTreeMap<EntryId, EntryHistory> = BTreeMap::new();
    let ids: BTreeSet<EntryId> = events.iter().flat_map(Event::entries).collect();
    for id in ids {
        let entry = engine.entry(id)?;
        let events = engine.history(id)?.into_iter().map(|it| it.event).collect();
        known.insert(id, EntryHistory { entry, events });
    }
    let UndoDrafts {
        drafts,
        quarantined,
        kept,
    } = decide::undo(&events, &known)?;
    let subjects = drafts
        .iter()
        .chain(&quarantined)
        .flat_map(|draft| &draft.about);
    let mut entries: Vec<EntryId> = Vec::new();
    let mut seen = BTreeSet::new();
    for subject in subjects {
        if let EventSubject::Entry(id) = subject
            && seen.insert(*id)
        {
            entries.push(*id);
        }
    }
    // One step, so that the next undo or redo finds all of it.
    engine.start_step();
    let mark = |mut draft: Draft| {
        draft.about.extend(role.subject());
        draft
    };
    let marked = drafts.into_iter().map(|draft| (None, mark(draft)));
    for batch in entries::batches(marked.collect()) {
        engine.record_with_ids(batch, by)?;
    }
    let quarantined = quarantined.into_iter().map(mark).collect();
    record_quarantined(engine, quarantined, RELEASE_UNDONE, by)?;
    files::render_due(engine)?;
    Ok(UndoneStep {
        id: step.id,
        events: step.events,
        entries,
        kept,
    })
}
