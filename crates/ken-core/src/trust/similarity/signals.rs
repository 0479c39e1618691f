//! Numeric signals for the similarity of two statements.

use super::StemOverlap;
use super::claim::TokenizedStatement;

/// Signals of a pair of statements.
///
/// Numbers, negations and antonyms are not included. Among neighboring subjects they hardly predict
/// a rewording (they added half a percentage point). Where they do matter they must veto, not vote;
/// see [`super::compare_statements`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilaritySignals {
    /// Cosine according to an embedding model, if there is one.
    pub cosine: Option<f64>,
    /// Shared stems as a share of the shorter statement's stems.
    pub containment: f64,
    /// Share of all code names that the other statement also mentions; 1 without code names.
    pub names: f64,
}

impl SimilaritySignals {
    /// Computes the signals of two statements.
    pub fn from_statements(
        a: &TokenizedStatement,
        b: &TokenizedStatement,
        cosine: Option<f64>,
    ) -> Self {
        Self {
            cosine,
            containment: StemOverlap::from_statements(a, b, cosine).containment,
            names: shared_name_ratio(a, b),
        }
    }
}

fn shared_name_ratio(a: &TokenizedStatement, b: &TokenizedStatement) -> f64 {
    let all = a.identifiers.len() + b.identifiers.len();
    // Without code names nothing disagrees.
    if all == 0 {
        return 1.0;
    }
    let known = |names: &[String], by: &TokenizedStatement| {
        let known = names.iter().filter(|name| by.position_of(name).is_some());
        known.count()
    };
    (known(&a.identifiers, b) + known(&b.identifiers, a)) as f64 / all as f64
}
