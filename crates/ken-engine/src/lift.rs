//! What entries are worth, and what is believed of one: questions about what runs taught.

use std::collections::BTreeMap;

use ken_core::entry::{Arms, Entry, Seen};
use ken_core::facts::{Beta, Validity};
use ken_core::lift::{Worth, worth};
use ken_core::review::ReviewPolicy;
use ken_core::store::{Filter, Shelf, Store as _};

use crate::engine::Engine;
use crate::error::Error;

/// What is believed of an entry, and what that rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Grounds {
    pub validity: Validity,
    pub posterior: Beta,
    /// What runs showed since somebody last found it.
    pub since: Seen,
    pub policy: ReviewPolicy,
    pub worth: Worth,
}

/// What entries are worth, all together and one by one.
#[derive(Clone, Debug)]
pub struct Lifts {
    pub all: Worth,
    /// Those chance has decided about, the best known first.
    pub entries: Vec<(Entry, Worth)>,
}

impl Engine {
    /// Returns what is believed of an entry, and why.
    pub fn grounds_of(&mut self, entry: &Entry) -> Result<Grounds, Error> {
        let validity = self.validity_of([entry])?;
        let validity = validity.get(&entry.id).copied().unwrap_or_default();
        Ok(Grounds {
            validity,
            posterior: entry.posterior(validity, self.now().date()),
            since: entry.since_confirmation(),
            policy: self.review_policy()?,
            worth: entry.tallies.worth(),
        })
    }

    /// Returns what entries are worth.
    pub fn lifts(&self) -> Result<Lifts, Error> {
        let filter = Filter {
            shelf: Shelf::All,
            ..Filter::default()
        };
        let mut tried = self.index.list(&filter)?;
        tried.retain(|entry| !entry.tallies.trials.is_empty());
        let mut pooled: BTreeMap<u16, Arms> = BTreeMap::new();
        for (propensity, arms) in tried.iter().flat_map(|entry| &entry.tallies.trials) {
            pooled.entry(*propensity).or_default().add(*arms);
        }
        let mut entries: Vec<(Entry, Worth)> = tried
            .into_iter()
            .map(|entry| {
                let worth = entry.tallies.worth();
                (entry, worth)
            })
            .collect();
        entries.sort_by(|(a, worth_a), (b, worth_b)| {
            let by_worth = key(*worth_b).total_cmp(&key(*worth_a));
            by_worth.then(a.id.cmp(&b.id))
        });
        let all = worth(&pooled);
        Ok(Lifts { all, entries })
    }
}

/// Sorts what is known before what is not, and the most surely helpful first.
fn key(worth: Worth) -> f64 {
    match worth {
        Worth::Measured(lift) => lift.low,
        Worth::TooFew { .. } => f64::NEG_INFINITY,
    }
}
