//! `ken retract`: withdraws an entry that is wrong or unwanted.

use clap::Args;
use ken_core::ledger::event::RetractReason;
use ken_core::values::text::enum_label;

use super::{Session, note};
use crate::args::values;
use crate::failure::{CommandExit, CommandFailure};

/// `ken retract`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken retract L-7k2f --reason false --note \"Measured again\"")]
pub(crate) struct RetractArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// Reason; `false` and `unwanted` also refuse the same claim when it is added again
    #[arg(
        long,
        value_name = "REASON",
        default_value = "unwanted",
        value_parser = values::word::<RetractReason>(&["false", "unwanted", "duplicate", "obsolete", "withdrawn"]),
    )]
    pub(crate) reason: RetractReason,
    /// Explanation, for the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: RetractArgs,
) -> Result<CommandExit, CommandFailure> {
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
        format_args!("retracted as {}{again}", enum_label(&reason)),
    )
}
