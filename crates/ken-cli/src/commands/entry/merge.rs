//! `ken entry merge`: merges duplicate entries into one.

use clap::Args;
use ken_core::decide::MergeWording;
use ken_core::values::text::Statement;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken entry merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken entry merge L-9d2c --into L-7k2f\n\n`ken undo` undoes the merge, `ken restore L-9d2c` restores one of the merged entries."
)]
pub(crate) struct MergeArgs {
    /// The duplicate entries
    #[arg(required = true, value_name = "ID")]
    pub(crate) sources: Vec<String>,
    /// The entry that stays
    #[arg(long, value_name = "ID")]
    pub(crate) into: String,
    /// New statement of the merged entry [default: its own]
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Option<Statement>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: MergeArgs,
) -> Result<CommandExit, CommandFailure> {
    let entry = session.write(|engine, by| {
        let into = engine.find(&args.into)?.id;
        let sources = args.sources.iter().map(|it| Ok(engine.find(it)?.id));
        let sources: Vec<_> = sources.collect::<Result<_, CommandFailure>>()?;
        let wording = args
            .statement
            .map_or(MergeWording::Target, MergeWording::Chosen);
        Ok(engine.merge(into, &sources, wording, by)?)
    })?;
    let from: Vec<String> = entry.merged_from.iter().map(ToString::to_string).collect();
    session.written(&entry, format_args!("merged from {}", from.join(", ")))
}
