//! What an entry says: the part people word, review and revise.
//!
//! [`Content`] is the whole, [`Changes`] any part of it. Each field of a revision stands for
//! itself, so two people who change different fields of one entry do not undo each other.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::anchor::Anchor;
use crate::check::Check;
use crate::id::EntryId;
use crate::kind::{Kind, Memory};
use crate::text::{Condition, Note, Statement, Step, Tag};

/// Whether an experience speaks for or against what it describes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Polarity {
    Positive,
    Negative,
}

/// How far an entry reaches.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Thread,
    #[default]
    Workspace,
    Global,
}

/// How fast evidence about an entry loses weight.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DecayClass {
    #[default]
    Ephemeral,
    Stable,
    Permanent,
}

/// What only some kinds have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "lowercase")]
pub enum Detail {
    Spike(Spike),
    Entity(Entity),
    Relationship(Relationship),
    Friction(Friction),
    Norm(Norm),
}

/// The question an experiment asked and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spike {
    pub question: Note,
    pub answer: Note,
    pub confidence: SpikeConfidence,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Note>,
}

/// Whether the experiment settled its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpikeConfidence {
    Conclusive,
    Inconclusive,
}

/// A thing of the codebase that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    pub name: Note,
}

/// How two entities stand to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relationship {
    pub from: EntryId,
    pub rel: Note,
    pub to: EntryId,
}

/// Something that got in the way of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Friction {
    pub friction: FrictionType,
    /// What the tool reported, as it came.
    pub context: serde_json::Value,
}

/// What a norm asks of a change, so that a program can tell whether it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Norm {
    pub check: Check,
}

/// What kind of friction it was.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FrictionType {
    ToolError,
    Redo,
    ValidationFail,
}

impl Detail {
    /// Returns whether entries of `kind` carry this detail.
    pub fn fits(&self, kind: Kind) -> bool {
        match self {
            Self::Spike(_) => kind == Kind::Spike,
            Self::Entity(_) => kind == Kind::Entity,
            Self::Relationship(_) => kind == Kind::Relationship,
            Self::Friction(_) => kind == Kind::Friction,
            Self::Norm(_) => kind.memory() == Memory::Procedural,
        }
    }
}

/// Writes [`Content`] and [`Changes`] from one list of fields, so that neither can miss one.
macro_rules! content_fields {
    ($($(#[$doc:meta])* $field:ident: $type:ty $(= $skip:literal)?;)*) => {
        /// Everything an entry says.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct Content {
            pub statement: Statement,
            $($(#[$doc])* $(#[serde(default, skip_serializing_if = $skip)])? pub $field: $type,)*
        }

        /// Some fields of a [`Content`]; `None` leaves a field as it is.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct Changes {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub statement: Option<Statement>,
            $(
                #[serde(
                    default,
                    deserialize_with = "present",
                    skip_serializing_if = "Option::is_none"
                )]
                pub $field: Option<$type>,
            )*
        }

        impl Content {
            /// Returns this content as changes of every field.
            pub fn into_changes(self) -> Changes {
                Changes { statement: Some(self.statement), $($field: Some(self.$field),)* }
            }

            /// Returns what must change for `self` to become `other`.
            pub fn changes_to(&self, other: &Self) -> Changes {
                Changes {
                    statement: (self.statement != other.statement).then(|| other.statement.clone()),
                    $($field: (self.$field != other.$field).then(|| other.$field.clone()),)*
                }
            }

            /// Returns this content with `changes` made.
            pub fn with(mut self, changes: Changes) -> Self {
                if let Some(statement) = changes.statement {
                    self.statement = statement;
                }
                $(if let Some(value) = changes.$field {
                    self.$field = value;
                })*
                self
            }
        }

        impl Changes {
            /// Returns whether nothing changes.
            pub fn is_empty(&self) -> bool {
                self.statement.is_none() $(&& self.$field.is_none())*
            }

            /// Returns the names of the fields that change.
            pub fn fields(&self) -> Vec<&'static str> {
                let mut names = Vec::new();
                if self.statement.is_some() {
                    names.push("statement");
                }
                $(if self.$field.is_some() {
                    names.push(stringify!($field));
                })*
                names
            }
        }

        /// Resolves each field by itself: `pick` chooses among the writers of one field.
        pub(crate) fn resolve_fields<'a, W: Copy + PartialEq>(
            writes: &[(W, &'a Changes)],
            mut pick: impl FnMut(&[W]) -> Option<W>,
        ) -> (Option<Statement>, Changes) {
            let mut winner_of = |has: &dyn Fn(&'a Changes) -> bool| -> Option<&'a Changes> {
                let writers: Vec<W> =
                    writes.iter().filter(|(_, c)| has(c)).map(|(w, _)| *w).collect();
                let winner = pick(&writers)?;
                writes.iter().find(|(w, _)| *w == winner).map(|(_, c)| *c)
            };
            let statement = winner_of(&|c| c.statement.is_some()).and_then(|c| c.statement.clone());
            let mut changes = Changes::default();
            $(changes.$field = winner_of(&|c| c.$field.is_some()).and_then(|c| c.$field.clone());)*
            (statement, changes)
        }
    };
}

content_fields! {
    /// Anchors into this repository; never exported.
    evidence: Vec<Anchor> = "Vec::is_empty";
    /// Steps that show whether the claim still holds.
    verify: Vec<Step> = "Vec::is_empty";
    tags: BTreeSet<Tag> = "BTreeSet::is_empty";
    /// Conditions the claim rests on.
    depends_on: Vec<Condition> = "Vec::is_empty";
    polarity: Option<Polarity> = "Option::is_none";
    /// The reviewer's point of view: security, correctness, performance, …
    lens: Option<Tag> = "Option::is_none";
    decay: DecayClass;
    detail: Option<Detail> = "Option::is_none";
}

/// Reads a field that is there, so that `null` means "cleared" and absence means "unchanged".
fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl Content {
    /// Verification steps an entry may have.
    pub const STEPS_MAX: usize = 3;
    /// Anchors an entry may have.
    pub const ANCHORS_MAX: usize = 32;
    /// Tags an entry may have.
    pub const TAGS_MAX: usize = 32;
    /// Conditions an entry may have.
    pub const CONDITIONS_MAX: usize = 32;

    /// Makes content that says only `statement`.
    pub fn new(statement: Statement) -> Self {
        Self {
            statement,
            evidence: Vec::new(),
            verify: Vec::new(),
            tags: BTreeSet::new(),
            depends_on: Vec::new(),
            polarity: None,
            lens: None,
            decay: DecayClass::default(),
            detail: None,
        }
    }

    /// Returns whether the entry points at code.
    pub fn cites_code(&self) -> bool {
        !self.evidence.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Content {
        Content::new(text.parse().unwrap())
    }

    #[test]
    fn changes_lead_from_one_content_to_the_other() {
        let a = content("a");
        let mut b = content("b");
        b.tags.insert("auth/jwt".parse().unwrap());
        b.decay = DecayClass::Stable;
        let changes = a.changes_to(&b);
        assert_eq!(changes.fields(), ["statement", "tags", "decay"]);
        assert_eq!(a.with(changes), b);
        assert!(b.changes_to(&b).is_empty());
    }

    #[test]
    fn a_cleared_option_is_a_change() {
        let mut a = content("a");
        a.polarity = Some(Polarity::Negative);
        let b = content("a");
        let changes = a.changes_to(&b);
        assert_eq!(changes.polarity, Some(None));
        let json = serde_json::to_string(&changes).unwrap();
        assert_eq!(json, r#"{"polarity":null}"#);
        assert_eq!(serde_json::from_str::<Changes>(&json).unwrap(), changes);
    }

    #[test]
    fn ent_46_entries_are_ephemeral_unless_told_otherwise() {
        assert_eq!(content("a").decay, DecayClass::Ephemeral);
    }
}
