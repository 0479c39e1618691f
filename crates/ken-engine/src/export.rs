//! Entries for other programs and people: JSON lines, an OKF bundle, one Markdown text.
//!
//! Evidence points into this repository and stays here: an export carries statements, steps,
//! tags and citations, never anchors.

use std::collections::BTreeMap;

use ken_core::canonical;
use ken_core::entry::Entry;
use ken_core::store::{Filter, Store as _};

use crate::engine::Engine;
use crate::error::Error;
use crate::view::document::render;

/// What an export looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One canonical JSON object a line.
    Jsonl,
    /// One Markdown file an entry, by path.
    Okf,
    /// Everything in one text.
    Markdown,
}

impl Engine {
    /// Exports the entries that match, as files by path; a single text has the empty path.
    pub fn export(&self, filter: &Filter, form: Form) -> Result<BTreeMap<String, String>, Error> {
        let mut entries: Vec<Entry> = self
            .index
            .list(filter)?
            .into_iter()
            .map(without_evidence)
            .collect();
        entries.sort_by_key(|entry| entry.id);
        let mut files = BTreeMap::new();
        match form {
            Form::Jsonl => {
                let lines = entries
                    .iter()
                    .map(|entry| canonical::to_string(entry) + "\n");
                files.insert(String::new(), lines.collect());
            }
            Form::Okf => {
                for entry in &entries {
                    if let (Some(name), Some(text)) = (entry.file_name(), render(entry, None)) {
                        files.insert(name, text);
                    }
                }
            }
            Form::Markdown => {
                files.insert(String::new(), entries.iter().map(markdown).collect());
            }
        }
        Ok(files)
    }
}

fn without_evidence(mut entry: Entry) -> Entry {
    if let Some(content) = &mut entry.content {
        content.evidence.clear();
    }
    entry
}

fn markdown(entry: &Entry) -> String {
    let Some(content) = &entry.content else {
        return String::new();
    };
    let kind = entry.kind().map_or("entry", ken_core::kind::Kind::name);
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
