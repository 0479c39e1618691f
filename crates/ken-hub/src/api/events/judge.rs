//! What becomes of each line of a push, before anything is written.
//!
//! What a line claims about itself counts for nothing here: who sends it, the hub's clock and the hub's guard decide. A
//! line that holds a secret reaches no disk and no log; its sender is told what kind of thing was found and where.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::event::{Body, Event, Recorded};
use ken_core::id::EventId;
use ken_core::time::{DAY_MS, Timestamp};
use ken_guard::{Guard, Turned, Written};
use ken_remote::wire::{Answered, Verdict};

use crate::identity::Role;

/// How far ahead of the hub's an event's clock may be.
pub(super) const AHEAD_MAX_MS: u64 = DAY_MS;

/// A line, read.
#[derive(Debug)]
pub(super) enum Read {
    Event(Box<Recorded>),
    Refused(String),
}

/// What is to be done with a line.
#[derive(Debug)]
pub(super) enum Judged {
    /// Answered already: known, or refused.
    Settled(Answered),
    /// To be appended.
    Append(Box<Recorded>),
    /// To wait at the hub for a curator.
    Hold(Box<Recorded>, String),
}

/// Who sends, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) role: Role,
    pub(super) now: Timestamp,
}

/// Reads the lines of a push.
pub(super) fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Read> {
    let one = |line: &str| match Recorded::parse(line.as_bytes()) {
        Ok(copy) => Read::Event(Box::new(copy)),
        Err(error) => Read::Refused(format!("it is no event: {error}")),
    };
    lines.map(one).collect()
}

/// Decides about every line; `stored` holds what the hub has of their events, `held` those that wait already.
pub(super) fn judge(
    guard: &Guard,
    lines: Vec<Read>,
    stored: &BTreeMap<EventId, Recorded>,
    held: &BTreeSet<EventId>,
    sent: Sent,
) -> Vec<Judged> {
    let one = |line: Read| match line {
        Read::Refused(reason) => settled(None, Verdict::Refused, Some(reason)),
        Read::Event(copy) => decide(guard, copy, stored, held, sent),
    };
    lines.into_iter().map(one).collect()
}

fn decide(
    guard: &Guard,
    copy: Box<Recorded>,
    stored: &BTreeMap<EventId, Recorded>,
    held: &BTreeSet<EventId>,
    sent: Sent,
) -> Judged {
    let id = copy.event.id;
    let refused = |reason: String| settled(Some(id), Verdict::Refused, Some(reason));
    if let Some(known) = stored.get(&id) {
        let better = (*copy).clone().better_copy(known.clone());
        if better.line() == known.line() {
            return settled(Some(id), Verdict::Known, None);
        }
    }
    if sent.now.plus_millis(AHEAD_MAX_MS) < copy.event.at.wall {
        return refused("its clock is ahead of the hub's by more than a day".to_owned());
    }
    if sent.role < Role::Curator
        && let Some(reason) = is_not_an_agents(&copy.event)
    {
        return refused(reason);
    }
    if copy.is_blanked() {
        // Nothing is left to be looked at.
        return Judged::Append(copy);
    }
    match guard.receive(&copy) {
        Written::Taken => Judged::Append(copy),
        Written::Held(_) if held.contains(&id) => {
            let reason = "it waits for a curator of this hub".to_owned();
            settled(Some(id), Verdict::Quarantined, Some(reason))
        }
        Written::Held(why) => Judged::Hold(copy, why),
        Written::Turned(turned) => refused(told(&turned)),
    }
}

/// Says why the guard refused; never the text that was the reason.
fn told(turned: &Turned) -> String {
    turned.to_string()
}

/// Returns why an agent may not send an event, if it may not: agents never approve and never speak for people.
fn is_not_an_agents(event: &Event) -> Option<String> {
    if event.by.is_human() {
        return Some(
            "it is in a person's name and your token is an agent's; a curator's token may send it"
                .to_owned(),
        );
    }
    let what = match &event.body {
        Body::Unknown { .. } => "this hub does not know its type",
        Body::Blanked { .. } => "it is blanked",
        Body::EventBlanked(_) => "it blanks another",
        Body::ApprovalGranted(_) => "it approves",
        Body::QuarantineLifted(_) => "it lifts a quarantine",
        Body::OriginRevoked(_) => "it revokes an origin",
        Body::ConfigChanged(_) => "it changes the configuration",
        Body::PeerTrustChanged(_) => "it changes whom to trust",
        Body::DomainOverridden(_) => "it overrides a domain",
        Body::Proposed(_)
        | Body::Revised(_)
        | Body::Cited(_)
        | Body::Confirmed(_)
        | Body::StatusChanged(_)
        | Body::ScopeChanged(_)
        | Body::Archived(_)
        | Body::Restored(_)
        | Body::Retracted(_)
        | Body::Merged(_)
        | Body::Superseded(_)
        | Body::Linked(_)
        | Body::Reanchored(_)
        | Body::OverlaySet(_)
        | Body::PairDismissed(_)
        | Body::ContradictionFlagged(_)
        | Body::ContradictionResolved(_)
        | Body::RunClosed(_)
        | Body::RunEffects(_)
        | Body::FeedbackGiven(_)
        | Body::RetrievalMissed(_)
        | Body::FrictionRecorded(_)
        | Body::ConfidenceReset(_)
        | Body::KnowledgeDistilled(_)
        | Body::ForageRequested(_)
        | Body::ForageCompleted(_)
        | Body::DomainStrategyChanged(_) => return None,
    };
    Some(format!(
        "{what}, which is not an agent's to send; a curator's token may"
    ))
}

pub(super) fn settled(id: Option<EventId>, verdict: Verdict, reason: Option<String>) -> Judged {
    Judged::Settled(Answered {
        id,
        verdict,
        reason,
    })
}
