//! Members of responses whose JSON comes from `ken_core::json`: entries, events and search hits.
//!
//! The handlers pass these objects on as JSON, so utoipa cannot derive their members. Only the
//! members that clients use are listed; objects may have more. A test compares the lists with real
//! responses.

use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;
use serde_json::{Value, json};

/// Sets the members of the schemas in the document.
pub(super) fn add_members(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    let entry = json!({
        "schema": {"type": "string", "enum": ["ken.entry.v1"]},
        "id": {"type": "string", "description": "Id of the entry, or the alias it was requested by."},
        "entry_id": {"type": "string", "description": "Id of an entry that was requested by its alias."},
        "kind": {"type": "string", "enum": EntryKind::ALL.map(EntryKind::name)},
        "memory": {"type": "string", "enum": Memory::ALL.map(Memory::name)},
        "statement": {"type": "string"},
        "content": {"anyOf": [{"$ref": "#/components/schemas/EntryContent"}, {"type": "null"}],
            "description": "Null if its proposal was redacted."},
        "status": {"type": "object", "required": ["value"], "properties": {
            "value": {"type": "string", "enum": EntryStatus::ALL.map(EntryStatus::name)}}},
        "scope": {"type": "object", "required": ["value"], "properties": {
            "value": {"type": "string", "enum": ["thread", "workspace", "global"]}}},
        "created": {"type": ["object", "null"], "description": "Author, time and origin of the proposal."},
        "confirmation": {"type": "object", "description": "Confirmations by people and runs."},
        "citations": {"type": "array", "items": {"$ref": "#/components/schemas/Citation"}},
        "quarantine": {"type": "array", "items": {"type": "string"}, "description": "Events that keep it hidden."},
        "conflicts": {"type": "array", "items": {"type": "string"}, "description": "Entries that contradict it."},
        "superseded_by": {"type": ["string", "null"]},
        "merged_into": {"type": ["string", "null"]},
        "retracted": {"type": ["object", "null"]},
        "archived": {"type": ["object", "null"]},
        "validity": {"type": "string", "enum": ["unverifiable"]},
        "artifact": {"type": "string", "description": "Digest that an approval must contain."},
        "revoked": {"type": "boolean", "description": "True if its author or origin is revoked."},
    });
    schemas["Entry"]["properties"] = entry;
    schemas["Entry"]["required"] = json!(["schema", "id"]);
    schemas["EntryContent"] = json!({"type": "object", "description": "Content of an entry.",
        "required": ["statement"], "properties": {
            "statement": {"type": "string"},
            "body": {"type": "string"},
            "evidence": {"type": "array", "items": {"type": "object"}, "description": "Code locations."},
            "verify": {"type": "array", "items": {"type": "string"}},
            "tags": {"type": "array", "items": {"type": "string"}},
            "depends_on": {"type": "array", "items": {"type": "string"}},
            "applies_to": {"type": "array", "items": {"type": "string"}},
            "lens": {"type": "string"},
    }});
    schemas["Citation"] = json!({"type": "object", "description": "A source of an entry.",
        "required": ["evidence_type", "evidence_ref"], "properties": {
            "evidence_type": {"type": "string"},
            "evidence_ref": {"type": "string"},
            "cited_by": {"type": "string"},
            "cited_at": {"type": "integer", "description": "Seconds since 1970."},
    }});
    schemas["Event"]["properties"] = json!({
        "schema": {"type": "string", "enum": ["ken.event.v1"]},
        "id": {"type": "string"},
        "at": {"type": "string", "description": "Time, counter and node of a clock."},
        "by": {"type": "string", "description": "Author, a claim of the event."},
        "type": {"type": "string", "example": "entry.proposed"},
        "about": {"type": "array", "items": {"type": "string"}},
        "data": {"type": "object"},
        "pushed_by": {"type": "string"},
        "received_at": {"type": "string"},
    });
    schemas["Event"]["required"] = json!(["schema", "id", "at", "by", "type", "about", "data"]);
    schemas["PeerEntryResponse"]["properties"]["content"] =
        schemas["Entry"]["properties"]["content"].clone();
    add_search_members(schemas);
}

fn add_search_members(schemas: &mut Value) {
    schemas["SearchHit"] = json!({"type": "object", "description": "A hit of a search.",
        "required": ["id", "score", "text"], "properties": {
            "id": {"type": "string"},
            "workspace": {"type": "string", "description": "Only in a search of several workspaces."},
            "score": {"type": "number"},
            "relevance": {"type": "number"},
            "cosine": {"type": "number"},
            "coverage": {"type": "number"},
            "confidence": {"type": "number"},
            "anchored": {"type": "boolean"},
            "conflicts": {"type": "array", "items": {"type": "string"}},
            "text": {"type": "string", "description": "The text shown to an agent."},
            "signals": {"type": "object", "description": "Every term of the score."},
            "entry": {"$ref": "#/components/schemas/Entry"},
    }});
    let hits = json!({"type": "array", "items": {"$ref": "#/components/schemas/SearchHit"}});
    let listed = json!({"type": "array", "items": {"type": "object"}});
    let members = json!({
        "schema": {"type": "string", "enum": ["ken.search.v1"]},
        "query": {"type": "string"},
        "served_by": {"type": "string"},
        "tier": {"type": "string"},
        "tokens": {"type": "integer"},
        "results": hits,
        "left_out": listed,
        "withheld": listed,
        "global": hits,
    });
    let required = json!(["schema", "query", "results", "left_out", "withheld"]);
    schemas["SearchResponse"]["properties"] = members.clone();
    schemas["SearchResponse"]["required"] = required.clone();
    schemas["EverywhereResponse"]["properties"] = members;
    let more = &mut schemas["EverywhereResponse"]["properties"];
    more["searched"] = json!({"type": "array", "items": {"type": "string"}});
    more["skipped"] = json!({"type": "array", "items": {"type": "object", "required": ["workspace", "why"],
        "properties": {"workspace": {"type": "string"}, "why": {"type": "string", "enum": ["limit", "time", "unavailable"]}}}});
    schemas["EverywhereResponse"]["required"] = required;
}
