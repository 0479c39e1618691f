//! `ken retract`: takes a claim back.

use ken_core::text::word;

use super::{Session, note};
use crate::args::RetractArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: RetractArgs) -> Result<Exit, Failure> {
    let reason = args.reason;
    let remark = note(args.note)?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.retract(id, reason, remark, by)?)
    })?;
    let again = if reason.leaves_tombstone() {
        "; the same claim is refused from now on"
    } else {
        ""
    };
    session.written(
        &entry,
        format_args!("retracted as {}{again}", word(&reason)),
    )
}
