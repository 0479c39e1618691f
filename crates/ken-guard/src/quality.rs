//! Quality score of a new entry before its first use: seven weighted signals (SEC-14 to SEC-17).
//!
//! The weights are in `docs/decisions/0018-guard.md`. No signal measures how well the text fits a
//! query or whether its run succeeded: neither shows that a claim is true (SEC-17).

/// Score below which an entry is rejected (SEC-15).
pub const REJECT_BELOW: f64 = 0.25;
/// Score below which an entry is quarantined (SEC-16).
pub const QUARANTINE_BELOW: f64 = 0.35;
/// As [`QUARANTINE_BELOW`], for entries from other workspaces.
pub const QUARANTINE_FOREIGN_BELOW: f64 = 0.40;

/// Quality signals of a new entry, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualitySignals {
    /// Confidence of the author.
    pub confidence: f64,
    /// Result of the scan.
    pub scanner: f64,
    /// Completeness of the recorded provenance.
    pub provenance: f64,
    /// Trust in the origin.
    pub trust: f64,
    /// Number of witnesses.
    pub mass: f64,
    /// Prior quality of its kind of content.
    pub prior: f64,
    /// Freshness of its sources.
    pub recency: f64,
}

/// Weight of each signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualityWeights {
    pub confidence: f64,
    pub scanner: f64,
    pub provenance: f64,
    pub trust: f64,
    pub mass: f64,
    pub prior: f64,
    pub recency: f64,
}

impl Default for QualityWeights {
    fn default() -> Self {
        Self {
            confidence: 0.15,
            scanner: 0.20,
            provenance: 0.20,
            trust: 0.20,
            mass: 0.05,
            prior: 0.10,
            recency: 0.10,
        }
    }
}

/// Source of an entry: this workspace or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceOrigin {
    Own,
    Foreign,
}

/// Decision based on the score alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QualityVerdict {
    Admit,
    Demote,
    Reject,
}

impl QualitySignals {
    /// Returns the weighted mean, from 0 to 1. Non-positive weights are ignored.
    pub fn score(&self, weights: &QualityWeights) -> f64 {
        let pairs = [
            (self.confidence, weights.confidence),
            (self.scanner, weights.scanner),
            (self.provenance, weights.provenance),
            (self.trust, weights.trust),
            (self.mass, weights.mass),
            (self.prior, weights.prior),
            (self.recency, weights.recency),
        ];
        // A misconfigured weight must not turn a strength into a penalty.
        let pairs = pairs.map(|(signal, weight)| (signal.clamp(0.0, 1.0), weight.max(0.0)));
        let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
        // 0/0 is NaN, which is below no threshold: the entry would be admitted.
        if total == 0.0 {
            return 0.0;
        }
        pairs
            .iter()
            .map(|(signal, weight)| signal * weight)
            .sum::<f64>()
            / total
    }
}

/// Decides by the score.
pub fn decide_by_score(score: f64, reach: WorkspaceOrigin) -> QualityVerdict {
    let demote_below = match reach {
        WorkspaceOrigin::Own => QUARANTINE_BELOW,
        WorkspaceOrigin::Foreign => QUARANTINE_FOREIGN_BELOW,
    };
    if score < REJECT_BELOW {
        QualityVerdict::Reject
    } else if score < demote_below {
        QualityVerdict::Demote
    } else {
        QualityVerdict::Admit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: QualitySignals = QualitySignals {
        confidence: 0.0,
        scanner: 0.0,
        provenance: 0.0,
        trust: 0.0,
        mass: 0.0,
        prior: 0.0,
        recency: 0.0,
    };

    #[test]
    fn seven_signals_each_count_and_the_weights_add_up() {
        let weights = QualityWeights::default();
        let alone = [
            QualitySignals {
                confidence: 1.0,
                ..NONE
            },
            QualitySignals {
                scanner: 1.0,
                ..NONE
            },
            QualitySignals {
                provenance: 1.0,
                ..NONE
            },
            QualitySignals { trust: 1.0, ..NONE },
            QualitySignals { mass: 1.0, ..NONE },
            QualitySignals { prior: 1.0, ..NONE },
            QualitySignals {
                recency: 1.0,
                ..NONE
            },
        ];
        let scores = alone.map(|signals| signals.score(&weights));
        assert!(scores.iter().all(|score| *score > 0.0), "{scores:?}");
        assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_thresholds_bind_on_their_side() {
        let cases = [
            (0.249_999, QualityVerdict::Reject, QualityVerdict::Reject),
            (0.25, QualityVerdict::Demote, QualityVerdict::Demote),
            (0.349_999, QualityVerdict::Demote, QualityVerdict::Demote),
            (0.35, QualityVerdict::Admit, QualityVerdict::Demote),
            (0.399_999, QualityVerdict::Admit, QualityVerdict::Demote),
            (0.40, QualityVerdict::Admit, QualityVerdict::Admit),
        ];
        for (score, own, foreign) in cases {
            assert_eq!(decide_by_score(score, WorkspaceOrigin::Own), own, "{score}");
            assert_eq!(
                decide_by_score(score, WorkspaceOrigin::Foreign),
                foreign,
                "{score}"
            );
        }
    }

    #[test]
    fn weights_of_nothing_weigh_nothing() {
        let nothing = QualityWeights {
            confidence: 0.0,
            scanner: -1.0,
            provenance: 0.0,
            trust: 0.0,
            mass: 0.0,
            prior: 0.0,
            recency: 0.0,
        };
        assert!(
            QualitySignals {
                scanner: 1.0,
                ..NONE
            }
            .score(&nothing)
            .abs()
                < f64::EPSILON
        );
    }

    proptest! {
        /// A rising signal never lowers the score, and the score stays between 0 and 1.
        #[test]
        fn a_score_is_a_share_and_monotone(values in proptest::array::uniform7(-0.5_f64..1.5), more in 0.0_f64..1.0) {
            let of = |v: [f64; 7]| QualitySignals {
                confidence: v[0], scanner: v[1], provenance: v[2], trust: v[3], mass: v[4], prior: v[5], recency: v[6],
            };
            let weights = QualityWeights::default();
            let score = of(values).score(&weights);
            prop_assert!((0.0..=1.0).contains(&score));
            for at in 0..7 {
                let mut raised = values;
                raised[at] += more;
                prop_assert!(score <= of(raised).score(&weights) + 1e-12);
            }
        }
    }
}
