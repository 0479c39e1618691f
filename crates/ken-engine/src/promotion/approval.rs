//! Approval of pending entries by a person other than the author, signed if the repository
//! requires signatures.

use std::collections::BTreeSet;

use ken_anchor::FileTree;
use ken_core::decide::{self, Refusal};
use ken_core::health::gates::BACKFLOW_GATE;
use ken_core::ledger::entry::{Entry, EntryApproval};
use ken_core::ledger::event::{Event, RecordedEvent};
use ken_core::ledger::fold::fold_entry_at;
use ken_core::ledger::store::DerivedStore as _;
use ken_core::trust::promotion::{
    PromotionArtifact, has_quarantined_statement, requires_approval, statement_authors,
};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_index::Index;
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError};
use ken_sign::{AllowedSigners, NAMESPACE, SignatureError};

use super::signers::{SIGNERS_FILE, load_signers, load_signers_in_force};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{self, read_text, write_atomically};
use crate::notice::EngineNotice;
use crate::sync;
use crate::verify::{GateFinding, GateLevel};

/// Directory of artifacts below `.ken/`; they can be recreated from the ledger.
pub const PROMOTIONS_DIR: &str = ".local/promotions";

/// Entry that awaits an approval.
#[derive(Clone, Debug)]
pub struct PendingApproval {
    pub entry: Entry,
    /// Authors of the statement, who must not approve it.
    pub authors: BTreeSet<Actor>,
    /// Digest of the artifact to approve.
    pub artifact: String,
}

/// Input of an approval.
#[derive(Clone, Debug, Default)]
pub struct ApprovalInput {
    /// Artifact that the person read, if they pass their copy.
    pub artifact: Option<Vec<u8>>,
    /// SSH signature over the artifact.
    pub signature: Option<String>,
}

/// Validity of an approval today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalValidity {
    /// No signature is required.
    Unsigned,
    /// The signature is valid.
    Signed,
    /// A signature is required, but it is missing or invalid.
    Invalid(SignatureError),
}

/// Returns the entries that await an approval.
pub(crate) fn pending_approvals(engine: &Engine) -> Result<Vec<PendingApproval>, EngineError> {
    let waits = |entry: &Entry| entry.retracted.is_none() && requires_approval(entry);
    let mut waiting = Vec::new();
    // Only a quarantined statement waits for an approval.
    for entry in engine.index.quarantined()?.into_iter().filter(waits) {
        if has_pending_statement(engine, &entry)?
            && let Some(artifact) = PromotionArtifact::from_entry(&entry)
        {
            waiting.push(PendingApproval {
                authors: authors_of(engine, entry.id)?,
                artifact: artifact.digest(),
                entry,
            });
        }
    }
    Ok(waiting)
}

/// Returns the artifact that a person reads and signs before approving an entry.
pub(crate) fn artifact_bytes(entry: &Entry) -> Result<Vec<u8>, EngineError> {
    let artifact = PromotionArtifact::from_entry(entry).ok_or(Refusal::NoContent(entry.id))?;
    Ok(artifact.bytes())
}

/// Writes the artifact of an entry and returns its path below the repository root.
pub(crate) fn write_artifact(engine: &Engine, entry: &Entry) -> Result<String, EngineError> {
    let artifact = PromotionArtifact::from_entry(entry).ok_or(Refusal::NoContent(entry.id))?;
    let dir = &*engine.ken;
    let path = artifact_path(entry.id);
    let made = dir.create_dirs(PROMOTIONS_DIR);
    made.map_err(DiskError::on("create", PROMOTIONS_DIR))?;
    write_atomically(dir, &path, &artifact.bytes()).map_err(DiskError::on("write", &path))?;
    Ok(format!("{KEN_DIR}/{path}"))
}

/// Approves the current statement of an entry.
pub(crate) fn approve(
    engine: &mut Engine,
    id: EntryId,
    request: ApprovalInput,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let entry = engine.entry(id)?;
    let authors = authors_of(engine, id)?;
    let signature = request.signature.map(|text| text.trim().to_owned());
    // Decided first: an author must not approve, whatever the signature.
    let draft = decide::approve(&entry, &authors, by, signature.clone())?;
    let signers = load_signers_in_force(&engine.place)?;
    // An approved entry may be approved again if its approval became invalid, for example
    // because signatures are required now.
    if !has_pending_statement(engine, &entry)?
        && !has_invalid_approval(engine, &entry, signers.as_ref())?
    {
        return Err(Refusal::NotPending(id).into());
    }
    let artifact = PromotionArtifact::from_entry(&entry).ok_or(Refusal::NoContent(id))?;
    check_artifact_copy(engine, &artifact, id, request.artifact)?;
    match signers {
        Some(signers) => {
            let signature = signature.ok_or(SignatureError::Missing)?;
            signers.verify(&signature, &artifact.bytes(), by.name(), engine.now())?;
        }
        None => {
            warn_uncommitted_signers(engine);
            warn_self_approval(engine, &authors, by);
        }
    }
    engine.record(vec![draft], by)?;
    files::render_due(engine)?;
    engine.entry(id)
}

/// Refuses an artifact copy that differs from the ledger: the person read something else.
fn check_artifact_copy(
    engine: &Engine,
    artifact: &PromotionArtifact,
    id: EntryId,
    given: Option<Vec<u8>>,
) -> Result<(), EngineError> {
    let read = match given {
        Some(bytes) => Some(bytes),
        // The person may have read this file, and it may be older than the statement.
        None => read_text(&*engine.ken, &artifact_path(id))?.map(String::into_bytes),
    };
    match read {
        Some(bytes) if bytes != artifact.bytes() => Err(EngineError::ArtifactMismatch(id)),
        Some(_) | None => Ok(()),
    }
}

/// Adds a notice if there is a list of signers that is not committed and therefore not used.
fn warn_uncommitted_signers(engine: &mut Engine) {
    let path = engine.place.root.join(KEN_DIR).join(SIGNERS_FILE);
    if engine.place.git.is_some() && path.exists() {
        engine.notices.push(EngineNotice::SignersNotCommitted);
    }
}

/// Adds a notice if the user of this clone wrote the entry and approves it under another name.
fn warn_self_approval(engine: &mut Engine, authors: &BTreeSet<Actor>, by: &Actor) {
    let own = engine.git_identity();
    if let Some(own) = own.filter(|own| own != by && authors.contains(own)) {
        let by = by.clone();
        engine.notices.push(EngineNotice::SelfApproval { own, by });
    }
}

/// Returns true if approvals must be signed in this repository.
pub(crate) fn requires_signatures(engine: &Engine) -> Result<bool, EngineError> {
    Ok(load_signers_in_force(&engine.place)?.is_some())
}

/// Returns the command that signs the artifact at `path`.
pub(crate) fn signing_command(path: &str) -> String {
    format!("ssh-keygen -Y sign -n {NAMESPACE} -f ~/.ssh/id_ed25519 {path}")
}

/// Returns the approvals of an entry with their validity today.
pub(crate) fn approval_validities(
    engine: &Engine,
    entry: &Entry,
) -> Result<Vec<(EntryApproval, ApprovalValidity)>, EngineError> {
    // Most entries have no approvals and need no signers from git.
    if entry.approvals.is_empty() {
        return Ok(Vec::new());
    }
    let signers = load_signers_in_force(&engine.place)?;
    check_approvals(&engine.index, entry, signers.as_ref())
}

/// Returns findings for approvals that the signers in force do not cover.
pub(crate) fn approval_findings(
    engine: &Engine,
    entries: &[Entry],
) -> Result<Vec<GateFinding>, EngineError> {
    let approved: Vec<&Entry> = entries
        .iter()
        .filter(|it| !it.approvals.is_empty())
        .collect();
    if approved.is_empty() {
        return Ok(Vec::new());
    }
    let signers = load_signers_in_force(&engine.place)?;
    find_invalid_approvals(&engine.index, &approved, signers.as_ref())
}

/// Returns true if an entry has an invalid approval, such as one from before signatures were
/// required.
fn has_invalid_approval(
    engine: &Engine,
    entry: &Entry,
    signers: Option<&AllowedSigners>,
) -> Result<bool, EngineError> {
    Ok(!find_invalid_approvals(&engine.index, &[entry], signers)?.is_empty())
}

/// Returns the authors of an entry's statement.
fn authors_of(engine: &Engine, id: EntryId) -> Result<BTreeSet<Actor>, EngineError> {
    let history = load_entry_events(&engine.index, id)?;
    Ok(statement_authors(id, history.iter()))
}

/// Returns true if a statement of the entry is pending, as opposed to a quarantined entry.
fn has_pending_statement(engine: &Engine, entry: &Entry) -> Result<bool, EngineError> {
    if entry.quarantine.is_empty() {
        return Ok(false);
    }
    let history = load_entry_events(&engine.index, entry.id)?;
    Ok(has_quarantined_statement(entry, history.iter()))
}

/// Refuses to release an entry that requires an approval.
pub(crate) fn check_release(engine: &Engine, entry: &Entry) -> Result<(), EngineError> {
    let is_due = requires_approval(entry) && has_pending_statement(engine, entry)?;
    // `requires_signatures` reads a commit, so it comes last.
    if is_due && (entry.is_promoted() || engine.requires_signatures()?) {
        return Err(Refusal::ApprovalNeeded(entry.id).into());
    }
    Ok(())
}

/// Returns findings for approvals that a change adds and the signers of its base do not cover.
pub(crate) fn check_new_approvals(
    index: &Index,
    ids: &BTreeSet<EntryId>,
    base: &dyn FileTree,
) -> Result<Vec<GateFinding>, EngineError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    for id in ids {
        entries.extend(index.entry(*id)?);
    }
    // The signers of the base: a change must not add the signer that approves it.
    let signers = load_signers(base)?;
    find_invalid_approvals(index, &entries.iter().collect::<Vec<_>>(), signers.as_ref())
}

/// Returns findings for invalid approvals.
fn find_invalid_approvals(
    index: &Index,
    entries: &[&Entry],
    signers: Option<&AllowedSigners>,
) -> Result<Vec<GateFinding>, EngineError> {
    let mut findings = Vec::new();
    for entry in entries {
        let all = check_approvals(index, entry, signers)?;
        // One valid approval of a statement is enough.
        let is_good = |covers: &[EventId]| {
            let mut same = all.iter().filter(|(it, _)| it.covers == covers);
            same.any(|(_, standing)| !matches!(standing, ApprovalValidity::Invalid(_)))
        };
        for (approval, standing) in all.iter().filter(|(it, _)| !is_good(&it.covers)) {
            if let ApprovalValidity::Invalid(why) = standing {
                findings.push(GateFinding {
                    gate: BACKFLOW_GATE,
                    level: GateLevel::Error,
                    message: format!(
                        "the approval by {} is invalid: {why}; run `ken inbox approve {}`",
                        approval.by, entry.id
                    ),
                    at: entry.id.to_string(),
                    line: None,
                });
            }
        }
    }
    Ok(findings)
}

/// Returns the approvals of an entry with their validity for `signers`.
fn check_approvals(
    index: &Index,
    entry: &Entry,
    signers: Option<&AllowedSigners>,
) -> Result<Vec<(EntryApproval, ApprovalValidity)>, EngineError> {
    let history = load_entry_events(index, entry.id)?;
    let standing = |approval: &EntryApproval| {
        signers.map_or(
            ApprovalValidity::Unsigned,
            |signers| match check_approval_signature(approval, entry.id, &history, signers) {
                Ok(()) => ApprovalValidity::Signed,
                Err(error) => ApprovalValidity::Invalid(error),
            },
        )
    };
    let all = entry.approvals.iter();
    Ok(all.map(|it| (it.clone(), standing(it))).collect())
}

/// Returns the events of an entry.
fn load_entry_events(index: &Index, id: EntryId) -> Result<Vec<Event>, EngineError> {
    let history = index.history(id)?.into_iter();
    Ok(history.map(|RecordedEvent { event, .. }| event).collect())
}

/// Checks an approval's signature over the artifact at the time of the approval.
fn check_approval_signature(
    approval: &EntryApproval,
    id: EntryId,
    history: &[Event],
    signers: &AllowedSigners,
) -> Result<(), SignatureError> {
    let signature = approval.signature.as_ref().ok_or(SignatureError::Missing)?;
    let then = fold_entry_at(id, &approval.covers, history);
    let artifact = then
        .as_ref()
        .and_then(PromotionArtifact::from_entry)
        .ok_or(SignatureError::Altered)?;
    if artifact.digest() != approval.artifact.as_str() {
        return Err(SignatureError::Altered);
    }
    let event = history.iter().find(|it| it.id == approval.event);
    // A key is judged by the time of the approval: it may have expired since.
    let at = event.map(|it| it.at.wall).unwrap_or_default();
    signers.verify(signature, &artifact.bytes(), approval.by.name(), at)
}

/// Returns the path of an artifact below `.ken/`.
fn artifact_path(id: EntryId) -> String {
    format!("{PROMOTIONS_DIR}/{id}.json")
}
