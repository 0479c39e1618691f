//! Acceptance: inbox claims become entries through the guard.

use ken_core::decide::Proposal;
use ken_core::ledger::event::Origin;
use ken_core::values::actor::Actor;
use ken_core::values::anchor::{Anchor, CodeLocation};
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use ken_core::values::text::{Body, ClaimText};

use super::inbox::InboxClaim;
use crate::engine::Engine;
use crate::entries::BATCH_MAX;
use crate::error::{EngineError, ErrorKind};
use crate::import::amendments::{self, OlderEntries, SupersedeOutcome};
use crate::import::inbox;

/// Result of accepting inbox claims.
#[derive(Clone, Debug, Default)]
pub struct AcceptOutcome {
    pub entries: Vec<(EntryId, InboxClaim)>,
    pub refused: Vec<RefusedClaim>,
    /// What happened to the entries that the claims amend.
    pub older: SupersedeOutcome,
}

/// Claim that stays in the inbox, and the reason.
#[derive(Clone, Debug)]
pub struct RefusedClaim {
    pub staged: InboxClaim,
    pub reason: String,
}

/// Adds the claims named by `wanted`, or all, as entries. Refused claims stay in the inbox.
pub(crate) fn accept_inbox_claims(
    engine: &mut Engine,
    wanted: &[String],
    older: OlderEntries,
    by: &Actor,
) -> Result<AcceptOutcome, EngineError> {
    let mut accepted = AcceptOutcome::default();
    let mut ready = Vec::new();
    let pending = engine.inbox_claims()?;
    for staged in engine.find_inbox_claims(wanted)? {
        let subject = amendments::missing_subject(engine, &pending, &staged);
        match proposal_from_claim(engine, &staged, subject.as_deref(), by) {
            Ok(proposal) => ready.push((staged, proposal)),
            Err(why) => accepted.refused.push(RefusedClaim {
                staged,
                reason: why,
            }),
        }
    }
    for batch in ready.chunks(BATCH_MAX) {
        add_claim_batch(engine, batch, by, &mut accepted)?;
    }
    // Delete after the append: a crash in between leaves the claim in the inbox, whereas the
    // other order would lose it.
    for (_, staged) in &accepted.entries {
        inbox::delete_inbox_claim(engine, staged)?;
    }
    accepted.older = amendments::link_accepted(engine, &accepted.entries, older, by)?;
    Ok(accepted)
}

/// Adds a batch at once, or claim by claim if one of them is refused.
fn add_claim_batch(
    engine: &mut Engine,
    batch: &[(InboxClaim, Proposal)],
    by: &Actor,
    accepted: &mut AcceptOutcome,
) -> Result<(), EngineError> {
    let proposals = batch.iter().map(|(_, proposal)| proposal.clone()).collect();
    if let Ok(ids) = engine.add_many(proposals, by) {
        let added = ids
            .into_iter()
            .zip(batch.iter().map(|(staged, _)| staged.clone()));
        accepted.entries.extend(added);
        return Ok(());
    }
    // A refused batch adds nothing, so every claim is tried again on its own.
    for (staged, proposal) in batch {
        match engine.add(proposal.clone(), by) {
            Ok(entry) => accepted.entries.push((entry.id, staged.clone())),
            Err(error) if error.kind() == ErrorKind::Refused => {
                let (staged, why) = (staged.clone(), error.to_string());
                accepted.refused.push(RefusedClaim {
                    staged,
                    reason: why,
                });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Converts an inbox claim to a proposal; its statement is preceded by the `subject`. Returns the
/// parse error of an invalid field.
fn proposal_from_claim(
    engine: &Engine,
    staged: &InboxClaim,
    subject: Option<&str>,
    by: &Actor,
) -> Result<Proposal, String> {
    let message = |error: &dyn std::fmt::Display| error.to_string();
    let named = subject.map(|it| format!("{it}: {}", staged.statement));
    let text = named.as_ref().unwrap_or(&staged.statement);
    let text = text.parse::<ClaimText>();
    let mut content = Content::from_claim(text.map_err(|e| message(&e))?);
    if let Some(exchange) = &staged.exchange {
        let mut parts: Vec<&str> = content.body.iter().map(Body::as_str).collect();
        parts.push(exchange);
        let body = parts.join("\n\n").parse().map_err(|e| message(&e))?;
        content.body = Some(body);
    }
    for tag in &staged.tags {
        content.tags.insert(tag.parse().map_err(|e| message(&e))?);
    }
    for condition in &staged.depends_on {
        content
            .depends_on
            .push(condition.parse().map_err(|e| message(&e))?);
    }
    for anchor in &staged.anchors {
        let at: CodeLocation = anchor.parse().map_err(|e| message(&e))?;
        content.anchors.push(Anchor::from(at));
    }
    content.applies_to.clone_from(&staged.applies_to);
    for step in staged.verify.iter().take(Content::STEPS_MAX) {
        content.verify.push(step.parse().map_err(|e| message(&e))?);
    }
    content.polarity = staged.polarity;
    let mut citations = Vec::new();
    for cite in std::iter::once(&staged.cite).chain(&staged.also_cites) {
        let evidence: CitationSource = cite.parse().map_err(|e| message(&e))?;
        citations.push(evidence.cite(staged.by.as_ref().unwrap_or(by), engine.now()));
    }
    Ok(Proposal::new(
        staged.kind,
        content,
        citations,
        Origin::Import,
    ))
}
