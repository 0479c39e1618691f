//! `ken inbox`: everything that is pending for a person.

mod approve;
pub(super) mod claims;
pub(super) mod collect;
pub(super) mod compare;
mod overview;
mod resolve;

use clap::{Args, Subcommand};

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

pub(crate) use overview::inbox_document;

/// `ken inbox`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ken inbox                       list claims, approvals, quarantined entries and contradictions
  ken inbox compare               compare pending claims with existing entries
  ken inbox accept c-7k2f         turn a claim into an entry
  ken inbox approve N-3fce        approve a norm
  ken inbox resolve L-7k2f L-9d2c --keep L-7k2f")]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    pub(crate) command: Option<InboxCommand>,
}

/// `ken inbox …`.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List pending claims
    #[command(after_help = "Example:\n  ken inbox list")]
    List,
    /// Compare pending claims with existing entries
    #[command(after_help = "Example:\n  ken inbox compare")]
    Compare,
    /// Turn claims into entries
    Accept(claims::AcceptArgs),
    /// Reject claims permanently
    Reject(claims::RejectArgs),
    /// Approve an entry, or list the entries that need approval
    Approve(approve::ApproveArgs),
    /// Resolve a contradiction: keep one entry, or both
    Resolve(resolve::ResolveArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: InboxArgs,
) -> Result<CommandExit, CommandFailure> {
    match args.command {
        None => overview::run(session),
        Some(InboxCommand::List) => claims::list(session),
        Some(InboxCommand::Compare) => compare::run(session),
        Some(InboxCommand::Accept(args)) => claims::accept(session, &args),
        Some(InboxCommand::Reject(args)) => claims::reject(session, &args.ids),
        Some(InboxCommand::Approve(args)) => approve::run(session, &args),
        Some(InboxCommand::Resolve(args)) => resolve::run(session, &args),
    }
}
