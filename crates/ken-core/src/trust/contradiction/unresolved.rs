//! Unresolved contradictions among live entries: detected by rules or flagged in the ledger.
//!
//! Neither side is preferred. A dismissed pair is not reported again.

use super::{
    ContradictionReason, ContradictionSide, candidate_pairs, find_certain_contradiction,
    find_contradiction,
};
use crate::ledger::entry::Entry;
use crate::ledger::event::PairKind;
use crate::ledger::workspace::WorkspaceState;
use crate::values::id::EntryId;
use crate::values::kind::Memory;

/// Explanation of a flagged pair that no rule detects.
const FLAGGED_BY_HAND: &str = "flagged by hand; no rule detects it";

/// Two entries that contradict each other.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// The entry with the lower id.
    pub first: Entry,
    pub second: Entry,
    /// The rule that detected the pair; `None` if it was only flagged by hand.
    pub rule: Option<&'static str>,
    pub why: String,
    /// Set if the ledger already records the contradiction.
    pub flagged: bool,
}

impl Contradiction {
    /// Returns whether both sides are norms, which makes the contradiction blocking.
    pub fn is_blocking(&self) -> bool {
        let is_norm = |entry: &Entry| entry.id.prefix().memory() == Memory::Procedural;
        is_norm(&self.first) && is_norm(&self.second)
    }
}

/// Returns the contradictions that the rules detect among `entries`, ordered by id.
pub fn detect_contradictions(
    entries: &[Entry],
    workspace: &WorkspaceState,
    near: &dyn Fn(usize, usize) -> Option<f64>,
) -> Vec<Contradiction> {
    // An entry without a statement keeps its index as an empty side, which contradicts nothing.
    let sides = entries.iter().map(ContradictionSide::from_entry);
    let sides: Vec<ContradictionSide> = sides.map(Option::unwrap_or_default).collect();
    let open = workspace.open_contradictions();
    let mut found = Vec::new();
    for (one, other) in candidate_pairs(&sides) {
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
        let cosine = near(one, other);
        let why: Option<ContradictionReason> =
            find_certain_contradiction(&sides[one], &sides[other], cosine);
        let Some(why) = why else { continue };
        let flagged = open
            .get(&first.id)
            .is_some_and(|it| it.contains(&second.id));
        found.push(Contradiction {
            first: first.clone(),
            second: second.clone(),
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
    for (one, other) in workspace.contradictions.values() {
        let (first, second) = (*one.min(other), *one.max(other));
        let pair = (first, second, PairKind::Contradiction);
        let is_detected = found
            .iter()
            .any(|it| (it.first.id, it.second.id) == (first, second));
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
            first,
            second,
            rule: why.as_ref().map(|why| why.rule.name()),
            why: why.map_or_else(|| FLAGGED_BY_HAND.to_owned(), |why| why.to_string()),
            flagged: true,
        });
    }
    found.sort_by_key(|it| (it.first.id, it.second.id));
    Ok(())
}
