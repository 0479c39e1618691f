//! Push: sends a hub the events it is not known to have.

use std::collections::BTreeSet;

use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::id::{EntryId, EventId};
use ken_remote::wire::{EventVerdict, PUSH_BYTES_MAX, PUSH_EVENTS_MAX, PushResponse, PushVerdict};
use ken_remote::{HubClient, HubError};

use super::file::Remote;
use super::state::{RejectedEvent, RejectionKind, RemoteState};
use super::{ProgressCallback, RemoteError};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::{files, sync};

/// Size in bytes of the JSON around the events of a push request.
const ENVELOPE_BYTES: usize = 64;

/// Selects the events of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushSelection {
    /// Events the hub is not known to have and did not reject.
    New,
    /// Also events it refused or quarantined before.
    Rejected,
    /// All events, including those it is known to have.
    Everything,
}

/// The result of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// Number of events the hub did not have.
    pub admitted: usize,
    /// Number of events the hub already had.
    pub known: usize,
    /// Number of `admitted` and `known` events that are quarantined in this clone, too.
    pub quarantined_here: usize,
    /// Events the hub keeps out of its log until a person there decides.
    pub quarantined: Vec<RejectedEvent>,
    pub refused: Vec<RejectedEvent>,
    /// Decisions of other people, which the hub accepts from their authors or signed.
    pub awaiting: Vec<RejectedEvent>,
    /// Events rejected by an earlier push and not sent again.
    pub rejected_before: Vec<RejectedEvent>,
    /// Set if the hub lost events it had, so that everything was sent again.
    pub restarted: bool,
}

impl PushReport {
    /// Returns whether events stay behind that only a change here can bring to the hub: refused now
    /// or before, or quarantined by this push. Decisions of other people are left to them, and what
    /// was quarantined before is in the hands of a curator.
    #[must_use]
    pub fn leaves_events_behind(&self) -> bool {
        let was_refused = |it: &RejectedEvent| it.kind == RejectionKind::Refused;
        !self.refused.is_empty()
            || !self.quarantined.is_empty()
            || self.rejected_before.iter().any(was_refused)
    }
}

/// The events of one request.
type PushBatch = Vec<OutgoingEvent>;

/// An event to send.
struct OutgoingEvent {
    id: EventId,
    entry: Option<EntryId>,
    /// Set if the event is quarantined in this clone; the hub then accepts it as quarantined.
    is_quarantined: bool,
    line: Box<str>,
}

/// Sends the hub every event of this work tree that it is not known to have.
///
/// Answers are recorded after each request, so that an interrupted push resumes there.
pub(crate) fn push_events(
    engine: &mut Engine,
    remote: &Remote,
    hub: &mut dyn HubClient,
    again: PushSelection,
    progress: ProgressCallback<'_>,
) -> Result<PushReport, EngineError> {
    let mut known = RemoteState::open(&engine.place, remote)?;
    // Pending edits of entry files belong to this push; redacted data that came back must not
    // leave this clone.
    sync::sync_before_writing(engine)?;
    files::render_due(engine)?;
    let mut report = PushReport::default();
    let failed = |why: HubError| RemoteError::Hub { done: 0, why };
    // A hub restored from a backup lacks events that it confirmed earlier.
    if !hub.knows(known.reached).map_err(failed)? {
        known.reset()?;
        report.restarted = true;
    }
    known.record_token(hub.token())?;
    let offered = events_to_push(engine, &known, again)?;
    let (mut done, mut batch, mut bytes) = (0, PushBatch::new(), ENVELOPE_BYTES);
    progress(done, Some(offered.len()));
    for id in &offered {
        // Another process may have redacted or packed events since; missing ones are skipped.
        let Some(copy) = engine.index.event(*id)? else {
            continue;
        };
        let line = copy.line();
        if batch.len() == PUSH_EVENTS_MAX || bytes + line.len() + 1 > PUSH_BYTES_MAX {
            done += push_batch(remote, &mut known, hub, (&batch, done, &mut report))?;
            progress(done, Some(offered.len()));
            (batch, bytes) = (PushBatch::new(), ENVELOPE_BYTES);
        }
        bytes += line.len() + 1;
        batch.push(OutgoingEvent {
            id: *id,
            entry: copy.event.entries().next(),
            is_quarantined: copy.event.is_quarantined(),
            line: line.into(),
        });
    }
    done += push_batch(remote, &mut known, hub, (&batch, done, &mut report))?;
    progress(done, Some(offered.len()));
    let rejected = report.refused.iter().chain(&report.awaiting);
    let rejected = rejected.chain(&report.quarantined);
    let now: BTreeSet<EventId> = rejected.map(|it| it.event).collect();
    // Declined events came from the hub, so they were never part of a push.
    let before =
        |it: &RejectedEvent| it.kind != RejectionKind::Declined && !now.contains(&it.event);
    report.rejected_before = known.rejections().filter(before).collect();
    Ok(report)
}

/// Returns the events a push would send, in canonical order.
pub(super) fn events_to_push(
    engine: &Engine,
    known: &RemoteState,
    again: PushSelection,
) -> Result<Vec<EventId>, EngineError> {
    let mut offered = Vec::new();
    engine.index.for_each_line(&mut |id, line| {
        let is_wanted = match again {
            PushSelection::New => {
                !known.has_line(id, line) && known.rejection_of(id, line).is_none()
            }
            PushSelection::Rejected => !known.has_line(id, line),
            PushSelection::Everything => true,
        };
        if is_wanted {
            offered.push(id);
        }
    })?;
    Ok(offered)
}

/// Sends one batch, records the answers and returns the number of events.
fn push_batch(
    remote: &Remote,
    known: &mut RemoteState,
    hub: &mut dyn HubClient,
    (batch, done, report): (&PushBatch, usize, &mut PushReport),
) -> Result<usize, EngineError> {
    if batch.is_empty() {
        return Ok(0);
    }
    let lines: Vec<&str> = batch.iter().map(|it| &*it.line).collect();
    let failed = |why: HubError| RemoteError::Hub { done, why };
    let pushed = hub.push(&lines).map_err(failed)?;
    // Answers are matched to events by position; a wrong match would mark an event as safe that the
    // hub does not have.
    if !answers_match_batch(&pushed, batch) {
        let why = "its answer does not match the events that were sent";
        let hub = remote.address.origin().to_owned();
        return Err(failed(HubError::Answer { hub, why }).into());
    }
    // The cursor is recorded before the events: after a crash in between, these events are sent
    // again instead of being taken for safe.
    if let Some(cursor) = pushed.cursor {
        known.advance_reached(cursor)?;
    }
    let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
    for (sent, answered) in batch.iter().zip(pushed.events) {
        let rejection = |why| RejectedEvent {
            event: sent.id,
            entry: sent.entry,
            kind: why,
            reason: answered.reason.clone().unwrap_or_default(),
        };
        match answered.verdict {
            PushVerdict::Admitted => report.admitted += 1,
            PushVerdict::Quarantined if sent.is_quarantined => report.admitted += 1,
            PushVerdict::Known => report.known += 1,
            PushVerdict::Quarantined => {
                report
                    .quarantined
                    .push(rejection(RejectionKind::Quarantined));
                rejected.push((rejection(RejectionKind::Quarantined), &*sent.line));
                continue;
            }
            PushVerdict::Refused => {
                let (kind, list) = if answered.awaits.is_some() {
                    (RejectionKind::Awaiting, &mut report.awaiting)
                } else {
                    (RejectionKind::Refused, &mut report.refused)
                };
                list.push(rejection(kind));
                rejected.push((rejection(kind), &*sent.line));
                continue;
            }
        }
        report.quarantined_here += usize::from(sent.is_quarantined);
        accepted.push((sent.id, &*sent.line));
    }
    known.record_known(accepted.iter().copied())?;
    known.record_rejections(rejected.into_iter(), accepted.iter().map(|(id, _)| *id))?;
    Ok(batch.len())
}

/// Returns true if the answers are about the events of the batch, in order.
fn answers_match_batch(pushed: &PushResponse, batch: &PushBatch) -> bool {
    // A hub that could not parse a line answers without an id.
    let same =
        |(answered, it): (&EventVerdict, &OutgoingEvent)| answered.id.is_none_or(|id| id == it.id);
    pushed.events.len() == batch.len() && pushed.events.iter().zip(batch).all(same)
}
