//! Three-valued truth: what is known to hold, known to be broken, or cannot be told.
//!
//! The logic is Kleene's: a broken part breaks the whole whatever else is unknown.

use std::ops::Not;

use serde::Serialize;

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    Broken,
    /// Nothing at hand can tell.
    Unverifiable,
    Holds,
}

impl Truth {
    pub const ALL: [Self; 3] = [Self::Broken, Self::Unverifiable, Self::Holds];

    /// Returns whether both hold: the lesser of the two, `Broken < Unverifiable < Holds`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.min(other)
    }

    /// Returns whether all hold; nothing to hold holds.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self::Holds, Self::and)
    }

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Unverifiable => "unverifiable",
            Self::Holds => "holds",
        }
    }
}

impl Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Broken => Self::Holds,
            Self::Unverifiable => Self::Unverifiable,
            Self::Holds => Self::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Truth::{self, Broken as B, Holds as H, Unverifiable as U};

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
        assert_eq!(Truth::all([]), H);
        for one in [H, U, B] {
            for other in [H, U, B] {
                for third in [H, U, B] {
                    let expected = one.and(other).and(third);
                    assert_eq!(Truth::all([one, other, third]), expected);
                    assert_eq!(Truth::all([third, one, other]), expected);
                }
            }
        }
    }
}
