//! What became of a condition: its truth, one sentence, and a place to look at.

use ken_core::condition::{Sense, Truth};

/// What came of holding a condition against a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub truth: Truth,
    /// One short sentence about what was found, true whether or not the condition is negated.
    pub why: String,
    pub at: Option<Place>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub path: String,
    /// Counted from 1.
    pub line: u32,
}

impl Outcome {
    pub(super) fn holds(why: String) -> Self {
        Self {
            truth: Truth::Holds,
            why,
            at: None,
        }
    }

    pub(super) fn broken(why: String) -> Self {
        Self {
            truth: Truth::Broken,
            why,
            at: None,
        }
    }

    pub(super) fn unverifiable(why: String) -> Self {
        Self {
            truth: Truth::Unverifiable,
            why,
            at: None,
        }
    }

    pub(super) fn at(mut self, path: &str, line: u32) -> Self {
        self.at = Some(Place {
            path: path.to_owned(),
            line,
        });
        self
    }

    pub(super) fn in_sense(mut self, sense: Sense) -> Self {
        match sense {
            Sense::Plain => {}
            Sense::Negated => self.truth = !self.truth,
        }
        self
    }
}
