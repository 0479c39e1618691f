//! Impact of entries: outcomes of runs with and without them, where a random holdout decided.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::trust::impact::{self, ImpactEstimate, ImpactReport};
use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;

use super::{EntryReader, ServiceError, WorkspaceSession};
use crate::store::EntryPosition;

/// Entries per page while reading the whole workspace.
const PAGE: u32 = 1_000;

/// Maximum number of measured entries returned, the most surely helpful first.
const LISTED_MAX: usize = 500;

/// Returns the measured impact of all entries that took part in a trial.
pub async fn measure_impacts(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
) -> Result<ImpactReport, ServiceError> {
    let reader_context = session.resolve_reader(reader).await?;
    let filter = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    let (mut all, mut after): (Vec<Entry>, Option<EntryPosition>) = (Vec::new(), None);
    loop {
        let page = session.tx.list(&filter, after.as_ref(), Some(PAGE)).await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(EntryPosition::after);
        // Quarantined entries stay hidden from readers, also from this list.
        let had_trials = |it: &Entry| !it.tallies.trials.is_empty() && it.quarantine.is_empty();
        all.extend(page.into_iter().filter(had_trials));
        if is_last {
            break;
        }
    }
    let mut report = impact::measure_impacts(all);
    report.entries.truncate(LISTED_MAX);
    let ids: Vec<EntryId> = report.entries.iter().map(|(it, _)| it.id).collect();
    session
        .record_exposures(&reader_context, &ids, ExposureChannel::Pull)
        .await?;
    Ok(report)
}

/// Returns the measured impact of one entry.
pub async fn measure_entry_impact(
    session: &mut WorkspaceSession,
    reader: &EntryReader,
    wanted: &str,
) -> Result<(EntryId, ImpactEstimate), ServiceError> {
    let details = super::show_entry(session, reader, wanted).await?;
    Ok((details.entry.id, details.entry.tallies.impact()))
}
