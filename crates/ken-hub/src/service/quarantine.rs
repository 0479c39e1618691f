//! Quarantine of a workspace: events outside the log and entries inside it.
//!
//! *Quarantined events* claim to be admitted, but the hub's guard requires a person's decision.
//! They stay outside the log until a curator releases them. *Quarantined entries* were quarantined
//! where they were written. They are in the log and in every clone, but hidden from readers until a
//! curator releases them.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::{self, Draft, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Channel, Event, RetractReason};
use ken_core::trust::authority::changed_content;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Note;
use ken_guard::ReceiveVerdict;

use super::promotion::needs_approval;
use super::{ServiceError, WorkspaceSession};
use crate::database::audit::{AuditAction, AuditedEvents};
use crate::ids::Role;
use crate::store::{EntryPosition, QuarantinedEvent};

/// Message for the pusher of an event that is quarantined outside the log.
pub const EVENT_QUARANTINE_HINT: &str = "a curator of this hub releases or discards it (GET /v1/workspaces/{workspace}/quarantined-events)";

/// Message for the author of an entry that is quarantined in the log.
pub const ENTRY_QUARANTINE_HINT: &str = "a curator of this hub releases or discards it (GET /v1/workspaces/{workspace}/quarantined-entries)";

/// Message for the author of an entry that only an approval releases.
pub const APPROVAL_HINT: &str = "a person other than its authors approves or rejects it (GET /v1/workspaces/{workspace}/promotions)";

/// Reason stored if a curator releases an entry without giving one.
const DEFAULT_RELEASE_REASON: &str = "reviewed by a curator of the hub";

/// A quarantined entry of the log, hidden until a person decides.
#[derive(Clone, Debug)]
pub struct QuarantinedLogEntry {
    pub entry: Entry,
    /// The guard's findings; never the matched text, which may be a secret.
    pub findings: BTreeSet<String>,
    pub release_method: ReleaseMethod,
}

/// The action that ends an entry's quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseMethod {
    /// A person releases it.
    Release,
    /// A person other than its authors approves it: a norm, or an entry promoted from another
    /// memory.
    Approve,
}

/// Lists quarantined events after `after`, oldest first.
pub async fn list_quarantined_events(
    session: &mut WorkspaceSession,
    after: Option<EventId>,
    limit: u32,
) -> Result<Vec<QuarantinedEvent>, ServiceError> {
    session.require_role(Role::Curator, "listing quarantined events")?;
    Ok(session.tx.quarantined_events(after, limit).await?)
}

/// Appends a quarantined event unchanged. Events that today's guard rejects outright stay out,
/// whatever the curator decides.
pub async fn release_event(
    session: &mut WorkspaceSession,
    id: EventId,
) -> Result<(), ServiceError> {
    session.require_person("releasing a quarantined event")?;
    session.lock().await?;
    let removed = session.tx.take_quarantined_event(id).await?;
    let event = removed.ok_or_else(|| event_not_found(id))?;
    let mut contributors = BTreeSet::from([event.copy.event.by.clone()]);
    contributors.extend(event.pusher.actor.parse::<Actor>());
    if let Some(entry) = event.copy.event.entries().next() {
        ensure_other_person(&contributors, &session.caller.actor, entry)?;
    }
    // The rules may have become stricter since the event arrived. The error rolls the removal back.
    if let ReceiveVerdict::Turned(rejection) = session.services.guard.receive(&event.copy) {
        return Err(rejection.into());
    }
    let events = AuditedEvents::of([&event.copy.event]);
    // The event came with its pusher; the release is in the audit log.
    let changed = session.changes_ending_verification([&event.copy.event].into_iter());
    let ended = session.draft_ended_verifications(&changed).await?;
    let releaser = session.tx.set_pusher(Some(event.pusher));
    session.append_events(vec![event.copy]).await?;
    session.tx.set_pusher(releaser);
    let act = AuditAction::QuarantinedEventReleased;
    session.audit_events(act, &id.to_string(), events).await?;
    let by = session.caller.actor.clone();
    let drafts = ended.into_iter().map(|draft| (None, draft)).collect();
    session
        .append_drafts(drafts, &by, (act, &id.to_string()))
        .await
}

/// Deletes a quarantined event. A later push can bring it back.
pub async fn discard_event(
    session: &mut WorkspaceSession,
    id: EventId,
) -> Result<(), ServiceError> {
    session.require_person("discarding a quarantined event")?;
    session.lock().await?;
    let discarded = session.tx.take_quarantined_event(id).await?;
    let event = discarded.ok_or_else(|| event_not_found(id))?;
    let events = AuditedEvents::of([&event.copy.event]);
    let act = AuditAction::QuarantinedEventDiscarded;
    session.audit_events(act, &id.to_string(), events).await
}

/// Lists quarantined entries after `after`, newest first.
pub async fn list_quarantined_entries(
    session: &mut WorkspaceSession,
    after: Option<&EntryPosition>,
    limit: u32,
) -> Result<Vec<QuarantinedLogEntry>, ServiceError> {
    session.require_role(Role::Curator, "listing quarantined entries")?;
    let entries = session.tx.quarantined_entries(after, limit).await?;
    let mut quarantined = Vec::with_capacity(entries.len());
    for entry in entries {
        let history = session.load_entry_events(entry.id).await?;
        quarantined.push(QuarantinedLogEntry {
            findings: quarantine_findings(&entry, &history),
            release_method: if needs_approval(&entry, &history) {
                ReleaseMethod::Approve
            } else {
                ReleaseMethod::Release
            },
            entry,
        });
    }
    Ok(quarantined)
}

/// Releases an entry from quarantine.
pub async fn release_entry(
    session: &mut WorkspaceSession,
    wanted: &str,
    reason: Option<Note>,
) -> Result<Entry, ServiceError> {
    session.require_person("releasing a quarantined entry")?;
    session.lock().await?;
    let entry = session.find(wanted).await?;
    let history = session.load_entry_events(entry.id).await?;
    if needs_approval(&entry, &history) {
        // A release checks less than an approval: not who wrote the entry, nor which text was read.
        return Err(Refusal::ApprovalNeeded(entry.id).into());
    }
    let by = session.caller.actor.clone();
    let held = quarantined_events(&entry, &history);
    let contributors = session.load_contributors(held).await?;
    ensure_other_person(&contributors, &by, entry.id)?;
    let reason = reason.map_or_else(
        || {
            DEFAULT_RELEASE_REASON
                .parse()
                .map_err(ServiceError::invalid_request)
        },
        Ok,
    )?;
    let draft = decide::release_quarantine(&entry, &by, reason)?;
    session
        .append_decision(
            entry.id,
            vec![draft],
            &by,
            AuditAction::QuarantinedEntryReleased,
        )
        .await
}

/// Retracts a quarantined entry that must never be shown.
pub async fn discard_entry(
    session: &mut WorkspaceSession,
    wanted: &str,
    reason: Option<Note>,
) -> Result<Entry, ServiceError> {
    session.require_person("discarding a quarantined entry")?;
    session.lock().await?;
    let entry = session.find(wanted).await?;
    if entry.quarantine.is_empty() {
        return Err(Refusal::NotQuarantined(entry.id).into());
    }
    let draft = decide::retract(&entry, RetractReason::Unwanted, Channel::Command, reason)?;
    let by = session.caller.actor.clone();
    session
        .append_decision(
            entry.id,
            vec![draft],
            &by,
            AuditAction::QuarantinedEntryDiscarded,
        )
        .await
}

impl WorkspaceSession {
    /// Returns the entries whose content these events change and which do not stay verified, each
    /// with the author of the change: only a curator changes what stays verified, and programs do
    /// not, even with a person's consent.
    pub(super) fn changes_ending_verification<'a>(
        &self,
        events: impl Iterator<Item = &'a Event>,
    ) -> BTreeMap<EntryId, Actor> {
        let is_member = self.caller.role < Role::Curator;
        let lesser = events.filter(|it| is_member || !it.by.is_human());
        let changed = lesser.filter_map(|it| Some((changed_content(it)?, it.by.clone())));
        changed.collect()
    }

    /// Returns the drafts that end the status `verified` of changed entries.
    pub(super) async fn draft_ended_verifications(
        &mut self,
        changed: &BTreeMap<EntryId, Actor>,
    ) -> Result<Vec<Draft>, ServiceError> {
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<EntryId> = changed.keys().copied().collect();
        let by = self.caller.actor.clone();
        let mut drafts = Vec::new();
        for entry in self.tx.entries(&ids).await? {
            if entry.status.value == EntryStatus::Verified {
                let reason = format!("{} changed its content", changed[&entry.id]);
                let reason = reason.parse().ok();
                drafts.push(decide::set_status(
                    &entry,
                    EntryStatus::Active,
                    &by,
                    reason,
                )?);
            }
        }
        Ok(drafts)
    }
}

/// Refuses a person who wrote or brought what is quarantined: a second person looks at it.
fn ensure_other_person(
    contributors: &BTreeSet<Actor>,
    by: &Actor,
    entry: EntryId,
) -> Result<(), ServiceError> {
    if contributors.iter().any(|it| it.is_same_person(by)) {
        let by = by.clone();
        return Err(Refusal::OwnContent { entry, by }.into());
    }
    Ok(())
}

/// Returns the guard's findings on the events that keep an entry quarantined.
fn quarantine_findings(entry: &Entry, history: &[Event]) -> BTreeSet<String> {
    let quarantined = quarantined_events(entry, history);
    let findings = quarantined.filter_map(|it| it.admission.as_ref()?.held_for.clone());
    findings.collect()
}

/// Returns the events that keep an entry quarantined.
fn quarantined_events<'a>(
    entry: &'a Entry,
    history: &'a [Event],
) -> impl Iterator<Item = &'a Event> {
    let is_quarantined = |event: &&Event| entry.quarantine.contains(&event.id);
    history.iter().filter(is_quarantined)
}

fn event_not_found(id: EventId) -> ServiceError {
    let (what, wanted) = ("quarantined event", id.to_string());
    ServiceError::NotFound { what, wanted }
}
