//! What becomes of each line of a push, before anything is written.
//!
//! What a line claims about itself counts for nothing here: who sends it, the hub's clock and the hub's guard decide. A
//! line that holds a secret reaches no disk and no log; its sender is told what kind of thing was found and where.
//!
//! In two steps: [`look`] needs nothing but the line and takes its time; [`decide`] compares it with what the hub has, which
//! is only true while the workspace's row is held.

use ken_core::actor::Actor;
use ken_core::content::Scope;
use ken_core::decide::FEEDBACK_WEIGHT_MILLI;
use ken_core::event::{Body, Event, Proposed, Recorded};
use ken_core::id::EventId;
use ken_core::status::Status;
use ken_core::time::{DAY_MS, Timestamp};
use ken_core::tombstone::Stones;
use ken_guard::{Guard, Written};
use ken_remote::wire::{Answered, Verdict};

use crate::identity::Role;
use crate::service::HELD_WHERE;

/// How far ahead of the hub's an event's clock may be.
pub(super) const AHEAD_MAX_MS: u64 = DAY_MS;

/// Who sends, and when.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) actor: Actor,
    pub(super) role: Role,
    pub(super) now: Timestamp,
}

/// A line that was looked at by itself.
#[derive(Debug)]
pub(super) enum Looked {
    /// It is no event.
    Unreadable(String),
    Event(Box<Recorded>, Opinion),
}

/// What is to be said about an event, should the hub not have it.
#[derive(Debug)]
pub(super) enum Opinion {
    Fine,
    /// It is to wait for a curator, for this reason.
    Waits(String),
    Refused(String),
}

/// What the hub has of an event.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// The copy in the log.
    pub(super) logged: Option<Recorded>,
    /// The line of the copy that waits.
    pub(super) held: Option<String>,
}

/// What is to be done with a line.
#[derive(Debug)]
pub(super) enum Judged {
    /// Answered already: known, or refused.
    Settled(Answered),
    /// To be appended.
    Append(Box<Recorded>),
    /// To wait at the hub for a curator, in the place of whatever waits under its id.
    Hold(Box<Recorded>, String),
}

/// Looks at the lines of a push, each by itself.
pub(super) fn look<'a>(
    guard: &Guard,
    lines: impl Iterator<Item = &'a str>,
    sent: &Sent,
) -> Vec<Looked> {
    let one = |line: &str| match Recorded::parse(line.as_bytes()) {
        Ok(copy) => {
            let opinion = opinion(guard, &copy, sent);
            Looked::Event(Box::new(copy), opinion)
        }
        Err(error) => Looked::Unreadable(format!("it is no event: {error}")),
    };
    lines.map(one).collect()
}

fn opinion(guard: &Guard, copy: &Recorded, sent: &Sent) -> Opinion {
    if sent.now.plus_millis(AHEAD_MAX_MS) < copy.event.at.wall {
        let told = "its clock is ahead of the hub's by more than a day";
        return Opinion::Refused(told.to_owned());
    }
    if sent.role < Role::Curator
        && let Some(reason) = is_not_an_agents(&copy.event, &sent.actor)
    {
        return Opinion::Refused(format!("{reason}; a curator's token may send it"));
    }
    if copy.is_blanked() {
        // Nothing is left to be looked at.
        return Opinion::Fine;
    }
    match guard.receive(copy) {
        Written::Taken => Opinion::Fine,
        Written::Held(why) => Opinion::Waits(why),
        // Says what was found and in which field, never the text.
        Written::Turned(turned) => Opinion::Refused(turned.to_string()),
    }
}

/// Decides about a line, given what the hub has of its event while nobody else can change that.
pub(super) fn decide(looked: Looked, stored: &Stored, stones: &Stones, sent: &Sent) -> Judged {
    let (copy, opinion) = match looked {
        Looked::Unreadable(reason) => return settled(None, Verdict::Refused, Some(reason)),
        Looked::Event(copy, opinion) => (copy, opinion),
    };
    let id = copy.event.id;
    let refused = |reason: String| settled(Some(id), Verdict::Refused, Some(reason));
    let known = stored.logged.as_ref();
    if let Some(judged) = known.and_then(|known| compare(&copy, known, sent)) {
        return judged;
    }
    if let Opinion::Refused(reason) = opinion {
        return refused(reason);
    }
    if let Some(held) = &stored.held {
        if *held == copy.line() {
            let reason = format!("it waits: {HELD_WHERE}");
            return settled(Some(id), Verdict::Quarantined, Some(reason));
        }
        if sent.role < Role::Curator {
            let told = "another form of this event waits for a curator of this hub";
            return refused(told.to_owned());
        }
    }
    if let Some(reason) = was_taken_back(&copy.event, stones) {
        return refused(reason);
    }
    match opinion {
        Opinion::Fine => Judged::Append(copy),
        Opinion::Waits(why) => Judged::Hold(copy, why),
        Opinion::Refused(reason) => refused(reason),
    }
}

/// Settles a copy of an event the log has, or leaves it to be looked at.
///
/// Which of two forms is kept is decided by their bytes, so below curator nobody may bring another form: whoever can choose
/// bytes could replace what somebody else wrote.
fn compare(copy: &Recorded, known: &Recorded, sent: &Sent) -> Option<Judged> {
    let id = Some(copy.event.id);
    let same_form = copy.blanked().line() == known.blanked().line();
    let better = copy.clone().better_copy(known.clone());
    let changes = better.line() != known.line();
    match (same_form, changes) {
        (true, false) => Some(settled(id, Verdict::Known, None)),
        (true, true) => None,
        (false, _) if sent.role < Role::Curator => {
            let told =
                "the hub has another form of this event; only a curator's token may send a second";
            Some(settled(id, Verdict::Refused, Some(told.to_owned())))
        }
        (false, false) => {
            let told = "the hub has another form of this event, which goes before yours";
            Some(settled(id, Verdict::Refused, Some(told.to_owned())))
        }
        (false, true) => None,
    }
}

/// Returns why a proposal is refused that says again what a person took back, as a repository would refuse it.
fn was_taken_back(event: &Event, stones: &Stones) -> Option<String> {
    let Body::Proposed(proposed) = &event.body else {
        return None;
    };
    if event.by.is_human() {
        return None;
    }
    let said = stones.said_before(&proposed.content.statement)?;
    let entry = said.id;
    Some(format!(
        "it says what was retracted ({entry}); a person may override that"
    ))
}

/// Returns why an agent may not send an event, if it may not.
///
/// An agent proposes, words, cites, links and reports in its own name. Whatever moves trust, scope or status is decided by
/// the hub from runs, or by people.
fn is_not_an_agents(event: &Event, actor: &Actor) -> Option<String> {
    if !is_own(&event.by, actor) {
        return Some(format!(
            "it is in another's name than your token's, {actor}"
        ));
    }
    if 0 < event.unknown_fields {
        return Some("it has members this hub does not know".to_owned());
    }
    if event.is_quarantined() && !matches!(event.body, Body::Proposed(_)) {
        return Some("it claims to be quarantined, which would hide what others wrote".to_owned());
    }
    let name = event.body.type_name();
    match &event.body {
        Body::Proposed(proposed) => claims_too_much(proposed),
        Body::FeedbackGiven(given) if given.weight_milli != FEEDBACK_WEIGHT_MILLI => {
            Some("its weight is not what feedback weighs".to_owned())
        }
        Body::Revised(_)
        | Body::Cited(_)
        | Body::Linked(_)
        | Body::FeedbackGiven(_)
        | Body::FrictionRecorded(_)
        | Body::RetrievalMissed(_)
        | Body::ContradictionFlagged(_)
        | Body::Reanchored(_) => None,
        Body::Confirmed(_)
        | Body::StatusChanged(_)
        | Body::ScopeChanged(_)
        | Body::Archived(_)
        | Body::Restored(_)
        | Body::Retracted(_)
        | Body::Merged(_)
        | Body::Superseded(_)
        | Body::QuarantineLifted(_)
        | Body::OverlaySet(_)
        | Body::PairDismissed(_)
        | Body::ContradictionResolved(_)
        | Body::RunClosed(_)
        | Body::RunEffects(_)
        | Body::ApprovalGranted(_)
        | Body::OriginRevoked(_)
        | Body::ConfigChanged(_)
        | Body::ConfidenceReset(_)
        | Body::EventBlanked(_)
        | Body::KnowledgeDistilled(_)
        | Body::PeerTrustChanged(_)
        | Body::ForageRequested(_)
        | Body::ForageCompleted(_)
        | Body::DomainStrategyChanged(_)
        | Body::DomainOverridden(_)
        | Body::Blanked { .. }
        | Body::Unknown { .. } => Some(format!("`{name}` is not an agent's to send")),
    }
}

/// Returns why a proposal is more than a proposal.
fn claims_too_much(proposed: &Proposed) -> Option<String> {
    let told = if proposed.status != Status::Candidate {
        "it claims a status, and a new entry is a candidate"
    } else if proposed.scope == Scope::Global {
        "it claims to be everybody's, which a person decides"
    } else if proposed.overrides.is_some() {
        "it overrides a retraction, which a person does"
    } else {
        return None;
    };
    Some(told.to_owned())
}

/// Returns whether `by` is `actor`, or a conversation of it (`agent:claude-code` and `agent:claude-code/7f3a`).
fn is_own(by: &Actor, actor: &Actor) -> bool {
    let rest = by.name().strip_prefix(actor.name());
    by.role() == actor.role() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn settled(id: Option<EventId>, verdict: Verdict, reason: Option<String>) -> Judged {
    Judged::Settled(Answered {
        id,
        verdict,
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_of_an_agent_is_the_agent() {
        let actor = |text: &str| -> Actor { text.parse().expect("an actor") };
        let own = actor("agent:claude-code");
        for (by, is) in [
            ("agent:claude-code", true),
            ("agent:claude-code/7f3a", true),
            ("agent:claude-code2", false),
            ("agent:other", false),
            ("human:claude-code", false),
            ("ci:claude-code", false),
        ] {
            assert_eq!(is_own(&actor(by), &own), is, "{by}");
        }
    }
}
