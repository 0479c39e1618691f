//! Causal resolution of concurrent writes to one value.
//!
//! A write is covered when another write of the same value descends from it through `replaces`.
//! Among the uncovered writes (the heads), the latest in canonical order wins; the others are
//! concurrent and reported to people. Timestamps never override `replaces`. A write that names
//! itself as its ancestor covers nothing by that; if writes in a cycle cover all writes, all of
//! them are heads.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::event::EventOrder;
use crate::values::hlc::Hlc;
use crate::values::id::EventId;

/// The writes of one value, or of several fields that share a history, with their `replaces` edges.
#[derive(Debug, Default)]
pub(crate) struct CausalGraph<'a> {
    writes: BTreeMap<EventId, (Hlc, &'a [EventId])>,
}

impl<'a> CausalGraph<'a> {
    /// Adds a write based on the events in `replaces`.
    pub(crate) fn add(&mut self, (at, id): EventOrder, replaces: &'a [EventId]) {
        self.writes.insert(id, (at, replaces));
    }

    /// Returns every write that no other write covers, ordered by id.
    pub(crate) fn heads(&self) -> Vec<EventId> {
        let all: Vec<EventId> = self.writes.keys().copied().collect();
        self.heads_among(&all)
    }

    /// Returns the winning write among `ids`.
    pub(crate) fn winner_among(&self, ids: &[EventId]) -> Option<EventId> {
        // The id breaks ties, so every replica picks the same winner.
        let order = |id: &EventId| (self.writes.get(id).map(|(at, _)| *at), *id);
        self.heads_among(ids).into_iter().max_by_key(order)
    }

    /// Returns the members of `ids` from which no other member descends.
    pub(crate) fn heads_among(&self, ids: &[EventId]) -> Vec<EventId> {
        let reached = self.trace_sources(ids);
        let covered = |id: &EventId| reached.get(id).is_some_and(|from| from.has_other_than(*id));
        let heads: Vec<EventId> = ids.iter().copied().filter(|id| !covered(id)).collect();
        // Only a cycle can cover every write. Returning all of them keeps the value from
        // disappearing because of forged `replaces`.
        if heads.is_empty() {
            ids.to_vec()
        } else {
            heads
        }
    }

    /// Returns every write reachable from `ids` through `replaces`. A member of `ids` is included
    /// only if another path reaches it.
    pub(crate) fn ancestors(&self, ids: &[EventId]) -> BTreeSet<EventId> {
        self.trace_sources(ids).into_keys().collect()
    }

    /// Returns the starting points in `ids` for every write reachable through `replaces`.
    fn trace_sources(&self, ids: &[EventId]) -> BTreeMap<EventId, WriteSources> {
        let mut reached: BTreeMap<EventId, WriteSources> = BTreeMap::new();
        // An explicit stack: a long history must not overflow the call stack.
        let mut open: Vec<(EventId, EventId)> = ids.iter().map(|id| (*id, *id)).collect();
        while let Some((id, from)) = open.pop() {
            // A replaced event may be missing locally, redacted, or a write of another value.
            let Some((_, replaces)) = self.writes.get(&id) else {
                continue;
            };
            let parents = replaces.iter().copied();
            open.extend(
                parents
                    // `insert` is true at most twice per write, which bounds the walk even in
                    // cycles.
                    .filter(|parent| reached.entry(*parent).or_default().insert(from))
                    .map(|parent| (parent, from)),
            );
        }
        reached
    }
}

/// Up to two starting points that reach a write.
///
/// Two are enough: of two different starting points, at most one is the write itself.
#[derive(Debug, Default)]
struct WriteSources {
    first: Option<EventId>,
    second: Option<EventId>,
}

impl WriteSources {
    /// Adds a starting point. Returns whether it changed anything.
    fn insert(&mut self, id: EventId) -> bool {
        if self.first.is_none() {
            self.first = Some(id);
            return true;
        }
        let is_new = self.second.is_none() && self.first != Some(id);
        if is_new {
            self.second = Some(id);
        }
        is_new
    }

    fn has_other_than(&self, id: EventId) -> bool {
        self.second.is_some() || self.first.is_some_and(|first| first != id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::id::NodeId;
    use crate::values::time::Timestamp;

    fn id(n: u128) -> EventId {
        EventId::new(Timestamp::default(), n)
    }

    fn at(millis: u64) -> Hlc {
        Hlc {
            wall: Timestamp::from_millis(millis),
            counter: 0,
            node: NodeId::new(0),
        }
    }

    #[test]
    fn a_descendant_beats_an_ancestor_dated_in_the_future() {
        let (a, b, c) = (id(1), id(2), id(3));
        let (on_a, on_b) = ([a], [b]);
        let mut causal = CausalGraph::default();
        causal.add((at(9_000_000), a), &[]);
        causal.add((at(10), b), &on_a);
        causal.add((at(5), c), &on_b);
        assert_eq!(causal.heads(), [c]);
        assert_eq!(causal.winner_among(&[a, c]), Some(c));
        assert_eq!(causal.winner_among(&[a, b]), Some(b));
    }

    #[test]
    fn of_concurrent_writes_the_latest_wins() {
        let (a, b, c) = (id(1), id(2), id(3));
        let on_a = [a];
        let mut causal = CausalGraph::default();
        causal.add((at(1), a), &[]);
        causal.add((at(3), b), &on_a);
        causal.add((at(2), c), &on_a);
        assert_eq!(causal.heads(), [b, c]);
        assert_eq!(causal.winner_among(&[a, b, c]), Some(b));
    }

    #[test]
    fn a_write_that_names_itself_still_stands() {
        let (a, b, c) = (id(1), id(2), id(3));
        let (on_a_and_b, on_c, on_b) = ([a, b], [c], [b]);
        let mut causal = CausalGraph::default();
        causal.add((at(1), a), &[]);
        causal.add((at(2), b), &on_a_and_b);
        assert_eq!(causal.heads(), [b]);
        // A cycle through a write of another field changes nothing for this one.
        causal.add((at(2), b), &on_c);
        causal.add((at(3), c), &on_b);
        assert_eq!(causal.heads_among(&[a, b]), [a, b]);
        assert_eq!(causal.heads(), [a]);
    }

    #[test]
    fn a_circle_covers_nobody() {
        let (a, b) = (id(1), id(2));
        let (on_a, on_b) = ([a], [b]);
        let mut causal = CausalGraph::default();
        causal.add((at(1), a), &on_b);
        causal.add((at(2), b), &on_a);
        assert_eq!(causal.heads(), [a, b]);
        assert_eq!(causal.winner_among(&[a, b]), Some(b));
        assert_eq!(causal.winner_among(&[]), None);
    }
}
