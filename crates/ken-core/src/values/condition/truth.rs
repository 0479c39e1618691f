//! Kleene's three-valued logic: holds, broken or unverifiable.
//!
//! A broken part makes the whole broken, even if other parts are unverifiable.

use std::ops::Not;

use serde::Serialize;

/// The result of a condition. Ordered, so that conjunction is the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruthValue {
    Broken,
    /// The available data cannot decide.
    Unverifiable,
    Holds,
}

impl TruthValue {
    /// Every value, in order.
    pub const ALL: [Self; 3] = [Self::Broken, Self::Unverifiable, Self::Holds];

    /// Returns the conjunction: the lesser of the two, with `Broken < Unverifiable < Holds`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.min(other)
    }

    /// Returns the conjunction of all parts; `Holds` if there are none.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self::Holds, Self::and)
    }

    /// Returns the name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Unverifiable => "unverifiable",
            Self::Holds => "holds",
        }
    }
}

impl Not for TruthValue {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Broken => Self::Holds,
            // The negation of an unknown value is unknown.
            Self::Unverifiable => Self::Unverifiable,
            Self::Holds => Self::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TruthValue::{self, Broken as B, Holds as H, Unverifiable as U};

    #[test]
    fn not_and_and_follow_kleenes_truth_table() {
        assert_eq!([!H, !U, !B], [B, U, H]);
        let table = [
            (H, H, H),
            (H, U, U),
            (H, B, B),
            (U, H, U),
            (U, U, U),
            (U, B, B),
            (B, H, B),
            (B, U, B),
            (B, B, B),
        ];
        for (one, other, both) in table {
            assert_eq!(one.and(other), both, "{one:?} and {other:?}");
        }
    }

    #[test]
    fn all_is_and_over_every_part_and_nothing_holds() {
        assert_eq!(TruthValue::all([]), H);
        for one in [H, U, B] {
            for other in [H, U, B] {
                for third in [H, U, B] {
                    let expected = one.and(other).and(third);
                    assert_eq!(TruthValue::all([one, other, third]), expected);
                    assert_eq!(TruthValue::all([third, one, other]), expected);
                }
            }
        }
    }
}
