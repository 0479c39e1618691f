//! `ken status`: moves an entry on the ladder.

use super::{Session, note};
use crate::args::StatusArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: StatusArgs) -> Result<Exit, Failure> {
    let reason = note(args.note)?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.set_status(id, args.to, reason, by)?)
    })?;
    session.written(&entry, format_args!("now {}", entry.status.value))
}
