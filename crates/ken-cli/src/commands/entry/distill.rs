//! `ken entry distill`: summarizes entries that are used together in one entry.

use clap::Args;
use ken_core::ledger::cooccurrence::EntryCluster;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Statement;
use serde::Serialize;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken entry distill`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken entry distill\n  ken entry distill --sources L-7k2f L-9d2c --statement \"Retries are idempotent.\""
)]
pub(crate) struct DistillArgs {
    /// The entries to summarize
    #[arg(long, value_name = "ID", num_args = 1.., requires = "statement")]
    pub(crate) sources: Vec<String>,
    /// The summary: one to three sentences
    #[arg(long, value_name = "TEXT", requires = "sources")]
    pub(crate) statement: Option<Statement>,
    /// Kind of the new entry
    #[arg(long, value_name = "KIND", default_value = "learning", value_parser = values::kind())]
    pub(crate) kind: EntryKind,
}

#[derive(Serialize)]
struct CandidatesObject<'a> {
    schema: &'static str,
    candidates: Vec<Candidate<'a>>,
}

#[derive(Serialize)]
struct Candidate<'a> {
    #[serde(flatten)]
    cluster: &'a EntryCluster,
    /// The command that distills the group, without a statement.
    command: String,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: DistillArgs,
) -> Result<CommandExit, CommandFailure> {
    let Some(statement) = args.statement else {
        return candidates(session);
    };
    let entry = session.write(|engine, by| {
        let ids = args.sources.iter().map(|it| Ok(engine.find(it)?.id));
        let ids = ids.collect::<Result<Vec<_>, CommandFailure>>()?;
        Ok(engine.distill(&ids, statement, args.kind, by)?)
    })?;
    let file = entry.file_name().unwrap_or_default();
    let count = pluralize(entry.links.len() as u64, "entry", "entries");
    session.written(
        &entry,
        format_args!("distilled from {count}, which are kept: .ken/entries/{file}"),
    )
}

fn candidates(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let found = session.read(|engine| Ok(engine.distillation_candidates()?))?;
    if session.is_json() {
        let candidates = found.iter().map(|cluster| Candidate {
            cluster,
            command: command(cluster),
        });
        session.printer.json(&CandidatesObject {
            schema: "ken.distillable.v1",
            candidates: candidates.collect(),
        })?;
        return Ok(CommandExit::Fine);
    }
    for cluster in &found {
        let count = pluralize(cluster.entries.len() as u64, "entry", "entries");
        session.printer.line(format_args!(
            "{count} used together (weight {:.1})",
            cluster.weight
        ))?;
        session
            .printer
            .line(format_args!("    do: {}", command(cluster)))?;
    }
    if found.is_empty() {
        session
            .printer
            .talk("no entries are used together often enough to distill them")?;
    }
    Ok(CommandExit::Fine)
}

fn command(cluster: &EntryCluster) -> String {
    let ids: Vec<String> = cluster.entries.iter().map(ToString::to_string).collect();
    format!(
        "ken entry distill --sources {} --statement TEXT",
        ids.join(" ")
    )
}
