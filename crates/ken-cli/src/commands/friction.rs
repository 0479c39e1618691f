//! `ken friction`: what got in the way, recorded as it came and counted.

use std::collections::BTreeMap;

use ken_core::content::{Detail, FrictionType};
use ken_core::kind::Kind;
use ken_core::store::Filter;
use serde::Serialize;
use serde_json::Value;

use super::Session;
use crate::args::{FrictionCommand, RecordArgs};
use crate::failure::{Exit, Failure};
use crate::print::counted;

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

pub(super) fn run(session: &mut Session<'_>, command: FrictionCommand) -> Result<Exit, Failure> {
    match command {
        FrictionCommand::Record(args) => record(session, &args),
        FrictionCommand::Report => report(session),
    }
}

fn record(session: &mut Session<'_>, args: &RecordArgs) -> Result<Exit, Failure> {
    let context: Value = serde_json::from_str(&args.context).map_err(|error| {
        Failure::json(&error)
            .at("--context")
            .with_hint("give one JSON value, such as '{\"tool\":\"cargo\"}'")
    })?;
    let friction = args.friction;
    let entry = session.write(|engine, by| {
        let proposal = ken_engine::friction::proposal(friction, context, by)?;
        Ok(engine.add(proposal, by)?)
    })?;
    session.written(&entry, format_args!("recorded a {}", name(friction)))
}

fn report(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let filter = Filter {
        kind: Some(Kind::Friction),
        ..Filter::default()
    };
    let entries = session.read(|engine| Ok(engine.list(&filter)?))?;
    let mut by_type: BTreeMap<&'static str, u64> = TYPES.map(|it| (name(it), 0)).into();
    let mut total = 0;
    for entry in &entries {
        let detail = entry
            .content
            .as_ref()
            .and_then(|content| content.detail.as_ref());
        if let Some(Detail::Friction(friction)) = detail {
            *by_type.entry(name(friction.friction)).or_default() += 1;
            total += 1;
        }
    }
    if session.is_json() {
        session.printer.json(&FrictionObject {
            schema: "ken.friction.v1",
            total,
            by_type,
        })?;
        return Ok(Exit::Fine);
    }
    for (name, count) in by_type {
        session.printer.line(format_args!("{name:<16}{count:>6}"))?;
    }
    session.printer.talk(counted(total, "record", "records"))?;
    Ok(Exit::Fine)
}

fn name(friction: FrictionType) -> &'static str {
    match friction {
        FrictionType::ToolError => "tool_error",
        FrictionType::Redo => "redo",
        FrictionType::ValidationFail => "validation_fail",
    }
}
