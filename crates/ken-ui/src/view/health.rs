//! Data of health, impact and statistics.

use std::collections::BTreeMap;

use ken_core::health::HealthInsight;
use ken_core::health::drift::DriftFinding;
use ken_core::health::history::{OutcomeAdvice, OutcomeSummary};
use ken_core::ledger::entry::Entry;
use ken_core::trust::impact::ImpactEstimate;
use ken_core::trust::outcome::effect::EffectReport;
use ken_core::values::id::EntryId;
use ken_core::values::time::{Date, Timestamp};

/// The health report with its trends.
#[derive(Clone, Debug)]
pub struct HealthView {
    pub at: Timestamp,
    pub counts: BTreeMap<&'static str, u64>,
    pub insights: Vec<HealthInsight>,
    pub outcomes: OutcomeSummary,
    pub escalations: Vec<OutcomeAdvice>,
    pub recommendations: Vec<OutcomeAdvice>,
    pub services: Vec<MaintenanceServiceView>,
    pub trends: Vec<TrendSeries>,
    pub drift: Vec<DriftFinding>,
    /// Live entries by runs since their last confirmation (0 to 10 and more) and by chances to find
    /// them unseen (0 to 18 and more, in steps of two).
    pub exposure_grid: Vec<Vec<u64>>,
}

/// One maintenance service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaintenanceServiceView {
    /// The name in commands and forms.
    pub name: String,
    pub title: String,
    pub is_due: bool,
    pub is_automatic: bool,
    pub last: Option<Timestamp>,
    pub command: String,
    /// What the service would change, as far as it is known.
    pub preview: Vec<String>,
}

/// A number per day.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendSeries {
    pub title: String,
    pub points: Vec<(Date, f64)>,
}

/// The impact of entries.
#[derive(Clone, Debug)]
pub struct ImpactView {
    pub all: ImpactEstimate,
    pub entries: Vec<(Entry, ImpactEstimate)>,
    /// From what hooks, git and CI observed; `None` where nothing was.
    pub observed: Option<EffectReport>,
    /// Titles of the entries in it.
    pub titles: BTreeMap<EntryId, String>,
}

/// Queries and answers of one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayCount {
    pub on: Date,
    pub queries: u64,
    pub answered: u64,
    pub shown: u64,
}

/// Usage of the knowledge base.
#[derive(Clone, Debug, Default)]
pub struct StatsView {
    pub days: Vec<DayCount>,
    /// Totals with their names, in the order of `ken health stats`.
    pub totals: Vec<(String, String)>,
    /// Queries without a relevant hit: query, times, last day.
    pub unanswered: Vec<(String, u64, Date)>,
}
