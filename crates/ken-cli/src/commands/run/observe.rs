//! `ken run observe`: records a finding of an agent.
//!
//! The output names no entry: an agent that finds a claim independently must not be exposed to the
//! entry by the reply.

use clap::Args;
use ken_core::trust::run::RunFinding;
use ken_core::values::anchor::{Anchor, CodeLocation};
use ken_core::values::text::{Statement, Step};
use serde::Serialize;

use super::args::ten_milli;
use crate::commands::Session;
use crate::commands::query_input::resolve_anchors;
use crate::failure::{CommandExit, CommandFailure};

/// `ken run observe`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken run observe --run r1 --statement \"The cache is never invalidated.\" --anchor src/cache.rs"
)]
pub(crate) struct ObserveArgs {
    /// The finding: one to three sentences that hold beyond a single case
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Statement,
    /// Anchor in the code: PATH, PATH#SYMBOL or PATH:FIRST-LAST
    #[arg(long, value_name = "ANCHOR")]
    pub(crate) anchor: Vec<CodeLocation>,
    /// Step that verifies the finding
    #[arg(long, value_name = "STEP")]
    pub(crate) verify: Vec<Step>,
    /// Severity, from 0 to 10
    #[arg(long, value_name = "0-10", value_parser = ten_milli, default_value = "0")]
    pub(crate) severity: u16,
    /// Confidence of the agent, from 0 to 10
    #[arg(long, value_name = "0-10", value_parser = ten_milli, default_value = "0")]
    pub(crate) confidence: u16,
    /// The finding was reviewed and dismissed
    #[arg(long)]
    pub(crate) dismissed: bool,
}

#[derive(Serialize)]
struct ObservedObject<'a> {
    schema: &'static str,
    run: &'a str,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: ObserveArgs,
) -> Result<CommandExit, CommandFailure> {
    let mut finding = RunFinding {
        statement: args.statement,
        anchors: Vec::new(),
        verify: args.verify,
        severity_milli: args.severity,
        confidence_milli: args.confidence,
        dismissed: args.dismissed,
    };
    let (start, mut anchors) = (session.surroundings.start.clone(), args.anchor);
    let run = session.write_as(|engine, reader| {
        resolve_anchors(engine, &start, &mut anchors);
        finding.anchors = anchors.into_iter().map(Anchor::from).collect();
        Ok(engine.observe(reader, finding)?)
    })?;
    if session.is_json() {
        session.printer.json(&ObservedObject {
            schema: "ken.observe.v1",
            run: &run.id,
        })?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(&run.id)?;
    session
        .printer
        .talk("recorded; Ken evaluates the finding when the run is closed")?;
    Ok(CommandExit::Fine)
}
