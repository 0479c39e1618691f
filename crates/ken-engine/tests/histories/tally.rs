//! Counts of operations, for printing and adding up.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationCounts(BTreeMap<String, u64>);

impl OperationCounts {
    pub(crate) fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    pub(crate) fn add(&mut self, what: &str, number: u64) {
        *self.0.entry(what.to_owned()).or_default() += number;
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (what, number) in &other.0 {
            self.add(what, *number);
        }
    }
}

impl fmt::Display for OperationCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|(what, number)| writeln!(f, "  {number:>8}  {what}"))
    }
}
