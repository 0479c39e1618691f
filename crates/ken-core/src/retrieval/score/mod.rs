//! Scoring of candidates, shared by repository and hub: six signals, their weights and boosts.
//!
//! Invariant: every signal lies in [0, 1] and the weights sum to 1, so the weighted sum lies in
//! [0, 1], too. Boosts are added on top. An [`ExplainedScore`] lists all parts, which sum to the
//! score.

mod thompson;
mod weights;

use serde::{Deserialize, Serialize};

use crate::ledger::entry::Entry;
use crate::ledger::event::Overlay;
use crate::trust::facts::{EntryFacts, Validity};
use crate::values::kind::EntryKind;
use crate::values::status::EntryStatus;
use crate::values::time::{Date, Timestamp};

pub use thompson::{DrawSeed, PosteriorDraw};
pub use weights::{RankingWeights, RankingWeightsError, SCORING_KEY};

/// Half-life, in days, of the freshness of an entry that cannot be verified.
pub const FRESHNESS_HALF_LIFE_DAYS: f64 = 90.0;

/// Missed chances of rediscovery after which freshness is halved.
pub const SILENCE_HALF_LIFE: f64 = 6.0;
/// Saturation rate of the co-occurrence signal.
const COOCCURRENCE_RATE: f64 = 0.6;
/// Boost of a pinned entry.
pub const PIN_BOOST: f64 = 0.15;
/// Boost of an entry with tags of two domains that the query names.
pub const CROSS_DOMAIN_BOOST: f64 = 0.05;
/// Boost of an entry of a kind that the reader's role prefers.
pub const ROLE_BOOST: f64 = 0.05;

/// One number per ranking signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalVector {
    pub semantic: f64,
    pub thompson: f64,
    pub freshness: f64,
    pub status: f64,
    pub thread: f64,
    pub cooccurrence: f64,
}

/// The signals of one entry, each in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RankingSignals(pub SignalVector);

/// The boosts that apply to one entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreBoosts {
    pub pinned: bool,
    pub cross_domain: bool,
    pub role: bool,
}

/// The relation of one candidate to the query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueryMatch {
    /// Relevance to the query, in [0, 1].
    pub semantic: f64,
    /// Set if the entry belongs to the thread of the query.
    pub in_thread: bool,
}

/// The role of the reader, which prefers some kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderRole {
    Researcher,
    Planner,
    Debugger,
    Executor,
    Reviewer,
}

/// One summand of a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScorePart {
    pub name: &'static str,
    pub value: f64,
    pub weight: f64,
    /// `value` times `weight`.
    pub adds: f64,
}

/// A score and its parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedScore {
    pub score: f64,
    pub parts: Vec<ScorePart>,
}

/// The reason why a candidate is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HiddenReason {
    /// Archived, retracted, merged or superseded.
    LaidAside,
    Quarantined,
    /// The current rules of the guard would refuse its text.
    Refused,
    /// The author or origin was revoked.
    Revoked,
    Rejected,
    Stale,
    Muted,
    Invalidated,
    /// An episodic entry, such as friction, that the query did not ask for.
    Raw,
    /// Restricted to another thread of work.
    OtherThread,
    /// The anchored code changed.
    Changed,
    /// The anchored code is gone, or a condition fails.
    Broken,
}

impl HiddenReason {
    /// Returns whether the entry is hidden because its code changed or is gone.
    pub fn is_about_code(self) -> bool {
        matches!(self, Self::Changed | Self::Broken)
    }
}

impl SignalVector {
    /// Returns the numbers with their names, in the documented order.
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

/// Maximum amount by which a draw moves a score away from its expected value.
///
/// Exploration may swap entries that are nearly as good as each other. It must not push the best
/// answer out of the first hits.
pub const EXPLORATION_MAX: f64 = 0.01;

/// Name of the score part that limits the effect of a draw.
const EXPLORATION_PART: &str = "exploration_limit";

/// Name of the score part that records the belief in the entry.
const BELIEF_PART: &str = "rediscovery";

/// Scores one entry. With a draw, the score stays within [`EXPLORATION_MAX`] of the score with the
/// mean.
pub fn score_entry(
    facts: &EntryFacts,
    found: QueryMatch,
    draw: PosteriorDraw,
    now: Timestamp,
    (weights, boosts): (&RankingWeights, ScoreBoosts),
) -> ExplainedScore {
    let with = |draw| RankingSignals::from_facts(facts, found, draw, now).explain(weights, boosts);
    let mut explained = with(draw);
    if draw != PosteriorDraw::Mean {
        let expected = with(PosteriorDraw::Mean).score;
        let low = expected - EXPLORATION_MAX;
        let limited = explained.score.clamp(low, expected + EXPLORATION_MAX);
        explained.adjust(EXPLORATION_PART, limited - explained.score);
    }
    explained.discount(facts.belief);
    explained
}

impl ExplainedScore {
    /// Multiplies the score by the belief in the entry, if the workspace ranks by it.
    pub fn discount(&mut self, belief: Option<f64>) {
        if let Some(belief) = belief {
            self.adjust(BELIEF_PART, self.score * (belief - 1.0));
        }
    }

    /// Adds an amount to the score and lists it as a part; an amount of 0 is not listed.
    pub fn adjust(&mut self, name: &'static str, amount: f64) {
        if amount != 0.0 {
            self.parts.push(ScorePart {
                name,
                value: 1.0,
                weight: amount,
                adds: amount,
            });
            self.score += amount;
        }
    }
}

impl RankingSignals {
    /// Computes the signals of one entry.
    pub fn from_facts(
        facts: &EntryFacts,
        found: QueryMatch,
        draw: PosteriorDraw,
        now: Timestamp,
    ) -> Self {
        Self(SignalVector {
            // Keeps the invariant even if a store reports a relevance outside the range.
            semantic: found.semantic.clamp(0.0, 1.0),
            thompson: draw.sample(facts.posterior),
            // Silence lowers even verified freshness: unchanged code does not prove a claim about
            // it.
            freshness: freshness(facts, now) * silence_factor(facts.silence),
            status: status_bonus(facts.status),
            thread: if found.in_thread { 1.0 } else { 0.0 },
            cooccurrence: 1.0 - libm::exp(-COOCCURRENCE_RATE * facts.cooccurrence.max(0.0)),
        })
    }

    /// Computes the score and lists its parts.
    pub fn explain(&self, weights: &RankingWeights, boosts: ScoreBoosts) -> ExplainedScore {
        let part = |name, value: f64, weight: f64| ScorePart {
            name,
            value,
            weight,
            adds: value * weight,
        };
        let boost = |name, on: bool, weight| part(name, if on { 1.0 } else { 0.0 }, weight);
        let weighted = self.0.named().into_iter().zip(weights.named());
        let weighted = weighted.map(|((name, value), (_, weight))| part(name, value, weight));
        let mut parts: Vec<ScorePart> = weighted.collect();
        parts.extend([
            boost("pinned", boosts.pinned, PIN_BOOST),
            boost("cross_domain", boosts.cross_domain, CROSS_DOMAIN_BOOST),
            boost("role", boosts.role, ROLE_BOOST),
        ]);
        // Summed from the parts, so that the explanation adds up to the score exactly.
        let score = parts.iter().map(|part| part.adds).sum();
        ExplainedScore { score, parts }
    }
}

impl ReaderRole {
    pub const ALL: [Self; 5] = [
        Self::Researcher,
        Self::Planner,
        Self::Debugger,
        Self::Executor,
        Self::Reviewer,
    ];

    /// Returns the name in commands and forms.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Researcher => "researcher",
            Self::Planner => "planner",
            Self::Debugger => "debugger",
            Self::Executor => "executor",
            Self::Reviewer => "reviewer",
        }
    }

    /// Returns the role with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns whether this role prefers entries of `kind`; debuggers and executors have no
    /// preference.
    pub fn prefers(self, kind: EntryKind) -> bool {
        match self {
            Self::Researcher => kind == EntryKind::Spike,
            Self::Planner => kind == EntryKind::Learning,
            Self::Debugger | Self::Executor => false,
            Self::Reviewer => matches!(
                kind,
                EntryKind::FalsePositive | EntryKind::Incident | EntryKind::Pattern
            ),
        }
    }
}

/// Returns the reason why `entry` must be hidden, if any.
pub fn hidden_reason(entry: &Entry, facts: &EntryFacts) -> Option<HiddenReason> {
    // Trust comes first: quarantine and revocation hide an entry whatever else applies to it.
    if facts.quarantined {
        return Some(HiddenReason::Quarantined);
    }
    if facts.revoked {
        return Some(HiddenReason::Revoked);
    }
    if !entry.is_live() {
        return Some(HiddenReason::LaidAside);
    }
    match facts.status {
        EntryStatus::Rejected => return Some(HiddenReason::Rejected),
        EntryStatus::Stale => return Some(HiddenReason::Stale),
        EntryStatus::Candidate | EntryStatus::Active | EntryStatus::Verified => {}
    }
    if entry.has_annotation(Overlay::Mute) {
        return Some(HiddenReason::Muted);
    }
    if entry.has_annotation(Overlay::Invalidate) {
        return Some(HiddenReason::Invalidated);
    }
    match facts.validity {
        // The code may have departed from it: that is when it must be seen.
        Validity::Changed if entry.is_prescriptive() => None,
        Validity::Changed => Some(HiddenReason::Changed),
        Validity::Broken => Some(HiddenReason::Broken),
        Validity::Holds | Validity::Unverifiable => None,
    }
}

/// Returns the freshness factor of silence, halved by every [`SILENCE_HALF_LIFE`] missed chances.
fn silence_factor(silence: u64) -> f64 {
    // `f64::from` accepts `u32` but not `u64`; the factor is 0 long before that limit.
    let silence = u32::try_from(silence).unwrap_or(u32::MAX);
    libm::exp2(-f64::from(silence) / SILENCE_HALF_LIFE)
}

/// Returns the freshness of an entry: 1 if valid, 0 if changed or broken.
///
/// Otherwise it halves every [`FRESHNESS_HALF_LIFE_DAYS`] since the last confirmation or
/// verification.
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
    // Whole days, so that repeating a query on the same day gives the same result.
    let age = now.date().days_since(last.date());
    libm::exp2(-f64::from(age) / FRESHNESS_HALF_LIFE_DAYS)
}

fn status_bonus(status: EntryStatus) -> f64 {
    match status {
        EntryStatus::Verified => 1.0,
        EntryStatus::Active => 0.8,
        EntryStatus::Candidate => 0.5,
        EntryStatus::Stale | EntryStatus::Rejected => 0.0,
    }
}

#[cfg(test)]
mod tests;
