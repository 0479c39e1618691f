//! Impact of entries, and the explanation of an entry's confidence.

use ken_core::ledger::entry::{Entry, ExposureCount};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::trust::facts::{BetaPosterior, Validity};
use ken_core::trust::impact::{ImpactEstimate, measure_impacts};
use ken_core::trust::review::ReviewPolicy;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::validity;

pub use ken_core::trust::impact::ImpactReport;

/// Confidence of an entry and the data it is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfidenceReport {
    pub validity: Validity,
    pub posterior: BetaPosterior,
    /// Exposures since the last confirmation.
    pub since: ExposureCount,
    pub policy: ReviewPolicy,
    pub impact: ImpactEstimate,
}

/// Returns the confidence of an entry and its explanation.
pub(crate) fn explain_confidence(
    engine: &mut Engine,
    entry: &Entry,
) -> Result<ConfidenceReport, EngineError> {
    let checked = validity::anchoring::validity_of(engine, [entry])?;
    let validity = checked.get(&entry.id).copied().unwrap_or_default();
    Ok(ConfidenceReport {
        validity,
        posterior: entry.posterior(validity, engine.now().date()),
        since: entry.exposures_since_confirmation(),
        policy: engine.review_policy()?,
        impact: entry.tallies.impact(),
    })
}

/// Returns the impact of all entries, including archived ones.
pub(crate) fn impact_report(engine: &Engine) -> Result<ImpactReport, EngineError> {
    let filter = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    Ok(measure_impacts(engine.index.list(&filter)?))
}
