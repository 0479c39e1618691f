//! `ken guard`: scanning, quarantine and revocation.

mod quarantine;
mod revoke;
mod scan;

use clap::Subcommand;

use super::{GroupArgs, Session};
use crate::failure::{CommandExit, CommandFailure};

pub(super) use quarantine::{QuarantinedJson, quarantined_json};

/// `ken guard …`.
#[derive(Debug, Subcommand)]
pub(crate) enum GuardCommand {
    /// Scan files or standard input for secrets and attacks; changes nothing
    Scan(scan::ScanArgs),
    /// List, add and release quarantined entries
    Quarantine(GroupArgs<quarantine::QuarantineCommand>),
    /// Revoke everything from one author or origin
    Revoke(revoke::RevokeArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: Option<GuardCommand>,
) -> Result<CommandExit, CommandFailure> {
    match command {
        None => quarantine::run(session, None),
        Some(GuardCommand::Scan(args)) => scan::run(session, &args),
        Some(GuardCommand::Quarantine(args)) => quarantine::run(session, args.command),
        Some(GuardCommand::Revoke(args)) => revoke::run(session, &args),
    }
}
