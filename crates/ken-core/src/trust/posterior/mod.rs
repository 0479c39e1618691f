//! Beta posterior over whether using an entry helps, computed on demand from daily sums.
//!
//! Nothing is stored. Evidence decays with age, at a rate that depends on the entry's decay class;
//! the evidence of entries that the code supports does not decay. Confirmations play no part: truth
//! and usefulness are separate questions, and no number of successes proves a claim.

use serde::Serialize;

use crate::ledger::entry::{BetaTally, Entry, EntryTallies};
use crate::ledger::event::Outcome;
use crate::trust::facts::{BetaPosterior, Validity};
use crate::values::content::DecayClass;
use crate::values::time::Date;

/// Age in days after which evidence decays no further; 2.7 % is left of ephemeral evidence then.
pub const AGE_DAYS_MAX: u32 = 180;

/// Daily decay factor of the evidence of an archived entry.
pub const ARCHIVED_GAMMA: f64 = 0.85;

/// Minimum and maximum weight of one outcome.
pub const OUTCOME_WEIGHT_RANGE: (f64, f64) = (0.5, 1.5);

/// Quality of a run that reports none.
pub const QUALITY_MILLI_DEFAULT: u16 = 500;

/// Share of its peak below which alpha must have fallen for a success to earn the mastery bonus.
pub const MASTERY_BELOW: f64 = 0.5;

/// Share of the lost alpha that the mastery bonus restores.
pub const MASTERY_BONUS: f64 = 0.2;

/// Observations after which an undecided posterior is stuck.
pub const STUCK_AFTER: f64 = 50.0;
/// Range of means in which a posterior is undecided.
pub const STUCK_MEANS: (f64, f64) = (0.35, 0.65);

/// Decay of the evidence about an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceDecay {
    /// Share of the evidence that remains after one day.
    pub gamma: f64,
    /// The day of archiving, from which evidence decays with [`ARCHIVED_GAMMA`].
    pub archived: Option<Date>,
}

/// The amount of evidence behind a posterior.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceStrength {
    Prior,
    Early,
    Moderate,
    Strong,
}

impl DecayClass {
    /// Returns the daily decay factor.
    pub fn gamma(self) -> f64 {
        match self {
            Self::Ephemeral => 0.98,
            Self::Stable => 0.995,
            Self::Permanent => 1.0,
        }
    }
}

impl EvidenceDecay {
    /// Returns the decay for a live entry; a valid entry does not decay.
    pub fn for_live(class: DecayClass, validity: Validity) -> Self {
        let gamma = match validity {
            Validity::Holds => 1.0,
            Validity::Changed | Validity::Broken | Validity::Unverifiable => class.gamma(),
        };
        Self {
            gamma,
            archived: None,
        }
    }

    fn for_entry(entry: &Entry, validity: Validity) -> Self {
        Self {
            archived: entry.archived.as_ref().map(|it| it.since),
            ..Self::for_live(entry.decay_class(), validity)
        }
    }

    /// Returns the share of the evidence of one day that remains on another day.
    fn remaining(self, from: Date, to: Date) -> f64 {
        let share = |gamma: f64, days: u32| libm::pow(gamma, f64::from(days.min(AGE_DAYS_MAX)));
        // Only the days after archiving count at the faster rate: archiving must not change the
        // confidence of the day on which it happens.
        let archived = self
            .archived
            .map_or(to, |since| since.clamp(from.min(to), to));
        share(self.gamma, archived.days_since(from))
            * share(self.gamma.min(ARCHIVED_GAMMA), to.days_since(archived))
    }
}

impl Entry {
    /// Returns the posterior of the entry for a verdict against the code.
    pub fn posterior(&self, validity: Validity, today: Date) -> BetaPosterior {
        compute_posterior(
            &self.tallies,
            EvidenceDecay::for_entry(self, validity),
            today,
        )
    }

    /// Returns the mastery bonus that a success today earns.
    pub fn mastery_bonus(&self, validity: Validity, today: Date) -> f64 {
        let ageing = EvidenceDecay::for_entry(self, validity);
        mastery_bonus(&self.tallies, self.decay_class(), ageing, today)
    }
}

/// Returns the posterior today, from all evidence.
pub fn compute_posterior(
    tallies: &EntryTallies,
    ageing: EvidenceDecay,
    today: Date,
) -> BetaPosterior {
    // Unlike `compute_posterior_on`, future days count: they come from a clock that runs ahead, and
    // `days_since` gives them age 0.
    let mut now = BetaPosterior::PRIOR;
    for (day, tally) in days_since_reset(tallies) {
        let left = ageing.remaining(day, today);
        now.alpha += left * from_milli(tally.alpha_milli);
        now.beta += left * from_milli(tally.beta_milli);
    }
    now
}

/// Returns the posterior on a past day, from the evidence up to that day.
pub fn compute_posterior_on(
    tallies: &EntryTallies,
    ageing: EvidenceDecay,
    day: Date,
) -> BetaPosterior {
    let mut then = BetaPosterior::PRIOR;
    for (other, tally) in days_since_reset(tallies).take_while(|(other, _)| *other <= day) {
        let left = ageing.remaining(other, day);
        then.alpha += left * from_milli(tally.alpha_milli);
        then.beta += left * from_milli(tally.beta_milli);
    }
    then
}

/// Returns the quantile of a Beta distribution at probability `share`.
pub fn beta_quantile(distribution: BetaPosterior, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // 60 bisections of the unit interval reach the precision of an `f64`.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if cumulative_probability(distribution, middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Returns the cumulative probability at `x`: the regularized incomplete beta function.
fn cumulative_probability(BetaPosterior { alpha, beta }: BetaPosterior, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The continued fraction converges quickly only below the mean, so the upper tail is mirrored.
    if (alpha + 1.0) / (alpha + beta + 2.0) < x {
        let mirrored = BetaPosterior {
            alpha: beta,
            beta: alpha,
        };
        return 1.0 - beta_continued_fraction(mirrored, 1.0 - x);
    }
    beta_continued_fraction(BetaPosterior { alpha, beta }, x)
}

/// Evaluates the continued fraction of the incomplete beta function with Lentz's algorithm.
fn beta_continued_fraction(BetaPosterior { alpha, beta }: BetaPosterior, x: f64) -> f64 {
    const STEPS_MAX: u32 = 500;
    // Lentz's algorithm divides by intermediate terms; TINY replaces those that vanish.
    const TINY: f64 = 1e-300;
    let front = libm::lgamma(alpha + beta) - libm::lgamma(alpha) - libm::lgamma(beta)
        + alpha * libm::log(x)
        + beta * libm::log1p(-x);
    let nonzero = |term: f64| if term.abs() < TINY { TINY } else { term };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (alpha + beta) * x / (alpha + 1.0));
    let mut fraction = d;
    for step in 1..=STEPS_MAX {
        let m = f64::from(step);
        let even = m * (beta - m) * x / ((alpha + 2.0 * m - 1.0) * (alpha + 2.0 * m));
        let odd =
            -(alpha + m) * (alpha + beta + m) * x / ((alpha + 2.0 * m) * (alpha + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= f64::EPSILON * fraction.abs() {
            break;
        }
    }
    libm::exp(front) * fraction / alpha
}

/// Returns the highest alpha of any day up to today.
pub fn peak_alpha(tallies: &EntryTallies, ageing: EvidenceDecay, today: Date) -> f64 {
    // Alpha only rises on days with evidence, so no other day can be the peak.
    let days = days_since_reset(tallies).map(|(day, _)| day);
    let days = days.filter(|day| *day <= today);
    let on = |day: Date| {
        let until = days_since_reset(tallies).take_while(|(other, _)| *other <= day);
        let left = |(other, tally): (Date, BetaTally)| {
            ageing.remaining(other, day) * from_milli(tally.alpha_milli)
        };
        BetaPosterior::PRIOR.alpha + until.map(left).sum::<f64>()
    };
    days.map(on).fold(BetaPosterior::PRIOR.alpha, f64::max)
}

/// Returns the increments of alpha and beta for an entry used in a run with this outcome.
///
/// The increment grows with quality: a success of quality 1 counts three times one of quality 0.
pub fn outcome_weight(outcome: Outcome, quality_milli: Option<u16>) -> BetaPosterior {
    let quality = f64::from(quality_milli.unwrap_or(QUALITY_MILLI_DEFAULT)) / 1000.0;
    let (least, most) = OUTCOME_WEIGHT_RANGE;
    let weight = |by: f64| (0.5 + by).clamp(least, most);
    match outcome {
        Outcome::Succeeded => BetaPosterior {
            alpha: weight(quality),
            beta: 0.0,
        },
        Outcome::Failed => BetaPosterior {
            alpha: 0.0,
            beta: weight(1.0 - quality),
        },
        Outcome::Abandoned => BetaPosterior {
            alpha: 0.0,
            beta: 0.0,
        },
    }
}

/// Returns the mastery bonus of a success: a fifth of the lost alpha if less than half is left.
pub fn mastery_bonus(
    tallies: &EntryTallies,
    class: DecayClass,
    ageing: EvidenceDecay,
    today: Date,
) -> f64 {
    // Ephemeral evidence is meant to fade; restoring it would defeat the decay class.
    match class {
        DecayClass::Ephemeral => return 0.0,
        DecayClass::Stable | DecayClass::Permanent => {}
    }
    let now = compute_posterior(tallies, ageing, today).alpha;
    let peak = peak_alpha(tallies, ageing, today);
    if now < MASTERY_BELOW * peak {
        MASTERY_BONUS * (peak - now)
    } else {
        0.0
    }
}

impl BetaPosterior {
    /// Describes the evidence of use without the prior, which is no evidence.
    pub fn describe_evidence(self) -> String {
        let evidence = [self.alpha - Self::PRIOR.alpha, self.beta - Self::PRIOR.beta];
        // Decayed evidence may be too small to show.
        if evidence.iter().all(|it| *it < 0.05) {
            return "none yet".to_owned();
        }
        let [for_it, against] = evidence.map(|it| it.max(0.0));
        format!("{for_it:.1} for, {against:.1} against")
    }

    /// Returns the number of observations beyond the prior.
    pub fn observations(self) -> f64 {
        self.alpha + self.beta - Self::PRIOR.alpha - Self::PRIOR.beta
    }

    /// Returns the amount of evidence; the bounds include the ten pseudo-observations of the prior.
    pub fn strength(self) -> EvidenceStrength {
        match self.alpha + self.beta {
            sum if sum < 15.0 => EvidenceStrength::Prior,
            sum if sum < 30.0 => EvidenceStrength::Early,
            sum if sum < 60.0 => EvidenceStrength::Moderate,
            _ => EvidenceStrength::Strong,
        }
    }

    /// Returns whether many observations left the posterior undecided, so that a person may reset
    /// it.
    pub fn is_stuck(self) -> bool {
        let (low, high) = STUCK_MEANS;
        self.observations() >= STUCK_AFTER && (low..=high).contains(&self.mean())
    }
}

/// Returns the days whose evidence counts: those after the last reset, in order.
fn days_since_reset(tallies: &EntryTallies) -> impl Iterator<Item = (Date, BetaTally)> {
    let reset = tallies.reset;
    let days = tallies.days.iter().map(|(day, tally)| (*day, *tally));
    days.filter(move |(day, _)| reset.is_none_or(|reset| reset < *day))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 thousandths are never reached"
)]
fn from_milli(milli: u64) -> f64 {
    milli as f64 / 1000.0
}

#[cfg(test)]
mod tests;
