//! Entry files: Markdown with frontmatter (Open Knowledge Format v0.2), rendered and parsed.
//!
//! The frontmatter is laid out so that two branches conflict only if both edited the content. Lines
//! that change for different reasons (content, machine state, archiving, retraction) are separated
//! by lines that never change, because git merges hunks that do not touch. The two digests are full
//! hashes, and one covers the id. Otherwise two short entries would be so similar that git takes a
//! deletion and an addition for a rename and merges an edit into the wrong file.
//!
//! Invariant: parsing a rendered file returns the same content and the same [`content_digest`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ken_core::ledger::canonical;
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::Provenance;
use ken_core::values::anchor::{Anchor, CodeLocation};
use ken_core::values::condition::Glob;
use ken_core::values::content::{Content, DecayClass, KindDetail, Polarity};
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::{Condition, Step, Tag};
use ken_core::values::time::Date;
use okf::{Document, Value};
use serde::Serialize;

/// The editable parts of an entry file, and the state it was rendered from.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedEntryFile {
    pub id: EntryId,
    pub content: Content,
    /// The content events the file was rendered from.
    pub revision: Vec<EventId>,
    /// The content digest at the time of rendering.
    pub digest: String,
    pub last_confirmed: Option<Date>,
    /// Machine state as the file shows it.
    pub machine: MachineLines,
    /// Set if the machine lines are as Ken rendered them, not edited by a person.
    pub machine_is_rendered: bool,
}

impl ParsedEntryFile {
    /// Returns true if the content is as Ken rendered it, not edited by a person.
    pub fn content_is_rendered(&self) -> bool {
        content_digest(&self.content) == self.digest
    }
}

/// Provenance of an entry whose last confirmation counts, as the file shows it.
pub(crate) const INDEPENDENT: &str = "independent";

/// Provenance of an entry whose last confirmation came from a reader of the entry.
pub(crate) const PRIMED: &str = "primed";

/// Machine state in the form of the file's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineLines {
    pub status: String,
    pub last_confirmed: String,
    pub provenance: String,
    pub sources: Vec<String>,
}

/// An error in parsing an entry file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryFileError {
    #[error("it contains conflict markers")]
    ConflictMarkers,
    #[error("its frontmatter cannot be read: {0}")]
    Frontmatter(String),
    #[error("its frontmatter has no `{0}`")]
    Missing(&'static str),
    #[error("its `{field}` cannot be read: {why}")]
    Field { field: &'static str, why: String },
}

/// Renders the file of `entry`.
///
/// Returns `None` if the content or the proposal of the entry is missing.
pub fn render(entry: &Entry) -> Option<String> {
    let (content, created) = (entry.content.as_ref()?, entry.created.as_ref()?);
    let machine = MachineLines::from_entry(entry);
    // The order of these lines is part of the merge behavior described at the top of this module.
    let mut out = String::from("---\n");
    let _ = writeln!(out, "type: {}\nid: {}", created.kind, entry.id);
    write_content_lines(&mut out, entry, content);
    let _ = writeln!(out, "resource: \"ken:{}\"", entry.id);
    let _ = writeln!(out, "status: {}", machine.status);
    let _ = writeln!(out, "lastConfirmed: {}", machine.last_confirmed);
    let _ = writeln!(out, "provenance: {}", machine.provenance);
    let _ = writeln!(out, "rendered: {}", quote(&machine.digest(entry.id)));
    let (by, at) = (
        quote(&created.by.to_string()),
        quote(&created.at.wall.to_string()),
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
    let _ = writeln!(out, "origin: {}", serialized_name(&created.origin));
    let retracted = entry
        .retracted
        .as_ref()
        .map_or("no".to_owned(), |r| serialized_name(&r.reason));
    let _ = writeln!(out, "retracted: {retracted}");
    if let Some(into) = entry.merged_into {
        let _ = writeln!(out, "merged_into: {into}");
    }
    if let Some(by) = entry.superseded_by {
        let _ = writeln!(out, "superseded_by: {by}");
    }
    let _ = writeln!(out, "schema_version: {}", created.schema_version);
    for (i, source) in machine.sources.iter().enumerate() {
        let _ = writeln!(
            out,
            "{}  - resource: {}",
            if i == 0 { "sources:\n" } else { "" },
            quote(source)
        );
    }
    out.push_str("---\n\n");
    write_body(&mut out, content);
    Some(out)
}

/// Writes the frontmatter lines that change when the content is edited.
fn write_content_lines(out: &mut String, entry: &Entry, content: &Content) {
    let _ = writeln!(out, "title: {}", quote(&content.statement.title()));
    let tags: Vec<String> = content.tags.iter().map(|tag| quote(tag.as_str())).collect();
    let _ = writeln!(out, "tags: [{}]", tags.join(", "));
    let conditions: Vec<String> = content
        .depends_on
        .iter()
        .map(|c| quote(c.as_str()))
        .collect();
    // Lines with a default value are left out; `tags` stays, because people look for it.
    if !conditions.is_empty() {
        let _ = writeln!(out, "depends_on: [{}]", conditions.join(", "));
    }
    if !content.applies_to.is_empty() {
        let globs: Vec<String> = content
            .applies_to
            .iter()
            .map(|it| quote(it.as_str()))
            .collect();
        let _ = writeln!(out, "applies_to: [{}]", globs.join(", "));
    }
    if let Some(lens) = &content.lens {
        let _ = writeln!(out, "lens: {}", quote(lens.as_str()));
    }
    if let Some(polarity) = &content.polarity {
        let _ = writeln!(out, "polarity: {}", serialized_name(polarity));
    }
    if content.decay != DecayClass::default() {
        let _ = writeln!(out, "decay: {}", serialized_name(&content.decay));
    }
    let revision: Vec<String> = entry
        .revision
        .iter()
        .map(|id| quote(&id.to_string()))
        .collect();
    let _ = writeln!(out, "revision: [{}]", revision.join(", "));
    let _ = writeln!(out, "digest: {}", quote(&content_digest(content)));
}

fn write_body(out: &mut String, content: &Content) {
    for line in content.statement.as_str().lines() {
        // Without the backslash, a statement line such as `Verify: …` would parse as a label.
        let _ = writeln!(out, "{}{line}", if needs_escape(line) { "\\" } else { "" });
    }
    if let Some(body) = &content.body {
        let _ = writeln!(out, "\n{BODY_LABEL}");
        for line in body.as_str().lines() {
            let _ = writeln!(out, "{}{line}", if needs_escape(line) { "\\" } else { "" });
        }
    }
    if content.anchors.is_empty() {
        out.push_str("\nEvidence: none (cites no code)\n");
    } else {
        out.push_str("\nEvidence:\n");
        for anchor in &content.anchors {
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

/// Parses the editable parts of a file.
pub fn parse(text: &str) -> Result<ParsedEntryFile, EntryFileError> {
    // Git for Windows may check files out with CRLF; that must not count as an edit.
    let text = text.replace("\r\n", "\n");
    if has_conflict_markers(&text) {
        return Err(EntryFileError::ConflictMarkers);
    }
    let document =
        Document::parse(&text).map_err(|e| EntryFileError::Frontmatter(e.to_string()))?;
    let front = FrontmatterFields(&document);
    let id = parse_field("id", &front.text("id")?)?;
    let mut content = parse_body(&document.body)?;
    content.tags = front
        .list::<Tag>("tags")?
        .into_iter()
        .collect::<BTreeSet<_>>();
    content.depends_on = front.list::<Condition>("depends_on")?;
    content.applies_to = front.list::<Glob>("applies_to")?;
    content.lens = front
        .optional("lens")
        .map(|text| parse_field("lens", &text))
        .transpose()?;
    content.polarity = front
        .optional("polarity")
        .map(|t| parse_enum::<Polarity>("polarity", &t))
        .transpose()?;
    content.decay = match front.optional("decay") {
        Some(text) => parse_enum::<DecayClass>("decay", &text)?,
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
    Ok(ParsedEntryFile {
        id,
        content,
        revision: front.list("revision")?,
        digest: front.text("digest")?,
        last_confirmed: machine.last_confirmed.parse().ok(),
        machine_is_rendered: machine.digest(id) == shown("rendered"),
        machine,
    })
}

/// Returns a digest of the editable content, ignoring whitespace and fingerprints.
pub fn content_digest(content: &Content) -> String {
    let bare: Vec<&CodeLocation> = content.anchors.iter().map(|anchor| &anchor.at).collect();
    let mut wording = serde_json::json!({
        "statement": collapse_whitespace(content.statement.as_str()), "evidence": bare,
        "verify": content.verify.iter().map(|step| collapse_whitespace(step.as_str())).collect::<Vec<_>>(),
        "tags": content.tags, "depends_on": content.depends_on, "lens": content.lens,
        "polarity": content.polarity, "decay": content.decay, "detail": content.detail,
    });
    // Left out if empty: files that an older version rendered keep their digest.
    if !content.applies_to.is_empty() {
        wording["applies_to"] = serde_json::json!(content.applies_to);
    }
    // Absent without a body, so that the digests of older files stay valid.
    if let Some(body) = &content.body {
        wording["body"] = collapse_whitespace(body.as_str()).into();
    }
    let hash = blake3::hash(canonical::to_string(&wording).as_bytes());
    format!("b3:{}", hash.to_hex())
}

/// Returns true if `text` contains conflict markers of an unresolved merge.
pub fn has_conflict_markers(text: &str) -> bool {
    // `=======` alone is not checked: it is also a Markdown heading underline.
    text.lines()
        .any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
}

/// Splits a text with conflict markers into the versions of both sides.
pub fn conflict_sides(text: &str) -> [String; 2] {
    let mut sides = [String::new(), String::new()];
    // The part of a conflict that the lines belong to: none, ours, the common base, theirs.
    let mut part = 0;
    for line in text.lines() {
        part = match part {
            0 if line.starts_with("<<<<<<< ") => 1,
            1 if line.starts_with("||||||| ") => 2,
            1 | 2 if line == "=======" => 3,
            3 if line.starts_with(">>>>>>> ") => 0,
            _ => {
                for (side, own) in sides.iter_mut().zip([1, 3]) {
                    if part == 0 || part == own {
                        side.push_str(line);
                        side.push('\n');
                    }
                }
                continue;
            }
        };
    }
    sides
}

impl MachineLines {
    /// Returns the machine state of `entry`.
    pub fn from_entry(entry: &Entry) -> Self {
        let confirmation = &entry.confirmation;
        let provenance = match confirmation.provenance {
            Some(Provenance::Primed | Provenance::Unwitnessed) => PRIMED,
            Some(Provenance::Independent | Provenance::Manual) | None => INDEPENDENT,
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

    /// Returns a digest that distinguishes rendered lines from lines a person edited.
    fn digest(&self, id: EntryId) -> String {
        // Sources are excluded, so that two branches with different citations do not conflict in
        // the digest line.
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

fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Quotes text as a JSON string, which is also a YAML double-quoted scalar.
fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

/// Returns the serialized name of an enum value.
fn serialized_name(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// The label of the body: a comment, because a word could start a line of an older statement.
const BODY_LABEL: &str = "<!-- body -->";

const LABELS: [&str; 4] = ["Evidence:", "Verify:", "Details:", BODY_LABEL];

fn needs_escape(line: &str) -> bool {
    line.starts_with('\\') || LABELS.iter().any(|label| line.starts_with(label))
}

/// Typed access to frontmatter fields.
struct FrontmatterFields<'a>(&'a Document);

impl FrontmatterFields<'_> {
    fn optional(&self, key: &str) -> Option<String> {
        let value = self.0.frontmatter.get(key)?;
        value.as_display_string().filter(|text| !text.is_empty())
    }

    fn text(&self, key: &'static str) -> Result<String, EntryFileError> {
        self.optional(key).ok_or(EntryFileError::Missing(key))
    }

    fn list<T: std::str::FromStr<Err: ToString>>(
        &self,
        key: &'static str,
    ) -> Result<Vec<T>, EntryFileError> {
        let Some(value) = self.0.frontmatter.get(key) else {
            return Ok(Vec::new());
        };
        // A person may write a single value without brackets.
        let items: Vec<String> = match value.as_sequence() {
            Some(items) => items.iter().filter_map(Value::as_display_string).collect(),
            None => value.as_display_string().into_iter().collect(),
        };
        let filled = items.iter().filter(|item| !item.trim().is_empty());
        filled.map(|item| parse_field(key, item)).collect()
    }
}

fn parse_field<T: std::str::FromStr<Err: ToString>>(
    field: &'static str,
    text: &str,
) -> Result<T, EntryFileError> {
    text.trim()
        .parse()
        .map_err(|e: T::Err| EntryFileError::Field {
            field,
            why: e.to_string(),
        })
}

fn parse_enum<T: serde::de::DeserializeOwned>(
    field: &'static str,
    text: &str,
) -> Result<T, EntryFileError> {
    serde_json::from_value(text.trim().into()).map_err(|e| EntryFileError::Field {
        field,
        why: e.to_string(),
    })
}

/// Splits the body at its labels.
fn parse_body(body: &str) -> Result<Content, EntryFileError> {
    // The statement comes before the first label; then one part per label.
    let mut parts: [Vec<&str>; 5] = Default::default();
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
    let [statement, evidence, verify, details, body] = parts;
    let mut content = Content::new(parse_field("statement", &unescape(&statement))?);
    let body = unescape(&body);
    if !body.trim().is_empty() {
        content.body = Some(parse_field("body", &body)?);
    }
    content.anchors = parse_anchors(&evidence)?;
    content.verify = parse_steps(&verify)?;
    content.detail = parse_detail(&details)?;
    Ok(content)
}

/// Joins lines of free text without the backslash of those that look like a label.
fn unescape(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| {
            line.strip_prefix('\\')
                .filter(|rest| needs_escape(rest))
                .unwrap_or(line)
        })
        .collect();
    lines.join("\n")
}

fn parse_anchors(lines: &[&str]) -> Result<Vec<Anchor>, EntryFileError> {
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
        // People write several anchors on one line, too.
        for part in text.split("`, `") {
            anchors.push(parse_field::<CodeLocation>("Evidence", part)?.into());
        }
    }
    Ok(anchors)
}

fn parse_steps(lines: &[&str]) -> Result<Vec<Step>, EntryFileError> {
    let mut steps: Vec<String> = Vec::new();
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        match strip_list_marker(line) {
            Some("none") => {}
            Some(step) => steps.push(step.to_owned()),
            None if *line == "none" => {}
            None => match steps.last_mut() {
                // A line without a number continues the previous step.
                Some(last) => {
                    last.push('\n');
                    last.push_str(line.trim());
                }
                None => steps.push(line.trim().to_owned()),
            },
        }
    }
    steps
        .iter()
        .map(|step| parse_field("Verify", step))
        .collect()
}

/// Returns the text after a list marker such as `1.` or `-`.
fn strip_list_marker(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("- ") {
        return Some(rest.trim());
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(". ")
        .filter(|_| rest.len() < line.len())
        .map(str::trim)
}

fn parse_detail(lines: &[&str]) -> Result<Option<KindDetail>, EntryFileError> {
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
        .map_err(|e| EntryFileError::Field {
            field: "Details",
            why: e.to_string(),
        })
}

#[cfg(test)]
mod tests;
