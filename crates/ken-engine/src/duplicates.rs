//! Duplicate entries: detection, merging and dismissal.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ken_core::decide;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Origin, PairKind, Relation};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::trust::similarity::{
    MergeDecision, ModelCosine, TokenizedStatement, compare_statements,
};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Statement;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{files, model, sync};

/// Minimum number of entries from which a word is too common to indicate similarity.
const COMMON_MIN: usize = 50;

/// With many entries, a word is too common from this fraction (1/n) of them.
const COMMON_FRACTION: usize = 20;

/// Maximum number of words looked up per entry, rarest first.
const RARE_MAX: usize = 24;

/// Maximum number of entries compared with each entry.
const NEIGHBORS_MAX: usize = 32;

/// Default number of pairs listed, as many as a person reviews at a time.
pub const LISTED_MAX: usize = 20;

/// Two entries that may state the same.
#[derive(Clone, Debug)]
pub struct DuplicatePair {
    pub first: Entry,
    pub second: Entry,
    /// Cosine similarity in the built-in model; `None` without the model.
    pub cosine: Option<f64>,
    pub merging: MergeDecision,
    /// Probability that they state the same, from 0 to 1.
    pub score: f64,
    /// True if there are signs that they state opposites.
    pub may_be_opposites: bool,
}

/// Returns pairs of live entries that may state the same and were not dismissed. Certain
/// duplicates come first, then the most likely ones.
pub(crate) fn duplicate_pairs(engine: &mut Engine) -> Result<Vec<DuplicatePair>, EngineError> {
    let entries = engine.index.list(&EntryFilter::default())?;
    let workspace = engine.index.workspace()?;
    let statements: Vec<&str> = entries.iter().map(Entry::statement_text).collect();
    let claims: Vec<TokenizedStatement> = statements
        .iter()
        .map(|it| TokenizedStatement::parse(it))
        .collect();
    let vectors = model::built_in_vectors(engine, &statements)?;
    let mut pairs = Vec::new();
    for (one, other) in candidate_pairs(&claims) {
        let (first, second) = (&entries[one], &entries[other]);
        // Dismissed pairs are stored with the smaller id first.
        let (low, high) = (first.id.min(second.id), first.id.max(second.id));
        let dismissed = (low, high, PairKind::Duplicate);
        let same_prefix = first.id.prefix() == second.id.prefix();
        if !same_prefix || workspace.dismissed.contains(&dismissed) {
            continue;
        }
        let cosine = vectors.as_ref().map(|it| it.1[one].cosine(&it.1[other]));
        let model = vectors.as_ref().map_or("", |it| it.0.as_str());
        let near = cosine.map(|cosine| ModelCosine { model, cosine });
        let compared = compare_statements(&claims[one], &claims[other], near);
        if compared.merging != MergeDecision::KeepSeparate {
            pairs.push(DuplicatePair {
                first: first.clone(),
                second: second.clone(),
                cosine,
                merging: compared.merging,
                score: compared.score,
                may_be_opposites: compared.may_be_opposites,
            });
        }
    }
    let doubt = |it: &DuplicatePair| it.merging != MergeDecision::Merge;
    pairs.sort_by(|a, b| {
        let surest = doubt(a).cmp(&doubt(b)).then(b.score.total_cmp(&a.score));
        surest.then_with(|| (a.first.id, a.second.id).cmp(&(b.first.id, b.second.id)))
    });
    Ok(pairs)
}

/// Merges entries with identical statements and returns the merged pairs.
///
/// The entry of higher rank stays. Only people merge norms.
pub(crate) fn merge_identical(
    engine: &mut Engine,
    by: &Actor,
) -> Result<Vec<DuplicatePair>, EngineError> {
    let mut merged = Vec::new();
    for pair in engine.duplicate_pairs()? {
        let is_norm = pair.first.id.prefix().memory() == Memory::Procedural;
        if pair.merging != MergeDecision::Merge || (is_norm && !by.is_human()) {
            continue;
        }
        // Loaded again, because the list was made before the first merge.
        let (first, second) = (engine.entry(pair.first.id)?, engine.entry(pair.second.id)?);
        // One of them may have been merged as part of an earlier pair.
        if first.merged_into.is_some() || second.merged_into.is_some() {
            continue;
        }
        let (stays, goes) = if merge_rank(&first) < merge_rank(&second) {
            (second.id, first.id)
        } else {
            (first.id, second.id)
        };
        match engine.merge(stays, &[goes], None, by) {
            Ok(_) => merged.push(pair),
            // For example a quarantined entry: it stays unchanged.
            Err(EngineError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(merged)
}

/// Merges `sources` into `target`; `chosen` is a new statement, if there is one.
pub(crate) fn merge(
    engine: &mut Engine,
    target: EntryId,
    sources: &[EntryId],
    chosen: Option<Statement>,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let loaded = sources.iter().map(|id| engine.entry(*id));
    let sources = loaded.collect::<Result<Vec<_>, _>>()?;
    let target_now = engine.entry(target)?;
    let merge = decide::merge(&target_now, &sources, chosen)?;
    let draft = decide::record_author_origin(merge, &target_now, by);
    engine.record(vec![draft], by)?;
    files::render_due(engine)?;
    engine.entry(target)
}

/// Supersedes `old` with `new`, and links back to it.
pub(crate) fn supersede(
    engine: &mut Engine,
    old: EntryId,
    new: EntryId,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let (older, newer) = (engine.entry(old)?, engine.entry(new)?);
    let mut drafts = vec![decide::supersede(&older, &newer)?];
    // The link is optional: it may already exist.
    drafts.extend(decide::link(&newer, &older, Relation::Supersedes).ok());
    engine.record(drafts, by)?;
    files::render_due(engine)?;
    engine.entry(new)
}

/// Records permanently that two entries do not state the same.
pub(crate) fn dismiss_duplicate(
    engine: &mut Engine,
    one: EntryId,
    other: EntryId,
    by: &Actor,
) -> Result<(), EngineError> {
    dismiss_pair(engine, (one, other), PairKind::Duplicate, by)
}

/// Records permanently that a pair is neither a duplicate nor a contradiction, as `kind` says.
pub(crate) fn dismiss_pair(
    engine: &mut Engine,
    (one, other): (EntryId, EntryId),
    kind: PairKind,
    by: &Actor,
) -> Result<(), EngineError> {
    sync::sync_before_writing(engine)?;
    let (one, other) = (engine.entry(one)?, engine.entry(other)?);
    let workspace = engine.index.workspace()?;
    let draft = decide::dismiss_pair(&one, &other, kind, &workspace)?;
    engine.record(vec![draft], by)?;
    Ok(())
}

/// Level of confirmation of an entry, and whether a person wrote it.
pub(crate) type MergeRank = (u8, bool);

/// Returns the rank of an entry for merging: the entry of higher rank stays.
pub(crate) fn merge_rank(entry: &Entry) -> MergeRank {
    let status = match entry.status.value {
        EntryStatus::Verified => 2,
        EntryStatus::Active => 1,
        EntryStatus::Candidate | EntryStatus::Stale | EntryStatus::Rejected => 0,
    };
    let origin = entry.created.as_ref().map(|it| it.origin);
    (status, origin == Some(Origin::Human))
}

/// Returns the pairs of claims worth comparing, each once: those that share the rarest words. This
/// avoids comparing all pairs.
pub fn candidate_pairs(claims: &[TokenizedStatement]) -> BTreeSet<(usize, usize)> {
    let mut positions: HashMap<&String, Vec<usize>> = HashMap::new();
    for (position, claim) in claims.iter().enumerate() {
        for stem in claim.stems() {
            positions.entry(stem).or_default().push(position);
        }
    }
    // Without this limit a common word would make the number of pairs quadratic.
    let common = COMMON_MIN.max(claims.len() / COMMON_FRACTION);
    let mut found = BTreeSet::new();
    for (one, claim) in claims.iter().enumerate() {
        // Every stem of a claim was inserted above, so the lookup cannot panic.
        let mut rare: Vec<&Vec<usize>> = claim.stems().iter().map(|it| &positions[it]).collect();
        rare.retain(|it| it.len() <= common);
        rare.sort_by_key(|it| it.len());
        let mut shared: BTreeMap<usize, f64> = BTreeMap::new();
        for claims_with_stem in rare.into_iter().take(RARE_MAX) {
            let weight = (1.0 + claims.len() as f64 / claims_with_stem.len() as f64).ln();
            for other in claims_with_stem.iter().filter(|it| **it != one) {
                *shared.entry(*other).or_default() += weight;
            }
        }
        let mut neighbors: Vec<(usize, f64)> = shared.into_iter().collect();
        neighbors.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let nearest = neighbors.into_iter().take(NEIGHBORS_MAX);
        found.extend(nearest.map(|(other, _)| (one.min(other), one.max(other))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_rare_words_is_compared_and_not_all_with_all() {
        let mut texts: Vec<String> = (0..400)
            .map(|number| format!("Entry number {number} is about topic{number} of the store"))
            .collect();
        texts.push("A retried payment is charged twice unless its key is kept".to_owned());
        texts.push("Keep the key of every payment that may be retried".to_owned());
        let claims: Vec<TokenizedStatement> = texts
            .iter()
            .map(|text| TokenizedStatement::parse(text))
            .collect();
        let found = candidate_pairs(&claims);
        assert!(found.contains(&(400, 401)));
        assert!(found.len() <= NEIGHBORS_MAX * claims.len());
        assert!(found.iter().all(|(one, other)| one < other));
        assert!(candidate_pairs(&[]).is_empty());
    }
}
