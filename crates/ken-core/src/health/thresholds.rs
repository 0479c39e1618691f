//! When the slow loop speaks: named limits, read from JSON, and which of them are reached.

use serde::{Deserialize, Serialize};

/// Names the form of the file.
pub const THRESHOLDS_SCHEMA: &str = "ken.health_thresholds.v1";

/// How much of each there may be; reaching a limit trips it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    pub schema: String,
    /// Insights that require action, and those that ask for attention.
    pub action_required: u64,
    pub attention: u64,
    /// Entries nobody confirmed for long and no code bears out.
    pub stale_entries: u64,
    /// Entries whose evidence changed or is gone.
    pub invalid_entries: u64,
    /// Contradictions nobody settled.
    pub contradictions: u64,
    /// Pairs of entries that seem to say the same.
    pub duplicate_pairs: u64,
    /// What got in the way within a week.
    pub friction_week: u64,
    /// Questions without a good answer, on this machine.
    pub missed_questions: u64,
    /// Runs that failed, in hundredths of those that ended.
    pub failed_percent: u64,
}

/// Why thresholds are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdsError {
    #[error("not thresholds: {0}")]
    Form(String),
    #[error("the thresholds are of form `{0}`; this ken reads `{THRESHOLDS_SCHEMA}`")]
    Schema(String),
    #[error("{0} must be at least 1: a limit of nothing is always reached")]
    Zero(&'static str),
}

/// What was counted, by the names of the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
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

/// A limit that is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tripped {
    pub threshold: &'static str,
    pub limit: u64,
    pub found: u64,
    /// The exact command that begins to deal with it.
    pub command: &'static str,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            schema: THRESHOLDS_SCHEMA.to_owned(),
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

impl Thresholds {
    /// Reads and checks limits; those that are not named keep their default.
    pub fn from_json(text: &str) -> Result<Self, ThresholdsError> {
        let read: Self =
            serde_json::from_str(text).map_err(|error| ThresholdsError::Form(error.to_string()))?;
        if read.schema != THRESHOLDS_SCHEMA {
            return Err(ThresholdsError::Schema(read.schema));
        }
        let zero = read.named().into_iter().find(|(_, limit, _)| *limit == 0);
        match zero {
            Some((name, _, _)) => Err(ThresholdsError::Zero(name)),
            None => Ok(read),
        }
    }

    /// Returns the limits that are reached.
    pub fn tripped(&self, counts: &Counts) -> Vec<Tripped> {
        let found = counts.named();
        let limits = self.named().into_iter().zip(found);
        limits
            .filter(|((_, limit, _), found)| limit <= found)
            .map(|((threshold, limit, command), found)| Tripped {
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
                "ken maintain stale_sweep",
            ),
            ("invalid_entries", self.invalid_entries, "ken reanchor"),
            (
                "contradictions",
                self.contradictions,
                "ken maintain contradiction",
            ),
            (
                "duplicate_pairs",
                self.duplicate_pairs,
                "ken maintain dedup",
            ),
            ("friction_week", self.friction_week, "ken friction report"),
            (
                "missed_questions",
                self.missed_questions,
                "ken search --unanswered",
            ),
            ("failed_percent", self.failed_percent, "ken run list"),
        ]
    }
}

impl Counts {
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
