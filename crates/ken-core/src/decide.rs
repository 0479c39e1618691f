//! Which events a wish turns into, or why not. Changes nothing.
//!
//! Each function takes the entry as it stands and returns a [`Draft`]; the guard then looks at its
//! text and [`Clock::stamp`] makes it an event. A refusal is a normal answer, not an error.

mod configure;
mod distil;
mod entry_changes;
mod lessons;
mod pairs;
mod promote;
mod propose;
mod revoke;
mod undo;
mod verdict;

use crate::actor::Actor;
use crate::check::CheckError;
use crate::condition::ConditionError;
use crate::entry::Entry;
use crate::event::{Admission, Body, Event, Subject};
use crate::hlc::Hlc;
use crate::id::{EntryId, EventId, IdSource, NodeId, Salt};
use crate::posterior::{STUCK_AFTER, STUCK_MEANS};
use crate::promotion::{PROJECTS_MIN, Unfit};
use crate::source::Source;
use crate::time::Timestamp;

pub use configure::configure;
pub use distil::{
    DISTILLED_ALPHA_MAX, Distillation, SOURCES_MAX, SOURCES_MIN, distil, distilled, earned,
};
pub use entry_changes::{
    archive, blank, cite, confirm, lift_quarantine, link, reanchor, restore, retract, revise,
    set_overlay, set_status, worded_by,
};
pub use lessons::{after_gain, after_run, effects, find_again, reset_confidence, rise};
pub use pairs::{
    LONGER_PERCENT, dismiss_pair, flag_contradiction, merge, resolve_contradiction, supersede,
};
pub use promote::{approve, check_reach, keep, widen};
pub use propose::{CITATIONS_MAX, Proposal, SCHEMA_VERSION, propose};
pub use revoke::revoke;
pub use undo::undo;
pub use verdict::{FEEDBACK_WEIGHT_MILLI, feedback, is_said_already, may_judge};

/// What shall happen, before it has a time, an id and the guard's word.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub about: Vec<Subject>,
    pub body: Body,
}

/// Why a wish is not granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("provenance required: cite at least one commit, pr, doc, test or transcript")]
    ProvenanceRequired,
    #[error("{what}: {count} given, at most {max} allowed")]
    TooMany {
        what: &'static str,
        count: usize,
        max: usize,
    },
    #[error("the statement has {count} sentences; a claim is one to {max}")]
    TooManySentences { count: usize, max: usize },
    #[error("a {kind} needs its details: {wanted}")]
    DetailMissing {
        kind: &'static str,
        wanted: &'static str,
    },
    #[error("these details do not belong to a {kind}")]
    DetailMisplaced { kind: &'static str },
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error("{0} was written in part by a newer ken; this one may only read it")]
    ReadOnly(EntryId),
    #[error("{0} has no wording: its proposal is missing or was blanked")]
    NoContent(EntryId),
    #[error("{0} is retracted already")]
    AlreadyRetracted(EntryId),
    #[error("{0} is archived already")]
    AlreadyArchived(EntryId),
    #[error("{0} is neither archived nor retracted")]
    NothingToRestore(EntryId),
    #[error("{0} is not quarantined")]
    NotQuarantined(EntryId),
    #[error("{0} is quarantined; a person must look at it first")]
    Quarantined(EntryId),
    #[error("{0} is revoked already")]
    AlreadyRevoked(Source),
    #[error("{0} is not revoked")]
    NotRevoked(Source),
    #[error(
        "{0} is not stuck: only what {stuck} observations left between {low} and {high} can be reset",
        stuck = STUCK_AFTER, low = STUCK_MEANS.0, high = STUCK_MEANS.1
    )]
    NotStuck(EntryId),
    #[error("{count} entries cannot be condensed; it takes at least {SOURCES_MIN} different ones")]
    TooFewSources { count: usize },
    #[error("{0} cannot be condensed: only knowledge in use can, norms and raw signals cannot")]
    NotDistillable(EntryId),
    #[error("nothing would change")]
    NothingChanges,
    #[error("an entry cannot be linked to itself")]
    SelfLink,
    #[error("an entry cannot become part of itself or take its own place")]
    SelfMerge,
    #[error("{entry} became part of {into} already")]
    MergedAlready { entry: EntryId, into: EntryId },
    #[error("{what} is for a person to decide; {by} is not one")]
    PersonNeeded { what: &'static str, by: Actor },
    #[error("a {what} cannot be undone")]
    CannotUndo { what: &'static str },
    #[error("event {0} is blanked already")]
    AlreadyBlanked(EventId),
    #[error(
        "this was retracted as {reason} ({entry}); a person may override with --override {entry}"
    )]
    Tombstone {
        entry: EntryId,
        reason: &'static str,
    },
    #[error("directional flow violation: nothing goes from {from} to {to} by itself")]
    DirectionalFlow { from: String, to: String },
    #[error("{entry} is not promoted: {why}")]
    Unfit { entry: EntryId, why: Unfit },
    #[error(
        "{0} is not promoted: only this project knows it, and everybody's knowledge is what at least {PROJECTS_MIN} know"
    )]
    OneProject(EntryId),
    #[error("{by} worded {entry}; somebody else must approve it")]
    OwnWords { entry: EntryId, by: Actor },
    #[error("{0} does not wait for an approval")]
    NotWaiting(EntryId),
    #[error("{0} needs an approval; lifting its quarantine is not enough")]
    ApprovalNeeded(EntryId),
    #[error(
        "{by} was not shown {entry}; read it first in the same run or session: only who had an entry can say whether it helped"
    )]
    NotShown { entry: EntryId, by: Actor },
}

/// Stamps drafts with time, id and salt.
#[derive(Debug)]
pub struct Clock<'a> {
    pub node: NodeId,
    pub now: Timestamp,
    /// The latest reading seen anywhere.
    pub seen: Option<Hlc>,
    pub ids: &'a mut dyn IdSource,
}

impl Clock<'_> {
    /// Makes `draft` an event by `by`, as the guard admitted it.
    pub fn stamp(&mut self, draft: Draft, by: &Actor, admission: Admission) -> Event {
        let id = EventId::new(self.now, self.ids.random());
        self.stamp_as(id, draft, by, admission)
    }

    /// Like [`Self::stamp`] with an id chosen before, such as that of a proposal.
    pub fn stamp_as(
        &mut self,
        id: EventId,
        draft: Draft,
        by: &Actor,
        admission: Admission,
    ) -> Event {
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
            unknown_fields: 0,
        }
    }
}

impl std::fmt::Debug for dyn IdSource + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdSource")
    }
}

/// Refuses what this build may not touch.
fn writable(entry: &Entry) -> Result<(), Refusal> {
    if entry.is_read_only() {
        return Err(Refusal::ReadOnly(entry.id));
    }
    Ok(())
}

fn person_needed(what: &'static str, by: &Actor) -> Result<(), Refusal> {
    if by.is_human() {
        return Ok(());
    }
    Err(Refusal::PersonNeeded {
        what,
        by: by.clone(),
    })
}

fn about(entry: &Entry, body: Body) -> Draft {
    Draft {
        about: vec![entry.id.into()],
        body,
    }
}
