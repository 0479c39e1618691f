//! Steps: the events that one command wrote, which are undone and redone together.
//!
//! A step has the id of its first event. Each further event names it with the subject `step:ID`;
//! events that undo or redo a step name that step with `undo:ID` or `redo:ID`. Readers that do not
//! know these subjects ignore them, so an event without one is a step of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::event::{Event, EventSubject, RecordedEvent};
use crate::values::id::EventId;

const STEP: &str = "step:";
const UNDO: &str = "undo:";
const REDO: &str = "redo:";

/// What a step does to the history of its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepRole {
    Change,
    /// Undoes the step with this id.
    Undo(EventId),
    /// Repeats the step with this id after an undo.
    Redo(EventId),
}

/// A step with its events in the order they were written.
#[derive(Clone, Debug)]
pub struct Step {
    /// The id to show to people: a redo keeps the id of the step that it repeats.
    pub id: EventId,
    pub role: StepRole,
    pub events: Vec<RecordedEvent>,
}

/// Returns the subject of a further event of the step `id`.
pub fn step_subject(id: EventId) -> EventSubject {
    EventSubject::Other(format!("{STEP}{id}"))
}

/// Returns the id of the step that the event belongs to.
pub fn step_of(event: &Event) -> EventId {
    subject_id(event, STEP).unwrap_or(event.id)
}

impl StepRole {
    /// Returns the subject that marks events with this role.
    pub fn subject(self) -> Option<EventSubject> {
        match self {
            Self::Change => None,
            Self::Undo(id) => Some(EventSubject::Other(format!("{UNDO}{id}"))),
            Self::Redo(id) => Some(EventSubject::Other(format!("{REDO}{id}"))),
        }
    }

    fn of(event: &Event) -> Self {
        let undone = subject_id(event, UNDO).map(Self::Undo);
        let redone = || subject_id(event, REDO).map(Self::Redo);
        undone.or_else(redone).unwrap_or(Self::Change)
    }
}

/// Steps of one author, from the newest to the oldest.
///
/// Each step is reported once: as its newest undo if it is undone, else as its newest redo or
/// itself.
#[derive(Debug, Default)]
pub struct StepHistory {
    open: BTreeMap<EventId, Vec<RecordedEvent>>,
    reported: BTreeSet<EventId>,
}

impl StepHistory {
    /// Adds the next older event; returns a step once its first event is known.
    pub fn add(&mut self, recorded: RecordedEvent) -> Option<Step> {
        let event = &recorded.event;
        let (id, role) = (event.id, StepRole::of(event));
        let step = step_of(event);
        self.open.entry(step).or_default().push(recorded);
        if step != id {
            return None;
        }
        let mut events = self.open.remove(&step)?;
        events.reverse();
        let id = match role {
            StepRole::Change => step,
            StepRole::Undo(id) | StepRole::Redo(id) => id,
        };
        let is_newest = self.reported.insert(id);
        is_newest.then_some(Step { id, role, events })
    }
}

fn subject_id(event: &Event, prefix: &str) -> Option<EventId> {
    event.about.iter().find_map(|subject| match subject {
        EventSubject::Other(text) => text.strip_prefix(prefix)?.parse().ok(),
        EventSubject::Entry(_) => None,
    })
}
