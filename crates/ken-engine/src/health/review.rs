//! Slow loop: counts problems, checks the code, and writes a proposal if a threshold is reached.

use std::collections::BTreeSet;
use std::io;

use ken_core::health::drift::DriftSignal;
use ken_core::health::history::summarize_outcomes;
use ken_core::health::thresholds::{HealthCounts, HealthThresholds, TrippedThreshold};
use ken_core::health::{HealthInsight, InsightSeverity, evaluate_rules};
use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;
use ken_ledger::{Dir as _, DiskError};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::health::report;

/// Path of the proposal, below `.ken/`.
pub const PROPOSAL_FILE: &str = ".local/review/proposal.json";

/// Number of days for which friction counts.
const FRICTION_DAYS: u32 = 7;

/// Minimum number of runs for a meaningful failure rate.
const FAILED_RUNS_MIN: u64 = 5;

/// Result of a review.
#[derive(Clone, Debug, Serialize)]
pub struct HealthReview {
    pub schema: &'static str,
    pub counts: HealthCounts,
    pub tripped: Vec<TrippedThreshold>,
    /// File of the proposal; `None` if no threshold is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
}

/// Proposed actions, for a person to decide.
#[derive(Clone, Debug, Serialize)]
pub struct HealthProposal<'a> {
    pub schema: &'static str,
    pub at: Timestamp,
    pub thresholds: &'a HealthThresholds,
    pub counts: &'a HealthCounts,
    pub tripped: &'a [TrippedThreshold],
    pub insights: Vec<HealthInsight>,
}

/// Counts problems. Writes a proposal if a threshold is reached, else deletes an old one.
pub(crate) fn health_review(
    engine: &mut Engine,
    thresholds: &HealthThresholds,
) -> Result<HealthReview, EngineError> {
    let facts = engine.health_facts()?;
    let found = evaluate_rules(&facts);
    let ended = summarize_outcomes(&facts);
    let counts = HealthCounts {
        action_required: count_severity(&found, InsightSeverity::ActionRequired),
        attention: count_severity(&found, InsightSeverity::Attention),
        stale_entries: count_stale(engine)?,
        invalid_entries: engine.invalid_entries()?.len() as u64,
        contradictions: engine.open_contradictions()?.len() as u64,
        duplicate_pairs: engine.duplicate_pairs(0)?.total as u64,
        friction_week: count_friction(engine)?,
        missed_questions: engine.unanswered_queries()?.len() as u64,
        failed_percent: match ended.runs {
            runs if runs < FAILED_RUNS_MIN => 0,
            runs => 100 * ended.failed / runs,
        },
    };
    let tripped = thresholds.tripped(&counts);
    let is_reached = !tripped.is_empty();
    if is_reached {
        report::write_local(
            engine,
            PROPOSAL_FILE,
            &HealthProposal {
                schema: "ken.health_proposal.v1",
                at: facts.now,
                thresholds,
                counts: &counts,
                tripped: &tripped,
                insights: found,
            },
        )?;
    } else {
        delete_health_proposal(engine)?;
    }
    Ok(HealthReview {
        schema: "ken.health_review.v1",
        counts,
        tripped,
        proposal: is_reached.then(|| format!(".ken/{PROPOSAL_FILE}")),
    })
}

/// Deletes the proposal: without a threshold behind it, it would be misleading.
fn delete_health_proposal(engine: &Engine) -> Result<(), EngineError> {
    let removed = engine.ken.remove(PROPOSAL_FILE);
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => Ok(other.map_err(DiskError::on("remove", PROPOSAL_FILE))?),
    }
}

/// Counts the entries with a stale signal.
fn count_stale(engine: &mut Engine) -> Result<u64, EngineError> {
    let drifting = engine.drift()?.into_iter();
    let signals = drifting.filter(|it| it.signal == DriftSignal::Stale);
    // A set: one entry may have several signals.
    let stale: BTreeSet<EntryId> = signals.flat_map(|it| it.entries).collect();
    Ok(stale.len() as u64)
}

/// Counts the recent friction.
fn count_friction(engine: &Engine) -> Result<u64, EngineError> {
    let today = engine.now().date();
    let records = engine.friction_records()?.into_iter();
    let recent = records.filter(|(_, on)| today.days_since(*on) <= FRICTION_DAYS);
    Ok(recent.count() as u64)
}

/// Counts the insights of a severity.
fn count_severity(insights: &[HealthInsight], severity: InsightSeverity) -> u64 {
    insights.iter().filter(|it| it.severity == severity).count() as u64
}
