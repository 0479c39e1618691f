//! `ken knowledge reweave`: adds a citation to an entry, and optionally a new statement.

use clap::Args;
use ken_core::values::citation::CitationSource;
use ken_core::values::text::Statement;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken knowledge reweave`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken knowledge reweave --entry L-7k2f --evidence commit:3fce3b5"
)]
pub(crate) struct ReweaveArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    #[arg(long, value_name = "ID")]
    pub(crate) entry: String,
    #[arg(long, value_name = "REF", help = values::cite_help("New citation"))]
    pub(crate) evidence: CitationSource,
    /// New statement
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Option<Statement>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: ReweaveArgs,
) -> Result<CommandExit, CommandFailure> {
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.entry)?.id;
        Ok(engine.reweave(id, args.evidence, args.statement, by)?)
    })?;
    session.written(&entry, "updated with the new citation")
}
