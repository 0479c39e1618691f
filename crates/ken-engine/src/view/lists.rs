//! Lists of entries: the index by tag, the archive, and one `KNOWLEDGE.md` per reviewer.
//!
//! The lists are projections and ignored by git. They have one line per entry, so that a reader can
//! choose before opening a file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ken_core::ledger::entry::Entry;
use ken_core::values::kind::EntryKind;

/// Lenses that always have a `KNOWLEDGE.md`, even without entries.
const LENSES: [&str; 5] = [
    "security",
    "correctness",
    "performance",
    "maintainability",
    "reliability",
];

/// Renders every list; keys are paths below `.ken/`.
pub fn render_lists(entries: &[Entry]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    files.insert("index.md".to_owned(), render_index(entries));
    files.insert("archive.md".to_owned(), render_archive(entries));
    let mut lenses: BTreeMap<String, Vec<&Entry>> = LENSES
        .iter()
        .map(|lens| ((*lens).to_owned(), Vec::new()))
        .collect();
    for entry in entries.iter().filter(|entry| entry.is_live()) {
        if let Some(lens) = entry
            .content
            .as_ref()
            .and_then(|content| content.lens.as_ref())
        {
            // A slash would create a nested folder, and a lens is one folder.
            lenses
                .entry(lens.as_str().replace('/', "-"))
                .or_default()
                .push(entry);
        }
    }
    for (lens, entries) in lenses {
        files.insert(
            format!("reviewers/{lens}/KNOWLEDGE.md"),
            render_knowledge(&lens, &entries),
        );
    }
    files
}

/// Renders the entries by tag.
fn render_index(entries: &[Entry]) -> String {
    let mut by_tag: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    // Raw signals are counted, not read: an agent that reads the index must not take them for
    // knowledge.
    let is_listed = |entry: &&Entry| entry.is_live() && !entry.is_raw();
    for entry in entries.iter().filter(is_listed) {
        let tags = entry.content.iter().flat_map(|content| content.tags.iter());
        let mut tagged = false;
        for tag in tags {
            by_tag.entry(tag.as_str()).or_default().push(entry);
            tagged = true;
        }
        if !tagged {
            by_tag.entry("untagged").or_default().push(entry);
        }
    }
    let mut out = String::from("# Index\n");
    for (tag, entries) in by_tag {
        let _ = writeln!(out, "\n## {tag}\n");
        for entry in entries {
            out.push_str(&entry_line(entry, "entries/"));
        }
    }
    out
}

fn render_archive(entries: &[Entry]) -> String {
    let mut out = String::from(
        "# Archive\n\nArchived entries, kept in full; run `ken restore ID` to restore one.\n\n",
    );
    for entry in entries.iter().filter(|entry| entry.archived.is_some()) {
        out.push_str(&entry_line(entry, "entries/"));
    }
    out
}

/// Renders the knowledge file of one reviewer: three sections, each line with date and source.
fn render_knowledge(lens: &str, entries: &[&Entry]) -> String {
    let mut out = format!("# Knowledge: {lens}\n");
    for section in [
        "Patterns Found",
        "False Positives to Avoid",
        "Incidents Prevented",
    ] {
        let _ = writeln!(out, "\n## {section}\n");
        for entry in entries.iter().filter(|entry| section_of(entry) == section) {
            let (Some(content), Some(created)) = (&entry.content, &entry.created) else {
                continue;
            };
            let date = created.at.wall.date();
            let source = entry
                .citations
                .first()
                .map_or_else(String::new, |c| format!(", {c}"));
            // One line per entry: a newline in the statement would end the list item.
            let text = content.statement.as_str().replace('\n', " ");
            let _ = writeln!(
                out,
                "- [{}] {text} ({date}, {}{source})",
                entry.id, created.by
            );
        }
    }
    out
}

fn section_of(entry: &Entry) -> &'static str {
    match entry.kind() {
        Some(EntryKind::FalsePositive) => "False Positives to Avoid",
        Some(EntryKind::Incident) => "Incidents Prevented",
        Some(_) | None => "Patterns Found",
    }
}

fn entry_line(entry: &Entry, folder: &str) -> String {
    let (Some(content), Some(file)) = (&entry.content, entry.file_name()) else {
        return String::new();
    };
    let kind = entry.kind().map_or("", EntryKind::name);
    let certainty = content.spike_certainty();
    let certainty = certainty.map_or_else(String::new, |it| format!(" ({it})"));
    format!(
        "- [{}]({folder}{file}) {kind}{certainty}: {}\n",
        entry.id,
        content.statement.title()
    )
}
