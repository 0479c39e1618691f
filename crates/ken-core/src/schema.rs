//! JSON Schema (2020-12) of every event type and entry kind, generated from the types.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::content::Content;
use crate::entry::Entry;
use crate::event::{Admission, Subject, each_schema};
use crate::hlc::Hlc;
use crate::id::{EventId, Salt};
use crate::kind::Kind;

/// Returns every schema by file name, such as `event.entry.proposed.json`.
pub fn schemas() -> BTreeMap<String, Value> {
    let mut files = BTreeMap::new();
    let mut names = Vec::new();
    each_schema(&mut generator(), |name, _| names.push(name));
    for wanted in names {
        let mut generator = generator();
        let mut data = None;
        each_schema(&mut generator, |name, schema| {
            if name == wanted {
                data = Some(schema);
            }
        });
        let data = data.expect("each name comes from the same list");
        files.insert(
            format!("event.{wanted}.json"),
            event_schema(wanted, &data, generator),
        );
    }
    for kind in Kind::ALL {
        files.insert(format!("entry.{kind}.json"), entry_schema(kind));
    }
    files.insert(
        "entry.json".to_owned(),
        finished(generator().into_root_schema_for::<Entry>()),
    );
    files
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn event_schema(name: &str, data: &Schema, mut generator: SchemaGenerator) -> Value {
    let admission = generator.subschema_for::<Admission>();
    let salt = generator.subschema_for::<Salt>();
    let subject = generator.subschema_for::<Subject>();
    let (at, by) = (
        generator.subschema_for::<Hlc>(),
        generator.subschema_for::<Actor>(),
    );
    let id = generator.subschema_for::<EventId>();
    let full = json!({
        "type": "object",
        "properties": { "admission": admission, "body": data, "salt": salt },
        "required": ["body", "salt"],
    });
    let blanked = json!({
        "type": "object",
        "properties": { "blanked": { "type": "string", "pattern": "^b3:[0-9a-f]{32}$" } },
        "required": ["blanked"],
        "additionalProperties": false,
    });
    let mut schema = json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "type": "object",
        "properties": {
            "about": { "type": "array", "items": subject },
            "at": at,
            "by": by,
            "data": { "oneOf": [full, blanked] },
            "id": id,
            "sum": { "type": "string", "pattern": "^b3:[0-9a-f]{32}$" },
            "type": { "const": name },
            "v": { "const": 1 },
        },
        "required": ["about", "at", "by", "data", "id", "sum", "type", "v"],
        "additionalProperties": false,
    });
    let used = referenced(schema.as_value(), &generator.take_definitions(true));
    schema.insert("$defs".to_owned(), Value::Object(used));
    finished(schema)
}

/// The content of one kind: details are required where the kind has them and absent elsewhere.
fn entry_schema(kind: Kind) -> Value {
    let mut schema = finished(generator().into_root_schema_for::<Content>());
    schema["title"] = json!(kind.name());
    let detail = match kind {
        Kind::Spike => Some("spike"),
        Kind::Entity => Some("entity"),
        Kind::Relationship => Some("relationship"),
        Kind::Friction => Some("friction"),
        Kind::CommitNorm | Kind::PrExpectation | Kind::UserExpectation | Kind::RiskTier => {
            Some("norm")
        }
        Kind::Technique
        | Kind::Pattern
        | Kind::AntiPattern
        | Kind::Decision
        | Kind::Convention
        | Kind::Learning
        | Kind::Bug
        | Kind::Incident
        | Kind::FalsePositive
        | Kind::Calibration => None,
    };
    let limited = match detail {
        Some(of) => json!({
            "allOf": [schema["properties"]["detail"], { "properties": { "of": { "const": of } } }]
        }),
        None => json!(false),
    };
    schema["properties"]["detail"] = limited;
    schema["properties"]["verify"]["maxItems"] = json!(Content::STEPS_MAX);
    schema["properties"]["evidence"]["maxItems"] = json!(Content::ANCHORS_MAX);
    schema["properties"]["tags"]["maxItems"] = json!(Content::TAGS_MAX);
    if matches!(kind, Kind::Spike | Kind::Entity | Kind::Relationship)
        && let Some(required) = schema["required"].as_array_mut()
    {
        required.push(json!("detail"));
    }
    schema
}

/// Keeps the definitions that `root` reaches.
fn referenced(
    root: &Value,
    all: &serde_json::Map<String, Value>,
) -> serde_json::Map<String, Value> {
    let mut kept = serde_json::Map::new();
    let mut open = vec![root.to_string()];
    while let Some(text) = open.pop() {
        for (name, schema) in all {
            let used = text.contains(&format!("\"#/$defs/{name}\""));
            if used && kept.insert(name.clone(), schema.clone()).is_none() {
                open.push(schema.to_string());
            }
        }
    }
    kept
}

fn finished(schema: Schema) -> Value {
    schema.to_value()
}
