//! State of one entry.
//!
//! Plain data that the [`fold`](crate::ledger::fold) computes from events. It contains no validity
//! (that is checked against the code and is never an event) and no value that depends on the
//! current date.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::cooccurrence::CooccurrencePartners;
use crate::ledger::event::{
    ArchiveReason, CopiedFrom, ForageProvenance, Origin, Outcome, Overlay, Provenance, Relation,
    RetractReason, SourceRun, Switch,
};
use crate::ledger::rediscovery::RediscoveryTrace;
use crate::values::actor::Actor;
use crate::values::anchor::FilePart;
use crate::values::citation::Citation;
use crate::values::content::{Content, DecayClass, EntryScope};
use crate::values::hlc::Hlc;
use crate::values::id::{EntryId, EventId};
use crate::values::kind::{EntryKind, Memory};
use crate::values::status::EntryStatus;
use crate::values::text::{Alias, Note, Tag};
use crate::values::time::Date;

/// The folded state of one entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    pub id: EntryId,
    /// Absent while the proposal is missing or redacted.
    pub created: Option<EntryCreation>,
    /// Absent while no statement is known.
    pub content: Option<Content>,
    /// The content events that are current; the next edit replaces them.
    pub revision: Vec<EventId>,
    /// Content events that lost to a concurrent one; a person should review them.
    pub concurrent: Vec<EventId>,
    pub status: CausalValue<EntryStatus>,
    pub scope: CausalValue<EntryScope>,
    pub citations: Vec<Citation>,
    pub confirmation: Confirmation,
    pub archived: Option<Archival>,
    pub retracted: Option<Retraction>,
    /// Quarantined events that no person has released.
    pub quarantine: Vec<EventId>,
    pub links: Vec<EntryLink>,
    pub overlays: BTreeMap<Overlay, AnnotationState>,
    pub merged_from: BTreeSet<EntryId>,
    pub merged_into: Option<EntryId>,
    pub superseded_by: Option<EntryId>,
    /// Approvals by people other than the authors of the approved content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<EntryApproval>,
    pub tallies: EntryTallies,
    pub history: HistorySummary,
}

/// Creation of an entry, from its first proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryCreation {
    pub event: EventId,
    pub at: Hlc,
    pub by: Actor,
    pub kind: EntryKind,
    pub origin: Origin,
    pub schema_version: String,
    /// Slug of the entry file's name; it never changes.
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
    /// The project entry it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<CopiedFrom>,
    /// Where the forager found the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foraged: Option<Box<ForageProvenance>>,
}

/// A value together with the events that set it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CausalValue<T> {
    pub value: T,
    /// The events that the next change replaces.
    pub heads: Vec<EventId>,
}

/// Confirmations of the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// Day of the last independent or manual confirmation, or of the proposal.
    pub last: Option<Date>,
    /// Provenance of the latest confirmation of any kind.
    pub provenance: Option<Provenance>,
    /// The latest independent or manual confirmation in canonical order, or the proposal. Decay
    /// starts from it.
    pub by: Option<EventId>,
    pub independent: u32,
    pub manual: u32,
    pub primed: u32,
    pub unwitnessed: u32,
}

impl Confirmation {
    /// Returns whether somebody confirmed the claim after it was added. If not,
    /// [`last`](Self::last) is the day of the proposal.
    pub fn is_confirmed(&self) -> bool {
        self.independent > 0 || self.manual > 0
    }
}

/// The archived state of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Archival {
    pub events: Vec<EventId>,
    pub because: ArchiveReason,
    pub since: Date,
}

/// The retracted state of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retraction {
    pub events: Vec<EventId>,
    pub reason: RetractReason,
    pub by: Actor,
    pub since: Date,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// A person's approval of the content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryApproval {
    pub event: EventId,
    pub by: Actor,
    pub on: Date,
    /// The digest of the artifact that the person approved.
    pub artifact: Note,
    /// A signature over the artifact. The fold does not verify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The approved content events.
    pub covers: Vec<EventId>,
}

/// A link to another entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryLink {
    pub event: EventId,
    pub to: EntryId,
    pub rel: Relation,
}

/// The state of one annotation and the events that set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnnotationState {
    pub state: Switch,
    pub heads: Vec<EventId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// Totals over runs and feedback, per day, in thousandths. Independent of the order of events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryTallies {
    pub days: BTreeMap<Date, BetaTally>,
    /// Runs that showed the entry to an agent.
    pub shown: u64,
    /// Opportunities to find the claim without having been shown it.
    pub blind: u64,
    pub unhelpful: u64,
    /// The same two counts since each confirmation, keyed by the confirming event.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub since: BTreeMap<EventId, ExposureCount>,
    /// Outcomes with and without the entry, by the probability that it was withheld, in
    /// thousandths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trials: BTreeMap<u16, TrialArms>,
    /// The entries that co-occur most strongly with this one in successful runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub together: CooccurrencePartners,
    /// The chances of unprimed agents to find the claim, and which of them they took.
    #[serde(default, skip_serializing_if = "RediscoveryTrace::is_empty")]
    pub rediscovery: RediscoveryTrace,
    /// The last day a person reset the confidence.
    pub reset: Option<Date>,
    /// How the run that added the entry ended, if it failed or was abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_outcome: Option<Outcome>,
}

/// Number of exposures, and of opportunities to find the claim without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExposureCount {
    pub shown: u64,
    pub blind: u64,
}

/// Outcomes of runs with the entry and without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialArms {
    pub shown: SuccessCount,
    pub withheld: SuccessCount,
}

/// Number of successful runs out of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuccessCount {
    pub succeeded: u64,
    pub all: u64,
}

/// Evidence for (alpha) and against (beta), in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BetaTally {
    pub alpha_milli: u64,
    pub beta_milli: u64,
}

/// Summary of the events of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistorySummary {
    pub events: u32,
    pub first: Hlc,
    pub last: Hlc,
    /// Redacted events.
    pub blanked: u32,
    /// Events with a type, version or field that this build does not know.
    pub unknown: u32,
    /// Later proposals with the same entry id.
    pub collisions: Vec<EventId>,
}

impl Entry {
    /// Returns whether no human wrote or confirmed the entry. Agents can agree among themselves, so
    /// their confirmations do not count.
    pub fn is_agent_only(&self) -> bool {
        let origin = self.created.as_ref().map(|it| it.origin);
        origin != Some(Origin::Human) && self.confirmation.manual == 0
    }

    /// Returns the kind, if the proposal is known.
    pub fn kind(&self) -> Option<EntryKind> {
        self.created.as_ref().map(|created| created.kind)
    }

    /// Returns whether the entry says how things should be, and not how they are.
    pub fn is_prescriptive(&self) -> bool {
        self.kind().is_some_and(EntryKind::is_prescriptive)
    }

    /// Returns the statement, or an empty text without content.
    pub fn statement_text(&self) -> &str {
        let content = self.content.as_ref();
        content.map_or("", |it| it.statement.as_str())
    }

    /// Returns the whole statement on one line, without the final period, to embed it in a message.
    pub fn claim(&self) -> String {
        let words: Vec<&str> = self.statement_text().split_whitespace().collect();
        words.join(" ").trim_end_matches('.').to_owned()
    }

    /// Returns the statement's title, or an empty text without content.
    pub fn title(&self) -> String {
        let content = self.content.as_ref();
        content.map_or_else(String::new, |it| it.statement.title())
    }

    /// Returns the exposures since the last confirmation.
    pub fn exposures_since_confirmation(&self) -> ExposureCount {
        let since = self.confirmation.by.as_ref();
        let seen = since.and_then(|by| self.tallies.since.get(by));
        seen.copied().unwrap_or_default()
    }

    /// Returns the decay class.
    pub fn decay_class(&self) -> DecayClass {
        let content = self.content.as_ref();
        content.map(|content| content.decay).unwrap_or_default()
    }

    /// Returns whether the entry has anchors or conditions to verify.
    pub fn is_checkable(&self) -> bool {
        let content = self.content.as_ref();
        content.is_some_and(|it| !it.anchors.is_empty() || !it.depends_on.is_empty())
    }

    /// Returns whether a check only looks whether files exist: every anchor is a whole file or
    /// folder, and there are no conditions.
    pub fn is_checked_by_existence(&self) -> bool {
        self.content.as_ref().is_some_and(|content| {
            let mut anchors = content.anchors.iter();
            !content.anchors.is_empty()
                && content.depends_on.is_empty()
                && anchors.all(|it| *it.at.part() == FilePart::File)
        })
    }

    /// Returns the thread of work the entry belongs to, or `None` once its scope was widened.
    pub fn thread(&self) -> Option<&Tag> {
        let created = self.created.as_ref()?;
        let is_as_proposed = self.scope.heads == [created.event];
        // An entry may be proposed in a thread with a wider scope; it keeps its thread until the
        // first scope change.
        let belongs = self.scope.value == EntryScope::Thread || is_as_proposed;
        created.thread.as_ref().filter(|_| belongs)
    }

    /// Returns whether the entry was promoted from another memory, which requires a person's
    /// approval.
    pub fn is_promoted(&self) -> bool {
        let created = self.created.as_ref();
        created.is_some_and(|it| !it.promoted_from.is_empty())
    }

    /// Returns whether the entry may be shown: it has content and is not archived, retracted,
    /// merged, superseded or quarantined.
    pub fn is_live(&self) -> bool {
        self.content.is_some()
            && self.archived.is_none()
            && self.retracted.is_none()
            && self.quarantine.is_empty()
            && self.merged_into.is_none()
            && self.superseded_by.is_none()
    }

    /// Returns whether the text came from the web and was confirmed neither by an agent that had
    /// not been shown it nor by a person.
    pub fn is_unconfirmed_web(&self) -> bool {
        let origin = self.created.as_ref().map(|it| it.origin);
        let is_vouched_for = self.confirmation.is_confirmed() || !self.approvals.is_empty();
        origin == Some(Origin::Web) && !is_vouched_for
    }

    /// Returns whether the entry came from a peer and was not archived, retracted, merged or
    /// superseded here.
    pub fn is_inbound(&self) -> bool {
        let origin = self.created.as_ref().map(|it| it.origin);
        origin == Some(Origin::Peer)
            && self.archived.is_none()
            && self.retracted.is_none()
            && self.merged_into.is_none()
            && self.superseded_by.is_none()
    }

    /// Returns how the run that produced the entry ended, if it failed or was abandoned.
    pub fn failed_source(&self) -> Option<Outcome> {
        let run = self.created.as_ref().and_then(|it| it.run.as_ref());
        // A run that extracts an entry knows its outcome; one that adds an entry ends later.
        let outcome = run
            .and_then(|it| it.outcome)
            .or(self.tallies.source_outcome);
        outcome.filter(|it| matches!(it, Outcome::Failed | Outcome::Abandoned))
    }

    /// Returns whether the entry is a raw signal, such as friction: shown on request only.
    pub fn is_raw(&self) -> bool {
        self.id.prefix().memory() == Memory::Episodic
    }

    /// Returns whether the annotation `mark` is on.
    pub fn has_annotation(&self, mark: Overlay) -> bool {
        let annotation = self.overlays.get(&mark);
        annotation.is_some_and(|annotation| annotation.state == Switch::On)
    }

    /// Returns whether a newer build wrote something that this build does not understand.
    pub fn is_read_only(&self) -> bool {
        // An edit by this build could silently undo the unknown change, so edits are refused.
        self.history.unknown > 0
    }

    /// Returns whether the entry is a tombstone: the same claim cannot be proposed again.
    pub fn is_tombstone(&self) -> bool {
        self.retracted
            .as_ref()
            .is_some_and(|r| r.reason.leaves_tombstone())
    }

    /// Returns the name of the entry file, without its folder.
    pub fn file_name(&self) -> Option<String> {
        self.created
            .as_ref()
            .map(|created| format!("{}-{}.md", self.id, created.slug))
    }
}
