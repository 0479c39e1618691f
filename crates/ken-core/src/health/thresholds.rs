//! Health thresholds: named limits read from JSON, and the check against current counts.

use serde::{Deserialize, Serialize};

/// Schema name of the thresholds file.
pub const THRESHOLDS_SCHEMA: &str = "ken.health_thresholds.v1";

/// The limits; a count that reaches its limit trips it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HealthThresholds {
    pub schema: String,
    /// Insights that require action.
    pub action_required: u64,
    /// Insights that ask for attention.
    pub attention: u64,
    /// Entries that are neither recently confirmed nor valid against the code.
    pub stale_entries: u64,
    /// Entries whose anchors changed or are gone.
    pub invalid_entries: u64,
    /// Unresolved contradictions.
    pub contradictions: u64,
    /// Pairs of probable duplicates.
    pub duplicate_pairs: u64,
    /// Friction reports within one week.
    pub friction_week: u64,
    /// Queries without a good hit, on this machine.
    pub missed_questions: u64,
    /// Failed runs, in percent of ended runs.
    pub failed_percent: u64,
}

/// An invalid thresholds file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthThresholdsError {
    #[error("not a valid thresholds file: {0}")]
    Form(String),
    #[error(
        "the thresholds have the schema `{0}`; this version of Ken reads `{THRESHOLDS_SCHEMA}`"
    )]
    Schema(String),
    #[error("{0} must be at least 1: a limit of 0 is always reached")]
    Zero(&'static str),
}

/// The current counts, named like the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthCounts {
    pub action_required: u64,
    pub attention: u64,
    pub stale_entries: u64,
    pub invalid_entries: u64,
    pub contradictions: u64,
    pub duplicate_pairs: u64,
    pub friction_week: u64,
    pub missed_questions: u64,
    pub failed_percent: u64,
}

/// A threshold that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrippedThreshold {
    pub threshold: &'static str,
    pub limit: u64,
    pub found: u64,
    /// The exact command to start with.
    pub command: &'static str,
}

impl Default for HealthThresholds {
    fn default() -> Self {
        Self {
            schema: THRESHOLDS_SCHEMA.to_owned(),
            // Wrong knowledge trips at the first case, gradual problems only in numbers.
            action_required: 1,
            attention: 5,
            stale_entries: 10,
            invalid_entries: 1,
            contradictions: 1,
            duplicate_pairs: 5,
            friction_week: 10,
            missed_questions: 20,
            failed_percent: 50,
        }
    }
}

impl HealthThresholds {
    /// Parses and validates limits; missing ones keep their default.
    pub fn from_json(text: &str) -> Result<Self, HealthThresholdsError> {
        let read: Self = serde_json::from_str(text)
            .map_err(|error| HealthThresholdsError::Form(error.to_string()))?;
        if read.schema != THRESHOLDS_SCHEMA {
            return Err(HealthThresholdsError::Schema(read.schema));
        }
        // Every count reaches a limit of 0, so such a threshold would trip forever.
        let zero = read.named().into_iter().find(|(_, limit, _)| *limit == 0);
        match zero {
            Some((name, _, _)) => Err(HealthThresholdsError::Zero(name)),
            None => Ok(read),
        }
    }

    /// Returns the thresholds that `counts` reach.
    pub fn tripped(&self, counts: &HealthCounts) -> Vec<TrippedThreshold> {
        let found = counts.named();
        // Both `named` methods list the fields in the same order.
        let limits = self.named().into_iter().zip(found);
        limits
            .filter(|((_, limit, _), found)| found >= limit)
            .map(|((threshold, limit, command), found)| TrippedThreshold {
                threshold,
                limit,
                found,
                command,
            })
            .collect()
    }

    fn named(&self) -> [(&'static str, u64, &'static str); 9] {
        [
            ("action_required", self.action_required, "ken health report"),
            ("attention", self.attention, "ken health report"),
            (
                "stale_entries",
                self.stale_entries,
                "ken health maintain stale_sweep",
            ),
            (
                "invalid_entries",
                self.invalid_entries,
                "ken entry reanchor",
            ),
            (
                "contradictions",
                self.contradictions,
                "ken health maintain contradiction",
            ),
            (
                "duplicate_pairs",
                self.duplicate_pairs,
                "ken health maintain dedup",
            ),
            (
                "friction_week",
                self.friction_week,
                "ken health friction report",
            ),
            (
                "missed_questions",
                self.missed_questions,
                "ken search --unanswered",
            ),
            ("failed_percent", self.failed_percent, "ken run list"),
        ]
    }
}

impl HealthCounts {
    fn named(&self) -> [u64; 9] {
        [
            self.action_required,
            self.attention,
            self.stale_entries,
            self.invalid_entries,
            self.contradictions,
            self.duplicate_pairs,
            self.friction_week,
            self.missed_questions,
            self.failed_percent,
        ]
    }
}
