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
    /// Score from which a pair is looked at: three of four rewordings reach it.
    pub from: f64,
    weights: Weights,
}

/// What each signal counts for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weights {
    pub bias: f64,
    pub cosine: f64,
    pub overlap: f64,
    pub containment: f64,
    pub names: f64,
    pub numbers_differ: f64,
    pub negations_differ: f64,
    pub opens_alike: f64,
}

/// Every calibration there is; the last serves where a model has none.
pub const CALIBRATIONS: [Calibration; 2] = [BUILT_IN, WORDS_ALONE];

const BUILT_IN: Calibration = Calibration {
    model: Some("ken-static-256/2"),
    harvest: HARVEST_COSINE,
    inline: INLINE_COSINE,
    merge: MERGE_COSINE,
    from: 0.5,
    weights: Weights {
        bias: 0.0,
        cosine: 0.0,
        overlap: 0.0,
        containment: 0.0,
        names: 0.0,
        numbers_differ: 0.0,
        negations_differ: 0.0,
        opens_alike: 0.0,
    },
};

const WORDS_ALONE: Calibration = Calibration {
    model: None,
    from: 0.5,
    weights: Weights {
        bias: 0.0,
        cosine: 0.0,
        overlap: 0.0,
        containment: 0.0,
        names: 0.0,
        numbers_differ: 0.0,
        negations_differ: 0.0,
        opens_alike: 0.0,
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
    pub fn inputs(signals: &Signals) -> [f64; 8] {
        let flag = |it: bool| if it { 1.0 } else { 0.0 };
        [
            1.0,
            signals.cosine.unwrap_or_default(),
            signals.overlap,
            signals.containment,
            signals.names,
            flag(signals.numbers_differ),
            flag(signals.negations_differ),
            flag(signals.opens_alike),
        ]
    }

    /// Returns the weights in the order of [`Self::inputs`].
    pub fn values(&self) -> [f64; 8] {
        [
            self.bias,
            self.cosine,
            self.overlap,
            self.containment,
            self.names,
            self.numbers_differ,
            self.negations_differ,
            self.opens_alike,
        ]
    }

    /// Returns the weighted sum on a logistic curve.
    pub fn score(&self, signals: &Signals) -> f64 {
        let pairs = self.values().into_iter().zip(Self::inputs(signals));
        let sum: f64 = pairs.map(|(weight, input)| weight * input).sum();
        1.0 / (1.0 + libm::exp(-sum))
    }
}
