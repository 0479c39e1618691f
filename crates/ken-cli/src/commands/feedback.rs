//! `ken feedback`: records whether an entry helped.

use clap::Args;
use ken_core::ledger::event::Feedback;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken feedback`.
#[derive(Debug, Args)]
#[command(
    after_help = "The same feedback of a person counts once per day, and once per run. An agent can only rate an entry it was shown.\n\nExample:\n  ken feedback L-7k2f --helpful"
)]
#[command(group = clap::ArgGroup::new("verdict").args(["helpful", "unhelpful"]).required(true))]
pub(crate) struct FeedbackArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// The entry helped
    #[arg(long)]
    pub(crate) helpful: bool,
    /// The entry did not help, or was misleading
    #[arg(long)]
    pub(crate) unhelpful: bool,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &FeedbackArgs,
) -> Result<CommandExit, CommandFailure> {
    let verdict = if args.helpful {
        Feedback::Helpful
    } else {
        Feedback::Unhelpful
    };
    let (entry, is_new) = session.write_as(|engine, reader| {
        let id = engine.find(&args.id)?.id;
        let is_new = engine.record_feedback(reader, id, verdict)?;
        Ok((engine.entry(id)?, is_new))
    })?;
    let said = if is_new {
        "recorded; feedback changes the confidence in the entry and confirms nothing"
    } else {
        "already recorded: the same feedback counts once per day and once per run"
    };
    session.written(&entry, said)
}
