//! `ken ledger`: maintenance of the ledger, its derived files and its index.

mod export;
mod files;
mod index;
mod person;
mod recover;
mod redact;
mod render;

use clap::Subcommand;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken ledger …`.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Verify every line of every segment and pack
    #[command(after_help = "Example:\n  ken ledger check")]
    Check,
    /// Pack committed segments into one file, in a separate commit
    #[command(after_help = "Example:\n  ken ledger pack")]
    Pack,
    /// Print the lines of a segment or pack
    #[command(after_help = "Example:\n  ken ledger cat .ken/semantic/v1/NAME.pack")]
    Cat {
        /// The file, such as .ken/semantic/v1/NAME.pack
        path: String,
    },
    /// Write every entry file and view again
    #[command(after_help = "Example:\n  ken ledger render")]
    Render,
    /// Recover events lost by a reset, a clean or a deleted worktree
    Recover(recover::RecoverArgs),
    /// Remove the data of an event everywhere, such as a leaked secret
    Redact(redact::RedactArgs),
    /// List, export and forget people whose names events do not contain
    #[command(subcommand)]
    Person(person::PersonCommand),
    /// Rebuild the search index from the ledger
    #[command(subcommand)]
    Index(index::IndexCommand),
    /// Export entries as JSON lines, an OKF bundle or Markdown
    Export(export::ExportArgs),
}

impl LedgerCommand {
    /// Returns whether this is `ken ledger export`, which has a format of its own.
    pub(super) fn is_export(&self) -> bool {
        matches!(self, Self::Export(_))
    }
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: LedgerCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        LedgerCommand::Check => files::check(session),
        LedgerCommand::Pack => files::pack(session),
        LedgerCommand::Cat { path } => files::cat(session, &path),
        LedgerCommand::Render => render::run(session),
        LedgerCommand::Recover(args) => recover::run(session, &args),
        LedgerCommand::Redact(args) => redact::run(session, &args),
        LedgerCommand::Person(command) => person::run(session, &command),
        LedgerCommand::Index(command) => index::run(session, &command),
        LedgerCommand::Export(args) => export::run(session, &args),
    }
}
