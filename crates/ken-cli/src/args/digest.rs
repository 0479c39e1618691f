//! What documents hold already: auditing them, and taking claims from them.

use clap::{Args, Subcommand};
use ken_core::citation::Evidence;
use ken_core::text::Statement;

/// `ken audit` and `ken import`.
#[derive(Debug, Args)]
pub(crate) struct DocumentsArgs {
    /// Documents or folders, seen from the top of the repository [default: all that hold knowledge]
    pub(crate) paths: Vec<String>,
}

/// `ken reduce`.
#[derive(Debug, Args)]
pub(crate) struct ReduceArgs {
    /// Documents or folders to read [default: all that hold knowledge]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) sources: Vec<String>,
    /// Read the history of this branch instead: norms it keeps, with how often it does
    #[arg(long, conflicts_with = "sources")]
    pub(crate) commits: bool,
}

/// `ken reweave`.
#[derive(Debug, Args)]
pub(crate) struct ReweaveArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    #[arg(long, value_name = "ID")]
    pub(crate) entry: String,
    /// What shows it now: commit:HASH, pr:NUMBER, doc:PATH, test:NAME or transcript:HASH
    #[arg(long, value_name = "REF")]
    pub(crate) evidence: Evidence,
    /// Say it in new words as well
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Option<Statement>,
}

/// `ken stage …`.
#[derive(Debug, Subcommand)]
pub(crate) enum StageCommand {
    /// List claims that wait, and what was found about them
    List,
    /// Make entries of claims that wait; none named means all
    Accept {
        /// Names of claims, or beginnings of them
        ids: Vec<String>,
    },
    /// Reject claims for good
    Reject {
        /// Names of claims, or beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
    },
}
