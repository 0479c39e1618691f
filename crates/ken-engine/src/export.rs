//! Export of entries as JSON lines, an OKF bundle or one Markdown text.
//!
//! JSON lines and the bundle contain the events of every entry, so that an import restores its
//! exact state (`import::exported`). The Markdown text is for readers only.

use std::collections::BTreeMap;

use ken_core::ledger::canonical;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::view::entry_file::render;

/// The file with the JSON lines in an OKF bundle.
pub const BUNDLE_EVENTS_FILE: &str = "events.jsonl";

/// The member of a JSON line that contains the events of the entry.
pub(crate) const EVENTS_MEMBER: &str = "events";

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One canonical JSON object per line: an entry and its events.
    Jsonl,
    /// One Markdown file per entry, and the JSON lines in [`BUNDLE_EVENTS_FILE`].
    Okf,
    /// All entries in one Markdown text.
    Markdown,
}

/// Exports matching entries as files by path; a single text has the empty path.
pub(crate) fn export(
    engine: &Engine,
    filter: &EntryFilter,
    format: ExportFormat,
) -> Result<BTreeMap<String, String>, EngineError> {
    let mut entries = engine.index.list(filter)?;
    // Equal states produce equal exports, which makes them diffable.
    entries.sort_by_key(|entry| entry.id);
    let mut files = BTreeMap::new();
    match format {
        ExportFormat::Jsonl => {
            files.insert(String::new(), export_lines(engine, &entries)?);
        }
        ExportFormat::Okf => {
            for entry in &entries {
                if let (Some(name), Some(text)) = (entry.file_name(), render(entry)) {
                    files.insert(name, text);
                }
            }
            let lines = export_lines(engine, &entries)?;
            files.insert(BUNDLE_EVENTS_FILE.to_owned(), lines);
        }
        ExportFormat::Markdown => {
            files.insert(String::new(), entries.iter().map(render_markdown).collect());
        }
    }
    Ok(files)
}

/// Returns one line per entry: its state, and its events in canonical order.
fn export_lines(engine: &Engine, entries: &[Entry]) -> Result<String, EngineError> {
    let mut lines = String::new();
    for entry in entries {
        let history = engine.history(entry.id)?;
        // Stored lines are canonical, so that they survive the way through a JSON value unchanged.
        let parsed = history.iter().map(|it| serde_json::from_str(it.line()));
        let events = parsed.collect::<Result<Vec<Value>, _>>();
        let mut object = serde_json::to_value(entry).unwrap_or_default();
        if let (Value::Object(members), Ok(events)) = (&mut object, events) {
            members.insert(EVENTS_MEMBER.to_owned(), events.into());
        }
        lines += &canonical::to_string(&object);
        lines.push('\n');
    }
    Ok(lines)
}

fn render_markdown(entry: &Entry) -> String {
    let Some(content) = &entry.content else {
        return String::new();
    };
    let kind = entry
        .kind()
        .map_or("entry", ken_core::values::kind::EntryKind::name);
    let heading = content.statement.title();
    let mut out = format!("## [{}] {heading}\n\n", entry.id);
    out.push_str(&format!("{}\n\n", content.statement));
    let tags: Vec<&str> = content.tags.iter().map(|tag| tag.as_str()).collect();
    out.push_str(&format!("- kind: {kind}, status: {}\n", entry.status.value));
    if !tags.is_empty() {
        out.push_str(&format!("- tags: {}\n", tags.join(", ")));
    }
    for anchor in &content.anchors {
        out.push_str(&format!("- code: {}\n", anchor.at));
    }
    for citation in &entry.citations {
        out.push_str(&format!("- source: {citation} ({})\n", citation.cited_by));
    }
    out.push('\n');
    out
}
