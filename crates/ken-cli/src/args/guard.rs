//! What the guard is asked: scanning, setting apart, letting out, turning a source off.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ken_core::actor::Actor;
use ken_core::event::Origin;

use super::words;

/// `ken scan`.
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Files and folders; `-` or none reads standard input
    pub(crate) paths: Vec<PathBuf>,
    /// How to read them [default: by the file's name; standard input as prose]
    #[arg(long = "as", value_name = "MODE")]
    pub(crate) mode: Option<ScanMode>,
}

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanMode {
    /// Sentences
    Prose,
    /// Sentences meant to be shared: names, hosts and folders are looked for as well
    Statement,
    /// Source, configuration and commands: disorder counts as well
    Code,
}

/// `ken revoke`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["author", "origin"]))]
pub(crate) struct RevokeArgs {
    /// Everything this author made, its conversations (agent:NAME/…) included: agent:NAME, peer:NAME …
    #[arg(long, value_name = "ACTOR")]
    pub(crate) author: Option<Actor>,
    /// Everything that came from there
    #[arg(long, value_name = "ORIGIN", value_parser = words::word::<Origin>(&["human", "agent", "ci", "import", "peer", "web"]))]
    pub(crate) origin: Option<Origin>,
    /// Take a revocation back
    #[arg(long)]
    pub(crate) undo: bool,
}

/// `ken quarantine …`.
#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List what waits for a person, and why
    List,
    /// Keep entries from agents until a person lets them out
    #[command(group = clap::ArgGroup::new("which").required(true).args(["id", "base"]))]
    Hold {
        /// The entry: any unambiguous beginning of its id, or its alias
        id: Option<String>,
        /// Every entry that the change from REV to the work tree brings or touches, such as a merged fork
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Let an entry out; only a person may
    Lift {
        /// The entry: any unambiguous beginning of its id, or its alias
        id: String,
        /// Why it is safe
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}
