//! Facts about an entry that scoring and rules read: posterior, validity, confirmation, status.

use serde::{Deserialize, Serialize};

use crate::ledger::entry::{Confirmation, Entry};
use crate::values::status::EntryStatus;
use crate::values::time::Timestamp;

/// The view of an entry that scoring, gates and briefings read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryFacts {
    pub posterior: BetaPosterior,
    pub validity: Validity,
    /// The commit that changed the anchored code, if it was looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_in: Option<String>,
    /// Time of the last check that found the entry valid.
    pub last_verified: Option<Timestamp>,
    pub confirmation: Confirmation,
    pub status: EntryStatus,
    pub quarantined: bool,
    /// Set if the author or origin was revoked.
    #[serde(default)]
    pub revoked: bool,
    pub archived: bool,
    /// The largest co-occurrence weight between the entry and another candidate.
    pub cooccurrence: f64,
    /// Missed chances of an unprimed agent to find the entry since its last confirmation; 0 for a
    /// prescriptive entry, which nobody can find in the code.
    #[serde(default)]
    pub silence: u64,
    /// The belief in the entry, if the workspace ranks by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<f64>,
}

/// A Beta posterior over the probability that using the entry helps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BetaPosterior {
    pub alpha: f64,
    pub beta: f64,
}

/// The verdict of checking an entry against the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    Holds,
    Changed,
    Broken,
    #[default]
    Unverifiable,
}

impl BetaPosterior {
    /// The prior of every entry: ten pseudo-observations with mean 0.5.
    pub const PRIOR: Self = Self {
        alpha: 5.0,
        beta: 5.0,
    };

    /// Returns the posterior mean, which is shown as confidence.
    pub fn mean(self) -> f64 {
        self.alpha / (self.alpha + self.beta)
    }
}

impl Default for BetaPosterior {
    fn default() -> Self {
        Self::PRIOR
    }
}

impl EntryFacts {
    /// Derives the facts of an entry; `checked` is the verdict of a check against the code, if one
    /// ran.
    pub fn from_entry(entry: &Entry, checked: Option<Validity>, now: Timestamp) -> Self {
        let validity = checked.unwrap_or_default();
        Self {
            posterior: entry.posterior(validity, now.date()),
            validity,
            // Only a repository can ask git: the caller fills it in.
            changed_in: None,
            // A check that cannot decide, such as one without a lockfile, verifies nothing.
            last_verified: (validity == Validity::Holds).then_some(now),
            confirmation: entry.confirmation.clone(),
            status: entry.status.value,
            quarantined: !entry.quarantine.is_empty(),
            // Depends on the workspace and on the other candidates: the caller fills both in.
            revoked: false,
            archived: entry.archived.is_some(),
            cooccurrence: 0.0,
            silence: if entry.is_prescriptive() {
                0
            } else {
                entry.exposures_since_confirmation().blind
            },
            // A setting of the workspace decides: the caller fills it in.
            belief: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_is_five_and_five_and_its_mean_a_half() {
        assert_eq!(
            BetaPosterior::default(),
            BetaPosterior {
                alpha: 5.0,
                beta: 5.0
            }
        );
        assert!((BetaPosterior::PRIOR.mean() - 0.5).abs() < f64::EPSILON);
        let (alpha, beta) = (9.0, 3.0);
        let confidence = BetaPosterior { alpha, beta }.mean();
        assert!((confidence - 0.75).abs() < f64::EPSILON);
    }
}
