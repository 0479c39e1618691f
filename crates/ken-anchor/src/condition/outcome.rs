//! Outcome of a condition: truth value, reason and location.

use ken_core::values::condition::{ConditionSense, TruthValue};

/// Outcome of evaluating a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionOutcome {
    pub truth: TruthValue,
    /// One short sentence about the finding, true also if the condition is negated.
    pub why: String,
    pub at: Option<FileLine>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileLine {
    pub path: String,
    /// Counted from 1.
    pub line: u32,
}

impl ConditionOutcome {
    pub(super) fn holds(why: String) -> Self {
        Self {
            truth: TruthValue::Holds,
            why,
            at: None,
        }
    }

    pub(super) fn broken(why: String) -> Self {
        Self {
            truth: TruthValue::Broken,
            why,
            at: None,
        }
    }

    pub(super) fn unverifiable(why: String) -> Self {
        Self {
            truth: TruthValue::Unverifiable,
            why,
            at: None,
        }
    }

    pub(super) fn at(mut self, path: &str, line: u32) -> Self {
        self.at = Some(FileLine {
            path: path.to_owned(),
            line,
        });
        self
    }

    pub(super) fn apply_sense(mut self, sense: ConditionSense) -> Self {
        match sense {
            ConditionSense::Plain => {}
            // Negation keeps `Unverifiable`: an unreadable file does not make the opposite true.
            ConditionSense::Negated => self.truth = !self.truth,
        }
        self
    }
}
