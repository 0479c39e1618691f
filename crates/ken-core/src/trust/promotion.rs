//! Promotion: checks before an entry gets a wider scope, and the artifact a person approves.
//!
//! There are three promotions: from a thread to the workspace, from the workspace to the global
//! ledger as a copy, and from episodic or semantic memory to another memory. The last one requires
//! approval of a [`PromotionArtifact`]. The artifact follows from the ledger alone, so that every
//! clone produces the same bytes and can verify a signature over them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ledger::canonical;
use crate::ledger::entry::Entry;
use crate::ledger::event::{Event, Merged, Origin, Proposed, Reanchored, Revised, ScopeChanged};
use crate::trust::facts::{EntryFacts, Validity};
use crate::values::actor::Actor;
use crate::values::content::{Content, EntryScope};
use crate::values::id::{EntryId, EventId};
use crate::values::kind::{EntryKind, IdPrefix, Memory};
use crate::values::status::EntryStatus;
use crate::values::text::Tag;

/// Mean of the prior; a confidence below it means that the evidence is negative.
pub const CONFIDENCE_MIN: f64 = 0.5;

/// Confidence from which outcomes alone prove an entry: two average successes without a failure.
pub const PROVEN_MEAN: f64 = 0.55;

/// Projects that must have a claim before it becomes global.
pub const PROJECTS_MIN: usize = 2;

/// Hexadecimal digits of an artifact's digest.
const DIGEST_DIGITS: usize = 64;

/// Schema name of an artifact.
const SCHEMA: &str = "ken.promotion.v1";

/// Phrases that tie a claim to the work it came from.
const TYING_PHRASES: [&str; 5] = [
    "this thread",
    "this session",
    "this run",
    "this task",
    "this branch",
];

/// The reason why an entry may not be promoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromotionBarrier {
    #[error("it already has that scope")]
    AlreadyInScope,
    #[error("it is not live: archived, retracted, merged, superseded or quarantined")]
    NotLive,
    #[error("it is {0}")]
    StatusTooLow(&'static str),
    #[error("the code no longer supports it")]
    Invalid,
    #[error("its contradiction with {0} is not resolved")]
    Contradicted(EntryId),
    #[error("its confidence is low (0.{hundredths:02}; at least {CONFIDENCE_MIN:.2} is needed)")]
    LowConfidence { hundredths: u32 },
    #[error(
        "it is unproven: it has no independent confirmation, and its confidence is 0.{hundredths:02} (outcomes alone need {PROVEN_MEAN:.2})"
    )]
    Unproven { hundredths: u32 },
    #[error("its statement refers to the work it came from (`{0}`)")]
    TiedToWork(String),
    #[error("a {0} applies to one repository only")]
    RepositoryKind(&'static str),
}

impl PromotionBarrier {
    /// Returns whether a person may override the reason because it is a matter of judgment.
    pub fn may_be_overridden(&self) -> bool {
        match self {
            Self::LowConfidence { .. } | Self::Unproven { .. } | Self::TiedToWork(_) => true,
            Self::AlreadyInScope
            | Self::NotLive
            | Self::StatusTooLow(_)
            | Self::Invalid
            | Self::Contradicted(_)
            | Self::RepositoryKind(_) => false,
        }
    }
}

/// Returns the reason why `entry` may not be promoted to scope `to`, if any.
///
/// `against` is an entry that contradicts it.
pub fn promotion_barrier(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    to: EntryScope,
) -> Option<PromotionBarrier> {
    if to <= entry.scope.value {
        Some(PromotionBarrier::AlreadyInScope)
    } else {
        scope_barrier(entry, facts, against, to)
    }
}

/// Returns the reason why `entry` is unfit for scope `to`, regardless of its current scope.
pub fn scope_barrier(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    to: EntryScope,
) -> Option<PromotionBarrier> {
    if !entry.is_live() {
        return Some(PromotionBarrier::NotLive);
    }
    if to == EntryScope::Global {
        let kind = entry.kind()?;
        if !can_be_global(kind) {
            return Some(PromotionBarrier::RepositoryKind(kind.name()));
        }
    }
    match facts.status {
        EntryStatus::Stale | EntryStatus::Rejected => {
            return Some(PromotionBarrier::StatusTooLow(facts.status.name()));
        }
        EntryStatus::Candidate | EntryStatus::Active | EntryStatus::Verified => {}
    }
    match facts.validity {
        Validity::Changed | Validity::Broken => return Some(PromotionBarrier::Invalid),
        Validity::Holds | Validity::Unverifiable => {}
    }
    if let Some(other) = against {
        return Some(PromotionBarrier::Contradicted(other));
    }
    let mean = facts.posterior.mean();
    // Truncated, not rounded: 0.499 must not be reported as 0.50, which is the minimum.
    let hundredths = (mean * 100.0) as u32;
    if mean < CONFIDENCE_MIN {
        return Some(PromotionBarrier::LowConfidence { hundredths });
    }
    // A confirmation by an unprimed agent or a person replaces proof by outcomes.
    let confirmations = facts.confirmation.independent + facts.confirmation.manual;
    if mean < PROVEN_MEAN && confirmations == 0 {
        return Some(PromotionBarrier::Unproven { hundredths });
    }
    tying_phrase(entry).map(PromotionBarrier::TiedToWork)
}

/// Returns whether a person declined to widen the scope of an entry.
///
/// A person declines with a scope change to the scope that the entry already has.
pub fn is_widening_declined(entry: &Entry, history: &[Event]) -> bool {
    let scope_of = |id: &EventId| {
        let event = history.iter().find(|it| it.id == *id)?;
        let proposed = event.get::<Proposed>().map(|it| it.scope);
        proposed.or_else(|| event.get::<ScopeChanged>().map(|it| it.to))
    };
    entry.scope.heads.iter().any(|head| {
        let event = history.iter().find(|it| it.id == *head && it.by.is_human());
        let change = event.and_then(|it| it.get::<ScopeChanged>());
        change.is_some_and(|change| {
            let mut before = change.replaces.iter().map(scope_of);
            // `all` holds for an empty list, which would be a change that replaces nothing.
            !change.replaces.is_empty() && before.all(|scope| scope == Some(change.to))
        })
    })
}

/// Returns whether only an approval releases an entry: promoted entries and norms.
pub fn requires_approval(entry: &Entry) -> bool {
    entry.is_promoted() || entry.id.prefix().memory() == Memory::Procedural
}

/// Returns whether an event sets the statement of entry `id`.
pub fn sets_statement(id: EntryId, event: &Event) -> bool {
    let merged = event.get::<Merged>();
    event.get::<Proposed>().is_some()
        || event.get::<Revised>().is_some()
        || merged.is_some_and(|data| data.target == id)
}

/// Returns whether an approval covers the current statement of an entry.
///
/// A reanchor event changes no statement: an approval of the revision before it still counts.
pub fn is_approved<'a>(entry: &Entry, history: impl Iterator<Item = &'a Event>) -> bool {
    if is_approved_outright(entry) {
        return true;
    }
    let (mut moved, mut replaced) = (BTreeSet::new(), BTreeMap::new());
    for event in history {
        let merged = event.get::<Merged>().filter(|it| it.target == entry.id);
        let replaces = match (event.get::<Reanchored>(), event.get::<Revised>(), merged) {
            (Some(data), _, _) => {
                moved.insert(event.id);
                &data.replaces
            }
            (None, Some(data), _) => &data.replaces,
            (None, None, Some(data)) => &data.replaces,
            (None, None, None) => continue,
        };
        replaced.insert(event.id, replaces.as_slice());
    }
    // Collects the ancestors of `from`, continuing only through events that `passes` accepts.
    let back = |from: &[EventId], passes: &dyn Fn(&EventId) -> bool| {
        let (mut open, mut seen) = (from.to_vec(), BTreeSet::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) && passes(&id) {
                open.extend(replaced.get(&id).copied().unwrap_or_default());
            }
        }
        seen
    };
    // Walking back through reanchor events only yields the events that set the current statement.
    let mut statements = back(&entry.revision, &|id| moved.contains(id));
    statements.retain(|id| !moved.contains(id));
    let mut approvals = entry.approvals.iter();
    // One approval must cover all concurrent heads; two partial approvals do not add up.
    !statements.is_empty() && approvals.any(|it| statements.is_subset(&back(&it.covers, &|_| true)))
}

/// Returns whether one approval names all events of the current revision.
///
/// This needs no history; [`is_approved`] reads the history if it returns false.
pub fn is_approved_outright(entry: &Entry) -> bool {
    let names_all = |read: &[EventId]| entry.revision.iter().all(|id| read.contains(id));
    let mut approvals = entry.approvals.iter();
    !entry.revision.is_empty() && approvals.any(|it| names_all(&it.covers))
}

/// Returns the authors of an entry's statement, who may not approve it.
pub fn statement_authors<'a>(
    id: EntryId,
    history: impl Iterator<Item = &'a Event>,
) -> BTreeSet<Actor> {
    let worded = history.filter(|it| sets_statement(id, it));
    worded.map(|it| it.by.clone()).collect()
}

/// Returns whether a statement of the entry is quarantined, rather than only the entry as a whole.
pub fn has_quarantined_statement<'a>(
    entry: &Entry,
    mut history: impl Iterator<Item = &'a Event>,
) -> bool {
    history.any(|it| entry.quarantine.contains(&it.id) && sets_statement(entry.id, it))
}

/// Returns whether entries of `kind` can hold outside their repository.
fn can_be_global(kind: EntryKind) -> bool {
    matches!(kind.prefix(), IdPrefix::Lesson | IdPrefix::Spike)
}

/// Returns the phrase of a statement that makes sense only in the work it came from.
fn tying_phrase(entry: &Entry) -> Option<String> {
    let said = entry.statement_text().to_lowercase();
    let thread = entry.thread().map(Tag::as_str);
    // The name of the thread is as local as the fixed phrases.
    let mut words = TYING_PHRASES.into_iter().chain(thread);
    words
        .find(|words| has_words(&said, words))
        .map(str::to_owned)
}

/// Returns whether `text` contains `words` as whole words.
fn has_words(text: &str, words: &str) -> bool {
    // Hyphens and underscores join words: "this run-time" does not contain "this run".
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(words).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns the content that may leave its repository, without anchors, steps, conditions and
/// globs.
///
/// Those refer to one source tree and mean nothing elsewhere.
pub fn exportable_content(content: &Content) -> Content {
    Content {
        anchors: Vec::new(),
        verify: Vec::new(),
        depends_on: Vec::new(),
        applies_to: Vec::new(),
        ..content.clone()
    }
}

/// Returns the origin of a copy: import, or the origin of the source if that is trusted less.
pub fn origin_of_copy(source: Origin) -> Origin {
    Origin::Import.least_trusted(source)
}

/// The document that a person reads and signs to approve a promotion to another memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromotionArtifact {
    schema: &'static str,
    entry: EntryId,
    kind: EntryKind,
    /// The target memory.
    to: Memory,
    /// The entries it was made from.
    sources: Vec<EntryId>,
    proposed_by: Actor,
    /// The full content.
    content: Content,
    /// The events that the content follows from.
    revision: Vec<EventId>,
}

impl PromotionArtifact {
    /// Returns the artifact of an entry; `None` if its content is unknown.
    pub fn from_entry(entry: &Entry) -> Option<Self> {
        let created = entry.created.as_ref()?;
        Some(Self {
            schema: SCHEMA,
            entry: entry.id,
            kind: created.kind,
            to: created.kind.memory(),
            sources: created.promoted_from.clone(),
            proposed_by: created.by.clone(),
            content: entry.content.clone()?,
            revision: entry.revision.clone(),
        })
    }

    /// Returns the bytes to sign: one line of canonical JSON.
    pub fn bytes(&self) -> Vec<u8> {
        (canonical::to_string(self) + "\n").into_bytes()
    }

    /// Returns the digest of the bytes.
    pub fn digest(&self) -> String {
        let hex = blake3::hash(&self.bytes()).to_hex();
        format!("b3:{}", &hex[..DIGEST_DIGITS])
    }
}
