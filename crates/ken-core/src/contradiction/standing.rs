//! The contradictions among entries in use that nobody has settled: those the rules see, and those somebody flagged.
//!
//! Nothing here prefers a side. A pair somebody dismissed or settled is not brought up again.

use super::{Side, Why, candidates, certain_contradiction, contradiction};
use crate::entry::Entry;
use crate::event::PairKind;
use crate::id::EntryId;
use crate::kind::Memory;
use crate::workspace::Workspace;

/// What is said of a pair somebody flagged that no rule sees.
const FLAGGED_BY_HAND: &str = "flagged before; the words alone do not show why";

/// Two entries that contradict each other.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// The one with the lower id.
    pub first: Entry,
    pub second: Entry,
    /// The rule that found it; none where somebody flagged it by hand.
    pub rule: Option<&'static str>,
    pub why: String,
    /// Whether it is in the ledger already.
    pub flagged: bool,
}

impl Contradiction {
    /// Returns whether both sides are norms: then it blocks.
    pub fn blocks(&self) -> bool {
        let is_norm = |entry: &Entry| entry.id.prefix().memory() == Memory::Procedural;
        is_norm(&self.first) && is_norm(&self.second)
    }
}

/// Returns the contradictions the rules see among `entries`, in the order of their ids.
pub fn detected(
    entries: &[Entry],
    workspace: &Workspace,
    near: &dyn Fn(usize, usize) -> Option<f64>,
) -> Vec<Contradiction> {
    let sides = entries.iter().map(Side::of_entry);
    let sides: Vec<Side> = sides.map(Option::unwrap_or_default).collect();
    let open = workspace.open_contradictions();
    let mut found = Vec::new();
    for (one, other) in candidates(&sides) {
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
        let near = near(one, other);
        let why: Option<Why> = certain_contradiction(&sides[one], &sides[other], near);
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

/// Adds pairs that are flagged, still open, and seen by no rule; `entry` looks one up.
pub fn add_flagged<E>(
    workspace: &Workspace,
    found: &mut Vec<Contradiction>,
    entry: &mut dyn FnMut(EntryId) -> Result<Option<Entry>, E>,
) -> Result<(), E> {
    for (one, other) in workspace.contradictions.values() {
        let (first, second) = (*one.min(other), *one.max(other));
        let pair = (first, second, PairKind::Contradiction);
        let known = found
            .iter()
            .any(|it| (it.first.id, it.second.id) == (first, second));
        if known || workspace.dismissed.contains(&pair) {
            continue;
        }
        let (Some(first), Some(second)) = (entry(first)?, entry(second)?) else {
            continue;
        };
        if !first.is_live() || !second.is_live() {
            continue;
        }
        let sides = Side::of_entry(&first).zip(Side::of_entry(&second));
        let why = sides.and_then(|(one, other)| contradiction(&one, &other, None));
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
