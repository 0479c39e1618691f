//! Where knowledge drifts: what is stale, bloated, contradictory or orphaned, and what that calls for.
//!
//! Looks at shelves, the lenses and kinds entries are filed under. Recommends in two words and changes
//! nothing: pruning is `ken archive`, reviewing a person's affair.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::entry::Entry;
use crate::id::EntryId;
use crate::kind::Kind;
use crate::time::Date;

/// Days after which an entry nobody confirmed is stale.
pub const STALE_DAYS: u32 = 90;

/// Entries a shelf may hold.
pub const SHELF_MAX: usize = 50;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Nobody confirmed it for more than [`STALE_DAYS`], and no code bears it out.
    Stale,
    /// A shelf holds more than [`SHELF_MAX`] entries.
    Bloated,
    /// Two entries say opposite things.
    Contradictory,
    /// The file an entry is about is not there any more.
    Orphaned,
}

/// What a shelf calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    NeedsPruning,
    NeedsReview,
}

/// A lens or a kind, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shelf {
    Lens(String),
    Kind(Kind),
}

/// One finding on one shelf.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Drift {
    pub shelf: Shelf,
    pub signal: Signal,
    pub recommendation: Recommendation,
    /// The entries meant; of a bloated shelf all of them.
    pub entries: Vec<EntryId>,
}

/// What is known about an entry beside its events.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Whether the code bears it out now.
    pub holds: bool,
    /// Whether a file it is about is gone.
    pub orphaned: bool,
    /// Live entries that say the opposite.
    pub against: BTreeSet<EntryId>,
}

impl Signal {
    /// Returns what the signal calls for.
    pub fn recommendation(self) -> Recommendation {
        match self {
            Self::Stale | Self::Bloated => Recommendation::NeedsPruning,
            Self::Contradictory | Self::Orphaned => Recommendation::NeedsReview,
        }
    }
}

/// Returns every shelf's findings, by shelf.
pub fn drift<'a>(
    entries: impl IntoIterator<Item = (&'a Entry, &'a Standing)>,
    today: Date,
) -> Vec<Drift> {
    let mut found: BTreeMap<(Shelf, Signal), Vec<EntryId>> = BTreeMap::new();
    for (entry, standing) in entries {
        for shelf in shelves(entry) {
            let mut note = |signal| {
                let of = found.entry((shelf.clone(), signal)).or_default();
                of.push(entry.id);
            };
            note(Signal::Bloated);
            if is_stale(entry, standing, today) {
                note(Signal::Stale);
            }
            if !standing.against.is_empty() {
                note(Signal::Contradictory);
            }
            if standing.orphaned {
                note(Signal::Orphaned);
            }
        }
    }
    found.retain(|(_, signal), entries| *signal != Signal::Bloated || SHELF_MAX < entries.len());
    let report = |((shelf, signal), mut entries): ((Shelf, Signal), Vec<EntryId>)| {
        entries.sort();
        Drift {
            shelf,
            signal,
            recommendation: signal.recommendation(),
            entries,
        }
    };
    found.into_iter().map(report).collect()
}

fn shelves(entry: &Entry) -> Vec<Shelf> {
    let lens = entry.content.as_ref().and_then(|it| it.lens.as_ref());
    let lens = lens.map(|lens| Shelf::Lens(lens.to_string()));
    lens.into_iter()
        .chain(entry.kind().map(Shelf::Kind))
        .collect()
}

fn is_stale(entry: &Entry, standing: &Standing, today: Date) -> bool {
    let last = entry.confirmation.last;
    !standing.holds && last.is_none_or(|last| STALE_DAYS < today.days_since(last))
}
