//! Competing hypotheses: which side of a contradiction between a local and a foreign entry is
//! preferred.
//!
//! Three phases. First, a side dominates if it is better in at least two of evidence, provenance
//! and recency, and worse in none. Where there is little evidence, the differences that count grow
//! first. If no side dominates, both are kept and shown as competing.
//!
//! Nothing here hides, merges or retracts an entry.

use serde::Serialize;

use crate::ledger::entry::Entry;
use crate::trust::facts::EntryFacts;
use crate::values::id::EntryId;
use crate::values::time::Date;

/// Grounds in which a side must be better to dominate.
const DOMINATED_MIN: usize = 2;

/// Difference of posterior means that counts, with enough evidence on both sides.
const EVIDENCE_MARGIN: f64 = 0.05;

/// Difference in days that counts, with enough evidence on both sides.
const RECENCY_MARGIN_DAYS: f64 = 30.0;

/// Observations from which evidence is enough.
const ENOUGH_OBSERVATIONS: f64 = 10.0;

/// Factor of the margins without any observation.
const WIDEST: f64 = 3.0;

/// What speaks for one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HypothesisGrounds {
    /// Posterior mean of what was observed here.
    pub mean: f64,
    /// Observations beyond the prior, made here.
    pub observations: f64,
    pub provenance: HypothesisProvenance,
    /// Day of the last confirmation here, or the day it was first seen here.
    pub last: Option<Date>,
}

/// The best source of a claim, as far as this side can check it. Ordered from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HypothesisProvenance {
    /// Another organization says so.
    Foreign,
    /// Somebody here says so.
    Local,
    /// It was found independently or confirmed by a person here.
    Confirmed,
    /// The code was checked, or a person verified it.
    Verified,
}

/// The side that is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    Local,
    Foreign,
    /// Neither dominates; both are hypotheses.
    Undecided,
}

/// A local entry and a foreign one that contradict each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompetingHypotheses {
    pub local: EntryId,
    pub foreign: EntryId,
    pub preferred: Preference,
    /// The rule that found the contradiction.
    pub rule: &'static str,
}

impl HypothesisGrounds {
    /// Returns the grounds of an entry of this repository.
    pub fn of_local(entry: &Entry, facts: &EntryFacts) -> Self {
        use crate::values::status::EntryStatus;
        let provenance = if facts.status == EntryStatus::Verified {
            HypothesisProvenance::Verified
        } else if entry.confirmation.is_confirmed() {
            HypothesisProvenance::Confirmed
        } else {
            HypothesisProvenance::Local
        };
        Self {
            mean: facts.posterior.mean(),
            observations: facts.posterior.observations(),
            provenance,
            last: facts.confirmation.last,
        }
    }

    /// Returns the grounds of an entry of a peer that was first seen here on `first_seen`.
    ///
    /// The dates in the entry are the peer's own. Rewording would renew them, so they do not count.
    pub fn of_foreign(entry: &Entry, facts: &EntryFacts, first_seen: Option<Date>) -> Self {
        let provenance = if entry.confirmation.is_confirmed() {
            HypothesisProvenance::Confirmed
        } else {
            HypothesisProvenance::Foreign
        };
        let last = if entry.confirmation.is_confirmed() {
            // A confirmation was made here: a peer has no line that confirms.
            facts.confirmation.last
        } else {
            first_seen
        };
        Self {
            mean: facts.posterior.mean(),
            observations: facts.posterior.observations(),
            provenance,
            last,
        }
    }
}

/// Returns the preferred side.
pub fn compare_hypotheses(
    local: &HypothesisGrounds,
    foreign: &HypothesisGrounds,
    today: Date,
) -> Preference {
    let widening = widening(local.observations.min(foreign.observations));
    let age = |side: &HypothesisGrounds| {
        // A day in the future is as recent as today, not more.
        side.last
            .map_or(f64::INFINITY, |last| f64::from(today.days_since(last)))
    };
    let (local_age, foreign_age) = (age(local), age(foreign));
    let grounds = [
        sign(local.mean - foreign.mean, EVIDENCE_MARGIN * widening),
        sign_of_order(local.provenance.cmp(&foreign.provenance)),
        // Two unknown days are equal; their difference would not be a number.
        if local_age.is_infinite() && foreign_age.is_infinite() {
            0
        } else {
            sign(foreign_age - local_age, RECENCY_MARGIN_DAYS * widening)
        },
    ];
    let better = grounds.iter().filter(|it| **it > 0).count();
    let worse = grounds.iter().filter(|it| **it < 0).count();
    // One ground alone decides nothing, because it is easy to be ahead in: a local entry can be the
    // more recent one without being right.
    match (better, worse) {
        (better, 0) if better >= DOMINATED_MIN => Preference::Local,
        (0, worse) if worse >= DOMINATED_MIN => Preference::Foreign,
        _ => Preference::Undecided,
    }
}

/// Returns the factor of the margins: the less evidence, the more a side has to be ahead.
fn widening(observations: f64) -> f64 {
    let known = (observations / ENOUGH_OBSERVATIONS).clamp(0.0, 1.0);
    WIDEST - (WIDEST - 1.0) * known
}

fn sign(difference: f64, margin: f64) -> i8 {
    if difference > margin {
        1
    } else if difference < -margin {
        -1
    } else {
        0
    }
}

fn sign_of_order(order: std::cmp::Ordering) -> i8 {
    match order {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    }
}
