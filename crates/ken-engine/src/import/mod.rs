//! Import: documents, history and transcripts become inbox claims, and those become entries.
//!
//! `reduce` and `capture` write to the inbox and never to the ledger. `reflect` reports the claims
//! that would add to, repeat or contradict the ledger. `accept` adds claims as entries through the
//! guard, and `reweave` gives an entry new evidence. Each step reads its input from disk and can be
//! repeated: the same source yields the same claims with the same ids.

pub(crate) mod acceptance;
pub(crate) mod amendments;
pub(crate) mod capture;
pub(crate) mod exported;
mod history;
pub(crate) mod inbox;
mod rare_words;
pub(crate) mod reflection;

use std::collections::BTreeSet;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RetractReason;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::values::actor::Actor;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::text::{Statement, comparison_words};

use crate::audit::{AuditOptions, AuditReport, audit_at};
use crate::engine::Engine;
use crate::error::EngineError;

pub use acceptance::{AcceptOutcome, RefusedClaim};
pub use amendments::{KeptDecision, OlderEntries, SupersedeOutcome};
pub use capture::{
    CaptureMaterial, CaptureSource, ExtractionKind, NOTES_BYTES_MAX, TRANSCRIPT_BYTES_MAX,
    TranscriptAgent,
};
pub use exported::ExportImportOutcome;
pub use history::HistoryScope;
pub use inbox::InboxClaim;
pub use rare_words::NeighborIndex;
pub use reflection::{ClaimRelation, KnownClaim, ReflectReport, RelationKind, reflect};

/// Result of `reduce` or `capture`: the claims of its sources, counted by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReduceOutcome {
    /// Number of documents and histories read.
    pub sources: usize,
    /// Claims added to the inbox.
    pub staged: Vec<InboxClaim>,
    /// Number of claims already in the inbox.
    pub waiting: usize,
    /// Number of claims already stated by an entry.
    pub known: usize,
    /// Number of claims rejected earlier.
    pub rejected: usize,
    /// Number of claims refused by the guard; they are not stored anywhere.
    pub refused: usize,
}

/// Selection of audited claims to import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimSelection {
    /// Every claim that passes the guard, with its audit findings.
    All,
    /// Claims without a blocking audit finding.
    Importable,
}

/// Audits the documents of this repository; see [`crate::audit`].
pub(crate) fn audit(engine: &Engine, only: &[String]) -> Result<AuditReport, EngineError> {
    let options = AuditOptions {
        only: only.to_vec(),
        ..AuditOptions::default()
    };
    audit_at(&engine.place, &engine.guard, &options)
}

/// Adds the claims of audited documents to the inbox.
pub(crate) fn reduce(
    engine: &mut Engine,
    audit: &AuditReport,
    take: ClaimSelection,
) -> Result<ReduceOutcome, EngineError> {
    let commit = crate::git::head_commit(&engine.place);
    let staged = inbox::claims_from_audit(audit, take, commit.as_deref());
    // Copies have no claims of their own.
    let sources = audit.documents.iter().filter(|it| it.copy_of.is_none());
    let reduced = ReduceOutcome {
        sources: sources.count(),
        ..ReduceOutcome::default()
    };
    add_to_inbox(engine, staged, reduced)
}

/// Adds what the branch's commit history tells to the inbox.
pub(crate) fn reduce_history(
    engine: &mut Engine,
    scope: HistoryScope,
) -> Result<ReduceOutcome, EngineError> {
    let reduced = plan_history(engine, scope)?;
    // Remembered first: after a crash in between, a claim is missing rather than offered twice.
    inbox::remember_offered(engine, &reduced.staged)?;
    for staged in &reduced.staged {
        inbox::store_inbox_claim(engine, staged)?;
    }
    Ok(reduced)
}

/// Returns what [`reduce_history`] would add, without writing anything.
pub(crate) fn plan_history(
    engine: &Engine,
    scope: HistoryScope,
) -> Result<ReduceOutcome, EngineError> {
    let mut reduced = ReduceOutcome {
        sources: 1,
        ..ReduceOutcome::default()
    };
    let (offered, waiting) = (
        inbox::offered_claim_ids(engine)?,
        inbox::inbox_claim_ids(engine)?,
    );
    let rejected = inbox::rejected_claim_ids(engine)?;
    let mut seen = BTreeSet::new();
    let mut claims = history::history_claims(&engine.place, scope)?;
    // Before the limits, so that the next import goes on where this one stops.
    claims.retain(|it| {
        let was_accepted = offered.contains(&it.id) && !rejected.contains(&it.id);
        let is_known = was_accepted && !waiting.contains(&it.id);
        reduced.known += usize::from(is_known);
        !is_known && seen.insert(it.id.clone())
    });
    let mut reduced = sort_claims(engine, claims, reduced)?;
    history::limit_claims(&mut reduced.staged);
    Ok(reduced)
}

/// Returns what [`reduce`] would add, without writing anything.
pub(crate) fn plan_import(
    engine: &Engine,
    audit: &AuditReport,
    take: ClaimSelection,
) -> Result<ReduceOutcome, EngineError> {
    let commit = crate::git::head_commit(&engine.place);
    let staged = inbox::claims_from_audit(audit, take, commit.as_deref());
    sort_claims(engine, staged, ReduceOutcome::default())
}

/// Adds claims to the inbox unless they are there, known or rejected.
fn add_to_inbox(
    engine: &mut Engine,
    claims: Vec<InboxClaim>,
    reduced: ReduceOutcome,
) -> Result<ReduceOutcome, EngineError> {
    let reduced = sort_claims(engine, claims, reduced)?;
    for staged in &reduced.staged {
        inbox::store_inbox_claim(engine, staged)?;
    }
    Ok(reduced)
}

/// Counts claims by outcome and keeps the new ones that the guard admits.
fn sort_claims(
    engine: &Engine,
    claims: Vec<InboxClaim>,
    mut reduced: ReduceOutcome,
) -> Result<ReduceOutcome, EngineError> {
    let known = entry_words(engine)?;
    let (waiting, rejected) = (
        inbox::inbox_claim_ids(engine)?,
        inbox::rejected_claim_ids(engine)?,
    );
    for staged in claims {
        // Checked first: a rejection is final, even if an entry states the claim today.
        if rejected.contains(&staged.id) {
            reduced.rejected += 1;
        } else if known.contains(&comparison_words(&staged.statement)) {
            reduced.known += 1;
        } else if waiting.contains(&staged.id) {
            reduced.waiting += 1;
        } else if engine
            .guard
            .scan(&staged.statement, crate::guard::Mode::Statement)
            .refused
        {
            // The guard comes before the write: a refused claim must not reach the disk.
            reduced.refused += 1;
        } else {
            reduced.staged.push(staged);
        }
    }
    Ok(reduced)
}

/// Returns the words of every entry, including archived and retracted ones, but without entries
/// whose addition was undone.
fn entry_words(engine: &Engine) -> Result<BTreeSet<Vec<String>>, EngineError> {
    let all = engine.index.list(&EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    })?;
    let is_withdrawn = |entry: &&Entry| {
        let retracted = entry.retracted.as_ref();
        retracted.is_some_and(|it| it.reason == RetractReason::Withdrawn)
    };
    Ok(all
        .iter()
        .filter(|entry| !is_withdrawn(entry))
        .map(|entry| comparison_words(entry.statement_text()))
        .collect())
}

/// Adds evidence to an entry, and replaces its statement if one is given.
pub(crate) fn reweave(
    engine: &mut Engine,
    id: EntryId,
    evidence: CitationSource,
    statement: Option<Statement>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    // The citation comes first: it stays valid even if the new statement is refused.
    let cited = engine.cite(id, evidence, by)?;
    let Some(statement) = statement.filter(|it| it.as_str() != cited.statement_text()) else {
        return Ok(cited);
    };
    let changes = ContentChanges {
        statement: Some(statement),
        ..ContentChanges::default()
    };
    engine.edit(id, changes, None, by)
}

/// Returns the inbox folder of a memory.
fn inbox_folder(memory: Memory) -> String {
    format!("{}/{}", inbox::INBOX_DIR, memory.name())
}
