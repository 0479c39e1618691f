//! `ken entry`: less common operations on entries.

mod cite;
mod distill;
mod link;
mod merge;
mod overlay;
pub(super) mod promote;
mod reanchor;
pub(super) mod reweave;
mod status;
mod supersede;

use clap::Subcommand;
use ken_core::ledger::event::Overlay;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken entry …`.
#[derive(Debug, Subcommand)]
pub(crate) enum EntryCommand {
    /// Add a citation to an entry
    Cite(cite::CiteArgs),
    /// Link an entry to another
    Link(link::LinkArgs),
    /// Set the status: candidate, active, verified, stale, rejected
    Status(status::StatusArgs),
    /// Pin an entry, so that it ranks higher in this clone
    #[command(after_help = "Example:\n  ken entry pin L-7k2f\n  ken entry pin L-7k2f --off")]
    Pin(overlay::OverlayArgs),
    /// Mute an entry, so that search and briefings of this clone leave it out
    #[command(after_help = "Example:\n  ken entry mute L-7k2f --note \"Too noisy here\"")]
    Mute(overlay::OverlayArgs),
    /// Mark an entry as invalid in this clone, without retracting it
    #[command(after_help = "Example:\n  ken entry invalidate L-7k2f --note \"Under discussion\"")]
    Invalidate(overlay::OverlayArgs),
    /// Attach a note for every reader to an entry
    #[command(
        after_help = "Example:\n  ken entry annotate L-7k2f --note \"See the incident report\""
    )]
    Annotate(overlay::OverlayArgs),
    /// Merge entries that make the same claim
    Merge(merge::MergeArgs),
    /// Replace an entry by a newer one
    Supersede(supersede::SupersedeArgs),
    /// Summarize entries that are used together; without arguments, list such groups
    Distill(Box<distill::DistillArgs>),
    /// Promote an entry to the workspace, to all projects or to another memory
    Promote(Box<promote::PromoteArgs>),
    /// Update anchors after the code changed
    Reanchor(reanchor::ReanchorArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: EntryCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        EntryCommand::Cite(args) => cite::run(session, args),
        EntryCommand::Link(args) => link::run(session, &args),
        EntryCommand::Status(args) => status::run(session, args),
        EntryCommand::Pin(args) => overlay::run(session, Overlay::Pin, args),
        EntryCommand::Mute(args) => overlay::run(session, Overlay::Mute, args),
        EntryCommand::Invalidate(args) => overlay::run(session, Overlay::Invalidate, args),
        EntryCommand::Annotate(args) => overlay::run(session, Overlay::Annotate, args),
        EntryCommand::Merge(args) => merge::run(session, args),
        EntryCommand::Supersede(args) => supersede::run(session, &args),
        EntryCommand::Distill(args) => distill::run(session, *args),
        EntryCommand::Promote(args) => promote::run(session, *args),
        EntryCommand::Reanchor(args) => reanchor::run(session, &args),
    }
}
