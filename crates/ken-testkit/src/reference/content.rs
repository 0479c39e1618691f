//! What an entry says, field by field, resolved over the fields' JSON names.

use ken_core::content::{Changes, Content};
use ken_core::event::{Event, Merged, Proposed, Reanchored, Revised};
use ken_core::id::{EntryId, EventId};
use serde_json::{Map, Value};

use super::causality::{Write, standing};

/// Every field of an entry's content.
const FIELDS: [&str; 9] = [
    "statement",
    "evidence",
    "verify",
    "tags",
    "depends_on",
    "polarity",
    "lens",
    "decay",
    "detail",
];

/// The fields one event writes; a value of `None` empties the field.
type Written = Vec<(&'static str, Option<Value>)>;

/// The wording, the events it rests on, and the heads that lost to a concurrent one.
#[derive(Debug)]
pub(super) struct Wording {
    pub(super) content: Option<Content>,
    pub(super) revision: Vec<EventId>,
    pub(super) concurrent: Vec<EventId>,
}

pub(super) fn wording(id: EntryId, events: &[&Event]) -> Wording {
    let writes: Vec<Write<Written>> = events.iter().filter_map(|event| write(id, event)).collect();
    let mut said = Map::new();
    let mut lost: Vec<EventId> = Vec::new();
    for field in FIELDS {
        let writers: Vec<Write<Option<Value>>> = writes
            .iter()
            .filter_map(|write| {
                let (_, value) = write.value.iter().find(|(name, _)| *name == field)?;
                Some(Write {
                    at: write.at,
                    id: write.id,
                    replaces: Vec::new(),
                    value: value.clone(),
                })
            })
            .collect();
        let Some(field_stands) = standing(&writers, &writes) else {
            continue;
        };
        let winner = field_stands.winner;
        lost.extend(field_stands.heads.into_iter().filter(|id| *id != winner));
        if let Some(value) = field_stands.value {
            said.insert(field.to_owned(), value);
        }
    }
    lost.sort();
    lost.dedup();
    Wording {
        content: content(said),
        revision: standing(&writes, &writes).map_or_else(Vec::new, |all| all.heads),
        concurrent: lost,
    }
}

fn content(mut said: Map<String, Value>) -> Option<Content> {
    if !said.contains_key("statement") {
        return None;
    }
    if !said.contains_key("decay") {
        said.insert("decay".to_owned(), Value::from("ephemeral"));
    }
    Some(serde_json::from_value(Value::Object(said)).expect("every field was content before"))
}

fn write(id: EntryId, event: &Event) -> Option<Write<Written>> {
    if let Some(data) = event.get::<Proposed>() {
        let json = serde_json::to_value(&data.content).expect("plain data");
        let every = FIELDS.map(|field| (field, json.get(field).cloned()));
        return Some(Write::new(event, &[], every.to_vec()));
    }
    if let Some(data) = event.get::<Revised>() {
        return Some(Write::new(event, &data.replaces, some(&data.changes)));
    }
    if let Some(data) = event.get::<Reanchored>() {
        let evidence = serde_json::to_value(&data.evidence).expect("plain data");
        let value = vec![("evidence", Some(evidence))];
        return Some(Write::new(event, &data.replaces, value));
    }
    let data = event.get::<Merged>().filter(|data| data.target == id)?;
    Some(Write::new(event, &data.replaces, some(&data.changes)))
}

fn some(changes: &Changes) -> Written {
    let json = serde_json::to_value(changes).expect("plain data");
    FIELDS
        .into_iter()
        .filter_map(|field| Some((field, Some(json.get(field)?.clone()))))
        .collect()
}
