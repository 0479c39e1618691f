//! Decision per line of a push, before anything is written.
//!
//! A line's claims about itself do not count: the pusher, the hub's clock and the hub's guard
//! decide. A line that contains a secret reaches neither disk nor log; the pusher receives the kind
//! of finding and its location.
//!
//! The decision has two steps. [`screen_lines`] needs only the lines and may take long.
//! [`decide_line`] compares a screened line with the stored state, which is only valid while the
//! workspace's row is locked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ken_core::decide::FEEDBACK_WEIGHT_MILLI;
use ken_core::decide::retracted_claims::RetractedClaims;
use ken_core::ledger::event::{
    ApprovalGranted, Cited, Event, EventBlanked, EventBody, Origin, Proposed, RecordedEvent,
    Revised,
};
use ken_core::trust::authority::{
    ContentProtection, EventAuthority, added_protection, changed_content,
    changes_protected_content, declared_origin, event_authority,
};
use ken_core::values::actor::Actor;
use ken_core::values::content::EntryScope;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Statement;
use ken_core::values::time::{DAY_MS, Date, Timestamp};
use ken_guard::{Guard, ReceiveVerdict};
use ken_remote::wire::{EventVerdict, PushVerdict};
use ken_sign::AllowedSigners;
use serde_json::Value;

use super::super::EVENT_QUARANTINE_HINT;
use crate::identity::AuthenticatedCaller;
use crate::ids::Role;

/// Maximum lead of an event's clock over the hub's clock.
const AHEAD_MAX_MS: u64 = DAY_MS;

/// Maximum age of an agent's feedback. Feedback counts once per day, so back-dated feedback could
/// be stacked over many days.
const FEEDBACK_AGE_MAX_MS: u64 = 7 * DAY_MS;

/// Hexadecimal digits of the digest that replaces redacted data.
const DIGEST_HEX: usize = 32;

/// The pusher of a request and the time of the push.
#[derive(Clone, Debug)]
pub struct Pusher {
    pub actor: Actor,
    pub role: Role,
    pub now: Timestamp,
    /// Signers of the organization; `None` if no event is signed.
    pub signers: Option<Arc<AllowedSigners>>,
}

impl Pusher {
    /// Returns whether the pusher is the author `by`, or `by` is an agent below the pusher.
    fn is(&self, by: &Actor) -> bool {
        if by.is_human() {
            self.actor.is_same_person(by)
        } else {
            self.actor.covers(by)
        }
    }

    /// Returns the pusher with the signers that events are checked against.
    #[must_use]
    pub fn with_signers(self, signers: Option<Arc<AllowedSigners>>) -> Self {
        Self { signers, ..self }
    }

    /// Returns whether the author of an event stands by it: the author pushes or signed it.
    ///
    /// A signature counts whoever brings it: nobody else could have made it.
    fn is_backed(&self, event: &Event) -> bool {
        let signers = self.signers.as_ref().filter(|_| event.by.is_human());
        // A signature does not cover members that this hub does not know.
        let is_signed =
            event.unknown_fields == 0 && signers.is_some_and(|it| it.verify_event(event).is_ok());
        self.is(&event.by) || is_signed
    }

    /// Returns the pusher for a caller and a time.
    #[must_use]
    pub fn new(caller: &AuthenticatedCaller, now: Timestamp) -> Self {
        Self {
            actor: caller.actor.clone(),
            role: caller.role,
            now,
            signers: None,
        }
    }
}

/// A line that was parsed and scanned on its own.
#[derive(Clone, Debug)]
pub enum ScreenedLine {
    /// The line is not a valid event.
    Unreadable(String),
    Event(Box<RecordedEvent>, ScanVerdict),
}

impl ScreenedLine {
    /// Returns the event, unless the line is unreadable.
    pub(super) fn event(&self) -> Option<&RecordedEvent> {
        match self {
            Self::Unreadable(_) => None,
            Self::Event(copy, _) => Some(copy),
        }
    }
}

/// Verdict of the scan, which applies if the hub does not have the event yet.
#[derive(Clone, Debug)]
pub enum ScanVerdict {
    Admitted,
    /// Quarantine until a curator decides, with the reason.
    Quarantined(String),
    Refused(PushRefusal),
}

/// Refusal of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushRefusal {
    /// Never contains text of the event.
    pub reason: String,
    /// The person whose token or signature the event needs.
    pub awaits: Option<Actor>,
}

impl From<String> for PushRefusal {
    fn from(reason: String) -> Self {
        let awaits = None;
        Self { reason, awaits }
    }
}

impl PushRefusal {
    /// Returns the refusal of an event that counts only if its author stands by it.
    fn awaits_author(event: &Event, what: &str) -> Self {
        let by = &event.by;
        Self {
            reason: format!(
                "{what} in the name of {by}: only a token of {by} may push it, or a valid signature of {by} has to be part of it"
            ),
            awaits: Some(by.clone()),
        }
    }
}

/// Stored copies of one event.
#[derive(Debug, Default)]
pub(super) struct StoredCopies {
    /// Copy in the log.
    pub(super) logged: Option<RecordedEvent>,
    /// Line of the quarantined copy.
    pub(super) quarantined: Option<String>,
}

/// Stored state that a push is compared with, while the workspace is locked.
#[derive(Debug, Default)]
pub(super) struct PushContext {
    pub(super) events: BTreeMap<EventId, StoredCopies>,
    /// Retracted claims.
    pub(super) retracted_claims: RetractedClaims,
    /// Origins of edited entries, including entries that this push adds.
    pub(super) origins: BTreeMap<EntryId, Origin>,
    /// Protection of edited entries, including entries that this push adds.
    pub(super) protections: BTreeMap<EntryId, ContentProtection>,
    /// Events of the pusher, written or pushed, that a redaction or an approval in this push names.
    pub(super) own_events: BTreeSet<EventId>,
    /// Feedback of the pusher and its sub-agents, by entry and day.
    pub(super) feedback: BTreeMap<(EntryId, Date), EventId>,
}

/// Decision on a line.
#[derive(Debug)]
pub(super) enum PushDecision {
    /// No write needed: already known, or refused.
    Answered(EventVerdict),
    /// Append to the log.
    Append(Box<RecordedEvent>),
    /// Quarantine until a curator decides, replacing a quarantined copy with the same id.
    Quarantine(Box<RecordedEvent>, String),
}

/// Parses and scans the lines of a push, each on its own.
pub fn screen_lines<'a>(
    guard: &Guard,
    lines: impl Iterator<Item = &'a str>,
    pusher: &Pusher,
) -> Vec<ScreenedLine> {
    let screen = |line: &str| match RecordedEvent::parse(line.as_bytes()) {
        Ok(copy) => screen_event(guard, copy, pusher),
        Err(error) => ScreenedLine::Unreadable(format!("not a valid event: {error}")),
    };
    lines.map(screen).collect()
}

/// Scans an event as if the pusher had sent its line.
pub(super) fn screen_event(guard: &Guard, copy: RecordedEvent, pusher: &Pusher) -> ScreenedLine {
    let verdict = scan_event(guard, &copy, pusher);
    ScreenedLine::Event(Box::new(copy), verdict)
}

fn scan_event(guard: &Guard, copy: &RecordedEvent, pusher: &Pusher) -> ScanVerdict {
    // An event with a far-future clock would sort after every later change.
    if copy.event.at.wall > pusher.now.plus_millis(AHEAD_MAX_MS) {
        let reason = "the clock of the event is more than a day ahead of the hub's clock";
        return ScanVerdict::Refused(reason.to_owned().into());
    }
    // Permissions come before the scan: the scan is the expensive part.
    if pusher.role < Role::Member {
        if let Some(reason) = agent_refusal_reason(&copy.event, pusher) {
            return ScanVerdict::Refused(with_curator_hint(&reason).into());
        }
    } else if let Some(refusal) = authority_refusal(&copy.event, pusher) {
        return ScanVerdict::Refused(refusal);
    }
    if copy.is_redacted() {
        // A redacted event has no text to scan, provided that only the digest is left: text could
        // be hidden in its place.
        return if is_digest_only(copy) {
            ScanVerdict::Admitted
        } else {
            ScanVerdict::Refused(
                "the data of the redacted event is not a digest"
                    .to_owned()
                    .into(),
            )
        };
    }
    match guard.receive(copy) {
        ReceiveVerdict::Taken => ScanVerdict::Admitted,
        ReceiveVerdict::Held(why) => ScanVerdict::Quarantined(why),
        // The rejection names the kind of finding and the field, never the matched text.
        ReceiveVerdict::Turned(rejection) => ScanVerdict::Refused(rejection.to_string().into()),
    }
}

/// Decides on a screened line, given the stored state of a locked workspace.
pub(super) fn decide_line(
    line: ScreenedLine,
    context: &mut PushContext,
    pusher: &Pusher,
) -> PushDecision {
    let (copy, scan) = match line {
        ScreenedLine::Unreadable(reason) => {
            return answered(None, PushVerdict::Refused, Some(reason));
        }
        ScreenedLine::Event(copy, scan) => (copy, scan),
    };
    let id = copy.event.id;
    let refused = |refusal: PushRefusal| {
        PushDecision::Answered(EventVerdict {
            id: Some(id),
            verdict: PushVerdict::Refused,
            reason: Some(refusal.reason),
            awaits: refusal.awaits,
        })
    };
    let not_stored = StoredCopies::default();
    let stored = context.events.get(&id).unwrap_or(&not_stored);
    let logged = stored.logged.as_ref();
    // Stored copies come before the scan's verdict: pushing a known event again must succeed, even
    // if today's rules would refuse it.
    if let Some(decision) = logged.and_then(|logged| compare(&copy, logged, pusher)) {
        return decision;
    }
    let scan = match scan {
        ScanVerdict::Refused(refusal) => return refused(refusal),
        ScanVerdict::Admitted => None,
        ScanVerdict::Quarantined(why) => Some(why),
    };
    if let Some(line) = &stored.quarantined {
        if *line == copy.line() {
            let reason = format!("the event is quarantined: {EVENT_QUARANTINE_HINT}");
            return answered(Some(id), PushVerdict::Quarantined, Some(reason));
        }
        if pusher.role < Role::Curator {
            let reason = "another version of this event is quarantined; a curator of this hub has to decide on it first";
            return refused(reason.to_owned().into());
        }
    }
    if let Some(reason) = retraction_reason(&copy.event, &context.retracted_claims) {
        return refused(reason.into());
    }
    if let Some(refusal) = context.refusal(&copy.event, pusher) {
        return refused(refusal);
    }
    // A change that waits must not protect or unprotect anything yet.
    if let Some(why) = context.review_reason(&copy.event) {
        return PushDecision::Quarantine(copy, scan.unwrap_or(why));
    }
    // Later lines of the same push see this event, as if it had been pushed before.
    context.add_admitted(&copy.event);
    match scan {
        None => PushDecision::Append(copy),
        Some(why) => PushDecision::Quarantine(copy, why),
    }
}

impl PushContext {
    /// Returns the refusal of an event that the stored state forbids.
    fn refusal(&self, event: &Event, pusher: &Pusher) -> Option<PushRefusal> {
        if let Some(refusal) = self.content_refusal(event, pusher) {
            return Some(refusal);
        }
        let approved = event.get::<ApprovalGranted>();
        let covered = approved.iter().flat_map(|it| &it.covers);
        if pusher.is(&event.by) && covered.clone().any(|it| self.own_events.contains(it)) {
            let reason = "you wrote or pushed what it approves; another person must approve it";
            return Some(reason.to_owned().into());
        }
        match pusher.role {
            Role::Peer | Role::Reader | Role::Agent => {
                let reason = self.feedback_refusal_reason(event)?;
                Some(with_curator_hint(&reason).into())
            }
            Role::Member => {
                let target = event.get::<EventBlanked>()?.event;
                let is_own = self.own_events.contains(&target);
                let reason =
                    "only a curator's token may redact events that you neither wrote nor pushed";
                (!is_own).then(|| reason.to_owned().into())
            }
            Role::Curator | Role::Admin => None,
        }
    }

    /// Returns the protection of an entry. An unknown entry may contain a person's statement.
    fn protection(&self, entry: EntryId) -> ContentProtection {
        let known = self.protections.get(&entry).copied();
        known.unwrap_or(ContentProtection::Written)
    }

    /// Returns the refusal of a change of content that hides its origin, or that claims to be by
    /// another person than the pusher.
    fn content_refusal(&self, event: &Event, pusher: &Pusher) -> Option<PushRefusal> {
        let entry = changed_content(event)?;
        let protection = self.protection(entry);
        if event.by.is_human() {
            let is_forgeable =
                protection == ContentProtection::Verified && !pusher.is_backed(event);
            let what = format!("the event changes {entry}, which is verified,");
            return is_forgeable.then(|| PushRefusal::awaits_author(event, &what));
        }
        let sets_text = event
            .get::<Revised>()
            .is_some_and(|it| it.changes.statement.is_some() || it.changes.body.is_some());
        if !sets_text && !changes_protected_content(protection, &event.by) {
            return None;
        }
        let stored = self.origins.get(&entry).copied();
        let origin = declared_origin(event).or(stored).unwrap_or(Origin::Human);
        is_trusted_more(origin, &event.by).then(|| {
            format!(
                "the change of {entry} does not declare its author's kind as the origin of the content: `origin` is missing or claims more trust"
            )
            .into()
        })
    }

    /// Returns the reason why a change of content waits for a person, if it does.
    fn review_reason(&self, event: &Event) -> Option<String> {
        let entry = changed_content(event)?;
        changes_protected_content(self.protection(entry), &event.by).then(|| {
            format!(
                "it changes {entry}, which a person wrote or verified, and {} is not a person",
                event.by
            )
        })
    }

    /// Returns the reason to refuse repeated feedback of an agent.
    fn feedback_refusal_reason(&self, event: &Event) -> Option<String> {
        let entry = event.entries().next();
        if let (EventBody::FeedbackGiven(_), Some(entry)) = (&event.body, entry) {
            let day = event.at.wall.date();
            let given = self.feedback.get(&(entry, day));
            return given.filter(|id| **id != event.id).map(|_| {
                format!(
                    "you already gave feedback on {entry} on {day}; feedback counts once per day"
                )
            });
        }
        None
    }

    /// Adds an admitted event to the state that later lines are compared with.
    fn add_admitted(&mut self, event: &Event) {
        self.own_events.insert(event.id);
        let added = added_protection(event);
        for entry in event.entries() {
            // A new entry has the protection of its proposal; another one keeps a stronger one.
            if event.get::<Proposed>().is_some() || added > ContentProtection::None {
                let known = self.protections.entry(entry).or_default();
                *known = added.max(*known);
            }
        }
        let Some(entry) = event.entries().next() else {
            return;
        };
        if let Some(proposed) = event.get::<Proposed>() {
            self.origins.entry(entry).or_insert(proposed.origin);
        }
        if let EventBody::FeedbackGiven(_) = event.body {
            let day = event.at.wall.date();
            self.feedback.entry((entry, day)).or_insert(event.id);
        }
    }
}

fn with_curator_hint(reason: &str) -> String {
    format!("{reason}; only a curator's token may push it")
}

/// Returns whether `origin` is trusted more than events written by `by`.
fn is_trusted_more(origin: Origin, by: &Actor) -> bool {
    origin.least_trusted(Origin::from_actor(by)) != origin
}

/// Returns whether the data of a redacted event is a digest and nothing else.
fn is_digest_only(copy: &RecordedEvent) -> bool {
    let line: Value = serde_json::from_str(copy.line()).unwrap_or_default();
    let digest = line["data"]["blanked"].as_str();
    let digits = digest.and_then(|it| it.strip_prefix("b3:"));
    digits
        .is_some_and(|it| it.len() == DIGEST_HEX && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Compares a copy with the logged copy of the same event. Returns `None` if the scan's verdict
/// decides.
///
/// The bytes decide which of two forms is kept. A second form is therefore refused, except from a
/// person with the role of a curator: a pusher that can choose bytes could replace an event of
/// another author.
fn compare(copy: &RecordedEvent, logged: &RecordedEvent, pusher: &Pusher) -> Option<PushDecision> {
    let id = Some(copy.event.id);
    // Redacted forms are compared, so a redacted and a complete copy of an event count as the same.
    let same_form = copy.redacted().line() == logged.redacted().line();
    let better = copy.clone().preferred_copy(logged.clone());
    let changes = better.line() != logged.line();
    match (same_form, changes) {
        (true, false) => Some(answered(id, PushVerdict::Known, None)),
        (true, true) => None,
        (false, _) if pusher.role < Role::Curator || !pusher.actor.is_human() => {
            let reason = "the hub has another version of this event; only a person with a curator's token may push a second one";
            Some(answered(id, PushVerdict::Refused, Some(reason.to_owned())))
        }
        (false, false) => {
            let reason =
                "the hub has another version of this event, which takes precedence over yours";
            Some(answered(id, PushVerdict::Refused, Some(reason.to_owned())))
        }
        (false, true) => None,
    }
}

/// Returns the statement that a program proposes, or gives an entry by an edit.
pub(super) fn statement_of_program(event: &Event) -> Option<&Statement> {
    if event.by.is_human() {
        return None;
    }
    let proposed = event.get::<Proposed>().map(|it| &it.content.statement);
    let revised = event.get::<Revised>();
    proposed.or(revised.and_then(|it| it.changes.statement.as_ref()))
}

/// Returns the reason to refuse a proposal or an edit that repeats a retracted claim, with the same
/// rule as a repository.
fn retraction_reason(event: &Event, stones: &RetractedClaims) -> Option<String> {
    let retracted = stones.find_repeated(statement_of_program(event)?)?;
    let entry = retracted.id;
    Some(format!(
        "the statement repeats a retracted claim ({entry}); only a person may override the retraction"
    ))
}

/// Returns the refusal of an event that its pusher may not carry, for members, curators and admins.
///
/// Events of others arrive through clones and keep their author. They are welcome unless they
/// decide: then the pusher would decide in another's name.
fn authority_refusal(event: &Event, pusher: &Pusher) -> Option<PushRefusal> {
    let name = event.body.type_name();
    // A newer version may attach a decision to members that this hub does not know.
    let authority = if event.unknown_fields > 0 {
        EventAuthority::Review
    } else {
        event_authority(event)
    };
    let hides = event.is_quarantined() && event.get::<Proposed>().is_none();
    if event.by.is_human() && !pusher.is(&event.by) {
        if pusher.is_backed(event) {
            return None;
        }
        let decides = authority.decides() || (hides && pusher.role < Role::Curator);
        let what = format!("a `{name}` event decides");
        return decides.then(|| PushRefusal::awaits_author(event, &what));
    }
    let claims_trust = event
        .get::<Proposed>()
        .is_some_and(|it| is_trusted_more(it.origin, &event.by));
    if claims_trust && pusher.role < Role::Curator {
        let reason = "the proposal claims an origin that is trusted more than its author";
        return Some(reason.to_owned().into());
    }
    let may = match authority {
        EventAuthority::Contribution | EventAuthority::Derived => true,
        // Members may redact events of their own, which only the stored state shows.
        EventAuthority::Review if event.get::<EventBlanked>().is_some() => {
            event.by.is_human() || (pusher.role >= Role::Curator && pusher.actor.is_human())
        }
        EventAuthority::Decision if event.by.is_human() => true,
        EventAuthority::Decision => {
            pusher.role >= Role::Curator && (pusher.actor.is_human() || pusher.is(&event.by))
        }
        // A program never reviews, whatever its role.
        EventAuthority::Review => pusher.role >= Role::Curator && pusher.actor.is_human(),
    };
    (!may).then(|| {
        format!(
            "a `{name}` event decides; only the token of a person with the role curator may push it"
        )
        .into()
    })
}

/// Returns the reason why agents may not push an event, if they may not.
///
/// An agent proposes, edits, cites, links and reports in its own name. Changes of trust, scope or
/// status are decided by the hub from runs, or by people.
fn agent_refusal_reason(event: &Event, pusher: &Pusher) -> Option<String> {
    let actor = &pusher.actor;
    if !actor.covers(&event.by) {
        return Some(format!(
            "the author of the event is not the actor of your token, {actor}"
        ));
    }
    // A newer version may attach a meaning to them that an agent must not be able to claim.
    if event.unknown_fields > 0 {
        return Some("the event has members that this hub does not know".to_owned());
    }
    if event.is_quarantined() && !matches!(event.body, EventBody::Proposed(_)) {
        let reason = "the event claims to be quarantined, which would hide entries of others";
        return Some(reason.to_owned());
    }
    if let Some(other) = foreign_citer(event) {
        return Some(format!(
            "a citation claims to be by {other}, not by the author"
        ));
    }
    type_refusal_reason(event, pusher)
}

/// Returns the reason why agents may not push an event of this type, if they may not.
fn type_refusal_reason(event: &Event, pusher: &Pusher) -> Option<String> {
    let name = event.body.type_name();
    let is_about_one = event.entries().count() == 1;
    match &event.body {
        EventBody::Proposed(proposed) => proposal_refusal_reason(proposed, &event.by),
        EventBody::FeedbackGiven(_)
        | EventBody::Revised(_)
        | EventBody::Cited(_)
        | EventBody::Reanchored(_)
            if !is_about_one =>
        {
            Some(format!("a `{name}` event must be about exactly one entry"))
        }
        EventBody::FeedbackGiven(_)
            if pusher.now > event.at.wall.plus_millis(FEEDBACK_AGE_MAX_MS) =>
        {
            Some("the feedback is more than a week old".to_owned())
        }
        EventBody::FeedbackGiven(given) if given.weight_milli != FEEDBACK_WEIGHT_MILLI => {
            Some("the feedback has an invalid weight".to_owned())
        }
        EventBody::Revised(_)
        | EventBody::Cited(_)
        | EventBody::Linked(_)
        | EventBody::FeedbackGiven(_)
        | EventBody::FrictionRecorded(_)
        | EventBody::RetrievalMissed(_)
        | EventBody::ContradictionFlagged(_)
        | EventBody::HandoffWritten(_)
        | EventBody::HandoffTaken(_)
        | EventBody::Reanchored(_) => None,
        // Listed without a wildcard, so a new event type is a compile error until its permission is
        // decided.
        EventBody::Confirmed(_)
        | EventBody::StatusChanged(_)
        | EventBody::ScopeChanged(_)
        | EventBody::Archived(_)
        | EventBody::Restored(_)
        | EventBody::Retracted(_)
        | EventBody::Merged(_)
        | EventBody::Superseded(_)
        | EventBody::QuarantineLifted(_)
        | EventBody::OverlaySet(_)
        | EventBody::PairDismissed(_)
        | EventBody::ContradictionResolved(_)
        | EventBody::RunClosed(_)
        | EventBody::RunEffects(_)
        | EventBody::RunObserved(_)
        | EventBody::ApprovalGranted(_)
        | EventBody::OriginRevoked(_)
        | EventBody::ConfigChanged(_)
        | EventBody::ConfidenceReset(_)
        | EventBody::EventBlanked(_)
        | EventBody::KnowledgeDistilled(_)
        | EventBody::PeerTrustChanged(_)
        | EventBody::ForageRequested(_)
        | EventBody::ForageCompleted(_)
        | EventBody::DomainStrategyChanged(_)
        | EventBody::DomainOverridden(_)
        | EventBody::Blanked { .. } => Some(format!("an agent may not push a `{name}` event")),
        // Not named: an unknown type is text of the sender, and may be a secret.
        EventBody::Unknown { .. } => {
            Some("an agent may not push an event of a type that this hub does not know".to_owned())
        }
    }
}

/// Returns the actor that a citation names as its author, if it is not the author of the event.
fn foreign_citer(event: &Event) -> Option<&Actor> {
    let proposed = event.get::<Proposed>().into_iter();
    let cited = event.get::<Cited>().map(|it| &it.citation);
    let mut citations = proposed.flat_map(|it| &it.citations).chain(cited);
    let foreign = citations.find(|it| it.cited_by != event.by);
    foreign.map(|it| &it.cited_by)
}

/// Returns the reason why a proposal claims more than an agent may, if it does.
fn proposal_refusal_reason(proposed: &Proposed, by: &Actor) -> Option<String> {
    let reason = if proposed.status != EntryStatus::Candidate {
        "the proposal claims a status, but a new entry is a candidate"
    } else if proposed.scope == EntryScope::Global {
        "the proposal claims the scope global, which only a person may decide"
    } else if proposed.overrides.is_some() {
        "the proposal overrides a retraction, which only a person may do"
    } else if is_trusted_more(proposed.origin, by) {
        "the proposal claims an origin that is trusted more than an agent"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

fn answered(id: Option<EventId>, verdict: PushVerdict, reason: Option<String>) -> PushDecision {
    PushDecision::Answered(EventVerdict {
        id,
        verdict,
        reason,
        awaits: None,
    })
}
