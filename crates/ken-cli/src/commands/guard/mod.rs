//! `ken guard`: scanning, quarantine and revocation.

mod quarantine;
mod revoke;
mod scan;

use clap::Subcommand;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

pub(super) use quarantine::{QuarantinedJson, quarantined_json};

/// `ken guard …`.
#[derive(Debug, Subcommand)]
pub(crate) enum GuardCommand {
    /// Scan files or standard input for secrets and attacks; changes nothing
    Scan(scan::ScanArgs),
    /// List, add and release quarantined entries
    #[command(subcommand)]
    Quarantine(quarantine::QuarantineCommand),
    /// Revoke everything from one author or origin
    Revoke(revoke::RevokeArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: GuardCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        GuardCommand::Scan(args) => scan::run(session, &args),
        GuardCommand::Quarantine(command) => quarantine::run(session, command),
        GuardCommand::Revoke(args) => revoke::run(session, &args),
    }
}
