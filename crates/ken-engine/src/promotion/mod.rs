//! Promotion: widening the scope of entries, or moving knowledge to another memory.
//!
//! An entry widens from a thread to its workspace and from there to the global ledger. Moving to
//! another memory requires an artifact and a person's approval.
//!
//! Reading order: this file proposes promotions, `approval` approves them, `signers` checks whose
//! signatures count, `global` manages the ledger shared by projects.

pub(crate) mod approval;
pub(crate) mod global;
mod signers;
pub(crate) mod signing;

use ken_core::decide::{self, CITATIONS_MAX, Proposal, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EventBody, Linked, Origin, Relation};
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::facts::EntryFacts;
use ken_core::values::actor::Actor;
use ken_core::values::anchor::Anchor;
use ken_core::values::citation::{Citation, CitationSource, CitationType};
use ken_core::values::content::{Content, EntryScope};
use ken_core::values::id::EntryId;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::text::{Statement, Tag};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{entries, files, sync, validity};

pub(crate) use approval::check_new_approvals;
pub use approval::{ApprovalInput, ApprovalValidity, PROMOTIONS_DIR, PendingApproval};
pub use global::{GlobalHome, GlobalOverlay, GlobalPromotion, OtherLedgers};
pub use ken_sign::{AllowedSigners, NAMESPACE, SignatureError};
pub use signers::SIGNERS_FILE;

/// Maximum number of source entries per promotion.
pub const SOURCES_MAX: usize = 16;

/// Decides whether a promotion passes: the rules, or a person who overrides them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromotionDecider {
    /// The rules decide.
    Rules,
    /// A person overrides the rules that are a matter of judgment.
    Person,
}

/// Request to create an entry of another memory from existing entries.
#[derive(Clone, Debug)]
pub struct PromotionRequest {
    /// Source entries.
    pub sources: Vec<EntryId>,
    /// Kind of the new entry.
    pub kind: EntryKind,
    /// Statement of the new entry; by default that of its only source.
    pub statement: Option<Statement>,
    pub anchors: Vec<Anchor>,
    pub cite: Vec<CitationSource>,
}

/// Widens the scope of a thread's entry to the whole workspace.
pub(crate) fn promote_to_workspace(
    engine: &mut Engine,
    id: EntryId,
    judgment: PromotionDecider,
    by: &Actor,
) -> Result<Entry, EngineError> {
    widen_scope(engine, id, EntryScope::Workspace, judgment, by)
}

/// Returns a refusal if the scope of an entry must not be widened to `to`.
fn check_promotable(
    engine: &mut Engine,
    id: EntryId,
    to: EntryScope,
    judgment: PromotionDecider,
    by: &Actor,
) -> Result<(), EngineError> {
    widening_draft(engine, id, to, judgment, by).map(drop)
}

/// Widens the scope of an entry to `to`.
fn widen_scope(
    engine: &mut Engine,
    id: EntryId,
    to: EntryScope,
    judgment: PromotionDecider,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let draft = widening_draft(engine, id, to, judgment, by)?;
    engine.record(vec![draft], by)?;
    files::render_due(engine)?;
    engine.entry(id)
}

/// Returns the draft that widens the scope of an entry to `to`, if that is allowed.
fn widening_draft(
    engine: &mut Engine,
    id: EntryId,
    to: EntryScope,
    judgment: PromotionDecider,
    by: &Actor,
) -> Result<decide::Draft, EngineError> {
    let entry = engine.entry(id)?;
    let validity = validity::anchoring::validity_of(engine, [&entry])?
        .get(&id)
        .copied();
    let facts = EntryFacts::from_entry(&entry, validity, engine.now());
    let against = engine.opponents(id)?.pop_first();
    let overridden = match judgment {
        PromotionDecider::Rules => None,
        PromotionDecider::Person => Some(by),
    };
    Ok(decide::widen_scope(
        &entry, &facts, against, to, overridden,
    )?)
}

/// Returns the promotable entries of a thread, which are worth keeping before it is archived.
pub(crate) fn promotable_entries(
    engine: &mut Engine,
    thread: &Tag,
    by: &Actor,
) -> Result<Vec<EntryId>, EngineError> {
    let mut worth = Vec::new();
    for entry in engine.list(&EntryFilter::default())? {
        let is_its = entry.scope.value == EntryScope::Thread && entry.thread() == Some(thread);
        let fit = |engine: &mut Engine| {
            check_promotable(
                engine,
                entry.id,
                EntryScope::Workspace,
                PromotionDecider::Rules,
                by,
            )
        };
        if is_its && fit(engine).is_ok() {
            worth.push(entry.id);
        }
    }
    Ok(worth)
}

/// Adds a pending entry of another memory; a person must approve it.
pub(crate) fn propose_promotion(
    engine: &mut Engine,
    request: PromotionRequest,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    if request.sources.is_empty() || request.sources.len() > SOURCES_MAX {
        return Err(EngineError::Usage(format!(
            "name 1 to {SOURCES_MAX} source entries"
        )));
    }
    let loaded = request.sources.iter().map(|id| engine.entry(*id));
    let sources = loaded.collect::<Result<Vec<Entry>, _>>()?;
    for source in &sources {
        check_promotion_source(engine, source, request.kind)?;
    }
    let proposal = promotion_proposal(engine, request, &sources, by)?;
    let id = add_with_source_links(engine, proposal, &sources, by)?;
    engine.entry(id)
}

/// Refuses sources without content, in quarantine, contradicted, or not below the target
/// memory.
fn check_promotion_source(
    engine: &Engine,
    source: &Entry,
    to: EntryKind,
) -> Result<(), EngineError> {
    if source.content.is_none() {
        return Err(Refusal::NoContent(source.id).into());
    }
    if source.retracted.is_some() {
        return Err(Refusal::AlreadyRetracted(source.id).into());
    }
    if !source.quarantine.is_empty() {
        return Err(Refusal::Quarantined(source.id).into());
    }
    let (from, into) = (source.id.prefix().memory(), to.memory());
    if from == into || into == Memory::Episodic {
        return Err(EngineError::Usage(format!(
            "{} is already {}; promotion leads from episodic to semantic, and from both to procedural",
            source.id,
            from.name()
        )));
    }
    if from == Memory::Procedural {
        return Err(EngineError::Usage(format!(
            "{} is a norm, which cannot be promoted further",
            source.id
        )));
    }
    if let Some(other) = engine.opponents(source.id)?.pop_first() {
        let why = ken_core::trust::promotion::PromotionBarrier::Contradicted(other);
        let entry = source.id;
        return Err(Refusal::Unfit { entry, why }.into());
    }
    Ok(())
}

/// Builds the proposal of a promotion.
fn promotion_proposal(
    engine: &mut Engine,
    request: PromotionRequest,
    sources: &[Entry],
    by: &Actor,
) -> Result<Proposal, EngineError> {
    let statement = match (request.statement, sources) {
        (Some(statement), _) => statement,
        // An episodic statement describes an incident, not the lesson from it.
        (None, [one]) if one.id.prefix().memory() == Memory::Semantic => {
            let content = one.content.as_ref().ok_or(Refusal::NoContent(one.id))?;
            content.statement.clone()
        }
        (None, _) => {
            return Err(EngineError::Usage(
                "state the lesson with --statement TEXT".to_owned(),
            ));
        }
    };
    let now = engine.now();
    let given = request.cite.into_iter();
    let given = given.map(|it| entries::check_citation(engine, it, by));
    let mut citations = given.collect::<Result<Vec<Citation>, _>>()?;
    citations.extend(sources.iter().flat_map(|it| it.citations.iter().cloned()));
    for source in sources {
        let evidence = CitationSource {
            evidence_type: CitationType::Transcript,
            // An entry id has only characters that a reference allows.
            evidence_ref: source.id.to_string().parse().expect("an id is a reference"),
        };
        citations.push(evidence.cite(by, now));
    }
    // Citations given by the caller come first and are kept.
    citations.truncate(CITATIONS_MAX);
    // The least trusted origin wins: promotion must not launder imported or web content.
    let own = Origin::from_actor(by);
    let origins = sources.iter().filter_map(|it| it.created.as_ref());
    let origin = origins.fold(own, |least, it| least.least_trusted(it.origin));
    let mut content = Content::new(statement);
    content.anchors = request.anchors;
    let contents = sources.iter().filter_map(|it| it.content.as_ref());
    let tags = contents.flat_map(|it| it.tags.iter().cloned());
    content.tags = tags.take(Content::TAGS_MAX).collect();
    let mut proposal = Proposal::new(request.kind, content, citations, origin);
    proposal.promoted_from = request.sources;
    Ok(proposal)
}

/// Adds an entry and the links to its sources with a single append.
fn add_with_source_links(
    engine: &mut Engine,
    mut proposal: Proposal,
    sources: &[Entry],
    by: &Actor,
) -> Result<EntryId, EngineError> {
    validity::anchoring::fingerprint_content(engine, &mut proposal.content, &mut None)?;
    let (event, entry) = entries::ids_for_proposal(engine, &proposal, by)?;
    let mut drafts = vec![(Some(event), decide::propose(event, proposal)?)];
    for source in sources {
        let body = EventBody::Linked(Linked {
            to: source.id,
            rel: Relation::DerivedFrom,
            withdraws: Vec::new(),
        });
        let about = vec![entry.into(), source.id.into()];
        drafts.push((None, decide::Draft { about, body }));
    }
    // A single append, so that a crash cannot leave the entry without its links.
    engine.record_with_ids(drafts, by)?;
    files::render_due(engine)?;
    Ok(entry)
}
