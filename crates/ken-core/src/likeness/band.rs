//! Which pairs somebody should look at, best first: a score, calibrated for one model.
//!
//! The score is a weighted sum of a handful of [`Signals`] put through a logistic curve. It says how likely
//! two claims are one in other words, against claims about neighbouring things. It never merges anything:
//! opposites score as high as rewordings.
//!
//! Weights and bounds come from `cargo xtask eval duplicates --calibrate`, development split
//! (`docs/duplicates.md`).

use super::signals::Signals;
use super::{HARVEST_COSINE, INLINE_COSINE, MERGE_COSINE};

/// What is known about telling claims apart with one model, or with none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The id of the model; nothing for words alone.
    pub model: Option<&'static str>,
    /// Cosine from which a pair is looked at whatever its words say.
    pub harvest: f64,
    /// Cosine from which a proposal may say what an entry says already.
    pub inline: f64,
    /// Cosine from which equal wording may be merged unasked, articles aside.
    pub merge: f64,
    /// Score from which a pair is looked at: four of five rewordings of the development split reach it, so that three of
    /// four do elsewhere.
    pub from: f64,
    weights: Weights,
}

/// What each signal counts for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weights {
    pub bias: f64,
    pub cosine: f64,
    pub containment: f64,
    pub names: f64,
}

/// Every calibration there is; the last serves where a model has none.
pub const CALIBRATIONS: [Calibration; 2] = [BUILT_IN, WORDS_ALONE];

const BUILT_IN: Calibration = Calibration {
    model: Some("ken-static-256/2"),
    harvest: HARVEST_COSINE,
    inline: INLINE_COSINE,
    merge: MERGE_COSINE,
    from: 0.355,
    weights: Weights {
        bias: -6.19,
        cosine: 5.27,
        containment: 3.15,
        names: 1.37,
    },
};

const WORDS_ALONE: Calibration = Calibration {
    model: None,
    from: 0.319,
    weights: Weights {
        bias: -3.18,
        cosine: 0.0,
        containment: 4.56,
        names: 1.51,
    },
    ..BUILT_IN
};

impl Calibration {
    /// Returns the calibration of a model; that of words alone where there is no other.
    pub fn of(model: Option<&str>) -> &'static Self {
        let known = CALIBRATIONS.iter().find(|it| it.model == model);
        known.unwrap_or(&CALIBRATIONS[CALIBRATIONS.len() - 1])
    }

    /// Returns how likely two claims with these signals are one, from 0 to 1.
    pub fn score(&self, signals: &Signals) -> f64 {
        self.weights.score(signals)
    }
}

impl Weights {
    /// Returns the signals as numbers, the bias first: what a fit runs over.
    pub fn inputs(signals: &Signals) -> [f64; 4] {
        let cosine = signals.cosine.unwrap_or_default();
        [1.0, cosine, signals.containment, signals.names]
    }

    /// Returns the weighted sum on a logistic curve.
    pub fn score(&self, signals: &Signals) -> f64 {
        let values = [self.bias, self.cosine, self.containment, self.names];
        let pairs = values.into_iter().zip(Self::inputs(signals));
        let sum: f64 = pairs.map(|(weight, input)| weight * input).sum();
        1.0 / (1.0 + libm::exp(-sum))
    }
}
