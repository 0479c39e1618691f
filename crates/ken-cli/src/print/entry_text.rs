//! One entry for people: what it claims, what that rests on, and who said so.

use std::fmt::Write as _;

use anstyle::Style;
use ken_core::entry::{Approval, Entry};
use ken_core::event::{Body, Recorded};
use ken_core::object::{cited, confirmed, marks};
use ken_core::status::Status;
use ken_core::text::word;
use ken_engine::promotion::Standing;

use super::{BAD, BOLD, DIM, GOOD, WARN, counted, styled, visible, wrap};

/// Columns of the names on the left.
const LABEL_WIDTH: usize = 11;

/// Returns the text of an entry; `versions` are the events of its concurrent wordings.
pub(crate) fn render(
    entry: &Entry,
    versions: &[Recorded],
    approvals: &[(Approval, Standing)],
    width: usize,
) -> String {
    let mut page = Page {
        out: String::new(),
        width,
    };
    page.head(entry);
    if !versions.is_empty() {
        page.versions(entry, versions);
    }
    page.wording(entry);
    page.trust(entry);
    page.approvals(entry, approvals);
    page.place(entry);
    page.out
}

/// Returns the style a status is shown in.
pub(crate) fn status_style(status: Status) -> Style {
    match status {
        Status::Candidate => Style::new(),
        Status::Active | Status::Verified => GOOD,
        Status::Stale => WARN,
        Status::Rejected => BAD,
    }
}

struct Page {
    out: String,
    width: usize,
}

impl Page {
    fn head(&mut self, entry: &Entry) {
        let kind = entry.kind().map_or("entry", ken_core::kind::Kind::name);
        let status = entry.status.value;
        let _ = write!(self.out, "{}  {kind}  ", styled(BOLD, entry.id));
        let _ = write!(self.out, "{}", styled(status_style(status), status));
        for mark in marks(entry) {
            let _ = write!(self.out, "  {}", styled(WARN, mark));
        }
        self.out.push_str("\n\n");
        match &entry.content {
            Some(content) => {
                for line in visible(content.statement.as_str()).lines() {
                    for line in wrap(line, self.width) {
                        let _ = writeln!(self.out, "{line}");
                    }
                }
            }
            None => self
                .out
                .push_str("(no wording: its proposal is missing or was blanked)\n"),
        }
        self.out.push('\n');
    }

    fn versions(&mut self, entry: &Entry, versions: &[Recorded]) {
        let id = entry.id;
        let _ = writeln!(
            self.out,
            "{}",
            styled(WARN, "Worded at the same time by several:")
        );
        for recorded in versions {
            let event = &recorded.event;
            let chosen = !entry.concurrent.contains(&event.id);
            let label = if chosen { "shown" } else { "other" };
            let when = event.at.wall.date();
            let _ = writeln!(self.out, "  {label}  {} on {when} ({})", event.by, event.id);
            for line in wrap(
                &visible(&wording_of(&event.body)),
                self.width.saturating_sub(9),
            ) {
                let _ = writeln!(self.out, "         {line}");
            }
        }
        let _ = writeln!(
            self.out,
            "  `ken revise {id} --statement TEXT` settles it\n"
        );
    }

    fn wording(&mut self, entry: &Entry) {
        let Some(content) = &entry.content else {
            return;
        };
        let anchors: Vec<String> = content
            .evidence
            .iter()
            .map(|it| it.at.to_string())
            .collect();
        if anchors.is_empty() {
            self.field("evidence", &["none (cites no code)".to_owned()]);
        } else {
            self.field("evidence", &anchors);
        }
        let steps = content.verify.iter().enumerate();
        let steps: Vec<String> = steps
            .map(|(i, step)| format!("{}. {step}", i + 1))
            .collect();
        self.field("verify", &steps);
        let tags: Vec<&str> = content.tags.iter().map(|tag| tag.as_str()).collect();
        self.one("tags", &tags.join(", "));
        let conditions: Vec<String> = content.depends_on.iter().map(ToString::to_string).collect();
        self.field("rests on", &conditions);
        self.one(
            "lens",
            content.lens.as_ref().map_or("", |lens| lens.as_str()),
        );
        self.one(
            "polarity",
            &content.polarity.map(|it| word(&it)).unwrap_or_default(),
        );
        self.one("decay", &word(&content.decay));
        if let Some(detail) = &content.detail {
            let text = serde_json::to_string(detail).unwrap_or_default();
            self.one("details", &text);
        }
    }

    fn trust(&mut self, entry: &Entry) {
        self.field(
            "cites",
            &entry.citations.iter().map(cited).collect::<Vec<_>>(),
        );
        self.one("confirmed", &confirmed(entry));
        if let Some(retraction) = &entry.retracted {
            let note = retraction
                .note
                .as_ref()
                .map(|note| format!(": {note}"))
                .unwrap_or_default();
            let (reason, by) = (word(&retraction.reason), &retraction.by);
            self.one(
                "retracted",
                &format!("{} by {by} as {reason}{note}", retraction.since),
            );
        }
        if let Some(archival) = &entry.archived {
            let (since, because) = (archival.since, word(&archival.because));
            self.one("archived", &format!("{since} ({because})"));
        }
        let links = entry
            .links
            .iter()
            .map(|link| format!("{} {}", word(&link.rel), link.to));
        self.field("links", &links.collect::<Vec<_>>());
    }

    /// Who approved it, and what it came from.
    fn approvals(&mut self, entry: &Entry, approvals: &[(Approval, Standing)]) {
        let line = |(it, standing): &(Approval, Standing)| {
            let worth = match standing {
                Standing::Unsigned if it.signature.is_some() => {
                    ", signed (nobody is listed to check it against)".to_owned()
                }
                Standing::Unsigned => String::new(),
                Standing::Signed => ", signed".to_owned(),
                Standing::Doubtful(why) => format!(", NOT VALID: {why}"),
            };
            format!("{} by {}{worth}", it.on, it.by)
        };
        let mut lines: Vec<String> = approvals.iter().map(line).collect();
        if entry.is_promoted() && !entry.quarantine.is_empty() {
            let what = match lines.is_empty() {
                true => "not yet",
                false => "not as it reads now",
            };
            lines.push(format!("{what}: `ken approve {}`", entry.id));
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
        self.one("made from", &sources.join(", "));
        if let Some(from) = &created.copied_from {
            let from = format!("{} of project {}, by {}", from.entry, from.project, from.by);
            self.one("copy of", &from);
        }
    }

    fn place(&mut self, entry: &Entry) {
        if let Some(created) = &entry.created {
            if let Some(alias) = &created.alias {
                self.one("alias", alias.as_str());
            }
            let thread = match (&created.thread, entry.thread()) {
                (Some(thread), None) => format!("{thread} (promoted)"),
                (Some(thread), Some(_)) => thread.to_string(),
                (None, _) => String::new(),
            };
            self.one("thread", &thread);
            let (day, by) = (created.at.wall.date(), &created.by);
            self.one(
                "added",
                &format!("{day} by {by}, {} scope", word(&entry.scope.value)),
            );
        }
        let events = counted(u64::from(entry.history.events), "event", "events");
        let last = entry.history.last.wall.date();
        self.one(
            "history",
            &format!("{events}, the last on {last}: `ken log {}`", entry.id),
        );
        if let Some(file) = entry.file_name() {
            self.one("file", &format!(".ken/entries/{file}"));
        }
    }

    /// Writes a value beside its name; nothing if it is empty.
    fn one(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.field(label, &[value.to_owned()]);
        }
    }

    /// Writes values below each other beside their name.
    fn field(&mut self, label: &str, values: &[String]) {
        let room = self.width.saturating_sub(LABEL_WIDTH);
        let values = values
            .iter()
            .map(|value| visible(value))
            .collect::<Vec<_>>()
            .join("\n");
        let lines = values.lines().flat_map(|line| wrap(line, room));
        for (i, line) in lines.enumerate() {
            let label = if i == 0 { label } else { "" };
            let label = styled(DIM, format_args!("{label:<LABEL_WIDTH$}"));
            let _ = writeln!(self.out, "{label}{line}");
        }
    }
}

/// Returns what a content event says.
fn wording_of(body: &Body) -> String {
    if let Body::Proposed(data) = body {
        return data.content.statement.to_string();
    }
    if let Body::Revised(data) = body {
        return match &data.changes.statement {
            Some(statement) => statement.to_string(),
            None => format!("changed {}", data.changes.fields().join(", ")),
        };
    }
    format!("({})", body.type_name())
}
