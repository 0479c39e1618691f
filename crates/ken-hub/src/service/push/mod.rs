//! Push: receives events written elsewhere. Each line is decided on its own; all admitted lines are
//! appended in one transaction.

mod growth;
mod screening;

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_core::decide::Draft;
use ken_core::decide::retracted_claims::RetractedClaims;
use ken_core::ledger::event::{
    ApprovalGranted, Event, EventBlanked, EventBody, Proposed, RecordedEvent,
};
use ken_core::trust::authority::{changed_content, content_protection};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::Memory;
use ken_remote::wire::{EventVerdict, LogCursor, PushVerdict};

use super::quarantine::{APPROVAL_HINT, ENTRY_QUARANTINE_HINT, EVENT_QUARANTINE_HINT};
use super::session::ensure_workspace_access;
use super::{ServiceContext, ServiceError, WorkspaceSession};
use crate::database::HubDatabase;
use crate::database::audit::{AuditAction, AuditedEvents, NewAuditRecord, OUTCOME_DONE};
use crate::identity::AuthenticatedCaller;
use crate::ids::{Role, WorkspaceId};
use crate::store::{AppendReceipt, CopyOutcome, FastAppendOptions, are_self_contained};
pub use growth::{CITATIONS_MAX, ENTRY_EVENTS_MAX};
use screening::{
    PushContext, PushDecision, StoredCopies, decide_line, screen_event, statement_of_program,
};

pub use screening::{PushRefusal, Pusher, ScanVerdict, ScreenedLine, screen_lines};

/// Maximum number of quarantined events per workspace; more than curators can review.
const QUARANTINE_MAX: u64 = 10_000;

/// Maximum number of quarantined events per pusher below curator, so a pusher that fills the list
/// only blocks itself.
const QUARANTINE_PER_PUSHER_MAX: u64 = 200;

/// Maximum number of refused events per push that the audit log names: nothing else limits how many
/// refused events a pusher sends.
const REFUSED_AUDITED_MAX: usize = 100;

/// Result of a push.
#[derive(Clone, Debug, Default)]
pub struct PushOutcome {
    /// One answer per line, in the order of the lines.
    pub answers: Vec<EventVerdict>,
    /// True if the log changed.
    pub log_changed: bool,
    /// End of the log; `None` if no lines were sent.
    pub cursor: Option<LogCursor>,
}

/// Accepts a push of screened lines: with the fast append if every event is new, otherwise with the
/// full append.
pub async fn add_decision(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: AuthenticatedCaller,
    workspace: WorkspaceId,
    lines: Vec<ScreenedLine>,
) -> Result<PushOutcome, ServiceError> {
    ensure_workspace_access(&caller, workspace)?;
    if let Some(outcome) = try_fast_push(database, services, &caller, workspace, &lines).await? {
        return Ok(outcome);
    }
    let mut session =
        WorkspaceSession::begin_push(database, services, caller, workspace, &lines).await?;
    let act = AuditAction::EventsPushed;
    let outcome = append_push(&mut session, lines, act).await?;
    session.commit().await?;
    Ok(outcome)
}

/// Decides and appends lines while the workspace's row is locked, so the stored copies of an event
/// cannot change between the decision and the write.
async fn append_push(
    session: &mut WorkspaceSession,
    mut lines: Vec<ScreenedLine>,
    act: AuditAction,
) -> Result<PushOutcome, ServiceError> {
    session.require_role(Role::Agent, "pushing events")?;
    if lines.is_empty() {
        return Ok(PushOutcome::default());
    }
    session.limit_growth(&mut lines).await?;
    let mut batch = PushPlan::default();
    let signers = session.services.signers.clone();
    let pusher = Pusher::new(&session.caller, session.now).with_signers(signers);
    let mut push_context = session.load_push_context(&lines, &pusher).await?;
    for line in lines {
        let event = line.event().map(|it| it.event.clone());
        let decision = decide_line(line, &mut push_context, &pusher);
        if let (PushDecision::Answered(answer), Some(event)) = (&decision, event)
            && answer.verdict == PushVerdict::Refused
        {
            batch.refused.push(event);
        }
        batch.add_decision(decision);
    }
    session.audit_push(&batch, act).await?;
    if batch.admitted.is_empty() && batch.quarantined.is_empty() {
        let cursor = session.tx.log_end().await?;
        return Ok(batch.into_outcome(cursor));
    }
    session.append_admitted(&mut batch).await?;
    session.quarantine_pushed(&mut batch).await?;
    // Checked after the write, because only the row's counters know the final size. An error rolls
    // the push back.
    if batch.grows_log {
        let usage = session.tx.workspace_usage().await?;
        session.services.quotas.check(&usage)?;
    }
    if batch.grows_quarantine {
        session.check_waiting_quota().await?;
    }
    let cursor = match batch.cursor {
        Some(cursor) => cursor,
        None => session.tx.log_end().await?,
    };
    Ok(batch.into_outcome(cursor))
}

/// Writes drafts in the name of `by` as if the caller had pushed them: the rules about pushed
/// events decide, and all drafts are admitted or none.
///
/// An event that has to wait for a curator is quarantined, as a pushed one is.
pub(in crate::service) async fn submit_drafts(
    session: &mut WorkspaceSession,
    drafts: Vec<Draft>,
    by: &Actor,
) -> Result<PushOutcome, ServiceError> {
    session.lock().await?;
    let seen = session.latest_clock().await?;
    let act = drafts.first().map_or(AuditAction::EventsRecorded, |it| {
        AuditAction::of_recorded(&it.body)
    });
    let drafts = drafts.into_iter().map(|draft| (None, draft)).collect();
    let batch = session.stamp_drafts(drafts, by, seen)?;
    let pusher = Pusher::new(&session.caller, session.now);
    let guard = Arc::clone(&session.services.guard);
    let screened = batch
        .into_iter()
        .map(|copy| screen_event(&guard, copy, &pusher));
    let outcome = append_push(session, screened.collect(), act).await?;
    session.workspace = None;
    let mut answers = outcome.answers.iter();
    if let Some(refused) = answers.find(|it| it.verdict == PushVerdict::Refused) {
        // The error rolls back the events that were admitted.
        let reason = refused.reason.clone().unwrap_or_default();
        return Err(ServiceError::SubmissionRefused(reason));
    }
    Ok(outcome)
}

/// Appends lines that can be decided without any stored state. Returns `None`, without having
/// written anything, if one cannot.
async fn try_fast_push(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: &AuthenticatedCaller,
    workspace: WorkspaceId,
    lines: &[ScreenedLine],
) -> Result<Option<PushOutcome>, ServiceError> {
    // Quarantined and refused lines need stored state for their answer, so one of them sends the
    // whole push to the full append.
    let is_fine = |it: &ScreenedLine| matches!(it, ScreenedLine::Event(_, ScanVerdict::Admitted));
    let events = lines
        .iter()
        .filter_map(ScreenedLine::event)
        .map(|it| &it.event);
    if caller.role < Role::Agent || !lines.iter().all(is_fine) || !are_self_contained(events) {
        return Ok(None);
    }
    if growth::exceeds_limits(lines) {
        return Ok(None);
    }
    let signers = services.signers.clone();
    let pusher = Pusher::new(caller, database.clock().now()).with_signers(signers);
    let (mut batch, mut push_context) = (PushPlan::default(), PushContext::default());
    for line in lines {
        batch.add_decision(decide_line(line.clone(), &mut push_context, &pusher));
    }
    let copies = std::mem::take(&mut batch.admitted);
    // Without stored state not every decision was "append", so the full append has to consult that
    // state.
    if copies.len() < lines.len() {
        return Ok(None);
    }
    let events = AuditedEvents::of(copies.iter().map(|(_, copy)| &copy.event));
    let act = AuditAction::EventsPushed;
    let record = NewAuditRecord::new(caller.into(), act, &events.to_string());
    let options = FastAppendOptions {
        pusher: Some(caller.pusher()),
        quotas: Some(&services.quotas),
        check_retractions: copies
            .iter()
            .any(|(_, copy)| statement_of_program(&copy.event).is_some()),
        audit_record: Some(record.with_events(events)),
    };
    let (slots, copies) = split_slots(copies);
    let appended = database.fast_append(caller.organization, workspace, copies, options);
    let Some(appended) = appended.await? else {
        return Ok(None);
    };
    batch.answer_appended(slots, &appended);
    Ok(Some(batch.into_outcome(appended.cursor)))
}

/// Index of the answer about an event, its id, and where it is quarantined, if it is.
type AnswerSlot = (usize, EventId, Option<&'static str>);

fn split_slots(copies: Vec<(usize, RecordedEvent)>) -> (Vec<AnswerSlot>, Vec<RecordedEvent>) {
    let split = |(index, copy): (usize, RecordedEvent)| {
        ((index, copy.event.id, quarantine_hint(&copy.event)), copy)
    };
    copies.into_iter().map(split).unzip()
}

/// A push whose lines were decided.
#[derive(Debug, Default)]
struct PushPlan {
    /// In the order of the push; `None` until an event to be written has been written.
    answers: Vec<Option<EventVerdict>>,
    /// Events to append, with the index of their answer.
    admitted: Vec<(usize, RecordedEvent)>,
    /// Events to quarantine, with the index of their answer and the reason.
    quarantined: Vec<(usize, RecordedEvent, String)>,
    /// Refused events, for the audit log.
    refused: Vec<Event>,
    log_changed: bool,
    /// True if the log grew. A push of redactions only is exempt from the quota: a full workspace
    /// must still be able to remove a leaked secret.
    grows_log: bool,
    /// True if events were quarantined.
    grows_quarantine: bool,
    /// End of the log after an append.
    cursor: Option<LogCursor>,
}

impl PushPlan {
    fn add_decision(&mut self, decision: PushDecision) {
        let index = self.answers.len();
        self.answers.push(match decision {
            PushDecision::Answered(answer) => Some(answer),
            PushDecision::Append(copy) => {
                self.admitted.push((index, *copy));
                None
            }
            PushDecision::Quarantine(copy, why) => {
                self.quarantined.push((index, *copy, why));
                None
            }
        });
    }

    fn answer(&mut self, index: usize, id: EventId, verdict: PushVerdict, reason: Option<String>) {
        self.answers[index] = Some(EventVerdict {
            id: Some(id),
            verdict,
            reason,
            awaits: None,
        });
    }

    /// Answers the appended events.
    fn answer_appended(&mut self, slots: Vec<AnswerSlot>, appended: &AppendReceipt) {
        for ((index, id, quarantine), outcome) in slots.into_iter().zip(&appended.outcomes) {
            let (verdict, reason) = verdict_on(quarantine, *outcome);
            self.answer(index, id, verdict, reason);
        }
        let is_new = |it: &CopyOutcome| *it != CopyOutcome::Known;
        self.log_changed |= appended.outcomes.iter().any(is_new);
        self.cursor = Some(appended.cursor);
    }

    fn into_outcome(self, cursor: LogCursor) -> PushOutcome {
        PushOutcome {
            answers: self.answers.into_iter().flatten().collect(),
            log_changed: self.log_changed,
            cursor: Some(cursor),
        }
    }
}

impl WorkspaceSession {
    /// Begins a push. The rows needed for the append are requested in the message that begins the
    /// transaction, which also locks the workspace's row.
    async fn begin_push(
        database: &HubDatabase,
        services: &ServiceContext,
        caller: AuthenticatedCaller,
        workspace: WorkspaceId,
        lines: &[ScreenedLine],
    ) -> Result<Self, ServiceError> {
        let admitted = lines.iter().filter_map(|line| match line {
            ScreenedLine::Event(copy, ScanVerdict::Admitted) => Some(RecordedEvent::clone(copy)),
            ScreenedLine::Event(_, ScanVerdict::Quarantined(_) | ScanVerdict::Refused(_))
            | ScreenedLine::Unreadable(_) => None,
        });
        let copies: Vec<RecordedEvent> = admitted.collect();
        if copies.is_empty() {
            let mut session = Self::begin(database, services, caller, workspace).await?;
            session.lock().await?;
            return Ok(session);
        }
        ensure_workspace_access(&caller, workspace)?;
        let organization = caller.organization;
        let tx = database
            .begin_append(organization, workspace, &copies)
            .await?;
        // If an evicted workspace had to be rebuilt first, the query was not sent and the row is
        // not locked.
        let is_locked = tx.has_eager_rows();
        let mut session = Self::with_tx(tx, services, caller);
        if !is_locked {
            session.lock().await?;
        }
        Ok(session)
    }

    /// Loads the stored state that the lines are compared with.
    async fn load_push_context(
        &mut self,
        lines: &[ScreenedLine],
        pusher: &Pusher,
    ) -> Result<PushContext, ServiceError> {
        let events = || {
            lines
                .iter()
                .filter_map(ScreenedLine::event)
                .map(|it| &it.event)
        };
        let ids: Vec<EventId> = events().map(|it| it.id).collect();
        let mut push_context = PushContext::default();
        for (id, copy) in self.tx.events_by_id(&ids).await? {
            push_context.events.entry(id).or_default().logged = Some(copy);
        }
        for (id, line) in self.tx.quarantined_lines(&ids).await? {
            let stored: &mut StoredCopies = push_context.events.entry(id).or_default();
            stored.quarantined = Some(line);
        }
        if events().any(|it| statement_of_program(it).is_some()) {
            push_context.retracted_claims = RetractedClaims::new(self.tx.tombstones().await?);
        }
        let edited: BTreeSet<EntryId> = events().filter_map(changed_content).collect();
        let edited: Vec<EntryId> = edited.into_iter().collect();
        for entry in self.tx.entries(&edited).await? {
            let origin = entry.created.as_ref().map(|it| it.origin);
            push_context.origins.extend(origin.map(|it| (entry.id, it)));
            let protection = content_protection(&entry);
            push_context.protections.insert(entry.id, protection);
        }
        let redactions = events().filter_map(Event::get::<EventBlanked>);
        let approvals = events().filter_map(Event::get::<ApprovalGranted>);
        let targets = redactions.map(|it| it.event);
        let targets: Vec<EventId> = targets
            .chain(approvals.flat_map(|it| it.covers.clone()))
            .collect();
        let own = self.tx.events_of_actor(&targets, &pusher.actor).await?;
        push_context.own_events.extend(own);
        // Agents push their own feedback only, which counts once a day.
        if pusher.role >= Role::Member {
            return Ok(push_context);
        }
        let subjects_of = |is_wanted: fn(&EventBody) -> bool| -> Vec<EntryId> {
            let wanted = events().filter(|event| is_wanted(&event.body));
            let entries: BTreeSet<EntryId> = wanted.flat_map(Event::entries).collect();
            entries.into_iter().collect()
        };
        let rated = subjects_of(|body| matches!(body, EventBody::FeedbackGiven(_)));
        // Compared by family: sub-agents of one token must not multiply its feedback.
        let family = pusher.actor.without_session();
        for copy in self.tx.feedback_on(&rated).await? {
            if family.covers(&copy.event.by) {
                let day = copy.event.at.wall.date();
                let given = copy.event.entries().map(|it| ((it, day), copy.event.id));
                push_context.feedback.extend(given);
            }
        }
        Ok(push_context)
    }

    /// Adds one record per outcome of a push to the audit log.
    async fn audit_push(&mut self, batch: &PushPlan, act: AuditAction) -> Result<(), ServiceError> {
        let admitted = batch.admitted.iter().map(|(_, copy)| &copy.event);
        let quarantined = batch.quarantined.iter().map(|(_, copy, _)| &copy.event);
        let refused = batch.refused.iter().take(REFUSED_AUDITED_MAX);
        for (outcome, events) in [
            (OUTCOME_DONE, AuditedEvents::of(admitted)),
            ("quarantined", AuditedEvents::of(quarantined)),
            ("refused", AuditedEvents::of(refused)),
        ] {
            if events.is_empty() {
                continue;
            }
            let record = NewAuditRecord::new((&self.caller).into(), act, &events.to_string());
            let record = record.with_events(events).with_outcome(outcome);
            self.tx.add_audit_record(record).await?;
        }
        Ok(())
    }

    /// Appends the admitted events. Quarantined events that they redact are deleted.
    async fn append_admitted(&mut self, batch: &mut PushPlan) -> Result<(), ServiceError> {
        let copies = std::mem::take(&mut batch.admitted);
        let redactions = copies
            .iter()
            .filter_map(|(_, copy)| copy.event.get::<EventBlanked>());
        let targets: Vec<EventId> = redactions.map(|it| it.event).collect();
        let only_redactions = targets.len() == copies.len();
        let events = copies.iter().map(|(_, copy)| &copy.event);
        let subject = AuditedEvents::of(events.clone()).to_string();
        let changed = self.changes_ending_verification(events);
        self.append_all(batch, copies).await?;
        batch.grows_log = batch.log_changed && !only_redactions;
        let ended = self.draft_ended_verifications(&changed).await?;
        let ended: Vec<_> = ended.into_iter().map(|draft| (None, draft)).collect();
        let by = self.caller.actor.clone();
        let record = (AuditAction::EventsRecorded, &*subject);
        self.append_drafts(ended, &by, record).await?;
        // Not every redaction is authorized, so the store decides which targets are redacted.
        for id in self.tx.redacted_ids(&targets).await? {
            self.tx.take_quarantined_event(id).await?;
        }
        Ok(())
    }

    async fn append_all(
        &mut self,
        batch: &mut PushPlan,
        copies: Vec<(usize, RecordedEvent)>,
    ) -> Result<(), ServiceError> {
        if copies.is_empty() {
            return Ok(());
        }
        let (slots, copies) = split_slots(copies);
        let appended = self.tx.append(copies).await?;
        batch.answer_appended(slots, &appended);
        Ok(())
    }

    /// Quarantines events outside the log until a curator decides. A redacted event is appended
    /// without its data instead.
    async fn quarantine_pushed(&mut self, batch: &mut PushPlan) -> Result<(), ServiceError> {
        let quarantined = std::mem::take(&mut batch.quarantined);
        if quarantined.is_empty() {
            return Ok(());
        }
        let ids: Vec<EventId> = quarantined
            .iter()
            .map(|(_, copy, _)| copy.event.id)
            .collect();
        let redacted_ids = self.tx.redacted_ids(&ids).await?;
        let by = self.caller.pusher();
        let (mut all, mut own) = self.tx.count_quarantined(&by.actor).await?;
        let mut redacted = Vec::new();
        for (index, copy, why) in quarantined {
            let id = copy.event.id;
            // Without its data nothing is left that a curator would have to review.
            if redacted_ids.contains(&id) {
                redacted.push((index, copy.redacted()));
                continue;
            }
            // A second form of a quarantined event gets this far only if a curator sends it; it
            // then replaces the first.
            let is_replacement = self.tx.take_quarantined_event(id).await?.is_some();
            if !is_replacement {
                (all, own) = (all + 1, own + 1);
            }
            let is_full = all > QUARANTINE_MAX
                || (own > QUARANTINE_PER_PUSHER_MAX && self.caller.role < Role::Curator);
            if is_full && !is_replacement {
                (all, own) = (all - 1, own - 1);
                let reason = format!(
                    "the quarantine is full ({all} events, {own} of them yours); a curator has to review some of them before it accepts this event"
                );
                batch.answer(index, id, PushVerdict::Refused, Some(reason));
                continue;
            }
            self.tx.quarantine_event(&copy, &why, &by).await?;
            batch.grows_quarantine = true;
            let reason = format!("{why}; {EVENT_QUARANTINE_HINT}");
            batch.answer(index, id, PushVerdict::Quarantined, Some(reason));
        }
        self.append_all(batch, redacted).await
    }
}

/// Returns the hint for an event that is quarantined in the log; `None` for other events.
fn quarantine_hint(event: &Event) -> Option<&'static str> {
    if !event.is_quarantined() {
        return None;
    }
    // Norms and entries promoted from another memory need an approval; a release is not enough.
    let needs_approval = event
        .get::<Proposed>()
        .is_some_and(|it| !it.promoted_from.is_empty() || it.kind.memory() == Memory::Procedural);
    Some(if needs_approval {
        APPROVAL_HINT
    } else {
        ENTRY_QUARANTINE_HINT
    })
}

fn verdict_on(quarantine: Option<&str>, outcome: CopyOutcome) -> (PushVerdict, Option<String>) {
    match (outcome, quarantine) {
        (CopyOutcome::Known, _) => (PushVerdict::Known, None),
        (CopyOutcome::New | CopyOutcome::Better, Some(place)) => {
            let reason = format!(
                "the event is in the log, quarantined as in the ledger it was pushed from: {place}"
            );
            (PushVerdict::Quarantined, Some(reason))
        }
        (CopyOutcome::New | CopyOutcome::Better, None) => (PushVerdict::Admitted, None),
    }
}
