//! Calibrated similarity score that selects and orders pairs for review.
//!
//! The score is a logistic regression over a few [`SimilaritySignals`]. It estimates the
//! probability that one statement rewords the other, as opposed to a statement about a neighboring
//! subject. It never decides a merge: opposites score as high as rewordings.
//!
//! Weights and bounds come from `cargo ken-bench eval duplicates --calibrate`, development split
//! (`docs/explanation/duplicates.md`).

use super::signals::SimilaritySignals;
use super::{BATCH_COSINE, MERGE_COSINE};

/// Thresholds and weights for one embedding model, or for none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarityCalibration {
    /// Id of the model; `None` for words alone.
    pub model: Option<&'static str>,
    /// Cosine from which a pair is reviewed regardless of its words.
    pub harvest: f64,
    /// Cosine from which statements that differ only in articles may be merged automatically.
    pub merge: f64,
    /// Score from which a pair is reviewed. 80 % of the rewordings in the development split reach
    /// it, so that about 75 % do on other data.
    pub from: f64,
    weights: SimilarityWeights,
}

/// Coefficients of the logistic regression.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimilarityWeights {
    pub bias: f64,
    pub cosine: f64,
    pub containment: f64,
    pub names: f64,
}

/// All calibrations; the last one is the fallback for uncalibrated models.
pub const CALIBRATIONS: [SimilarityCalibration; 2] = [BUILT_IN, WORDS_ALONE];

const BUILT_IN: SimilarityCalibration = SimilarityCalibration {
    model: Some("ken-static-256/2"),
    harvest: BATCH_COSINE,
    merge: MERGE_COSINE,
    from: 0.355,
    weights: SimilarityWeights {
        bias: -6.19,
        cosine: 5.27,
        containment: 3.15,
        names: 1.37,
    },
};

const WORDS_ALONE: SimilarityCalibration = SimilarityCalibration {
    model: None,
    from: 0.319,
    weights: SimilarityWeights {
        bias: -3.18,
        cosine: 0.0,
        containment: 4.56,
        names: 1.51,
    },
    ..BUILT_IN
};

impl SimilarityCalibration {
    /// Returns the calibration of a model, or the one for words alone.
    pub fn for_model(model: Option<&str>) -> &'static Self {
        let known = CALIBRATIONS.iter().find(|it| it.model == model);
        // The last calibration has no model, so an uncalibrated model falls back to words alone.
        known.unwrap_or(&CALIBRATIONS[CALIBRATIONS.len() - 1])
    }

    /// Returns the probability that statements with these signals make the same claim.
    pub fn score(&self, signals: &SimilaritySignals) -> f64 {
        self.weights.score(signals)
    }

    /// Returns whether a pair with this score and cosine is reviewed.
    pub(super) fn is_in_band(&self, score: f64, cosine: Option<f64>) -> bool {
        score >= self.from || cosine.is_some_and(|cosine| cosine >= self.harvest)
    }
}

impl SimilarityWeights {
    /// Returns the regression inputs: 1 for the bias, then the signals.
    pub fn inputs(signals: &SimilaritySignals) -> [f64; 4] {
        // Without a model the weight of the cosine is 0, so the value does not matter.
        let cosine = signals.cosine.unwrap_or_default();
        [1.0, cosine, signals.containment, signals.names]
    }

    /// Returns the logistic function of the weighted sum.
    pub fn score(&self, signals: &SimilaritySignals) -> f64 {
        let values = [self.bias, self.cosine, self.containment, self.names];
        let pairs = values.into_iter().zip(Self::inputs(signals));
        let sum: f64 = pairs.map(|(weight, input)| weight * input).sum();
        // `libm` instead of `f64::exp`: the platform's version may differ in the last bit.
        1.0 / (1.0 + libm::exp(-sum))
    }
}
