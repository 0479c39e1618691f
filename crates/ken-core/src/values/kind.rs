//! Kinds of entries, their memories and id prefixes.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines the kinds: variant, name in text and JSON, id prefix, summary.
///
/// One list, so that a new kind cannot be missing from [`EntryKind::ALL`].
macro_rules! entry_kinds {
    ($($variant:ident $name:literal $prefix:ident $summary:literal),* $(,)?) => {
        /// The kind of an entry. A kind belongs to exactly one [`Memory`].
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        pub enum EntryKind {
            $(#[serde(rename = $name)] $variant),*
        }

        impl EntryKind {
            /// Every kind, in the order used by documentation.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// Returns the name used in text, JSON and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Describes the kind in a few words, for help texts.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary),* }
            }

            /// Returns the id prefix of this kind.
            pub fn prefix(self) -> IdPrefix {
                match self { $(Self::$variant => IdPrefix::$prefix),* }
            }
        }
    };
}

entry_kinds! {
    Technique "technique" Lesson "a way of doing something that works here",
    Pattern "pattern" Lesson "a solution that the code uses again and again",
    AntiPattern "anti-pattern" Lesson "something to avoid, and why",
    Decision "decision" Lesson "a choice that was made, with its reason",
    Convention "convention" Lesson "how things are named, written or laid out",
    Learning "learning" Lesson "anything else worth knowing; the default",
    Bug "bug" Lesson "a defect, its cause or its remedy",
    Incident "incident" Lesson "what happened in production and what follows from it",
    FalsePositive "false-positive" Lesson "a warning of a tool or review that is wrong here",
    Spike "spike" Spike "a question that an experiment answered",
    Entity "entity" Entity "a named thing: a service, table, team or concept",
    Relationship "relationship" Relationship "how two entities are related",
    CommitNorm "commit-norm" Norm "a rule for commits",
    PrExpectation "pr-expectation" Norm "a rule for pull requests",
    UserExpectation "user-expectation" Norm "what a person expects of every change",
    RiskTier "risk-tier" Norm "how risky a part of the code is, and who must review it",
    Friction "friction" Friction "something that got in the way; Ken records it",
    Calibration "calibration" Friction "how well estimates fit",
}

/// What a change of the anchored code means for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeRelation {
    /// The statement reports what the code does: it may have become false.
    Describes,
    /// The statement says what the code should do: the code may have departed from it.
    Prescribes,
    /// The statement is about neither: the change means nothing.
    Independent,
}

/// One of the three separate memories.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Facts: lessons, spikes, entities, relationships.
    Semantic,
    /// Norms: commits, pull requests, definition of done, risk tiers.
    Procedural,
    /// Friction, calibration, runs.
    Episodic,
}

/// The first letter of an entry id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdPrefix {
    Lesson,
    Spike,
    Entity,
    Relationship,
    Norm,
    Friction,
}

/// A text that is not the name of a kind, memory or prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}; known: {known}")]
pub struct UnknownNameError {
    text: String,
    what: &'static str,
    known: String,
}

impl EntryKind {
    /// Returns every kind of lesson: the facts that agents learn and record.
    pub fn lessons() -> impl Iterator<Item = Self> {
        let is_lesson = |kind: &Self| kind.prefix() == IdPrefix::Lesson;
        Self::ALL.into_iter().filter(is_lesson)
    }

    /// Returns the names of the kinds of lessons, for help texts.
    pub fn lesson_names() -> String {
        Self::lessons()
            .map(Self::name)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns what a change of the anchored code means for a statement of this kind.
    ///
    /// An anti-pattern names what to avoid: code that starts to do it is the defect, and the
    /// statement stays true. A pattern reports what the code does, so it describes.
    pub fn code_relation(self) -> CodeRelation {
        match self {
            Self::Decision
            | Self::Convention
            | Self::AntiPattern
            | Self::CommitNorm
            | Self::PrExpectation
            | Self::UserExpectation => CodeRelation::Prescribes,
            // It says how to review the code, not what the code does or should do.
            Self::RiskTier => CodeRelation::Independent,
            Self::Technique
            | Self::Pattern
            | Self::Learning
            | Self::Bug
            | Self::Incident
            | Self::FalsePositive
            | Self::Spike
            | Self::Entity
            | Self::Relationship
            | Self::Friction
            | Self::Calibration => CodeRelation::Describes,
        }
    }

    /// Returns whether a statement of this kind says how things should be.
    ///
    /// Nobody can rediscover it from the code. So it ends only by being superseded, retracted or
    /// reviewed: neither a code change nor silence nor chance takes it away.
    pub fn is_prescriptive(self) -> bool {
        match self.code_relation() {
            CodeRelation::Prescribes | CodeRelation::Independent => true,
            CodeRelation::Describes => false,
        }
    }

    /// Returns whether an entry of this kind tells of something that went wrong.
    pub fn is_about_failure(self) -> bool {
        match self {
            Self::Bug | Self::Incident | Self::Friction => true,
            Self::Technique
            | Self::Pattern
            | Self::AntiPattern
            | Self::Decision
            | Self::Convention
            | Self::Learning
            | Self::FalsePositive
            | Self::Spike
            | Self::Entity
            | Self::Relationship
            | Self::CommitNorm
            | Self::PrExpectation
            | Self::UserExpectation
            | Self::RiskTier
            | Self::Calibration => false,
        }
    }

    /// Returns the memory of this kind.
    pub fn memory(self) -> Memory {
        // Derived from the prefix, so an entry id alone determines the memory.
        self.prefix().memory()
    }
}

impl Memory {
    /// The three memories, in the order of files and listings.
    pub const ALL: [Self; 3] = [Self::Semantic, Self::Procedural, Self::Episodic];

    /// Returns the name, which is also the folder in `.ken/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Procedural => "procedural",
            Self::Episodic => "episodic",
        }
    }
}

impl IdPrefix {
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

    /// Returns the memory of entries with this prefix.
    pub fn memory(self) -> Memory {
        match self {
            Self::Lesson | Self::Spike | Self::Entity | Self::Relationship => Memory::Semantic,
            Self::Norm => Memory::Procedural,
            Self::Friction => Memory::Episodic,
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.letter())
    }
}

impl FromStr for EntryKind {
    type Err = UnknownNameError;

    /// Parses the name. Underscores are accepted as dashes, as in the requirement sources.
    fn from_str(text: &str) -> Result<Self, UnknownNameError> {
        let dashed = text.replace('_', "-");
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == dashed)
            .ok_or_else(|| UnknownNameError {
                text: text.to_owned(),
                what: "kind",
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}

impl FromStr for Memory {
    type Err = UnknownNameError;

    fn from_str(text: &str) -> Result<Self, UnknownNameError> {
        Self::ALL
            .into_iter()
            .find(|memory| memory.name() == text)
            .ok_or_else(|| UnknownNameError {
                text: text.to_owned(),
                what: "memory",
                known: Self::ALL.map(Self::name).join(", "),
            })
    }
}

impl FromStr for IdPrefix {
    type Err = UnknownNameError;

    fn from_str(text: &str) -> Result<Self, UnknownNameError> {
        let mut chars = text.chars();
        // The second character must be absent: a prefix is exactly one letter.
        let (letter, rest) = (chars.next(), chars.next());
        Self::ALL
            .into_iter()
            .find(|prefix| rest.is_none() && letter == Some(prefix.letter()))
            .ok_or_else(|| UnknownNameError {
                text: text.to_owned(),
                what: "prefix",
                known: Self::ALL
                    .map(|prefix| prefix.letter().to_string())
                    .join(", "),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_belongs_to_one_of_three_memories() {
        let of = |memory| {
            EntryKind::ALL
                .into_iter()
                .filter(|kind| kind.memory() == memory)
                .count()
        };
        assert_eq!(of(Memory::Semantic), 12);
        assert_eq!(of(Memory::Procedural), 4);
        assert_eq!(of(Memory::Episodic), 2);
    }

    #[test]
    fn norms_and_decisions_are_prescriptive_and_findings_are_not() {
        let prescriptive = EntryKind::ALL.into_iter().filter(|it| it.is_prescriptive());
        let names: Vec<&str> = prescriptive.map(EntryKind::name).collect();
        assert_eq!(
            names,
            [
                "anti-pattern",
                "decision",
                "convention",
                "commit-norm",
                "pr-expectation",
                "user-expectation",
                "risk-tier"
            ]
        );
        let norms = EntryKind::ALL.into_iter();
        let mut norms = norms.filter(|it| it.memory() == Memory::Procedural);
        assert!(norms.all(EntryKind::is_prescriptive));
    }

    #[test]
    fn names_round_trip_and_serde_agrees() {
        for kind in EntryKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!("anti_pattern".parse(), Ok(EntryKind::AntiPattern));
        assert!("lesson".parse::<EntryKind>().is_err());
    }
}
