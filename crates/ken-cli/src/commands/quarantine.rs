//! `ken quarantine`: a person lets out what the guard set apart.

use super::{Session, note};
use crate::args::QuarantineCommand;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, command: QuarantineCommand) -> Result<Exit, Failure> {
    let QuarantineCommand::Lift { id, reason } = command;
    let reason = note(Some(reason))?.ok_or_else(|| Failure::usage("the reason is empty"))?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&id)?.id;
        Ok(engine.lift_quarantine(id, reason, by)?)
    })?;
    session.written(
        &entry,
        format_args!("let out; it is {} again", entry.status.value),
    )
}
