//! Knowledge policies: Ken and four others, over the same entries, ranking and cap.
//!
//! A policy decides which findings become entries, which events confirm or archive them, whether
//! the code is checked, and whether a retracted claim may return. Each of the others implements the
//! behavior of existing tools of its kind well; its settings are tuned like Ken's.

use ken_core::retrieval::score::RankingWeights;
use ken_core::trust::rediscovery::{RediscoveryMode, RediscoveryPolicy};
use ken_core::trust::review::ReviewPolicy;
use serde::Serialize;

/// Weight below which time decay archives an entry: two half-lives without access.
pub const FORGOTTEN_BELOW: f64 = 0.25;

/// A policy with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnowledgePolicy {
    /// Ken: holdouts, code checks, tombstones; decay by review or by belief, as the review policy
    /// says.
    Ken {
        gate: EntryGate,
        review: ReviewPolicy,
        model: BeliefModel,
    },
    /// Keeps every entry.
    KeepEverything {
        gate: EntryGate,
        ranking: RankingEmphasis,
    },
    /// Any repetition confirms, even after exposure; entries without one for `reviews` runs that
    /// showed them are archived.
    Reinforcement { gate: EntryGate, reviews: u32 },
    /// Archives entries by time since they were last shown.
    TimeDecay {
        gate: EntryGate,
        half_life_days: u32,
    },
    /// Anchors entries to code, checks it before showing them, and archives them after an expiry
    /// unless `renewal` extends it.
    Citation {
        gate: EntryGate,
        expiry_days: u32,
        renewal: ExpiryRenewal,
    },
}

/// Condition for findings to become entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum EntryGate {
    /// Every finding.
    Any,
    /// Findings that Ken's accumulation rule accepts.
    Accumulation,
}

/// The model from which the belief in an entry follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum BeliefModel {
    /// The standard model, which every workspace starts with.
    Standard,
    /// Fitted to the entries again and again.
    Fitted,
}

/// The signal with the highest ranking weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RankingEmphasis {
    /// Ken's default weights.
    Usual,
    /// Outcomes.
    ByOutcome,
    /// Freshness.
    ByFreshness,
}

/// Extension of an expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ExpiryRenewal {
    /// Never: an expired claim must be found again.
    Never,
    /// By use, if the entry was shown and its code is unchanged.
    Use,
}

/// Name of a policy, without its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Ken that observes rediscovery, ranks by it, and gates by it.
    Ken,
    KenRank,
    KenGate,
    KeepEverything,
    Reinforcement,
    TimeDecay,
    Citation,
}

impl PolicyName {
    /// All policies, Ken first.
    pub const ALL: [Self; 7] = [
        Self::Ken,
        Self::KenRank,
        Self::KenGate,
        Self::KeepEverything,
        Self::Reinforcement,
        Self::TimeDecay,
        Self::Citation,
    ];

    /// Returns the name used in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ken => "ken",
            Self::KenRank => "ken-rank",
            Self::KenGate => "ken-gate",
            Self::KeepEverything => "keep-everything",
            Self::Reinforcement => "reinforcement",
            Self::TimeDecay => "time-decay",
            Self::Citation => "citation",
        }
    }

    /// Returns whether the policy is Ken in any mode.
    pub fn is_ken(self) -> bool {
        matches!(self, Self::Ken | Self::KenRank | Self::KenGate)
    }
}

impl KnowledgePolicy {
    /// Returns the name without the settings.
    pub fn name(&self) -> PolicyName {
        match self {
            Self::Ken { review, .. } => match review.rediscovery.mode {
                RediscoveryMode::Observe => PolicyName::Ken,
                RediscoveryMode::Rank => PolicyName::KenRank,
                RediscoveryMode::Gate => PolicyName::KenGate,
            },
            Self::KeepEverything { .. } => PolicyName::KeepEverything,
            Self::Reinforcement { .. } => PolicyName::Reinforcement,
            Self::TimeDecay { .. } => PolicyName::TimeDecay,
            Self::Citation { .. } => PolicyName::Citation,
        }
    }

    /// Returns a short description of the settings.
    pub fn settings(&self) -> String {
        match self {
            Self::Ken {
                gate,
                review,
                model,
            } => {
                let counts = format!("{} reviews, {} chances", review.reviews, review.chances);
                let (gate, model) = (gate.words(), model.words());
                match review.rediscovery.mode {
                    RediscoveryMode::Observe => counts,
                    RediscoveryMode::Rank => format!("{gate}, {counts}, {model}"),
                    RediscoveryMode::Gate => format!("{gate}, {model}"),
                }
            }
            Self::KeepEverything { gate, ranking } => {
                format!("{}, ranked {}", gate.words(), ranking.words())
            }
            Self::Reinforcement { gate, reviews } => {
                format!("{}, {reviews} reviews", gate.words())
            }
            Self::TimeDecay {
                gate,
                half_life_days,
            } => {
                format!("{}, half-life {half_life_days} days", gate.words())
            }
            Self::Citation {
                gate,
                expiry_days,
                renewal,
            } => {
                let renewal = renewal.words();
                format!("{}, {expiry_days} days, {renewal}", gate.words())
            }
        }
    }

    /// Returns the gate of the policy.
    pub fn gate(&self) -> EntryGate {
        match self {
            Self::Ken { gate, .. }
            | Self::KeepEverything { gate, .. }
            | Self::Reinforcement { gate, .. }
            | Self::TimeDecay { gate, .. }
            | Self::Citation { gate, .. } => *gate,
        }
    }

    /// Returns the review policy for closing runs.
    pub fn review(&self) -> ReviewPolicy {
        let without_blind = |reviews| ReviewPolicy {
            reviews,
            chances: 0,
            blind: false,
            rediscovery: RediscoveryPolicy::OBSERVE,
        };
        match self {
            Self::Ken { review, .. } => *review,
            Self::Reinforcement { reviews, .. } => without_blind(*reviews),
            Self::KeepEverything { .. } | Self::TimeDecay { .. } | Self::Citation { .. } => {
                // A threshold that is never reached disables archiving by review.
                without_blind(u32::MAX)
            }
        }
    }

    /// Returns the ranking weights.
    pub fn weights(&self) -> RankingWeights {
        match self {
            Self::KeepEverything { ranking, .. } => ranking.weights(),
            Self::Ken { .. }
            | Self::Reinforcement { .. }
            | Self::TimeDecay { .. }
            | Self::Citation { .. } => RankingWeights::default(),
        }
    }

    /// Returns whether the code is checked before an entry is shown.
    pub fn checks_code(&self) -> bool {
        match self {
            Self::Ken { .. } | Self::Citation { .. } => true,
            Self::KeepEverything { .. } | Self::Reinforcement { .. } | Self::TimeDecay { .. } => {
                false
            }
        }
    }

    /// Returns whether a retracted claim cannot be added again.
    pub fn has_tombstones(&self) -> bool {
        self.name().is_ken()
    }

    /// Returns whether matching entries without room are recorded, so that missing rediscovery
    /// counts.
    pub fn records_passed_over(&self) -> bool {
        self.name().is_ken()
    }

    /// Returns whether a claim is pushed only with the independent evidence that Ken requires.
    pub fn requires_evidence(&self) -> bool {
        self.name().is_ken()
    }

    /// Returns what the policy does with the belief in an entry.
    pub fn mode(&self) -> RediscoveryMode {
        self.review().rediscovery.mode
    }

    /// Returns whether the model of rediscovery is fitted to the entries. Nothing reads the model
    /// of a policy that only observes.
    pub fn fits_model(&self) -> bool {
        let is_fitted = match self {
            Self::Ken { model, .. } => *model == BeliefModel::Fitted,
            Self::KeepEverything { .. }
            | Self::Reinforcement { .. }
            | Self::TimeDecay { .. }
            | Self::Citation { .. } => false,
        };
        is_fitted && self.mode() != RediscoveryMode::Observe
    }

    /// Returns whether an entry last confirmed `age_days` ago is archived.
    pub fn is_too_old(&self, age_days: u32) -> bool {
        match self {
            Self::TimeDecay { half_life_days, .. } => {
                let half_lives = f64::from(age_days) / f64::from(*half_life_days);
                // The weight halves with every half-life.
                (-half_lives).exp2() < FORGOTTEN_BELOW
            }
            Self::Citation { expiry_days, .. } => age_days > *expiry_days,
            Self::Ken { .. } | Self::KeepEverything { .. } | Self::Reinforcement { .. } => false,
        }
    }
}

impl EntryGate {
    fn words(self) -> &'static str {
        match self {
            Self::Any => "any finding",
            Self::Accumulation => "accumulation",
        }
    }
}

impl BeliefModel {
    fn words(self) -> &'static str {
        match self {
            Self::Standard => "standard model",
            Self::Fitted => "fitted model",
        }
    }
}

impl RankingEmphasis {
    fn words(self) -> &'static str {
        match self {
            Self::Usual => "as usual",
            Self::ByOutcome => "by outcome",
            Self::ByFreshness => "by freshness",
        }
    }

    fn weights(self) -> RankingWeights {
        let (thompson, freshness) = match self {
            Self::Usual => return RankingWeights::default(),
            Self::ByOutcome => (0.6, 0.1),
            Self::ByFreshness => (0.1, 0.6),
        };
        // The weights must sum to one.
        let weights = serde_json::json!({
            "semantic": 0.2, "thompson": thompson, "freshness": freshness,
            "status": 0.1, "thread": 0.0, "cooccurrence": 0.0,
        });
        RankingWeights::from_json(&weights).expect("they sum to one")
    }
}

impl ExpiryRenewal {
    fn words(self) -> &'static str {
        match self {
            Self::Never => "never renewed",
            Self::Use => "renewed by use",
        }
    }
}
