//! Text of one entry: its statement, anchors, citations and authors.

use std::fmt::Write as _;

use anstyle::Style;
use ken_core::json::{
    EntityRelationship, describe_citation, describe_confirmation, describe_forage_provenance,
    lifecycle_labels,
};
use ken_core::ledger::entry::{Entry, EntryApproval};
use ken_core::ledger::event::{EventBody, RecordedEvent, Switch};
use ken_core::trust::facts::BetaPosterior;
use ken_core::values::actor::ActorRole;
use ken_core::values::status::EntryStatus;
use ken_core::values::text::enum_label;
use ken_engine::promotion::ApprovalValidity;

use super::{BAD, BOLD, DIM, GOOD, WARN, escape_invisible, pluralize, styled, wrap};

/// Columns of the labels on the left.
const LABEL_WIDTH: usize = 11;

/// Facts about an entry that it does not contain itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntrySurroundings<'a> {
    /// The events of its concurrent versions.
    pub(crate) versions: &'a [RecordedEvent],
    pub(crate) approvals: &'a [(EntryApproval, ApprovalValidity)],
    pub(crate) relationships: &'a [EntityRelationship],
}

/// Renders an entry.
pub(crate) fn render_entry(
    entry: &Entry,
    surroundings: EntrySurroundings<'_>,
    width: usize,
) -> String {
    let EntrySurroundings {
        versions,
        approvals,
        relationships,
    } = surroundings;
    let mut builder = EntryTextBuilder {
        out: String::new(),
        width,
    };
    builder.head(entry);
    if !versions.is_empty() {
        builder.versions(entry, versions);
    }
    builder.content(entry);
    let relationships: Vec<String> = relationships.iter().map(ToString::to_string).collect();
    builder.field("related", &relationships);
    builder.trust(entry);
    builder.approvals(entry, approvals);
    builder.place(entry);
    builder.out
}

/// Renders the entries that were merged into another one, with their citations.
pub(crate) fn merged_lines(merged: &[Entry]) -> String {
    let mut out = String::new();
    for (at, entry) in merged.iter().enumerate() {
        let label = if at == 0 { "merged" } else { "" };
        let label = styled(DIM, format_args!("{label:<LABEL_WIDTH$}"));
        let cites = entry.citations.iter();
        let cites = cites.map(|it| format!("{}:{}", it.evidence_type.name(), it.evidence_ref));
        let cites: Vec<String> = cites.collect();
        let cites = escape_invisible(&cites.join(", "));
        let _ = writeln!(out, "{label}{} (cites {cites})", entry.id);
    }
    out
}

/// Renders the confidence in an entry and the evidence of use behind it.
pub(crate) fn confidence_line(posterior: BetaPosterior) -> String {
    let label = styled(DIM, format_args!("{:<LABEL_WIDTH$}", "confidence"));
    let (mean, evidence) = (posterior.mean(), posterior.describe_evidence());
    format!("{label}{mean:.2} (evidence of use: {evidence})\n")
}

/// Returns the style of a status.
pub(crate) fn status_style(status: EntryStatus) -> Style {
    match status {
        EntryStatus::Candidate => Style::new(),
        EntryStatus::Active | EntryStatus::Verified => GOOD,
        EntryStatus::Stale => WARN,
        EntryStatus::Rejected => BAD,
    }
}

struct EntryTextBuilder {
    out: String,
    width: usize,
}

impl EntryTextBuilder {
    fn head(&mut self, entry: &Entry) {
        let kind = entry
            .kind()
            .map_or("entry", ken_core::values::kind::EntryKind::name);
        let status = entry.status.value;
        let _ = write!(self.out, "{}  {kind}  ", styled(BOLD, entry.id));
        let _ = write!(self.out, "{}", styled(status_style(status), status));
        for mark in lifecycle_labels(entry) {
            let _ = write!(self.out, "  {}", styled(WARN, mark));
        }
        self.out.push_str("\n\n");
        match &entry.content {
            Some(content) => {
                self.paragraphs(content.statement.as_str());
                if let Some(body) = &content.body {
                    self.out.push('\n');
                    self.paragraphs(body.as_str());
                }
            }
            None => self
                .out
                .push_str("(no statement: the proposal is missing or was redacted)\n"),
        }
        self.out.push('\n');
    }

    fn paragraphs(&mut self, text: &str) {
        for line in escape_invisible(text).lines() {
            for line in wrap(line, self.width) {
                let _ = writeln!(self.out, "{line}");
            }
        }
    }

    /// Writes the versions that were written concurrently; the fold chose one of them.
    fn versions(&mut self, entry: &Entry, versions: &[RecordedEvent]) {
        let id = entry.id;
        let _ = writeln!(self.out, "{}", styled(WARN, "Edited concurrently:"));
        for recorded in versions {
            let event = &recorded.event;
            // `concurrent` lists the versions that lost; the remaining one is displayed.
            let chosen = !entry.concurrent.contains(&event.id);
            let label = if chosen { "shown" } else { "other" };
            let when = event.at.wall.date();
            let _ = writeln!(self.out, "  {label}  {} on {when} ({})", event.by, event.id);
            for line in wrap(
                &escape_invisible(&event_statement(&event.body)),
                self.width.saturating_sub(9),
            ) {
                let _ = writeln!(self.out, "         {line}");
            }
        }
        let _ = writeln!(self.out, "  `ken edit {id}` resolves it\n");
    }

    fn content(&mut self, entry: &Entry) {
        let Some(content) = &entry.content else {
            return;
        };
        let anchors: Vec<String> = content.anchors.iter().map(|it| it.at.to_string()).collect();
        // Shown even if empty: whether an entry can be checked against code matters to a reader.
        if anchors.is_empty() {
            self.field("anchors", &["none".to_owned()]);
        } else {
            self.field("anchors", &anchors);
        }
        let numbered = content.verify.iter().enumerate();
        let steps: Vec<String> = numbered
            .map(|(i, step)| format!("{}. {step}", i + 1))
            .collect();
        self.field("verify", &steps);
        let tags: Vec<&str> = content.tags.iter().map(|tag| tag.as_str()).collect();
        self.one("tags", &tags.join(", "));
        let conditions: Vec<String> = content.depends_on.iter().map(ToString::to_string).collect();
        self.field("conditions", &conditions);
        let globs: Vec<String> = content.applies_to.iter().map(ToString::to_string).collect();
        self.field("applies to", &globs);
        self.one(
            "lens",
            content.lens.as_ref().map_or("", |lens| lens.as_str()),
        );
        self.one(
            "polarity",
            &content
                .polarity
                .map(|it| enum_label(&it))
                .unwrap_or_default(),
        );
        self.one("decay", &enum_label(&content.decay));
        if let Some(detail) = &content.detail {
            let text = serde_json::to_string(detail).unwrap_or_default();
            self.one("details", &text);
        }
    }

    fn trust(&mut self, entry: &Entry) {
        self.field(
            "cites",
            &entry
                .citations
                .iter()
                .map(describe_citation)
                .collect::<Vec<_>>(),
        );
        self.one("confirmed", &describe_confirmation(entry));
        if let Some(retraction) = &entry.retracted {
            let note = retraction
                .note
                .as_ref()
                .map(|note| format!(": {note}"))
                .unwrap_or_default();
            let (reason, by) = (enum_label(&retraction.reason), &retraction.by);
            self.one(
                "retracted",
                &format!("{} by {by} as {reason}{note}", retraction.since),
            );
        }
        if let Some(archival) = &entry.archived {
            let (since, because) = (archival.since, enum_label(&archival.because));
            self.one("archived", &format!("{since} ({because})"));
        }
        let links = entry
            .links
            .iter()
            .map(|link| format!("{} {}", enum_label(&link.rel), link.to));
        self.field("links", &links.collect::<Vec<_>>());
        let overlays = entry.overlays.iter();
        let notes = overlays.filter(|(_, it)| it.state == Switch::On);
        let notes = notes.filter_map(|(overlay, it)| Some((overlay, it.note.as_ref()?)));
        let notes = notes.map(|(overlay, note)| format!("{}: {note}", enum_label(overlay)));
        self.field("notes", &notes.collect::<Vec<_>>());
    }

    /// Writes the approvals and the sources of a promoted entry.
    fn approvals(&mut self, entry: &Entry, approvals: &[(EntryApproval, ApprovalValidity)]) {
        let line = |(approval, validity): &(EntryApproval, ApprovalValidity)| {
            let note = match validity {
                // Without allowed signers, a signature proves nothing, so it is not reported as
                // valid.
                ApprovalValidity::Unsigned if approval.signature.is_some() => {
                    ", signed (not verified: no allowed signers)".to_owned()
                }
                ApprovalValidity::Unsigned => String::new(),
                ApprovalValidity::Signed => ", signed".to_owned(),
                ApprovalValidity::Invalid(why) => format!(", NOT VALID: {why}"),
            };
            format!("{} by {}{note}", approval.on, approval.by)
        };
        let mut lines: Vec<String> = approvals.iter().map(line).collect();
        // Approvals apply to a statement. After an edit, the earlier ones no longer count.
        if entry.is_promoted() && !entry.quarantine.is_empty() {
            let state = if lines.is_empty() {
                "not yet"
            } else {
                "not for the current statement"
            };
            lines.push(format!("{state}: `ken inbox approve {}`", entry.id));
        }
        self.field("approved", &lines);
        let Some(created) = &entry.created else {
            return;
        };
        let sources: Vec<String> = created
            .promoted_from
            .iter()
            .map(ToString::to_string)
            .collect();
        self.one("sources", &sources.join(", "));
        if let Some(origin) = &created.copied_from {
            let text = format!(
                "{} of project {}, by {}",
                origin.entry, origin.project, origin.by
            );
            self.one("copy of", &text);
        }
        if let Some(foraged) = &created.foraged {
            self.field("foraged", &describe_forage_provenance(foraged));
        }
    }

    fn place(&mut self, entry: &Entry) {
        if let Some(created) = &entry.created {
            if let Some(alias) = &created.alias {
                self.one("alias", alias.as_str());
            }
            let thread = match (&created.thread, entry.thread()) {
                // A promotion removes the thread of an entry; the original one is kept for the
                // reader.
                (Some(thread), None) => format!("{thread} (promoted)"),
                (Some(thread), Some(_)) => thread.to_string(),
                (None, _) => String::new(),
            };
            self.one("thread", &thread);
            let (day, by) = (created.at.wall.date(), &created.by);
            self.one(
                "added",
                &format!("{day} by {by}, {} scope", enum_label(&entry.scope.value)),
            );
        }
        let events = pluralize(u64::from(entry.history.events), "event", "events");
        let last = entry.history.last.wall.date();
        // The ledger of a peer is not this repository's: no file and no log of it are here.
        let author = entry.created.as_ref().map(|it| it.by.role());
        if author == Some(ActorRole::Peer) && entry.is_inbound() {
            self.one("history", &format!("{events}, the last on {last}"));
            return;
        }
        self.one(
            "history",
            &format!("{events}, the last on {last}: `ken log {}`", entry.id),
        );
        if let Some(file) = entry.file_name() {
            self.one("file", &format!(".ken/entries/{file}"));
        }
    }

    /// Writes one value with its label; nothing if it is empty.
    fn one(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.field(label, &[value.to_owned()]);
        }
    }

    /// Writes values below each other, with the label beside the first.
    fn field(&mut self, label: &str, values: &[String]) {
        let room = self.width.saturating_sub(LABEL_WIDTH);
        // All values are untrusted text, so control characters are escaped here, in one place.
        let text = values
            .iter()
            .map(|value| escape_invisible(value))
            .collect::<Vec<_>>()
            .join("\n");
        let lines = text.lines().flat_map(|line| wrap(line, room));
        for (i, line) in lines.enumerate() {
            let shown = if i == 0 { label } else { "" };
            let padded = styled(DIM, format_args!("{shown:<LABEL_WIDTH$}"));
            let _ = writeln!(self.out, "{padded}{line}");
        }
    }
}

/// Returns the statement in a content event, or a description of the change.
fn event_statement(body: &EventBody) -> String {
    if let EventBody::Proposed(data) = body {
        return data.content.statement.to_string();
    }
    // An edit may change other fields only; then there is no statement to show.
    if let EventBody::Revised(data) = body {
        return match &data.changes.statement {
            Some(statement) => statement.to_string(),
            None => format!("changed {}", data.changes.fields().join(", ")),
        };
    }
    format!("({})", body.type_name())
}
