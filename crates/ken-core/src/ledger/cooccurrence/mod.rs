//! Co-occurrence of entries in successful runs, and clusters of entries used together.
//!
//! Every successful run that used several entries strengthens each pair of them; time weakens it. A
//! weight is stored with its day, in whole thousandths, and decayed on read, so that the same runs
//! give the same weight everywhere.
//!
//! Invariant: an entry keeps at most [`PARTNERS_MAX`] partners, regardless of the number of runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::entry::Entry;
use crate::ledger::event::RunEffects;
use crate::values::id::EntryId;
use crate::values::time::Date;

/// Initial weight of a pair.
pub const WEIGHT_FIRST_MILLI: u32 = 1_000;
/// Factor applied to the weight by each further run.
pub const REINFORCEMENT: f64 = 1.05;
/// Daily decay factor of the weight.
pub const GAMMA: f64 = 0.995;
/// Maximum weight of a pair.
pub const WEIGHT_MAX_MILLI: u32 = 10_000;
/// Weight below which a pair is forgotten.
pub const WEIGHT_MIN: f64 = 0.1;
/// Maximum number of partners per entry; the strongest are kept.
pub const PARTNERS_MAX: usize = 32;
/// Maximum number of entries paired per run; the first are taken.
pub const PAIRED_MAX: usize = 32;
/// Weight above which a pair connects a cluster.
pub const EDGE_WEIGHT: f64 = 2.0;
/// Entries a cluster needs to be impact distilling.
pub const CLUSTER_ENTRIES_MIN: usize = 5;
/// Average weight above which a cluster is impact distilling.
pub const CLUSTER_WEIGHT: f64 = 3.0;

const MILLI: f64 = 1_000.0;

/// The partners of an entry with their weights.
pub type CooccurrencePartners = BTreeMap<EntryId, CooccurrenceWeight>;

/// The co-occurrence weight of two entries, as of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CooccurrenceWeight {
    pub weight_milli: u32,
    /// The day of the last run with both.
    pub on: Date,
}

/// A pair of entries with its current weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CooccurrenceEdge {
    pub first: EntryId,
    pub second: EntryId,
    pub weight: f64,
}

/// A connected group of entries that are used together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryCluster {
    pub entries: BTreeSet<EntryId>,
    /// Average weight of its pairs.
    pub weight: f64,
}

impl CooccurrenceWeight {
    /// Returns the weight after the first run with both entries.
    pub fn first(on: Date) -> Self {
        Self {
            weight_milli: WEIGHT_FIRST_MILLI,
            on,
        }
    }

    /// Returns the weight after one more run; a forgotten pair starts over.
    #[must_use]
    pub fn again(self, on: Date) -> Self {
        let Some(weight) = self.weight_on(on) else {
            return Self::first(on);
        };
        // Stored in whole thousandths, so that repeated rounding is the same on every platform.
        let weight = libm::round(weight * MILLI * REINFORCEMENT) as u32;
        Self {
            weight_milli: weight.min(WEIGHT_MAX_MILLI),
            on,
        }
    }

    /// Returns the decayed weight on a day; `None` if the pair is forgotten.
    pub fn weight_on(self, today: Date) -> Option<f64> {
        let days = today.days_since(self.on);
        let left = libm::pow(GAMMA, f64::from(days));
        let weight = f64::from(self.weight_milli) / MILLI * left;
        (weight >= WEIGHT_MIN).then_some(weight)
    }
}

/// Returns the entries that a successful run used together with `id`.
pub(crate) fn used_with(id: EntryId, data: &RunEffects) -> BTreeSet<EntryId> {
    let mut used = BTreeSet::new();
    // Only success raises alpha, so a positive value means "used in a run that succeeded".
    for effect in data.effects.iter().filter(|it| it.alpha_milli > 0) {
        // The cap bounds the number of pairs, which grows with the square of the entries.
        if used.len() < PAIRED_MAX {
            used.insert(effect.entry);
        }
    }
    if used.remove(&id) {
        used
    } else {
        BTreeSet::new()
    }
}

/// Records one run with each of `others`; runs must be recorded in the order of their days.
pub(crate) fn record_run(partners: &mut CooccurrencePartners, others: BTreeSet<EntryId>, on: Date) {
    for other in others {
        let known = partners.get(&other).copied();
        let next = known.map_or_else(|| CooccurrenceWeight::first(on), |it| it.again(on));
        partners.insert(other, next);
    }
}

/// Returns whether recording a run incrementally equals folding all runs.
///
/// That holds if no partner was dropped before and no later day is recorded.
pub(crate) fn can_record_incrementally(
    partners: &CooccurrencePartners,
    others: &BTreeSet<EntryId>,
    on: Date,
) -> bool {
    let in_order = |other: &EntryId| partners.get(other).is_none_or(|it| it.on <= on);
    let new = others.iter().filter(|it| !partners.contains_key(it));
    // A full map may already have dropped a partner whose weight would be needed now.
    others.is_empty() || partners.len() + new.count() < PARTNERS_MAX && others.iter().all(in_order)
}

/// Drops all but the strongest partners; of equal weights the smaller id stays.
pub(crate) fn keep_strongest(partners: &mut CooccurrencePartners) {
    if partners.len() <= PARTNERS_MAX {
        return;
    }
    let mut ranked: Vec<(Reverse<u32>, EntryId)> = partners
        .iter()
        .map(|(id, it)| (Reverse(it.weight_milli), *id))
        .collect();
    ranked.sort_unstable();
    for (_, id) in ranked.drain(PARTNERS_MAX..) {
        partners.remove(&id);
    }
}

/// Returns the largest weight between `entry` and one of `others`, or 0 without any.
pub fn strongest_weight(entry: &Entry, others: &BTreeSet<EntryId>, today: Date) -> f64 {
    let met = entry.tallies.together.iter();
    let met = met.filter(|(id, _)| **id != entry.id && others.contains(id));
    met.filter_map(|(_, it)| it.weight_on(today))
        .fold(0.0, f64::max)
}

/// Returns the weighted pairs among `entries`, each once.
pub fn cooccurrence_edges<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    today: Date,
) -> Vec<CooccurrenceEdge> {
    let entries: BTreeMap<EntryId, &Entry> =
        entries.into_iter().map(|entry| (entry.id, entry)).collect();
    let mut weights: BTreeMap<(EntryId, EntryId), f64> = BTreeMap::new();
    for (id, entry) in &entries {
        for (other, together) in &entry.tallies.together {
            let Some(weight) = together.weight_on(today) else {
                continue;
            };
            if id != other && entries.contains_key(other) {
                let pair = (*id.min(other), *id.max(other));
                // One side may have dropped the other for stronger partners; the larger weight
                // counts.
                let known = weights.entry(pair).or_default();
                *known = known.max(weight);
            }
        }
    }
    let edge = |((first, second), weight)| CooccurrenceEdge {
        first,
        second,
        weight,
    };
    weights.into_iter().map(edge).collect()
}

/// Returns the components connected by pairs heavier than [`EDGE_WEIGHT`], by breadth-first search.
pub fn find_clusters(edges: &[CooccurrenceEdge]) -> Vec<EntryCluster> {
    let strong: Vec<&CooccurrenceEdge> =
        edges.iter().filter(|it| it.weight > EDGE_WEIGHT).collect();
    let mut neighbors: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
    for edge in &strong {
        neighbors.entry(edge.first).or_default().insert(edge.second);
        neighbors.entry(edge.second).or_default().insert(edge.first);
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for start in neighbors.keys() {
        if !seen.insert(*start) {
            continue;
        }
        let (mut entries, mut next) = (BTreeSet::new(), VecDeque::from([*start]));
        while let Some(id) = next.pop_front() {
            entries.insert(id);
            // Every queued id is a key: edges are stored in both directions.
            next.extend(neighbors[&id].iter().filter(|it| seen.insert(**it)));
        }
        found.push(EntryCluster::of(entries, &strong));
    }
    found
}

impl EntryCluster {
    fn of(entries: BTreeSet<EntryId>, edges: &[&CooccurrenceEdge]) -> Self {
        // Testing one end is enough: both ends of an edge are in the same component.
        let inside = edges.iter().filter(|it| entries.contains(&it.first));
        let (count, sum) = inside.fold((0_u32, 0.0), |(count, sum), edge| {
            (count + 1, sum + edge.weight)
        });
        Self {
            entries,
            weight: sum / f64::from(count.max(1)),
        }
    }

    /// Returns whether the cluster is large and strong enough to distill.
    pub fn is_worth_distilling(&self) -> bool {
        self.entries.len() >= CLUSTER_ENTRIES_MIN && self.weight > CLUSTER_WEIGHT
    }
}

#[cfg(test)]
mod tests;
