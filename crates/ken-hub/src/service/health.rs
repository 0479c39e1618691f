//! What the rules about how knowledge fares need to know.

use std::collections::BTreeMap;

use ken_core::entry::Entry;
use ken_core::event::RetrievalMissed;
use ken_core::health::performance::OUTCOME_DAYS;
use ken_core::health::{Facts, Outcome, disappointments};
use ken_core::id::EntryId;
use ken_core::maintenance::Policy;
use ken_core::score::Weights;
use ken_core::store::{Filter, Shelf};
use ken_core::time::{DAY_MS, Timestamp};

use super::{Desk, Failure};

/// Entries the rules look at, the newest: they compare entries with each other.
const ENTRIES_MAX: u32 = 2_000;

impl Desk {
    /// Gathers everything the rules may know. Asks no code and no model.
    pub(super) async fn health_facts(&mut self) -> Result<Facts, Failure> {
        let every = Filter {
            shelf: Shelf::All,
            ..Filter::default()
        };
        let mut entries = self.tenant.list(&every, None, Some(ENTRIES_MAX)).await?;
        let foreign = entries.iter().filter(|it| it.is_inbound());
        let foreign: Vec<Entry> = foreign.cloned().collect();
        entries.retain(Entry::is_live);
        let errors = self.prediction_errors(&entries).await?;
        let workspace = self.workspace().await?;
        Ok(Facts {
            now: self.now,
            errors,
            outcomes: self.outcomes_since(Some(lately(self.now))).await?,
            weights: Weights::of(&workspace).unwrap_or_default(),
            policy: Policy::of(&workspace),
            peers: workspace.peers.clone(),
            dismissed: workspace.dismissed.clone(),
            entries,
            foreign,
        })
    }

    /// Returns how runs ended, since a time if one is given, in the order they did.
    pub(super) async fn outcomes_since(
        &mut self,
        since: Option<Timestamp>,
    ) -> Result<Vec<Outcome>, Failure> {
        let runs = self.ended_runs(since).await?.into_iter();
        Ok(runs.map(Outcome::from).collect())
    }

    /// Returns how often each of `entries` disappointed; those that never did are left out.
    async fn prediction_errors(
        &mut self,
        entries: &[Entry],
    ) -> Result<BTreeMap<EntryId, u64>, Failure> {
        let since = lately(self.now).to_string();
        let missed = self.tenant.of_type::<RetrievalMissed>(Some(&since)).await?;
        let missed = missed.iter().flat_map(|it| it.event.entries());
        Ok(disappointments(missed, entries))
    }
}

/// Returns since when what happened counts for rules and lists: what was slow a year ago is no news.
pub(super) fn lately(now: Timestamp) -> Timestamp {
    now.minus_millis(u64::from(OUTCOME_DAYS) * DAY_MS)
}
