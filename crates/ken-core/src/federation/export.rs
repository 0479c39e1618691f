//! What may leave an organization: the export policy, its barriers, and the artifact that a person
//! approves.
//!
//! Nothing leaves without two acts: a publication with a policy, and a person's approval of each
//! wording for that publication.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::decide::{Proposal, Refusal, propose};
use crate::ledger::canonical;
use crate::ledger::entry::Entry;
use crate::ledger::event::{ApprovalGranted, Event, Origin};
use crate::trust::facts::EntryFacts;
use crate::trust::promotion::{PROVEN_MEAN, PromotionBarrier, scope_barrier};
use crate::values::actor::ActorRole;
use crate::values::citation::{Citation, CitationSource, CitationType};
use crate::values::content::{Content, EntryScope};
use crate::values::id::{EntryId, EventId};
use crate::values::kind::EntryKind;
use crate::values::status::EntryStatus;
use crate::values::text::{Note, Tag};
use crate::values::time::Timestamp;

use super::line::{
    PUBLISHABLE_KINDS, PUBLISHED_TAGS_MAX, citation_text, is_package_condition, is_plain_tag,
};
use super::manifest::PublisherId;

/// Schema name of an export artifact.
const EXPORT_SCHEMA: &str = "ken.export.v1";

/// Prefix of the artifact in an approval, so that no other approval is read as one for export.
const EXPORT_PREFIX: &str = "export ";

/// Rules of one publication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportPolicy {
    /// Tags, each with everything below it; must be named.
    pub topics: Vec<Tag>,
    pub kinds: Vec<EntryKind>,
    /// Minimum posterior mean of an entry that nobody confirmed.
    pub confidence_min: f64,
    /// Threads whose entries stay here, even if their scope was widened.
    #[serde(default)]
    pub exclude_threads: Vec<Tag>,
    /// Words that must not occur in any text, in lower case.
    #[serde(default)]
    pub never: Vec<String>,
    /// SPDX expression.
    pub license: Note,
    /// Whether receivers may pass the publication on.
    #[serde(default)]
    pub relay: bool,
    pub expires_days: u16,
}

/// The reason why an entry is not published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportBarrier {
    #[error("entries of the kind {0} are not published")]
    Kind(&'static str),
    #[error("no topic of the publication covers its tags")]
    Topic,
    #[error("it belongs to the thread `{0}`")]
    Thread(Tag),
    #[error("it came from another organization")]
    Foreign,
    #[error("it is still a candidate that nobody confirmed")]
    Unconfirmed,
    #[error("it contains the word `{0}`, which this publication never shows")]
    Word(String),
    #[error(transparent)]
    Unfit(#[from] PromotionBarrier),
}

/// An entry of the publication's topics that does not leave.
#[derive(Clone, Debug)]
pub struct BlockedExport {
    pub entry: EntryId,
    pub why: ExportBarrier,
}

impl ExportPolicy {
    /// Default kinds of a publication.
    pub const KINDS: [EntryKind; 8] = PUBLISHABLE_KINDS;

    /// Default of [`Self::confidence_min`].
    pub const CONFIDENCE_MIN: f64 = PROVEN_MEAN;

    /// Default of [`Self::expires_days`].
    pub const EXPIRES_DAYS: u16 = 14;

    /// Maximum number of topics, kinds, threads or words.
    pub const VALUES_MAX: usize = 64;

    fn covers(&self, tag: &Tag) -> bool {
        self.topics.iter().any(|topic| tag.is_under(topic))
    }

    fn forbidden_word(&self, content: &Content) -> Option<&String> {
        let texts: Vec<String> = content.texts().iter().map(|it| it.to_lowercase()).collect();
        // Found anywhere, also inside another word: a code name leaves in identifiers, too.
        let mut never = self.never.iter();
        never.find(|word| texts.iter().any(|text| text.contains(word.as_str())))
    }
}

/// Returns the reason why `entry` is not published under `policy`, if any.
///
/// `against` is an entry that contradicts it.
pub fn export_barrier(
    entry: &Entry,
    facts: &EntryFacts,
    against: Option<EntryId>,
    policy: &ExportPolicy,
) -> Option<ExportBarrier> {
    let (Some(created), Some(content)) = (&entry.created, &entry.content) else {
        return Some(PromotionBarrier::NotLive.into());
    };
    // Both lists: a stored policy must not allow a kind that every receiver refuses.
    if !policy.kinds.contains(&created.kind) || !PUBLISHABLE_KINDS.contains(&created.kind) {
        return Some(ExportBarrier::Kind(created.kind.name()));
    }
    // Text of others must not leave as one's own, not even after a promotion or a distillation.
    let is_foreign = match created.origin {
        Origin::Peer | Origin::Web => true,
        Origin::Human | Origin::Agent | Origin::Ci | Origin::Import => {
            created.by.role() == ActorRole::Peer || created.copied_from.is_some()
        }
    };
    if is_foreign {
        return Some(ExportBarrier::Foreign);
    }
    if let Some(thread) = created.thread.as_ref()
        && (entry.scope.value == EntryScope::Thread || policy.exclude_threads.contains(thread))
    {
        return Some(ExportBarrier::Thread(thread.clone()));
    }
    if !content.tags.iter().any(|tag| policy.covers(tag)) {
        return Some(ExportBarrier::Topic);
    }
    if let Some(why) = scope_barrier(entry, facts, against, EntryScope::Global) {
        // Confirmation and confidence are the policy's to decide, below.
        let is_judgment = matches!(
            why,
            PromotionBarrier::Unproven { .. } | PromotionBarrier::LowConfidence { .. }
        );
        if !is_judgment {
            return Some(why.into());
        }
    }
    let is_confirmed = entry.confirmation.is_confirmed();
    if facts.status == EntryStatus::Candidate && !is_confirmed {
        return Some(ExportBarrier::Unconfirmed);
    }
    if !is_confirmed && facts.posterior.mean() < policy.confidence_min {
        let hundredths = (facts.posterior.mean() * 100.0) as u32;
        return Some(PromotionBarrier::LowConfidence { hundredths }.into());
    }
    // Only in the words that leave: a path or tag that stays may well contain one.
    let exported = exported_content(content, policy);
    let word = policy.forbidden_word(&exported);
    word.map(|word| ExportBarrier::Word(word.clone()))
}

/// Returns the content that leaves: no code locations, no steps, tags of the topics only, and of
/// the conditions only package versions.
pub fn exported_content(content: &Content, policy: &ExportPolicy) -> Content {
    // Paths, commands and other tags show the inside of an organization and mean nothing elsewhere.
    let tags = content.tags.iter();
    let tags = tags.filter(|tag| policy.covers(tag) && is_plain_tag(tag));
    let lens = content.lens.clone().filter(is_plain_tag);
    let conditions = content.depends_on.iter();
    Content {
        anchors: Vec::new(),
        verify: Vec::new(),
        applies_to: Vec::new(),
        lens,
        tags: tags.take(PUBLISHED_TAGS_MAX).cloned().collect(),
        depends_on: conditions
            .filter(|it| is_package_condition(it))
            .cloned()
            .collect(),
        ..content.clone()
    }
}

/// Returns the proposal of a published entry: a candidate that cites the publication only.
pub(super) fn published_proposal(
    publisher: PublisherId,
    publication: &Tag,
    kind: EntryKind,
    content: Content,
    at: Timestamp,
) -> Proposal {
    // The sources themselves stay: they may be private, and receivers could not check them.
    let reference = citation_text(publisher, publication);
    let source = CitationSource {
        evidence_type: CitationType::Doc,
        // A tag and a publisher id have only characters that a reference allows.
        evidence_ref: reference.parse().expect("two ids are a reference"),
    };
    let citation: Citation = source.cite(&publisher.actor(), at);
    let mut proposal = Proposal::new(kind, content, vec![citation], Origin::Peer);
    proposal.scope = EntryScope::Global;
    proposal
}

/// The document that a person reads and approves before a wording leaves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportArtifact {
    schema: &'static str,
    publisher: PublisherId,
    publication: Tag,
    entry: EntryId,
    kind: EntryKind,
    license: Note,
    pub content: Content,
}

impl ExportArtifact {
    /// Returns the entry that the words are of.
    pub fn entry(&self) -> EntryId {
        self.entry
    }

    /// Returns the artifact of an entry; `None` if its content is unknown.
    pub fn from_entry(
        entry: &Entry,
        publisher: PublisherId,
        publication: &Tag,
        policy: &ExportPolicy,
    ) -> Option<Self> {
        let (kind, content) = (entry.kind()?, entry.content.as_ref()?);
        Some(Self {
            schema: EXPORT_SCHEMA,
            publisher,
            publication: publication.clone(),
            entry: entry.id,
            kind,
            license: policy.license.clone(),
            content: exported_content(content, policy),
        })
    }

    /// Returns the text of an approval's `artifact` member.
    pub fn approval_text(&self) -> Note {
        // Publication and license are part of the digest: consent to one audience is none to
        // another.
        let bytes = canonical::to_string(self) + "\n";
        let digest = blake3::hash(bytes.as_bytes()).to_hex();
        // A prefix and hexadecimal digits are a note.
        format!("{EXPORT_PREFIX}b3:{digest}")
            .parse()
            .expect("a digest is a note")
    }

    /// Returns whether a person approved these words for this publication.
    ///
    /// An export approval covers no events, so it approves nothing in the repository itself.
    pub fn is_approved<'e>(&self, history: impl IntoIterator<Item = &'e Event>) -> bool {
        let wanted = self.approval_text();
        history.into_iter().any(|event| {
            // A quarantined approval was not released by anyone here, so it lets no words out.
            event.by.is_human()
                && !event.is_quarantined()
                && event
                    .get::<ApprovalGranted>()
                    .is_some_and(|it| it.entry == self.entry && it.artifact == wanted)
        })
    }
}

/// Returns the events that a published wording rests on, sorted.
///
/// If one of them is redacted, the published line is redacted, too.
pub fn wording_sources(entry: &Entry) -> BTreeSet<EventId> {
    let created = entry.created.iter().map(|it| it.event);
    created.chain(entry.revision.iter().copied()).collect()
}

/// Returns a refusal if the words cannot be published, such as a statement without content.
pub fn check_publishable(
    publisher: PublisherId,
    publication: &Tag,
    kind: EntryKind,
    content: Content,
) -> Result<(), Refusal> {
    let at = Timestamp::default();
    let proposal = published_proposal(publisher, publication, kind, content, at);
    propose(EventId::new(at, 0), proposal).map(drop)
}
