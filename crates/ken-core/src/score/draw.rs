//! Seeded draws from a Beta posterior: the same run, query and entry always draw the same number.
//!
//! Each entry has a stream of its own, so that a draw does not depend on who else was found. All
//! arithmetic is that of `libm`, which gives the same bits on every system.

use crate::facts::Beta;
use crate::id::EntryId;

const CONTEXT: &[u8] = b"ken.thompson.v1\n";

/// Tries before a draw settles for the mean; the chance to need more than a few is nil.
const TRIES_MAX: usize = 64;

/// What all draws of one search start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed([u8; 32]);

/// How the posterior becomes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// The mean: no exploration.
    Mean,
    /// A draw for this entry.
    Of(Seed, EntryId),
}

impl Seed {
    /// Makes the seed of a search from the run it serves and its query.
    pub fn new(run: &str, query: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(CONTEXT);
        hasher.update(&(run.len() as u64).to_be_bytes());
        hasher.update(run.as_bytes());
        hasher.update(query.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

impl Draw {
    /// Returns a number in [0, 1].
    pub fn from(self, posterior: Beta) -> f64 {
        match self {
            Self::Mean => posterior.mean(),
            Self::Of(seed, entry) => Stream::new(seed, entry)
                .beta(posterior)
                .unwrap_or_else(|| posterior.mean()),
        }
    }
}

/// Random numbers of one entry in one search.
struct Stream(blake3::OutputReader);

impl Stream {
    fn new(seed: Seed, entry: EntryId) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(&seed.0);
        hasher.update(entry.to_string().as_bytes());
        Self(hasher.finalize_xof())
    }

    /// Returns a number in (0, 1), never exactly either.
    fn uniform(&mut self) -> f64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        let bits = u64::from_be_bytes(bytes) >> 11;
        (bits as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// Draws from a gamma distribution by the method of Marsaglia and Tsang.
    fn gamma(&mut self, shape: f64) -> Option<f64> {
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
            if 0.0 < v && libm::log(self.uniform()) < accepts + d * libm::log(v) {
                return Some(d * v);
            }
        }
        None
    }

    fn beta(&mut self, posterior: Beta) -> Option<f64> {
        let a = self.gamma(posterior.alpha)?;
        let b = self.gamma(posterior.beta)?;
        let share = a / (a + b);
        share.is_finite().then_some(share)
    }
}
