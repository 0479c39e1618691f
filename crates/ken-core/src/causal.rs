//! Which of several writes to one value stand: what an event *replaces* decides, not its date.
//!
//! A write is covered when another write of the same value descends from it through `replaces`.
//! Of those left uncovered (the heads) the latest in canonical order wins; the others are
//! concurrent and are shown to people as such. A write that claims to descend from itself covers
//! nobody by that; where writes in a circle cover everybody, all are heads.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::Order;
use crate::hlc::Hlc;
use crate::id::EventId;

/// The writes of one value, or of several fields that share a history.
#[derive(Debug, Default)]
pub(crate) struct Causal<'a> {
    writes: BTreeMap<EventId, (Hlc, &'a [EventId])>,
}

impl<'a> Causal<'a> {
    /// Adds a write that was based on `replaces`.
    pub(crate) fn add(&mut self, (at, id): Order, replaces: &'a [EventId]) {
        self.writes.insert(id, (at, replaces));
    }

    /// Returns every write no other write covers, in order of id.
    pub(crate) fn heads(&self) -> Vec<EventId> {
        let all: Vec<EventId> = self.writes.keys().copied().collect();
        self.heads_among(&all)
    }

    /// Returns the write among `ids` that stands.
    pub(crate) fn winner_among(&self, ids: &[EventId]) -> Option<EventId> {
        let order = |id: &EventId| (self.writes.get(id).map(|(at, _)| *at), *id);
        self.heads_among(ids).into_iter().max_by_key(order)
    }

    /// Returns the members of `ids` that no other member descends from.
    pub(crate) fn heads_among(&self, ids: &[EventId]) -> Vec<EventId> {
        let reached = self.reached(ids);
        let covered = |id: &EventId| reached.get(id).is_some_and(|from| from.other_than(*id));
        let heads: Vec<EventId> = ids.iter().copied().filter(|id| !covered(id)).collect();
        if heads.is_empty() {
            ids.to_vec()
        } else {
            heads
        }
    }

    /// Returns everything reachable through `replaces` from `ids`, which are not in it themselves
    /// unless reached.
    pub(crate) fn ancestors(&self, ids: &[EventId]) -> BTreeSet<EventId> {
        self.reached(ids).into_keys().collect()
    }

    /// Returns, for every write reachable through `replaces` from `ids`, from which it is.
    fn reached(&self, ids: &[EventId]) -> BTreeMap<EventId, Sources> {
        let mut reached: BTreeMap<EventId, Sources> = BTreeMap::new();
        let mut open: Vec<(EventId, EventId)> = ids.iter().map(|id| (*id, *id)).collect();
        while let Some((id, from)) = open.pop() {
            let Some((_, replaces)) = self.writes.get(&id) else {
                continue;
            };
            let parents = replaces.iter().copied();
            open.extend(
                parents
                    .filter(|parent| reached.entry(*parent).or_default().note(from))
                    .map(|parent| (parent, from)),
            );
        }
        reached
    }
}

/// Up to two members a write is reached from: of two different ones at most one is the write
/// itself, so a third would tell nothing new.
#[derive(Debug, Default)]
struct Sources {
    first: Option<EventId>,
    second: Option<EventId>,
}

impl Sources {
    /// Returns whether `id` was news.
    fn note(&mut self, id: EventId) -> bool {
        if self.first.is_none() {
            self.first = Some(id);
            return true;
        }
        let news = self.second.is_none() && self.first != Some(id);
        if news {
            self.second = Some(id);
        }
        news
    }

    fn other_than(&self, id: EventId) -> bool {
        self.second.is_some() || self.first.is_some_and(|first| first != id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NodeId;
    use crate::time::Timestamp;

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
        let mut causal = Causal::default();
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
        let mut causal = Causal::default();
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
        let mut causal = Causal::default();
        causal.add((at(1), a), &[]);
        causal.add((at(2), b), &on_a_and_b);
        assert_eq!(causal.heads(), [b]);
        // A circle through a write of another field changes nothing for this one.
        causal.add((at(2), b), &on_c);
        causal.add((at(3), c), &on_b);
        assert_eq!(causal.heads_among(&[a, b]), [a, b]);
        assert_eq!(causal.heads(), [a]);
    }

    #[test]
    fn a_circle_covers_nobody() {
        let (a, b) = (id(1), id(2));
        let (on_a, on_b) = ([a], [b]);
        let mut causal = Causal::default();
        causal.add((at(1), a), &on_b);
        causal.add((at(2), b), &on_a);
        assert_eq!(causal.heads(), [a, b]);
        assert_eq!(causal.winner_among(&[a, b]), Some(b));
        assert_eq!(causal.winner_among(&[]), None);
    }
}
