//! Lists over many entries: the index by tag, the archive, and one `KNOWLEDGE.md` per reviewer.
//!
//! They are derived, ignored by git, and carry one line an entry so that a reader can choose
//! before opening anything.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ken_core::entry::Entry;
use ken_core::kind::Kind;

/// Lenses every repository has a `KNOWLEDGE.md` for.
const LENSES: [&str; 5] = [
    "security",
    "correctness",
    "performance",
    "maintainability",
    "reliability",
];

/// Every gathering view by its path below `.ken/`, from all entries that have a wording.
pub fn gather(entries: &[Entry]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    files.insert("index.md".to_owned(), index(entries));
    files.insert("archive.md".to_owned(), archive(entries));
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
            lenses
                .entry(lens.as_str().replace('/', "-"))
                .or_default()
                .push(entry);
        }
    }
    for (lens, entries) in lenses {
        files.insert(
            format!("reviewers/{lens}/KNOWLEDGE.md"),
            knowledge(&lens, &entries),
        );
    }
    files
}

/// Topics to entries: tag, path, one line.
fn index(entries: &[Entry]) -> String {
    let mut by_tag: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.is_live()) {
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
            out.push_str(&line(entry, "entries/"));
        }
    }
    out
}

fn archive(entries: &[Entry]) -> String {
    let mut out = String::from(
        "# Archive\n\nLaid aside, kept in full; `ken restore ID` brings one back.\n\n",
    );
    for entry in entries.iter().filter(|entry| entry.archived.is_some()) {
        out.push_str(&line(entry, "entries/"));
    }
    out
}

/// The knowledge file of one reviewer: three sections, each line dated and with its source.
fn knowledge(lens: &str, entries: &[&Entry]) -> String {
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
        Some(Kind::FalsePositive) => "False Positives to Avoid",
        Some(Kind::Incident) => "Incidents Prevented",
        Some(_) | None => "Patterns Found",
    }
}

fn line(entry: &Entry, folder: &str) -> String {
    let (Some(content), Some(file)) = (&entry.content, entry.file_name()) else {
        return String::new();
    };
    let kind = entry.kind().map_or("", Kind::name);
    format!(
        "- [{}]({folder}{file}) {kind}: {}\n",
        entry.id,
        content.statement.title()
    )
}
