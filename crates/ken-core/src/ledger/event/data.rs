//! Event types and the data of each.
//!
//! The list in `event_types!` is the only place that names a type; writer, reader, schema and fold
//! are derived from it. Amounts that are summed (weights, counts) are integers in thousandths,
//! because floating-point sums depend on the order of addition.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::canonical;
use crate::ledger::source::ContributionSource;
use crate::values::actor::Actor;
use crate::values::anchor::Anchor;
use crate::values::citation::Citation;
use crate::values::content::{Content, ContentChanges, EntryScope, FrictionType};
use crate::values::id::{EntryId, EventId};
use crate::values::kind::{EntryKind, Memory};
use crate::values::status::EntryStatus;
use crate::values::text::{Alias, Note, Tag};
use crate::values::time::{Date, Timestamp};

macro_rules! event_types {
    ($($variant:ident($data:ty) = $name:literal in $memory:ident;)*) => {
        /// The data of an event, by type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum EventBody {
            $($variant($data),)*
            /// The data was redacted; only its digest is left.
            Blanked { type_name: String },
            /// A type, version or value that this build does not know; the line is kept verbatim.
            Unknown { type_name: String },
        }

        /// The names of all event types that this build writes.
        pub const EVENT_TYPES: &[&str] = &[$($name),*];

        impl EventBody {
            /// Returns the type's name in the ledger.
            pub fn type_name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Blanked { type_name } | Self::Unknown { type_name } => type_name,
                }
            }

            /// Returns the memory of an event that is about no entry.
            pub fn home(&self) -> Memory {
                match self {
                    $(Self::$variant(_) => Memory::$memory,)*
                    Self::Blanked { .. } | Self::Unknown { .. } => Memory::Episodic,
                }
            }

            /// Parses the data of type `name`; `None` if this build does not know the type.
            pub(crate) fn read(name: &str, json: &str) -> Option<serde_json::Result<Self>> {
                match name {
                    $($name => Some(serde_json::from_str(json).map(Self::$variant)),)*
                    _ => None,
                }
            }

            /// Returns the number of JSON members in the data; `None` if only the line has the
            /// data.
            pub(crate) fn count_members(&self) -> Option<usize> {
                match self {
                    $(Self::$variant(data) => Some(canonical::count_members(data)),)*
                    Self::Blanked { .. } | Self::Unknown { .. } => None,
                }
            }

            /// Parses data of the same type from `json`; `None` if it does not match.
            pub fn reread(&self, json: &Value) -> Option<Self> {
                Self::read(self.type_name(), &json.to_string())?.ok()
            }

            /// Returns the data as JSON; `None` if only the line has it.
            pub fn to_json(&self) -> Option<Value> {
                let json = match self {
                    $(Self::$variant(data) => serde_json::to_string(data),)*
                    Self::Blanked { .. } | Self::Unknown { .. } => return None,
                };
                // Event data consists of types that always serialize: no map has keys other than
                // strings.
                let json = json.expect("ledger values have string keys");
                Some(serde_json::from_str(&json).expect("just written"))
            }
        }

        $(impl EventData for $data {
            const TYPE: &'static str = $name;

            fn of(body: &EventBody) -> Option<&Self> {
                if let EventBody::$variant(data) = body { Some(data) } else { None }
            }
        })*

        /// Calls `each` with the name and JSON Schema of every event type.
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

    /// Returns the data if `body` has this type.
    fn of(body: &EventBody) -> Option<&Self>;
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
    HandoffWritten(HandoffWritten) = "handoff.written" in Episodic;
    HandoffTaken(HandoffTaken) = "handoff.taken" in Episodic;
    RunObserved(RunObserved) = "run.observed" in Episodic;
}

impl EventBody {
    /// Returns whether the event counts the use of entries and changes none of their content.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::RunClosed(_)
                | Self::RunEffects(_)
                | Self::RunObserved(_)
                | Self::FeedbackGiven(_)
                | Self::RetrievalMissed(_)
        )
    }
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
    /// An entry was proposed and admitted.
    Proposed {
        kind: EntryKind,
        content: Content,
        /// At least one for semantic and procedural kinds.
        citations: Vec<Citation>,
        /// The status assigned at admission.
        status: EntryStatus,
        origin: Origin,
        scope: EntryScope,
        /// Version of the content schema (semver).
        schema_version: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alias: Option<Alias>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<Tag>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<SourceRun>,
        /// The tombstone that a person overrode with this proposal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overrides: Option<EntryId>,
        /// The entries it was promoted from. It is pending until a person other than the author
        /// approves it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        promoted_from: Vec<EntryId>,
        /// The project entry it is a copy of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copied_from: Option<CopiedFrom>,
        /// Where the forager found the text.
        // Boxed, because few proposals have it and every event would be larger.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        foraged: Option<Box<ForageProvenance>>,
    }
    /// Fields of an entry were edited.
    Revised {
        changes: ContentChanges,
        /// The content events this edit is based on.
        replaces: Vec<EventId>,
        channel: Channel,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Note>,
        /// The origin of the new text, if less trusted than the entry's origin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    }
    /// A citation was added. Citations cannot be removed.
    Cited { citation: Citation, }
    /// The claim was confirmed, or confirmations were withdrawn.
    Confirmed {
        provenance: Provenance,
        on: Date,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        /// Earlier confirmations that this event withdraws; empty for a confirmation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdraws: Vec<EventId>,
    }
    /// The status changed.
    StatusChanged {
        to: EntryStatus,
        replaces: Vec<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Note>,
    }
    /// The scope changed.
    ScopeChanged { to: EntryScope, replaces: Vec<EventId>, }
    /// The entry was archived. Nothing is deleted.
    Archived {
        because: ArchiveReason,
        /// The latest confirmation known when decay archived the entry. A newer confirmation voids
        /// the archiving.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rests_on: Option<EventId>,
    }
    /// An archived or retracted entry was restored.
    Restored {
        /// The archiving and retracting events that this one undoes.
        undoes: Vec<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Note>,
    }
    /// The entry was retracted.
    Retracted {
        reason: RetractReason,
        channel: Channel,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
    }
    /// Duplicate entries were merged.
    Merged {
        target: EntryId,
        sources: Vec<EntryId>,
        strategy: MergeStrategy,
        changes: ContentChanges,
        replaces: Vec<EventId>,
        /// The least trusted origin of all merged entries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    }
    /// A newer entry superseded this one.
    Superseded { old: EntryId, new: EntryId, }
    /// Two entries were linked, or links were withdrawn.
    Linked {
        to: EntryId,
        rel: Relation,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdraws: Vec<EventId>,
    }
    /// Anchors were updated after code moved, or fingerprinted.
    Reanchored {
        #[serde(rename = "evidence")]
        anchors: Vec<Anchor>,
        replaces: Vec<EventId>,
        /// The origin of the new anchors, if less trusted than the entry's origin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    }
    /// A person released a quarantined entry.
    QuarantineLifted { lifts: Vec<EventId>, reason: Note, }
    /// A pin, mute or other annotation that does not affect truth or confidence.
    OverlaySet {
        overlay: Overlay,
        state: Switch,
        replaces: Vec<EventId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
    }
    /// A pair of entries was reviewed and is neither a duplicate nor a contradiction.
    PairDismissed { first: EntryId, second: EntryId, as_what: PairKind, }
    /// Two entries appear to contradict each other.
    ContradictionFlagged { first: EntryId, second: EntryId, why: Note, }
    /// A person resolved a contradiction.
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
        /// Number of agents per role.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        roles: BTreeMap<Tag, u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<Tag>,
        /// Time from opening to close. Without an observed close, time to its last known activity.
        #[serde(default)]
        duration_ms: u64,
        /// Number of entries shown to agents in the run.
        #[serde(default)]
        accessed: u32,
        #[serde(default)]
        /// Number of entries extracted from the run.
        extracted: u32,
    }
    /// Effects of a run on the entries it touched.
    RunEffects { run: String, effects: Vec<EntryEffect>, }
    /// Feedback on whether an entry helped.
    FeedbackGiven { verdict: Feedback, weight_milli: u32, }
    /// A search returned no hit above the threshold.
    RetrievalMissed { query: Note, top_milli: u16, }
    /// Friction as earlier versions recorded it. `ken health friction record` proposes an entry
    /// instead, and the report counts both.
    FrictionRecorded { friction: FrictionType, context: Value, }
    /// A person approved content that an agent may not approve.
    ApprovalGranted {
        entry: EntryId,
        /// The digest of the approved promotion artifact.
        artifact: Note,
        /// An SSH signature over the artifact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The approved content events. Without any, the event approves nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        covers: Vec<EventId>,
    }
    /// All contributions of an origin or author were revoked, or the revocation ended.
    OriginRevoked { source: ContributionSource, state: Switch, replaces: Vec<EventId>, }
    /// A setting of the workspace changed.
    ConfigChanged { key: Tag, value: Value, replaces: Vec<EventId>, }
    /// A person reset a stuck posterior to the prior.
    ConfidenceReset { reason: Note, }
    /// The data of an event was redacted.
    EventBlanked { event: EventId, reason: BlankReason, }
    /// Several entries were distilled into one.
    KnowledgeDistilled { entry: EntryId, sources: Vec<EntryId>, cluster_weight_milli: u32, }
    /// The trust in a peer changed.
    PeerTrustChanged { peer: Actor, alpha_milli: u32, beta_milli: u32, }
    /// A web search was requested.
    ForageRequested { mode: ForageMode, reason: Note, }
    /// A web search completed.
    ForageCompleted {
        request: EventId,
        fetched: u32,
        admitted: u32,
        rejected: u32,
        duration_ms: u64,
    }
    /// The fetch strategy of a domain changed.
    DomainStrategyChanged { domain: String, strategy: Tag, replaces: Vec<EventId>, }
    /// A person set the trust in a domain.
    DomainOverridden { domain: String, action: DomainAction, replaces: Vec<EventId>, }
    /// A session left unfinished work to the next one on its branch.
    HandoffWritten {
        /// The branch; absent outside git and without a branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        unfinished: Vec<Note>,
        tried: Vec<Note>,
        /// Open questions.
        open: Vec<Note>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
    }
    /// A reader took a handoff, so that no other continues the same work.
    HandoffTaken {
        handoff: EventId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
    }
    /// A program saw what came of a run. Every fact is optional, and a later event adds to the
    /// earlier ones. It is about no entry, so that builds that do not know it can still change the
    /// entries it names.
    RunObserved {
        /// The run; absent if only its commits are known, as in CI.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
        observer: RunObserver,
        /// Messages of a person after the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompts: Option<u32>,
        /// Messages of a person that corrected the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corrections: Option<u32>,
        /// Number of times tests were run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_runs: Option<u32>,
        /// The first of these that passed, counted from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests_passed_at: Option<u32>,
        /// Abbreviated ids of the commits made in the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commits: Vec<String>,
        /// Whether the commits reached the default branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merged: Option<bool>,
        /// Whether one of the commits was reverted within 14 days.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reverted: Option<bool>,
        /// Result of the checks in CI.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ci: Option<CheckResult>,
        /// The entries that chance showed to the agent of a session or withheld from it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        assigned: Vec<RunAssignment>,
    }
}

/// The arm of one entry in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAssignment {
    pub entry: EntryId,
    pub arm: Arm,
    /// Probability, in thousandths, that the entry was withheld.
    pub propensity_milli: u16,
}

/// The origin of an entry copied from another ledger. Citations and anchors are not copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopiedFrom {
    /// The project's id.
    pub project: Tag,
    /// The entry in that project.
    pub entry: EntryId,
    /// The author in that project.
    pub by: Actor,
}

/// Where and how the forager found the text of an entry. It never has the question, whose words
/// can be private.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForageProvenance {
    /// The page or file: a URL, `pkg:TYPE/NAME@VERSION#PATH` or `folder:NAME/PATH`.
    pub source_url: Note,
    pub fetch_timestamp: Timestamp,
    pub fetch_level: FetchLevel,
    pub forager_trigger: ForageMode,
    /// The words that were sent to a search service; absent if nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forager_query: Option<Note>,
    /// How well the text answered and how far its source is trusted, in thousandths.
    pub quality_score_milli: u16,
    /// `b3:` and the hash of the document.
    pub content: Note,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<Note>,
}

/// The run that produced an entry, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceRun {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// Effect of a run on one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryEffect {
    pub entry: EntryId,
    pub alpha_milli: u32,
    pub beta_milli: u32,
    /// 1 if the run showed the entry to an agent, otherwise 0.
    pub shown: u32,
    /// 1 if an agent could have found the claim without having been shown it, otherwise 0.
    pub blind: u32,
    /// Number of those agents, if more than one. Absent in events of older builds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u32,
    /// The latest confirmation known to the run; the two counts above are since that event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<EventId>,
    /// How the run ended, if it added the entry and failed or was abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_outcome: Option<Outcome>,
    /// Outcomes of agents whose exposure was randomized.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<TrialResult>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Outcome of one agent that was randomly shown the entry or had it withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialResult {
    pub arm: Arm,
    /// Probability, in thousandths, that the entry was withheld.
    pub propensity_milli: u16,
    pub succeeded: bool,
}

words! {
    /// The class of source a text came from. Copying foreign text never raises its trust.
    Origin { Human, Agent, Ci, Import, Peer, Web, }
    /// The outcome of a run.
    Outcome { Succeeded, Failed, Abandoned, }
    /// The randomized assignment of one agent.
    Arm { Shown, Withheld, }
    /// The program that observed a run: hooks of the agent, the git history, or a CI job.
    RunObserver { Hooks, Git, Ci, }
    /// The result of checks.
    CheckResult { Passed, Failed, }
    /// The channel of a change.
    Channel { Command, HandEdit, }
    /// The provenance of a confirmation: without exposure, after exposure, unknown, or by a person.
    Provenance { Independent, Primed, Unwitnessed, Manual, }
    /// The reason an entry was archived.
    ArchiveReason { Decay, Age, Manual, Thread, }
    /// The reason an entry was retracted; `false` and `unwanted` leave a tombstone.
    RetractReason { False, Unwanted, Duplicate, Obsolete, Withdrawn, }
    /// The rule by which a merge chose the statement.
    MergeStrategy { KeepTarget, KeepLonger, LlmSelected, }
    /// The relation of a link.
    Relation { RelatesTo, DependsOn, DerivedFrom, Contradicts, Refines, Supersedes, }
    /// The type of an annotation.
    Overlay { Pin, Mute, Invalidate, Annotate, }
    /// The state of an annotation or a revocation.
    Switch { On, Off, }
    /// The suspicion about a pair of entries.
    PairKind { Duplicate, Contradiction, }
    /// The entries that remain after a contradiction was resolved.
    Keep { First, Second, Both, }
    /// The verdict of feedback.
    Feedback { Helpful, Unhelpful, }
    /// The reason data was redacted.
    BlankReason { Secret, Personal, Legal, Other, }
    /// The trigger of a web search.
    ForageMode { Reactive, Proactive, Operator, }
    /// The form in which a document was read: unpacked with a locked package, in a folder of the
    /// user, or from a host.
    FetchLevel { Package, Folder, Markdown, Html, }
    /// A person's decision about a domain.
    DomainAction { Trust, Distrust, Reset, }
}

impl RetractReason {
    /// Returns whether the retraction prevents the claim from being proposed again.
    pub fn leaves_tombstone(self) -> bool {
        match self {
            Self::False | Self::Unwanted => true,
            Self::Duplicate | Self::Obsolete | Self::Withdrawn => false,
        }
    }
}

impl Provenance {
    /// Returns whether the confirmation updates `last_confirmed`.
    pub fn confirms(self) -> bool {
        match self {
            Self::Independent | Self::Manual => true,
            // An agent that was, or may have been, shown the entry adds no independent evidence.
            Self::Primed | Self::Unwitnessed => false,
        }
    }
}
