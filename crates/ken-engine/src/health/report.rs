//! Fast loop: the health report from the index, stored for the start of the next session.

use std::collections::BTreeMap;

use ken_core::health::history::{
    OutcomeAdvice, OutcomeSummary, escalations, recommendations, summarize_outcomes,
};
use ken_core::health::{HealthFacts, HealthInsight, InsightSeverity, evaluate_rules};
use ken_core::values::status::EntryStatus;
use ken_core::values::time::Timestamp;
use ken_ledger::{Dir as _, DiskError};
use serde::{Deserialize, Serialize};

use super::days::{self, HealthDay};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::write_atomically;
use crate::maintenance::{self, MaintenanceStatus};
use crate::notice::EngineNotice;

/// Path of the latest report, below `.ken/`.
pub const HEALTH_FILE: &str = ".local/health/latest.json";

/// Maximum bytes of the ledger for which the report is updated while an agent waits for a briefing:
/// about 5,000 entries and 200 ms.
pub(crate) const LEDGER_BYTES_ON_BRIEF_MAX: u64 = 4 * 1024 * 1024;

/// The same for the start hook, which delays every session: about 50 ms.
pub(crate) const LEDGER_BYTES_ON_START_MAX: u64 = 1024 * 1024;

/// Health report.
#[derive(Clone, Debug, Serialize)]
pub struct HealthReport {
    pub schema: &'static str,
    pub at: Timestamp,
    /// State the report was computed from; the same state yields the same report.
    pub state: String,
    /// Number of live entries by status.
    pub entries: BTreeMap<&'static str, u64>,
    pub insights: Vec<HealthInsight>,
    pub outcomes: OutcomeSummary,
    /// Advice for a person because runs keep failing.
    pub escalations: Vec<OutcomeAdvice>,
    /// Advice about settings, derived from outcomes; nothing is changed automatically.
    pub recommendations: Vec<OutcomeAdvice>,
    pub maintenance: MaintenanceStatus,
    /// Set if the report is in [`HEALTH_FILE`]; a read-only checkout has none.
    #[serde(skip)]
    pub is_stored: bool,
}

/// Member of a stored report that identifies its state.
#[derive(Deserialize)]
struct StoredReportState {
    state: String,
}

/// Computes the health report and stores it on this machine.
pub(crate) fn health_report(engine: &mut Engine) -> Result<HealthReport, EngineError> {
    let facts = engine.health_facts()?;
    build_health_report(engine, &facts)
}

/// Computes and stores the report from given facts.
pub(super) fn build_health_report(
    engine: &mut Engine,
    facts: &HealthFacts,
) -> Result<HealthReport, EngineError> {
    // All statuses appear, also with a count of zero. `EntryStatus::ALL` is in discriminant
    // order.
    let mut entries = EntryStatus::ALL.map(|status| (status.name(), 0));
    for entry in &facts.entries {
        entries[entry.status.value as usize].1 += 1;
    }
    let mut recommended = recommendations(facts);
    recommended.extend(super::plateau::plateau_advice(facts));
    let mut report = HealthReport {
        schema: "ken.health_report.v1",
        at: facts.now,
        state: health_state(engine)?,
        entries: entries.into(),
        insights: evaluate_rules(facts),
        outcomes: summarize_outcomes(facts),
        escalations: escalations(facts),
        recommendations: recommended,
        maintenance: maintenance::maintenance_status_from(engine, &facts.outcomes)?,
        is_stored: true,
    };
    let day = HealthDay::new(facts, &report.insights);
    let stored = write_local(engine, HEALTH_FILE, &report);
    match stored.and_then(|()| days::store_day(engine, day)) {
        Err(error) if error.is_unwritable() => report.is_stored = false,
        written => written?,
    }
    Ok(report)
}

/// Updates the report when work begins, and adds a notice if something requires action.
pub(crate) fn update_health_report(engine: &mut Engine) {
    let urgent = refresh_health_report(engine);
    if urgent > 0 {
        engine
            .notices
            .push(EngineNotice::ActionRequired { matters: urgent });
    }
}

/// Updates the report if the state changed. Returns the number of new insights that require
/// action. Errors are ignored.
fn refresh_health_report(engine: &mut Engine) -> usize {
    if health_state(engine).is_ok_and(|now| is_report_current(engine, &now)) {
        return 0;
    }
    // Work must be possible in a read-only repository, so a failed write is not an error.
    let insights = engine.health_report().map(|it| it.insights);
    let mut found = insights.unwrap_or_default();
    found.retain(|it| it.severity == InsightSeverity::ActionRequired);
    found.len()
}

/// Updates the report while a caller waits, but only if the ledger has at most `bytes_max`.
pub(crate) fn update_small_health_report(engine: &mut Engine, bytes_max: u64) {
    let listed = engine.ledger.list().unwrap_or_default();
    if listed.iter().map(|it| it.len).sum::<u64>() <= bytes_max {
        refresh_health_report(engine);
    }
}

/// Returns true if the stored report is about `state`.
fn is_report_current(engine: &Engine, state: &str) -> bool {
    let read = engine.ken.read(HEALTH_FILE).ok();
    let written = read.and_then(|it| serde_json::from_slice::<StoredReportState>(&it).ok());
    written.is_some_and(|it| it.state == state)
}

/// Returns the state a report depends on: the files of the ledger and the date.
fn health_state(engine: &Engine) -> Result<String, EngineError> {
    // Rules use ages in days, so a report is valid for one day.
    let day = engine.now().date();
    Ok(format!("{}/{day}", ledger_state(engine)?))
}

/// Returns a hash of the names and lengths of the segments.
pub(crate) fn ledger_state(engine: &Engine) -> Result<String, EngineError> {
    // Segments are append-only, so names and lengths identify their contents without reading.
    let mut hasher = blake3::Hasher::new();
    for stat in engine.ledger.list()? {
        hasher.update(stat.name.path().as_bytes());
        hasher.update(&stat.len.to_le_bytes());
    }
    let hash = hasher.finalize().to_hex();
    Ok(format!("b3:{}", &hash[..16]))
}

/// Writes a JSON object to a local file.
pub(crate) fn write_local(
    engine: &Engine,
    path: &'static str,
    object: &impl Serialize,
) -> Result<(), EngineError> {
    let mut text = serde_json::to_string_pretty(object).expect("reports are plain data");
    text.push('\n');
    let dir = &*engine.ken;
    Ok(write_atomically(dir, path, text.as_bytes()).map_err(DiskError::on("write", path))?)
}
