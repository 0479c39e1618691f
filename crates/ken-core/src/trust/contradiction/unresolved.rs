//! Unresolved contradictions among live entries: detected by rules or flagged in the ledger.
//!
//! Neither side is preferred. A dismissed pair is not reported again, and a flag has no effect
//! after an edit that removed the contradiction.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::certainty::is_plain;
use super::{
    ContradictionReason, ContradictionSide, POLARITY_COSINE, SideCosine, candidate_pairs,
    find_certain_contradiction, find_contradiction, is_pattern,
};
use crate::ledger::entry::Entry;
use crate::ledger::event::PairKind;
use crate::ledger::workspace::WorkspaceState;
use crate::values::id::{EntryId, EventId};
use crate::values::kind::{EntryKind, Memory};

/// Explanation of a flagged pair that no rule of this build detects.
const NO_RULE: &str = "flagged earlier; no rule of this version detects it";

/// Two entries that contradict each other.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// The entry with the lower id. Shared, because one entry may contradict many.
    pub first: Arc<Entry>,
    pub second: Arc<Entry>,
    /// The rule that detected the pair; `None` if it is only flagged.
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
pub fn retain_comparable<E: Borrow<Entry>>(entries: &mut Vec<E>) {
    let kinds = || entries.iter().map(|it| it.borrow().kind());
    let is_false = |kind: Option<EntryKind>| kind == Some(EntryKind::FalsePositive);
    let (has_pattern, has_false) = (kinds().any(is_pattern), kinds().any(is_false));
    entries.retain(|entry| {
        let entry = entry.borrow();
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
    let open = workspace.open_contradictions();
    let mut shared: BTreeMap<usize, Arc<Entry>> = BTreeMap::new();
    let mut share = |at: usize| {
        let entry = shared.entry(at);
        Arc::clone(entry.or_insert_with(|| Arc::new(entries[at].clone())))
    };
    let detected = detect_pairs(entries, workspace, near).into_iter();
    let mut found: Vec<Contradiction> = detected
        .map(|(one, other, why)| {
            let (first, second) = (share(one), share(other));
            let flags = open.get(&first.id);
            Contradiction {
                rule: Some(why.rule.name()),
                why: why.to_string(),
                flagged: flags.is_some_and(|it| it.contains(&second.id)),
                first,
                second,
            }
        })
        .collect();
    found.sort_by_key(|it| (it.first.id, it.second.id));
    found
}

/// Returns the pairs among `entries` that contradict each other: detected by a rule, or flagged and
/// not removed by a later edit. The lower id comes first.
///
/// Without a model, because every search calls it.
pub fn contradicting_pairs(
    entries: &[&Entry],
    workspace: &WorkspaceState,
) -> BTreeSet<(EntryId, EntryId)> {
    let mut comparable = entries.to_vec();
    retain_comparable(&mut comparable);
    let detected = detect_pairs(&comparable, workspace, None).into_iter();
    let mut pairs: BTreeSet<(EntryId, EntryId)> = detected
        .map(|(one, other, _)| (comparable[one].id, comparable[other].id))
        .collect();
    let by_id: BTreeMap<EntryId, &Entry> = entries.iter().map(|it| (it.id, *it)).collect();
    for (flag, first, second) in workspace.open_flags() {
        let sides = by_id.get(&first).zip(by_id.get(&second));
        if sides.is_some_and(|(first, second)| flag_stands(flag, first, second)) {
            pairs.insert((first, second));
        }
    }
    pairs
}

/// Returns the live entries among `others` that contradict `entry`. `linked` are those that a link
/// declares as contradicting.
pub fn live_opponents(
    entry: &Entry,
    others: &[Entry],
    linked: &BTreeSet<EntryId>,
    workspace: &WorkspaceState,
) -> BTreeSet<EntryId> {
    let live = others.iter().filter(|it| it.is_live());
    let known: Vec<&Entry> = [entry].into_iter().chain(live.clone()).collect();
    let pairs = contradicting_pairs(&known, workspace);
    let is_opposed = |id: EntryId| {
        let pair = (id.min(entry.id), id.max(entry.id));
        linked.contains(&id) || pairs.contains(&pair)
    };
    live.map(|it| it.id).filter(|id| is_opposed(*id)).collect()
}

/// Returns whether a flagged pair is still a contradiction.
///
/// A flag records what a rule detected in the statements of that day. If one of them was edited
/// since, a rule must detect the pair again.
pub fn flag_stands(flag: EventId, first: &Entry, second: &Entry) -> bool {
    let mut revisions = first.revision.iter().chain(&second.revision);
    // Ids of events are ordered by time.
    let is_edited = revisions.any(|revision| *revision > flag);
    !is_edited || explain_flag(first, second).is_some()
}

/// Returns the rule behind a flagged pair, if any.
///
/// The pair was detected before, so the less certain rules are good enough, and polarity is not
/// asked for a model again.
fn explain_flag(first: &Entry, second: &Entry) -> Option<ContradictionReason> {
    let sides = ContradictionSide::from_entry(first).zip(ContradictionSide::from_entry(second));
    sides.and_then(|(one, other)| find_contradiction(&one, &other, Some(POLARITY_COSINE)))
}

/// Returns the positions of the pairs that the rules detect, the lower id first.
fn detect_pairs<E: Borrow<Entry>>(
    entries: &[E],
    workspace: &WorkspaceState,
    near: Option<SideCosine<'_>>,
) -> Vec<(usize, usize, ContradictionReason)> {
    let entry = |at: usize| -> &Entry { entries[at].borrow() };
    // An entry without a statement keeps its index as an empty side, which contradicts nothing.
    let sides = entries
        .iter()
        .map(|it| ContradictionSide::from_entry(it.borrow()));
    let sides: Vec<ContradictionSide> = sides.map(Option::unwrap_or_default).collect();
    let mut found = Vec::new();
    for (one, other) in candidate_pairs(&sides, near) {
        // Dismissals and open contradictions are stored with the lower id first.
        let (one, other) = if entry(one).id < entry(other).id {
            (one, other)
        } else {
            (other, one)
        };
        let (first, second) = (entry(one), entry(other));
        let pair = (first.id, second.id, PairKind::Contradiction);
        let visible = first.is_live() && second.is_live();
        let trusted = !workspace.is_revoked(first) && !workspace.is_revoked(second);
        if !visible || !trusted || workspace.dismissed.contains(&pair) {
            continue;
        }
        let cosine = near.map(|(_, cosine)| cosine(one, other));
        let why = find_certain_contradiction(&sides[one], &sides[other], cosine);
        found.extend(why.map(|why| (one, other, why)));
    }
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
    for (flag, first, second) in workspace.open_flags() {
        if detected.contains(&(first, second)) {
            continue;
        }
        let (Some(first), Some(second)) = (entry(first)?, entry(second)?) else {
            continue;
        };
        if !first.is_live() || !second.is_live() || !flag_stands(flag, &first, &second) {
            continue;
        }
        // Two events may flag one pair.
        detected.insert((first.id, second.id));
        let why = explain_flag(&first, &second);
        found.push(Contradiction {
            first: Arc::new(first),
            second: Arc::new(second),
            rule: why.as_ref().map(|why| why.rule.name()),
            why: why.map_or_else(|| NO_RULE.to_owned(), |why| why.to_string()),
            flagged: true,
        });
    }
    found.sort_by_key(|it| (it.first.id, it.second.id));
    Ok(())
}
