//! `ken health friction`: records friction and counts it by type.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use ken_core::values::content::FrictionType;
use serde::Serialize;
use serde_json::Value;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken health friction …`.
#[derive(Debug, Subcommand)]
pub(crate) enum FrictionCommand {
    /// Record friction
    Record(RecordArgs),
    /// Count recorded friction by type
    #[command(after_help = "Example:\n  ken health friction report")]
    Report,
}

/// `ken health friction record`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken health friction record --type tool_error --context '{\"tool\":\"cargo\"}'"
)]
pub(crate) struct RecordArgs {
    /// Type of friction
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_parser = values::word::<FrictionType>(&["tool_error", "redo", "validation_fail"]),
    )]
    pub(crate) friction: FrictionType,
    /// Details from the tool, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) context: String,
}

const TYPES: [FrictionType; 3] = [
    FrictionType::ToolError,
    FrictionType::Redo,
    FrictionType::ValidationFail,
];

#[derive(Serialize)]
struct FrictionObject {
    schema: &'static str,
    total: u64,
    by_type: BTreeMap<&'static str, u64>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: Option<FrictionCommand>,
) -> Result<CommandExit, CommandFailure> {
    match command {
        Some(FrictionCommand::Record(args)) => record(session, &args),
        None | Some(FrictionCommand::Report) => report(session),
    }
}

fn record(session: &mut Session<'_>, args: &RecordArgs) -> Result<CommandExit, CommandFailure> {
    let context: Value = serde_json::from_str(&args.context).map_err(|error| {
        CommandFailure::json(&error)
            .at("--context")
            .with_hint("give one JSON value, such as '{\"tool\":\"cargo\"}'")
    })?;
    let friction = args.friction;
    let entry = session.write(|engine, by| {
        let proposal = engine.friction_proposal(friction, context, by)?;
        Ok(engine.add(proposal, by)?)
    })?;
    session.written(&entry, format_args!("recorded a {}", name(friction)))
}

fn report(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let (records, local) =
        session.read(|engine| Ok((engine.friction_records()?, engine.local_failures())))?;
    let mut by_type: BTreeMap<&'static str, u64> = TYPES.map(|it| (name(it), 0)).into();
    for (friction, _) in &records {
        *by_type.entry(name(*friction)).or_default() += 1;
    }
    let total = records.len() as u64;
    if session.is_json() {
        session.printer.json(&FrictionObject {
            schema: "ken.friction.v1",
            total,
            by_type,
        })?;
        return Ok(CommandExit::Fine);
    }
    for (name, count) in by_type {
        session.printer.line(format_args!("{name:<16}{count:>6}"))?;
    }
    session
        .printer
        .talk(pluralize(total, "record", "records"))?;
    if local > 0 {
        let counted = pluralize(local as u64, "tool failure", "tool failures");
        session.printer.talk(format_args!(
            "{counted} counted on this machine; one that recurs in several runs becomes a record"
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn name(friction: FrictionType) -> &'static str {
    match friction {
        FrictionType::ToolError => "tool_error",
        FrictionType::Redo => "redo",
        FrictionType::ValidationFail => "validation_fail",
    }
}
