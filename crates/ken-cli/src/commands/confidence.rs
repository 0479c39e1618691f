//! `ken confidence reset`: an entry that is stuck in the middle begins anew.

use super::Session;
use crate::args::ConfidenceCommand;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, command: ConfidenceCommand) -> Result<Exit, Failure> {
    let ConfidenceCommand::Reset { id, reason } = command;
    let entry = session.write(|engine, by| {
        let id = engine.find(&id)?.id;
        Ok(engine.reset_confidence(id, reason, by)?)
    })?;
    session.written(
        &entry,
        "back to where it began: nothing is believed of it yet",
    )
}
