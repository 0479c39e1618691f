//! `ken norms`: lists norms, and adds example norms that a program can check.

use clap::{Args, Subcommand};
use ken_core::ledger::store::EntryFilter;
use ken_core::values::citation::CitationSource;
use ken_core::values::kind::Memory;
use ken_engine::norms::{ExampleNorm, example_norms};
use serde::Serialize;

use super::{Session, list};
use crate::args::values;
use crate::failure::{CommandExit, CommandFailure};

/// `ken norms`.
#[derive(Debug, Subcommand)]
pub(crate) enum NormsCommand {
    /// List the norms in force
    #[command(after_help = "Example:\n  ken norms list")]
    List,
    /// List example norms with the check of each
    #[command(after_help = "Example:\n  ken norms examples")]
    Examples,
    /// Add an example norm; `ken verify --base` then checks changes against it
    Add(AddNormArgs),
}

/// `ken norms add`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken norms add conventional-commits")]
pub(crate) struct AddNormArgs {
    /// Name of the norm, as listed by `ken norms examples`
    pub(crate) name: String,
    #[arg(long, value_name = "TYPE:REF", help = values::cite_help("Citation instead of the example"))]
    pub(crate) cite: Option<CitationSource>,
}

#[derive(Serialize)]
struct ExampleObject<'a> {
    schema: &'static str,
    #[serde(flatten)]
    example: &'a ExampleNorm,
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: Option<NormsCommand>,
) -> Result<CommandExit, CommandFailure> {
    match command {
        None | Some(NormsCommand::List) => list(session),
        Some(NormsCommand::Examples) => list_examples(session),
        Some(NormsCommand::Add(args)) => {
            let entry = session
                .write(|engine, by| Ok(engine.add_example_norm(&args.name, args.cite, by)?))?;
            session.written(
                &entry,
                "added; `ken verify --base REV` checks changes against it once it is committed at REV",
            )
        }
    }
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let filter = EntryFilter {
        memory: Some(Memory::Procedural),
        ..EntryFilter::default()
    };
    list::print_entries(
        session,
        &filter,
        (&[], list::ListOrder::Added),
        "`ken norms examples` lists norms that a program can check; `ken norms add NAME` adds one",
    )
}

fn list_examples(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    for example in &example_norms() {
        if session.is_json() {
            let schema = "ken.norms.example.v1";
            session.printer.json(&ExampleObject { schema, example })?;
            continue;
        }
        let ExampleNorm { name, kind, .. } = example;
        session
            .printer
            .line(format!("{name}  ({kind}, {})", example.check))?;
        session.printer.line(format!("  {}", example.statement))?;
    }
    if !session.is_json() {
        session
            .printer
            .hint(format_args!("`ken norms add NAME` adds one"))?;
    }
    Ok(CommandExit::Fine)
}
