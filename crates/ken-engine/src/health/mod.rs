//! Health of the knowledge base: gathers the facts that the rules in the core need.
//!
//! There are two loops, neither with a timer. The fast loop (`report`) uses only the index and runs
//! when work begins or on request. The slow loop (`review`) also checks entries against the code
//! and writes a proposal only if a threshold is reached. Both write a local file and nothing to the
//! ledger.

pub(crate) mod days;
pub(crate) mod misses;
mod plateau;
pub(crate) mod report;
pub(crate) mod review;

use ken_core::health::{HealthFacts, RunOutcome};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter, LifecycleFilter};

use crate::engine::Engine;
use crate::error::EngineError;

pub use days::{HEALTH_DAYS_MAX, HealthDay};
pub use report::{HEALTH_FILE, HealthReport};
pub use review::{HealthProposal, HealthReview, PROPOSAL_FILE};

/// Gathers all facts for the rules. Reads no code and loads no model.
pub(crate) fn health_facts(engine: &mut Engine) -> Result<HealthFacts, EngineError> {
    let every = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    let entries = engine.index.list(&every)?;
    let missed = misses::missed_entries(engine)?;
    let outcomes = run_outcomes(engine)?;
    let workspace = engine.index.workspace()?;
    let now = engine.now();
    Ok(HealthFacts::new(now, entries, missed, outcomes, &workspace))
}

/// Returns the outcomes of all runs in the order they ended.
pub(crate) fn run_outcomes(engine: &Engine) -> Result<Vec<RunOutcome>, EngineError> {
    let runs = engine.past_runs()?.into_iter();
    Ok(runs.map(RunOutcome::from).collect())
}
