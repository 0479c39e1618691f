//! One entry as an object for programs: `ken.entry.v1`.
//!
//! It is the entry as the fold leaves it, with `schema` and `id` first and, beside it, the words
//! knowledge stores use (`type`, `name`, `description`, `rule`, `provenance`), so that what was added
//! reads back the same.

use crate::citation::Citation;
use crate::content::Detail;
use crate::entry::Entry;
use crate::kind::{Kind, Memory};
use crate::text::word;
use crate::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

/// The object of one entry.
#[derive(Clone, Debug, Serialize)]
pub struct EntryObject {
    schema: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_id: Option<String>,
    /// Sorted by key.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl EntryObject {
    /// Tells an entry.
    #[must_use]
    pub fn new(entry: &Entry) -> Self {
        let mut rest = match serde_json::to_value(entry) {
            Ok(Value::Object(members)) => members,
            Ok(_) | Err(_) => Map::new(),
        };
        rest.remove("id");
        rest.extend(store_words(entry));
        Self {
            schema: "ken.entry.v1",
            id: entry.id.to_string(),
            entry_id: None,
            rest,
        }
    }

    /// Adds what is known about the entry beside its events.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.rest.insert(key.to_owned(), value);
        self
    }

    /// Answers under the name the entry was asked for by, if that is its alias.
    #[must_use]
    pub fn asked_for(mut self, entry: &Entry, wanted: &str) -> Self {
        let alias = entry
            .created
            .as_ref()
            .and_then(|created| created.alias.as_ref());
        if alias.is_some_and(|alias| alias.as_str() == wanted.trim()) {
            self.entry_id = Some(std::mem::replace(&mut self.id, wanted.trim().to_owned()));
        }
        self
    }
}

/// Returns the members knowledge stores know.
fn store_words(entry: &Entry) -> Map<String, Value> {
    let mut words = Map::new();
    let mut put = |key: &str, value: Value| words.insert(key.to_owned(), value);
    if let Ok(citations) = serde_json::to_value(&entry.citations) {
        put("provenance", citations);
    }
    if let Some(created) = &entry.created {
        put("kind", created.kind.name().into());
        put("type", created.kind.name().replace('-', "_").into());
        put("memory", created.kind.memory().name().into());
        put("schema_version", created.schema_version.clone().into());
    }
    if let Some(file) = entry.file_name() {
        put("file", format!(".ken/entries/{file}").into());
    }
    if let Some(content) = &entry.content {
        put("statement", content.statement.as_str().into());
        if let Some(key) = entry.kind().and_then(statement_word) {
            put(key, content.statement.as_str().into());
        }
        if let Some(Detail::Entity(entity)) = &content.detail {
            put("name", entity.name.as_str().into());
        }
    }
    words
}

/// Returns what knowledge stores call the statement of such an entry.
fn statement_word(kind: Kind) -> Option<&'static str> {
    match kind.memory() {
        Memory::Procedural => Some("rule"),
        Memory::Semantic if matches!(kind, Kind::Entity | Kind::Relationship) => {
            Some("description")
        }
        Memory::Semantic | Memory::Episodic => None,
    }
}

/// Returns what sets the entry apart from a live one with one wording.
pub fn marks(entry: &Entry) -> Vec<String> {
    let mut marks = Vec::new();
    if !entry.concurrent.is_empty() {
        marks.push(format!("{} versions", entry.concurrent.len() + 1));
    }
    if !entry.quarantine.is_empty() {
        marks.push("quarantined".to_owned());
    }
    if entry.archived.is_some() {
        marks.push("archived".to_owned());
    }
    if let Some(retraction) = &entry.retracted {
        marks.push(format!("retracted ({})", word(&retraction.reason)));
    }
    if let Some(target) = entry.merged_into {
        marks.push(format!("merged into {target}"));
    }
    if let Some(newer) = entry.superseded_by {
        marks.push(format!("superseded by {newer}"));
    }
    if entry.is_read_only() {
        marks.push("read-only: a newer ken wrote part of it".to_owned());
    }
    marks
}

/// Returns a citation with who cited and when.
pub fn cited(it: &Citation) -> String {
    let day = Timestamp::from_seconds(it.cited_at).date();
    format!("{it} ({}, {day})", it.cited_by)
}

/// Returns when the claim was last confirmed, and how often in which way.
pub fn confirmed(entry: &Entry) -> String {
    let it = &entry.confirmation;
    let last = it.last.map_or("never".to_owned(), |date| date.to_string());
    let counts = [
        (it.independent, "independent"),
        (it.manual, "by a person"),
        (it.primed, "primed"),
        (it.unwitnessed, "unwitnessed"),
    ];
    let counts = counts.iter().filter(|(count, _)| 0 < *count);
    let counts: Vec<String> = counts
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    let how = if counts.is_empty() {
        "proposed, nobody has confirmed it since".to_owned()
    } else {
        counts.join(", ")
    };
    format!("{last} ({how})")
}
