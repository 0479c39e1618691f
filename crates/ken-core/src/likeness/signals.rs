//! What speaks for and against two claims being one, as numbers.

use super::claim::Claim;
use super::{Nearness, opens_alike, opposition};

/// What is known about a pair of claims. Shares lie in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// How near a model finds them, if one was asked.
    pub cosine: Option<f64>,
    /// Stems in common, of those in either.
    pub overlap: f64,
    /// Stems in common, of those in the shorter.
    pub containment: f64,
    /// Names in code that the other mentions too, of all in either; 1 where there are none.
    pub names: f64,
    /// Whether either has a number the other lacks.
    pub numbers_differ: bool,
    /// Whether negations differ, in all or in the first sentence.
    pub negations_differ: bool,
    /// Whether a word stands against its contrary, or two sides changed places.
    pub contrary: bool,
    /// Whether the first word of either stands in the other.
    pub opens_alike: bool,
}

impl Signals {
    /// Takes them.
    pub fn of(a: &Claim, b: &Claim, cosine: Option<f64>) -> Self {
        let near = Nearness::of(a, b, cosine);
        Self {
            cosine,
            overlap: near.overlap,
            containment: near.containment,
            names: names(a, b),
            numbers_differ: a.numbers != b.numbers,
            negations_differ: a.negations != b.negations
                || a.leading_negations != b.leading_negations,
            contrary: opposition::is_contrary(a, b),
            opens_alike: opens_alike(a, b),
        }
    }
}

fn names(a: &Claim, b: &Claim) -> f64 {
    let all = a.identifiers.len() + b.identifiers.len();
    if all == 0 {
        return 1.0;
    }
    let known = |names: &[String], by: &Claim| {
        names
            .iter()
            .filter(|name| by.mention(name).is_some())
            .count()
    };
    (known(&a.identifiers, b) + known(&b.identifiers, a)) as f64 / all as f64
}
