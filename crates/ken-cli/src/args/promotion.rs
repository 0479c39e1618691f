//! Arguments of the commands that let knowledge reach further, and of approving it.

use std::path::PathBuf;

use clap::Args;
use ken_core::anchor::Target;
use ken_core::citation::Evidence;
use ken_core::text::Statement;

/// Shown below `ken promote --help`.
pub(super) const PROMOTE_EXAMPLES: &str = "\
Examples:
  ken promote L-7k2f --to workspace          what a thread learned is for the whole repository
  ken promote L-7k2f --to global             and for other projects: a copy without evidence
  ken promote F-9d2c --to procedural --as commit-norm --statement \"Run the formatter before committing.\"
                                             puts a norm forward; `ken approve` lets a person decide
";

/// `ken promote`.
#[derive(Debug, Args)]
pub(crate) struct PromoteArgs {
    /// The entry, or for another memory the entries it is made from
    #[arg(value_name = "ENTRY", required_unless_present = "from")]
    pub(crate) entries: Vec<String>,
    /// Where it would come from directly: MEMORY, MEMORY/KIND or an entry; nothing leaves episodic memory that way
    #[arg(long, value_name = "FROM", conflicts_with = "entries")]
    pub(crate) from: Option<String>,
    /// Where it goes: workspace, global, semantic or procedural
    #[arg(long, value_name = "TO")]
    pub(crate) to: String,
    /// What it shall be in another memory, such as commit-norm or learning
    #[arg(long = "as", value_name = "KIND", requires = "entries")]
    pub(crate) kind: Option<String>,
    /// What it shall say there
    #[arg(long, value_name = "TEXT", requires = "kind")]
    pub(crate) statement: Option<Statement>,
    /// Code it is about there
    #[arg(long = "anchor", value_name = "ANCHOR", requires = "kind")]
    pub(crate) anchors: Vec<Target>,
    /// What else shows it
    #[arg(long = "cite", value_name = "EVIDENCE", requires = "kind")]
    pub(crate) cite: Vec<Evidence>,
    /// Write the promotion artifact to FILE as well
    #[arg(long, value_name = "FILE", requires = "kind")]
    pub(crate) artifact: Option<PathBuf>,
    /// Promote what the rules find unproven, or what only this project knows; only a person may
    #[arg(long)]
    pub(crate) anyway: bool,
}

/// `ken approve`.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The entry; without one, everything that waits is listed
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: Option<String>,
    /// Print the artifact, and approve nothing
    #[arg(long, requires = "entry", conflicts_with = "signature")]
    pub(crate) show: bool,
    /// The artifact you read; refused where the ledger says something else
    #[arg(long, value_name = "FILE", requires = "entry")]
    pub(crate) artifact: Option<PathBuf>,
    /// Your signature over it, made with `ssh-keygen -Y sign -n ken`
    #[arg(long, value_name = "FILE", requires = "entry")]
    pub(crate) signature: Option<PathBuf>,
}
