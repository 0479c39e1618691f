//! Arguments of the commands that hold knowledge against the code.

use clap::Args;
use ken_core::citation::Evidence;

/// `ken verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Check only what changed since the work left this revision
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,
    /// The other end of the change, which need not be checked out [default: the work tree]
    #[arg(long, value_name = "REV", requires = "base")]
    pub(crate) head: Option<String>,
    /// The change comes from a fork: refuse what only members may bring
    #[arg(long, requires = "base")]
    pub(crate) from_fork: bool,
}

/// `ken reanchor`.
#[derive(Debug, Args)]
pub(crate) struct ReanchorArgs {
    /// The entry; without one, every entry whose code changed is asked about
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Take missing fingerprints and follow code that moved, for every entry
    #[arg(long, conflicts_with_all = ["id", "keep"])]
    pub(crate) all: bool,
    /// The claim still stands: take the code as it is now
    #[arg(long, requires = "id", requires = "cite")]
    pub(crate) keep: bool,
    /// What shows that it stands: commit:, pr:, doc:, test: or transcript:
    #[arg(long, value_name = "TYPE:REF", requires = "keep")]
    pub(crate) cite: Option<Evidence>,
}
