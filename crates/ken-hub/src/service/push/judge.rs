//! What becomes of each line of a push, before anything is written.
//!
//! What a line claims about itself counts for nothing here: who sends it, the hub's clock and the hub's guard decide. A
//! line that holds a secret reaches no disk and no log; its sender is told what kind of thing was found and where.
//!
//! In two steps: [`look`] needs nothing but the line and takes its time; `decide` compares it with what the hub has, which is
//! only true while the workspace's row is held.

use std::collections::BTreeMap;

use ken_core::actor::Actor;
use ken_core::content::Scope;
use ken_core::decide::FEEDBACK_WEIGHT_MILLI;
use ken_core::event::{Body, Event, Origin, Proposed, Recorded, Revised};
use ken_core::id::{EntryId, EventId};
use ken_core::status::Status;
use ken_core::time::{DAY_MS, Date, Timestamp};
use ken_core::tombstone::Stones;
use ken_guard::{Guard, Written};
use ken_remote::wire::{Answered, Verdict};
use serde_json::Value;

use super::super::HELD_WHERE;
use crate::identity::{Caller, Role};

/// How far ahead of the hub's an event's clock may be.
const AHEAD_MAX_MS: u64 = DAY_MS;

/// How old an agent's feedback may be: it counts once a day, and nobody says today how it was all those days.
const FEEDBACK_AGE_MAX_MS: u64 = 7 * DAY_MS;

/// Hexadecimal digits of the digest that stands for blanked data.
const DIGEST_HEX: usize = 32;

/// Who sends, and when.
#[derive(Clone, Debug)]
pub struct Sent {
    pub actor: Actor,
    pub role: Role,
    pub now: Timestamp,
}

impl Sent {
    /// Says that `caller` sends at `now`.
    #[must_use]
    pub fn by(caller: &Caller, now: Timestamp) -> Self {
        Self {
            actor: caller.actor.clone(),
            role: caller.role,
            now,
        }
    }
}

/// A line that was looked at by itself.
#[derive(Clone, Debug)]
pub enum Looked {
    /// It is no event.
    Unreadable(String),
    Event(Box<Recorded>, Opinion),
}

impl Looked {
    /// Returns the event, where it is one.
    pub(super) fn copy(&self) -> Option<&Recorded> {
        match self {
            Self::Unreadable(_) => None,
            Self::Event(copy, _) => Some(copy),
        }
    }
}

/// What is to be said about an event, should the hub not have it.
#[derive(Clone, Debug)]
pub enum Opinion {
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

/// What the hub knows that a push is compared with, while nobody else can change it.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) events: BTreeMap<EventId, Stored>,
    /// What people took back.
    pub(super) stones: Stones,
    /// Where the entries come from that are reworded, those of this push included.
    pub(super) origins: BTreeMap<EntryId, Origin>,
    /// The feedback of the sender's agents, by entry and day.
    pub(super) feedback: BTreeMap<(EntryId, Date), EventId>,
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
pub fn look<'a>(guard: &Guard, lines: impl Iterator<Item = &'a str>, sent: &Sent) -> Vec<Looked> {
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
        && let Some(reason) = is_not_an_agents(&copy.event, sent)
    {
        return Opinion::Refused(curators(&reason));
    }
    if copy.is_blanked() {
        // Nothing is left to be looked at, where that is so.
        return match is_digest_only(copy) {
            true => Opinion::Fine,
            false => Opinion::Refused("what stands for its blanked data is no digest".to_owned()),
        };
    }
    match guard.receive(copy) {
        Written::Taken => Opinion::Fine,
        Written::Held(why) => Opinion::Waits(why),
        // Says what was found and in which field, never the text.
        Written::Turned(turned) => Opinion::Refused(turned.to_string()),
    }
}

/// Decides about a line, given what the hub has while nobody else can change that.
pub(super) fn decide(looked: Looked, known: &mut Known, sent: &Sent) -> Judged {
    let (copy, opinion) = match looked {
        Looked::Unreadable(reason) => return settled(None, Verdict::Refused, Some(reason)),
        Looked::Event(copy, opinion) => (copy, opinion),
    };
    let id = copy.event.id;
    let refused = |reason: String| settled(Some(id), Verdict::Refused, Some(reason));
    let nothing = Stored::default();
    let stored = known.events.get(&id).unwrap_or(&nothing);
    let logged = stored.logged.as_ref();
    if let Some(judged) = logged.and_then(|logged| compare(&copy, logged, sent)) {
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
    if let Some(reason) = was_taken_back(&copy.event, &known.stones) {
        return refused(reason);
    }
    if sent.role < Role::Curator
        && let Some(reason) = known.is_too_much(&copy.event)
    {
        return refused(curators(&reason));
    }
    known.learn(&copy.event);
    match opinion {
        Opinion::Fine => Judged::Append(copy),
        Opinion::Waits(why) => Judged::Hold(copy, why),
        Opinion::Refused(reason) => refused(reason),
    }
}

impl Known {
    /// Returns why an agent may not send an event, given what is there.
    fn is_too_much(&self, event: &Event) -> Option<String> {
        let entry = event.entries().next();
        if let (Some(data), Some(entry)) = (event.get::<Revised>(), entry)
            && data.changes.statement.is_some()
        {
            // Of an entry nobody here knows it may be a person's words that are replaced.
            let own = self.origins.get(&entry).copied();
            let said = data.origin.or(own).unwrap_or(Origin::Human);
            return is_trusted_more(said, &event.by).then(|| {
                format!("it rewords {entry} without saying that the words are an agent's")
            });
        }
        if let (Body::FeedbackGiven(_), Some(entry)) = (&event.body, entry) {
            let day = event.at.wall.date();
            let said = self.feedback.get(&(entry, day));
            return said.filter(|id| **id != event.id).map(|_| {
                format!("you said on {day} whether {entry} helped; it counts once a day")
            });
        }
        None
    }

    /// Takes an event into account that is let in.
    fn learn(&mut self, event: &Event) {
        let Some(entry) = event.entries().next() else {
            return;
        };
        if let Some(proposed) = event.get::<Proposed>() {
            self.origins.entry(entry).or_insert(proposed.origin);
        }
        if let Body::FeedbackGiven(_) = event.body {
            let day = event.at.wall.date();
            self.feedback.entry((entry, day)).or_insert(event.id);
        }
    }
}

fn curators(reason: &str) -> String {
    format!("{reason}; a curator's token may send it")
}

/// Returns whether `origin` is trusted more than what `by` writes is.
fn is_trusted_more(origin: Origin, by: &Actor) -> bool {
    origin.least(Origin::of(by)) != origin
}

/// Returns whether nothing but a digest stands for what was blanked.
fn is_digest_only(copy: &Recorded) -> bool {
    let line: Value = serde_json::from_str(copy.line()).unwrap_or_default();
    let digest = line["data"]["blanked"].as_str();
    let digits = digest.and_then(|it| it.strip_prefix("b3:"));
    digits
        .is_some_and(|it| it.len() == DIGEST_HEX && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
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
fn is_not_an_agents(event: &Event, sent: &Sent) -> Option<String> {
    let actor = &sent.actor;
    if !actor.covers(&event.by) {
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
    let is_about_one = event.entries().count() == 1;
    match &event.body {
        Body::Proposed(proposed) => claims_too_much(proposed, &event.by),
        Body::FeedbackGiven(_) | Body::Revised(_) | Body::Cited(_) | Body::Reanchored(_)
            if !is_about_one =>
        {
            Some(format!("a `{name}` is about one entry"))
        }
        Body::FeedbackGiven(_) if event.at.wall.plus_millis(FEEDBACK_AGE_MAX_MS) < sent.now => {
            Some("it says more than a week later whether an entry helped".to_owned())
        }
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
fn claims_too_much(proposed: &Proposed, by: &Actor) -> Option<String> {
    let told = if proposed.status != Status::Candidate {
        "it claims a status, and a new entry is a candidate"
    } else if proposed.scope == Scope::Global {
        "it claims to be everybody's, which a person decides"
    } else if proposed.overrides.is_some() {
        "it overrides a retraction, which a person does"
    } else if is_trusted_more(proposed.origin, by) {
        "it claims to come from somebody who is trusted more than an agent"
    } else {
        return None;
    };
    Some(told.to_owned())
}

fn settled(id: Option<EventId>, verdict: Verdict, reason: Option<String>) -> Judged {
    Judged::Settled(Answered {
        id,
        verdict,
        reason,
    })
}
