//! Content of an entry: the part that people write, review and edit.
//!
//! [`Content`] holds all fields, [`ContentChanges`] any subset. Each field of an edit is resolved
//! on its own, so two people who edit different fields of one entry do not overwrite each other.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::anchor::Anchor;
use crate::values::check::NormCheck;
use crate::values::condition::Glob;
use crate::values::id::EntryId;
use crate::values::kind::{EntryKind, Memory};
use crate::values::text::{Body, ClaimText, Condition, Note, Statement, Step, Tag};

/// States whether an experience speaks for or against its subject.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Polarity {
    Positive,
    Negative,
}

/// The scope of an entry. Ordered from narrow to wide.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EntryScope {
    Thread,
    #[default]
    Workspace,
    Global,
}

/// The rate at which evidence about an entry loses weight.
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

/// Extra fields of some kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "lowercase")]
pub enum KindDetail {
    Spike(SpikeDetail),
    Entity(EntityDetail),
    Relationship(RelationshipDetail),
    Friction(FrictionDetail),
    Norm(NormDetail),
}

/// The question of an experiment and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpikeDetail {
    pub question: Note,
    pub answer: Note,
    pub confidence: SpikeConfidence,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Note>,
}

/// States whether the experiment settled its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpikeConfidence {
    Conclusive,
    Inconclusive,
}

impl SpikeConfidence {
    /// Describes the certainty for a reader who may adopt the answer.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Conclusive => "conclusive",
            Self::Inconclusive => "inconclusive: check before you adopt it",
        }
    }
}

/// A named thing in the codebase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntityDetail {
    pub name: Note,
}

/// A relationship between two entities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelationshipDetail {
    pub from: EntryId,
    pub rel: Note,
    pub to: EntryId,
}

/// Something that got in the way of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrictionDetail {
    pub friction: FrictionType,
    /// The tool's report, unmodified.
    pub context: serde_json::Value,
}

/// The machine-readable check of a norm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NormDetail {
    pub check: NormCheck,
}

/// The type of friction.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FrictionType {
    ToolError,
    Redo,
    ValidationFail,
}

impl ContentChanges {
    /// Adds and removes tags: of those these changes set, or else of those of `content`.
    pub fn change_tags(&mut self, content: Option<&Content>, add: &[Tag], remove: &[Tag]) {
        let own = || content.map(|it| it.tags.clone());
        let mut tags = self.tags.take().or_else(own).unwrap_or_default();
        tags.extend(add.iter().cloned());
        tags.retain(|tag| !remove.contains(tag));
        self.tags = Some(tags);
    }

    /// Returns the texts in which an author may name other entries.
    pub fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = self.statement.iter().map(Statement::as_str).collect();
        texts.extend(self.body.iter().flatten().map(Body::as_str));
        texts.extend(self.verify.iter().flatten().map(Step::as_str));
        if let Some(Some(KindDetail::Spike(spike))) = &self.detail {
            texts.extend([spike.question.as_str(), spike.answer.as_str()]);
            texts.extend(spike.constraints.iter().map(Note::as_str));
        }
        texts
    }
}

impl KindDetail {
    /// Returns whether entries of `kind` carry this detail.
    pub fn belongs_to(&self, kind: EntryKind) -> bool {
        match self {
            Self::Spike(_) => kind == EntryKind::Spike,
            Self::Entity(_) => kind == EntryKind::Entity,
            Self::Relationship(_) => kind == EntryKind::Relationship,
            Self::Friction(_) => kind == EntryKind::Friction,
            Self::Norm(_) => kind.memory() == Memory::Procedural,
        }
    }
}

/// Defines [`Content`] and [`ContentChanges`] from one list of fields, so neither can miss one.
macro_rules! content_fields {
    ($($(#[$doc:meta])* $field:ident: $type:ty $(= $skip:literal)?;)*) => {
        /// All content fields of an entry.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct Content {
            pub statement: Statement,
            $($(#[$doc])* $(#[serde(default, skip_serializing_if = $skip)])? pub $field: $type,)*
        }

        /// A subset of the fields of a [`Content`]; `None` leaves a field unchanged.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct ContentChanges {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub statement: Option<Statement>,
            $(
                $(#[$doc])*
                #[serde(
                    default,
                    deserialize_with = "deserialize_present",
                    skip_serializing_if = "Option::is_none"
                )]
                pub $field: Option<$type>,
            )*
        }

        impl Content {
            /// Converts this content into changes of every field.
            pub fn into_changes(self) -> ContentChanges {
                ContentChanges { statement: Some(self.statement), $($field: Some(self.$field),)* }
            }

            /// Returns the changes that turn `self` into `other`.
            pub fn changes_to(&self, other: &Self) -> ContentChanges {
                ContentChanges {
                    statement: (self.statement != other.statement).then(|| other.statement.clone()),
                    $($field: (self.$field != other.$field).then(|| other.$field.clone()),)*
                }
            }

            /// Returns this content with `changes` applied.
            pub fn with(mut self, changes: ContentChanges) -> Self {
                if let Some(statement) = changes.statement {
                    self.statement = statement;
                }
                $(if let Some(value) = changes.$field {
                    self.$field = value;
                })*
                self
            }
        }

        impl ContentChanges {
            /// Returns whether no field changes.
            pub fn is_empty(&self) -> bool {
                self.statement.is_none() $(&& self.$field.is_none())*
            }

            /// Returns these changes without the fields that `other` changes, too.
            pub fn without(self, other: &Self) -> Self {
                Self {
                    statement: self.statement.filter(|_| other.statement.is_none()),
                    $($field: self.$field.filter(|_| other.$field.is_none()),)*
                }
            }

            /// Returns the names of the changed fields.
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

        /// Resolves each field separately: `pick` selects one of the events that wrote the field.
        pub(crate) fn resolve_fields<'a, W: Copy + PartialEq>(
            writes: &[(W, &'a ContentChanges)],
            mut pick: impl FnMut(&[W]) -> Option<W>,
        ) -> (Option<Statement>, ContentChanges) {
            let mut winner_of = |has: &dyn Fn(&'a ContentChanges) -> bool| -> Option<&'a ContentChanges> {
                let writers: Vec<W> =
                    writes.iter().filter(|(_, c)| has(c)).map(|(w, _)| *w).collect();
                // Without a writer the field keeps its default.
                let winner = pick(&writers)?;
                writes.iter().find(|(w, _)| *w == winner).map(|(_, c)| *c)
            };
            // The statement is separate because `Content` requires one: an entry whose proposal is
            // missing has changes but no content.
            let statement = winner_of(&|c| c.statement.is_some()).and_then(|c| c.statement.clone());
            let mut changes = ContentChanges::default();
            $(changes.$field = winner_of(&|c| c.$field.is_some()).and_then(|c| c.$field.clone());)*
            (statement, changes)
        }
    };
}

content_fields! {
    /// Further explanation; builds before 0.2 do not know it and treat the entry as read-only.
    body: Option<Body> = "Option::is_none";
    /// Anchors into this repository; never exported.
    #[serde(rename = "evidence")]
    anchors: Vec<Anchor> = "Vec::is_empty";
    /// Steps that verify the claim.
    verify: Vec<Step> = "Vec::is_empty";
    tags: BTreeSet<Tag> = "BTreeSet::is_empty";
    /// Conditions under which the claim holds.
    depends_on: Vec<Condition> = "Vec::is_empty";
    /// Globs of the files that the entry is about. A norm with globs applies only to those files.
    applies_to: Vec<Glob> = "Vec::is_empty";
    polarity: Option<Polarity> = "Option::is_none";
    /// The reviewer's point of view, such as security, correctness or performance.
    lens: Option<Tag> = "Option::is_none";
    decay: DecayClass;
    detail: Option<KindDetail> = "Option::is_none";
}

/// Deserializes a field that is present, so that `null` clears a field and absence leaves it
/// unchanged.
fn deserialize_present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    // For an optional field, serde's default would read `null` as the outer `None`.
    T::deserialize(deserializer).map(Some)
}

impl Content {
    /// Maximum number of verification steps.
    pub const STEPS_MAX: usize = 3;
    /// Maximum number of anchors.
    pub const ANCHORS_MAX: usize = 32;
    /// Maximum number of tags.
    pub const TAGS_MAX: usize = 32;
    /// Maximum number of conditions.
    pub const CONDITIONS_MAX: usize = 32;
    /// Maximum number of globs.
    pub const GLOBS_MAX: usize = 32;

    /// Creates content from a text of any length.
    pub fn from_claim(text: ClaimText) -> Self {
        Self {
            body: text.body,
            ..Self::new(text.statement)
        }
    }

    /// Returns the certainty of an experiment, if the entry is one.
    pub fn spike_certainty(&self) -> Option<&'static str> {
        match &self.detail {
            Some(KindDetail::Spike(spike)) => Some(spike.confidence.describe()),
            Some(
                KindDetail::Entity(_)
                | KindDetail::Relationship(_)
                | KindDetail::Friction(_)
                | KindDetail::Norm(_),
            )
            | None => None,
        }
    }

    /// Returns the texts in which a keyword search looks for words: everything a person wrote into
    /// the entry file, except tags and code locations.
    pub fn searchable_texts(&self) -> Vec<&str> {
        let mut texts = vec![self.statement.as_str()];
        texts.extend(self.body.as_ref().map(Body::as_str));
        texts.extend(self.verify.iter().map(Step::as_str));
        match &self.detail {
            Some(KindDetail::Spike(spike)) => {
                texts.extend([spike.question.as_str(), spike.answer.as_str()]);
                texts.extend(spike.constraints.iter().map(Note::as_str));
            }
            Some(KindDetail::Entity(entity)) => texts.push(entity.name.as_str()),
            Some(KindDetail::Relationship(relationship)) => texts.push(relationship.rel.as_str()),
            // Output of a tool and configuration of a check are not prose.
            Some(KindDetail::Friction(_) | KindDetail::Norm(_)) | None => {}
        }
        texts
    }

    /// Creates content with only a statement.
    pub fn new(statement: Statement) -> Self {
        Self {
            statement,
            body: None,
            anchors: Vec::new(),
            verify: Vec::new(),
            tags: BTreeSet::new(),
            depends_on: Vec::new(),
            applies_to: Vec::new(),
            polarity: None,
            lens: None,
            decay: DecayClass::default(),
            detail: None,
        }
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
        assert_eq!(
            serde_json::from_str::<ContentChanges>(&json).unwrap(),
            changes
        );
    }

    #[test]
    fn entries_are_ephemeral_unless_told_otherwise() {
        assert_eq!(content("a").decay, DecayClass::Ephemeral);
    }
}
