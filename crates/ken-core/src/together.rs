//! Entries that were used together in work that succeeded, and what gathers where.
//!
//! Every run that succeeded with several entries strengthens each pair of them; time weakens it.
//! A weight is kept with its day and aged when somebody asks, in whole thousandths, so that the
//! same runs give the same weight everywhere.
//!
//! Invariant: an entry keeps at most [`PARTNERS_MAX`] partners, however many runs there were.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::event::RunEffects;
use crate::id::EntryId;
use crate::time::Date;

/// What a pair weighs at first.
pub const WEIGHT_FIRST_MILLI: u32 = 1_000;
/// What a further run multiplies the weight by.
pub const REINFORCEMENT: f64 = 1.05;
/// What a day leaves of the weight.
pub const GAMMA: f64 = 0.995;
/// More than this no pair weighs.
pub const WEIGHT_MAX_MILLI: u32 = 10_000;
/// A pair that weighs less is forgotten.
pub const WEIGHT_MIN: f64 = 0.1;
/// Partners an entry keeps: the strongest.
pub const PARTNERS_MAX: usize = 32;
/// Entries of one run that are paired: the first.
pub const PAIRED_MAX: usize = 32;
/// A pair that weighs more holds a cluster together.
pub const EDGE_WEIGHT: f64 = 2.0;
/// Entries a cluster needs to be worth distilling, and what its pairs must weigh more than on average.
pub const CLUSTER_ENTRIES_MIN: usize = 5;
pub const CLUSTER_WEIGHT: f64 = 3.0;

const MILLI: f64 = 1_000.0;

/// The partners of an entry.
pub type Partners = BTreeMap<EntryId, Together>;

/// How strongly two entries belong together, as of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    pub weight_milli: u32,
    /// The day of the last run with both.
    pub on: Date,
}

/// Two entries that belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    pub first: EntryId,
    pub second: EntryId,
    pub weight: f64,
}

/// Entries that hang together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    pub entries: BTreeSet<EntryId>,
    /// What its pairs weigh on average.
    pub weight: f64,
}

impl Together {
    /// Returns a pair that was used together for the first time.
    pub fn first(on: Date) -> Self {
        Self {
            weight_milli: WEIGHT_FIRST_MILLI,
            on,
        }
    }

    /// Returns the pair after one more run; one that was forgotten by then starts anew.
    #[must_use]
    pub fn again(self, on: Date) -> Self {
        let Some(weight) = self.weight_on(on) else {
            return Self::first(on);
        };
        let weight = libm::round(weight * MILLI * REINFORCEMENT) as u32;
        Self {
            weight_milli: weight.min(WEIGHT_MAX_MILLI),
            on,
        }
    }

    /// Returns what the pair weighs on a day; nothing once it is forgotten.
    pub fn weight_on(self, today: Date) -> Option<f64> {
        let days = today.days_since(self.on);
        let left = libm::pow(GAMMA, f64::from(days));
        let weight = f64::from(self.weight_milli) / MILLI * left;
        (WEIGHT_MIN <= weight).then_some(weight)
    }
}

/// Returns the entries `id` was used with in work that succeeded.
pub(crate) fn used_with(id: EntryId, data: &RunEffects) -> BTreeSet<EntryId> {
    let mut used = BTreeSet::new();
    for effect in data.effects.iter().filter(|it| 0 < it.alpha_milli) {
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

/// Notes one run with each of `others`. Runs must come in the order of their days.
pub(crate) fn add(partners: &mut Partners, others: BTreeSet<EntryId>, on: Date) {
    for other in others {
        let known = partners.get(&other).copied();
        let next = known.map_or_else(|| Together::first(on), |it| it.again(on));
        partners.insert(other, next);
    }
}

/// Returns whether adding a run gives what folding all runs would: nothing was dropped before, and
/// no later day is known.
pub(crate) fn may_add(partners: &Partners, others: &BTreeSet<EntryId>, on: Date) -> bool {
    let in_order = |other: &EntryId| partners.get(other).is_none_or(|it| it.on <= on);
    let new = others.iter().filter(|it| !partners.contains_key(it));
    others.is_empty() || partners.len() + new.count() < PARTNERS_MAX && others.iter().all(in_order)
}

/// Drops all but the strongest partners; among equals the smaller id stays.
pub(crate) fn keep_strongest(partners: &mut Partners) {
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

/// Returns the largest weight between `entry` and one of `others`, zero if they never met.
pub fn strongest(entry: &Entry, others: &BTreeSet<EntryId>, today: Date) -> f64 {
    let met = entry.tallies.together.iter();
    let met = met.filter(|(id, _)| **id != entry.id && others.contains(id));
    met.filter_map(|(_, it)| it.weight_on(today))
        .fold(0.0, f64::max)
}

/// Returns the pairs among `entries`, each once. Where one side dropped the other, the other counts.
pub fn edges<'a>(entries: impl IntoIterator<Item = &'a Entry>, today: Date) -> Vec<Edge> {
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
                let known = weights.entry(pair).or_default();
                *known = known.max(weight);
            }
        }
    }
    let edge = |((first, second), weight)| Edge {
        first,
        second,
        weight,
    };
    weights.into_iter().map(edge).collect()
}

/// Returns what hangs together by pairs that weigh more than [`EDGE_WEIGHT`], breadth first.
pub fn clusters(edges: &[Edge]) -> Vec<Cluster> {
    let strong: Vec<&Edge> = edges.iter().filter(|it| EDGE_WEIGHT < it.weight).collect();
    let mut beside: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
    for edge in &strong {
        beside.entry(edge.first).or_default().insert(edge.second);
        beside.entry(edge.second).or_default().insert(edge.first);
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for start in beside.keys() {
        if !seen.insert(*start) {
            continue;
        }
        let (mut entries, mut next) = (BTreeSet::new(), VecDeque::from([*start]));
        while let Some(id) = next.pop_front() {
            entries.insert(id);
            next.extend(beside[&id].iter().filter(|it| seen.insert(**it)));
        }
        found.push(Cluster::of(entries, &strong));
    }
    found
}

impl Cluster {
    fn of(entries: BTreeSet<EntryId>, edges: &[&Edge]) -> Self {
        let inside = edges.iter().filter(|it| entries.contains(&it.first));
        let (count, sum) = inside.fold((0_u32, 0.0), |(count, sum), edge| {
            (count + 1, sum + edge.weight)
        });
        Self {
            entries,
            weight: sum / f64::from(count.max(1)),
        }
    }

    /// Returns whether what its entries say together is worth putting into one.
    pub fn is_worth_distilling(&self) -> bool {
        CLUSTER_ENTRIES_MIN <= self.entries.len() && CLUSTER_WEIGHT < self.weight
    }
}

#[cfg(test)]
mod tests;
