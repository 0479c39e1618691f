//! `ken entry link`: records a relation between two entries.

use clap::Args;
use ken_core::ledger::event::Relation;
use ken_core::values::text::enum_label;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken entry link`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken entry link L-7k2f L-9d2c --rel refines")]
pub(crate) struct LinkArgs {
    /// The entry that the relation starts from
    pub(crate) from: String,
    /// The entry that the relation points to
    pub(crate) to: String,
    /// Relation of the first entry to the second
    #[arg(
        long,
        value_name = "RELATION",
        default_value = "relates-to",
        value_parser = values::word::<Relation>(
            &["relates-to", "depends-on", "derived-from", "contradicts", "refines", "supersedes"]
        ),
    )]
    pub(crate) rel: Relation,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &LinkArgs,
) -> Result<CommandExit, CommandFailure> {
    let (entry, to) = session.write(|engine, by| {
        let (from, to) = (engine.find(&args.from)?.id, engine.find(&args.to)?.id);
        Ok((engine.link(from, to, args.rel, by)?, to))
    })?;
    let (id, rel) = (entry.id, enum_label(&args.rel));
    session.written(&entry, format_args!("linked: {id} {rel} {to}"))
}
