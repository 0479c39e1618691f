//! What is done with knowledge: Ken, and four others over the same entries, ranking and cap.
//!
//! A policy says what becomes an entry, what counts as a confirmation, what is laid aside, whether the code is
//! asked, and whether a claim that was taken back may return. Each of the others is given what the tools of its
//! kind do, done well; its settings are tuned like Ken's.

use ken_core::review::ReviewPolicy;
use ken_core::score::Weights;
use serde::Serialize;

/// The weight below which what fades with time is forgotten: two half-lives without access.
pub const FORGOTTEN_BELOW: f64 = 0.25;

/// A policy with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Ken: decay by review, blind shares, the code asked, tombstones.
    Ken { review: ReviewPolicy },
    /// Appends and never forgets.
    KeepEverything { gate: Gate, ranking: Ranking },
    /// Any repetition confirms, whoever had seen the claim; what nobody repeats for so many runs that showed
    /// it is laid aside.
    Reinforcement { gate: Gate, reviews: u32 },
    /// Fades with time since it was last shown.
    TimeDecay { gate: Gate, half_life_days: u32 },
    /// Points at code, which is asked before showing; expires unless `renewal` says otherwise.
    Citation {
        gate: Gate,
        expiry_days: u32,
        renewal: Renewal,
    },
}

/// Which findings become entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Gate {
    /// Every one.
    Any,
    /// Those that Ken's rule of accumulation takes.
    Accumulation,
}

/// Which of the six signals counts most when entries are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Ranking {
    /// As Ken ships it.
    Usual,
    /// What outcomes say.
    ByOutcome,
    /// What is newest.
    ByFreshness,
}

/// What puts an expiry off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Renewal {
    /// Nothing: what expired must be found again.
    Never,
    /// Being shown, borne out by the code, and used.
    Use,
}

/// The name of a policy, without its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    Ken,
    KeepEverything,
    Reinforcement,
    TimeDecay,
    Citation,
}

impl Name {
    /// Every policy, Ken first.
    pub const ALL: [Self; 5] = [
        Self::Ken,
        Self::KeepEverything,
        Self::Reinforcement,
        Self::TimeDecay,
        Self::Citation,
    ];

    /// Returns the word used in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ken => "ken",
            Self::KeepEverything => "keep-everything",
            Self::Reinforcement => "reinforcement",
            Self::TimeDecay => "time-decay",
            Self::Citation => "citation",
        }
    }
}

impl Policy {
    /// Returns the name without the settings.
    pub fn name(&self) -> Name {
        match self {
            Self::Ken { .. } => Name::Ken,
            Self::KeepEverything { .. } => Name::KeepEverything,
            Self::Reinforcement { .. } => Name::Reinforcement,
            Self::TimeDecay { .. } => Name::TimeDecay,
            Self::Citation { .. } => Name::Citation,
        }
    }

    /// Returns the settings in a few words.
    pub fn settings(&self) -> String {
        match self {
            Self::Ken { review } => {
                format!("{} reviews, {} chances", review.reviews, review.chances)
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

    /// Returns which findings become entries.
    pub fn gate(&self) -> Gate {
        match self {
            Self::Ken { .. } => Gate::Accumulation,
            Self::KeepEverything { gate, .. }
            | Self::Reinforcement { gate, .. }
            | Self::TimeDecay { gate, .. }
            | Self::Citation { gate, .. } => *gate,
        }
    }

    /// Returns how runs are reviewed when they are closed; what never lays aside asks for more than there is.
    pub fn review(&self) -> ReviewPolicy {
        let without_blind = |reviews| ReviewPolicy {
            reviews,
            chances: 0,
            blind: false,
        };
        match self {
            Self::Ken { review } => *review,
            Self::Reinforcement { reviews, .. } => without_blind(*reviews),
            Self::KeepEverything { .. } | Self::TimeDecay { .. } | Self::Citation { .. } => {
                without_blind(u32::MAX)
            }
        }
    }

    /// Returns how much each signal counts.
    pub fn weights(&self) -> Weights {
        match self {
            Self::KeepEverything { ranking, .. } => ranking.weights(),
            Self::Ken { .. }
            | Self::Reinforcement { .. }
            | Self::TimeDecay { .. }
            | Self::Citation { .. } => Weights::default(),
        }
    }

    /// Returns whether the code is asked before an entry is shown.
    pub fn asks_the_code(&self) -> bool {
        match self {
            Self::Ken { .. } | Self::Citation { .. } => true,
            Self::KeepEverything { .. } | Self::Reinforcement { .. } | Self::TimeDecay { .. } => {
                false
            }
        }
    }

    /// Returns whether a claim that was taken back is refused from then on.
    pub fn has_tombstones(&self) -> bool {
        self.name() == Name::Ken
    }

    /// Returns whether what fitted and had no room is noted, so that silence about it counts.
    pub fn notes_passed(&self) -> bool {
        self.name() == Name::Ken
    }

    /// Returns whether what one agent said is pushed only once somebody else found it.
    pub fn waits_for_another(&self) -> bool {
        self.name() == Name::Ken
    }

    /// Returns whether an entry that is `age_days` old since it was last confirmed is forgotten.
    pub fn is_too_old(&self, age_days: u32) -> bool {
        match self {
            Self::TimeDecay { half_life_days, .. } => {
                let half_lives = f64::from(age_days) / f64::from(*half_life_days);
                (-half_lives).exp2() < FORGOTTEN_BELOW
            }
            Self::Citation { expiry_days, .. } => *expiry_days < age_days,
            Self::Ken { .. } | Self::KeepEverything { .. } | Self::Reinforcement { .. } => false,
        }
    }
}

impl Gate {
    fn words(self) -> &'static str {
        match self {
            Self::Any => "any finding",
            Self::Accumulation => "accumulation",
        }
    }
}

impl Ranking {
    fn words(self) -> &'static str {
        match self {
            Self::Usual => "as usual",
            Self::ByOutcome => "by outcome",
            Self::ByFreshness => "by freshness",
        }
    }

    fn weights(self) -> Weights {
        let (thompson, freshness) = match self {
            Self::Usual => return Weights::default(),
            Self::ByOutcome => (0.6, 0.1),
            Self::ByFreshness => (0.1, 0.6),
        };
        let weights = serde_json::json!({
            "semantic": 0.2, "thompson": thompson, "freshness": freshness,
            "status": 0.1, "thread": 0.0, "cooccurrence": 0.0,
        });
        Weights::from_json(&weights).expect("they sum to one")
    }
}

impl Renewal {
    fn words(self) -> &'static str {
        match self {
            Self::Never => "never renewed",
            Self::Use => "renewed by use",
        }
    }
}
