//! Admission of a new entry: what must be there before anything is written.

use crate::citation::Citation;
use crate::condition;
use crate::content::{Content, Detail, Scope};
use crate::event::{Body, CopiedFrom, Origin, Proposed, SourceRun};
use crate::id::{EntryId, EventId};
use crate::kind::{Kind, Memory};
use crate::status::Status;
use crate::text::{Alias, Condition, Statement, Tag};

use super::{Draft, Refusal};

/// The schema version of entry content this build writes.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// Citations one entry may be proposed with.
pub const CITATIONS_MAX: usize = 32;

/// An entry somebody wants to add.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub kind: Kind,
    pub content: Content,
    pub citations: Vec<Citation>,
    pub origin: Origin,
    pub scope: Scope,
    pub alias: Option<Alias>,
    pub thread: Option<Tag>,
    pub run: Option<SourceRun>,
    /// A tombstone a person overrides.
    pub overrides: Option<EntryId>,
    /// The entries of another memory it is made from.
    pub promoted_from: Vec<EntryId>,
    /// The entry of a project it is a copy of.
    pub copied_from: Option<CopiedFrom>,
}

impl Proposal {
    /// Returns a proposal for this workspace, with nothing beside what every one needs.
    pub fn new(kind: Kind, content: Content, citations: Vec<Citation>, origin: Origin) -> Self {
        Self {
            kind,
            content,
            citations,
            origin,
            scope: Scope::Workspace,
            alias: None,
            thread: None,
            run: None,
            overrides: None,
            promoted_from: Vec::new(),
            copied_from: None,
        }
    }
}

/// Turns a proposal into the event with id `id`, whose tail becomes the entry's id.
pub fn propose(id: EventId, it: Proposal) -> Result<Draft, Refusal> {
    check_provenance(&it)?;
    check_content(it.kind, &it.content)?;
    check_conditions(&it.content.depends_on, &[])?;
    let entry = EntryId::created_by(id, it.kind);
    let body = Body::Proposed(Proposed {
        kind: it.kind,
        content: it.content,
        citations: it.citations,
        status: Status::Candidate,
        origin: it.origin,
        scope: it.scope,
        schema_version: SCHEMA_VERSION.to_owned(),
        alias: it.alias,
        thread: it.thread,
        run: it.run,
        overrides: it.overrides,
        promoted_from: it.promoted_from,
        copied_from: it.copied_from,
    });
    Ok(Draft {
        about: vec![entry.into()],
        body,
    })
}

fn check_provenance(it: &Proposal) -> Result<(), Refusal> {
    let needed = match it.kind.memory() {
        Memory::Semantic | Memory::Procedural => true,
        Memory::Episodic => false,
    };
    if needed && it.citations.is_empty() {
        return Err(Refusal::ProvenanceRequired);
    }
    at_most("citations", it.citations.len(), CITATIONS_MAX)
}

/// Checks what content of `kind` must and must not have.
pub(super) fn check_content(kind: Kind, content: &Content) -> Result<(), Refusal> {
    at_most(
        "verification steps",
        content.verify.len(),
        Content::STEPS_MAX,
    )?;
    at_most("anchors", content.evidence.len(), Content::ANCHORS_MAX)?;
    at_most("tags", content.tags.len(), Content::TAGS_MAX)?;
    at_most(
        "conditions",
        content.depends_on.len(),
        Content::CONDITIONS_MAX,
    )?;
    if let Some(Detail::Norm(norm)) = &content.detail {
        norm.check.understand()?;
    }
    let count = content.statement.sentences();
    if kind.memory() != Memory::Episodic && Statement::SENTENCES_MAX < count {
        return Err(Refusal::TooManySentences {
            count,
            max: Statement::SENTENCES_MAX,
        });
    }
    match (&content.detail, detail_wanted(kind)) {
        (None, Some(wanted)) => Err(Refusal::DetailMissing {
            kind: kind.name(),
            wanted,
        }),
        (Some(detail), _) if !detail.fits(kind) => {
            Err(Refusal::DetailMisplaced { kind: kind.name() })
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// Checks that this build understands every condition but those that stand already: an entry whose
/// old condition it cannot read may still be worded anew.
pub(super) fn check_conditions(
    wanted: &[Condition],
    standing: &[Condition],
) -> Result<(), Refusal> {
    for new in wanted.iter().filter(|it| !standing.contains(it)) {
        condition::understand(new)?;
    }
    Ok(())
}

/// Returns what a kind cannot do without.
fn detail_wanted(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Spike => Some("question, answer and confidence"),
        Kind::Entity => Some("a name"),
        Kind::Relationship => Some("from, rel and to"),
        Kind::Technique
        | Kind::Pattern
        | Kind::AntiPattern
        | Kind::Decision
        | Kind::Convention
        | Kind::Learning
        | Kind::Bug
        | Kind::Incident
        | Kind::FalsePositive
        | Kind::CommitNorm
        | Kind::PrExpectation
        | Kind::UserExpectation
        | Kind::RiskTier
        | Kind::Friction
        | Kind::Calibration => None,
    }
}

fn at_most(what: &'static str, count: usize, max: usize) -> Result<(), Refusal> {
    if max < count {
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
