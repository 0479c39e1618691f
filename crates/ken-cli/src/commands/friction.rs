//! `ken friction`: what got in the way, recorded as it came and counted.

use std::collections::BTreeMap;

use ken_core::content::{Content, Detail, Friction, FrictionType};
use ken_core::decide::Proposal;
use ken_core::event::Origin;
use ken_core::kind::Kind;
use ken_core::store::Filter;
use serde::Serialize;
use serde_json::Value;

use super::Session;
use crate::args::{FrictionCommand, RecordArgs};
use crate::failure::{Exit, Failure};
use crate::print::counted;

/// Members of the context that go into the generated line.
const MEMBERS_MAX: usize = 3;
/// Characters of each that do.
const MEMBER_CHARS_MAX: usize = 60;

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
    let statement = summary(friction, &context)
        .parse()
        .map_err(Failure::usage)?;
    let mut content = Content::new(statement);
    content.detail = Some(Detail::Friction(Friction { friction, context }));
    let entry = session.write(|engine, by| {
        let proposal = Proposal::new(Kind::Friction, content, Vec::new(), Origin::of(by));
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

/// Returns a short line about what happened; the context itself is kept beside it.
fn summary(friction: FrictionType, context: &Value) -> String {
    let what = match friction {
        FrictionType::ToolError => "A tool failed",
        FrictionType::Redo => "Work was done again",
        FrictionType::ValidationFail => "A validation did not pass",
    };
    let shown = |key: &str, value: &Value| -> Option<String> {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = value
            .chars()
            .filter(|c| !c.is_control())
            .take(MEMBER_CHARS_MAX)
            .collect();
        Some(format!("{key} {short}"))
    };
    let members = context.as_object().into_iter().flatten();
    let members: Vec<String> = members
        .filter_map(|(key, value)| shown(key, value))
        .take(MEMBERS_MAX)
        .collect();
    if members.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {}", members.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_a_few_plain_members_and_never_grows() {
        let context = serde_json::json!({
            "a": "x\u{7}\ny", "b": 2, "c": ["hidden"], "d": "z".repeat(100), "e": "left out"
        });
        let expected = format!("A tool failed: a x y, b 2, d {}", "z".repeat(60));
        assert_eq!(summary(FrictionType::ToolError, &context), expected);
        assert_eq!(
            summary(FrictionType::Redo, &Value::Null),
            "Work was done again"
        );
    }
}
