//! Co-occurrence: entries used together so often that one entry could replace them.
//!
//! Nothing is stored: clusters are computed from the usage that runs left in each entry.

use ken_core::ledger::cooccurrence::{EntryCluster, cooccurrence_edges, find_clusters};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};

use crate::engine::Engine;
use crate::error::EngineError;

/// Returns clusters of live entries that are worth distilling.
pub(crate) fn distillation_candidates(engine: &Engine) -> Result<Vec<EntryCluster>, EngineError> {
    let entries = engine.index.list(&EntryFilter::default())?;
    let mut found = find_clusters(&cooccurrence_edges(&entries, engine.now().date()));
    found.retain(EntryCluster::is_worth_distilling);
    Ok(found)
}
