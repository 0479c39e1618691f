//! Duplicate entries: detection, merging and dismissal.

use std::collections::BTreeSet;

use ken_core::decide::{self, MergeWording, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Origin, PairKind, Relation};
use ken_core::ledger::store::DerivedStore as _;
use ken_core::retrieval::code_names::CodeNames;
use ken_core::trust::contradiction::{ContradictionSide, find_certain_contradiction};
use ken_core::trust::similarity::{
    MergeDecision, ModelCosine, StatementSet, StatementSketch, TokenizedStatement,
    compare_statements,
};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::status::EntryStatus;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{files, model, sync};

/// Number of entries with the most words in common that are compared with a new entry.
const COMPARED_MAX: usize = 32;

/// Maximum number of related entries named when an entry is added.
const RELATED_MAX: usize = 3;

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

/// An entry that a new one may repeat or contradict.
#[derive(Clone, Debug)]
pub struct RelatedEntry {
    pub entry: Entry,
    pub relation: EntryRelation,
}

/// The relation of an entry to a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryRelation {
    Similar,
    Opposed,
    /// Both say how the same code should be: the new one may amend it.
    SameCode,
}

/// Returns the live entries that the entry `id` may repeat or contradict, the most likely first.
pub(crate) fn related_entries(
    engine: &mut Engine,
    id: EntryId,
) -> Result<Vec<RelatedEntry>, EngineError> {
    let own = engine.entry(id)?;
    if !own.is_live() {
        return Ok(Vec::new());
    }
    entries_related_to(engine, &own)
}

/// Returns the live entries that `own` may repeat or contradict, the most likely first. It may be
/// an entry of another ledger, such as one of a peer that waits for a person.
pub(crate) fn entries_related_to(
    engine: &mut Engine,
    own: &Entry,
) -> Result<Vec<RelatedEntry>, EngineError> {
    let id = own.id;
    engine.index.prepare_words()?;
    let mut near = engine
        .index
        .worded_like(own.statement_text(), COMPARED_MAX)?;
    // A false positive contradicts what was learned about the same file in other words.
    let anchors = own.content.iter().flat_map(|it| &it.anchors);
    let files: Vec<String> = anchors.map(|it| it.at.path().to_owned()).collect();
    let mut beside = engine.index.entries_anchored_at(&files)?;
    beside.retain(|id| near.iter().all(|it| it.id != *id));
    for id in beside.into_iter().take(COMPARED_MAX) {
        near.extend(engine.index.entry(id)?);
    }
    near.retain(|entry| entry.id != id && entry.is_live() && entry.id.prefix() == id.prefix());
    if near.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<&str> = [own]
        .into_iter()
        .chain(&near)
        .map(Entry::statement_text)
        .collect();
    let vectors = model::built_in_vectors(engine, &texts)?;
    let claims: Vec<TokenizedStatement> = texts
        .iter()
        .map(|it| TokenizedStatement::parse(it))
        .collect();
    let side = ContradictionSide::from_entry(own).unwrap_or_default();
    let names = named_code(own);
    let mut related = Vec::new();
    for (at, entry) in near.iter().enumerate() {
        let cosine = vectors.as_ref().map(|(_, all)| all[0].cosine(&all[at + 1]));
        let model = vectors.as_ref().map_or("", |it| it.0.as_str());
        let near = cosine.map(|cosine| ModelCosine { model, cosine });
        let compared = compare_statements(&claims[0], &claims[at + 1], near);
        let other = ContradictionSide::from_entry(entry).unwrap_or_default();
        let is_opposed = find_certain_contradiction(&side, &other, cosine).is_some()
            || (compared.merging != MergeDecision::KeepSeparate
                && compared.may_be_opposites
                && !side.shares_polarity(&other));
        let relation = if is_opposed {
            EntryRelation::Opposed
        } else if compared.merging != MergeDecision::KeepSeparate {
            EntryRelation::Similar
        } else if own.is_prescriptive() && entry.is_prescriptive() && names.are_named_by(entry) {
            EntryRelation::SameCode
        } else {
            continue;
        };
        let entry = entry.clone();
        related.push((compared.score, RelatedEntry { entry, relation }));
    }
    related.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(related
        .into_iter()
        .map(|(_, it)| it)
        .take(RELATED_MAX)
        .collect())
}

/// Returns the code that an entry is about: the symbols of its anchors and the names it writes.
fn named_code(entry: &Entry) -> CodeNames {
    let mut names = CodeNames::from_text(entry.statement_text());
    let anchors = entry.content.iter().flat_map(|it| &it.anchors);
    names.add(anchors.filter_map(|it| it.at.symbol().map(str::to_owned)));
    names
}

/// The most likely duplicates, and the number of all.
#[derive(Clone, Debug)]
pub struct DuplicatePairs {
    /// Certain duplicates first, then the most likely ones.
    pub pairs: Vec<DuplicatePair>,
    pub total: usize,
}

/// Pairs of live entries that may state the same and were not dismissed, without the entries: there
/// may be hundreds of thousands of pairs.
#[derive(Debug)]
pub(crate) struct DuplicateScan {
    /// Certain duplicates first, then the most likely ones.
    pub(crate) pairs: Vec<ScannedPair>,
    model: Option<String>,
}

/// A pair of a [`DuplicateScan`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScannedPair {
    pub(crate) first: EntryId,
    pub(crate) second: EntryId,
    cosine: Option<f64>,
    score: f64,
    /// True if both certainly state the same.
    pub(crate) is_sure: bool,
}

impl DuplicateScan {
    /// Keeps the likeliest pairs in which each entry stands once.
    fn keep_separate_pairs(&mut self) {
        let mut seen = BTreeSet::new();
        self.pairs.retain(|pair| {
            let ids = [pair.first, pair.second];
            let is_first = ids.iter().all(|it| !seen.contains(it));
            if is_first {
                seen.extend(ids);
            }
            is_first
        });
    }

    /// Loads the entries of a pair and compares them in full.
    pub(crate) fn load(
        &self,
        engine: &Engine,
        pair: &ScannedPair,
    ) -> Result<DuplicatePair, EngineError> {
        let (first, second) = (engine.entry(pair.first)?, engine.entry(pair.second)?);
        let [one, other] =
            [&first, &second].map(|it| TokenizedStatement::parse(it.statement_text()));
        let model = self.model.as_deref().unwrap_or_default();
        let near = pair.cosine.map(|cosine| ModelCosine { model, cosine });
        let compared = compare_statements(&one, &other, near);
        Ok(DuplicatePair {
            first,
            second,
            cosine: pair.cosine,
            merging: compared.merging,
            score: compared.score,
            may_be_opposites: compared.may_be_opposites,
        })
    }
}

/// Returns at most `limit` pairs of live entries that may state the same and were not dismissed.
pub(crate) fn duplicate_pairs(
    engine: &mut Engine,
    limit: usize,
) -> Result<DuplicatePairs, EngineError> {
    let scan = scan_duplicates(engine)?;
    list_pairs(engine, &scan, limit)
}

/// Returns at most `limit` such pairs in which each entry stands once: ten entries that state the
/// same are five questions to a person, not forty-five.
pub(crate) fn separate_duplicate_pairs(
    engine: &mut Engine,
    limit: usize,
) -> Result<DuplicatePairs, EngineError> {
    let mut scan = scan_duplicates(engine)?;
    scan.keep_separate_pairs();
    list_pairs(engine, &scan, limit)
}

fn list_pairs(
    engine: &Engine,
    scan: &DuplicateScan,
    limit: usize,
) -> Result<DuplicatePairs, EngineError> {
    let listed = scan.pairs.iter().take(limit);
    let pairs = listed.map(|it| scan.load(engine, it));
    Ok(DuplicatePairs {
        pairs: pairs.collect::<Result<_, _>>()?,
        total: scan.pairs.len(),
    })
}

/// Returns at most `limit` pairs that a person or an LLM has to decide about.
pub(crate) fn undecided_pairs(
    engine: &mut Engine,
    limit: usize,
) -> Result<Vec<DuplicatePair>, EngineError> {
    let scan = scan_duplicates(engine)?;
    let undecided = scan.pairs.iter().filter(|it| !it.is_sure).take(limit);
    undecided.map(|it| scan.load(engine, it)).collect()
}

/// Finds the pairs of live entries that may state the same and were not dismissed.
pub(crate) fn scan_duplicates(engine: &mut Engine) -> Result<DuplicateScan, EngineError> {
    let (mut ids, mut statements) = (Vec::new(), Vec::new());
    engine.index.for_each_live_entry(&mut |entry| {
        ids.push(entry.id);
        statements.push(entry.statement_text().to_owned());
    })?;
    let texts: Vec<&str> = statements.iter().map(String::as_str).collect();
    let table = model::built_in_table(engine, &texts)?;
    let cosine = |one: usize, other: usize| table.as_ref().map_or(0.0, |it| it.cosine(one, other));
    let sketches: Vec<StatementSketch> =
        texts.iter().map(|it| StatementSketch::parse(it)).collect();
    let model = table.as_ref().map(|it| it.model().to_owned());
    let near = model
        .as_deref()
        .map(|it| (it, &cosine as &dyn Fn(usize, usize) -> f64));
    let set = StatementSet {
        sketches: &sketches,
        near,
    };
    let workspace = engine.index.workspace()?;
    let mut pairs = Vec::new();
    for pair in set.similar_pairs() {
        let (first, second) = (ids[pair.one], ids[pair.other]);
        // Dismissed pairs are stored with the smaller id first.
        let dismissed = (first.min(second), first.max(second), PairKind::Duplicate);
        if first.prefix() != second.prefix() || workspace.dismissed.contains(&dismissed) {
            continue;
        }
        let mut is_sure = false;
        if pair.needs_comparison {
            let parsed = [pair.one, pair.other].map(|it| TokenizedStatement::parse(texts[it]));
            let near = pair.cosine.zip(model.as_deref());
            let near = near.map(|(cosine, model)| ModelCosine { model, cosine });
            match compare_statements(&parsed[0], &parsed[1], near).merging {
                MergeDecision::KeepSeparate => continue,
                MergeDecision::Undecided => {}
                MergeDecision::Merge => is_sure = true,
            }
        }
        let (cosine, score) = (pair.cosine, pair.score);
        pairs.push(ScannedPair {
            first,
            second,
            cosine,
            score,
            is_sure,
        });
    }
    pairs.sort_by(|a, b| {
        let surest = b.is_sure.cmp(&a.is_sure).then(b.score.total_cmp(&a.score));
        surest.then_with(|| (a.first, a.second).cmp(&(b.first, b.second)))
    });
    Ok(DuplicateScan { pairs, model })
}

/// Merges entries with identical statements and returns the merged pairs.
///
/// The entry of higher rank stays. Only people merge norms.
pub(crate) fn merge_identical(
    engine: &mut Engine,
    by: &Actor,
) -> Result<Vec<DuplicatePair>, EngineError> {
    let mut merged = Vec::new();
    let scan = scan_duplicates(engine)?;
    for sure in scan.pairs.iter().take_while(|it| it.is_sure) {
        let is_norm = sure.first.prefix().memory() == Memory::Procedural;
        if is_norm && !by.is_human() {
            continue;
        }
        // Loaded now, because an earlier merge may have changed them.
        let pair = scan.load(engine, sure)?;
        let (first, second) = (&pair.first, &pair.second);
        // One of them may have been merged as part of an earlier pair.
        if first.merged_into.is_some() || second.merged_into.is_some() {
            continue;
        }
        let (stays, goes) = if merge_rank(first) < merge_rank(second) {
            (second.id, first.id)
        } else {
            (first.id, second.id)
        };
        match merge_in_maintenance(engine, stays, goes, by) {
            Ok(_) => merged.push(pair),
            // For example a quarantined entry: it stays unchanged.
            Err(EngineError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(merged)
}

/// Merges `sources` into `target`, whose statement becomes `wording`. Refuses others than people
/// where a person wrote or verified one of them.
pub(crate) fn merge(
    engine: &mut Engine,
    target: EntryId,
    sources: &[EntryId],
    wording: MergeWording,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let may_take = decide::ensure_may_change;
    record_merge(engine, target, sources, wording, by, may_take)
}

/// Merges a duplicate as a maintenance service that a person allowed. The statement stays in use,
/// so a program may do it also with what a person wrote.
pub(crate) fn merge_in_maintenance(
    engine: &mut Engine,
    target: EntryId,
    source: EntryId,
    by: &Actor,
) -> Result<Entry, EngineError> {
    let wording = MergeWording::Longer;
    record_merge(engine, target, &[source], wording, by, |_, _| Ok(()))
}

fn record_merge(
    engine: &mut Engine,
    target: EntryId,
    sources: &[EntryId],
    wording: MergeWording,
    by: &Actor,
    may_take: impl Fn(&Entry, &Actor) -> Result<(), Refusal>,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let loaded = sources.iter().map(|id| engine.entry(*id));
    let sources = loaded.collect::<Result<Vec<_>, _>>()?;
    let target_now = engine.entry(target)?;
    let merge = decide::merge(&target_now, &sources, wording)?;
    for source in &sources {
        may_take(source, by)?;
    }
    let draft = decide::attribute_change(merge, &target_now, by)?;
    engine.record(vec![draft], by)?;
    files::render_due(engine)?;
    engine.entry(target)
}

/// Returns the entry named `name` if `by` may supersede it, so that no entry is added in vain.
pub(crate) fn find_supersedable(
    engine: &Engine,
    name: &str,
    by: &Actor,
) -> Result<EntryId, EngineError> {
    let old = engine.find(name)?;
    decide::ensure_may_change(&old, by)?;
    Ok(old.id)
}

/// Supersedes `old` with `new`, and links back to it. Refuses others than people where a person
/// wrote or verified the old one.
pub(crate) fn supersede(
    engine: &mut Engine,
    old: EntryId,
    new: EntryId,
    by: &Actor,
) -> Result<Entry, EngineError> {
    sync::sync_before_writing(engine)?;
    let (older, newer) = (engine.entry(old)?, engine.entry(new)?);
    let draft = decide::supersede(&older, &newer)?;
    let mut drafts = vec![decide::attribute_change(draft, &older, by)?];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_stands_in_one_of_the_separate_pairs() {
        let ids = ["L-7k2f5qm1", "L-7k2f5qm2", "L-7k2f5qm3", "L-7k2f5qm4"];
        let [a, b, c, d] = ids.map(|it| it.parse().expect("an id"));
        let pair = |first: EntryId, second: EntryId| ScannedPair {
            first,
            second,
            cosine: None,
            score: 1.0,
            is_sure: false,
        };
        let mut scan = DuplicateScan {
            pairs: vec![pair(a, b), pair(a, c), pair(b, d), pair(c, d)],
            model: None,
        };
        scan.keep_separate_pairs();
        let kept: Vec<_> = scan.pairs.iter().map(|it| (it.first, it.second)).collect();
        assert_eq!(kept, [(a, b), (c, d)]);
    }
}
