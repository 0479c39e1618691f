//! Undo: the event that reverses another.
//!
//! Nothing is deleted; an undo appends an event. Citations are permanent because provenance is
//! append-only, and a redaction is final because no data is left to restore.

use crate::ledger::entry::Entry;
use crate::ledger::event::{
    Archived, Channel, Cited, Confirmed, Event, EventBlanked, EventBody, Linked, OverlaySet,
    Proposed, Restored, RetractReason, Retracted, Revised, StatusChanged, Switch,
};
use crate::ledger::fold::fold_entry;
use crate::values::content::{Content, ContentChanges};
use crate::values::id::EventId;

use super::{Draft, Refusal, draft_about, edit, ensure_writable};

/// Returns the draft that undoes `event`, given all events of the entry.
pub fn undo(entry: &Entry, event: &Event, history: &[Event]) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    if event.get::<Proposed>().is_some() {
        // `Withdrawn` leaves no tombstone, so the same claim can be added again.
        let reason = RetractReason::Withdrawn;
        let body = Retracted {
            reason,
            channel: Channel::Command,
            note: None,
        };
        return Ok(draft_about(entry, EventBody::Retracted(body)));
    }
    // Refolding without the event restores each field, unless a later edit has changed it again.
    if event.get::<Revised>().is_some() {
        return edit(
            entry,
            changes_to_undo(entry, event, history)?,
            None,
            Channel::Command,
            None,
        );
    }
    if let Some(data) = event.get::<Confirmed>() {
        let body = Confirmed {
            withdraws: vec![event.id],
            ..data.clone()
        };
        return Ok(draft_about(entry, EventBody::Confirmed(body)));
    }
    if let Some(data) = event.get::<Linked>() {
        let body = Linked {
            withdraws: vec![event.id],
            ..data.clone()
        };
        return Ok(Draft {
            // The order of `draft_about` decides which entry owns the link.
            about: event.about.clone(),
            body: EventBody::Linked(body),
        });
    }
    if event.get::<Archived>().is_some() || event.get::<Retracted>().is_some() {
        let body = Restored {
            undoes: vec![event.id],
            reason: None,
        };
        return Ok(draft_about(entry, EventBody::Restored(body)));
    }
    if let Some(data) = event.get::<Restored>() {
        return repeat_undone(entry, &data.undoes, history);
    }
    if event.get::<StatusChanged>().is_some() {
        // The previous status is not in the event; refolding without it gives the value.
        let to = entry_before(entry, event, history)?.status.value;
        let replaces = entry.status.heads.clone();
        let body = StatusChanged {
            to,
            replaces,
            reason: None,
        };
        return Ok(draft_about(entry, EventBody::StatusChanged(body)));
    }
    if let Some(data) = event.get::<OverlaySet>() {
        return Ok(draft_about(
            entry,
            EventBody::OverlaySet(inverted(data, event.id)),
        ));
    }
    Err(Refusal::CannotUndo {
        what: describe_event(event),
    })
}

/// Returns the annotation with the opposite state.
fn inverted(data: &OverlaySet, event: EventId) -> OverlaySet {
    let state = match data.state {
        Switch::On => Switch::Off,
        Switch::Off => Switch::On,
    };
    OverlaySet {
        state,
        // Replaces only the undone event, so a concurrent change stays in effect.
        replaces: vec![event],
        ..data.clone()
    }
}

fn describe_event(event: &Event) -> &'static str {
    if event.get::<Cited>().is_some() {
        "citation (provenance is append-only)"
    } else if event.get::<EventBlanked>().is_some() {
        "redaction"
    } else {
        "change of this type"
    }
}

/// Folds the entry without `event`.
fn entry_before(entry: &Entry, event: &Event, history: &[Event]) -> Result<Entry, Refusal> {
    let others = history.iter().filter(|other| other.id != event.id);
    fold_entry(entry.id, others).ok_or(Refusal::NoContent(entry.id))
}

/// Returns the changes that restore the fields edited by `event`.
fn changes_to_undo(
    entry: &Entry,
    event: &Event,
    history: &[Event],
) -> Result<ContentChanges, Refusal> {
    let old: Content = entry_before(entry, event, history)?
        .content
        .ok_or(Refusal::NoContent(entry.id))?;
    let now = entry.content.as_ref().ok_or(Refusal::NoContent(entry.id))?;
    Ok(now.changes_to(&old))
}

/// Repeats the retraction or archiving that a restore had undone.
fn repeat_undone(entry: &Entry, undone: &[EventId], history: &[Event]) -> Result<Draft, Refusal> {
    // Newest first: the latest of several undone events is repeated.
    let again = history
        .iter()
        .rev()
        .filter(|event| undone.contains(&event.id));
    for event in again {
        if let Some(data) = event.get::<Retracted>() {
            return Ok(draft_about(entry, EventBody::Retracted(data.clone())));
        }
        if let Some(data) = event.get::<Archived>() {
            return Ok(draft_about(entry, EventBody::Archived(data.clone())));
        }
    }
    Err(Refusal::NothingChanges)
}
