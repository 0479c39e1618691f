//! What scoring and rules may know about an entry, with honest defaults for what is not built yet.

use serde::{Deserialize, Serialize};

use crate::entry::{Confirmation, Entry};
use crate::status::Status;
use crate::time::Timestamp;

/// The pure view of an entry that scoring, gates and briefing read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryFacts {
    pub posterior: Beta,
    pub validity: Validity,
    pub last_verified: Option<Timestamp>,
    pub confirmation: Confirmation,
    pub status: Status,
    pub quarantined: bool,
    /// Whoever made it, or where it came from, was revoked.
    #[serde(default)]
    pub revoked: bool,
    pub archived: bool,
    /// The largest weight with which the entry appeared beside another result.
    pub cooccurrence: f64,
    /// Chances somebody had to find it unseen since anybody last did.
    #[serde(default)]
    pub silence: u64,
}

/// A Beta posterior over "using it helps".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beta {
    pub alpha: f64,
    pub beta: f64,
}

/// Whether the code still bears the entry out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    Holds,
    Changed,
    Broken,
    #[default]
    Unverifiable,
}

impl Beta {
    /// What is believed of every entry before anything was observed.
    pub const PRIOR: Self = Self {
        alpha: 5.0,
        beta: 5.0,
    };

    /// Returns the posterior mean, which is shown as confidence.
    pub fn mean(self) -> f64 {
        self.alpha / (self.alpha + self.beta)
    }
}

impl Default for Beta {
    fn default() -> Self {
        Self::PRIOR
    }
}

impl EntryFacts {
    /// Returns what the events say now, and what a look at the code said, if somebody looked.
    pub fn of(entry: &Entry, looked: Option<Validity>, now: Timestamp) -> Self {
        let validity = looked.unwrap_or_default();
        Self {
            posterior: entry.posterior(validity, now.date()),
            validity,
            last_verified: looked.map(|_| now),
            confirmation: entry.confirmation.clone(),
            status: entry.status.value,
            quarantined: !entry.quarantine.is_empty(),
            revoked: false,
            archived: entry.archived.is_some(),
            cooccurrence: 0.0,
            silence: entry.since_confirmation().blind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tru_04_tru_11_the_prior_is_five_and_five_and_its_mean_a_half() {
        assert_eq!(
            Beta::default(),
            Beta {
                alpha: 5.0,
                beta: 5.0
            }
        );
        assert!((Beta::PRIOR.mean() - 0.5).abs() < f64::EPSILON);
    }
}
