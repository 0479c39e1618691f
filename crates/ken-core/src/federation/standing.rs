//! Standing of a peer: what a pull found, and when that suspends the peer.
//!
//! Only what the publisher signed counts against it. Anybody who carries the files can damage them,
//! and must not be able to suspend an honest publisher that way.

use serde::{Deserialize, Serialize};

use crate::values::id::EventId;
use crate::values::time::Date;

use super::replica::BatchRejection;

/// Number of strikes on one day that suspend a peer.
pub const STRIKES_MAX: usize = 3;

/// Share of refused lines in a step of a pull, in percent, that suspends a peer.
pub const REFUSED_PERCENT_MAX: usize = 10;

/// Result of a pull.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerPullReport {
    pub batches: usize,
    /// Lines that were stored and wait for a person.
    pub new: usize,
    /// Lines that lost their words here.
    pub redacted: usize,
    /// Entries that the publisher withdrew.
    pub withdrawn: usize,
    /// Refused lines with the reason.
    pub refused: Vec<(EventId, String)>,
    /// The reason why the pull stopped before the head, if it did.
    pub stopped: Option<String>,
}

/// Days of the strikes against a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Strikes(Vec<Date>);

/// What follows from a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullVerdict {
    /// A failure to count against the trust in the peer.
    pub failure: Option<String>,
    /// The reason to suspend the peer.
    pub suspended: Option<String>,
    /// The reason to end the pull.
    pub stopped: Option<String>,
}

impl Strikes {
    /// Judges refused lines: `why` is the reason of the first, `total` counts those accepted with
    /// them, too.
    pub fn judge_refused(
        &mut self,
        (why, refused, total): (&str, usize, usize),
        today: Date,
    ) -> PullVerdict {
        let why = format!("refused lines: {why}");
        let is_flood = refused * 100 > total * REFUSED_PERCENT_MAX;
        let suspended = self.add(today, &why);
        PullVerdict {
            suspended: suspended.or_else(|| is_flood.then(|| why.clone())),
            stopped: is_flood.then(|| why.clone()),
            failure: Some(why),
        }
    }

    /// Judges a rejected batch; proof of a fork suspends the peer at once.
    pub fn judge_rejection(&mut self, rejection: &BatchRejection, today: Date) -> PullVerdict {
        let why = rejection.to_string();
        let mut verdict = PullVerdict {
            stopped: Some(why.clone()),
            ..PullVerdict::default()
        };
        if rejection.is_strike() {
            verdict.suspended = self.add(today, &why);
            verdict.failure = Some(why.clone());
        }
        if matches!(
            rejection,
            BatchRejection::Fork | BatchRejection::TooManyOrders
        ) {
            verdict.suspended = Some(why);
        }
        verdict
    }

    /// Forgets the strikes, because a person decided about the peer.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the days of the strikes.
    pub fn days(&self) -> &[Date] {
        &self.0
    }

    /// Notes a strike. Returns the reason to suspend the peer if it is the last one of a day.
    fn add(&mut self, today: Date, why: &str) -> Option<String> {
        // Strikes of other days do not add up: a mistake now and then is no attack.
        self.0.retain(|day| *day == today);
        self.0.push(today);
        (self.0.len() >= STRIKES_MAX)
            .then(|| format!("{STRIKES_MAX} strikes on one day, the last one: {why}"))
    }
}

impl From<Vec<Date>> for Strikes {
    fn from(days: Vec<Date>) -> Self {
        Self(days)
    }
}
