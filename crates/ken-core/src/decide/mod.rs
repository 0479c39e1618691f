//! Decisions: each operation either becomes drafts of events or a refusal.
//!
//! Each function takes the current entry and returns a [`Draft`]; the guard then scans its text and
//! [`EventStamper::stamp`] turns it into an event. A refusal is a normal result, not an error.
//! Nothing is written here.

mod change;
pub mod closing_events;
mod configure;
mod distill;
mod domain;
mod feedback;
mod pairs;
mod promote;
mod propose;
pub mod retracted_claims;
mod revoke;
mod run_effects;
mod undo;

use crate::ledger::entry::Entry;
use crate::ledger::event::{Admission, Event, EventBody, EventSubject};
use crate::ledger::source::ContributionSource;
use crate::trust::posterior::{STUCK_AFTER, STUCK_MEANS};
use crate::trust::promotion::{PROJECTS_MIN, PromotionBarrier};
use crate::values::actor::Actor;
use crate::values::check::NormCheckError;
use crate::values::citation::CitationType;
use crate::values::condition::ConditionError;
use crate::values::hlc::Hlc;
use crate::values::id::{EntryId, EventId, IdSource, NodeId, Salt};
use crate::values::time::Timestamp;

pub use change::{
    archive, attribute_change, cite, confirm, declare_origin, edit, ensure_may_change,
    ensure_may_restore, link, reanchor, redact, release_quarantine, restore, retract,
    set_annotation, set_status,
};
pub use configure::configure;
pub use distill::{
    DISTILLED_ALPHA_MAX, DistillRequest, SOURCES_MAX, SOURCES_MIN, distill, distilled_posterior,
    distilled_proposal,
};
pub use domain::{learn_strategy, override_domain};
pub use feedback::{FEEDBACK_WEIGHT_MILLI, check_was_shown, give_feedback, is_repeated_feedback};
pub use pairs::{
    ContradictionResolution, LONGER_PERCENT, MergeWording, dismiss_pair, flag_contradiction, merge,
    resolve_contradiction, supersede,
};
pub use promote::{approve, check_scope, keep_scope, widen_scope};
pub use propose::{CITATIONS_MAX, Proposal, SCHEMA_VERSION, propose};
pub use revoke::revoke;
pub use run_effects::{
    changes_after_gain, changes_after_run, raise_status, record_confirmation, record_run_effects,
    reset_confidence,
};
pub use undo::{EntryHistory, UndoDrafts, is_automatic, undo};

/// An event that was decided but has no time, id or admission yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub about: Vec<EventSubject>,
    pub body: EventBody,
}

/// The reason an operation is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{}", CitationType::REQUIRED)]
    ProvenanceRequired,
    #[error("{what}: {count} given, at most {max} allowed")]
    TooMany {
        what: &'static str,
        count: usize,
        max: usize,
    },
    #[error("the statement has {count} sentences; at most {max} are allowed")]
    TooManySentences { count: usize, max: usize },
    #[error("an entry of kind `{kind}` needs details: {wanted}")]
    DetailMissing {
        kind: &'static str,
        wanted: &'static str,
    },
    #[error("these details are not valid for an entry of kind `{kind}`")]
    DetailMisplaced { kind: &'static str },
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error(transparent)]
    Check(#[from] NormCheckError),
    #[error("{0} is read-only: a newer version of Ken wrote part of it")]
    ReadOnly(EntryId),
    #[error("{0} has no statement: its proposal is missing or was redacted")]
    NoContent(EntryId),
    #[error("{0} is already retracted")]
    AlreadyRetracted(EntryId),
    #[error("{0} is already archived")]
    AlreadyArchived(EntryId),
    #[error("{0} is not archived, retracted, merged or superseded")]
    NothingToRestore(EntryId),
    #[error("{0} is not quarantined")]
    NotQuarantined(EntryId),
    #[error("{0} is quarantined; a person must review it first")]
    Quarantined(EntryId),
    #[error("{0} is already revoked")]
    AlreadyRevoked(ContributionSource),
    #[error("{0} is not revoked")]
    NotRevoked(ContributionSource),
    #[error(
        "{0} is not stuck: a reset needs {stuck} observations and a confidence between {low} and {high}",
        stuck = STUCK_AFTER, low = STUCK_MEANS.0, high = STUCK_MEANS.1
    )]
    NotStuck(EntryId),
    #[error(
        "{count} entries are too few to distill; at least {SOURCES_MIN} different ones are needed"
    )]
    TooFewSources { count: usize },
    #[error("{0} cannot be distilled: only live semantic entries can")]
    NotDistillable(EntryId),
    #[error("`{0}` is not a host name; write docs.example.org")]
    NotADomain(String),
    #[error("nothing would change")]
    NothingChanges,
    #[error("an entry cannot be linked to itself")]
    SelfLink,
    #[error("an entry cannot be merged into itself or supersede itself")]
    SelfMerge,
    #[error("{entry} is already merged into {into}")]
    MergedAlready { entry: EntryId, into: EntryId },
    #[error("{0} is archived, retracted or replaced; restore it first (`ken restore {0}`)")]
    NotInUse(EntryId),
    #[error("{what} requires a person; {by} is not one")]
    PersonNeeded { what: &'static str, by: Actor },
    #[error("{by} cannot change {entry}: a person wrote or verified it")]
    ProtectedContent { entry: EntryId, by: Actor },
    #[error("{what} cannot be undone")]
    CannotUndo { what: &'static str },
    #[error("event {0} is already redacted")]
    AlreadyRedacted(EventId),
    #[error(
        "this claim was retracted as {reason} ({entry}); a person can add it with --override {entry}"
    )]
    Tombstone {
        entry: EntryId,
        reason: &'static str,
    },
    #[error("directional flow violation: moving content from {from} to {to} requires approval")]
    DirectionalFlow { from: String, to: String },
    #[error("{entry} cannot be promoted: {why}")]
    Unfit {
        entry: EntryId,
        why: PromotionBarrier,
    },
    #[error(
        "{0} cannot be promoted: only this project has it; global scope requires at least {PROJECTS_MIN} projects"
    )]
    OneProject(EntryId),
    #[error("{by} wrote or recorded {entry}; another person must decide about it")]
    OwnContent { entry: EntryId, by: Actor },
    #[error("{0} is not pending approval")]
    NotPending(EntryId),
    #[error("{0} needs an approval; releasing it from quarantine is not enough")]
    ApprovalNeeded(EntryId),
    #[error(
        "{by} was not shown {entry}; read it in the same run or session before you give feedback"
    )]
    NotShown { entry: EntryId, by: Actor },
}

/// Turns drafts into events by adding time, id and salt.
#[derive(Debug)]
pub struct EventStamper<'a> {
    pub node: NodeId,
    pub now: Timestamp,
    /// The latest clock reading of any known event.
    pub seen: Option<Hlc>,
    pub ids: &'a mut dyn IdSource,
}

impl EventStamper<'_> {
    /// Turns `draft` into an event by `by` with the guard's admission.
    pub fn stamp(&mut self, draft: Draft, by: &Actor, admission: Admission) -> Event {
        // The id carries wall time, the order comes from the clock: ids alone do not sort events.
        let id = EventId::new(self.now, self.ids.random());
        self.stamp_with_id(id, draft, by, admission)
    }

    /// Like [`Self::stamp`], with an id chosen earlier: the id of a proposal determines the entry's
    /// id.
    pub fn stamp_with_id(
        &mut self,
        id: EventId,
        draft: Draft,
        by: &Actor,
        admission: Admission,
    ) -> Event {
        // `seen` advances, so several drafts stamped in the same millisecond keep their order.
        let at = Hlc::next(self.node, self.now, self.seen);
        self.seen = Some(self.seen.map_or(at, |seen| seen.max(at)));
        Event {
            id,
            at,
            by: by.clone(),
            about: draft.about,
            salt: Some(Salt::new(self.ids.random())),
            admission: Some(admission),
            body: draft.body,
            signature: None,
            unknown_fields: 0,
        }
    }
}

impl std::fmt::Debug for dyn IdSource + '_ {
    // A source of ids need not be printable, but `EventStamper` is.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdSource")
    }
}

/// Refuses to change an entry that a newer build wrote in part.
fn ensure_writable(entry: &Entry) -> Result<(), Refusal> {
    if entry.is_read_only() {
        return Err(Refusal::ReadOnly(entry.id));
    }
    Ok(())
}

fn ensure_human(what: &'static str, by: &Actor) -> Result<(), Refusal> {
    if by.is_human() {
        return Ok(());
    }
    Err(Refusal::PersonNeeded {
        what,
        by: by.clone(),
    })
}

fn draft_about(entry: &Entry, body: EventBody) -> Draft {
    Draft {
        about: vec![entry.id.into()],
        body,
    }
}
