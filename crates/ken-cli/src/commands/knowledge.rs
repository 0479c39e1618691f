//! `ken knowledge`: the command names that the requirements fix.
//!
//! Scripts written for other knowledge stores use these names. New commands are not added here.

use clap::Subcommand;

use super::entry::{promote, reweave};
use super::health::{friction, report};
use super::inbox::{collect, compare};
use super::{GroupArgs, Session, add, archive, capture, list, show, verify};
use crate::failure::{CommandExit, CommandFailure};

/// `ken knowledge …`.
#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeCommand {
    /// Add an entry
    Add(Box<add::AddArgs>),
    /// List entries, newest first
    List(list::ListArgs),
    /// Show one entry as JSON
    Show(show::ShowArgs),
    /// Extract claims from documents or history into the inbox
    Reduce(collect::CollectArgs),
    /// Compare pending claims with existing entries
    #[command(after_help = "Example:\n  ken knowledge reflect")]
    Reflect,
    /// Add a citation to an entry, and optionally a new statement
    Reweave(Box<reweave::ReweaveArgs>),
    /// Check entries against the code, or a change against the gates
    Verify(verify::VerifyArgs),
    /// Archive entries
    Archive(archive::ArchiveArgs),
    /// Promote an entry
    Promote(Box<promote::PromoteArgs>),
    /// Record and count friction
    Friction(GroupArgs<friction::FrictionCommand>),
    /// Report the health of the knowledge base
    #[command(subcommand)]
    Health(report::KnowledgeHealthCommand),
    /// Record a solved problem
    Compound(Box<capture::CaptureArgs>),
}

impl KnowledgeCommand {
    /// Returns whether the command is `verify`, which has output formats of its own.
    pub(super) fn is_verify(&self) -> bool {
        matches!(self, Self::Verify(_))
    }
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: KnowledgeCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        KnowledgeCommand::Add(args) => add::run(session, &args),
        KnowledgeCommand::List(args) => list::run(session, &args),
        KnowledgeCommand::Show(args) => show::run(session, &args),
        KnowledgeCommand::Reduce(args) => collect::run(session, &args),
        KnowledgeCommand::Reflect => compare::run(session),
        KnowledgeCommand::Reweave(args) => reweave::run(session, *args),
        KnowledgeCommand::Verify(args) => verify::run(session, &args),
        KnowledgeCommand::Archive(args) => archive::run(session, &args),
        KnowledgeCommand::Promote(args) => promote::run(session, *args),
        KnowledgeCommand::Friction(args) => friction::run(session, args.command),
        KnowledgeCommand::Health(command) => report::run(session, &command),
        KnowledgeCommand::Compound(args) => capture::run(session, &args),
    }
}
