//! `ken duplicates`, `ken merge` and `ken supersede`: entries that say the same.

use clap::Args;
use ken_core::text::Statement;
use ken_engine::pairs::LISTED_MAX;

/// `ken duplicates`.
#[derive(Debug, Args)]
pub(crate) struct DuplicatesArgs {
    /// Pairs to list, or to ask a judge about, likeliest first
    #[arg(long, value_name = "N", default_value_t = LISTED_MAX)]
    pub(crate) limit: usize,
    /// Merge what is the same word for word; opposites never are
    #[arg(long, conflicts_with_all = ["judge", "dismiss"])]
    pub(crate) merge: bool,
    /// Ask your judge about the others: merge what it finds the same, never list again what it does not
    #[arg(long, conflicts_with = "dismiss")]
    pub(crate) judge: bool,
    /// Two entries that do not say the same: never list them again
    #[arg(long, value_name = "ID", num_args = 2)]
    pub(crate) dismiss: Vec<String>,
}

/// `ken merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The entries that become part of another
    #[arg(required = true, value_name = "ID")]
    pub(crate) sources: Vec<String>,
    /// The entry they become part of
    #[arg(long, value_name = "ID")]
    pub(crate) into: String,
    /// The wording that is kept [default: the entry's own, unless another says much more]
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Option<Statement>,
}

/// `ken supersede`.
#[derive(Debug, Args)]
pub(crate) struct SupersedeArgs {
    /// The entry whose time is over
    pub(crate) old: String,
    /// The entry that takes its place
    pub(crate) new: String,
}
