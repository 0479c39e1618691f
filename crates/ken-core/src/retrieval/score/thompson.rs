//! Thompson sampling: seeded draws from a Beta posterior, reproducible per run, query and entry.
//!
//! Each entry has its own random stream, so that a draw does not depend on the other candidates.
//! All arithmetic uses `libm`, which gives the same bits on every platform.

use crate::trust::facts::BetaPosterior;
use crate::values::id::EntryId;

const CONTEXT: &[u8] = b"ken.thompson.v1\n";

/// Rejections before a draw falls back to the mean; more than a few are practically impossible.
const TRIES_MAX: usize = 64;

/// The common seed of all draws of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawSeed([u8; 32]);

/// The way in which a posterior becomes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PosteriorDraw {
    /// The mean, without exploration.
    Mean,
    /// A seeded draw for this entry.
    Of(DrawSeed, EntryId),
}

impl DrawSeed {
    /// Derives the seed from the run and the query.
    pub fn new(run: &str, query: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(CONTEXT);
        // The length prefix keeps ("ab", "c") and ("a", "bc") apart.
        hasher.update(&(run.len() as u64).to_be_bytes());
        hasher.update(run.as_bytes());
        hasher.update(query.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

impl PosteriorDraw {
    /// Returns a number in [0, 1].
    pub fn sample(self, posterior: BetaPosterior) -> f64 {
        match self {
            Self::Mean => posterior.mean(),
            Self::Of(seed, entry) => RandomStream::new(seed, entry)
                .beta(posterior)
                .unwrap_or_else(|| posterior.mean()),
        }
    }
}

/// The random stream of one entry in one query.
struct RandomStream(blake3::OutputReader);

impl RandomStream {
    fn new(seed: DrawSeed, entry: EntryId) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(&seed.0);
        hasher.update(entry.to_string().as_bytes());
        Self(hasher.finalize_xof())
    }

    /// Returns a uniform number in the open interval (0, 1).
    fn uniform(&mut self) -> f64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        // 53 bits fill the mantissa; the half step excludes 0, whose logarithm is infinite.
        let bits = u64::from_be_bytes(bytes) >> 11;
        (bits as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Draws from the standard normal distribution with the Box-Muller transform.
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// Draws from a gamma distribution with the method of Marsaglia and Tsang (2000).
    fn gamma(&mut self, shape: f64) -> Option<f64> {
        // The method needs a shape of at least 1; smaller ones are boosted as in the paper.
        if shape < 1.0 {
            let boost = libm::pow(self.uniform(), 1.0 / shape);
            return Some(self.gamma(shape + 1.0)? * boost);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        for _ in 0..TRIES_MAX {
            let x = self.normal();
            let v = libm::pow(1.0 + c * x, 3.0);
            let accepts = 0.5 * x * x + d - d * v;
            if v > 0.0 && libm::log(self.uniform()) < accepts + d * libm::log(v) {
                return Some(d * v);
            }
        }
        None
    }

    fn beta(&mut self, posterior: BetaPosterior) -> Option<f64> {
        let a = self.gamma(posterior.alpha)?;
        let b = self.gamma(posterior.beta)?;
        let share = a / (a + b);
        // Both draws can underflow to 0 for tiny shapes, and 0 / 0 is NaN.
        share.is_finite().then_some(share)
    }
}
