//! Undo: the events that reverse a step.
//!
//! Nothing is deleted; an undo appends events. Undoing those again is a redo, so every reversal
//! here can itself be reversed. Citations are permanent because provenance is append-only, and a
//! redaction is final because no data is left to restore.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::entry::Entry;
use crate::ledger::event::{
    Channel, Confirmed, Event, EventBody, EventSubject, KnowledgeDistilled, Linked, Merged,
    Overlay, OverlaySet, Proposed, QuarantineLifted, Reanchored, Restored, RetractReason,
    Retracted, Revised, ScopeChanged, StatusChanged, Switch,
};
use crate::ledger::fold::{fold_entry, fold_entry_at};
use crate::values::content::ContentChanges;
use crate::values::id::{EntryId, EventId};
use crate::values::kind::Memory;

use super::{Draft, Refusal, draft_about, edit, ensure_writable};

/// An entry with all events about it.
#[derive(Clone, Debug)]
pub struct EntryHistory {
    pub entry: Entry,
    pub events: Vec<Event>,
}

/// Drafts that reverse a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoDrafts {
    pub drafts: Vec<Draft>,
    /// Drafts that must be admitted as quarantined, because the step released their entry.
    pub quarantined: Vec<Draft>,
    /// Parts of the step that stay, because they cannot be undone.
    pub kept: Vec<&'static str>,
}

/// Returns whether Ken wrote the event on its own, as a record of work; undo passes over it.
pub fn is_automatic(event: &Event) -> bool {
    let proposed = event.get::<Proposed>();
    proposed.is_some_and(|it| it.kind.memory() == Memory::Episodic)
        || matches!(
            event.body,
            EventBody::RunEffects(_)
                | EventBody::RunObserved(_)
                | EventBody::RetrievalMissed(_)
                | EventBody::FrictionRecorded(_)
                | EventBody::PeerTrustChanged(_)
                | EventBody::ForageRequested(_)
                | EventBody::ForageCompleted(_)
                | EventBody::DomainStrategyChanged(_)
                | EventBody::HandoffWritten(_)
                | EventBody::HandoffTaken(_)
        )
}

/// Returns the drafts that undo the events of one step, in the order they were written.
///
/// `known` has every entry that the events are about.
pub fn undo(
    step: &[Event],
    known: &BTreeMap<EntryId, EntryHistory>,
) -> Result<UndoDrafts, Refusal> {
    let mut undo = StepUndo {
        ids: step.iter().map(|event| event.id).collect(),
        known,
        proposed: step
            .iter()
            .filter(|event| event.get::<Proposed>().is_some())
            .flat_map(Event::entries)
            .collect(),
        worded: BTreeSet::new(),
        merged: BTreeSet::new(),
        result: UndoDrafts::default(),
    };
    // Newest first, as if the events were undone one by one.
    for event in step.iter().rev() {
        undo.undo_event(event)?;
    }
    let worded: Vec<EntryId> = undo.worded.difference(&undo.merged).copied().collect();
    for id in worded {
        undo.restore_content(id)?;
    }
    let is_empty = undo.result.drafts.is_empty() && undo.result.quarantined.is_empty();
    match (is_empty, undo.result.kept.first()) {
        (false, _) => Ok(undo.result),
        (true, Some(what)) => Err(Refusal::CannotUndo { what }),
        (true, None) => Err(Refusal::NothingChanges),
    }
}

/// Undo of one step.
struct StepUndo<'a> {
    ids: BTreeSet<EventId>,
    known: &'a BTreeMap<EntryId, EntryHistory>,
    /// Entries that the step created. They are retracted, which covers all their other events.
    proposed: BTreeSet<EntryId>,
    /// Entries whose content the step changed.
    worded: BTreeSet<EntryId>,
    /// Entries whose content a repeated merge restores.
    merged: BTreeSet<EntryId>,
    result: UndoDrafts,
}

impl<'a> StepUndo<'a> {
    fn undo_event(&mut self, event: &Event) -> Result<(), Refusal> {
        let Some(id) = event.entries().next() else {
            self.result.kept.push(describe(event));
            return Ok(());
        };
        let entry = &self.known_entry(id)?.entry;
        ensure_writable(entry)?;
        if event.get::<Proposed>().is_some() {
            if entry.retracted.is_none() {
                let draft = draft_about(entry, EventBody::Retracted(withdrawal()));
                self.result.drafts.push(draft);
            }
            return Ok(());
        }
        if let Some(data) = event.get::<Restored>() {
            return self.repeat(data, &event.about);
        }
        if is_undone_by_restoring(&event.body) {
            // The target of a merge also gets its content back.
            let target = event.get::<Merged>().map(|data| data.target);
            self.worded.extend(target);
            self.restore(event);
            return Ok(());
        }
        if let Some(data) = event.get::<Linked>() {
            let body = EventBody::Linked(Linked {
                withdraws: withdrawn(&data.withdraws, event.id),
                ..data.clone()
            });
            self.push(event, body);
            return Ok(());
        }
        // Retracting a new entry covers the other events about it.
        if self.proposed.contains(&id) || event.get::<KnowledgeDistilled>().is_some() {
            return Ok(());
        }
        if event.get::<Revised>().is_some() || event.get::<Reanchored>().is_some() {
            self.worded.insert(id);
            return Ok(());
        }
        if let Some(data) = event.get::<QuarantineLifted>() {
            self.quarantine_again(entry, data);
            return Ok(());
        }
        if is_manual_quarantine(event) && entry.quarantine.contains(&event.id) {
            let lifts = vec![event.id];
            let reason = "undo".parse().expect("a word is a note");
            let body = EventBody::QuarantineLifted(QuarantineLifted { lifts, reason });
            self.push(event, body);
        }
        match self.previous_value(event, entry)? {
            PreviousValue::Restore(body) => self.push(event, *body),
            PreviousValue::ChangedSince => {}
            PreviousValue::None => self.result.kept.push(describe(event)),
        }
        Ok(())
    }

    /// Returns the event that gives a single value the state it had before `event`.
    fn previous_value(&self, event: &Event, entry: &Entry) -> Result<PreviousValue, Refusal> {
        if let Some(data) = event.get::<Confirmed>() {
            let body = EventBody::Confirmed(Confirmed {
                withdraws: withdrawn(&data.withdraws, event.id),
                ..data.clone()
            });
            return Ok(PreviousValue::Restore(Box::new(body)));
        }
        // The previous values are not in the events; folding the events before the step gives them.
        if let Some(data) = event.get::<StatusChanged>() {
            if data.to != entry.status.value {
                return Ok(PreviousValue::ChangedSince);
            }
            let body = EventBody::StatusChanged(StatusChanged {
                to: self.before(entry.id)?.status.value,
                replaces: entry.status.heads.clone(),
                reason: None,
            });
            return Ok(PreviousValue::Restore(Box::new(body)));
        }
        if let Some(data) = event.get::<ScopeChanged>() {
            if data.to != entry.scope.value {
                return Ok(PreviousValue::ChangedSince);
            }
            let body = EventBody::ScopeChanged(ScopeChanged {
                to: self.before(entry.id)?.scope.value,
                replaces: entry.scope.heads.clone(),
            });
            return Ok(PreviousValue::Restore(Box::new(body)));
        }
        let Some(data) = event.get::<OverlaySet>() else {
            return Ok(PreviousValue::None);
        };
        let before = self.before(entry.id)?;
        let old = before.overlays.get(&data.overlay);
        // An annotation that only carries a quarantine sets the value it finds.
        if is_manual_quarantine(event)
            && old.map_or(Switch::Off, |old| old.state) == data.state
            && old.and_then(|old| old.note.as_ref()) == data.note.as_ref()
        {
            return Ok(PreviousValue::ChangedSince);
        }
        let body = EventBody::OverlaySet(OverlaySet {
            overlay: data.overlay,
            // An annotation that was never set counts as off.
            state: old.map_or(Switch::Off, |old| old.state),
            note: old.and_then(|old| old.note.clone()),
            // Replaces only the undone event, so a concurrent change stays in effect.
            replaces: vec![event.id],
        });
        Ok(PreviousValue::Restore(Box::new(body)))
    }

    /// Quarantines an entry that a release set free. An annotation without a change carries the
    /// quarantine, because only the admission of an event can hold an entry back.
    fn quarantine_again(&mut self, entry: &Entry, released: &QuarantineLifted) {
        // A person or the guard quarantined the entry again since.
        if released
            .lifts
            .iter()
            .any(|id| entry.quarantine.contains(id))
            || entry.retracted.is_some()
        {
            return;
        }
        let mark = entry.overlays.get(&Overlay::Annotate);
        let body = EventBody::OverlaySet(OverlaySet {
            overlay: Overlay::Annotate,
            state: mark.map_or(Switch::Off, |mark| mark.state),
            note: mark.and_then(|mark| mark.note.clone()),
            replaces: mark.map(|mark| mark.heads.clone()).unwrap_or_default(),
        });
        self.result.quarantined.push(draft_about(entry, body));
    }

    fn push(&mut self, event: &Event, body: EventBody) {
        let about = entry_subjects(&event.about);
        self.result.drafts.push(Draft { about, body });
    }

    fn restore(&mut self, event: &Event) {
        let undoes = vec![event.id];
        self.push(
            event,
            EventBody::Restored(Restored {
                undoes,
                reason: None,
            }),
        );
    }

    /// Repeats the events that a restoration had undone.
    fn repeat(&mut self, restored: &Restored, about: &[EventSubject]) -> Result<(), Refusal> {
        let subjects = entry_subjects(about);
        let histories = subjects.iter().filter_map(|subject| match subject {
            EventSubject::Entry(id) => self.known.get(id),
            EventSubject::Other(_) => None,
        });
        let undone: BTreeMap<EventId, &Event> = histories
            .flat_map(|it| &it.events)
            .filter(|event| restored.undoes.contains(&event.id))
            .map(|event| (event.id, event))
            .collect();
        for event in undone.into_values() {
            let body = match event.get::<Merged>() {
                Some(data) => self.repeated_merge(data)?,
                None => event.body.clone(),
            };
            if is_undone_by_restoring(&body) {
                self.push(event, body);
            }
        }
        Ok(())
    }

    /// Repeats a merge, based on the target's current revision.
    fn repeated_merge(&mut self, data: &Merged) -> Result<EventBody, Refusal> {
        // One event has all changes: an edit beside the merge would be concurrent with it.
        self.merged.insert(data.target);
        Ok(EventBody::Merged(Merged {
            changes: self.content_changes(data.target)?,
            replaces: self.known_entry(data.target)?.entry.revision.clone(),
            ..data.clone()
        }))
    }

    fn restore_content(&mut self, id: EntryId) -> Result<(), Refusal> {
        let changes = self.content_changes(id)?;
        if !changes.is_empty() {
            let entry = &self.known_entry(id)?.entry;
            let draft = edit(entry, changes, None, Channel::Command, None)?;
            self.result.drafts.push(draft);
        }
        Ok(())
    }

    /// Returns the changes that restore the content of an entry as it was before the step, except
    /// for fields that were changed again since.
    fn content_changes(&self, id: EntryId) -> Result<ContentChanges, Refusal> {
        let known = self.known_entry(id)?;
        let own = known.events.iter();
        let own = own.filter(|event| self.ids.contains(&event.id));
        let writes: Vec<(&Event, &[EventId])> = own
            .filter_map(|event| Some((event, replaced_content(event, id)?)))
            .collect();
        let (Some((_, base)), Some((last, _))) = (writes.first(), writes.last()) else {
            return Ok(ContentChanges::default());
        };
        let content_at = |revision: &[EventId]| {
            let entry = fold_entry_at(id, revision, &known.events);
            entry
                .and_then(|it| it.content)
                .ok_or(Refusal::NoContent(id))
        };
        let (before, after) = (content_at(base)?, content_at(&[last.id])?);
        let now = known.entry.content.as_ref().ok_or(Refusal::NoContent(id))?;
        Ok(after.changes_to(&before).without(&after.changes_to(now)))
    }

    /// Folds the entry as it was before the step.
    fn before(&self, id: EntryId) -> Result<Entry, Refusal> {
        let events = &self.known_entry(id)?.events;
        let own = events.iter().filter(|event| self.ids.contains(&event.id));
        let start = own.map(Event::order).min();
        let earlier = events.iter().filter(|event| Some(event.order()) < start);
        fold_entry(id, earlier).ok_or(Refusal::NoContent(id))
    }

    fn known_entry(&self, id: EntryId) -> Result<&'a EntryHistory, Refusal> {
        self.known.get(&id).ok_or(Refusal::NoContent(id))
    }
}

/// The state of a single value before an event.
enum PreviousValue {
    Restore(Box<EventBody>),
    /// A later change stands.
    ChangedSince,
    /// The event sets no value that has a previous one.
    None,
}

/// Returns whether a person quarantined the entry with this event, and not the guard.
fn is_manual_quarantine(event: &Event) -> bool {
    let admission = event.admission.as_ref();
    event.is_quarantined()
        && event.get::<OverlaySet>().is_some()
        && admission.is_some_and(|it| it.held_for.is_some() && it.findings.is_empty())
}

/// Returns whether naming the event in an `entry.restored` undoes it.
fn is_undone_by_restoring(body: &EventBody) -> bool {
    matches!(
        body,
        EventBody::Archived(_)
            | EventBody::Retracted(_)
            | EventBody::Merged(_)
            | EventBody::Superseded(_)
            | EventBody::PairDismissed(_)
            | EventBody::ContradictionFlagged(_)
            | EventBody::ContradictionResolved(_)
    )
}

/// Returns the events that a content event of the entry `id` is based on.
fn replaced_content(event: &Event, id: EntryId) -> Option<&[EventId]> {
    let revised = event.get::<Revised>().map(|data| &data.replaces);
    let reanchored = event.get::<Reanchored>().map(|data| &data.replaces);
    let merged = event.get::<Merged>().filter(|data| data.target == id);
    let replaces = revised.or(reanchored);
    replaces
        .or(merged.map(|data| &data.replaces))
        .map(Vec::as_slice)
}

/// Returns the retraction of an entry that was never meant to be added.
fn withdrawal() -> Retracted {
    Retracted {
        // `Withdrawn` leaves no tombstone, so the same claim can be added again.
        reason: RetractReason::Withdrawn,
        channel: Channel::Command,
        note: None,
    }
}

/// Returns the events to withdraw: the event itself, or none to repeat what it had withdrawn.
fn withdrawn(withdraws: &[EventId], event: EventId) -> Vec<EventId> {
    if withdraws.is_empty() {
        vec![event]
    } else {
        Vec::new()
    }
}

/// Returns the entries among the subjects, in their order: the first one owns a link.
fn entry_subjects(about: &[EventSubject]) -> Vec<EventSubject> {
    let entries = about.iter();
    entries
        .filter(|subject| matches!(subject, EventSubject::Entry(_)))
        .cloned()
        .collect()
}

/// Names an event that cannot be undone.
fn describe(event: &Event) -> &'static str {
    let body = &event.body;
    let names = [
        (
            matches!(body, EventBody::Cited(_)),
            "a citation (provenance is append-only)",
        ),
        (matches!(body, EventBody::EventBlanked(_)), "a redaction"),
        (
            matches!(body, EventBody::Blanked { .. }),
            "a change whose data was redacted",
        ),
        (
            matches!(body, EventBody::FeedbackGiven(_)),
            "feedback (give the opposite verdict instead)",
        ),
        (
            matches!(body, EventBody::ApprovalGranted(_)),
            "an approval (retract the entry instead)",
        ),
        (
            matches!(body, EventBody::ConfidenceReset(_)),
            "a reset of the confidence",
        ),
        (
            matches!(body, EventBody::OriginRevoked(_)),
            "a revocation (`ken guard revoke --author NAME --undo` ends it)",
        ),
        (
            matches!(body, EventBody::ConfigChanged(_)),
            "a change of settings (`ken config` can set them again)",
        ),
        (
            matches!(body, EventBody::RunClosed(_)),
            "the closing of a run",
        ),
    ];
    let name = names.iter().find(|(is, _)| *is);
    name.map_or("a change of this type", |(_, name)| *name)
}
