//! Filters that select entries.

use clap::{Args, ValueEnum};
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;
use ken_core::values::text::Tag;

use crate::args::values;

/// Kinds of norms, under the names that other knowledge stores use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NormType {
    Commit,
    Pr,
    Expectation,
    Risk,
}

impl NormType {
    /// Returns the corresponding entry kind.
    pub(crate) fn kind(self) -> EntryKind {
        match self {
            Self::Commit => EntryKind::CommitNorm,
            Self::Pr => EntryKind::PrExpectation,
            Self::Expectation => EntryKind::UserExpectation,
            Self::Risk => EntryKind::RiskTier,
        }
    }
}

/// Filters on the properties of entries.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct WhichArgs {
    /// Only entries of this kind
    #[arg(long, value_name = "KIND", value_parser = values::kind(), hide_possible_values = true)]
    kind: Option<EntryKind>,
    /// Only entries of this memory: semantic, procedural or episodic
    #[arg(long, visible_alias = "type", value_name = "MEMORY")]
    memory: Option<Memory>,
    /// Only norms of this kind
    #[arg(long, value_name = "NORM", conflicts_with = "kind")]
    norm_type: Option<NormType>,
    /// Only entries with this tag or a tag below it
    #[arg(long, value_name = "TAG")]
    tag: Option<Tag>,
    /// Only entries with this status
    #[arg(long, value_name = "STATUS", value_parser = values::status())]
    status: Option<EntryStatus>,
    /// Only entries with this review perspective
    #[arg(long, value_name = "LENS")]
    lens: Option<Tag>,
}

/// Filters that can also select archived, retracted and quarantined entries.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Maximum number of entries
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Include archived, retracted and quarantined entries
    #[arg(long, group = "lifecycle")]
    all: bool,
    /// Only archived entries
    #[arg(long, group = "lifecycle")]
    archived: bool,
    /// Only retracted entries
    #[arg(long, group = "lifecycle")]
    retracted: bool,
}

impl WhichArgs {
    /// Returns the engine's filter, limited to live entries.
    pub(crate) fn to_filter(&self) -> EntryFilter {
        EntryFilter {
            memory: self.memory,
            kind: self.kind.or(self.norm_type.map(NormType::kind)),
            status: self.status,
            tag: self.tag.clone(),
            lens: self.lens.clone(),
            ..EntryFilter::default()
        }
    }
}

impl FilterArgs {
    /// Returns the engine's filter.
    pub(crate) fn to_filter(&self) -> EntryFilter {
        let lifecycle = if self.all {
            LifecycleFilter::All
        } else if self.archived {
            LifecycleFilter::Archived
        } else if self.retracted {
            LifecycleFilter::Retracted
        } else {
            LifecycleFilter::Live
        };
        EntryFilter {
            lifecycle,
            limit: self.limit,
            ..self.which.to_filter()
        }
    }
}
