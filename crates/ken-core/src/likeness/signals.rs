//! What speaks for two claims being one, as numbers.

use super::Nearness;
use super::claim::Claim;

/// What is known about a pair of claims.
///
/// Numbers, negations and contraries are not among them: among neighbours they tell nothing about a rewording (they
/// added half a percentage point), and where they tell something, a vote is not enough; see [`super::compare`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// How near a model finds them, if one was asked.
    pub cosine: Option<f64>,
    /// Stems in common, of those in the shorter.
    pub containment: f64,
    /// Names in code that the other mentions too, of all in either; 1 where there are none.
    pub names: f64,
}

impl Signals {
    /// Takes them.
    pub fn of(a: &Claim, b: &Claim, cosine: Option<f64>) -> Self {
        Self {
            cosine,
            containment: Nearness::of(a, b, cosine).containment,
            names: names(a, b),
        }
    }
}

fn names(a: &Claim, b: &Claim) -> f64 {
    let all = a.identifiers.len() + b.identifiers.len();
    if all == 0 {
        return 1.0;
    }
    let known = |names: &[String], by: &Claim| {
        let known = names.iter().filter(|name| by.mention(name).is_some());
        known.count()
    };
    (known(&a.identifiers, b) + known(&b.identifiers, a)) as f64 / all as f64
}
