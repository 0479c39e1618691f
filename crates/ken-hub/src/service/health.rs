//! Facts for the health rules of a workspace.

use ken_core::health::performance::OUTCOME_DAYS;
use ken_core::health::{HealthFacts, RunOutcome};
use ken_core::ledger::event::RetrievalMissed;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
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
        let entries = self.tx.list(&every, None, Some(ENTRIES_MAX)).await?;
        let since = recent_period_start(self.now);
        let missed = self
            .tx
            .events_of_type::<RetrievalMissed>(Some(&since.to_string()))
            .await?;
        let missed = missed.iter().flat_map(|it| it.event.entries());
        let missed: Vec<_> = missed.collect();
        let outcomes = self.outcomes_since(Some(since)).await?;
        let workspace = self.workspace().await?;
        let facts = HealthFacts::new(self.now, entries, missed, outcomes, &workspace);
        Ok(facts)
    }

    /// Returns the outcomes of ended runs in the order they ended, optionally only since a time.
    pub(super) async fn outcomes_since(
        &mut self,
        since: Option<Timestamp>,
    ) -> Result<Vec<RunOutcome>, ServiceError> {
        let runs = self.ended_runs(since).await?.into_iter();
        Ok(runs.map(RunOutcome::from).collect())
    }
}

/// Returns the start of the period that rules and lists consider; older outcomes say little about
/// the current state.
pub(super) fn recent_period_start(now: Timestamp) -> Timestamp {
    now.minus_millis(u64::from(OUTCOME_DAYS) * DAY_MS)
}
