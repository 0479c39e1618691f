//! Changes to an entry that exists.

use crate::actor::Actor;
use crate::anchor::Anchor;
use crate::citation::Citation;
use crate::content::Changes;
use crate::entry::Entry;
use crate::event::{
    ArchiveReason, Archived, BlankReason, Body, Channel, Cited, Confirmed, EventBlanked, Linked,
    MergeStrategy, Origin, Overlay, OverlaySet, Provenance, QuarantineLifted, Reanchored, Recorded,
    Relation, Restored, RetractReason, Retracted, Revised, StatusChanged, Switch,
};
use crate::id::EventId;
use crate::status::Status;
use crate::text::Note;
use crate::time::Date;

use super::propose::{check_conditions, check_content};
use super::{Draft, Refusal, about, person_needed, writable};

/// Words some fields anew, based on everything that stands now or on `base` where given.
pub fn revise(
    entry: &Entry,
    changes: Changes,
    base: Option<Vec<EventId>>,
    channel: Channel,
    reason: Option<Note>,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    let content = entry.content.clone().ok_or(Refusal::NoContent(entry.id))?;
    if changes.is_empty() {
        return Err(Refusal::NothingChanges);
    }
    let kind = entry.kind().ok_or(Refusal::NoContent(entry.id))?;
    if let Some(conditions) = &changes.depends_on {
        check_conditions(conditions, &content.depends_on)?;
    }
    check_content(kind, &content.with(changes.clone()))?;
    let replaces = base.unwrap_or_else(|| entry.revision.clone());
    Ok(about(
        entry,
        Body::Revised(Revised {
            origin: None,
            changes,
            replaces,
            channel,
            reason,
        }),
    ))
}

/// Points an entry at where its code went, or at how it looks now; the words stay.
pub fn reanchor(entry: &Entry, evidence: Vec<Anchor>) -> Result<Draft, Refusal> {
    writable(entry)?;
    let content = entry.content.as_ref().ok_or(Refusal::NoContent(entry.id))?;
    if content.evidence == evidence {
        return Err(Refusal::NothingChanges);
    }
    let replaces = entry.revision.clone();
    Ok(about(
        entry,
        Body::Reanchored(Reanchored { evidence, replaces }),
    ))
}

/// Adds evidence.
pub fn cite(entry: &Entry, citation: Citation) -> Result<Draft, Refusal> {
    writable(entry)?;
    if entry.citations.contains(&citation) {
        return Err(Refusal::NothingChanges);
    }
    Ok(about(entry, Body::Cited(Cited { citation })))
}

/// Records that somebody agrees, and how they came to.
///
/// A person's word confirms; an agent that calls this has seen the entry, so its word is primed.
pub fn confirm(entry: &Entry, by: &Actor, on: Date) -> Result<Draft, Refusal> {
    writable(entry)?;
    let provenance = if by.is_human() {
        Provenance::Manual
    } else {
        Provenance::Primed
    };
    let body = Confirmed {
        provenance,
        on,
        run: None,
        withdraws: Vec::new(),
    };
    Ok(about(entry, Body::Confirmed(body)))
}

/// Moves the entry on the status ladder; only a person may call something verified by hand.
pub fn set_status(
    entry: &Entry,
    to: Status,
    by: &Actor,
    reason: Option<Note>,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    if to == Status::Verified {
        person_needed("verifying by hand", by)?;
    }
    if entry.status.value == to && entry.status.heads.len() < 2 {
        return Err(Refusal::NothingChanges);
    }
    let replaces = entry.status.heads.clone();
    Ok(about(
        entry,
        Body::StatusChanged(StatusChanged {
            to,
            replaces,
            reason,
        }),
    ))
}

/// Takes a claim back.
pub fn retract(
    entry: &Entry,
    reason: RetractReason,
    channel: Channel,
    note: Option<Note>,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    if entry.retracted.is_some() {
        return Err(Refusal::AlreadyRetracted(entry.id));
    }
    Ok(about(
        entry,
        Body::Retracted(Retracted {
            reason,
            channel,
            note,
        }),
    ))
}

/// Lays an entry aside.
pub fn archive(entry: &Entry, because: ArchiveReason) -> Result<Draft, Refusal> {
    writable(entry)?;
    if entry.archived.is_some() {
        return Err(Refusal::AlreadyArchived(entry.id));
    }
    let rests_on = match because {
        ArchiveReason::Decay => entry.confirmation.by,
        ArchiveReason::Age | ArchiveReason::Manual | ArchiveReason::Thread => None,
    };
    Ok(about(entry, Body::Archived(Archived { because, rests_on })))
}

/// Brings an archived or retracted entry back.
pub fn restore(entry: &Entry, reason: Option<Note>) -> Result<Draft, Refusal> {
    writable(entry)?;
    let archived = entry
        .archived
        .iter()
        .flat_map(|archival| archival.events.iter());
    let retracted = entry
        .retracted
        .iter()
        .flat_map(|retraction| retraction.events.iter());
    let undoes: Vec<EventId> = archived.chain(retracted).copied().collect();
    if undoes.is_empty() {
        return Err(Refusal::NothingToRestore(entry.id));
    }
    Ok(about(entry, Body::Restored(Restored { undoes, reason })))
}

/// Links an entry to another.
pub fn link(from: &Entry, to: &Entry, rel: Relation) -> Result<Draft, Refusal> {
    writable(from)?;
    if from.id == to.id {
        return Err(Refusal::SelfLink);
    }
    if from
        .links
        .iter()
        .any(|link| link.to == to.id && link.rel == rel)
    {
        return Err(Refusal::NothingChanges);
    }
    let body = Body::Linked(Linked {
        to: to.id,
        rel,
        withdraws: Vec::new(),
    });
    Ok(Draft {
        about: vec![from.id.into(), to.id.into()],
        body,
    })
}

/// Writes down that the words of a revision or a merge come from somebody who is trusted less than the entry was.
pub fn worded_by(mut draft: Draft, entry: &Entry, by: &Actor) -> Draft {
    let own = entry.created.as_ref().map(|created| created.origin);
    if let (Body::Revised(data), Some(own)) = (&mut draft.body, own)
        && data.changes.statement.is_some()
    {
        let least = own.least(Origin::of(by));
        data.origin = (least != own).then_some(least);
    }
    if let Body::Merged(data) = &mut draft.body
        && data.strategy == MergeStrategy::LlmSelected
        && data.changes.statement.is_some()
    {
        let of_all = data.origin.unwrap_or(Origin::of(by));
        data.origin = Some(of_all.least(Origin::of(by)));
    }
    draft
}

/// Lets a quarantined entry out; only a person may.
pub fn lift_quarantine(entry: &Entry, by: &Actor, reason: Note) -> Result<Draft, Refusal> {
    writable(entry)?;
    person_needed("lifting a quarantine", by)?;
    if entry.quarantine.is_empty() {
        return Err(Refusal::NotQuarantined(entry.id));
    }
    let made = entry.created.as_ref().map(|it| it.event);
    let mut worded = entry.revision.iter().copied().chain(made);
    if entry.is_promoted() && worded.any(|id| entry.quarantine.contains(&id)) {
        return Err(Refusal::ApprovalNeeded(entry.id));
    }
    let lifts = entry.quarantine.clone();
    Ok(about(
        entry,
        Body::QuarantineLifted(QuarantineLifted { lifts, reason }),
    ))
}

/// Sets or clears an operator's mark; truth and confidence stay as they are.
pub fn set_overlay(
    entry: &Entry,
    overlay: Overlay,
    state: Switch,
    note: Option<Note>,
) -> Result<Draft, Refusal> {
    writable(entry)?;
    let mark = entry.overlays.get(&overlay);
    if mark.map_or(state == Switch::Off, |mark| {
        mark.state == state && mark.note == note
    }) {
        return Err(Refusal::NothingChanges);
    }
    let replaces = mark.map(|mark| mark.heads.clone()).unwrap_or_default();
    Ok(about(
        entry,
        Body::OverlaySet(OverlaySet {
            overlay,
            state,
            replaces,
            note,
        }),
    ))
}

/// Removes an event's data everywhere; only a person may.
pub fn blank(target: &Recorded, by: &Actor, reason: BlankReason) -> Result<Draft, Refusal> {
    person_needed("blanking an event", by)?;
    if target.is_blanked() {
        return Err(Refusal::AlreadyBlanked(target.event.id));
    }
    if target.event.get::<EventBlanked>().is_some() {
        return Err(Refusal::CannotUndo { what: "blanking" });
    }
    let body = Body::EventBlanked(EventBlanked {
        event: target.event.id,
        reason,
    });
    Ok(Draft {
        about: target.event.about.clone(),
        body,
    })
}
