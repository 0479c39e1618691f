//! Facts for the health rules of a workspace.

use std::collections::BTreeMap;

use ken_core::health::maintenance::MaintenancePolicy;
use ken_core::health::performance::OUTCOME_DAYS;
use ken_core::health::{HealthFacts, RunOutcome, count_errors};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RetrievalMissed;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::retrieval::score::RankingWeights;
use ken_core::values::id::EntryId;
use ken_core::values::time::{DAY_MS, Timestamp};

use super::{ServiceError, WorkspaceSession};

/// Newest entries the rules examine. The limit is low because the rules compare entries pairwise.
const ENTRIES_MAX: u32 = 2_000;

impl WorkspaceSession {
    /// Collects the facts for the rules. Uses neither source code nor a model.
    pub(super) async fn health_facts(&mut self) -> Result<HealthFacts, ServiceError> {
        let every = EntryFilter {
            lifecycle: LifecycleFilter::All,
            ..EntryFilter::default()
        };
        let mut entries = self.tx.list(&every, None, Some(ENTRIES_MAX)).await?;
        // Collected before the filter below: entries from peers may be quarantined, hence not live.
        let inbound = entries.iter().filter(|entry| entry.is_inbound());
        let foreign: Vec<Entry> = inbound.cloned().collect();
        entries.retain(Entry::is_live);
        let errors = self.prediction_errors(&entries).await?;
        let workspace = self.workspace().await?;
        Ok(HealthFacts {
            now: self.now,
            errors,
            outcomes: self
                .outcomes_since(Some(recent_period_start(self.now)))
                .await?,
            weights: RankingWeights::from_workspace(&workspace).unwrap_or_default(),
            policy: MaintenancePolicy::from_workspace(&workspace),
            peers: workspace.peers.clone(),
            dismissed: workspace.dismissed.clone(),
            entries,
            foreign,
        })
    }

    /// Returns the outcomes of ended runs in the order they ended, optionally only since a time.
    pub(super) async fn outcomes_since(
        &mut self,
        since: Option<Timestamp>,
    ) -> Result<Vec<RunOutcome>, ServiceError> {
        let runs = self.ended_runs(since).await?.into_iter();
        Ok(runs.map(RunOutcome::from).collect())
    }

    /// Returns the number of retrieval misses per entry of `entries`; entries without misses are
    /// absent.
    async fn prediction_errors(
        &mut self,
        entries: &[Entry],
    ) -> Result<BTreeMap<EntryId, u64>, ServiceError> {
        let since = recent_period_start(self.now).to_string();
        let missed = self
            .tx
            .events_of_type::<RetrievalMissed>(Some(&since))
            .await?;
        let missed_ids = missed.iter().flat_map(|it| it.event.entries());
        Ok(count_errors(missed_ids, entries))
    }
}

/// Returns the start of the period that rules and lists consider; older outcomes say little about
/// the current state.
pub(super) fn recent_period_start(now: Timestamp) -> Timestamp {
    now.minus_millis(u64::from(OUTCOME_DAYS) * DAY_MS)
}
