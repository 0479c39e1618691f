//! `ken self`: the program itself.

mod completions;
mod man;
mod uninstall;
mod version;

use clap::Subcommand;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken self …`.
#[derive(Debug, Subcommand)]
pub(crate) enum InstallationCommand {
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write one page per command
    Man(man::ManArgs),
    /// Print the version of ken and of the ledger format
    #[command(after_help = "Example:\n  ken self version")]
    Version,
    /// Remove the files `ken init` created; entries stay unless you ask
    Uninstall(uninstall::UninstallArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: InstallationCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        InstallationCommand::Completions(args) => completions::run(session, &args),
        InstallationCommand::Man(args) => man::run(session, &args),
        InstallationCommand::Version => version::run(session),
        InstallationCommand::Uninstall(args) => uninstall::run(session, &args),
    }
}
