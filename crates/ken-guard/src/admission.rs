//! What a new entry is worth before anybody has used it: seven signals, weighed (SEC-14 to SEC-17).
//!
//! The weights are in `docs/decisions/0018-guard.md`. No signal is about how well the text fits a question or
//! whether the run it came from went well: neither says that a claim is true (SEC-17).

/// Below this an entry is refused (SEC-15).
pub const REJECT_BELOW: f64 = 0.25;
/// Below this an entry is kept, but quarantined (SEC-16).
pub const DEMOTE_BELOW: f64 = 0.35;
/// As [`DEMOTE_BELOW`], for what came from somewhere else.
pub const DEMOTE_FOREIGN_BELOW: f64 = 0.40;

/// What is known about a new entry, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// How sure its author was.
    pub confidence: f64,
    /// What the scan said.
    pub scanner: f64,
    /// How much of where it came from is written down.
    pub provenance: f64,
    /// How far its origin is trusted.
    pub trust: f64,
    /// How many saw it.
    pub mass: f64,
    /// What its kind of content is usually worth.
    pub prior: f64,
    /// How fresh what it rests on is.
    pub recency: f64,
}

/// What each signal counts for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    pub confidence: f64,
    pub scanner: f64,
    pub provenance: f64,
    pub trust: f64,
    pub mass: f64,
    pub prior: f64,
    pub recency: f64,
}

impl Default for Weights {
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

/// Whether an entry came from this workspace or from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Own,
    Foreign,
}

/// What becomes of an entry by its score alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighed {
    Admit,
    Demote,
    Reject,
}

impl Signals {
    /// Returns the weighted mean, from 0 to 1. Weights that are not positive count as nothing.
    pub fn score(&self, weights: &Weights) -> f64 {
        let pairs = [
            (self.confidence, weights.confidence),
            (self.scanner, weights.scanner),
            (self.provenance, weights.provenance),
            (self.trust, weights.trust),
            (self.mass, weights.mass),
            (self.prior, weights.prior),
            (self.recency, weights.recency),
        ];
        let pairs = pairs.map(|(signal, weight)| (signal.clamp(0.0, 1.0), weight.max(0.0)));
        let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
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

/// Decides by a score.
pub fn weigh(score: f64, reach: Reach) -> Weighed {
    let demote_below = match reach {
        Reach::Own => DEMOTE_BELOW,
        Reach::Foreign => DEMOTE_FOREIGN_BELOW,
    };
    if score < REJECT_BELOW {
        Weighed::Reject
    } else if score < demote_below {
        Weighed::Demote
    } else {
        Weighed::Admit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: Signals = Signals {
        confidence: 0.0,
        scanner: 0.0,
        provenance: 0.0,
        trust: 0.0,
        mass: 0.0,
        prior: 0.0,
        recency: 0.0,
    };

    #[test]
    fn sec_14_seven_signals_each_count_and_the_weights_add_up() {
        let weights = Weights::default();
        let alone = [
            Signals {
                confidence: 1.0,
                ..NONE
            },
            Signals {
                scanner: 1.0,
                ..NONE
            },
            Signals {
                provenance: 1.0,
                ..NONE
            },
            Signals { trust: 1.0, ..NONE },
            Signals { mass: 1.0, ..NONE },
            Signals { prior: 1.0, ..NONE },
            Signals {
                recency: 1.0,
                ..NONE
            },
        ];
        let scores = alone.map(|signals| signals.score(&weights));
        assert!(scores.iter().all(|score| 0.0 < *score), "{scores:?}");
        assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn sec_15_sec_16_the_thresholds_bind_on_their_side() {
        let cases = [
            (0.249_999, Weighed::Reject, Weighed::Reject),
            (0.25, Weighed::Demote, Weighed::Demote),
            (0.349_999, Weighed::Demote, Weighed::Demote),
            (0.35, Weighed::Admit, Weighed::Demote),
            (0.399_999, Weighed::Admit, Weighed::Demote),
            (0.40, Weighed::Admit, Weighed::Admit),
        ];
        for (score, own, foreign) in cases {
            assert_eq!(weigh(score, Reach::Own), own, "{score}");
            assert_eq!(weigh(score, Reach::Foreign), foreign, "{score}");
        }
    }

    #[test]
    fn weights_of_nothing_weigh_nothing() {
        let nothing = Weights {
            confidence: 0.0,
            scanner: -1.0,
            provenance: 0.0,
            trust: 0.0,
            mass: 0.0,
            prior: 0.0,
            recency: 0.0,
        };
        assert!(
            Signals {
                scanner: 1.0,
                ..NONE
            }
            .score(&nothing)
            .abs()
                < f64::EPSILON
        );
    }

    proptest! {
        /// No signal lowers a score by rising, and the score stays a share.
        #[test]
        fn a_score_is_a_share_and_monotone(values in proptest::array::uniform7(-0.5_f64..1.5), more in 0.0_f64..1.0) {
            let of = |v: [f64; 7]| Signals {
                confidence: v[0], scanner: v[1], provenance: v[2], trust: v[3], mass: v[4], prior: v[5], recency: v[6],
            };
            let weights = Weights::default();
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
