//! How far using an entry helps: a Beta posterior, made from daily sums at the moment somebody asks.
//!
//! Nothing here is stored. Evidence fades by its age and by how durable the entry is; what the code bears out
//! does not age. Confirmations play no part: whether a claim is true and whether using it helps are two
//! questions, and no number of successes answers the first.

use serde::Serialize;

use crate::content::DecayClass;
use crate::entry::{Entry, Tallies, Tally};
use crate::event::Outcome;
use crate::facts::{Beta, Validity};
use crate::time::Date;

/// Days after which evidence fades no further; of ephemeral entries 2.7 % is left then.
pub const AGE_DAYS_MAX: u32 = 180;

/// What a day leaves of evidence about an entry that was laid aside.
pub const ARCHIVED_GAMMA: f64 = 0.85;

/// The least and the most that one outcome counts.
pub const OUTCOME_WEIGHT: (f64, f64) = (0.5, 1.5);

/// The quality of a run that names none.
pub const QUALITY_MILLI_DEFAULT: u16 = 500;

/// The share of its best that alpha must have fallen below for a success to restore mastery.
pub const MASTERY_BELOW: f64 = 0.5;

/// The share of what was lost that such a success gives back.
pub const MASTERY_BONUS: f64 = 0.2;

/// Observations after which a posterior that still says nothing is stuck, and between which means.
pub const STUCK_AFTER: f64 = 50.0;
pub const STUCK_MEANS: (f64, f64) = (0.35, 0.65);

/// How the evidence about an entry ages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ageing {
    /// What a day leaves of it.
    pub gamma: f64,
}

/// How much a posterior rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    Prior,
    Early,
    Moderate,
    Strong,
}

impl DecayClass {
    /// Returns what a day leaves of evidence.
    pub fn gamma(self) -> f64 {
        match self {
            Self::Ephemeral => 0.98,
            Self::Stable => 0.995,
            Self::Permanent => 1.0,
        }
    }
}

impl Ageing {
    /// Returns how the evidence about an entry that is in use ages where the code says `validity`.
    pub fn of(class: DecayClass, validity: Validity) -> Self {
        let gamma = match validity {
            Validity::Holds => 1.0,
            Validity::Changed | Validity::Broken | Validity::Unverifiable => class.gamma(),
        };
        Self { gamma }
    }

    /// Returns how the evidence about an entry that was laid aside ages.
    pub fn of_archived(class: DecayClass) -> Self {
        Self {
            gamma: class.gamma().min(ARCHIVED_GAMMA),
        }
    }

    fn of_entry(entry: &Entry, validity: Validity) -> Self {
        let class = entry.decay_class();
        match entry.archived {
            Some(_) => Self::of_archived(class),
            None => Self::of(class, validity),
        }
    }

    /// Returns what is left of evidence after some days.
    fn left(self, days: u32) -> f64 {
        libm::pow(self.gamma, f64::from(days.min(AGE_DAYS_MAX)))
    }
}

impl Entry {
    /// Returns how far using it is believed to help, where the code says `validity`.
    pub fn posterior(&self, validity: Validity, today: Date) -> Beta {
        posterior(&self.tallies, Ageing::of_entry(self, validity), today)
    }

    /// Returns what a success today gives back of mastery that was lost.
    pub fn mastery_bonus(&self, validity: Validity, today: Date) -> f64 {
        let ageing = Ageing::of_entry(self, validity);
        mastery_bonus(&self.tallies, self.decay_class(), ageing, today)
    }
}

/// Returns what is believed today.
pub fn posterior(tallies: &Tallies, ageing: Ageing, today: Date) -> Beta {
    let mut now = Beta::PRIOR;
    for (day, tally) in counted(tallies) {
        let left = ageing.left(today.days_since(day));
        now.alpha += left * thousandths(tally.alpha_milli);
        now.beta += left * thousandths(tally.beta_milli);
    }
    now
}

/// Returns what was believed on a day, from the evidence there was until then.
pub fn posterior_on(tallies: &Tallies, ageing: Ageing, day: Date) -> Beta {
    let mut then = Beta::PRIOR;
    for (other, tally) in counted(tallies).take_while(|(other, _)| *other <= day) {
        let left = ageing.left(day.days_since(other));
        then.alpha += left * thousandths(tally.alpha_milli);
        then.beta += left * thousandths(tally.beta_milli);
    }
    then
}

/// Returns the value that what `believed` describes stays below with probability `share`.
pub fn quantile(believed: Beta, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // Halving an interval of one this often leaves less than a float can tell apart.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match below(believed, middle) < share {
            true => low = middle,
            false => high = middle,
        }
    }
    f64::midpoint(low, high)
}

/// Returns the probability of lying below `x`: the regularised incomplete beta function.
fn below(Beta { alpha, beta }: Beta, x: f64) -> f64 {
    if x <= 0.0 || 1.0 <= x {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly on the side where the mass is not.
    if (alpha + 1.0) / (alpha + beta + 2.0) < x {
        let mirrored = Beta {
            alpha: beta,
            beta: alpha,
        };
        return 1.0 - below_mean(mirrored, 1.0 - x);
    }
    below_mean(Beta { alpha, beta }, x)
}

/// Evaluates the continued fraction of the incomplete beta function by Lentz's method.
fn below_mean(Beta { alpha, beta }: Beta, x: f64) -> f64 {
    const STEPS_MAX: u32 = 500;
    const TINY: f64 = 1e-300;
    let front = libm::lgamma(alpha + beta) - libm::lgamma(alpha) - libm::lgamma(beta)
        + alpha * libm::log(x)
        + beta * libm::log1p(-x);
    let kept = |it: f64| if it.abs() < TINY { TINY } else { it };
    let mut c = 1.0;
    let mut d = 1.0 / kept(1.0 - (alpha + beta) * x / (alpha + 1.0));
    let mut fraction = d;
    for step in 1..=STEPS_MAX {
        let m = f64::from(step);
        let even = m * (beta - m) * x / ((alpha + 2.0 * m - 1.0) * (alpha + 2.0 * m));
        let odd =
            -(alpha + m) * (alpha + beta + m) * x / ((alpha + 2.0 * m) * (alpha + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / kept(1.0 + term * d);
            c = kept(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= f64::EPSILON * fraction.abs() {
            break;
        }
    }
    libm::exp(front) * fraction / alpha
}

/// Returns the most alpha there was on any day until today.
pub fn peak_alpha(tallies: &Tallies, ageing: Ageing, today: Date) -> f64 {
    let days = counted(tallies).map(|(day, _)| day);
    let days = days.filter(|day| *day <= today);
    let on = |day: Date| {
        let until = counted(tallies).take_while(|(other, _)| *other <= day);
        let left = |(other, tally): (Date, Tally)| {
            ageing.left(day.days_since(other)) * thousandths(tally.alpha_milli)
        };
        Beta::PRIOR.alpha + until.map(left).sum::<f64>()
    };
    days.map(on).fold(Beta::PRIOR.alpha, f64::max)
}

/// Returns what a run's outcome adds to alpha and beta of an entry that was used in it.
///
/// Never one flat step: a good success counts for three middling ones.
pub fn outcome_weight(outcome: Outcome, quality_milli: Option<u16>) -> Beta {
    let quality = f64::from(quality_milli.unwrap_or(QUALITY_MILLI_DEFAULT)) / 1000.0;
    let (least, most) = OUTCOME_WEIGHT;
    let weight = |by: f64| (0.5 + by).clamp(least, most);
    match outcome {
        Outcome::Succeeded => Beta {
            alpha: weight(quality),
            beta: 0.0,
        },
        Outcome::Failed => Beta {
            alpha: 0.0,
            beta: weight(1.0 - quality),
        },
        Outcome::Abandoned => Beta {
            alpha: 0.0,
            beta: 0.0,
        },
    }
}

/// Returns what a success gives back of mastery that was lost, if it was.
pub fn mastery_bonus(tallies: &Tallies, class: DecayClass, ageing: Ageing, today: Date) -> f64 {
    match class {
        DecayClass::Ephemeral => return 0.0,
        DecayClass::Stable | DecayClass::Permanent => {}
    }
    let now = posterior(tallies, ageing, today).alpha;
    let peak = peak_alpha(tallies, ageing, today);
    match now < MASTERY_BELOW * peak {
        true => MASTERY_BONUS * (peak - now),
        false => 0.0,
    }
}

impl Beta {
    /// Returns how many observations it stands for beyond the prior.
    pub fn observations(self) -> f64 {
        self.alpha + self.beta - Self::PRIOR.alpha - Self::PRIOR.beta
    }

    /// Returns how much it rests on.
    pub fn strength(self) -> Strength {
        match self.alpha + self.beta {
            it if it < 15.0 => Strength::Prior,
            it if it < 30.0 => Strength::Early,
            it if it < 60.0 => Strength::Moderate,
            _ => Strength::Strong,
        }
    }

    /// Returns whether much was observed and nothing learnt, so that a person may reset it.
    pub fn is_stuck(self) -> bool {
        let (low, high) = STUCK_MEANS;
        STUCK_AFTER <= self.observations() && (low..=high).contains(&self.mean())
    }
}

/// Returns the days whose evidence counts: those after the last reset.
fn counted(tallies: &Tallies) -> impl Iterator<Item = (Date, Tally)> {
    let reset = tallies.reset;
    let days = tallies.days.iter().map(|(day, tally)| (*day, *tally));
    days.filter(move |(day, _)| reset.is_none_or(|reset| reset < *day))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 thousandths are never reached"
)]
fn thousandths(milli: u64) -> f64 {
    milli as f64 / 1000.0
}

#[cfg(test)]
mod tests;
