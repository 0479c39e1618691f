//! Adds claims that a llm extracted from a transcript as candidate entries.

use ken_core::decide::Proposal;
use ken_core::ledger::event::Origin;
use ken_core::values::actor::Actor;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;

use super::{LlmError, TranscriptClaim};
use crate::engine::Engine;
use crate::error::EngineError;

/// Maximum bytes of a transcript per question.
pub const PIECE_BYTES_MAX: usize = 48 << 10;

/// Maximum number of questions per transcript.
pub const PIECES_MAX: usize = 12;

/// Result for one claim.
#[derive(Debug)]
pub enum ExtractionOutcome {
    /// The claim was added, as a candidate or quarantined.
    Added(EntryId),
    /// These entries already state the claim.
    Known(Vec<EntryId>),
    /// The claim was refused.
    Refused(EngineError),
}

/// Splits a transcript at line ends into pieces that fit into a question.
pub fn split_transcript(text: &str) -> Result<Vec<&str>, LlmError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let most = rest.floor_char_boundary(PIECE_BYTES_MAX.min(rest.len()));
        // A line longer than a piece has no line end to cut at, so it is cut anywhere.
        let cut = if most < rest.len() {
            rest[..most].rfind('\n').map_or(most, |at| at + 1)
        } else {
            most
        };
        let (piece, after) = rest.split_at(cut);
        if !piece.trim().is_empty() {
            pieces.push(piece);
        }
        rest = after;
    }
    if pieces.len() <= PIECES_MAX {
        Ok(pieces)
    } else {
        Err(LlmError::TooMany {
            count: pieces.len(),
            max: PIECES_MAX,
        })
    }
}

/// Adds a claim unless an entry already states it. The llm is the author, so the entry is not
/// approved by a person.
pub(crate) fn add_extracted_claim(
    engine: &mut Engine,
    found: &TranscriptClaim,
    evidence: &CitationSource,
    by: &Actor,
) -> Result<ExtractionOutcome, EngineError> {
    let known = engine.entries_stating(&found.statement)?;
    if !known.is_empty() {
        return Ok(ExtractionOutcome::Known(known.into_iter().collect()));
    }
    let content = Content::new(found.statement.clone());
    let citation = evidence.clone().cite(by, engine.now());
    let proposal = Proposal::new(found.kind, content, vec![citation], Origin::from_actor(by));
    match engine.add(proposal, by) {
        Ok(entry) => Ok(ExtractionOutcome::Added(entry.id)),
        Err(
            error @ (EngineError::Refused(_)
            | EngineError::RejectedByGuard(_)
            | EngineError::QualityTooLow { .. }),
        ) => Ok(ExtractionOutcome::Refused(error)),
        Err(error) => Err(error),
    }
}
