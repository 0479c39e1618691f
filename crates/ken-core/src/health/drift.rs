//! Drift detection: stale, bloated, contradictory or orphaned groups of entries.
//!
//! A group is a lens or a kind. Detection only recommends pruning or review and changes nothing:
//! `ken archive` prunes, a person reviews.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ledger::entry::Entry;
use crate::values::id::EntryId;
use crate::values::kind::EntryKind;
use crate::values::time::Date;

/// Days without confirmation after which an entry is stale.
pub const STALE_DAYS: u32 = 90;

/// Entries a group may hold before it is bloated.
pub const GROUP_ENTRIES_MAX: usize = 50;

/// The kind of drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftSignal {
    /// Not confirmed for more than [`STALE_DAYS`] and not valid against the code.
    Stale,
    /// The group holds more than [`GROUP_ENTRIES_MAX`] entries.
    Bloated,
    /// Another live entry contradicts the entry.
    Contradictory,
    /// A file that the entry is anchored to, depends on or cites no longer exists.
    Orphaned,
}

/// The recommended action for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftRecommendation {
    NeedsPruning,
    NeedsReview,
}

/// A lens or kind under which entries are grouped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftGroup {
    Lens(String),
    Kind(EntryKind),
}

/// One drift signal of one group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DriftFinding {
    pub shelf: DriftGroup,
    pub signal: DriftSignal,
    pub recommendation: DriftRecommendation,
    /// The affected entries; for a bloated group, all of them.
    pub entries: Vec<EntryId>,
}

/// Facts about an entry that do not follow from its events.
#[derive(Clone, Debug, Default)]
pub struct DriftFacts {
    /// Set if the entry is valid against the current code.
    pub holds: bool,
    /// Set if a file that the entry refers to no longer exists.
    pub orphaned: bool,
    /// Live entries that contradict the entry.
    pub against: BTreeSet<EntryId>,
}

impl DriftSignal {
    /// Returns the recommended action for the signal.
    pub fn recommendation(self) -> DriftRecommendation {
        match self {
            Self::Stale | Self::Bloated => DriftRecommendation::NeedsPruning,
            Self::Contradictory | Self::Orphaned => DriftRecommendation::NeedsReview,
        }
    }
}

/// Returns the drift findings, ordered by group and signal.
pub fn detect_drift<'a>(
    entries: impl IntoIterator<Item = (&'a Entry, &'a DriftFacts)>,
    today: Date,
) -> Vec<DriftFinding> {
    let mut found: BTreeMap<(DriftGroup, DriftSignal), Vec<EntryId>> = BTreeMap::new();
    for (entry, standing) in entries {
        for shelf in groups_of(entry) {
            let mut add = |signal| {
                let ids = found.entry((shelf.clone(), signal)).or_default();
                ids.push(entry.id);
            };
            // Every entry counts as bloat until the size of its group is known; see `retain` below.
            add(DriftSignal::Bloated);
            if is_stale(entry, standing, today) {
                add(DriftSignal::Stale);
            }
            if !standing.against.is_empty() {
                add(DriftSignal::Contradictory);
            }
            if standing.orphaned {
                add(DriftSignal::Orphaned);
            }
        }
    }
    found.retain(|(_, signal), entries| {
        *signal != DriftSignal::Bloated || entries.len() > GROUP_ENTRIES_MAX
    });
    let report = |((shelf, signal), mut entries): ((DriftGroup, DriftSignal), Vec<EntryId>)| {
        entries.sort();
        DriftFinding {
            shelf,
            signal,
            recommendation: signal.recommendation(),
            entries,
        }
    };
    found.into_iter().map(report).collect()
}

fn groups_of(entry: &Entry) -> Vec<DriftGroup> {
    let lens = entry.content.as_ref().and_then(|it| it.lens.as_ref());
    let lens = lens.map(|lens| DriftGroup::Lens(lens.to_string()));
    lens.into_iter()
        .chain(entry.kind().map(DriftGroup::Kind))
        .collect()
}

fn is_stale(entry: &Entry, standing: &DriftFacts, today: Date) -> bool {
    let last = entry.confirmation.last;
    // Age makes nothing false: an entry that the code still supports is never stale.
    !standing.holds && last.is_none_or(|last| today.days_since(last) > STALE_DAYS)
}
