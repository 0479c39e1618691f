//! The closed set of event types and the data each carries.
//!
//! The list below is the only place a type is named; writer, reader, schema and fold follow it.
//! Amounts that are added up (weights, counts) are integers in thousandths, so that sums do not
//! depend on the order of addition.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Actor;
use crate::anchor::Anchor;
use crate::canonical;
use crate::citation::Citation;
use crate::content::{Changes, Content, FrictionType, Scope};
use crate::id::{EntryId, EventId};
use crate::kind::{Kind, Memory};
use crate::source::Source;
use crate::status::Status;
use crate::text::{Alias, Note, Tag};
use crate::time::Date;

macro_rules! event_types {
    ($($variant:ident($data:ty) = $name:literal in $memory:ident;)*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Body {
            $($variant($data),)*
            /// The data was blanked; only its digest is left.
            Blanked { type_name: String },
            /// A type, version or value this build does not know; its line is kept word for word.
            Unknown { type_name: String },
        }

        /// The names of every type a writer may use.
        pub const EVENT_TYPES: &[&str] = &[$($name),*];

        impl Body {
            /// Returns the type's name in the ledger.
            pub fn type_name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Blanked { type_name } | Self::Unknown { type_name } => type_name,
                }
            }

            /// Returns the memory an event without an entry belongs to.
            pub fn home(&self) -> Memory {
                match self {
                    $(Self::$variant(_) => Memory::$memory,)*
                    Self::Blanked { .. } | Self::Unknown { .. } => Memory::Episodic,
                }
            }

            /// Reads the data of type `name`; `None` if this build has no such type.
            pub(crate) fn read(name: &str, json: &str) -> Option<serde_json::Result<Self>> {
                match name {
                    $($name => Some(serde_json::from_str(json).map(Self::$variant)),)*
                    _ => None,
                }
            }

            /// Returns how many members the data has as JSON; none for what only its line can tell.
            pub(crate) fn count_members(&self) -> Option<usize> {
                match self {
                    $(Self::$variant(data) => Some(canonical::count_members(data)),)*
                    Self::Blanked { .. } | Self::Unknown { .. } => None,
                }
            }

            /// Reads data of the same type from `json`; `None` if it does not fit.
            pub fn reread(&self, json: &Value) -> Option<Self> {
                Self::read(self.type_name(), &json.to_string())?.ok()
            }

            /// Returns the data as JSON; `None` for what only its line can tell.
            pub fn to_json(&self) -> Option<Value> {
                let json = match self {
                    $(Self::$variant(data) => serde_json::to_string(data),)*
                    Self::Blanked { .. } | Self::Unknown { .. } => return None,
                };
                let json = json.expect("ledger values have string keys");
                Some(serde_json::from_str(&json).expect("just written"))
            }
        }

        $(impl EventData for $data {
            const TYPE: &'static str = $name;

            fn of(body: &Body) -> Option<&Self> {
                if let Body::$variant(data) = body { Some(data) } else { None }
            }
        })*

        /// Calls `each` with the name and JSON Schema of every type's data.
        pub(crate) fn each_schema(
            generator: &mut schemars::SchemaGenerator,
            mut each: impl FnMut(&'static str, schemars::Schema),
        ) {
            $(each($name, generator.subschema_for::<$data>());)*
        }
    };
}

/// The data of one event type.
pub trait EventData: Sized {
    /// The type's name in the ledger.
    const TYPE: &'static str;

    /// Returns the data if `body` is of this type.
    fn of(body: &Body) -> Option<&Self>;
}

event_types! {
    Proposed(Proposed) = "entry.proposed" in Semantic;
    Revised(Revised) = "entry.revised" in Semantic;
    Cited(Cited) = "entry.cited" in Semantic;
    Confirmed(Confirmed) = "entry.confirmed" in Semantic;
    StatusChanged(StatusChanged) = "entry.status_changed" in Semantic;
    ScopeChanged(ScopeChanged) = "entry.scope_changed" in Semantic;
    Archived(Archived) = "entry.archived" in Semantic;
    Restored(Restored) = "entry.restored" in Semantic;
    Retracted(Retracted) = "entry.retracted" in Semantic;
    Merged(Merged) = "entry.merged" in Semantic;
    Superseded(Superseded) = "entry.superseded" in Semantic;
    Linked(Linked) = "entry.linked" in Semantic;
    Reanchored(Reanchored) = "entry.reanchored" in Semantic;
    QuarantineLifted(QuarantineLifted) = "quarantine.lifted" in Semantic;
    OverlaySet(OverlaySet) = "overlay.set" in Semantic;
    PairDismissed(PairDismissed) = "pair.dismissed" in Semantic;
    ContradictionFlagged(ContradictionFlagged) = "contradiction.flagged" in Semantic;
    ContradictionResolved(ContradictionResolved) = "contradiction.resolved" in Semantic;
    RunClosed(RunClosed) = "run.closed" in Episodic;
    RunEffects(RunEffects) = "run.effects" in Episodic;
    FeedbackGiven(FeedbackGiven) = "feedback.given" in Episodic;
    RetrievalMissed(RetrievalMissed) = "retrieval.missed" in Episodic;
    FrictionRecorded(FrictionRecorded) = "friction.recorded" in Episodic;
    ApprovalGranted(ApprovalGranted) = "approval.granted" in Procedural;
    OriginRevoked(OriginRevoked) = "origin.revoked" in Procedural;
    ConfigChanged(ConfigChanged) = "config.changed" in Procedural;
    ConfidenceReset(ConfidenceReset) = "confidence.reset" in Semantic;
    EventBlanked(EventBlanked) = "event.blanked" in Procedural;
    KnowledgeDistilled(KnowledgeDistilled) = "knowledge.distilled" in Semantic;
    PeerTrustChanged(PeerTrustChanged) = "peer.trust_changed" in Procedural;
    ForageRequested(ForageRequested) = "forage.requested" in Episodic;
    ForageCompleted(ForageCompleted) = "forage.completed" in Episodic;
    DomainStrategyChanged(DomainStrategyChanged) = "domain.strategy_changed" in Procedural;
    DomainOverridden(DomainOverridden) = "domain.overridden" in Procedural;
}

macro_rules! data {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct $name { $($(#[$attr])* pub $field: $type,)* }
    )*};
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant,)* }
    )*};
}

data! {
    /// An entry was put forward and admitted.
    Proposed {
        kind: Kind,
        content: Content,
        /// At least one for semantic and procedural kinds.
        citations: Vec<Citation>,
        /// The status admission gave it.
        status: Status,
        origin: Origin,
        scope: Scope,
        /// Version of the content's schema (semver).
        schema_version: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alias: Option<Alias>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<Tag>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<SourceRun>,
        /// The tombstone a person overrode to let this in again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overrides: Option<EntryId>,
        /// The entries it was promoted from; it waits until a person who did not write it approves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        promoted_from: Vec<EntryId>,
        /// The entry of a project that it is a copy of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copied_from: Option<CopiedFrom>,
    }
    /// Some fields were worded anew.
    Revised {
        changes: Changes,
        /// The content events this one was based on.
        replaces: Vec<EventId>,
        channel: Channel,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Note>,
        /// Where the words come from, if that is trusted less than where the entry came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    }
    /// A piece of evidence was added; never taken back.
    Cited { citation: Citation, }
    /// Somebody found the claim again, or takes such a finding back.
    Confirmed {
        provenance: Provenance,
        on: Date,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        /// Earlier confirmations this event takes back; empty for a confirmation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdraws: Vec<EventId>,
    }
    /// The status moved on the ladder.
    StatusChanged {
        to: Status,
        replaces: Vec<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Note>,
    }
    /// The entry reaches further or less far than before.
    ScopeChanged { to: Scope, replaces: Vec<EventId>, }
    /// The entry was laid aside; everything of it is kept.
    Archived {
        because: ArchiveReason,
        /// The latest confirmation known when decay archived it; void if a newer one turns up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rests_on: Option<EventId>,
    }
    /// Archiving or retraction was undone.
    Restored {
        /// The archiving and retracting events this one undoes.
        undoes: Vec<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Note>,
    }
    /// The claim was taken back.
    Retracted {
        reason: RetractReason,
        channel: Channel,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
    }
    /// Entries saying the same became one.
    Merged {
        target: EntryId,
        sources: Vec<EntryId>,
        strategy: MergeStrategy,
        changes: Changes,
        replaces: Vec<EventId>,
        /// The least trusted origin of all that went into it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    }
    /// A newer entry took this one's place.
    Superseded { old: EntryId, new: EntryId, }
    /// Two entries were linked, or a link was taken back.
    Linked {
        to: EntryId,
        rel: Relation,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdraws: Vec<EventId>,
    }
    /// Anchors were followed to where the code went, or fingerprinted.
    Reanchored { evidence: Vec<Anchor>, replaces: Vec<EventId>, }
    /// A person let a quarantined entry out.
    QuarantineLifted { lifts: Vec<EventId>, reason: Note, }
    /// A local mark that never touches truth or confidence.
    OverlaySet {
        overlay: Overlay,
        state: Switch,
        replaces: Vec<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
    }
    /// A pair was looked at and is neither duplicate nor contradiction.
    PairDismissed { first: EntryId, second: EntryId, as_what: PairKind, }
    /// Two entries seem to contradict each other.
    ContradictionFlagged { first: EntryId, second: EntryId, why: Note, }
    /// A person settled a contradiction.
    ContradictionResolved { first: EntryId, second: EntryId, keep: Keep, flags: Vec<EventId>, }
    /// A run ended.
    RunClosed {
        run: String,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quality_milli: Option<u16>,
        rounds: u32,
        cost_micros: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strategy: Option<Tag>,
        agents: Vec<Actor>,
        /// How many agents had each role.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        roles: BTreeMap<Tag, u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<Tag>,
        /// From its opening to its end; of one that nobody saw to its end, to the last that is known of it.
        #[serde(default)]
        duration_ms: u64,
        /// Entries somebody was shown, and entries that came out of it.
        #[serde(default)]
        accessed: u32,
        #[serde(default)]
        extracted: u32,
    }
    /// What a run did to the entries it touched.
    RunEffects { run: String, effects: Vec<Effect>, }
    /// An agent said whether an entry helped.
    FeedbackGiven { verdict: Feedback, weight_milli: u32, }
    /// A search found nothing good enough.
    RetrievalMissed { query: Note, top_milli: u16, }
    /// A tool failed, work was redone, a validation did not pass.
    FrictionRecorded { friction: FrictionType, context: Value, }
    /// A person approved something an agent may not.
    ApprovalGranted {
        entry: EntryId,
        /// The digest of the promotion artifact that was read.
        artifact: Note,
        /// An SSH signature over the artifact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The content events whose wording was approved; an approval that names none approves nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        covers: Vec<EventId>,
    }
    /// Everything from an origin or author was turned off, or on again.
    OriginRevoked { source: Source, state: Switch, replaces: Vec<EventId>, }
    /// A policy value was changed.
    ConfigChanged { key: Tag, value: Value, replaces: Vec<EventId>, }
    /// A stuck posterior was put back to the prior, by hand.
    ConfidenceReset { reason: Note, }
    /// An event's data was removed everywhere.
    EventBlanked { event: EventId, reason: BlankReason, }
    /// Several entries were condensed into one.
    KnowledgeDistilled { entry: EntryId, sources: Vec<EntryId>, cluster_weight_milli: u32, }
    /// A peer gained or lost trust.
    PeerTrustChanged { peer: Actor, alpha_milli: u32, beta_milli: u32, }
    /// A search of the web was asked for.
    ForageRequested { mode: ForageMode, reason: Note, }
    /// A search of the web ended.
    ForageCompleted {
        request: EventId,
        fetched: u32,
        admitted: u32,
        rejected: u32,
        duration_ms: u64,
    }
    /// How a domain is best fetched was learned.
    DomainStrategyChanged { domain: String, strategy: Tag, replaces: Vec<EventId>, }
    /// A person trusts or distrusts a domain.
    DomainOverridden { domain: String, action: DomainAction, replaces: Vec<EventId>, }
}

/// Where a copy in another ledger came from; what it rested on there stays there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopiedFrom {
    /// The project's id.
    pub project: Tag,
    /// The entry there.
    pub entry: EntryId,
    /// Who wrote it there.
    pub by: Actor,
}

/// The run an entry came out of and how that run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceRun {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What a run did to one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    pub entry: EntryId,
    pub alpha_milli: u32,
    pub beta_milli: u32,
    /// Whether the run showed it to somebody.
    pub shown: u32,
    /// Agents who could have found it without having seen it.
    pub blind: u32,
    /// The latest confirmation the run knew of: the two counts above are since that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<EventId>,
    /// What became of the work of those for whom chance decided whether they saw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
}

/// Work done with an entry or without it, as chance would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    pub arm: Arm,
    /// How probable it was, in thousandths, that the entry was withheld.
    pub propensity_milli: u16,
    pub succeeded: bool,
}

words! {
    /// Where an entry's text came from; foreign text never gains trust by being copied.
    Origin { Human, Agent, Ci, Import, Peer, Web, }
    /// How a run ended.
    Outcome { Succeeded, Failed, Abandoned, }
    /// What chance decided for one agent.
    Arm { Shown, Withheld, }
    /// By which way a change came in.
    Channel { Command, HandEdit, }
    /// How somebody came to agree with an entry.
    Provenance { Independent, Primed, Unwitnessed, Manual, }
    /// Why an entry was laid aside.
    ArchiveReason { Decay, Age, Manual, Thread, }
    /// Why a claim was taken back; `false` and `unwanted` leave a tombstone.
    RetractReason { False, Unwanted, Duplicate, Obsolete, Withdrawn, }
    /// Whose wording a merge kept.
    MergeStrategy { KeepTarget, KeepLonger, LlmSelected, }
    /// How two entries stand to each other.
    Relation { RelatesTo, DependsOn, DerivedFrom, Contradicts, Refines, Supersedes, }
    /// A mark by an operator.
    Overlay { Pin, Mute, Invalidate, Annotate, }
    /// Whether a mark is on.
    Switch { On, Off, }
    /// What a pair was suspected of.
    PairKind { Duplicate, Contradiction, }
    /// What a person kept of a contradicting pair.
    Keep { First, Second, Both, }
    /// Whether an entry helped.
    Feedback { Helpful, Unhelpful, }
    /// Why data was removed.
    BlankReason { Secret, Personal, Legal, Other, }
    /// What set off a search of the web.
    ForageMode { Reactive, Proactive, Operator, }
    /// What a person decided about a domain.
    DomainAction { Trust, Distrust, Reset, }
}

impl RetractReason {
    /// Returns whether proposing the claim again is refused.
    pub fn leaves_tombstone(self) -> bool {
        match self {
            Self::False | Self::Unwanted => true,
            Self::Duplicate | Self::Obsolete | Self::Withdrawn => false,
        }
    }
}

impl Provenance {
    /// Returns whether such agreement refreshes `last_confirmed`.
    pub fn confirms(self) -> bool {
        match self {
            Self::Independent | Self::Manual => true,
            Self::Primed | Self::Unwitnessed => false,
        }
    }
}
