//! Decay by review: a claim that is shown again and again and that nobody finds is laid aside.
//!
//! Silence counts only where somebody could have spoken: agents who were not shown the entry and did the work
//! in which it would have been found. How large a share of them is kept from seeing it follows from how near
//! the entry is to being laid aside. `docs/decisions/0015-trust.md` has the simulation behind the numbers.

use serde::{Deserialize, Serialize};

use crate::entry::Seen;
use crate::lift::Worth;
use crate::workspace::Workspace;

/// The key of the workspace's settings this policy is configured under.
pub const REVIEW_KEY: &str = "review";

/// When silence lays an entry aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewPolicy {
    /// Runs that showed the entry and brought no independent confirmation.
    pub reviews: u32,
    /// Chances to find it unseen that must have passed; zero is the strict rule.
    pub chances: u32,
    /// Whether entries are withheld at all.
    pub blind: bool,
}

/// Thousandths of agents that are kept from seeing an entry: once its worth is known well, as a rule, half
/// way to being laid aside, and when only chances are missing.
pub const SHARES_MILLI: [u16; 4] = [50, 100, 300, 500];

/// The width of the interval below which an entry's worth is known well.
pub const KNOWN_WIDTH: f64 = 0.2;

impl Default for ReviewPolicy {
    fn default() -> Self {
        Self {
            reviews: 10,
            chances: 18,
            blind: true,
        }
    }
}

impl ReviewPolicy {
    /// The rule that needs no chances.
    pub const STRICT: Self = Self {
        reviews: 10,
        chances: 0,
        blind: true,
    };

    /// Returns the policy of a workspace: the default one where its own is missing or not sound.
    pub fn of(workspace: &Workspace) -> Self {
        workspace.configured(REVIEW_KEY).unwrap_or_default()
    }

    /// Returns whether silence since the last confirmation lays an entry aside.
    pub fn is_over(self, since: Seen) -> bool {
        u64::from(self.reviews) <= since.shown && u64::from(self.chances) <= since.blind
    }

    /// Returns the share of agents, in thousandths, that are kept from seeing an entry.
    pub fn share_milli(self, since: Seen, worth: Worth) -> u16 {
        let [known, usual, halfway, waiting] = SHARES_MILLI;
        let reviews = u64::from(self.reviews);
        if !self.blind {
            return 0;
        }
        if reviews <= since.shown {
            return waiting;
        }
        if reviews <= 2 * since.shown {
            return halfway;
        }
        match worth {
            Worth::Measured(lift) if lift.width() < KNOWN_WIDTH => known,
            Worth::Measured(_) | Worth::TooFew { .. } => usual,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lift::Lift;

    const UNKNOWN: Worth = Worth::TooFew {
        shown: 0,
        withheld: 0,
    };

    fn seen(shown: u64, blind: u64) -> Seen {
        Seen { shown, blind }
    }

    #[test]
    fn dec_01_dec_02_ten_reviews_without_confirmation_are_enough_under_the_strict_rule() {
        assert!(!ReviewPolicy::STRICT.is_over(seen(9, 100)));
        assert!(ReviewPolicy::STRICT.is_over(seen(10, 0)));
    }

    #[test]
    fn dec_02_silence_counts_only_after_enough_chances() {
        let policy = ReviewPolicy::default();
        assert!(!policy.is_over(seen(1000, 17)));
        assert!(!policy.is_over(seen(9, 1000)));
        assert!(policy.is_over(seen(10, 18)));
    }

    #[test]
    fn dec_11_other_periods_are_allowed() {
        let policy = ReviewPolicy {
            reviews: 3,
            chances: 1,
            blind: true,
        };
        assert!(!policy.is_over(seen(2, 1)) && policy.is_over(seen(3, 1)));
    }

    #[test]
    fn c21_the_share_grows_as_an_entry_nears_archiving_and_shrinks_once_its_worth_is_known() {
        let policy = ReviewPolicy::default();
        let share = |shown, worth| policy.share_milli(seen(shown, 0), worth);
        let lift = |width: f64| {
            Worth::Measured(Lift {
                difference: 0.0,
                low: -width / 2.0,
                high: width / 2.0,
                shown: 100,
                withheld: 100,
            })
        };
        assert_eq!(
            [0, 4, 5, 9, 10, 99].map(|n| share(n, UNKNOWN)),
            [100, 100, 300, 300, 500, 500]
        );
        assert_eq!(share(0, lift(0.2)), 100);
        assert_eq!(share(0, lift(0.19)), 50);
        assert_eq!(share(10, lift(0.01)), 500);
        let off = ReviewPolicy {
            blind: false,
            ..policy
        };
        assert_eq!(off.share_milli(seen(50, 0), UNKNOWN), 0);
    }
}
