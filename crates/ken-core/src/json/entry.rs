//! JSON view of an entry: `ken.entry.v1`.
//!
//! The folded entry with `schema` and `id` first, plus the member names of other knowledge stores
//! (`type`, `name`, `description`, `rule`, `provenance`), so that imported entries read back with
//! the same names.

use crate::ledger::entry::Entry;
use crate::ledger::event::{ForageProvenance, Overlay};
use crate::trust::rediscovery::RediscoveryPolicy;
use crate::values::citation::Citation;
use crate::values::content::KindDetail;
use crate::values::kind::{EntryKind, Memory};
use crate::values::text::enum_label;
use crate::values::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

/// The JSON view of one entry.
#[derive(Clone, Debug, Serialize)]
pub struct EntryJson {
    schema: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_id: Option<String>,
    /// Sorted by key.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl EntryJson {
    /// Builds the view of an entry.
    #[must_use]
    pub fn new(entry: &Entry) -> Self {
        let mut rest = match serde_json::to_value(entry) {
            Ok(Value::Object(members)) => members,
            // Unreachable: an entry always serializes to an object.
            Ok(_) | Err(_) => Map::new(),
        };
        // `id` is a member of its own, so that it precedes the sorted rest.
        rest.remove("id");
        rest.extend(interchange_members(entry));
        Self {
            schema: "ken.entry.v1",
            id: entry.id.to_string(),
            entry_id: None,
            rest,
        }
    }

    /// Adds a member that does not follow from the entry's events.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.rest.insert(key.to_owned(), value);
        self
    }

    /// Reports the entry under the alias that the caller requested it by; the real id moves to
    /// `entry_id`.
    #[must_use]
    pub fn with_requested_id(mut self, entry: &Entry, wanted: &str) -> Self {
        let alias = entry
            .created
            .as_ref()
            .and_then(|created| created.alias.as_ref());
        // A caller that knows only the alias expects it in `id`.
        if alias.is_some_and(|alias| alias.as_str() == wanted.trim()) {
            self.entry_id = Some(std::mem::replace(&mut self.id, wanted.trim().to_owned()));
        }
        self
    }
}

/// Returns the members that other knowledge stores use.
fn interchange_members(entry: &Entry) -> Map<String, Value> {
    let mut words = Map::new();
    let mut put = |key: &str, value: Value| words.insert(key.to_owned(), value);
    if let Ok(citations) = serde_json::to_value(&entry.citations) {
        put("provenance", citations);
    }
    if let Some(created) = &entry.created {
        put("kind", created.kind.name().into());
        // Other stores write kinds with underscores.
        put("type", created.kind.name().replace('-', "_").into());
        put("memory", created.kind.memory().name().into());
        put("schema_version", created.schema_version.clone().into());
    }
    if let Some(file) = entry.file_name() {
        put("file", format!(".ken/entries/{file}").into());
    }
    if let Some(content) = &entry.content {
        put("statement", content.statement.as_str().into());
        if let Some(key) = entry.kind().and_then(statement_key) {
            put(key, content.statement.as_str().into());
        }
        if let Some(KindDetail::Entity(entity)) = &content.detail {
            put("name", entity.name.as_str().into());
        }
    }
    words
}

/// Returns the name that other knowledge stores use for the statement of a kind.
fn statement_key(kind: EntryKind) -> Option<&'static str> {
    match kind.memory() {
        Memory::Procedural => Some("rule"),
        Memory::Semantic if matches!(kind, EntryKind::Entity | EntryKind::Relationship) => {
            Some("description")
        }
        Memory::Semantic | Memory::Episodic => None,
    }
}

/// Returns labels for everything that distinguishes the entry from a live one without conflicts and
/// overlays, and for an entry from a failed run.
pub fn lifecycle_labels(entry: &Entry) -> Vec<String> {
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
        marks.push(format!("retracted ({})", enum_label(&retraction.reason)));
    }
    if entry.failed_source().is_some() {
        marks.push("from a failed run".to_owned());
    }
    if let Some(target) = entry.merged_into {
        marks.push(format!("merged into {target}"));
    }
    if let Some(newer) = entry.superseded_by {
        marks.push(format!("superseded by {newer}"));
    }
    for (overlay, label) in [
        (Overlay::Pin, "pinned"),
        (Overlay::Mute, "muted"),
        (Overlay::Invalidate, "invalidated"),
    ] {
        if entry.has_annotation(overlay) {
            marks.push(label.to_owned());
        }
    }
    if entry.is_read_only() {
        marks.push("read-only: a newer version of Ken wrote part of it".to_owned());
    }
    marks
}

/// Describes a citation with its author and day.
pub fn describe_citation(citation: &Citation) -> String {
    let day = Timestamp::from_seconds(citation.cited_at).date();
    format!("{citation} ({}, {day})", citation.cited_by)
}

/// Describes where the forager found the text of an entry: the place, the reading, the request.
pub fn describe_forage_provenance(foraged: &ForageProvenance) -> [String; 3] {
    let ForageProvenance {
        source_url,
        fetch_timestamp,
        fetch_level,
        forager_trigger,
        forager_query,
        quality_score_milli,
        content,
        license,
    } = foraged;
    let day = fetch_timestamp.date();
    let license = license.as_ref().map_or("not stated", |it| it.as_str());
    let sent = match forager_query {
        Some(query) => format!("sent to a search service: {query}"),
        None => "nothing was sent".to_owned(),
    };
    let (level, trigger) = (enum_label(fetch_level), enum_label(forager_trigger));
    let quality = quality_score_milli / 1000;
    let thousandths = quality_score_milli % 1000;
    [
        format!("{source_url}"),
        format!("read on {day} ({level}), {content}, license: {license}"),
        format!("{trigger} request, quality {quality}.{thousandths:03}, {sent}"),
    ]
}

/// Describes how often agents that were not shown an entry found its claim; `None` for a
/// prescriptive entry and without a chance.
pub fn describe_rediscovery(entry: &Entry) -> Option<String> {
    // The counts follow from the events alone, so any policy gives the same.
    let evidence = RediscoveryPolicy::OBSERVE.evidence(entry)?;
    (evidence.chances > 0).then(|| evidence.to_string())
}

/// Describes the last confirmation, the number of confirmations per provenance, and the
/// independent finds.
pub fn describe_confirmation(entry: &Entry) -> String {
    let confirmation = &entry.confirmation;
    let last = match confirmation.last {
        None => "never".to_owned(),
        Some(day) if confirmation.is_confirmed() => day.to_string(),
        Some(day) => format!("not yet; added {day}"),
    };
    let counts = [
        (confirmation.independent, "independent"),
        (confirmation.manual, "by a person"),
        (confirmation.primed, "primed"),
        (confirmation.unwitnessed, "unwitnessed"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    let counts = if parts.is_empty() {
        last
    } else {
        format!("{last} ({})", parts.join(", "))
    };
    let finds = describe_rediscovery(entry);
    finds.map_or_else(|| counts.clone(), |finds| format!("{counts}; {finds}"))
}
