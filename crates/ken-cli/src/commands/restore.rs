//! `ken restore`: restores an archived, retracted, merged or superseded entry.

use ken_core::ledger::event::ArchiveReason;

use super::{Session, note};
use crate::args::id::NoteArgs;
use crate::failure::{CommandExit, CommandFailure};

pub(super) fn run(
    session: &mut Session<'_>,
    args: NoteArgs,
) -> Result<CommandExit, CommandFailure> {
    let reason = note(args.note)?;
    let (before, entry) = session.write(|engine, by| {
        let before = engine.find(&args.id)?;
        let entry = engine.restore(before.id, reason, by)?;
        Ok((before, entry))
    })?;
    let status = entry.status.value;
    let exit = session.written(&entry, format_args!("restored with status {status}"))?;
    let archival = before.archived.as_ref();
    // Only a confirmation starts the count of runs anew.
    if archival.is_some_and(|it| it.because == ArchiveReason::Decay) {
        let hint = format_args!(
            "it was archived because no run found it again; `ken confirm {}` keeps the next run from archiving it",
            entry.id
        );
        session.printer.hint(hint)?;
    }
    Ok(exit)
}
