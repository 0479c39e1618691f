//! Unresolved contradictions among live entries: detected by rules or flagged in the ledger.
//!
//! Neither side is preferred. A dismissed pair is not reported again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::certainty::is_plain;
use super::{
    ContradictionReason, ContradictionSide, SideCosine, candidate_pairs,
    find_certain_contradiction, find_contradiction, is_pattern,
};
use crate::ledger::entry::Entry;
use crate::ledger::event::PairKind;
use crate::ledger::workspace::WorkspaceState;
use crate::values::id::EntryId;
use crate::values::kind::{EntryKind, Memory};

/// Explanation of a flagged pair that no rule detects.
const FLAGGED_BY_HAND: &str = "flagged by hand; no rule detects it";

/// Two entries that contradict each other.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// The entry with the lower id. Shared, because one entry may contradict many.
    pub first: Arc<Entry>,
    pub second: Arc<Entry>,
    /// The rule that detected the pair; `None` if it was only flagged by hand.
    pub rule: Option<&'static str>,
    pub why: String,
    /// Set if the ledger already records the contradiction.
    pub flagged: bool,
}

impl Contradiction {
    /// Returns whether both sides are norms, which makes the contradiction blocking.
    pub fn is_blocking(&self) -> bool {
        let is_norm = |entry: &Arc<Entry>| entry.id.prefix().memory() == Memory::Procedural;
        is_norm(&self.first) && is_norm(&self.second)
    }
}

/// Removes the entries that cannot contradict another one by the rules: long statements without a
/// declared polarity, which would cost most of the time and memory.
pub fn retain_comparable(entries: &mut Vec<Entry>) {
    let has = |kind: &dyn Fn(Option<EntryKind>) -> bool| entries.iter().any(|it| kind(it.kind()));
    let is_false = |kind: Option<EntryKind>| kind == Some(EntryKind::FalsePositive);
    let (has_pattern, has_false) = (has(&is_pattern), has(&is_false));
    entries.retain(|entry| {
        let content = entry.content.as_ref();
        let kind = entry.kind();
        let faces = (has_false && is_pattern(kind)) || (has_pattern && is_false(kind));
        let is_declared = content.is_some_and(|it| it.polarity.is_some());
        faces || is_declared || is_plain(entry.statement_text())
    });
}

/// Returns the contradictions that the rules detect among `entries`, ordered by id; `near` is the
/// similarity of two of them by position.
pub fn detect_contradictions(
    entries: &[Entry],
    workspace: &WorkspaceState,
    near: Option<SideCosine<'_>>,
) -> Vec<Contradiction> {
    // An entry without a statement keeps its index as an empty side, which contradicts nothing.
    let sides = entries.iter().map(ContradictionSide::from_entry);
    let sides: Vec<ContradictionSide> = sides.map(Option::unwrap_or_default).collect();
    let open = workspace.open_contradictions();
    let mut found = Vec::new();
    let mut shared: BTreeMap<usize, Arc<Entry>> = BTreeMap::new();
    let mut share = |at: usize| {
        let entry = shared.entry(at);
        Arc::clone(entry.or_insert_with(|| Arc::new(entries[at].clone())))
    };
    for (one, other) in candidate_pairs(&sides, near) {
        // Dismissals and open contradictions are stored with the lower id first.
        let (one, other) = if entries[one].id < entries[other].id {
            (one, other)
        } else {
            (other, one)
        };
        let (first, second) = (&entries[one], &entries[other]);
        let pair = (first.id, second.id, PairKind::Contradiction);
        let visible = first.is_live() && second.is_live();
        let trusted = !workspace.is_revoked(first) && !workspace.is_revoked(second);
        if !visible || !trusted || workspace.dismissed.contains(&pair) {
            continue;
        }
        let cosine = near.map(|(_, cosine)| cosine(one, other));
        let why: Option<ContradictionReason> =
            find_certain_contradiction(&sides[one], &sides[other], cosine);
        let Some(why) = why else { continue };
        let flagged = open
            .get(&first.id)
            .is_some_and(|it| it.contains(&second.id));
        found.push(Contradiction {
            first: share(one),
            second: share(other),
            rule: Some(why.rule.name()),
            why: why.to_string(),
            flagged,
        });
    }
    found.sort_by_key(|it| (it.first.id, it.second.id));
    found
}

/// Appends flagged pairs that are still open and that no rule detected; `entry` looks up an entry.
pub fn append_flagged<E>(
    workspace: &WorkspaceState,
    found: &mut Vec<Contradiction>,
    entry: &mut dyn FnMut(EntryId) -> Result<Option<Entry>, E>,
) -> Result<(), E> {
    let detected = found.iter().map(|it| (it.first.id, it.second.id));
    let mut detected: BTreeSet<(EntryId, EntryId)> = detected.collect();
    for (one, other) in workspace.contradictions.values() {
        let (first, second) = (*one.min(other), *one.max(other));
        let pair = (first, second, PairKind::Contradiction);
        // Also if two events flag one pair.
        let is_detected = !detected.insert((first, second));
        if is_detected || workspace.dismissed.contains(&pair) {
            continue;
        }
        let (Some(first), Some(second)) = (entry(first)?, entry(second)?) else {
            continue;
        };
        if !first.is_live() || !second.is_live() {
            continue;
        }
        // A person flagged this pair, so the less certain rules are good enough for an explanation.
        let sides =
            ContradictionSide::from_entry(&first).zip(ContradictionSide::from_entry(&second));
        let why = sides.and_then(|(one, other)| find_contradiction(&one, &other, None));
        found.push(Contradiction {
            first: Arc::new(first),
            second: Arc::new(second),
            rule: why.as_ref().map(|why| why.rule.name()),
            why: why.map_or_else(|| FLAGGED_BY_HAND.to_owned(), |why| why.to_string()),
            flagged: true,
        });
    }
    found.sort_by_key(|it| (it.first.id, it.second.id));
    Ok(())
}
