//! `ken entry status`: sets the status of an entry.

use clap::Args;
use ken_core::values::status::EntryStatus;

use crate::args::values;
use crate::commands::{Session, note};
use crate::failure::{CommandExit, CommandFailure};

/// `ken entry status`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken entry status L-7k2f verified")]
pub(crate) struct StatusArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// The new status; only a person may set `verified`
    #[arg(value_name = "TO", value_parser = values::status())]
    pub(crate) to: EntryStatus,
    /// Reason, for the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: StatusArgs,
) -> Result<CommandExit, CommandFailure> {
    let reason = note(args.note)?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.set_status(id, args.to, reason, by)?)
    })?;
    session.written(&entry, format_args!("status set to {}", entry.status.value))
}
