//! JSON Schema (draft 2020-12) of every event type and entry kind, generated from the Rust types.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::ledger::entry::Entry;
use crate::ledger::event::{Admission, EventSubject, each_schema};
use crate::values::actor::Actor;
use crate::values::content::Content;
use crate::values::hlc::Hlc;
use crate::values::id::{EventId, Salt};
use crate::values::kind::{EntryKind, IdPrefix};

/// Returns every schema by file name, such as `event.entry.proposed.json`.
pub fn schemas() -> BTreeMap<String, Value> {
    let mut files = BTreeMap::new();
    let mut names = Vec::new();
    each_schema(&mut generator(), |name, _| names.push(name));
    for wanted in names {
        // A fresh generator per file, so that definitions of other types do not leak into it.
        let mut generator = generator();
        let mut data = None;
        // The list of types exists only inside a macro; visiting all and keeping one is the way to
        // index it.
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
    for kind in EntryKind::ALL {
        files.insert(format!("entry.{kind}.json"), entry_schema(kind));
    }
    files.insert(
        "entry.json".to_owned(),
        schema_to_value(generator().into_root_schema_for::<Entry>()),
    );
    files
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn event_schema(name: &str, data: &Schema, mut generator: SchemaGenerator) -> Value {
    let admission = generator.subschema_for::<Admission>();
    let salt = generator.subschema_for::<Salt>();
    let subject = generator.subschema_for::<EventSubject>();
    let (at, by) = (
        generator.subschema_for::<Hlc>(),
        generator.subschema_for::<Actor>(),
    );
    let id = generator.subschema_for::<EventId>();
    let full = json!({
        "type": "object",
        "properties": {
            "admission": admission,
            "body": data,
            "salt": salt,
            "signature": { "type": "string", "description": "SSH signature of the author over the event, namespace `ken`." },
        },
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
    // `each_schema` visited every type, so the generator holds definitions this event does not use.
    let used = reachable_definitions(schema.as_value(), &generator.take_definitions(true));
    schema.insert("$defs".to_owned(), Value::Object(used));
    schema_to_value(schema)
}

/// Returns the content schema of one kind. The detail is limited to the one that belongs to the
/// kind.
fn entry_schema(kind: EntryKind) -> Value {
    let mut schema = schema_to_value(generator().into_root_schema_for::<Content>());
    schema["title"] = json!(kind.name());
    let detail = match kind.prefix() {
        IdPrefix::Spike => Some("spike"),
        IdPrefix::Entity => Some("entity"),
        IdPrefix::Relationship => Some("relationship"),
        IdPrefix::Norm => Some("norm"),
        IdPrefix::Friction if kind == EntryKind::Friction => Some("friction"),
        IdPrefix::Friction | IdPrefix::Lesson => None,
    };
    let limited = match detail {
        Some(of) => json!({
            "allOf": [schema["properties"]["detail"], { "properties": { "of": { "const": of } } }]
        }),
        // `false` is the schema that rejects every value.
        None => json!(false),
    };
    schema["properties"]["detail"] = limited;
    // These limits are checked by `decide` and are not part of the Rust types.
    schema["properties"]["verify"]["maxItems"] = json!(Content::STEPS_MAX);
    schema["properties"]["evidence"]["maxItems"] = json!(Content::ANCHORS_MAX);
    schema["properties"]["tags"]["maxItems"] = json!(Content::TAGS_MAX);
    if matches!(
        kind,
        EntryKind::Spike | EntryKind::Entity | EntryKind::Relationship
    ) && let Some(required) = schema["required"].as_array_mut()
    {
        required.push(json!("detail"));
    }
    schema
}

/// Returns the definitions that `root` references, directly or indirectly.
fn reachable_definitions(
    root: &Value,
    all: &serde_json::Map<String, Value>,
) -> serde_json::Map<String, Value> {
    let mut kept = serde_json::Map::new();
    let mut open = vec![root.to_string()];
    while let Some(text) = open.pop() {
        for (name, schema) in all {
            // A text search finds references at any depth without a schema walker.
            let used = text.contains(&format!("\"#/$defs/{name}\""));
            if used && kept.insert(name.clone(), schema.clone()).is_none() {
                open.push(schema.to_string());
            }
        }
    }
    kept
}

fn schema_to_value(schema: Schema) -> Value {
    schema.to_value()
}
