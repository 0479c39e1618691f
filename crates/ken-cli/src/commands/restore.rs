//! `ken restore`: restores an archived, retracted, merged or superseded entry.

use super::{Session, note};
use crate::args::id::NoteArgs;
use crate::failure::{CommandExit, CommandFailure};

pub(super) fn run(
    session: &mut Session<'_>,
    args: NoteArgs,
) -> Result<CommandExit, CommandFailure> {
    let reason = note(args.note)?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.restore(id, reason, by)?)
    })?;
    session.written(
        &entry,
        format_args!("restored with status {}", entry.status.value),
    )
}
