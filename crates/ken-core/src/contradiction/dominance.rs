//! What becomes of a contradiction that arrives from another instance.
//!
//! Three phases: dominance on two of three criteria, a composite score behind a threshold that widens
//! while evidence is low, and otherwise both stay competing hypotheses. Whoever is preferred, the other
//! stays visible: nothing here hides, merges or retracts, and nothing here is asked about two entries of
//! this workspace, which only a person decides between.

use crate::entry::Entry;
use crate::event::Origin;
use crate::facts::Beta;
use crate::time::Date;

/// Criteria on which one must be ahead to dominate.
pub const CRITERIA_MIN: usize = 2;

/// By how much evidence must be ahead, as a share of the other's, to count.
pub const EVIDENCE_MARGIN: f64 = 0.25;

/// Days by which one must be newer to count.
pub const RECENCY_DAYS: u32 = 7;

/// How far the composite scores must be apart where there is plenty of evidence.
pub const THRESHOLD: f64 = 0.1;

/// How much wider the threshold is where there is none.
pub const THRESHOLD_WIDENED: f64 = 0.3;

/// Observations of both together from which evidence is plenty.
pub const EVIDENCE_PLENTY: f64 = 40.0;

/// What each criterion counts for in the composite score: evidence, provenance, recency.
const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];

/// Days after which recency is half of what it was.
const RECENCY_HALF_DAYS: f64 = 90.0;

/// What speaks for one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grounds {
    /// Outcomes and feedback, with the prior.
    pub posterior: Beta,
    pub origin: Origin,
    /// When somebody last found it, or wrote it.
    pub last: Date,
}

/// Which of two sides is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preferred {
    /// The one that was here.
    Local,
    /// The one that came.
    Arrival,
    /// Neither: both stay competing hypotheses.
    Neither,
}

/// Returns which of two contradicting entries is preferred; `None` unless exactly one of them came
/// from another instance.
pub fn preferred(
    local: (&Entry, Grounds),
    arrival: (&Entry, Grounds),
    today: Date,
) -> Option<Preferred> {
    let foreign = |entry: &Entry| entry.created.as_ref().map(|it| it.origin.is_foreign());
    let crosses = foreign(local.0) == Some(false) && foreign(arrival.0) == Some(true);
    crosses.then(|| weigh(&local.1, &arrival.1, today))
}

/// Weighs the grounds of two sides in three phases.
pub fn weigh(local: &Grounds, arrival: &Grounds, today: Date) -> Preferred {
    let ahead = |a: &Grounds, b: &Grounds| {
        let criteria = [
            (1.0 + EVIDENCE_MARGIN) * b.observed() < a.observed(),
            b.provenance() < a.provenance(),
            RECENCY_DAYS <= a.last.days_since(b.last),
        ];
        criteria.into_iter().filter(|it| *it).count()
    };
    if CRITERIA_MIN <= ahead(local, arrival) {
        return Preferred::Local;
    }
    if CRITERIA_MIN <= ahead(arrival, local) {
        return Preferred::Arrival;
    }
    let difference = local.composite(today) - arrival.composite(today);
    if difference.abs() <= threshold(local.observed() + arrival.observed()) {
        return Preferred::Neither;
    }
    match 0.0 < difference {
        true => Preferred::Local,
        false => Preferred::Arrival,
    }
}

/// Returns how far composite scores must be apart; wider the less was observed.
pub fn threshold(observed: f64) -> f64 {
    let lacking = 1.0 - (observed / EVIDENCE_PLENTY).clamp(0.0, 1.0);
    THRESHOLD + THRESHOLD_WIDENED * lacking
}

impl Grounds {
    /// Returns how much was observed, beyond the prior.
    fn observed(&self) -> f64 {
        let prior = Beta::PRIOR.alpha + Beta::PRIOR.beta;
        (self.posterior.alpha + self.posterior.beta - prior).max(0.0)
    }

    /// Returns how far whoever wrote it is trusted.
    fn provenance(&self) -> u8 {
        match self.origin {
            Origin::Human => 3,
            Origin::Ci | Origin::Agent => 2,
            Origin::Import | Origin::Peer => 1,
            Origin::Web => 0,
        }
    }

    fn composite(&self, today: Date) -> f64 {
        let age = f64::from(today.days_since(self.last));
        let recency = libm::exp2(-age / RECENCY_HALF_DAYS);
        let parts = [
            self.posterior.mean(),
            f64::from(self.provenance()) / 3.0,
            recency,
        ];
        parts
            .iter()
            .zip(WEIGHTS)
            .map(|(part, weight)| part * weight)
            .sum()
    }
}
