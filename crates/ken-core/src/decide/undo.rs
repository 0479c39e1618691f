//! The event that takes another one back.
//!
//! Nothing is erased: undoing appends. Citations stay for ever (provenance is append-only), and
//! blanking cannot be undone because nothing is left to bring back.

use crate::content::{Changes, Content};
use crate::entry::Entry;
use crate::event::{
    Archived, Body, Channel, Cited, Confirmed, Event, EventBlanked, Linked, OverlaySet, Proposed,
    Restored, RetractReason, Retracted, Revised, StatusChanged, Switch,
};
use crate::fold::fold_entry;
use crate::id::EventId;

use super::{Draft, Refusal, about, revise, writable};

/// Returns the event that undoes `event`, given every event of the entry.
pub fn undo(entry: &Entry, event: &Event, history: &[Event]) -> Result<Draft, Refusal> {
    writable(entry)?;
    if event.get::<Proposed>().is_some() {
        let reason = RetractReason::Withdrawn;
        let body = Retracted {
            reason,
            channel: Channel::Command,
            note: None,
        };
        return Ok(about(entry, Body::Retracted(body)));
    }
    if event.get::<Revised>().is_some() {
        return revise(
            entry,
            changes_back(entry, event, history)?,
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
        return Ok(about(entry, Body::Confirmed(body)));
    }
    if let Some(data) = event.get::<Linked>() {
        let body = Linked {
            withdraws: vec![event.id],
            ..data.clone()
        };
        return Ok(Draft {
            about: event.about.clone(),
            body: Body::Linked(body),
        });
    }
    if event.get::<Archived>().is_some() || event.get::<Retracted>().is_some() {
        let body = Restored {
            undoes: vec![event.id],
            reason: None,
        };
        return Ok(about(entry, Body::Restored(body)));
    }
    if let Some(data) = event.get::<Restored>() {
        return restore_undone(entry, &data.undoes, history);
    }
    if event.get::<StatusChanged>().is_some() {
        let to = before(entry, event, history)?.status.value;
        let replaces = entry.status.heads.clone();
        let body = StatusChanged {
            to,
            replaces,
            reason: None,
        };
        return Ok(about(entry, Body::StatusChanged(body)));
    }
    if let Some(data) = event.get::<OverlaySet>() {
        return Ok(about(entry, Body::OverlaySet(switched(data, event.id))));
    }
    Err(Refusal::CannotUndo {
        what: name_of(event),
    })
}

/// Returns the mark turned the other way.
fn switched(data: &OverlaySet, event: EventId) -> OverlaySet {
    let state = match data.state {
        Switch::On => Switch::Off,
        Switch::Off => Switch::On,
    };
    OverlaySet {
        state,
        replaces: vec![event],
        ..data.clone()
    }
}

fn name_of(event: &Event) -> &'static str {
    if event.get::<Cited>().is_some() {
        "citation (provenance is append-only)"
    } else if event.get::<EventBlanked>().is_some() {
        "blanking"
    } else {
        "event of this type"
    }
}

/// Returns the entry as it was without `event`.
fn before(entry: &Entry, event: &Event, history: &[Event]) -> Result<Entry, Refusal> {
    let others = history.iter().filter(|other| other.id != event.id);
    fold_entry(entry.id, others).ok_or(Refusal::NoContent(entry.id))
}

/// Returns the changes that give the fields `event` worded their earlier text.
fn changes_back(entry: &Entry, event: &Event, history: &[Event]) -> Result<Changes, Refusal> {
    let old: Content = before(entry, event, history)?
        .content
        .ok_or(Refusal::NoContent(entry.id))?;
    let now = entry.content.as_ref().ok_or(Refusal::NoContent(entry.id))?;
    Ok(now.changes_to(&old))
}

/// Archives or retracts again what a restoration had brought back.
fn restore_undone(entry: &Entry, undone: &[EventId], history: &[Event]) -> Result<Draft, Refusal> {
    let again = history
        .iter()
        .rev()
        .filter(|event| undone.contains(&event.id));
    for event in again {
        if let Some(data) = event.get::<Retracted>() {
            return Ok(about(entry, Body::Retracted(data.clone())));
        }
        if let Some(data) = event.get::<Archived>() {
            return Ok(about(entry, Body::Archived(data.clone())));
        }
    }
    Err(Refusal::NothingChanges)
}
