//! Kinds of entries, the memory each belongs to and the prefix of its id.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an entry is. A kind belongs to exactly one [`Memory`].
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Technique,
    Pattern,
    AntiPattern,
    Decision,
    Convention,
    Learning,
    Bug,
    Incident,
    FalsePositive,
    Spike,
    Entity,
    Relationship,
    CommitNorm,
    PrExpectation,
    UserExpectation,
    RiskTier,
    Friction,
    Calibration,
}

/// One of the three separate memories.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Facts: lessons, spikes, entities, relationships.
    Semantic,
    /// Norms: commit, pull request, definition of done, risk tiers.
    Procedural,
    /// Friction, calibration, runs.
    Episodic,
}

/// The letter an entry id begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prefix {
    Lesson,
    Spike,
    Entity,
    Relationship,
    Norm,
    Friction,
}

/// A text that names no kind, memory or prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}; known: {known}")]
pub struct UnknownName {
    text: String,
    what: &'static str,
    known: String,
}

impl Kind {
    /// Every kind, in the order documents list them.
    pub const ALL: [Self; 18] = [
        Self::Technique,
        Self::Pattern,
        Self::AntiPattern,
        Self::Decision,
        Self::Convention,
        Self::Learning,
        Self::Bug,
        Self::Incident,
        Self::FalsePositive,
        Self::Spike,
        Self::Entity,
        Self::Relationship,
        Self::CommitNorm,
        Self::PrExpectation,
        Self::UserExpectation,
        Self::RiskTier,
        Self::Friction,
        Self::Calibration,
    ];

    /// Returns the name used in text, JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Technique => "technique",
            Self::Pattern => "pattern",
            Self::AntiPattern => "anti-pattern",
            Self::Decision => "decision",
            Self::Convention => "convention",
            Self::Learning => "learning",
            Self::Bug => "bug",
            Self::Incident => "incident",
            Self::FalsePositive => "false-positive",
            Self::Spike => "spike",
            Self::Entity => "entity",
            Self::Relationship => "relationship",
            Self::CommitNorm => "commit-norm",
            Self::PrExpectation => "pr-expectation",
            Self::UserExpectation => "user-expectation",
            Self::RiskTier => "risk-tier",
            Self::Friction => "friction",
            Self::Calibration => "calibration",
        }
    }

    /// Returns the letter ids of this kind begin with.
    pub fn prefix(self) -> Prefix {
        match self {
            Self::Technique
            | Self::Pattern
            | Self::AntiPattern
            | Self::Decision
            | Self::Convention
            | Self::Learning
            | Self::Bug
            | Self::Incident
            | Self::FalsePositive => Prefix::Lesson,
            Self::Spike => Prefix::Spike,
            Self::Entity => Prefix::Entity,
            Self::Relationship => Prefix::Relationship,
            Self::CommitNorm | Self::PrExpectation | Self::UserExpectation | Self::RiskTier => {
                Prefix::Norm
            }
            Self::Friction | Self::Calibration => Prefix::Friction,
        }
    }

    /// Returns the one memory this kind belongs to.
    pub fn memory(self) -> Memory {
        self.prefix().memory()
    }
}

impl Memory {
    /// The three memories in the order they are written and listed.
    pub const ALL: [Self; 3] = [Self::Semantic, Self::Procedural, Self::Episodic];

    /// Returns the name, which is also the folder below `.ken/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Procedural => "procedural",
            Self::Episodic => "episodic",
        }
    }
}

impl Prefix {
    /// Every prefix.
    pub const ALL: [Self; 6] = [
        Self::Lesson,
        Self::Spike,
        Self::Entity,
        Self::Relationship,
        Self::Norm,
        Self::Friction,
    ];

    /// Returns the letter.
    pub fn letter(self) -> char {
        match self {
            Self::Lesson => 'L',
            Self::Spike => 'S',
            Self::Entity => 'E',
            Self::Relationship => 'R',
            Self::Norm => 'N',
            Self::Friction => 'F',
        }
    }

    /// Returns the memory whose ids begin so.
    pub fn memory(self) -> Memory {
        match self {
            Self::Lesson | Self::Spike | Self::Entity | Self::Relationship => Memory::Semantic,
            Self::Norm => Memory::Procedural,
            Self::Friction => Memory::Episodic,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.letter())
    }
}

impl FromStr for Kind {
    type Err = UnknownName;

    /// Reads the name; underscores are taken for dashes, as the requirement sources write them.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let dashed = text.replace('_', "-");
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == dashed)
            .ok_or_else(|| UnknownName {
                text: text.to_owned(),
                what: "kind",
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}

impl FromStr for Memory {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|memory| memory.name() == text)
            .ok_or_else(|| UnknownName {
                text: text.to_owned(),
                what: "memory",
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}

impl FromStr for Prefix {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let mut chars = text.chars();
        let (letter, rest) = (chars.next(), chars.next());
        Self::ALL
            .into_iter()
            .find(|prefix| rest.is_none() && letter == Some(prefix.letter()))
            .ok_or_else(|| UnknownName {
                text: text.to_owned(),
                what: "prefix",
                known: "L, S, E, R, N, F".to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ent_10_ent_11_every_kind_belongs_to_one_of_three_memories() {
        let of = |memory| {
            Kind::ALL
                .into_iter()
                .filter(|kind| kind.memory() == memory)
                .count()
        };
        assert_eq!(of(Memory::Semantic), 12);
        assert_eq!(of(Memory::Procedural), 4);
        assert_eq!(of(Memory::Episodic), 2);
    }

    #[test]
    fn names_round_trip_and_serde_agrees() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!("anti_pattern".parse(), Ok(Kind::AntiPattern));
        assert!("lesson".parse::<Kind>().is_err());
    }
}
