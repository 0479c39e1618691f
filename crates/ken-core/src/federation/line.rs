//! The shape of a published line, which a receiver checks to the letter.
//!
//! A publication has one type of line, `entry.proposed`, always quarantined, a candidate, by the
//! publisher. A changed wording is a new entry. Nothing else can arrive, so a peer has no way to
//! approve, release, confirm or reword.

use crate::ledger::event::{Event, EventSubject, LineError, Origin, Proposed, RecordedEvent};
use crate::values::citation::{Citation, CitationType};
use crate::values::condition::{self, ConditionClause, ConditionSense};
use crate::values::content::{Content, EntryScope};
use crate::values::id::{EntryId, EventId};
use crate::values::kind::EntryKind;
use crate::values::status::EntryStatus;
use crate::values::text::{Condition, Tag};

use super::PUBLISHED_LINE_BYTES_MAX;
use super::manifest::PublisherId;

/// Kinds that may be published; a policy may allow fewer.
pub const PUBLISHABLE_KINDS: [EntryKind; 8] = [
    EntryKind::Technique,
    EntryKind::Pattern,
    EntryKind::AntiPattern,
    EntryKind::Learning,
    EntryKind::Bug,
    EntryKind::Incident,
    EntryKind::FalsePositive,
    EntryKind::Spike,
];

/// Maximum number of tags of a published entry.
pub const PUBLISHED_TAGS_MAX: usize = 8;

/// The reason why a receiver refuses a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineRefusal {
    #[error("a published line has at most {PUBLISHED_LINE_BYTES_MAX} bytes, not {0}")]
    TooLong(usize),
    #[error(transparent)]
    Unreadable(#[from] LineError),
    #[error("it is not the line that the manifest names")]
    WrongLine,
    #[error("its author is {0}, not the publisher")]
    WrongAuthor(String),
    #[error("a publication has only entry.proposed lines, not {0}")]
    WrongType(String),
    #[error("it has members that this version of Ken does not know")]
    UnknownMembers,
    #[error("its {0} is not that of a published entry")]
    WrongShape(&'static str),
    #[error("entries of the kind {0} are not published")]
    WrongKind(&'static str),
    #[error("another line has its entry id {0}")]
    EntryTaken(EntryId),
    #[error("the guard refuses it: {0}")]
    Guarded(String),
}

/// Returns the event of a published line, or the reason why it is not one.
///
/// A redacted line has no data to check; its author still has to be the publisher.
pub fn check_published_line(
    publisher: PublisherId,
    publication: &Tag,
    (id, sum, entry): (EventId, &str, EntryId),
    line: &str,
) -> Result<RecordedEvent, LineRefusal> {
    // Before parsing, so that a stranger's line costs little.
    if line.len() > PUBLISHED_LINE_BYTES_MAX {
        return Err(LineRefusal::TooLong(line.len()));
    }
    let copy = RecordedEvent::parse(line.as_bytes())?;
    let event = &copy.event;
    if event.id != id || copy.sum() != sum || event.about != [EventSubject::Entry(entry)] {
        return Err(LineRefusal::WrongLine);
    }
    if event.by != publisher.actor() {
        return Err(LineRefusal::WrongAuthor(event.by.to_string()));
    }
    if event.body.type_name() != "entry.proposed" {
        return Err(LineRefusal::WrongType(event.body.type_name().to_owned()));
    }
    if copy.is_redacted() {
        // Its kind is unknown without the data; the rest of the entry id still follows.
        let is_own = entry.may_be_created_by(event.id);
        return is_own
            .then_some(copy)
            .ok_or(LineRefusal::WrongShape("entry id"));
    }
    let proposed = event.get::<Proposed>().ok_or(LineRefusal::UnknownMembers)?;
    // A member that is ignored here may mean something to a later version, after a person approved
    // the line without having seen it.
    if event.unknown_fields > 0 {
        return Err(LineRefusal::UnknownMembers);
    }
    check_proposal(publisher, publication, event, proposed, entry)?;
    Ok(copy)
}

fn check_proposal(
    publisher: PublisherId,
    publication: &Tag,
    event: &Event,
    proposed: &Proposed,
    entry: EntryId,
) -> Result<(), LineRefusal> {
    if !PUBLISHABLE_KINDS.contains(&proposed.kind) {
        return Err(LineRefusal::WrongKind(proposed.kind.name()));
    }
    let is_plain = proposed.alias.is_none()
        && proposed.thread.is_none()
        && proposed.run.is_none()
        && proposed.overrides.is_none()
        && proposed.promoted_from.is_empty()
        && proposed.copied_from.is_none()
        && proposed.foraged.is_none();
    let shape = [
        ("event id", event.id.is_version_7()),
        (
            "entry id",
            entry == EntryId::created_by(event.id, proposed.kind),
        ),
        ("admission", event.is_quarantined()),
        ("signature", event.signature.is_none()),
        ("status", proposed.status == EntryStatus::Candidate),
        ("origin", proposed.origin == Origin::Peer),
        ("scope", proposed.scope == EntryScope::Global),
        ("source", is_plain),
        (
            "citation",
            matches!(
                proposed.citations.as_slice(),
                [one] if is_publication_citation(one, publisher, publication)
            ),
        ),
        ("content", is_publishable_content(&proposed.content)),
    ];
    match shape.into_iter().find(|(_, holds)| !holds) {
        Some((what, _)) => Err(LineRefusal::WrongShape(what)),
        None => Ok(()),
    }
}

/// Returns the reference that a published entry cites instead of its own sources.
pub(super) fn citation_text(publisher: PublisherId, publication: &Tag) -> String {
    format!("ken:{publisher}/{publication}")
}

fn is_publication_citation(citation: &Citation, publisher: PublisherId, publication: &Tag) -> bool {
    citation.evidence_type == CitationType::Doc
        && citation.evidence_ref.as_str() == citation_text(publisher, publication)
        && citation.cited_by == publisher.actor()
}

fn is_publishable_content(content: &Content) -> bool {
    content.anchors.is_empty()
        && content.verify.is_empty()
        && content.applies_to.is_empty()
        && content.tags.len() <= PUBLISHED_TAGS_MAX
        && content.tags.iter().chain(&content.lens).all(is_plain_tag)
        && content.depends_on.iter().all(is_package_condition)
}

/// Returns whether a tag has visible characters of words only. With a direction mark, a reviewer
/// could see other words than an agent reads.
pub(super) fn is_plain_tag(tag: &Tag) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+#:@".contains(c);
    tag.as_str().chars().all(is_plain)
}

/// Returns whether a condition is about a package version, which means the same everywhere.
pub fn is_package_condition(condition: &Condition) -> bool {
    condition::parse_stored(condition).is_ok_and(|it| {
        it.sense == ConditionSense::Plain && matches!(it.clause, ConditionClause::Package(_))
    })
}
