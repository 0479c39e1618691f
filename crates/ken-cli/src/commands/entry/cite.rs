//! `ken entry cite`: adds citations to an entry. Citations are never removed.

use clap::Args;
use ken_core::values::citation::CitationSource;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken entry cite`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken entry cite L-7k2f commit:3fce3b5")]
pub(crate) struct CiteArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    #[arg(value_name = "TYPE:REF", required = true, help = values::cite_help("Citations"))]
    pub(crate) evidence: Vec<CitationSource>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: CiteArgs,
) -> Result<CommandExit, CommandFailure> {
    let entry = session.write(|engine, by| {
        let mut entry = engine.find(&args.id)?;
        for evidence in args.evidence {
            entry = engine.cite(entry.id, evidence, by)?;
        }
        Ok(entry)
    })?;
    let count = pluralize(entry.citations.len() as u64, "citation", "citations");
    session.written(&entry, format_args!("cited; the entry has {count}"))
}
