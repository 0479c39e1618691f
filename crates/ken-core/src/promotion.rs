//! Whether knowledge may reach further than where it was learned, and what a person reads before approving that.
//!
//! Three steps outward: a thread's entry becomes the workspace's, the workspace's is copied to the global ledger, and
//! what was observed (episodic) or learned (semantic) is put forward for another memory. The last one is never open
//! directly: it takes an [`Artifact`], which follows from the ledger alone, so that every clone makes the same bytes
//! and can check a signature over them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::actor::Actor;
use crate::canonical;
use crate::content::{Content, Scope};
use crate::entry::Entry;
use crate::event::{Event, Merged, Origin, Proposed, Reanchored, Revised, ScopeChanged};
use crate::facts::{EntryFacts, Validity};
use crate::id::{EntryId, EventId};
use crate::kind::{Kind, Memory};
use crate::status::Status;
use crate::text::Tag;

/// Below this mean the evidence speaks against an entry: it is the mean nothing is known at.
pub const CONFIDENCE_MIN: f64 = 0.5;

/// From this mean on outcomes alone show that an entry helps: two plain successes and no failure.
pub const PROVEN_MEAN: f64 = 0.55;

/// Projects that must know a claim before it is everybody's.
pub const PROJECTS_MIN: usize = 2;

/// Hexadecimal digits of an artifact's digest.
const DIGEST_DIGITS: usize = 64;

/// Names the form of an artifact.
const SCHEMA: &str = "ken.promotion.v1";

/// Words that tie a claim to the work it came from.
const TIED: [&str; 5] = [
    "this thread",
    "this session",
    "this run",
    "this task",
    "this branch",
];

/// Why an entry stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it reaches that far already")]
    NoFurther,
    #[error("it is not in use: archived, retracted, merged, superseded or waiting for a person")]
    NotInUse,
    #[error("it is {0}")]
    Fallen(&'static str),
    #[error("the code does not bear it out any more")]
    Invalid,
    #[error("a contradiction with {0} is open")]
    Contradicted(EntryId),
    #[error("its confidence is low (0.{hundredths:02}; at least {CONFIDENCE_MIN:.2} is needed)")]
    LowConfidence { hundredths: u32 },
    #[error(
        "it has not proven itself: nobody found it again, and its confidence is 0.{hundredths:02} (outcomes alone need {PROVEN_MEAN:.2})"
    )]
    Unproven { hundredths: u32 },
    #[error("it speaks of the work it came from (`{0}`), which misleads elsewhere")]
    Tied(String),
    #[error("a {0} is about one repository and stays in it")]
    OwnKind(&'static str),
}

impl Unfit {
    /// Returns whether a person may say that it goes further all the same: what is a matter of judgement.
    pub fn may_be_overridden(&self) -> bool {
        match self {
            Self::LowConfidence { .. } | Self::Unproven { .. } | Self::Tied(_) => true,
            Self::NoFurther
            | Self::NotInUse
            | Self::Fallen(_)
            | Self::Invalid
            | Self::Contradicted(_)
            | Self::OwnKind(_) => false,
        }
    }
}

/// Returns why `entry` may not reach as far as `to`, if so; `against` is an entry that contradicts it.
pub fn unfit(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    to: Scope,
) -> Option<Unfit> {
    match to <= entry.scope.value {
        true => Some(Unfit::NoFurther),
        false => hindrance(entry, facts, against, to),
    }
}

/// Returns what speaks against `entry` reaching as far as `to`, whether it says it does or not.
pub fn hindrance(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    to: Scope,
) -> Option<Unfit> {
    if !entry.is_live() {
        return Some(Unfit::NotInUse);
    }
    if to == Scope::Global {
        let kind = entry.kind()?;
        if !is_for_everybody(kind) {
            return Some(Unfit::OwnKind(kind.name()));
        }
    }
    match facts.status {
        Status::Stale | Status::Rejected => return Some(Unfit::Fallen(facts.status.name())),
        Status::Candidate | Status::Active | Status::Verified => {}
    }
    match facts.validity {
        Validity::Changed | Validity::Broken => return Some(Unfit::Invalid),
        Validity::Holds | Validity::Unverifiable => {}
    }
    if let Some(other) = against {
        return Some(Unfit::Contradicted(other));
    }
    let mean = facts.posterior.mean();
    // Cut off, not rounded: what is below a bar must not read as if it were on it.
    let hundredths = (mean * 100.0) as u32;
    if mean < CONFIDENCE_MIN {
        return Some(Unfit::LowConfidence { hundredths });
    }
    let found = facts.confirmation.independent + facts.confirmation.manual;
    if mean < PROVEN_MEAN && found == 0 {
        return Some(Unfit::Unproven { hundredths });
    }
    tied_to(entry).map(Unfit::Tied)
}

/// Returns whether a person decided that an entry reaches no further than it does: how far it reaches was said again
/// after it reached that far.
pub fn is_kept(entry: &Entry, history: &[Event]) -> bool {
    let reached = |id: &EventId| {
        let event = history.iter().find(|it| it.id == *id)?;
        let proposed = event.get::<Proposed>().map(|it| it.scope);
        proposed.or_else(|| event.get::<ScopeChanged>().map(|it| it.to))
    };
    entry.scope.heads.iter().any(|head| {
        let said = history.iter().find(|it| it.id == *head && it.by.is_human());
        let said = said.and_then(|it| it.get::<ScopeChanged>());
        said.is_some_and(|it| {
            let mut before = it.replaces.iter().map(reached);
            !it.replaces.is_empty() && before.all(|scope| scope == Some(it.to))
        })
    })
}

/// Returns whether approving is the way an entry is let out: of what was promoted, and of norms.
pub fn is_approved_only(entry: &Entry) -> bool {
    entry.is_promoted() || entry.id.prefix().memory() == Memory::Procedural
}

/// Returns whether an event says something of entry `id` in somebody's words.
pub fn is_wording(id: EntryId, event: &Event) -> bool {
    let merged = event.get::<Merged>();
    event.get::<Proposed>().is_some()
        || event.get::<Revised>().is_some()
        || merged.is_some_and(|data| data.target == id)
}

/// Returns whether somebody who did not word it approved an entry as it reads now.
///
/// Following code that moved is no wording: whoever approved what it followed approved what it reads.
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
    // Everything from `from` back, through events that `passes` lets through.
    let back = |from: &[EventId], passes: &dyn Fn(&EventId) -> bool| {
        let (mut open, mut seen) = (from.to_vec(), BTreeSet::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) && passes(&id) {
                open.extend(replaced.get(&id).copied().unwrap_or_default());
            }
        }
        seen
    };
    let mut words = back(&entry.revision, &|id| moved.contains(id));
    words.retain(|id| !moved.contains(id));
    let mut approvals = entry.approvals.iter();
    !words.is_empty() && approvals.any(|it| words.is_subset(&back(&it.covers, &|_| true)))
}

/// Returns whether an approval names everything an entry's content follows from; where none does,
/// [`is_approved`] has to look at the entry's history.
pub fn is_approved_outright(entry: &Entry) -> bool {
    let names_all = |read: &[EventId]| entry.revision.iter().all(|id| read.contains(id));
    let mut approvals = entry.approvals.iter();
    !entry.revision.is_empty() && approvals.any(|it| names_all(&it.covers))
}

/// Returns who worded an entry: they may not approve it.
pub fn authors<'a>(id: EntryId, history: impl Iterator<Item = &'a Event>) -> BTreeSet<Actor> {
    let worded = history.filter(|it| is_wording(id, it));
    worded.map(|it| it.by.clone()).collect()
}

/// Returns whether words of an entry wait; somebody may also have put it on hold as a whole.
pub fn has_held_wording<'a>(entry: &Entry, mut history: impl Iterator<Item = &'a Event>) -> bool {
    history.any(|it| entry.quarantine.contains(&it.id) && is_wording(entry.id, it))
}

/// Returns whether entries of `kind` can be true outside the repository they were learned in.
fn is_for_everybody(kind: Kind) -> bool {
    match kind {
        Kind::Technique
        | Kind::Pattern
        | Kind::AntiPattern
        | Kind::Decision
        | Kind::Convention
        | Kind::Learning
        | Kind::Bug
        | Kind::Incident
        | Kind::FalsePositive
        | Kind::Spike => true,
        Kind::Entity
        | Kind::Relationship
        | Kind::CommitNorm
        | Kind::PrExpectation
        | Kind::UserExpectation
        | Kind::RiskTier
        | Kind::Friction
        | Kind::Calibration => false,
    }
}

/// Returns the words of a claim that make sense only in the work it came from.
fn tied_to(entry: &Entry) -> Option<String> {
    let said = entry.said().to_lowercase();
    let thread = entry.thread().map(Tag::as_str);
    let mut words = TIED.into_iter().chain(thread);
    words
        .find(|words| has_words(&said, words))
        .map(str::to_owned)
}

/// Returns whether `words` stand in `text` as whole words.
fn has_words(text: &str, words: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(words).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns what of an entry's content may leave its repository: the claim and how it is filed.
///
/// Anchors, steps and conditions are about one tree and stay behind.
pub fn exported(content: &Content) -> Content {
    Content {
        evidence: Vec::new(),
        verify: Vec::new(),
        depends_on: Vec::new(),
        ..content.clone()
    }
}

/// Returns the origin of a copy: an import, or whatever its source is trusted less than.
pub fn origin_of_copy(source: Origin) -> Origin {
    Origin::Import.least(source)
}

/// What is put forward for another memory, as a person reads and signs it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Artifact {
    schema: &'static str,
    entry: EntryId,
    kind: Kind,
    /// The memory it would enter.
    to: Memory,
    /// What it was made from.
    sources: Vec<EntryId>,
    proposed_by: Actor,
    /// Everything it would say.
    content: Content,
    /// The events that wording rests on.
    revision: Vec<EventId>,
}

impl Artifact {
    /// Returns the artifact of an entry as it is worded; nothing of one without a wording.
    pub fn of(entry: &Entry) -> Option<Self> {
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

    /// Returns the bytes that are read and signed: one line of canonical JSON.
    pub fn bytes(&self) -> Vec<u8> {
        (canonical::to_string(self) + "\n").into_bytes()
    }

    /// Returns what the bytes are recognised by.
    pub fn digest(&self) -> String {
        let hex = blake3::hash(&self.bytes()).to_hex();
        format!("b3:{}", &hex[..DIGEST_DIGITS])
    }
}
