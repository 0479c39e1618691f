//! Weights of the ranking signals and their validation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SignalVector;
use crate::ledger::workspace::WorkspaceState;

/// Workspace setting that holds the weights.
pub const SCORING_KEY: &str = "scoring";

/// Tolerated deviation of the sum from 1, because decimal fractions are inexact in binary.
const SUM_TOLERANCE: f64 = 1e-9;

/// The weight of each signal: each in [0, 1], summing to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RankingWeights(SignalVector);

/// The reason why weights are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RankingWeightsError {
    #[error(
        "weights need exactly these six numbers: semantic, thompson, freshness, status, thread, cooccurrence ({0})"
    )]
    NotSix(String),
    #[error("the weight of {name} is {value}; it must be between 0 and 1")]
    OutOfRange { name: &'static str, value: f64 },
    #[error("the weights sum to {0}; they must sum to 1")]
    Sum(f64),
}

impl Default for RankingWeights {
    fn default() -> Self {
        Self(SignalVector {
            semantic: 0.38,
            thompson: 0.25,
            freshness: 0.15,
            status: 0.10,
            thread: 0.07,
            cooccurrence: 0.05,
        })
    }
}

impl RankingWeights {
    /// Returns the weights of a workspace; `None` if they are missing or invalid.
    pub fn from_workspace(workspace: &WorkspaceState) -> Option<Self> {
        Self::from_json(&workspace.config(SCORING_KEY)?.value).ok()
    }

    /// Parses and validates weights from a workspace setting.
    pub fn from_json(value: &Value) -> Result<Self, RankingWeightsError> {
        // Unknown and missing names are errors: a misspelled signal must not get the weight 0.
        let six = SignalVector::deserialize(value)
            .map_err(|error| RankingWeightsError::NotSix(error.to_string()))?;
        Self(six).checked()
    }

    /// Returns the weights as a workspace setting.
    pub fn to_json(&self) -> Value {
        let named = self.named().into_iter();
        let members = named.map(|(name, value)| (name.to_owned(), Value::from(value)));
        Value::Object(members.collect())
    }

    /// Returns the weight of freshness.
    pub fn freshness(&self) -> f64 {
        self.0.freshness
    }

    /// Returns the weights with their names, in the order of the signals.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        self.0.named()
    }

    fn checked(self) -> Result<Self, RankingWeightsError> {
        for (name, value) in self.named() {
            // `contains` also rejects NaN.
            if !(0.0..=1.0).contains(&value) {
                return Err(RankingWeightsError::OutOfRange { name, value });
            }
        }
        let sum: f64 = self.named().iter().map(|(_, value)| value).sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(RankingWeightsError::Sum(sum));
        }
        Ok(self)
    }
}
