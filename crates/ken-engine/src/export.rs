//! Export of entries as JSON lines, an OKF bundle or one Markdown text.
//!
//! An export contains statements, steps, tags and citations, but no anchors: they are only
//! meaningful in this repository.

use std::collections::BTreeMap;

use ken_core::ledger::canonical;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::view::entry_file::render;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One canonical JSON object per line.
    Jsonl,
    /// One Markdown file per entry.
    Okf,
    /// All entries in one Markdown text.
    Markdown,
}

/// Exports matching entries as files by path; a single text has the empty path.
pub(crate) fn export(
    engine: &Engine,
    filter: &EntryFilter,
    form: ExportFormat,
) -> Result<BTreeMap<String, String>, EngineError> {
    let mut entries: Vec<Entry> = engine
        .index
        .list(filter)?
        .into_iter()
        .map(without_anchors)
        .collect();
    // Equal states produce equal exports, which makes them diffable.
    entries.sort_by_key(|entry| entry.id);
    let mut files = BTreeMap::new();
    match form {
        ExportFormat::Jsonl => {
            let lines = entries
                .iter()
                .map(|entry| canonical::to_string(entry) + "\n");
            files.insert(String::new(), lines.collect());
        }
        ExportFormat::Okf => {
            for entry in &entries {
                if let (Some(name), Some(text)) = (entry.file_name(), render(entry, None)) {
                    files.insert(name, text);
                }
            }
        }
        ExportFormat::Markdown => {
            files.insert(String::new(), entries.iter().map(render_markdown).collect());
        }
    }
    Ok(files)
}

fn without_anchors(mut entry: Entry) -> Entry {
    if let Some(content) = &mut entry.content {
        content.anchors.clear();
    }
    entry
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
    for citation in &entry.citations {
        out.push_str(&format!("- source: {citation} ({})\n", citation.cited_by));
    }
    out.push('\n');
    out
}
