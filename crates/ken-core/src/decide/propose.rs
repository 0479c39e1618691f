//! Proposals of new entries and their requirements.

use crate::health::gates::find_episodic_name;
use crate::ledger::event::{CopiedFrom, EventBody, ForageProvenance, Origin, Proposed, SourceRun};
use crate::values::citation::Citation;
use crate::values::condition;
use crate::values::content::{Content, EntryScope, KindDetail};
use crate::values::id::{EntryId, EventId};
use crate::values::kind::{EntryKind, IdPrefix, Memory};
use crate::values::status::EntryStatus;
use crate::values::text::{Alias, Condition, Statement, Tag};

use super::{Draft, Refusal};

/// The version of the content schema that this build writes.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// Maximum number of citations in a proposal.
pub const CITATIONS_MAX: usize = 32;

/// A new entry to add.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub kind: EntryKind,
    pub content: Content,
    pub citations: Vec<Citation>,
    pub origin: Origin,
    pub scope: EntryScope,
    pub alias: Option<Alias>,
    pub thread: Option<Tag>,
    pub run: Option<SourceRun>,
    /// The tombstone that a person overrides.
    pub overrides: Option<EntryId>,
    /// The entries of another memory that it was promoted from.
    pub promoted_from: Vec<EntryId>,
    /// The project entry it is a copy of.
    pub copied_from: Option<CopiedFrom>,
    /// Where the forager found the text.
    pub foraged: Option<Box<ForageProvenance>>,
}

impl Proposal {
    /// Creates a proposal with workspace scope and no optional fields.
    pub fn new(
        kind: EntryKind,
        content: Content,
        citations: Vec<Citation>,
        origin: Origin,
    ) -> Self {
        Self {
            kind,
            content,
            citations,
            origin,
            scope: EntryScope::Workspace,
            alias: None,
            thread: None,
            run: None,
            overrides: None,
            promoted_from: Vec::new(),
            copied_from: None,
            foraged: None,
        }
    }
}

/// Turns a proposal into a draft for the event `id`, whose last characters become the entry's id.
pub fn propose(id: EventId, proposal: Proposal) -> Result<Draft, Refusal> {
    check_provenance(&proposal)?;
    check_content(proposal.kind, &proposal.content)?;
    check_conditions(&proposal.content.depends_on, &[])?;
    if proposal.promoted_from.is_empty() {
        let cited = proposal.citations.iter().map(|it| it.evidence_ref.as_str());
        let texts = cited.chain(proposal.content.texts());
        check_flow(proposal.kind.memory(), texts)?;
    }
    let entry = EntryId::created_by(id, proposal.kind);
    let body = EventBody::Proposed(Proposed {
        kind: proposal.kind,
        content: proposal.content,
        citations: proposal.citations,
        // A higher status must be earned by events; a proposal cannot claim it.
        status: EntryStatus::Candidate,
        origin: proposal.origin,
        scope: proposal.scope,
        schema_version: SCHEMA_VERSION.to_owned(),
        alias: proposal.alias,
        thread: proposal.thread,
        run: proposal.run,
        overrides: proposal.overrides,
        promoted_from: proposal.promoted_from,
        copied_from: proposal.copied_from,
        foraged: proposal.foraged,
    });
    Ok(Draft {
        about: vec![entry.into()],
        body,
    })
}

fn check_provenance(proposal: &Proposal) -> Result<(), Refusal> {
    // An episodic entry is itself the record of an observation.
    let needed = match proposal.kind.memory() {
        Memory::Semantic | Memory::Procedural => true,
        Memory::Episodic => false,
    };
    if needed && proposal.citations.is_empty() {
        return Err(Refusal::ProvenanceRequired);
    }
    check_at_most("citations", proposal.citations.len(), CITATIONS_MAX)
}

/// Refuses texts that bring an episodic entry into another memory: that needs a promotion, which a
/// person approves.
pub(super) fn check_flow<'t>(
    memory: Memory,
    texts: impl IntoIterator<Item = &'t str>,
) -> Result<(), Refusal> {
    match memory {
        Memory::Episodic => return Ok(()),
        Memory::Semantic | Memory::Procedural => {}
    }
    let source = texts.into_iter().find_map(find_episodic_name);
    source.map_or(Ok(()), |from| {
        let to = memory.to_string();
        Err(Refusal::DirectionalFlow { from, to })
    })
}

/// Checks the limits and the required detail of content of `kind`.
pub(super) fn check_content(kind: EntryKind, content: &Content) -> Result<(), Refusal> {
    check_at_most(
        "verification steps",
        content.verify.len(),
        Content::STEPS_MAX,
    )?;
    check_at_most("anchors", content.anchors.len(), Content::ANCHORS_MAX)?;
    check_at_most("tags", content.tags.len(), Content::TAGS_MAX)?;
    check_at_most(
        "conditions",
        content.depends_on.len(),
        Content::CONDITIONS_MAX,
    )?;
    check_at_most("globs", content.applies_to.len(), Content::GLOBS_MAX)?;
    if let Some(KindDetail::Norm(norm)) = &content.detail {
        // An invalid check would silently never be enforced.
        norm.check.validate()?;
    }
    let count = content.statement.sentence_count();
    // The limit is for claims; episodic entries are raw observations.
    if kind.memory() != Memory::Episodic && count > Statement::SENTENCES_MAX {
        return Err(Refusal::TooManySentences {
            count,
            max: Statement::SENTENCES_MAX,
        });
    }
    match (&content.detail, required_detail(kind)) {
        (None, Some(wanted)) => Err(Refusal::DetailMissing {
            kind: kind.name(),
            wanted,
        }),
        (Some(detail), _) if !detail.belongs_to(kind) => {
            Err(Refusal::DetailMisplaced { kind: kind.name() })
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// Checks that this build can parse every condition that is not already in `standing`.
///
/// An entry with an old condition that this build cannot parse can still be edited.
pub(super) fn check_conditions(
    wanted: &[Condition],
    standing: &[Condition],
) -> Result<(), Refusal> {
    for new in wanted.iter().filter(|wanted| !standing.contains(wanted)) {
        condition::parse_stored(new)?;
    }
    Ok(())
}

/// Returns the detail that a kind requires, as shown to the user.
fn required_detail(kind: EntryKind) -> Option<&'static str> {
    match kind.prefix() {
        IdPrefix::Spike => Some("question, answer and confidence"),
        IdPrefix::Entity => Some("a name"),
        IdPrefix::Relationship => Some("from, rel and to"),
        IdPrefix::Lesson | IdPrefix::Norm | IdPrefix::Friction => None,
    }
}

fn check_at_most(what: &'static str, count: usize, max: usize) -> Result<(), Refusal> {
    if count > max {
        return Err(Refusal::TooMany { what, count, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_nobody_understands_is_refused_unless_it_stands_already() {
        let vague: Condition = "pkg:tokio".parse().unwrap();
        let clear: Condition = "pkg:cargo/tokio@*".parse().unwrap();
        let refusal = check_conditions(&[clear.clone(), vague.clone()], &[]).unwrap_err();
        assert!(refusal.to_string().contains("write pkg:TYPE/NAME@RANGE"));
        assert_eq!(check_conditions(&[clear, vague.clone()], &[vague]), Ok(()));
    }
}
