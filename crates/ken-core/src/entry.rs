//! The state of one entry, as its events leave it.
//!
//! Plain data: the [`fold`](crate::fold) makes it, everyone else reads it. Validity is not here
//! (it is checked against code, never an event), nor is any figure that depends on today.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::citation::Citation;
use crate::content::{Content, DecayClass, Scope};
use crate::event::{
    ArchiveReason, CopiedFrom, Origin, Overlay, Provenance, Relation, RetractReason, SourceRun,
    Switch,
};
use crate::hlc::Hlc;
use crate::id::{EntryId, EventId};
use crate::kind::Kind;
use crate::status::Status;
use crate::text::{Alias, Note, Tag};
use crate::time::Date;
use crate::together::Partners;

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    pub id: EntryId,
    /// Absent while the proposal has not arrived or was blanked.
    pub created: Option<Created>,
    /// Absent while no wording is known.
    pub content: Option<Content>,
    /// The content events the wording rests on: what the next revision replaces.
    pub revision: Vec<EventId>,
    /// Heads that lost to a concurrent one; a person should look.
    pub concurrent: Vec<EventId>,
    pub status: Ranked<Status>,
    pub scope: Ranked<Scope>,
    pub citations: Vec<Citation>,
    pub confirmation: Confirmation,
    pub archived: Option<Archival>,
    pub retracted: Option<Retraction>,
    /// Events admitted only as quarantined that nobody has let out.
    pub quarantine: Vec<EventId>,
    pub links: Vec<Link>,
    pub overlays: BTreeMap<Overlay, Mark>,
    pub merged_from: BTreeSet<EntryId>,
    pub merged_into: Option<EntryId>,
    pub superseded_by: Option<EntryId>,
    /// By people who did not word what they approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    pub tallies: Tallies,
    pub history: History,
}

/// How the entry came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    pub event: EventId,
    pub at: Hlc,
    pub by: Actor,
    pub kind: Kind,
    pub origin: Origin,
    pub schema_version: String,
    /// The words its file was named after; the name never changes.
    pub slug: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<Alias>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Tag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<SourceRun>,
    /// The entries it was promoted from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promoted_from: Vec<EntryId>,
    /// The entry of a project that it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<CopiedFrom>,
}

/// A value with the events it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ranked<T> {
    pub value: T,
    /// What the next change replaces.
    pub heads: Vec<EventId>,
}

/// Whether anyone found the claim again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// Day of the last independent or manual confirmation, or of the proposal.
    pub last: Option<Date>,
    /// How the latest agreement of any kind came about.
    pub provenance: Option<Provenance>,
    /// The latest confirming event in canonical order, or the proposal: what decay rests on.
    pub by: Option<EventId>,
    pub independent: u32,
    pub manual: u32,
    pub primed: u32,
    pub unwitnessed: u32,
}

/// Laid aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Archival {
    pub events: Vec<EventId>,
    pub because: ArchiveReason,
    pub since: Date,
}

/// Taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retraction {
    pub events: Vec<EventId>,
    pub reason: RetractReason,
    pub by: Actor,
    pub since: Date,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// A person approved a wording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    pub event: EventId,
    pub by: Actor,
    pub on: Date,
    /// The digest of the artifact that was read.
    pub artifact: Note,
    /// A signature over it; whether it is good is not for the fold to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The content events whose wording was approved.
    pub covers: Vec<EventId>,
}

/// A link to another entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    pub event: EventId,
    pub to: EntryId,
    pub rel: Relation,
}

/// An overlay that is on, or the heads that turned it off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    pub state: Switch,
    pub heads: Vec<EventId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// Sums over runs and feedback, by day, in thousandths; independent of the order of events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tallies {
    pub days: BTreeMap<Date, Tally>,
    /// Runs that showed the entry to somebody.
    pub shown: u64,
    /// Chances somebody had to find it without having seen it.
    pub blind: u64,
    pub unhelpful: u64,
    /// The same two counts for the runs since each confirmation, by that confirmation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub since: BTreeMap<EventId, Seen>,
    /// Outcomes with and without it, by how probable it was that it was withheld.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trials: BTreeMap<u16, Arms>,
    /// Entries it was used with in work that succeeded, the strongest of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub together: Partners,
    /// The last day evidence was thrown away by hand.
    pub reset: Option<Date>,
}

/// How often an entry was seen, and how often it could have been found unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    pub shown: u64,
    pub blind: u64,
}

/// Outcomes of work with an entry and without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arms {
    pub shown: Score,
    pub withheld: Score,
}

/// How much of some work succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    pub succeeded: u64,
    pub all: u64,
}

/// Evidence of one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    pub alpha_milli: u64,
    pub beta_milli: u64,
}

/// Counts over the events of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    pub events: u32,
    pub first: Hlc,
    pub last: Hlc,
    /// Events whose data was blanked.
    pub blanked: u32,
    /// Events of a type, version or field this build does not know.
    pub unknown: u32,
    /// Further proposals that claim the same id.
    pub collisions: Vec<EventId>,
}

impl Entry {
    /// Returns whether no person wrote it or agreed with it: what agents found again, agents may have agreed on.
    pub fn is_agents_word(&self) -> bool {
        let origin = self.created.as_ref().map(|it| it.origin);
        origin != Some(Origin::Human) && self.confirmation.manual == 0
    }

    /// Returns the kind, once the proposal is known.
    pub fn kind(&self) -> Option<Kind> {
        self.created.as_ref().map(|created| created.kind)
    }

    /// Returns the claim; nothing of an entry without a wording.
    pub fn said(&self) -> &str {
        let content = self.content.as_ref();
        content.map_or("", |it| it.statement.as_str())
    }

    /// Returns the claim in one line; nothing of an entry without a wording.
    pub fn title(&self) -> String {
        let content = self.content.as_ref();
        content.map_or_else(String::new, |it| it.statement.title())
    }

    /// Returns what runs showed since somebody last found the claim again.
    pub fn since_confirmation(&self) -> Seen {
        let since = self.confirmation.by.as_ref();
        let seen = since.and_then(|by| self.tallies.since.get(by));
        seen.copied().unwrap_or_default()
    }

    /// Returns how durable the claim is.
    pub fn decay_class(&self) -> DecayClass {
        let content = self.content.as_ref();
        content.map(|content| content.decay).unwrap_or_default()
    }

    /// Returns whether it rests on code or conditions that can be looked up.
    pub fn has_grounds(&self) -> bool {
        let content = self.content.as_ref();
        content.is_some_and(|it| !it.evidence.is_empty() || !it.depends_on.is_empty())
    }

    /// Returns the thread of work it belongs to; none once somebody widened its reach.
    pub fn thread(&self) -> Option<&Tag> {
        let created = self.created.as_ref()?;
        let is_as_proposed = self.scope.heads == [created.event];
        let belongs = self.scope.value == Scope::Thread || is_as_proposed;
        created.thread.as_ref().filter(|_| belongs)
    }

    /// Returns whether it came from another memory and so needs a person's approval.
    pub fn is_promoted(&self) -> bool {
        let created = self.created.as_ref();
        created.is_some_and(|it| !it.promoted_from.is_empty())
    }

    /// Returns whether the entry may be shown: worded, not archived, retracted, merged away,
    /// superseded or quarantined.
    pub fn is_live(&self) -> bool {
        self.content.is_some()
            && self.archived.is_none()
            && self.retracted.is_none()
            && self.quarantine.is_empty()
            && self.merged_into.is_none()
            && self.superseded_by.is_none()
    }

    /// Returns whether it came from a peer and nobody here laid it aside or put something else in its place.
    pub fn is_inbound(&self) -> bool {
        let origin = self.created.as_ref().map(|it| it.origin);
        origin == Some(Origin::Peer)
            && self.archived.is_none()
            && self.retracted.is_none()
            && self.merged_into.is_none()
            && self.superseded_by.is_none()
    }

    /// Returns whether an operator put `mark` on the entry.
    pub fn is_marked(&self, mark: Overlay) -> bool {
        let mark = self.overlays.get(&mark);
        mark.is_some_and(|mark| mark.state == Switch::On)
    }

    /// Returns whether a newer build wrote something here that this one cannot weigh.
    pub fn is_read_only(&self) -> bool {
        self.history.unknown > 0
    }

    /// Returns whether proposing the same claim again is refused.
    pub fn is_tombstone(&self) -> bool {
        self.retracted
            .as_ref()
            .is_some_and(|r| r.reason.leaves_tombstone())
    }

    /// Returns the file name of the entry's view, without its folder.
    pub fn file_name(&self) -> Option<String> {
        self.created
            .as_ref()
            .map(|created| format!("{}-{}.md", self.id, created.slug))
    }
}
