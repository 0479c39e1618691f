//! `ken confirm`: records that an entry still holds.

use clap::Args;
use ken_core::values::time::Date;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken confirm`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken confirm L-7k2f")]
pub(crate) struct ConfirmArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// Date of the confirmation [default: today]
    #[arg(long, value_name = "DATE")]
    pub(crate) on: Option<Date>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ConfirmArgs,
) -> Result<CommandExit, CommandFailure> {
    let (entry, is_person, is_invalid) = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        let entry = engine.confirm(id, args.on, by)?;
        let is_invalid = entry.is_live() && engine.check_entry(id)?.is_invalid();
        Ok((entry, by.is_human(), is_invalid))
    })?;
    if is_invalid {
        let id = entry.id;
        session.printer.note(&format!(
            "the code of {id} changed since its anchors were recorded, and `ken verify` keeps reporting it; `ken entry reanchor {id} --keep --cite TYPE:REF` records the current code"
        ))?;
    }
    let last = entry
        .confirmation
        .last
        .map(|date| date.to_string())
        .unwrap_or_default();
    if is_person {
        return session.written(&entry, format_args!("confirmed; last confirmed {last}"));
    }
    let did = format_args!(
        "recorded as primed: an agent that was shown an entry cannot confirm it; last confirmed {last}"
    );
    session.written(&entry, did)
}
