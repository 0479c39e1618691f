//! Claims out of a transcript, by a judge: each becomes a candidate, or says why not.

use ken_core::actor::Actor;
use ken_core::citation::{Evidence, EvidenceType};
use ken_core::content::Content;
use ken_core::decide::Proposal;
use ken_core::event::Origin;
use ken_core::id::EntryId;

use super::{Found, JudgeError};
use crate::engine::Engine;
use crate::error::Error;

/// Bytes of a transcript that are sent with one question.
pub const PIECE_BYTES_MAX: usize = 48 << 10;

/// Questions one transcript may cost.
pub const PIECES_MAX: usize = 12;

/// Hexadecimal digits a transcript is cited by.
const DIGEST_DIGITS: usize = 32;

/// What became of one claim.
#[derive(Debug)]
pub enum Extraction {
    /// It is a candidate now, or waits in quarantine.
    Added(EntryId),
    /// These entries say so already.
    Known(Vec<EntryId>),
    /// It may not be written.
    Refused(Error),
}

/// Cuts a transcript between lines into pieces a question can hold.
pub fn pieces(text: &str) -> Result<Vec<&str>, JudgeError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let most = rest.floor_char_boundary(PIECE_BYTES_MAX.min(rest.len()));
        let cut = match most < rest.len() {
            true => rest[..most].rfind('\n').map_or(most, |at| at + 1),
            false => most,
        };
        let (piece, after) = rest.split_at(cut);
        if !piece.trim().is_empty() {
            pieces.push(piece);
        }
        rest = after;
    }
    match pieces.len() <= PIECES_MAX {
        true => Ok(pieces),
        false => Err(JudgeError::TooMany {
            count: pieces.len(),
            max: PIECES_MAX,
        }),
    }
}

/// Returns how a transcript is cited: by what it says.
pub fn evidence_of(transcript: &str) -> Evidence {
    let digest = blake3::hash(transcript.as_bytes()).to_hex();
    Evidence {
        evidence_type: EvidenceType::Transcript,
        evidence_ref: digest[..DIGEST_DIGITS]
            .parse()
            .expect("digits are a reference"),
    }
}

impl Engine {
    /// Records one claim a judge found, unless it is known; by the judge, so nothing of it is approved.
    pub fn record_found(
        &mut self,
        found: &Found,
        evidence: &Evidence,
        by: &Actor,
    ) -> Result<Extraction, Error> {
        let known = self.entries_saying(&found.statement)?;
        if !known.is_empty() {
            return Ok(Extraction::Known(known.into_iter().collect()));
        }
        let content = Content::new(found.statement.clone());
        let citation = evidence.clone().cite(by, self.now());
        let proposal = Proposal::new(found.kind, content, vec![citation], Origin::of(by));
        match self.add(proposal, by) {
            Ok(entry) => Ok(Extraction::Added(entry.id)),
            Err(error @ (Error::Refused(_) | Error::Guarded(_) | Error::Worthless { .. })) => {
                Ok(Extraction::Refused(error))
            }
            Err(error) => Err(error),
        }
    }
}
