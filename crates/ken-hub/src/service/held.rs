//! What waits for a person, in two places.
//!
//! *Held lines* say of themselves that they were admitted, and the hub's guard would not have let them in without a person:
//! they are in no log until a curator lets them in. *Entries set apart* were quarantined where they were written: they are in
//! the log, every clone has them, and nobody is shown them until a curator lets them out.

use std::collections::BTreeSet;

use ken_core::decide::{self, Refusal};
use ken_core::entry::Entry;
use ken_core::event::{Channel, Event, RetractReason};
use ken_core::id::EventId;
use ken_core::text::Note;
use ken_guard::Written;

use super::promotion::is_waiting;
use super::{Desk, Failure};
use crate::identity::Role;
use crate::identity::audit::Act;
use crate::store::{After, HeldEvent};

/// Where a line waits that is in no log, as it is said to whoever sent it.
pub const HELD_WHERE: &str =
    "a curator of this hub releases or discards it (GET /v1/workspaces/{workspace}/held)";

/// Where an entry waits that is in the log, as it is said to whoever wrote it.
pub const SET_APART_WHERE: &str =
    "a curator of this hub lets it out or discards it (GET /v1/workspaces/{workspace}/quarantine)";

/// Where an entry waits that only an approval lets out, as it is said to whoever wrote it.
pub const APPROVAL_WHERE: &str =
    "somebody else approves or rejects it (GET /v1/workspaces/{workspace}/promotions)";

/// Why a person let an entry out who gave no reason.
const LOOKED_AT: &str = "a curator of the hub looked at it";

/// An entry of the log that nobody is shown before a person looked at it.
#[derive(Clone, Debug)]
pub struct SetApart {
    pub entry: Entry,
    /// What the guard said that set it apart; never the text it found.
    pub why: BTreeSet<String>,
    pub way_out: WayOut,
}

/// How an entry that was set apart gets out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// A person lifts its quarantine.
    Lift,
    /// A person who did not word it approves what it says: a norm, or what was made from another memory.
    Approve,
}

/// Lists lines that wait outside the log, behind `after`, the oldest first.
pub async fn held(
    desk: &mut Desk,
    after: Option<EventId>,
    limit: u32,
) -> Result<Vec<HeldEvent>, Failure> {
    desk.needs(Role::Curator, "seeing what waits")?;
    Ok(desk.tenant.held(after, limit).await?)
}

/// Lets a line in as it was written. What today's rules refuse outright stays out whoever says otherwise.
pub async fn release(desk: &mut Desk, id: EventId) -> Result<(), Failure> {
    desk.needs_person("releasing what was held")?;
    desk.lock().await?;
    let held = desk.tenant.discard(id).await?;
    let held = held.ok_or_else(|| not_held(id))?;
    if let Written::Turned(why) = desk.house.guard.receive(&held.copy) {
        return Err(why.into());
    }
    desk.append(vec![held.copy]).await?;
    desk.audit(Act::HeldReleased, &id.to_string()).await
}

/// Throws a line away; whoever pushes it again brings it back.
pub async fn discard(desk: &mut Desk, id: EventId) -> Result<(), Failure> {
    desk.needs_person("discarding what was held")?;
    desk.lock().await?;
    let discarded = desk.tenant.discard(id).await?;
    discarded.ok_or_else(|| not_held(id))?;
    desk.audit(Act::HeldDiscarded, &id.to_string()).await
}

/// Lists entries of the log that wait for a person, behind `after`, the newest first.
pub async fn set_apart(
    desk: &mut Desk,
    after: Option<&After>,
    limit: u32,
) -> Result<Vec<SetApart>, Failure> {
    desk.needs(Role::Curator, "seeing what waits")?;
    let entries = desk.tenant.set_apart(after, limit).await?;
    let mut told = Vec::with_capacity(entries.len());
    for entry in entries {
        let history = desk.events_of(entry.id).await?;
        told.push(SetApart {
            why: why(&entry, &history),
            way_out: match is_waiting(&entry, &history) {
                true => WayOut::Approve,
                false => WayOut::Lift,
            },
            entry,
        });
    }
    Ok(told)
}

/// Lets an entry out to whoever asks.
pub async fn lift_quarantine(
    desk: &mut Desk,
    wanted: &str,
    reason: Option<Note>,
) -> Result<Entry, Failure> {
    desk.needs_person("lifting a quarantine")?;
    desk.lock().await?;
    let entry = desk.find(wanted).await?;
    let history = desk.events_of(entry.id).await?;
    if is_waiting(&entry, &history) {
        return Err(Refusal::ApprovalNeeded(entry.id).into());
    }
    let by = desk.caller.actor.clone();
    let reason = reason.map_or_else(|| LOOKED_AT.parse().map_err(Failure::usage), Ok)?;
    let draft = decide::lift_quarantine(&entry, &by, reason)?;
    desk.settle(entry.id, vec![draft], &by, Act::QuarantineLifted)
        .await
}

/// Takes an entry back that nobody should ever be shown.
pub async fn discard_set_apart(
    desk: &mut Desk,
    wanted: &str,
    reason: Option<Note>,
) -> Result<Entry, Failure> {
    desk.needs_person("discarding what was set apart")?;
    desk.lock().await?;
    let entry = desk.find(wanted).await?;
    if entry.quarantine.is_empty() {
        return Err(Refusal::NotQuarantined(entry.id).into());
    }
    let draft = decide::retract(&entry, RetractReason::Unwanted, Channel::Command, reason)?;
    let by = desk.caller.actor.clone();
    desk.settle(entry.id, vec![draft], &by, Act::QuarantineDiscarded)
        .await
}

/// Returns what the guard said of those events of an entry that wait.
fn why(entry: &Entry, history: &[Event]) -> BTreeSet<String> {
    let waits = history
        .iter()
        .filter(|it| entry.quarantine.contains(&it.id));
    let said = waits.filter_map(|it| it.admission.as_ref()?.held_for.clone());
    said.collect()
}

fn not_held(id: EventId) -> Failure {
    let (what, wanted) = ("line that waits", id.to_string());
    Failure::NotFound { what, wanted }
}
