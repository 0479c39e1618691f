//! Pull: fetches events this clone lacks, and recovers events lost in a force-push or reset.
//!
//! An event is in this work tree, elsewhere in the repository (another branch, a stash, another
//! worktree), or nowhere. An event elsewhere stays there and arrives when its branch is merged. An
//! event that is nowhere is written to this work tree, if this clone never had it or lost it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::event::{ApprovalGranted, EventBlanked, RecordedEvent, Retracted};
use ken_core::ledger::state::redaction_target;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_guard::ReceiveVerdict;
use ken_remote::wire::{LogCursor, PULL_EVENTS_MAX, PullResponse};
use ken_remote::{HubClient, HubError};

use super::file::Remote;
use super::state::{RejectedEvent, RejectionKind, RemoteState};
use super::{ProgressCallback, RemoteError};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::{files, ledger_maintenance, sync};

/// The result of a pull.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullReport {
    /// Number of events this clone never had.
    pub new: usize,
    /// Events this clone had lost and recovered.
    pub recovered: Vec<EventId>,
    /// Events this clone lost that the hub does not have anymore either.
    pub lost: Vec<EventId>,
    /// Number of events whose copy in this clone was replaced by the hub's.
    pub updated: usize,
    /// Number of events that are on another branch, in a stash or in another worktree.
    pub elsewhere: usize,
    /// Events this clone declined: the guard refuses or would quarantine them, or they are forged.
    pub declined: Vec<RejectedEvent>,
    /// Entries that arrived quarantined, with the reason; agents do not see them until released.
    pub quarantined: BTreeMap<EntryId, String>,
    /// Number of decisions by each actor. The actor is trusted as with a git remote.
    pub decisions: BTreeMap<Actor, DecisionCounts>,
    /// Number of lines that this build cannot parse as events.
    pub unreadable: usize,
    /// Set if the hub lost events it had, so that its whole log was pulled again.
    pub restarted: bool,
}

/// Counts of decisions that only people make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionCounts {
    pub approvals: usize,
    pub retractions: usize,
    /// Redactions: orders to remove the data of an event.
    pub redactions: usize,
}

/// Events to append.
type PullBatch = BTreeMap<EventId, RecordedEvent>;

/// Declined events, each with the line the hub sent.
type DeclinedLines = Vec<(RejectedEvent, Box<str>)>;

/// The state of a pull in progress.
struct PullState {
    remote_state: RemoteState,
    /// Redacted events, whose data must not be written.
    redacted: BTreeSet<EventId>,
    /// Events the hub is known to have that are nowhere in this repository; pages remove them.
    lost: BTreeSet<EventId>,
    /// Known events that no page has contained yet; only filled if the whole log is pulled.
    unseen: BTreeSet<EventId>,
    /// Entries of accepted events that are quarantined.
    quarantined: BTreeSet<EntryId>,
    /// Events elsewhere in the repository, loaded on first use.
    elsewhere: Option<BTreeSet<EventId>>,
    report: PullReport,
    done: usize,
}

impl PullState {
    /// Resets the recorded state, because the hub lost events. The next push sends them again.
    fn reset(&mut self) -> Result<(), EngineError> {
        self.report.restarted = true;
        self.remote_state.reset()
    }
}

/// Pulls every event this clone lacks.
///
/// The cursor is recorded after each page. Events already written stay if the hub fails later.
pub(crate) fn pull_events(
    engine: &mut Engine,
    remote: &Remote,
    hub: &mut dyn HubClient,
    progress: ProgressCallback<'_>,
) -> Result<PullReport, EngineError> {
    let known = RemoteState::open(&engine.place, remote)?;
    sync::sync_before_writing(engine)?;
    let mut blanked = engine.ledger.blanked_ids()?;
    blanked.extend(engine.index.ordered_blank()?);
    let mut pass = PullState {
        remote_state: known,
        redacted: blanked,
        lost: BTreeSet::new(),
        unseen: BTreeSet::new(),
        quarantined: BTreeSet::new(),
        elsewhere: None,
        report: PullReport::default(),
        done: 0,
    };
    find_lost(engine, &mut pass)?;
    let result = pull_pages(engine, remote, hub, &mut pass, progress);
    // Redactions that arrived are applied even if the hub failed on a later page, so the error
    // is returned only afterwards.
    ledger_maintenance::apply_redactions(engine)?;
    files::render_due(engine)?;
    result?;
    for id in &pass.quarantined {
        // The same pull may contain the release of an entry, so its current state decides.
        let held = engine.quarantined_entry(*id)?;
        let quarantined = held.map(|it| (it.entry.id, it.reason));
        pass.report.quarantined.extend(quarantined);
    }
    Ok(pass.report)
}

/// Finds events that the hub is known to have and that are nowhere in this repository.
fn find_lost(engine: &Engine, pass: &mut PullState) -> Result<(), EngineError> {
    let mut lost: BTreeSet<EventId> = pass.remote_state.known_ids().collect();
    engine.index.for_each_line(&mut |id, _| {
        lost.remove(&id);
    })?;
    // Declined events are missing on purpose.
    lost.retain(|id| !pass.remote_state.is_declined(*id));
    // Reading all branches is slow, so it is skipped in the normal case that nothing is
    // missing.
    if !lost.is_empty() {
        let elsewhere = events_elsewhere(engine, pass)?;
        lost.retain(|id| !elsewhere.contains(id));
    }
    pass.lost = lost;
    Ok(())
}

/// Returns the events elsewhere in this repository; reads them from git once per pull.
fn events_elsewhere<'p>(
    engine: &Engine,
    pass: &'p mut PullState,
) -> Result<&'p BTreeSet<EventId>, EngineError> {
    if pass.elsewhere.is_none() {
        pass.elsewhere = Some(engine.ledger.elsewhere()?);
    }
    Ok(pass.elsewhere.get_or_insert_default())
}

/// Pulls the hub's log page by page: from the recorded cursor, or from the start to recover
/// lost events.
fn pull_pages(
    engine: &mut Engine,
    remote: &Remote,
    hub: &mut dyn HubClient,
    pass: &mut PullState,
    progress: ProgressCallback<'_>,
) -> Result<(), EngineError> {
    let failed = |done| move |why: HubError| RemoteError::Hub { done, why };
    let from_start = !pass.lost.is_empty() || pass.remote_state.should_reread();
    let mut cursor = if from_start {
        LogCursor::default()
    } else {
        pass.remote_state.cursor
    };
    // A hub that lost only the end of its log still knows `cursor`, so the furthest reported
    // position is checked.
    let reached = pass.remote_state.reached;
    if cursor != reached && !hub.knows(reached).map_err(failed(0))? {
        pass.reset()?;
        cursor = LogCursor::default();
    }
    if from_start {
        pass.unseen = pass.remote_state.known_ids().collect();
    }
    loop {
        let page = match hub.pull(cursor, PULL_EVENTS_MAX) {
            // At most one restart: a hub that also rejects the start must not cause a loop.
            Err(HubError::CursorUnknown { .. }) if !pass.report.restarted => {
                pass.reset()?;
                cursor = LogCursor::default();
                continue;
            }
            other => other.map_err(failed(pass.done))?,
        };
        // A broken hub that announces more pages without progress would cause an endless loop.
        let goes_on = page.cursor.seq > cursor.seq && !page.events.is_empty();
        if page.more && !goes_on || page.events.len() > PULL_EVENTS_MAX as usize {
            let hub = remote.address.origin().to_owned();
            let why = "its pages do not advance or are too long";
            return Err(failed(pass.done)(HubError::Answer { hub, why }).into());
        }
        pull_page(engine, &page, pass)?;
        cursor = page.cursor;
        // A pull from the start must not move the recorded cursor backwards: if interrupted,
        // the next pull would repeat it for no reason.
        if cursor.seq >= pass.remote_state.cursor.seq {
            pass.remote_state.set_cursor(cursor)?;
        }
        pass.done += page.events.len();
        progress(pass.done, None);
        if !page.more {
            break;
        }
    }
    // The whole log was pulled and did not contain these, so the next push sends them.
    pass.remote_state.remove_known(&pass.unseen)?;
    pass.report.lost = pass.lost.iter().copied().collect();
    // A partial pull without unreadable lines says nothing about earlier pages.
    if from_start || pass.report.unreadable > 0 {
        pass.remote_state
            .record_unread(pass.report.unreadable > 0)?;
    }
    Ok(())
}

/// Appends the events of a page that this clone lacks, then records that the hub has all of
/// them.
fn pull_page(
    engine: &mut Engine,
    page: &PullResponse,
    pass: &mut PullState,
) -> Result<(), EngineError> {
    let lines = page.events.iter().map(|raw| raw.get().as_bytes());
    let mut copies = Vec::with_capacity(page.events.len());
    for parsed in lines.map(RecordedEvent::parse) {
        match parsed {
            Ok(copy) => copies.push(copy),
            Err(_) => pass.report.unreadable += 1,
        }
    }
    // Redactions are collected first, so that a target on the same page is never written with
    // its data.
    let redactions = copies
        .iter()
        .filter_map(|copy| redaction_target(&copy.event));
    pass.redacted.extend(redactions);
    let mut batch = PullBatch::new();
    let mut declined = DeclinedLines::new();
    for copy in &copies {
        pull_event(engine, copy, pass, (&mut batch, &mut declined))?;
    }
    let events: Vec<RecordedEvent> = batch.into_values().collect();
    engine.append(&events)?;
    let on_hub = || copies.iter().map(|copy| (copy.event.id, copy.line()));
    pass.remote_state.record_known(on_hub())?;
    for (id, _) in on_hub() {
        pass.unseen.remove(&id);
    }
    let rejected = declined
        .iter()
        .map(|(rejection, line)| (rejection.clone(), &**line));
    pass.remote_state
        .record_rejections(rejected, on_hub().map(|(id, _)| id))?;
    pass.report
        .declined
        .extend(declined.into_iter().map(|(rejection, _)| rejection));
    Ok(())
}

/// Decides if one event of a page is appended or declined.
fn pull_event(
    engine: &Engine,
    copy: &RecordedEvent,
    pass: &mut PullState,
    (batch, declined): (&mut PullBatch, &mut DeclinedLines),
) -> Result<(), EngineError> {
    let id = copy.event.id;
    // A redaction event cannot be redacted itself: its target would come back.
    let is_blank = pass.redacted.contains(&id) && redaction_target(&copy.event).is_none();
    let wanted = if is_blank {
        copy.redacted()
    } else {
        copy.clone()
    };
    // A page may contain the same event twice.
    let existing = match batch.get(&id) {
        Some(existing) => Some(existing.clone()),
        None => engine.index.event(id)?,
    };
    let decline = |reason: String| {
        let rejection = RejectedEvent {
            event: id,
            entry: copy.event.entries().next(),
            kind: RejectionKind::Declined,
            reason,
        };
        (rejection, copy.line().into())
    };
    if let Some(existing) = &existing {
        pass.lost.remove(&id);
        let better = existing.clone().preferred_copy(wanted.clone());
        if better.line() == existing.line() || (is_blank && existing.is_redacted()) {
            return Ok(());
        }
        if !is_copy_of(existing, &wanted) {
            let reason = "another local event has the same id".to_owned();
            declined.push(decline(reason));
            return Ok(());
        }
    }
    match engine.guard.receive(&wanted) {
        ReceiveVerdict::Taken => {}
        ReceiveVerdict::Held(why) => {
            pass.lost.remove(&id);
            declined.push(decline(format!("it would be quarantined here: {why}")));
            return Ok(());
        }
        ReceiveVerdict::Turned(turned) => {
            pass.lost.remove(&id);
            declined.push(decline(turned.to_string()));
            return Ok(());
        }
    }
    if existing.is_some() {
        pass.report.updated += 1;
    } else if pass.lost.remove(&id) {
        pass.report.recovered.push(id);
    } else if events_elsewhere(engine, pass)?.contains(&id) {
        pass.report.elsewhere += 1;
        return Ok(());
    } else {
        pass.report.new += 1;
    }
    count_decision(&wanted, &mut pass.report.decisions);
    if wanted.event.is_quarantined() {
        pass.quarantined.extend(wanted.event.entries());
    }
    batch.insert(id, wanted);
    Ok(())
}

/// Returns true if two lines may be copies of one event: same type, actor and subject.
///
/// A forger who wants to replace an event must write under their own name, because the hub checks
/// the actor against the token.
fn is_copy_of(existing: &RecordedEvent, copy: &RecordedEvent) -> bool {
    let (existing, copy) = (&existing.event, &copy.event);
    let same_type = existing.body.type_name() == copy.body.type_name();
    same_type && existing.by == copy.by && existing.about == copy.about
}

/// Counts a decision that only people make.
fn count_decision(copy: &RecordedEvent, decisions: &mut BTreeMap<Actor, DecisionCounts>) {
    let event = &copy.event;
    let of = |decisions: &mut BTreeMap<Actor, DecisionCounts>, count: fn(&mut DecisionCounts)| {
        count(decisions.entry(event.by.clone()).or_default());
    };
    if event.get::<ApprovalGranted>().is_some() {
        of(decisions, |it| it.approvals += 1);
    } else if event.get::<Retracted>().is_some() {
        of(decisions, |it| it.retractions += 1);
    } else if event.get::<EventBlanked>().is_some() {
        of(decisions, |it| it.redactions += 1);
    }
}
