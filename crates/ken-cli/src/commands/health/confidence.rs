//! `ken health confidence`: resets the confidence of an entry.

use clap::Subcommand;
use ken_core::values::text::Note;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken health confidence …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfidenceCommand {
    /// Reset the confidence of an entry that is stuck near the middle; people only
    #[command(
        after_help = "Example:\n  ken health confidence reset L-7k2f --reason \"The API was rewritten\""
    )]
    Reset {
        /// The entry: its id, an unambiguous prefix of it, or its alias
        id: String,
        /// Reason, for the history
        #[arg(long, value_name = "TEXT")]
        reason: Note,
    },
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: ConfidenceCommand,
) -> Result<CommandExit, CommandFailure> {
    let ConfidenceCommand::Reset { id, reason } = command;
    let entry = session.write(|engine, by| {
        let id = engine.find(&id)?.id;
        Ok(engine.reset_confidence(id, reason, by)?)
    })?;
    session.written(&entry, "confidence reset to its initial value")
}
