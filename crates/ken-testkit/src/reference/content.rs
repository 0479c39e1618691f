//! Content of an entry, resolved per field by JSON name.

use ken_core::ledger::event::{Event, Merged, Proposed, Reanchored, Revised};
use ken_core::values::content::{Content, ContentChanges};
use ken_core::values::id::{EntryId, EventId};
use serde_json::{Map, Value};

use super::causality::{CausalWrite, resolve_writes};

/// Every field of an entry's content.
const FIELDS: [&str; 11] = [
    "statement",
    "body",
    "evidence",
    "verify",
    "tags",
    "depends_on",
    "applies_to",
    "polarity",
    "lens",
    "decay",
    "detail",
];

/// The fields one event writes; `None` clears the field.
type FieldWrites = Vec<(&'static str, Option<Value>)>;

/// The content, the events it is based on, and the heads that lost to a concurrent one.
#[derive(Debug)]
pub(super) struct ContentState {
    pub(super) content: Option<Content>,
    pub(super) revision: Vec<EventId>,
    pub(super) concurrent: Vec<EventId>,
}

pub(super) fn resolve_content(id: EntryId, events: &[&Event]) -> ContentState {
    let writes: Vec<CausalWrite<FieldWrites>> = events
        .iter()
        .filter_map(|event| content_write(id, event))
        .collect();
    let mut fields = Map::new();
    let mut lost: Vec<EventId> = Vec::new();
    for field in FIELDS {
        let writers: Vec<CausalWrite<Option<Value>>> = writes
            .iter()
            .filter_map(|write| {
                let (_, value) = write.value.iter().find(|(name, _)| *name == field)?;
                Some(CausalWrite {
                    at: write.at,
                    id: write.id,
                    // Ancestry is taken from `writes`.
                    replaces: Vec::new(),
                    value: value.clone(),
                })
            })
            .collect();
        let Some(field_stands) = resolve_writes(&writers, &writes) else {
            continue;
        };
        let winner = field_stands.winner;
        lost.extend(field_stands.heads.into_iter().filter(|id| *id != winner));
        if let Some(value) = field_stands.value {
            fields.insert(field.to_owned(), value);
        }
    }
    lost.sort();
    lost.dedup();
    ContentState {
        content: build_content(fields),
        revision: resolve_writes(&writes, &writes).map_or_else(Vec::new, |all| all.heads),
        concurrent: lost,
    }
}

fn build_content(mut fields: Map<String, Value>) -> Option<Content> {
    if !fields.contains_key("statement") {
        return None;
    }
    // Content without a decay class has the default one.
    if !fields.contains_key("decay") {
        fields.insert("decay".to_owned(), Value::from("ephemeral"));
    }
    Some(serde_json::from_value(Value::Object(fields)).expect("every field was content before"))
}

fn content_write(id: EntryId, event: &Event) -> Option<CausalWrite<FieldWrites>> {
    if let Some(data) = event.get::<Proposed>() {
        let json = serde_json::to_value(&data.content).expect("plain data");
        let every = FIELDS.map(|field| (field, json.get(field).cloned()));
        return Some(CausalWrite::new(event, &[], every.to_vec()));
    }
    if let Some(data) = event.get::<Revised>() {
        return Some(CausalWrite::new(
            event,
            &data.replaces,
            changed_fields(&data.changes),
        ));
    }
    if let Some(data) = event.get::<Reanchored>() {
        let evidence = serde_json::to_value(&data.anchors).expect("plain data");
        let value = vec![("evidence", Some(evidence))];
        return Some(CausalWrite::new(event, &data.replaces, value));
    }
    let data = event.get::<Merged>().filter(|data| data.target == id)?;
    Some(CausalWrite::new(
        event,
        &data.replaces,
        changed_fields(&data.changes),
    ))
}

fn changed_fields(changes: &ContentChanges) -> FieldWrites {
    let json = serde_json::to_value(changes).expect("plain data");
    FIELDS
        .into_iter()
        .filter_map(|field| Some((field, Some(json.get(field)?.clone()))))
        .collect()
}
