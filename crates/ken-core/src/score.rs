//! The one scoring function, for a repository and for a hub: six signals, their weights, and who
//! may be shown at all.
//!
//! Invariant: every signal lies in [0, 1] and the weights sum to 1, so the weighted sum does too.
//! Boosts come on top and are told apart in an [`Explained`] score, whose parts sum to it.

mod draw;
mod weights;

use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::event::Overlay;
use crate::facts::{EntryFacts, Validity};
use crate::kind::Kind;
use crate::status::Status;
use crate::time::{Date, Timestamp};

pub use draw::{Draw, Seed};
pub use weights::{SCORING_KEY, Weights, WeightsError};

/// Days after which what cannot be checked is half as fresh.
pub const FRESHNESS_HALF_LIFE_DAYS: f64 = 90.0;

/// Chances nobody took after which an entry counts as half as fresh.
pub const SILENCE_HALF_LIFE: f64 = 6.0;
/// How quickly appearing beside another result counts.
const COOCCURRENCE_RATE: f64 = 0.6;
/// Added to an entry somebody pinned here.
pub const PIN_BOOST: f64 = 0.15;
/// Added to an entry with tags of two domains that the query names both.
pub const CROSS_DOMAIN_BOOST: f64 = 0.05;
/// Added to an entry of the kind a role looks for first.
pub const ROLE_BOOST: f64 = 0.05;

/// One number for each of the six signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Six {
    pub semantic: f64,
    pub thompson: f64,
    pub freshness: f64,
    pub status: f64,
    pub thread: f64,
    pub cooccurrence: f64,
}

/// What each signal says about one entry, in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Signals(pub Six);

/// What raises an entry beside its signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boosts {
    pub pinned: bool,
    pub cross_domain: bool,
    pub role: bool,
}

/// What a search found out about one candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Match {
    /// How near the entry is to the query, in [0, 1].
    pub semantic: f64,
    /// Whether the entry belongs to the thread of work the query comes from.
    pub in_thread: bool,
}

/// Who asks; each looks for some kinds of entry first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Researcher,
    Planner,
    Debugger,
    Executor,
    Reviewer,
}

/// One summand of a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    pub name: &'static str,
    pub value: f64,
    pub weight: f64,
    /// What it adds to the score.
    pub adds: f64,
}

/// A score and what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    pub score: f64,
    pub parts: Vec<Part>,
}

/// Why an entry is not shown although it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// Archived, retracted, merged away or superseded.
    LaidAside,
    Quarantined,
    /// Its author or origin was revoked.
    Revoked,
    Rejected,
    Stale,
    Muted,
    Invalidated,
    /// A raw signal, such as friction: distilled knowledge is shown instead.
    Raw,
    /// It reaches no further than a thread of work that is not the asker's.
    OtherThread,
    /// The code it rests on changed since.
    Changed,
    /// What it rests on is gone or does not hold.
    Broken,
}

impl Six {
    /// Returns the numbers by name, in the order the signals are documented.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("semantic", self.semantic),
            ("thompson", self.thompson),
            ("freshness", self.freshness),
            ("status", self.status),
            ("thread", self.thread),
            ("cooccurrence", self.cooccurrence),
        ]
    }
}

impl Signals {
    /// Computes the signals of one entry.
    pub fn of(facts: &EntryFacts, found: Match, draw: Draw, now: Timestamp) -> Self {
        Self(Six {
            semantic: found.semantic.clamp(0.0, 1.0),
            thompson: draw.from(facts.posterior),
            freshness: freshness(facts, now) * heard(facts.silence),
            status: status_bonus(facts.status),
            thread: if found.in_thread { 1.0 } else { 0.0 },
            cooccurrence: 1.0 - libm::exp(-COOCCURRENCE_RATE * facts.cooccurrence.max(0.0)),
        })
    }

    /// Adds the signals up and says how.
    pub fn explain(&self, weights: &Weights, boosts: Boosts) -> Explained {
        let part = |name, value: f64, weight: f64| Part {
            name,
            value,
            weight,
            adds: value * weight,
        };
        let boost = |name, on: bool, weight| part(name, if on { 1.0 } else { 0.0 }, weight);
        let weighted = self.0.named().into_iter().zip(weights.named());
        let weighted = weighted.map(|((name, value), (_, weight))| part(name, value, weight));
        let mut parts: Vec<Part> = weighted.collect();
        parts.extend([
            boost("pinned", boosts.pinned, PIN_BOOST),
            boost("cross_domain", boosts.cross_domain, CROSS_DOMAIN_BOOST),
            boost("role", boosts.role, ROLE_BOOST),
        ]);
        let score = parts.iter().map(|part| part.adds).sum();
        Explained { score, parts }
    }
}

impl Role {
    /// Returns whether this role looks for entries of `kind` first; a debugger for all alike.
    pub fn prefers(self, kind: Kind) -> bool {
        match self {
            Self::Researcher => kind == Kind::Spike,
            Self::Planner => kind == Kind::Learning,
            Self::Debugger | Self::Executor => false,
            Self::Reviewer => matches!(kind, Kind::FalsePositive | Kind::Incident | Kind::Pattern),
        }
    }
}

/// Returns why `entry` must not be shown, if so.
pub fn withheld(entry: &Entry, facts: &EntryFacts) -> Option<Withheld> {
    if facts.quarantined {
        return Some(Withheld::Quarantined);
    }
    if facts.revoked {
        return Some(Withheld::Revoked);
    }
    if !entry.is_live() {
        return Some(Withheld::LaidAside);
    }
    match facts.status {
        Status::Rejected => return Some(Withheld::Rejected),
        Status::Stale => return Some(Withheld::Stale),
        Status::Candidate | Status::Active | Status::Verified => {}
    }
    if entry.is_marked(Overlay::Mute) {
        return Some(Withheld::Muted);
    }
    if entry.is_marked(Overlay::Invalidate) {
        return Some(Withheld::Invalidated);
    }
    match facts.validity {
        Validity::Changed => Some(Withheld::Changed),
        Validity::Broken => Some(Withheld::Broken),
        Validity::Holds | Validity::Unverifiable => None,
    }
}

/// What silence leaves: half of it after every [`SILENCE_HALF_LIFE`] chances to find an entry unseen that nobody took.
///
/// Code that stands as it stood does not make a claim about it true.
fn heard(silence: u64) -> f64 {
    let silence = u32::try_from(silence).unwrap_or(u32::MAX);
    libm::exp2(-f64::from(silence) / SILENCE_HALF_LIFE)
}

/// Fresh while its conditions hold; otherwise half as fresh every [`FRESHNESS_HALF_LIFE_DAYS`]
/// since it was last confirmed or verified.
fn freshness(facts: &EntryFacts, now: Timestamp) -> f64 {
    match facts.validity {
        Validity::Holds => return 1.0,
        Validity::Changed | Validity::Broken => return 0.0,
        Validity::Unverifiable => {}
    }
    let confirmed = facts.confirmation.last.map(Date::start);
    let Some(last) = confirmed.max(facts.last_verified) else {
        return 0.0;
    };
    // Whole days: an answer asked for again on the same day is the same answer.
    let age = now.date().days_since(last.date());
    libm::exp2(-f64::from(age) / FRESHNESS_HALF_LIFE_DAYS)
}

fn status_bonus(status: Status) -> f64 {
    match status {
        Status::Verified => 1.0,
        Status::Active => 0.8,
        Status::Candidate => 0.5,
        Status::Stale | Status::Rejected => 0.0,
    }
}

#[cfg(test)]
mod tests;
