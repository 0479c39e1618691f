//! Applies a judge's answer about two entries.
//!
//! A llm may merge two facts or dismiss them as duplicates. It must not change norms, replace a
//! statement that a person wrote or confirmed, or merge possible contradictions: people decide
//! those.

use ken_core::decide::MergeWording;
use ken_core::ledger::entry::Entry;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::text::Statement;

use super::{KeptStatement, LlmClient, LlmError, SameClaim};
use crate::duplicates::{DuplicatePair, MergeRank, merge_rank};
use crate::engine::Engine;
use crate::error::EngineError;

/// Result of judging a pair.
#[derive(Debug)]
pub enum LlmPairOutcome {
    /// The second entry was merged into the first.
    Merged { into: EntryId, from: EntryId },
    /// The entries are different and the pair is not asked about again.
    Dismissed,
    /// Unchanged without asking: people decide about norms.
    Norm,
    /// Unchanged: the llm considers them the same, but they may be opposites, so a person
    /// decides.
    NeedsPerson,
    /// Unchanged: there was no valid answer.
    NoAnswer(LlmError),
    /// Unchanged: the change was refused.
    Refused(EngineError),
}

/// Asks about a pair and applies the answer within a judge's limits.
pub(crate) fn llm_pair(
    engine: &mut Engine,
    llm: &mut LlmClient,
    pair: &DuplicatePair,
) -> Result<LlmPairOutcome, EngineError> {
    let (first, second) = (&pair.first, &pair.second);
    let is_norm = |it: &Entry| it.id.prefix().memory() == Memory::Procedural;
    // Checked before the call, because no answer could be applied.
    if is_norm(first) || is_norm(second) {
        return Ok(LlmPairOutcome::Norm);
    }
    let by = llm.actor();
    let outcome = match llm.compare_claims(first.statement_text(), second.statement_text()) {
        Err(error) => return Ok(LlmPairOutcome::NoAnswer(error)),
        Ok(SameClaim::No) => engine
            .dismiss_duplicate(first.id, second.id, &by)
            .map(|()| LlmPairOutcome::Dismissed),
        // Rules and llm disagree, and a wrong merge would delete one of two opposites.
        Ok(SameClaim::Yes(_)) if pair.may_be_opposites => {
            return Ok(LlmPairOutcome::NeedsPerson);
        }
        Ok(SameClaim::Yes(keep)) => merge_judged_pair(engine, first, second, keep, &by),
    };
    match outcome {
        // A refusal concerns this pair only, so the caller can go on with the next.
        Err(error @ (EngineError::Refused(_) | EngineError::RejectedByGuard(_))) => {
            Ok(LlmPairOutcome::Refused(error))
        }
        other => other,
    }
}

/// Merges two entries as the llm decided.
fn merge_judged_pair(
    engine: &mut Engine,
    first: &Entry,
    second: &Entry,
    keep: KeptStatement,
    by: &Actor,
) -> Result<LlmPairOutcome, EngineError> {
    let (target, source, new_statement) = choose_survivor(first, second, keep);
    let statement =
        new_statement.or_else(|| target.content.as_ref().map(|it| it.statement.clone()));
    let wording = statement.map_or(MergeWording::Target, MergeWording::Chosen);
    engine.merge(target.id, &[source.id], wording, by)?;
    Ok(LlmPairOutcome::Merged {
        into: target.id,
        from: source.id,
    })
}

/// Returns the entry that stays, the entry that goes, and a new statement if there is one.
///
/// The entry of higher rank stays. It keeps its statement if it was confirmed or a person wrote it,
/// because a llm must not overrule either.
fn choose_survivor<'a>(
    first: &'a Entry,
    second: &'a Entry,
    keep: KeptStatement,
) -> (&'a Entry, &'a Entry, Option<Statement>) {
    let (one, other) = (merge_rank(first), merge_rank(second));
    let wanted_second = matches!(keep, KeptStatement::Second);
    // The judge's preference counts only between entries of equal rank.
    let second_stays = one < other || (one == other && wanted_second);
    let (stays, goes) = if second_stays {
        (second, first)
    } else {
        (first, second)
    };
    let words = match keep {
        // The lowest rank: neither confirmed nor written by a person.
        KeptStatement::Worded(words) if merge_rank(stays) == MergeRank::default() => Some(words),
        KeptStatement::Worded(_) | KeptStatement::First | KeptStatement::Second => None,
    };
    (stays, goes, words)
}
