//! `ken remote`, `push` and `pull`: hubs this clone exchanges events with.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Examples behind `ken remote --help`.
pub(crate) const REMOTE_HELP: &str = "\
A hub is named in this clone's own configuration, in git's folder, and never by the repository.
Its token is read from a file only you can read (--token-stdin keeps one), or from KEN_HUB_TOKEN.

Examples:
  ken remote add https://hub.example.org/payments --token-stdin < ~/.ken-token
  ken sync --remote";

/// `ken remote …`.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Add a hub, or give the one at the same address another token
    Add(AddRemoteArgs),
    /// List the hubs of this clone
    List,
    /// Show how this clone stands to a hub, without asking it
    Show(RemoteArgs),
    /// Forget a hub and its token; the hub keeps what it has
    Remove {
        /// The name it was added under
        name: String,
    },
}

/// `ken remote add`.
#[derive(Debug, Args)]
pub(crate) struct AddRemoteArgs {
    /// A name, `hub` without one, and the address of a workspace: `https://hub.example.org/WORKSPACE`
    #[arg(value_names = ["NAME", "URL"], num_args = 1..=2, required = true)]
    pub(crate) words: Vec<String>,
    /// Read the token from standard input and keep it in git's folder, for you alone
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) token_stdin: bool,
    /// Read the token from FILE each time
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Let events and the token travel unencrypted to another machine
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Which hub is meant.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// The hub [default: the only one, or `hub`]
    #[arg(value_name = "NAME")]
    pub(crate) remote: Option<String>,
}

/// `ken push`.
#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Offer also what the hub refused or set apart before
    #[arg(long)]
    pub(crate) again: bool,
    /// Offer everything, whatever the hub is known to hold
    #[arg(long, conflicts_with = "again")]
    pub(crate) everything: bool,
}
