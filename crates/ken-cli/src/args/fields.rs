//! Arguments for the fields of an entry, shared by `ken add` and `ken edit`.

use clap::Args;
use ken_core::values::anchor::CodeLocation;
use ken_core::values::condition::Glob;
use ken_core::values::content::{DecayClass, Polarity};
use ken_core::values::text::{Body, Condition, Tag};

use crate::args::values;

/// Content fields of an entry.
#[derive(Debug, Args)]
pub(crate) struct EntryFieldArgs {
    /// The claim: one to three sentences that hold beyond a single case; the rest becomes the body
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Option<String>,
    /// Further explanation, which search finds and `ken show` prints
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<Body>,
    /// Anchor in the code, relative to the repository root: PATH, PATH#SYMBOL or PATH:FIRST-LAST.
    /// Of a PATH alone, Ken checks only that it exists
    #[arg(long, value_name = "ANCHOR")]
    pub(crate) anchor: Vec<CodeLocation>,
    /// Step that verifies the claim; at most three
    #[arg(long, value_name = "STEP")]
    pub(crate) verify: Vec<String>,
    /// Tag, such as auth/jwt
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<Tag>,
    /// Condition of the entry, such as file:GLOB or `not fact:NAME`
    #[arg(long, value_name = "COND")]
    pub(crate) depends_on: Vec<Condition>,
    /// Glob of the files that the entry is about; a norm applies only to them
    #[arg(long, value_name = "GLOB")]
    pub(crate) applies_to: Vec<Glob>,
    /// Review perspective: security, correctness, performance, …
    #[arg(long, value_name = "LENS")]
    pub(crate) lens: Option<Tag>,
    /// Whether the entry recommends the practice or warns against it
    #[arg(long, value_name = "POLARITY", value_parser = values::word::<Polarity>(&["positive", "negative"]))]
    pub(crate) polarity: Option<Polarity>,
    /// How fast evidence for the entry loses weight
    #[arg(long, value_name = "CLASS", value_parser = values::word::<DecayClass>(&["ephemeral", "stable", "permanent"]))]
    pub(crate) decay: Option<DecayClass>,
    /// Fields specific to the kind, as JSON: question, answer and confidence (conclusive or
    /// inconclusive) of a spike, name of an entity, from, rel and to of a relationship between
    /// entities
    #[arg(long, value_name = "JSON")]
    pub(crate) detail: Option<String>,
}
