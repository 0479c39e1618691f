//! `ken restore`: brings back an archived or retracted entry.

use super::{Session, note};
use crate::args::NoteArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: NoteArgs) -> Result<Exit, Failure> {
    let reason = note(args.note)?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.restore(id, reason, by)?)
    })?;
    session.written(
        &entry,
        format_args!("restored; it is {} as before", entry.status.value),
    )
}
