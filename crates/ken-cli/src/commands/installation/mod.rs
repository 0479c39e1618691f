//! `ken self`: the program itself.

mod completions;
mod man;
#[cfg(feature = "remote")]
mod owner;
#[cfg(feature = "remote")]
mod release;
#[cfg(feature = "remote")]
mod release_facts;
mod uninstall;
#[cfg(feature = "remote")]
mod update;
#[cfg(feature = "remote")]
mod verify;
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
    /// Check that this program is the one of its signed release
    #[cfg(feature = "remote")]
    Verify(verify::SelfVerifyArgs),
    /// Upgrade a program that install.sh installed; never runs by itself
    #[cfg(feature = "remote")]
    Update(update::UpdateArgs),
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
        #[cfg(feature = "remote")]
        InstallationCommand::Verify(args) => verify::run(session, &args),
        #[cfg(feature = "remote")]
        InstallationCommand::Update(args) => update::run(session, &args),
        InstallationCommand::Uninstall(args) => uninstall::run(session, &args),
    }
}
