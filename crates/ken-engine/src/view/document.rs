//! One entry as a Markdown document with frontmatter (Open Knowledge Format v0.2), both ways.
//!
//! The frontmatter is laid out so that two branches conflict only where both worded the entry
//! anew: lines that change for different reasons (wording, machine state, archiving, retraction)
//! are kept apart by lines that never change, because git merges hunks that do not touch. Its two
//! digests are whole hashes and one of them covers the id: else two short entries are so alike
//! that git takes one deleted and one added for a rename and merges an edit into the wrong file.
//!
//! Invariant: reading what was written gives the same wording and the same [`digest`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ken_core::anchor::{Anchor, Target};
use ken_core::canonical;
use ken_core::content::{Content, DecayClass, Detail, Polarity};
use ken_core::entry::Entry;
use ken_core::event::Provenance;
use ken_core::id::{EntryId, EventId};
use ken_core::text::{Condition, Step, Tag};
use ken_core::time::Date;
use okf::{Document, Value};
use serde::Serialize;

/// What a file says, as far as people may change it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub id: EntryId,
    pub content: Content,
    /// The content events the file was rendered from.
    pub revision: Vec<EventId>,
    /// The digest written when it was rendered.
    pub digest: String,
    pub last_confirmed: Option<Date>,
    /// Lines of machine state, kept as they stand when only the wording is rendered again.
    pub machine: MachineLines,
    /// Whether the machine lines are as Ken wrote them; otherwise a person changed them.
    pub machine_is_rendered: bool,
}

impl Reading {
    /// Returns whether the wording is as Ken wrote it; otherwise a person changed it.
    pub fn is_rendered(&self) -> bool {
        digest(&self.content) == self.digest
    }
}

/// Machine state as a file shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineLines {
    pub status: String,
    pub last_confirmed: String,
    pub provenance: String,
    pub sources: Vec<String>,
}

/// Why a file cannot be read as an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    #[error("it holds conflict markers")]
    ConflictMarkers,
    #[error("its frontmatter cannot be read: {0}")]
    Frontmatter(String),
    #[error("its frontmatter has no `{0}`")]
    Missing(&'static str),
    #[error("its `{field}` cannot be read: {why}")]
    Field { field: &'static str, why: String },
}

/// Writes the file of `entry`; machine state is taken from `kept` where given.
///
/// Returns `None` while the entry has no wording or no proposal.
pub fn render(entry: &Entry, kept: Option<&MachineLines>) -> Option<String> {
    let (content, created) = (entry.content.as_ref()?, entry.created.as_ref()?);
    let fresh = MachineLines::of(entry);
    let machine = kept.unwrap_or(&fresh);
    let mut out = String::from("---\n");
    let kind = created.kind;
    let _ = writeln!(out, "type: {kind}\nid: {}\nkind: {kind}", entry.id);
    wording_lines(&mut out, entry, content);
    let _ = writeln!(out, "resource: \"ken:{}\"", entry.id);
    let _ = writeln!(out, "status: {}", machine.status);
    let _ = writeln!(out, "lastConfirmed: {}", machine.last_confirmed);
    let _ = writeln!(out, "provenance: {}", machine.provenance);
    let _ = writeln!(out, "rendered: {}", quoted(&machine.digest(entry.id)));
    let (by, at) = (
        quoted(&created.by.to_string()),
        quoted(&created.at.wall.to_string()),
    );
    let _ = writeln!(out, "generated: {{by: {by}, at: {at}}}");
    let _ = writeln!(
        out,
        "archived: {}",
        if entry.archived.is_some() {
            "yes"
        } else {
            "no"
        }
    );
    let _ = writeln!(out, "origin: {}", word(&created.origin));
    let retracted = entry
        .retracted
        .as_ref()
        .map_or("no".to_owned(), |r| word(&r.reason));
    let _ = writeln!(out, "retracted: {retracted}");
    let _ = writeln!(out, "schema_version: {}", created.schema_version);
    for (i, source) in machine.sources.iter().enumerate() {
        let _ = writeln!(
            out,
            "{}  - resource: {}",
            if i == 0 { "sources:\n" } else { "" },
            quoted(source)
        );
    }
    out.push_str("---\n\n");
    body(&mut out, content);
    Some(out)
}

/// Lines that change when the entry is worded anew.
fn wording_lines(out: &mut String, entry: &Entry, content: &Content) {
    let _ = writeln!(out, "title: {}", quoted(&content.statement.title()));
    let tags: Vec<String> = content
        .tags
        .iter()
        .map(|tag| quoted(tag.as_str()))
        .collect();
    let _ = writeln!(out, "tags: [{}]", tags.join(", "));
    let conditions: Vec<String> = content
        .depends_on
        .iter()
        .map(|c| quoted(c.as_str()))
        .collect();
    let _ = writeln!(out, "depends_on: [{}]", conditions.join(", "));
    if let Some(lens) = &content.lens {
        let _ = writeln!(out, "lens: {}", quoted(lens.as_str()));
    }
    if let Some(polarity) = &content.polarity {
        let _ = writeln!(out, "polarity: {}", word(polarity));
    }
    let _ = writeln!(out, "decay: {}", word(&content.decay));
    let revision: Vec<String> = entry
        .revision
        .iter()
        .map(|id| quoted(&id.to_string()))
        .collect();
    let _ = writeln!(out, "revision: [{}]", revision.join(", "));
    let _ = writeln!(out, "digest: {}", quoted(&digest(content)));
}

fn body(out: &mut String, content: &Content) {
    for line in content.statement.as_str().lines() {
        let _ = writeln!(out, "{}{line}", if needs_escape(line) { "\\" } else { "" });
    }
    if content.evidence.is_empty() {
        out.push_str("\nEvidence: none (cites no code)\n");
    } else {
        out.push_str("\nEvidence:\n");
        for anchor in &content.evidence {
            let _ = writeln!(out, "- `{}`", anchor.at);
        }
    }
    if content.verify.is_empty() {
        out.push_str("\nVerify: none\n");
    } else {
        out.push_str("\nVerify:\n");
        for (number, step) in content.verify.iter().enumerate() {
            let _ = writeln!(
                out,
                "{}. {}",
                number + 1,
                step.as_str().replace('\n', "\n   ")
            );
        }
    }
    if let Some(detail) = &content.detail {
        let json = serde_json::to_string_pretty(detail).expect("details are plain data");
        let _ = write!(out, "\nDetails:\n```json\n{json}\n```\n");
    }
}

/// Reads a file as far as people may change it.
pub fn read(text: &str) -> Result<Reading, ReadingError> {
    let text = text.replace("\r\n", "\n");
    if has_conflict_markers(&text) {
        return Err(ReadingError::ConflictMarkers);
    }
    let document = Document::parse(&text).map_err(|e| ReadingError::Frontmatter(e.to_string()))?;
    let front = Front(&document);
    let id = parsed("id", &front.text("id")?)?;
    let mut content = read_body(&document.body)?;
    content.tags = front
        .list::<Tag>("tags")?
        .into_iter()
        .collect::<BTreeSet<_>>();
    content.depends_on = front.list::<Condition>("depends_on")?;
    content.lens = front
        .optional("lens")
        .map(|text| parsed("lens", &text))
        .transpose()?;
    content.polarity = front
        .optional("polarity")
        .map(|t| from_word::<Polarity>("polarity", &t))
        .transpose()?;
    content.decay = match front.optional("decay") {
        Some(text) => from_word::<DecayClass>("decay", &text)?,
        None => DecayClass::default(),
    };
    let shown = |key: &str| front.optional(key).unwrap_or_default();
    let machine = MachineLines {
        status: shown("status"),
        last_confirmed: shown("lastConfirmed"),
        provenance: shown("provenance"),
        sources: document
            .frontmatter
            .sources()
            .into_iter()
            .filter_map(|s| s.resource)
            .collect(),
    };
    Ok(Reading {
        id,
        content,
        revision: front.list("revision")?,
        digest: front.text("digest")?,
        last_confirmed: machine.last_confirmed.parse().ok(),
        machine_is_rendered: machine.digest(id) == shown("rendered"),
        machine,
    })
}

/// Returns a digest of what people may word, whitespace and fingerprints left out.
pub fn digest(content: &Content) -> String {
    let bare: Vec<&Target> = content.evidence.iter().map(|anchor| &anchor.at).collect();
    let wording = serde_json::json!({
        "statement": squeezed(content.statement.as_str()), "evidence": bare,
        "verify": content.verify.iter().map(|step| squeezed(step.as_str())).collect::<Vec<_>>(),
        "tags": content.tags, "depends_on": content.depends_on, "lens": content.lens,
        "polarity": content.polarity, "decay": content.decay, "detail": content.detail,
    });
    let hash = blake3::hash(canonical::to_string(&wording).as_bytes());
    format!("b3:{}", hash.to_hex())
}

/// Returns whether `text` holds what git leaves behind in an unresolved merge.
pub fn has_conflict_markers(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
}

impl MachineLines {
    /// Returns the machine state of `entry` as a file shows it.
    pub fn of(entry: &Entry) -> Self {
        let confirmation = &entry.confirmation;
        let provenance = match confirmation.provenance {
            Some(Provenance::Primed | Provenance::Unwitnessed) => "primed",
            Some(Provenance::Independent | Provenance::Manual) | None => "independent",
        };
        Self {
            status: entry.status.value.to_string(),
            last_confirmed: confirmation
                .last
                .map(|date| date.to_string())
                .unwrap_or_default(),
            provenance: provenance.to_owned(),
            sources: entry.citations.iter().map(ToString::to_string).collect(),
        }
    }

    /// Tells lines Ken wrote from lines a person changed.
    fn digest(&self, id: EntryId) -> String {
        let Self {
            status,
            last_confirmed,
            provenance,
            ..
        } = self;
        let lines = format!("{id}\n{status}\n{last_confirmed}\n{provenance}");
        format!("b3:{}", blake3::hash(lines.as_bytes()).to_hex())
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A JSON string is a YAML double-quoted scalar.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

/// The word an enum of ours is written as.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

const LABELS: [&str; 3] = ["Evidence:", "Verify:", "Details:"];

fn needs_escape(line: &str) -> bool {
    line.starts_with('\\') || LABELS.iter().any(|label| line.starts_with(label))
}

struct Front<'a>(&'a Document);

impl Front<'_> {
    fn optional(&self, key: &str) -> Option<String> {
        let value = self.0.frontmatter.get(key)?;
        value.as_display_string().filter(|text| !text.is_empty())
    }

    fn text(&self, key: &'static str) -> Result<String, ReadingError> {
        self.optional(key).ok_or(ReadingError::Missing(key))
    }

    fn list<T: std::str::FromStr<Err: ToString>>(
        &self,
        key: &'static str,
    ) -> Result<Vec<T>, ReadingError> {
        let Some(value) = self.0.frontmatter.get(key) else {
            return Ok(Vec::new());
        };
        let items: Vec<String> = match value.as_sequence() {
            Some(items) => items.iter().filter_map(Value::as_display_string).collect(),
            None => value.as_display_string().into_iter().collect(),
        };
        let filled = items.iter().filter(|item| !item.trim().is_empty());
        filled.map(|item| parsed(key, item)).collect()
    }
}

fn parsed<T: std::str::FromStr<Err: ToString>>(
    field: &'static str,
    text: &str,
) -> Result<T, ReadingError> {
    text.trim()
        .parse()
        .map_err(|e: T::Err| ReadingError::Field {
            field,
            why: e.to_string(),
        })
}

fn from_word<T: serde::de::DeserializeOwned>(
    field: &'static str,
    text: &str,
) -> Result<T, ReadingError> {
    serde_json::from_value(text.trim().into()).map_err(|e| ReadingError::Field {
        field,
        why: e.to_string(),
    })
}

/// Splits the body at its labels.
fn read_body(body: &str) -> Result<Content, ReadingError> {
    let mut parts: [Vec<&str>; 4] = Default::default();
    let mut part = 0;
    for line in body.lines() {
        match LABELS.iter().position(|label| line.starts_with(label)) {
            Some(label) => {
                part = label + 1;
                parts[part].push(line[LABELS[label].len()..].trim());
            }
            None => parts[part].push(line),
        }
    }
    let [statement, evidence, verify, details] = parts;
    let statement: Vec<&str> = statement
        .iter()
        .map(|line| {
            line.strip_prefix('\\')
                .filter(|rest| needs_escape(rest))
                .unwrap_or(line)
        })
        .collect();
    let mut content = Content::new(parsed("statement", &statement.join("\n"))?);
    content.evidence = read_evidence(&evidence)?;
    content.verify = read_steps(&verify)?;
    content.detail = read_detail(&details)?;
    Ok(content)
}

fn read_evidence(lines: &[&str]) -> Result<Vec<Anchor>, ReadingError> {
    let mut anchors = Vec::new();
    for line in lines {
        let text = line
            .trim()
            .trim_start_matches(['-', '*'])
            .trim()
            .trim_matches('`');
        if text.is_empty() || text.starts_with("none") {
            continue;
        }
        for part in text.split("`, `") {
            anchors.push(parsed::<Target>("Evidence", part)?.into());
        }
    }
    Ok(anchors)
}

fn read_steps(lines: &[&str]) -> Result<Vec<Step>, ReadingError> {
    let mut steps: Vec<String> = Vec::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        match numbered(line) {
            Some("none") => {}
            Some(step) => steps.push(step.to_owned()),
            None if *line == "none" => {}
            None => match steps.last_mut() {
                Some(last) => {
                    last.push('\n');
                    last.push_str(line.trim());
                }
                None => steps.push(line.trim().to_owned()),
            },
        }
    }
    steps.iter().map(|step| parsed("Verify", step)).collect()
}

/// Returns the text behind `1.` or `-`.
fn numbered(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("- ") {
        return Some(rest.trim());
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(". ")
        .filter(|_| rest.len() < line.len())
        .map(str::trim)
}

fn read_detail(lines: &[&str]) -> Result<Option<Detail>, ReadingError> {
    let json: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !line.trim_start().starts_with("```"))
        .collect();
    let json = json.join("\n");
    if json.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&json)
        .map(Some)
        .map_err(|e| ReadingError::Field {
            field: "Details",
            why: e.to_string(),
        })
}

#[cfg(test)]
mod tests;
