//! Impact of entries, and the explanation of an entry's confidence.

use ken_core::ledger::entry::{Entry, ExposureCount};
use ken_core::ledger::event::{Feedback, FeedbackGiven};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};
use ken_core::trust::facts::{BetaPosterior, EntryFacts, Validity};
use ken_core::trust::impact::{ImpactEstimate, measure_impacts};
use ken_core::trust::outcome::effect::measure_effects;
use ken_core::trust::review::ReviewPolicy;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{runs, validity};

pub use ken_core::trust::impact::ImpactReport;
pub use ken_core::trust::outcome::effect::{EffectReport, EffectVerdict, ObservedEffect};

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

/// Feedback on all entries. It moves confidence and is not part of the measured impact, because
/// chance did not decide who gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackCounts {
    pub helpful: u64,
    pub unhelpful: u64,
}

/// Returns the number of helpful and unhelpful feedback events.
pub(crate) fn feedback_counts(engine: &Engine) -> Result<FeedbackCounts, EngineError> {
    let mut counts = FeedbackCounts::default();
    for recorded in engine.index.of_type::<FeedbackGiven>()? {
        match recorded.event.get::<FeedbackGiven>().map(|it| it.verdict) {
            Some(Feedback::Helpful) => counts.helpful += 1,
            Some(Feedback::Unhelpful) => counts.unhelpful += 1,
            None => {}
        }
    }
    Ok(counts)
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

/// Returns the facts of entries in their order, with a quick check against the code.
pub(crate) fn entry_facts(
    engine: &mut Engine,
    entries: &[Entry],
) -> Result<Vec<EntryFacts>, EngineError> {
    let checked = validity::anchoring::validity_of(engine, entries)?;
    let now = engine.now();
    let facts = entries
        .iter()
        .map(|entry| EntryFacts::from_entry(entry, checked.get(&entry.id).copied(), now));
    Ok(facts.collect())
}

/// Returns the effects of all entries on what programs observed of runs.
pub(crate) fn effect_report(engine: &Engine) -> Result<EffectReport, EngineError> {
    Ok(measure_effects(&runs::observed_runs(engine)?))
}

/// Returns the impact of all entries, including archived ones.
pub(crate) fn impact_report(engine: &Engine) -> Result<ImpactReport, EngineError> {
    let filter = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    Ok(measure_impacts(engine.index.list(&filter)?))
}
