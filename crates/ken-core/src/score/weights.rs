//! Weights of the six signals, and when a set of them is refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Six;
use crate::workspace::Workspace;

/// The setting of a workspace that holds its own weights.
pub const SCORING_KEY: &str = "scoring";

/// How far from 1 the sum may be: what decimal fractions cannot say exactly.
const SUM_TOLERANCE: f64 = 1e-9;

/// How much each signal counts: each between 0 and 1, together 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Weights(Six);

/// Why weights are refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WeightsError {
    #[error(
        "weights need exactly these six numbers: semantic, thompson, freshness, status, thread, cooccurrence ({0})"
    )]
    NotSix(String),
    #[error("the weight of {name} is {value}; it must lie between 0 and 1")]
    OutOfRange { name: &'static str, value: f64 },
    #[error("the weights sum to {0}; they must sum to 1")]
    Sum(f64),
}

impl Default for Weights {
    fn default() -> Self {
        Self(Six {
            semantic: 0.38,
            thompson: 0.25,
            freshness: 0.15,
            status: 0.10,
            thread: 0.07,
            cooccurrence: 0.05,
        })
    }
}

impl Weights {
    /// Returns the weights a workspace chose; those of everybody hold where it chose none, or none that are sound.
    pub fn of(workspace: &Workspace) -> Option<Self> {
        Self::from_json(&workspace.config(SCORING_KEY)?.value).ok()
    }

    /// Reads and checks weights as a workspace keeps them.
    pub fn from_json(value: &Value) -> Result<Self, WeightsError> {
        let six =
            Six::deserialize(value).map_err(|error| WeightsError::NotSix(error.to_string()))?;
        Self(six).checked()
    }

    /// Returns the weights as a workspace keeps them.
    pub fn to_json(&self) -> Value {
        let named = self.named().into_iter();
        let members = named.map(|(name, value)| (name.to_owned(), Value::from(value)));
        Value::Object(members.collect())
    }

    /// Returns the weights by name, in the order of the signals.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        self.0.named()
    }

    fn checked(self) -> Result<Self, WeightsError> {
        for (name, value) in self.named() {
            if !(0.0..=1.0).contains(&value) {
                return Err(WeightsError::OutOfRange { name, value });
            }
        }
        let sum: f64 = self.named().iter().map(|(_, value)| value).sum();
        if SUM_TOLERANCE < (sum - 1.0).abs() {
            return Err(WeightsError::Sum(sum));
        }
        Ok(self)
    }
}
