//! Handoffs: unfinished work that one session leaves to the next one on its branch.
//!
//! A handoff is a message, not knowledge: it is never searched, ranked or archived, and the fold of
//! entries ignores it. It waits until one reader takes it, its author replaces it, or it expires.
//! If two clones take it, the first in canonical order has it in every clone.

use serde::Serialize;

use crate::ledger::event::{EventBody, HandoffTaken, HandoffWritten, RecordedEvent};
use crate::values::actor::Actor;
use crate::values::id::EventId;
use crate::values::text::{Note, escape_invisible};
use crate::values::time::{DAY_MS, Timestamp};

/// Days after which a handoff is no longer shown: work that nobody continued so long is stale.
pub const EXPIRES_AFTER_DAYS: u64 = 14;

/// Maximum number of points per section.
pub const POINTS_MAX: usize = 8;

/// Maximum bytes of all points, so that a handoff is always shown whole.
pub const HANDOFF_BYTES_MAX: usize = 2_400;

/// Maximum number of sessions on one machine that are shown a handoff without taking it.
pub const SHOWN_MAX: usize = 3;

/// Names of the sections, in the order they are shown.
pub const SECTIONS: [&str; 3] = ["unfinished", "tried", "open"];

/// Reason why a handoff cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandoffError {
    #[error("a handoff needs at least one point: --unfinished, --tried or --open")]
    Empty,
    #[error("a handoff has at most {POINTS_MAX} points per section")]
    TooManyPoints,
    #[error("the handoff has {0} bytes, at most {HANDOFF_BYTES_MAX} are allowed")]
    TooLong(usize),
}

/// What became of a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffState {
    Waiting,
    Taken,
    /// Its author wrote a newer one on the same branch.
    Replaced,
    Expired,
}

/// Who took a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandoffTake {
    /// The event that took it.
    pub event: EventId,
    pub by: Actor,
    pub at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A handoff with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Handoff {
    pub id: EventId,
    pub at: Timestamp,
    pub by: Actor,
    #[serde(flatten)]
    pub written: HandoffWritten,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<HandoffTake>,
    #[serde(skip)]
    replaced: bool,
}

impl HandoffWritten {
    /// Checks the limits of a handoff.
    pub fn check(&self) -> Result<(), HandoffError> {
        let sections = self.sections();
        if sections.iter().all(|it| it.is_empty()) {
            return Err(HandoffError::Empty);
        }
        if sections.iter().any(|it| it.len() > POINTS_MAX) {
            return Err(HandoffError::TooManyPoints);
        }
        let bytes = sections.iter().flat_map(|it| it.iter());
        let bytes = bytes.map(|it| it.as_str().len()).sum();
        if bytes > HANDOFF_BYTES_MAX {
            return Err(HandoffError::TooLong(bytes));
        }
        Ok(())
    }

    /// Returns the points of each of [`SECTIONS`].
    pub fn sections(&self) -> [&[Note]; 3] {
        [&self.unfinished, &self.tried, &self.open]
    }

    /// Returns the points as text, one line per point.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, points) in SECTIONS.iter().zip(self.sections()) {
            if points.is_empty() {
                continue;
            }
            text.push_str(name);
            text.push_str(":\n");
            for point in points {
                let point = escape_invisible(point.as_str());
                // One line per point: a note may contain line breaks.
                let words: Vec<&str> = point.split_whitespace().collect();
                text.push_str("- ");
                text.push_str(&words.join(" "));
                text.push('\n');
            }
        }
        text
    }

    /// Returns whether a later handoff continues this one.
    fn is_replaced_by(&self, by: &Actor, later: &Self, later_by: &Actor) -> bool {
        let same_author = match (&self.run, &later.run) {
            // Agents share a name, so their run tells them apart.
            (Some(run), Some(later)) => run == later,
            (None, None) => by == later_by,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.branch == later.branch && same_author
    }
}

impl Handoff {
    /// Returns what became of the handoff at `now`.
    pub fn state(&self, now: Timestamp) -> HandoffState {
        if self.taken.is_some() {
            HandoffState::Taken
        } else if self.replaced {
            HandoffState::Replaced
        } else if self.at.plus_millis(EXPIRES_AFTER_DAYS * DAY_MS) < now {
            HandoffState::Expired
        } else {
            HandoffState::Waiting
        }
    }

    /// Returns whether the handoff waits on `branch`.
    pub fn waits_on(&self, branch: Option<&str>, now: Timestamp) -> bool {
        self.written.branch.as_deref() == branch && self.state(now) == HandoffState::Waiting
    }
}

/// Returns the handoffs of events in canonical order, oldest first. Quarantined ones are left out.
pub fn handoffs_of(events: &[RecordedEvent]) -> Vec<Handoff> {
    let mut all: Vec<Handoff> = Vec::new();
    let admitted = events.iter().map(|it| &it.event);
    for event in admitted.filter(|it| !it.is_quarantined()) {
        if let EventBody::HandoffWritten(written) = &event.body {
            for earlier in &mut all {
                let replaces = earlier
                    .written
                    .is_replaced_by(&earlier.by, written, &event.by);
                earlier.replaced |= replaces;
            }
            all.push(Handoff {
                id: event.id,
                at: event.at.wall,
                by: event.by.clone(),
                written: written.clone(),
                taken: None,
                replaced: false,
            });
        }
        if let EventBody::HandoffTaken(HandoffTaken { handoff, run }) = &event.body {
            let taken = all.iter_mut().find(|it| it.id == *handoff);
            if let Some(taken) = taken.filter(|it| it.taken.is_none()) {
                taken.taken = Some(HandoffTake {
                    event: event.id,
                    by: event.by.clone(),
                    at: event.at.wall,
                    run: run.clone(),
                });
            }
        }
    }
    all
}
