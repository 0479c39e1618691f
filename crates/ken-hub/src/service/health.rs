//! What the rules about how knowledge fares need to know.

use std::collections::BTreeMap;

use ken_core::entry::Entry;
use ken_core::event::Origin;
use ken_core::health::performance::OUTCOME_DAYS;
use ken_core::health::{Facts, Outcome};
use ken_core::id::EntryId;
use ken_core::maintenance::{MAINTENANCE_KEY, Policy};
use ken_core::store::{Filter, Shelf};
use ken_core::time::{DAY_MS, Timestamp};
use ken_core::workspace::Workspace;

use super::search::weights;
use super::{Desk, Failure};

/// Entries the rules look at, the newest: they compare entries with each other.
const ENTRIES_MAX: u32 = 2_000;

/// The name of the events that tell that an entry came first and did not answer.
const MISSED_TYPE: &str = "retrieval.missed";

impl Desk {
    /// Gathers everything the rules may know. Asks no code and no model.
    pub(super) async fn health_facts(&mut self) -> Result<Facts, Failure> {
        let every = Filter {
            shelf: Shelf::All,
            ..Filter::default()
        };
        let mut entries = self.tenant.list(&every, None, Some(ENTRIES_MAX)).await?;
        let foreign = entries.iter().filter(|it| is_inbound(it));
        let foreign: Vec<Entry> = foreign.cloned().collect();
        entries.retain(Entry::is_live);
        let errors = self.prediction_errors(&entries).await?;
        let workspace = self.workspace().await?;
        Ok(Facts {
            now: self.now,
            errors,
            outcomes: self.outcomes_since(Some(lately(self.now))).await?,
            weights: weights(&workspace),
            policy: maintenance_policy(&workspace),
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
        let outcome = |it: ken_core::run::written::PastRun| Outcome {
            closed: it.closed,
            at: it.at,
        };
        Ok(runs.map(outcome).collect())
    }

    /// Returns how often each of `entries` disappointed; those that never did are left out.
    async fn prediction_errors(
        &mut self,
        entries: &[Entry],
    ) -> Result<BTreeMap<EntryId, u64>, Failure> {
        let mut errors: BTreeMap<EntryId, u64> = BTreeMap::new();
        let since = lately(self.now).to_string();
        for recorded in self.tenant.of_type(MISSED_TYPE, Some(&since)).await? {
            for id in recorded.event.entries() {
                *errors.entry(id).or_default() += 1;
            }
        }
        for entry in entries.iter().filter(|it| 0 < it.tallies.unhelpful) {
            *errors.entry(entry.id).or_default() += entry.tallies.unhelpful;
        }
        Ok(errors)
    }
}

/// Returns since when what happened counts for rules and lists: what was slow a year ago is no news.
pub(super) fn lately(now: Timestamp) -> Timestamp {
    let back = u64::from(OUTCOME_DAYS) * DAY_MS;
    Timestamp::from_millis(now.millis().saturating_sub(back))
}

fn maintenance_policy(workspace: &Workspace) -> Policy {
    let own = workspace.config(MAINTENANCE_KEY);
    let own = own.and_then(|it| serde_json::from_value(it.value.clone()).ok());
    own.unwrap_or_default()
}

/// Whether an entry came from a peer and nobody decided about it otherwise.
fn is_inbound(entry: &Entry) -> bool {
    let origin = entry.created.as_ref().map(|it| it.origin);
    let is_here = entry.archived.is_none()
        && entry.retracted.is_none()
        && entry.merged_into.is_none()
        && entry.superseded_by.is_none();
    origin == Some(Origin::Peer) && is_here
}
