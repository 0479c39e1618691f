//! Trust in a peer, and the weight of its entries.
//!
//! Trust is the 10th percentile of a Beta posterior over a window, so that a short history earns
//! little and an old one does not last. It only lowers scores; it admits nothing.

use crate::ledger::event::PeerTrustChanged;
use crate::trust::facts::BetaPosterior;
use crate::trust::posterior::beta_quantile;

/// Alpha and beta of the prior.
const PRIOR: f64 = 1.0;

/// Percentile that is reported as trust.
const PERCENTILE: f64 = 0.1;

/// Number of observations that the window holds; older ones fade.
///
/// Without it, trust can be farmed: after 100 successes, 42 failures are needed to lose half of it.
pub const TRUST_WINDOW: f64 = 40.0;

/// Factor per hop.
const HOP_FACTOR: f64 = 0.7;

/// Maximum weight of an entry of a peer.
pub const WEIGHT_MAX: f64 = 0.5;

/// Evidence that a success adds, in thousandths.
pub const SUCCESS_MILLI: u32 = 1_000;

/// Evidence that a failure adds, in thousandths. Failures count twice.
pub const FAILURE_MILLI: u32 = 2_000;

/// Observations about one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeerTrust {
    successes: f64,
    failures: f64,
}

impl PeerTrust {
    /// Computes the trust from observations in their order.
    pub fn from_history<'e>(history: impl IntoIterator<Item = &'e PeerTrustChanged>) -> Self {
        let mut trust = Self::default();
        for it in history {
            trust.observe(it.alpha_milli, it.beta_milli);
        }
        trust
    }

    /// Adds one observation, in thousandths.
    pub fn observe(&mut self, alpha_milli: u32, beta_milli: u32) {
        self.successes += f64::from(alpha_milli) / 1000.0;
        self.failures += f64::from(beta_milli) / 1000.0;
        let all = self.successes + self.failures;
        if all > TRUST_WINDOW {
            // Both sides shrink, so their ratio stays and only the certainty has a limit.
            let kept = TRUST_WINDOW / all;
            self.successes *= kept;
            self.failures *= kept;
        }
    }

    /// Returns the trust, which is the 10th percentile of the posterior.
    pub fn score(self) -> f64 {
        // The mean bounds the score even where the numeric quantile is off by a rounding error.
        beta_quantile(self.posterior(), PERCENTILE).min(self.mean())
    }

    /// Returns the mean of the posterior, which is never below the score.
    pub fn mean(self) -> f64 {
        self.posterior().mean()
    }

    /// Returns the observed failures.
    pub fn failures(self) -> f64 {
        self.failures
    }

    /// Returns the observed successes.
    pub fn successes(self) -> f64 {
        self.successes
    }

    fn posterior(self) -> BetaPosterior {
        BetaPosterior {
            alpha: PRIOR + self.successes,
            beta: PRIOR + self.failures,
        }
    }
}

/// Returns the factor for the score of an entry of a peer: `min(trust × 0.7^hops, limit, 0.5)`.
///
/// `limit` is a person's own limit. The publisher itself is one hop away.
pub fn foreign_weight(trust: f64, hops: u8, limit: Option<f64>) -> f64 {
    let by_hops = trust * libm::pow(HOP_FACTOR, f64::from(hops.max(1)));
    let weight = by_hops.min(limit.unwrap_or(WEIGHT_MAX)).min(WEIGHT_MAX);
    weight.max(0.0)
}
