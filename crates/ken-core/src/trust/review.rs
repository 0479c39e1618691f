//! Review policy: archives entries that are shown often and never rediscovered independently.
//!
//! Silence counts only from agents that could have found the entry: they were not shown it and did
//! the work in which it applies. The holdout share grows as an entry nears archiving. The
//! simulation behind the numbers is in `docs/decisions/0015-trust.md`.

use serde::{Deserialize, Serialize};

use crate::ledger::entry::{Entry, ExposureCount};
use crate::ledger::workspace::WorkspaceState;
use crate::trust::impact::ImpactEstimate;
use crate::trust::rediscovery::RediscoveryPolicy;

/// Workspace setting that holds the policy.
pub const REVIEW_KEY: &str = "review";

/// The conditions under which silence archives an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewPolicy {
    /// Runs that showed the entry without an independent confirmation.
    pub reviews: u32,
    /// Missed chances of agents that were not shown the entry; zero is the strict rule.
    pub chances: u32,
    /// Enables the holdout.
    pub blind: bool,
    /// Use of the belief in an entry. A setting of its own, so that older builds can still read
    /// this one.
    #[serde(skip)]
    pub rediscovery: RediscoveryPolicy,
}

/// The part of the readers from whom an entry is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldoutShare {
    /// Thousandths of runs in which it is withheld from anyone.
    pub runs_milli: u16,
    /// Thousandths of such runs in which it is withheld from a single agent.
    pub alone_milli: u16,
    /// Thousandths of the agents of such a run, besides the one that never sees it.
    pub agents_milli: u16,
}

impl HoldoutShare {
    /// Withholds nothing.
    pub const NONE: Self = Self::in_every_run(0);

    /// Returns a share of the agents of every run.
    pub const fn in_every_run(share_milli: u16) -> Self {
        Self {
            runs_milli: 1000,
            alone_milli: share_milli,
            agents_milli: share_milli,
        }
    }
}

/// Holdout shares in thousandths: impact well known, default, halfway to archiving, and only
/// chances missing.
pub const HOLDOUT_SHARES_MILLI: [u16; 4] = [50, 100, 300, 500];

/// Width of the confidence interval below which an entry's impact is well known.
pub const KNOWN_IMPACT_WIDTH: f64 = 0.2;

impl Default for ReviewPolicy {
    fn default() -> Self {
        Self {
            reviews: 10,
            chances: 18,
            blind: true,
            rediscovery: RediscoveryPolicy::OBSERVE,
        }
    }
}

impl ReviewPolicy {
    /// The rule that requires no missed chances.
    pub const STRICT: Self = Self {
        reviews: 10,
        chances: 0,
        blind: true,
        rediscovery: RediscoveryPolicy::OBSERVE,
    };

    /// Returns the policy of a workspace, or the default if it is missing or invalid.
    pub fn from_workspace(workspace: &WorkspaceState) -> Self {
        let own: Self = workspace.configured(REVIEW_KEY).unwrap_or_default();
        Self {
            rediscovery: RediscoveryPolicy::from_workspace(workspace),
            ..own
        }
    }

    /// Returns whether silence archives an entry that was seen so often since its last
    /// confirmation.
    pub fn archives_entry(self, entry: &Entry, since: ExposureCount) -> bool {
        let by_belief = self.rediscovery.archives(entry);
        by_belief.unwrap_or_else(|| self.archives(since))
    }

    /// Returns whether the silence since the last confirmation archives an entry.
    pub fn archives(self, since: ExposureCount) -> bool {
        since.shown >= u64::from(self.reviews) && since.blind >= u64::from(self.chances)
    }

    /// Returns the holdout share of an entry, in thousandths of agents.
    pub fn holdout_share_milli(self, since: ExposureCount, impact: ImpactEstimate) -> u16 {
        let [known, usual, halfway, waiting] = HOLDOUT_SHARES_MILLI;
        let reviews = u64::from(self.reviews);
        if !self.blind {
            return 0;
        }
        // Archiving comes before impact: an entry close to it needs chances to be rediscovered.
        if since.shown >= reviews {
            return waiting;
        }
        if 2 * since.shown >= reviews {
            return halfway;
        }
        match impact {
            ImpactEstimate::Measured(lift) if lift.width() < KNOWN_IMPACT_WIDTH => known,
            ImpactEstimate::Measured(_) | ImpactEstimate::TooFew { .. } => usual,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::impact::MeasuredImpact;

    const UNKNOWN: ImpactEstimate = ImpactEstimate::TooFew {
        shown: 0,
        withheld: 0,
    };

    fn seen(shown: u64, blind: u64) -> ExposureCount {
        ExposureCount { shown, blind }
    }

    #[test]
    fn ten_reviews_without_confirmation_are_enough_under_the_strict_rule() {
        assert!(!ReviewPolicy::STRICT.archives(seen(9, 100)));
        assert!(ReviewPolicy::STRICT.archives(seen(10, 0)));
    }

    #[test]
    fn silence_counts_only_after_enough_chances() {
        let policy = ReviewPolicy::default();
        assert!(!policy.archives(seen(1000, 17)));
        assert!(!policy.archives(seen(9, 1000)));
        assert!(policy.archives(seen(10, 18)));
    }

    #[test]
    fn other_periods_are_allowed() {
        let policy = ReviewPolicy {
            reviews: 3,
            chances: 1,
            ..ReviewPolicy::default()
        };
        assert!(!policy.archives(seen(2, 1)) && policy.archives(seen(3, 1)));
    }

    #[test]
    fn the_share_grows_as_an_entry_nears_archiving_and_shrinks_once_its_worth_is_known() {
        let policy = ReviewPolicy::default();
        let share = |shown, impact| policy.holdout_share_milli(seen(shown, 0), impact);
        let lift = |width: f64| {
            ImpactEstimate::Measured(MeasuredImpact {
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
        assert_eq!(off.holdout_share_milli(seen(50, 0), UNKNOWN), 0);
    }
}
