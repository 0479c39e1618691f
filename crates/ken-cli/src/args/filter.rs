//! Which entries a listing or export wants.

use clap::Args;
use ken_core::kind::{Kind, Memory};
use ken_core::status::Status;
use ken_core::store::{Filter, Shelf};
use ken_core::text::Tag;

use super::entry::NormType;
use super::words;

/// `ken list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Choosing entries by what they are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which entries")]
pub(crate) struct WhichArgs {
    /// Only this kind
    #[arg(long, value_name = "KIND", value_parser = words::kind(), hide_possible_values = true)]
    kind: Option<Kind>,
    /// Only this memory: semantic, procedural or episodic
    #[arg(long, visible_alias = "type", value_name = "MEMORY")]
    memory: Option<Memory>,
    /// Only this kind of norm
    #[arg(long, value_name = "NORM", conflicts_with = "kind")]
    norm_type: Option<NormType>,
    /// Only entries with this tag or one below it
    #[arg(long, value_name = "TAG")]
    tag: Option<Tag>,
    /// Only this status
    #[arg(long, value_name = "STATUS", value_parser = words::status())]
    status: Option<Status>,
    /// Only this reviewer's point of view
    #[arg(long, value_name = "LENS")]
    lens: Option<Tag>,
}

/// Choosing entries, those laid aside too.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which entries")]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Also archived, retracted and quarantined ones
    #[arg(long, group = "shelf")]
    all: bool,
    /// Only archived ones
    #[arg(long, group = "shelf")]
    archived: bool,
    /// Only retracted ones
    #[arg(long, group = "shelf")]
    retracted: bool,
}

impl WhichArgs {
    /// Returns the engine's form: live entries.
    pub(crate) fn to_filter(&self) -> Filter {
        Filter {
            memory: self.memory,
            kind: self.kind.or(self.norm_type.map(NormType::kind)),
            status: self.status,
            tag: self.tag.clone(),
            lens: self.lens.clone(),
            ..Filter::default()
        }
    }
}

impl FilterArgs {
    /// Returns the engine's form.
    pub(crate) fn to_filter(&self) -> Filter {
        let shelf = if self.all {
            Shelf::All
        } else if self.archived {
            Shelf::Archived
        } else if self.retracted {
            Shelf::Retracted
        } else {
            Shelf::Live
        };
        Filter {
            shelf,
            limit: self.limit,
            ..self.which.to_filter()
        }
    }
}
