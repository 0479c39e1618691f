//! Changes to an existing entry.

use std::collections::BTreeSet;

use crate::ledger::entry::Entry;
use crate::ledger::event::{
    ArchiveReason, Archived, BlankReason, Channel, Cited, Confirmed, Event, EventBlanked,
    EventBody, Linked, MergeStrategy, Merged, Origin, Overlay, OverlaySet, Provenance,
    QuarantineLifted, Reanchored, RecordedEvent, Relation, Restored, RetractReason, Retracted,
    Revised, StatusChanged, Superseded, Switch,
};
use crate::trust::authority::{changes_protected_content, content_protection};
use crate::values::actor::Actor;
use crate::values::anchor::Anchor;
use crate::values::citation::Citation;
use crate::values::content::ContentChanges;
use crate::values::id::EventId;
use crate::values::status::EntryStatus;
use crate::values::text::Note;
use crate::values::time::Date;

use super::propose::{check_conditions, check_content, check_flow};
use super::{Draft, Refusal, draft_about, ensure_human, ensure_writable};

/// Edits some fields, based on the current revision or on `base` if given.
pub fn edit(
    entry: &Entry,
    changes: ContentChanges,
    base: Option<Vec<EventId>>,
    channel: Channel,
    reason: Option<Note>,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    let content = entry.content.clone().ok_or(Refusal::NoContent(entry.id))?;
    // Fields that already have the value are no change: an edit without effect could not be undone.
    // An edit that settles concurrent versions, or follows an older one, keeps them.
    let changes = if entry.concurrent.is_empty() && base.is_none() {
        content.changes_to(&content.clone().with(changes))
    } else {
        changes
    };
    if changes.is_empty() {
        return Err(Refusal::NothingChanges);
    }
    let kind = entry.kind().ok_or(Refusal::NoContent(entry.id))?;
    if let Some(conditions) = &changes.depends_on {
        check_conditions(conditions, &content.depends_on)?;
    }
    ensure_flow(entry, changes.texts())?;
    // Limits apply to the result, not to the changes alone.
    check_content(kind, &content.with(changes.clone()))?;
    // `base` is the revision the author saw. An edit of an older entry file then stays concurrent
    // with later edits instead of silently replacing them.
    let replaces = base.unwrap_or_else(|| entry.revision.clone());
    Ok(draft_about(
        entry,
        EventBody::Revised(Revised {
            origin: None,
            changes,
            replaces,
            channel,
            reason,
        }),
    ))
}

/// Updates an entry's anchors after code moved or changed; the text stays.
pub fn reanchor(entry: &Entry, anchors: Vec<Anchor>) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    let content = entry.content.as_ref().ok_or(Refusal::NoContent(entry.id))?;
    if content.anchors == anchors {
        return Err(Refusal::NothingChanges);
    }
    let replaces = entry.revision.clone();
    Ok(draft_about(
        entry,
        EventBody::Reanchored(Reanchored {
            anchors,
            replaces,
            origin: None,
        }),
    ))
}

/// Adds a citation.
pub fn cite(entry: &Entry, citation: Citation) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    // Equality includes author and time, so citing the same source again later is allowed.
    if entry.citations.contains(&citation) {
        return Err(Refusal::NothingChanges);
    }
    ensure_flow(entry, [citation.evidence_ref.as_str()])?;
    Ok(draft_about(entry, EventBody::Cited(Cited { citation })))
}

/// Refuses a change that brings an episodic entry into another memory, unless a person approves
/// the entry anyway.
pub(super) fn ensure_flow<'t>(
    entry: &Entry,
    texts: impl IntoIterator<Item = &'t str>,
) -> Result<(), Refusal> {
    if entry.is_promoted() || !entry.approvals.is_empty() {
        return Ok(());
    }
    check_flow(entry.id.prefix().memory(), texts)
}

/// Confirms an entry.
///
/// A person's confirmation counts. An agent that calls this has been shown the entry, so its
/// confirmation is primed.
pub fn confirm(entry: &Entry, by: &Actor, on: Date) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
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
    Ok(draft_about(entry, EventBody::Confirmed(body)))
}

/// Sets the status. Only a person may set `verified` by hand.
pub fn set_status(
    entry: &Entry,
    to: EntryStatus,
    by: &Actor,
    reason: Option<Note>,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    if to == EntryStatus::Verified {
        ensure_human("setting the status `verified`", by)?;
    }
    // With concurrent heads, setting the same status resolves the conflict and is a real change.
    if entry.status.value == to && entry.status.heads.len() < 2 {
        return Err(Refusal::NothingChanges);
    }
    let replaces = entry.status.heads.clone();
    Ok(draft_about(
        entry,
        EventBody::StatusChanged(StatusChanged {
            to,
            replaces,
            reason,
        }),
    ))
}

/// Retracts an entry.
pub fn retract(
    entry: &Entry,
    reason: RetractReason,
    channel: Channel,
    note: Option<Note>,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    if entry.retracted.is_some() {
        return Err(Refusal::AlreadyRetracted(entry.id));
    }
    Ok(draft_about(
        entry,
        EventBody::Retracted(Retracted {
            reason,
            channel,
            note,
        }),
    ))
}

/// Archives an entry.
pub fn archive(entry: &Entry, because: ArchiveReason) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    if entry.archived.is_some() {
        return Err(Refusal::AlreadyArchived(entry.id));
    }
    // Records the basis of decay, so that a confirmation on another clone can void the archiving.
    let rests_on = match because {
        ArchiveReason::Decay => entry.confirmation.by,
        ArchiveReason::Age | ArchiveReason::Manual | ArchiveReason::Thread => None,
    };
    Ok(draft_about(
        entry,
        EventBody::Archived(Archived { because, rests_on }),
    ))
}

/// Restores an archived, retracted, merged or superseded entry; `history` is all events about it.
pub fn restore(entry: &Entry, history: &[Event], reason: Option<Note>) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    let archived = entry
        .archived
        .iter()
        .flat_map(|archival| archival.events.iter());
    let retracted = entry
        .retracted
        .iter()
        .flat_map(|retraction| retraction.events.iter());
    // Names all events of every kind: a concurrent second retraction is undone too.
    let mut undoes: Vec<EventId> = archived.chain(retracted).copied().collect();
    let restorations = history.iter().filter_map(|event| event.get::<Restored>());
    let restored: BTreeSet<EventId> = restorations.flat_map(|it| &it.undoes).copied().collect();
    let mut about = BTreeSet::new();
    for event in history.iter().filter(|event| !restored.contains(&event.id)) {
        let merged = event.get::<Merged>();
        let merged = merged.filter(|it| it.target != entry.id && it.sources.contains(&entry.id));
        // About the target too, which lists its sources.
        about.extend(merged.map(|it| it.target));
        let superseded = event.get::<Superseded>();
        if merged.is_some() || superseded.is_some_and(|it| it.old == entry.id) {
            undoes.push(event.id);
        }
    }
    if undoes.is_empty() {
        return Err(Refusal::NothingToRestore(entry.id));
    }
    let about = std::iter::once(entry.id).chain(about);
    Ok(Draft {
        about: about.map(Into::into).collect(),
        body: EventBody::Restored(Restored { undoes, reason }),
    })
}

/// Refuses others than people to undo what a person decided; `history` is all events about the
/// entry that `draft` restores.
pub fn ensure_may_restore(draft: &Draft, history: &[Event], by: &Actor) -> Result<(), Refusal> {
    let EventBody::Restored(restored) = &draft.body else {
        return Ok(());
    };
    let by_person = |it: &Event| it.by.is_human() && restored.undoes.contains(&it.id);
    if history.iter().any(by_person) {
        ensure_human("undoing a person's decision", by)?;
    }
    Ok(())
}

/// Links an entry to another.
pub fn link(from: &Entry, to: &Entry, rel: Relation) -> Result<Draft, Refusal> {
    ensure_writable(from)?;
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
    ensure_flow(from, [to.id.to_string().as_str()])?;
    let body = EventBody::Linked(Linked {
        to: to.id,
        rel,
        withdraws: Vec::new(),
    });
    Ok(Draft {
        // The fold assigns the link to the first entry.
        about: vec![from.id.into(), to.id.into()],
        body,
    })
}

/// Makes `by` the author of a change of content, as [`declare_origin`] does. Refuses others than
/// people where a person wrote or verified the content.
pub fn attribute_change(draft: Draft, entry: &Entry, by: &Actor) -> Result<Draft, Refusal> {
    let keeps_content = matches!(&draft.body, EventBody::Merged(data) if data.changes.is_empty());
    if !keeps_content {
        ensure_may_change(entry, by)?;
    }
    Ok(declare_origin(draft, entry, by))
}

/// Refuses others than people where a person wrote or verified the content.
pub fn ensure_may_change(entry: &Entry, by: &Actor) -> Result<(), Refusal> {
    if changes_protected_content(content_protection(entry), by) {
        let (entry, by) = (entry.id, by.clone());
        return Err(Refusal::ProtectedContent { entry, by });
    }
    Ok(())
}

/// Records the origin of `by` in a change of content if it is less trusted than the entry's.
///
/// It refuses nothing: where a change of protected content may wait for a person, as at a hub, that
/// is decided when the event is admitted.
#[must_use]
pub fn declare_origin(mut draft: Draft, entry: &Entry, by: &Actor) -> Draft {
    let own = entry.created.as_ref().map(|created| created.origin);
    // Omitted unless it lowers trust; absence means that the origin stays.
    let lower = own.and_then(|own| {
        let least = own.least_trusted(Origin::from_actor(by));
        (least != own).then_some(least)
    });
    if let EventBody::Revised(data) = &mut draft.body {
        data.origin = lower;
    }
    if let EventBody::Reanchored(data) = &mut draft.body {
        data.origin = lower;
    }
    if let EventBody::Merged(data) = &mut draft.body
        // Other strategies keep a statement that an existing entry already had.
        && data.strategy == MergeStrategy::LlmSelected
        && data.changes.statement.is_some()
    {
        let merged = data.origin.unwrap_or(Origin::from_actor(by));
        data.origin = Some(merged.least_trusted(Origin::from_actor(by)));
    }
    draft
}

/// Releases a quarantined entry; only a person may.
pub fn release_quarantine(entry: &Entry, by: &Actor, reason: Note) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    ensure_human("releasing an entry from quarantine", by)?;
    if entry.quarantine.is_empty() {
        return Err(Refusal::NotQuarantined(entry.id));
    }
    let creation = entry.created.as_ref().map(|created| created.event);
    let mut content_events = entry.revision.iter().copied().chain(creation);
    // A release would skip the approval that promoted content needs.
    if entry.is_promoted() && content_events.any(|id| entry.quarantine.contains(&id)) {
        return Err(Refusal::ApprovalNeeded(entry.id));
    }
    let lifts = entry.quarantine.clone();
    Ok(draft_about(
        entry,
        EventBody::QuarantineLifted(QuarantineLifted { lifts, reason }),
    ))
}

/// Sets or clears an annotation; truth and confidence stay unchanged.
pub fn set_annotation(
    entry: &Entry,
    overlay: Overlay,
    state: Switch,
    note: Option<Note>,
) -> Result<Draft, Refusal> {
    ensure_writable(entry)?;
    let mark = entry.overlays.get(&overlay);
    // An annotation that was never set counts as off.
    if mark.map_or(state == Switch::Off, |mark| {
        mark.state == state && mark.note == note
    }) {
        return Err(Refusal::NothingChanges);
    }
    let replaces = mark.map(|mark| mark.heads.clone()).unwrap_or_default();
    Ok(draft_about(
        entry,
        EventBody::OverlaySet(OverlaySet {
            overlay,
            state,
            replaces,
            note,
        }),
    ))
}

/// Redacts an event's data in every copy; only a person may.
pub fn redact(target: &RecordedEvent, by: &Actor, reason: BlankReason) -> Result<Draft, Refusal> {
    ensure_human("redacting an event", by)?;
    if target.is_redacted() {
        return Err(Refusal::AlreadyRedacted(target.event.id));
    }
    // Redacting the order itself would bring the secret back on other clones.
    if target.event.get::<EventBlanked>().is_some() {
        return Err(Refusal::CannotUndo {
            what: "a redaction",
        });
    }
    let body = EventBody::EventBlanked(EventBlanked {
        event: target.event.id,
        reason,
    });
    Ok(Draft {
        // About the same entries, so each of their folds is recomputed.
        about: target.event.about.clone(),
        body,
    })
}
